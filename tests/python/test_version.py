"""One version, whoever is asked: CMake, the program, the Python package, the list of changes."""
import re

import pytest
from conftest import REPOSITORY

VERSION = re.search(r"project\(deepvoro VERSION (\S+)", (REPOSITORY / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def test_program(deepvoro):
    assert VERSION in deepvoro("--version").stdout.split()


def test_python_package():
    deepvoro = pytest.importorskip("deepvoro", reason="built without the Python package")
    assert deepvoro.__version__ == VERSION


def test_list_of_changes():
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, flags=re.MULTILINE)[0] == VERSION
