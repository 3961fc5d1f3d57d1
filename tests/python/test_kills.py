"""Commands that are ended by SIGKILL at a call to the file system and run again. This is a sample; `make kill-campaign` tries all."""
import os
import sys
from pathlib import Path

import pytest

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
