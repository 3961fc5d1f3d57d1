#!/usr/bin/env python3
"""Do the tests notice faults? Puts the faults of faults.toml into the code, one at a time, and says which test fails.

    tests/faults/run.py                 all faults; about half a minute each after the first build
    tests/faults/run.py exif 'tar kind' those with these words in their name or file

Works on a copy of the tree in build-faults/, kept for the next time; the tree itself is only read.
A fault is a few words of code to find, which must be there exactly once, and what to put in their place; with it stand
the tests that fit: filters for the C++ tests, after which all of them run, and Python tests as pytest names them.
The first test to fail is the one reported. Ends with 1 if a fault survives all of its tests or no longer fits the code.
A fault that survives needs a test.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TREE = REPOSITORY / "build-faults"
BUILD = TREE / "build"
LOG = TREE / "build.log"
HANG_SECONDS = 1200  # only a fault that never ends takes so long


class Unusable(Exception):
    """The list of faults or the code is not as it should be."""


@dataclass(frozen=True)
class Fault:
    name: str
    file: str
    find: str
    replace: str
    cpp: str = ""
    backbone: str = ""
    python: list[str] = field(default_factory=list)

    def applied_to(self, text: str) -> str:
        if (count := text.count(self.find)) != 1:
            raise Unusable(f"{self.name}: {self.file} has the code to replace {count} times, not once:\n{self.find}")
        return text.replace(self.find, self.replace)


def read_faults() -> list[Fault]:
    faults = [Fault(**entry) for entry in tomllib.loads((Path(__file__).parent / "faults.toml").read_text())["fault"]]
    problems = []
    for fault in faults:
        try:
            fault.applied_to((REPOSITORY / fault.file).read_text())
        except (Unusable, OSError) as problem:
            problems.append(str(problem))
        if not (fault.cpp or fault.backbone or fault.python):
            problems.append(f"{fault.name}: names no test")
    if problems:
        raise Unusable("\n".join(problems))
    return faults


def copy_tree() -> None:
    """Files that are the same keep their time, so that little is built again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    wanted = {name for name in listed if name and (REPOSITORY / name).is_file()}
    for name in wanted:
        contents = (REPOSITORY / name).read_bytes()
        copy = TREE / name
        if not copy.is_file() or copy.read_bytes() != contents:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(contents)
            copy.chmod((REPOSITORY / name).stat().st_mode)
    for folder in ("src", "include", "tests", "python", "cmake"):
        for copy in (TREE / folder).rglob("*"):
            if copy.is_file() and "__pycache__" not in copy.parts and str(copy.relative_to(TREE)) not in wanted:
                copy.unlink()


def configure() -> None:
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDEEPVORO_TESTS=ON"]
    with open(LOG, "w") as log:
        if subprocess.run(["cmake", "-G", "Ninja", "-B", BUILD, *options], cwd=TREE, stdout=log, stderr=log).returncode:
            raise Unusable(f"cmake fails; see {LOG}")


def build(target: str) -> None:
    with open(LOG, "w") as log:
        if subprocess.run(["cmake", "--build", BUILD, "--target", target], stdout=log, stderr=log).returncode:
            raise Unusable(f"does not compile; see {LOG}")


def python_interpreter() -> str:
    cache = (BUILD / "CMakeCache.txt").read_text()
    return re.search(r"^_?Python3_EXECUTABLE:\w+=(.+)$", cache, re.MULTILINE)[1]


def output_of(command: list[str | Path], folder: Path, **environment: str) -> tuple[bool, str]:
    """Whether a test run passed, and what it printed."""
    try:
        run = subprocess.run(
            command, cwd=folder, env={**os.environ, **environment}, timeout=HANG_SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired as hang:
        return False, (hang.output or b"").decode(errors="replace") + "\nnever ends"
    return run.returncode == 0, run.stdout


def failing_cpp_test(program: str, test_filter: str) -> str | None:
    command = [BUILD / "bin" / program, f"--gtest_filter={test_filter}", "--gtest_fail_fast", "--gtest_print_time=0"]
    passed, output = output_of(command, TREE)
    if passed:
        if not re.search(r"\[  PASSED  \] [1-9]", output):
            raise Unusable(f"no test of {program} is called {test_filter}")
        return None
    failed = re.findall(r"^\[  FAILED  \] (\S+?),?(?: where.*)?$", output, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] (\S+)$", output, re.MULTILINE)
    return failed[0] if failed else f"{begun[-1] if begun else program} (ends it)"


def failing_python_test(test: str) -> str | None:
    environment = {
        "DEEPVORO_BIN": str(BUILD / "bin/deepvoro"),
        "DEEPVORO_PICTURE_TOOL": str(BUILD / "bin/deepvoro_picture_tool"),
        "DEEPVORO_BUILD": str(BUILD),
        "PYTHONPATH": str(BUILD / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [python_interpreter(), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    passed, output = output_of(command, TREE / "tests/python", **environment)
    if passed:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    if failed is None and "never ends" not in output:
        raise Unusable(f"{test} cannot be run:\n{output[-2000:]}")
    return failed[1] if failed else f"{test} (never ends)"


def failing_test(fault: Fault) -> str | None:
    """Builds no more than is needed for the next test."""
    for program, test_filter in (("deepvoro_tests", fault.cpp), ("deepvoro_backbone_tests", fault.backbone)):
        if test_filter:
            build(program)
            if failed := failing_cpp_test(program, test_filter) or failing_cpp_test(program, "*"):
                return failed
    if fault.python:
        build("all")
    return next(filter(None, map(failing_python_test, fault.python)), None)


def check_without_faults(faults: list[Fault]) -> None:
    """A test that fails anyway would catch everything."""
    everything = Fault(
        "no fault", "", "", "",
        cpp="*" if any(fault.cpp for fault in faults) else "",
        backbone="*" if any(fault.backbone for fault in faults) else "",
        python=sorted({test for fault in faults for test in fault.python}),
    )  # fmt: skip
    if failed := failing_test(everything):
        raise Unusable(f"{failed} fails without a fault")


def try_fault(fault: Fault) -> str | None:
    file = TREE / fault.file
    original = file.read_text()
    file.write_text(fault.applied_to(original))
    try:
        return failing_test(fault)
    except Unusable as problem:
        raise Unusable(f"{fault.name}: {problem}") from None
    finally:
        file.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults with one of these in their name or file")
    parser.add_argument("--skip-check", action="store_true", help="do not run the tests without a fault first")
    arguments = parser.parse_args()
    faults = read_faults()
    if arguments.words:
        faults = [fault for fault in faults if any(word in f"{fault.name} {fault.file}" for word in arguments.words)]
    TREE.mkdir(exist_ok=True)
    copy_tree()
    configure()
    if not arguments.skip_check:
        check_without_faults(faults)
    survived = 0
    for fault in faults:
        failed = try_fault(fault)
        survived += failed is None
        print(f"{f'caught by {failed}' if failed else 'SURVIVED'}: {fault.name} ({fault.file})", flush=True)
    print(f"{len(faults) - survived} of {len(faults)} faults are caught")
    return 1 if survived else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as problem:
        sys.exit(f"tests/faults: {problem}")
