#!/usr/bin/env python3
"""Checks that a shared library shows what its installed headers mark as public, all of it and nothing else.

usage: check_symbols.py LIBRARY HEADERS
"""
import re
import subprocess
import sys
from pathlib import Path

SYMBOL = re.compile(r"^[0-9a-f]+ \w (.*)$")
ABOUT_A_TYPE = re.compile(r"^(?:vtable|typeinfo|typeinfo name|guard variable) for ")
CLASS = re.compile(r"(?:class|struct) DEEPVORO_API (\w+)")
FUNCTION = re.compile(r"DEEPVORO_API (?!\w+ (?:final )?[:{])[^;{(]*?(\w+)\(")


def symbols(library):
    listed = subprocess.run(["nm", "-CD", "--defined-only", library], check=True, capture_output=True, text=True)
    return [match[1] for line in listed.stdout.splitlines() if (match := SYMBOL.match(line))]


def owner(name):
    """The class or function of a symbol, right inside of the library's namespace."""
    match = re.match(r"deepvoro::(?:detail::)?(\w+)", ABOUT_A_TYPE.sub("", name))
    return match and match[1]


def public_names(headers):
    text = "\n".join(file.read_text(encoding="utf-8") for file in sorted(headers.rglob("*.hpp")))
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return set(CLASS.findall(text)), set(FUNCTION.findall(text))


def faults(library, headers):
    classes, functions = public_names(headers)
    if not classes or not functions:
        yield f"{headers}: no public names"
    shown = symbols(library)
    for name in shown:
        if owner(name) not in classes | functions:
            yield f"{library} shows {name}, which no installed header has"
    for name in sorted(functions - set(map(owner, shown))):
        yield f"{library} does not show {name}()"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    library, headers = map(Path, sys.argv[1:])
    found = list(faults(library, headers))
    print(*found, f"{len(symbols(library))} symbols, {len(found)} faults", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
