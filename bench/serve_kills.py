#!/usr/bin/env python3
"""Kills `deepvoro serve` at random moments while pictures are taught; every acknowledged picture must be there afterwards.

usage: serve_kills.py [TIMES]     DEEPVORO_BIN is the program
"""
import random
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))
from conftest import PROGRAM  # noqa: E402
from serving import Serving  # noqa: E402

CLASSES = ("bed", "car")
TEACHERS = 4


def drawings():
    with tarfile.open(ROOT / "data/quickdraw/pictures/novel.tar") as archive:
        return [archive.extractfile(member).read() for member in archive if member.name.endswith(".png")][:100]


def teach_until_killed(serving, name, seed, pictures, acknowledged):
    chance = random.Random(seed)
    try:
        while True:
            # What follows the end of a PNG makes it another file: one that is there already is not added again.
            answer = serving.teach(name, ("x.png", chance.choice(pictures) + chance.randbytes(8)))
            acknowledged.update(one["id"] for one in answer["added"])
    except (OSError, AssertionError, ValueError):
        return


def ids(serving):
    there = {one["name"] for one in serving.json("GET", "/api/classes")["classes"]}
    return {one["id"] for name in there for one in serving.json("GET", f"/api/classes/{name}/pictures?count=1000000")["pictures"]}


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    pictures, chance = drawings(), random.Random(0)
    acknowledged = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(times):
            # A project that only grew would be fitted for longer and longer.
            if number % 10 == 0:
                project, acknowledged = Path(folder) / f"project-{number}", set()
            serving = Serving(PROGRAM, project, data=folder).wait_until_ready()
            missing = acknowledged - ids(serving)
            if missing:
                sys.exit(f"kill {number}: {len(missing)} of {len(acknowledged)} acknowledged pictures are lost")
            threads = [threading.Thread(target=teach_until_killed, args=(serving, CLASSES[i % 2], number * TEACHERS + i, pictures, acknowledged))
                       for i in range(TEACHERS)]
            before = len(acknowledged)
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.02, 0.8))
            serving.kill()
            for thread in threads:
                thread.join()
            total += len(acknowledged) - before
        serving = Serving(PROGRAM, project, data=folder).wait_until_ready()
        missing = acknowledged - ids(serving)
        serving.kill()
    if missing:
        sys.exit(f"after the last kill: {len(missing)} of {len(acknowledged)} acknowledged pictures are lost")
    print(f"{times} kills, {total} acknowledged pictures, none lost")


if __name__ == "__main__":
    main()
