#!/usr/bin/env python3
"""Ends commands at every call to the file system, runs them again, and compares what is there with an undisturbed run.

usage: campaign.py PROGRAM LIBRARY [COMMAND...]     the program deepvoro, libkill_at_call.so, and some commands instead of all

A command is ended before each call that concerns its outputs, and in the middle of each write. Run again it has to leave the
same bytes as a run that nothing disturbed (times in the logs of a training apart), and no other file.
"""
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from stores import random_store, view_names, write_store  # noqa: E402

WRONG_USAGE = 2
TIMES = ("seconds", "pictures_per_second")


@dataclass(frozen=True)
class Command:
    """What is run in a folder that holds `before` already; it writes nowhere else."""

    arguments: list
    before: Path | None = None
    # A complete output is refused, not made again.
    refuses_output: Path | None = None


def write_pictures(folder, classes, count, seed):
    random = np.random.RandomState(seed)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(random.randint(0, 256, (28, 28, 3)).astype(np.uint8)).save(folder / name / f"{i}.png")


def commands(inputs, run):
    """All of them, with their inputs made below a folder."""
    splits = {"base": 4, "val": 3, "novel": 3}
    for seed, (split, count) in enumerate(splits.items()):
        write_pictures(inputs / "pictures" / split, [f"{split}{i}" for i in range(count)], 3, seed)
    write_pictures(inputs / "training" / "base", "abc", 4, 3)
    write_pictures(inputs / "training" / "val", "defgh", 20, 4)
    random = np.random.RandomState(0)
    for split in splits:
        np.savez(inputs / f"{split}.npz", features=random.rand(24, 8), labels=np.repeat(np.arange(4), 6))
    store = random_store(inputs / "store", 8, views=6, classes=(("base", 6), ("val", 6), ("novel", 6)), class_sizes=(8, 8))
    small = random_store(inputs / "small", 8, views=1, classes=(("novel", 3),), class_sizes=(4, 4))
    more = write_store(inputs / "more", {"novel": (np.zeros(4, int), {view_names(1)[0]: random.rand(4, 8).astype(np.float32)})}, {"novel": ["new"]})
    (inputs / "classifier").mkdir()
    run(["fit", small, "--out", inputs / "classifier" / "c.dv"])
    task = ["--ways", 3, "--queries", 2, "--episodes", 5, "--threads", 2]
    return {
        "store create": Command(["store", "create", "new", *(part for split in splits for part in (f"--{split}", inputs / f"{split}.npz"))],
                                refuses_output=Path("new/store.json")),
        "fit": Command(["fit", small, "--out", "c.dv"], refuses_output=Path("c.dv")),
        "add": Command(["add", "c.dv", "new", more], before=inputs / "classifier"),
        "tune": Command(["tune", store, "--method", "deepvoro++", "--shots", 1, *task, "--betas", "4,8", "--out", "pool.json"]),
        "extract": Command(["extract", inputs / "pictures", "--model", "quickdraw-conv4", "--views", 4, "--threads", 2, "--out", "features"]),
        "train": Command(["train", inputs / "training", "--backbone", "conv4", "--width", "4,4,4,4", "--size", 16, "--batch", 8, "--procedure", "softmax",
                          "--epochs", 3, "--validate-every", 1, "--threads", 1, "--out", "m.safetensors"]),
        "study": Command(["study", "joint", store, "--shots", 1, *task, "--out", "paper"]),
    }


def without_times(name, data):
    if name.endswith(".log.json"):
        return [{key: value for key, value in entry.items() if key not in TIMES} for entry in json.loads(data)]
    if name.endswith(".log.csv"):
        return [{key: value for key, value in row.items() if key not in TIMES} for row in csv.DictReader(io.StringIO(data.decode()))]
    return data


def tree(folder):
    return {path.relative_to(folder).as_posix(): without_times(path.name, path.read_bytes()) if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


class Campaign:
    def __init__(self, program, library, folder):
        self.program, self.library, self.folder = Path(program).resolve(), Path(library).resolve(), Path(folder).resolve()
        inputs = self.folder / "inputs"
        inputs.mkdir()
        self.commands = commands(inputs, self.run_in_peace)

    def run_in_peace(self, arguments):
        subprocess.run([self.program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def fresh_folder(self, command):
        folder = self.folder / "out"
        shutil.rmtree(folder, ignore_errors=True)
        if command.before:
            shutil.copytree(command.before, folder)
        else:
            folder.mkdir()
        return folder

    def run(self, command, folder, **settings):
        env = {**os.environ, "LD_PRELOAD": str(self.library), "KILL_FOLDER": str(folder), **settings} if settings else os.environ
        return subprocess.run([self.program, *map(str, command.arguments)], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def undisturbed(self, name):
        """What a run leaves, and the names of its calls."""
        command = self.commands[name]
        log = self.folder / "calls.log"
        log.unlink(missing_ok=True)
        folder = self.fresh_folder(command)
        process = self.run(command, folder, KILL_LOG=str(log))
        if process.returncode != 0:
            raise RuntimeError(f"{name}: {process.stderr}")
        return tree(folder), log.read_text().splitlines()

    @staticmethod
    def points(calls):
        """All there are to end at: the number of a call, and whether in its middle."""
        for number, call in enumerate(calls):
            yield number, False
            if call == "write":
                yield number, True

    def kill(self, name, expected, number, halfway):
        """None, or what is wrong after the command was ended there and run again."""
        command = self.commands[name]
        folder = self.fresh_folder(command)
        killed = self.run(command, folder, KILL_AT=str(number), **({"KILL_HALFWAY": "1"} if halfway else {}))
        if killed.returncode != -signal.SIGKILL:
            return f"ended with {killed.returncode} instead of by the signal: {killed.stderr}"
        complete = command.refuses_output is not None and (folder / command.refuses_output).exists()
        again = self.run(command, folder)
        if again.returncode != (WRONG_USAGE if complete else 0):
            return f"run again it ended with {again.returncode}: {again.stderr}"
        found = tree(folder)
        different = sorted(path for path in found.keys() | expected.keys() if found.get(path, "") != expected.get(path, ""))
        return f"differs in {', '.join(different)}" if different else None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(sys.argv[1], sys.argv[2], folder)
        kills, failures, start = 0, 0, time.monotonic()
        for name in sys.argv[3:] or campaign.commands:
            expected, calls = campaign.undisturbed(name)
            points = list(campaign.points(calls))
            bad = [(point, wrong) for point in points if (wrong := campaign.kill(name, expected, *point))]
            for (number, halfway), wrong in bad:
                print(f"{name}: ended {'in' if halfway else 'before'} call {number} ({calls[number]}): {wrong}")
            print(f"{name}: {len(points) - len(bad)} of {len(points)} kills made good by running it again", flush=True)
            kills, failures = kills + len(points), failures + len(bad)
        print(f"{kills - failures} of {kills} in {time.monotonic() - start:.0f} s")
        sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
