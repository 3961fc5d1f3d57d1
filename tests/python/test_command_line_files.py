"""Man pages and the completion for bash say what --help says, of every command."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("DEEPVORO_BUILD", Path(__file__).resolve().parents[2] / "build"))
PROGRAM = os.environ.get("DEEPVORO_BIN", str(BUILD / "bin/deepvoro"))
FILES = BUILD / "command_line"
COMMANDS = [(), ("fit",), ("predict",), ("add",), ("remove",), ("rename",), ("info",), ("test",), ("explain",), ("evaluate",), ("tune",), ("merge",), ("compare",),
            ("study",), ("report",), ("store",),
            ("store", "create"), ("store", "info"), ("store", "check"), ("store", "join"), ("backbone",), ("backbone", "list"),
            ("backbone", "install"), ("backbone", "add"), ("backbone", "statistics"), ("train",), ("extract",)]


def help_of(words):
    return subprocess.run([PROGRAM, *words, "--help"], check=True, capture_output=True, text=True).stdout


if re.search(r"^  serve  ", help_of(()), re.MULTILINE):  # built where Boost is
    COMMANDS.append(("serve",))


def flags_in(text):
    """At the beginning of lines, where options are listed."""
    listed = [line.split()[0] for line in text.splitlines() if re.match(r"  -", line)]
    return {flag for flags in listed for flag in flags.split(",")}


def offered(words):
    """What bash offers for the last word."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _deepvoro; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, "bash", FILES / "completion/deepvoro", "deepvoro", *words],
                          check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_commands_are_those_of_the_program():
    named = {tuple(file.stem.split("-")[1:]) for file in (FILES / "man").glob("*.1")}
    assert named == set(COMMANDS)
    top = {match[1] for match in re.finditer(r"^  ([a-z]+)  ", help_of(()), re.MULTILINE)}
    assert top == {words[0] for words in COMMANDS if words}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_flag_is_completed(words):
    flags = flags_in(help_of(words))
    assert {"-h", "--help"} <= flags
    assert offered([*words, "-"]) == flags


def test_commands_and_values_are_completed():
    assert offered([""]) == {words[0] for words in COMMANDS if words}
    assert offered(["sto"]) == {"store"}
    assert offered(["store", ""]) == {"create", "info", "check", "join"}
    assert offered(["fit", "--device", ""]) == {"cpu", "cuda"}
    assert offered(["--he"]) == {"--help"}
    assert offered(["tune", "fit", "--top"]) == {"--top-k"}


def test_files_are_completed(tmp_path, monkeypatch):
    (tmp_path / "birds").mkdir()
    (tmp_path / "bird cage").mkdir()
    monkeypatch.chdir(tmp_path)
    assert offered(["fit", "bird"]) == {"birds", "bird", "cage"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_flag_has_its_place_in_the_man_page(words):
    page = (FILES / "man" / ("-".join(["deepvoro", *words]) + ".1")).read_text().replace(r"\-", "-")
    entries = re.findall(r"^\.TP\n\\fB(-.*?)\\fR", page, re.MULTILINE)
    assert {flag for entry in entries for flag in entry.split(", ")} == flags_in(help_of(words))
    assert all(len(entry.split("\n")) > 1 and entry.split("\n")[1] for entry in page.split(".TP\n")[1:])


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_man_pages_are_well_formed():
    for file in (FILES / "man").glob("*.1"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", file], capture_output=True, text=True, check=True)
        assert done.stderr == "", file
