#!/usr/bin/env python3
"""Checks that #include lines follow the modules: who may use whom, and who may see LibTorch and MPI; and that the
umbrella header includes every public header.

usage: check_includes.py REPOSITORY
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ANY = object()

# Directly usable modules; what these may use may be used too.
MAY_USE = {
    "core": (),
    "kernels": ("core",),
    "geometry": ("kernels",),
    "features": ("kernels",),
    "episodes": ("core",),
    "heads": ("geometry", "features"),
    "ensemble": ("heads", "episodes"),
    "picture": ("core",),
    "backbone": ("picture", "ensemble", "shard"),
    "shard": ("features",),
    "study": ("classifier",),
    "classifier": ("ensemble", "backbone"),
    "report": ("study",),
    "cluster": ("shard",),
    "project": ("study",),
    "serve": ("project",),
    "cli": ANY,
    "python": ANY,
    "web": ANY,
}

# First parts of paths that only one module may include.
RESERVED = {
    "Eigen": "geometry",
    "torch": "backbone",
    "ATen": "backbone",
    "c10": "backbone",
    "caffe2": "backbone",
    "boost": "serve",
    "mpi": "cluster",
    "mpi.h": "cluster",
}

# The header for all public headers.
UMBRELLA = Path("include/deepvoro/deepvoro.hpp")

SUFFIXES = {".hpp", ".cpp", ".h", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


@dataclass(frozen=True)
class Violation:
    file: Path
    line: int
    reason: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.reason}"


def usable(module):
    if MAY_USE[module] is ANY:
        return set(MAY_USE)
    direct = set(MAY_USE[module])
    return {module} | direct | {further for used in direct for further in usable(used)}


def module_of(path):
    """The module a file belongs to, given its path from the repository's root; None outside the modules."""
    parts = path.parts
    if parts[:2] == ("include", "deepvoro") and len(parts) > 3:
        return parts[2]
    if parts[:1] == ("src",) and len(parts) > 2:
        return parts[1]
    return None


def resolve(root, file, included):
    """The path from the root of a header of this project; None when there is no such header."""
    for folder in (file.parent, Path("src"), Path("include")):
        candidate = root / folder / included
        if candidate.is_file():
            return candidate.resolve().relative_to(root.resolve())
    return None


def reason_against(root, file, bracket, included):
    module = module_of(file)
    reserved_for = RESERVED.get(Path(included).parts[0])
    if reserved_for is not None:
        return None if module == reserved_for else f"only {reserved_for} may include {included}"
    target = resolve(root, file, included)
    if target is None:
        return f"{included} is not in this repository" if bracket == '"' else None
    target_module = module_of(target)
    if target_module not in usable(module):
        return f"{module} may not use {target_module}: {included}"
    if file.parts[0] == "include" and target.parts[0] != "include":
        return f"a public header may not include the private {included}"
    return None


def violations_in_umbrella(root):
    included = {match[2] for line in (root / UMBRELLA).read_text(encoding="utf-8").splitlines() if (match := INCLUDE.match(line))}
    public = {str(file.relative_to(root / "include")) for file in (root / "include/deepvoro").glob("*/*.hpp")}
    for name in sorted(included ^ public):
        yield Violation(UMBRELLA, 1, f"{name} is {'not included' if name in public else 'no public header'}")


def violations_in(root, file):
    if file == UMBRELLA:
        yield from violations_in_umbrella(root)
        return
    if module_of(file) not in MAY_USE:
        yield Violation(file, 1, f"{file.parent} is not in the table of modules")
        return
    for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        reason = match and reason_against(root, file, *match.groups())
        if reason:
            yield Violation(file, number, reason)


def source_files(root):
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root)


def violations(root):
    return [found for file in source_files(root) for found in violations_in(root, file)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    root = Path(sys.argv[1])
    checked = len(list(source_files(root)))
    if checked == 0:
        sys.exit(f"{root}: no source files under include/ and src/")
    found = violations(root)
    print(*found, f"{checked} files, {len(found)} violations", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
