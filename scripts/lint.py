#!/usr/bin/env python3
"""clang-format and clang-tidy over the sources: all files, in parallel, and only what changed since it was last found clean.

usage: lint.py BUILD     a configured build folder, which holds compile_commands.json and gets the memory of clean files
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# Clang refuses the headers of Debian's LibTorch as C++20; what includes them is left to GCC's warnings.
NOT_FOR_CLANG = ROOT / "src/backbone/torch"


def sources(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def included_by(file):
    """The project's own headers that a file includes itself."""
    found = []
    for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
        for folder in (file.parent, ROOT / "src", ROOT / "include"):
            if (folder / name).is_file():
                found.append((folder / name).resolve())
                break
    return found


def closure(file):
    reached, waiting = {file}, [file]
    while waiting:
        for header in included_by(waiting.pop()):
            if header not in reached:
                reached.add(header)
                waiting.append(header)
    return sorted(reached)


class CleanFiles:
    """Remembers by hash what a tool found clean. What a verdict depends on is part of the hash."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def key(files, *context):
        digest = hashlib.sha256("\0".join(context).encode())
        for file in files:
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def __contains__(self, key):
        return (self.folder / key).exists()

    def add(self, key):
        (self.folder / key).touch()


def version(tool):
    return subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout


def badly_formatted(clean):
    files = sources("*.cpp", "*.hpp")
    key = clean.key([ROOT / ".clang-format", *files], version("clang-format"))
    if key in clean:
        return 0
    status = subprocess.run(["clang-format", "--dry-run", "-Werror", *files]).returncode
    if status == 0:
        clean.add(key)
    return status


def untidy(clean, build):
    commands = {Path(entry["file"]): entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    tool = version("clang-tidy")
    keys = {}
    for file in sources("src/*.cpp"):
        if NOT_FOR_CLANG in file.parents or file not in commands:
            continue
        # How long a command takes to type does not matter, nor where its output goes.
        key = clean.key([ROOT / ".clang-tidy", *closure(file)], tool, commands[file].replace(str(build), "BUILD"))
        if key not in clean:
            keys[file] = key

    def check(file):
        # The compile commands may hold warning flags that only GCC knows.
        command = ["clang-tidy", "-p", build, "--quiet", "--use-color=false", "--extra-arg=-Wno-unknown-warning-option", file]
        return subprocess.run(command, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(check, file): file for file in keys}
        for number, done in enumerate(concurrent.futures.as_completed(running), start=1):
            file, result = running[done], done.result()
            if result.returncode == 0:
                clean.add(keys[file])
            else:
                failed += 1
                print(result.stdout, result.stderr, sep="", flush=True)
            if number % 10 == 0 or number == len(keys):
                print(f"clang-tidy: {number} of {len(keys)} files", flush=True)
    return failed


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    missing = [tool for tool in ("clang-format", "clang-tidy") if not shutil.which(tool)]
    if missing:
        sys.exit(f"lint needs {' and '.join(missing)}: apt-get install {' '.join(missing)}")
    build = Path(sys.argv[1]).resolve()
    clean = CleanFiles(build / "lint")
    bad_format, bad_files = badly_formatted(clean), untidy(clean, build)
    if bad_format:
        print("mend the format with: git ls-files '*.cpp' '*.hpp' | xargs clang-format -i")
    sys.exit("lint: not clean" if bad_format or bad_files else None)


if __name__ == "__main__":
    main()
