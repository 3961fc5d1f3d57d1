#!/usr/bin/env python3
"""Checks that no type is defined twice in a namespace: the linker would take either definition without a word.

usage: check_names.py REPOSITORY
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

SUFFIXES = {".hpp", ".cpp", ".h", ".cu"}
# The format of the sources puts namespaces and what is right inside of them at the start of a line.
OPENED = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
CLOSED = re.compile(r"^\}  // namespace(?: [\w:]+)?$")
DEFINED = re.compile(r"^(?:template <.*> )?(?:class|struct|union|enum(?: class| struct)?) (?:\[\[\w+\]\] |DEEPVORO_API )?(\w+)(?: final)?(?: : .*)?(?: \{.*)?$")


def types_defined_in(text):
    """Name and line of each type, with its namespaces; what is in an unnamed namespace belongs to the file alone."""
    namespaces = []
    for number, line in enumerate(text.splitlines(), start=1):
        if opened := OPENED.match(line):
            namespaces.append(opened[1])
        elif CLOSED.match(line):
            namespaces.pop()
        elif (defined := DEFINED.match(line)) and None not in namespaces:
            yield "::".join([*namespaces, defined[1]]), number


def places_by_name(root):
    places = defaultdict(list)
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                for name, line in types_defined_in(path.read_text(encoding="utf-8")):
                    places[name].append(f"{path.relative_to(root)}:{line}")
    return places


def repetitions(root):
    return [f"{name} is defined at {' and '.join(places)}" for name, places in places_by_name(root).items() if len(places) > 1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    root = Path(sys.argv[1])
    names = places_by_name(root)
    if not names:
        sys.exit(f"{root}: no types under include/ and src/")
    found = repetitions(root)
    print(*found, f"{len(names)} types, {len(found)} defined more than once", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
