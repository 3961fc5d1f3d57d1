"""Commands that are ended by SIGKILL at a call to the file system and run again, a sample of what `make kill-campaign` tries; and one that loses an input."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kills"))
from campaign import Campaign  # noqa: E402

COMMANDS = ("store create", "fit", "add", "tune", "extract", "train", "study")


@pytest.fixture(scope="module")
def campaign(program, tmp_path_factory):
    library = os.environ.get("DEEPVORO_KILL_LIBRARY")
    if not library:
        pytest.skip("DEEPVORO_KILL_LIBRARY is not set; ctest sets it")
    return Campaign(program, library, tmp_path_factory.mktemp("campaign"))


def sample(calls):
    """In the middle of the first write, before the first name is given, and right after the last one was."""
    names = [number for number, call in enumerate(calls) if call == "rename"]
    return [(calls.index("write"), True), (names[0], False), (names[-1] + 1, False)]


def test_all_commands_are_tried(campaign):
    assert tuple(campaign.commands) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_is_made_good_by_running_it_again(campaign, name):
    expected, calls = campaign.undisturbed(name)
    for number, halfway in sample(calls):
        assert campaign.kill(name, expected, number, halfway) is None, (number, halfway)


def test_a_picture_that_vanishes_while_others_are_read(campaign, tmp_path):
    pictures = tmp_path / "pictures"
    for name in ("first", "second"):
        (pictures / name).mkdir(parents=True)
        for i in range(3):
            noise = np.random.RandomState(len(name) + 10 * i).randint(0, 256, (28, 28), dtype=np.uint8)
            Image.fromarray(noise).save(pictures / name / f"{i}.png")
    last, calls, out = pictures / "second" / "2.png", tmp_path / "calls", tmp_path / "new.dv"

    def fit(**settings):
        env = {**os.environ, "LD_PRELOAD": str(campaign.library), "KILL_FOLDER": str(pictures), **settings}
        return subprocess.run([str(campaign.program), "fit", str(pictures), "--out", str(out), "--backbone", "quickdraw-conv4"], env=env, capture_output=True, text=True)

    assert fit(KILL_LOG=str(calls)).returncode == 0
    decoding = [number for number, call in enumerate(calls.read_text().split()) if call == "open"][-6]
    calls.unlink()
    out.unlink()
    process = fit(KILL_AT=str(decoding), KILL_INSTEAD=str(last))
    assert not last.exists()
    assert process.returncode == 3, process.stderr
    assert str(last) in process.stderr and len(process.stderr.splitlines()) == 1, process.stderr
    assert list(tmp_path.iterdir()) == [pictures]
