"""Every command of the README runs, and prints what the README says it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, program):
    """A folder that looks like the root of a built checkout, so that commands leave nothing in the real one."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "data").symlink_to(REPOSITORY / "data")
    (root / "build" / "bin").mkdir(parents=True)
    (root / "build" / "bin" / "deepvoro").symlink_to(program)
    return root


def run_shell(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert done.stderr == ""
    return done.stdout


def make_targets(text):
    return re.findall(r"\bmake ([a-z-]+)\b", text)


def needs_networks(text):
    return " fit " in text or "deepvoro.Classifier." in text


def test_blocks_run_and_print_what_is_shown(checkout, program):
    printed = None
    compared = 0
    has_networks = (Path(program).resolve().parents[1] / "lib/libdeepvoro_backbone.so").is_file()
    for language, text in BLOCKS:
        if language == "sh" and not make_targets(text) and (has_networks or not needs_networks(text)):
            printed = "".join(run_shell(line, checkout) for line in text.splitlines())
        elif language == "python" and (has_networks or not needs_networks(text)):
            done = subprocess.run([sys.executable, "-c", text], cwd=checkout, check=True, stdout=subprocess.PIPE)
            printed = done.stdout.decode("utf-8")
        elif language == "":
            assert text == printed
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize("target", sorted(set(make_targets(README))))
def test_make_target_exists(target):
    done = subprocess.run(["make", "-n", target], cwd=REPOSITORY, capture_output=True, text=True,
                          env={**os.environ, "MAKEFLAGS": ""})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)", README))
def test_linked_file_exists(link):
    assert (REPOSITORY / link).exists()
