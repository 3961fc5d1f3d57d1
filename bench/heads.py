#!/usr/bin/env python3
"""The benchmark table of the heads: this program against NumPy and scikit-learn on the same data in the same run.

usage: heads.py [STORE]      a store with the splits base and novel and features that are not negative

Answers are compared before times are printed. NumPy and scikit-learn are timed on fewer episodes and scaled; the
table says on how many.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # set before NumPy is loaded

import numpy as np  # noqa: E402
import heads_ways as ways  # noqa: E402
from numpy_ways import draw_episodes  # noqa: E402
from workloads import make_store  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"
CUB = Path(os.environ.get("DEEPVORO_SHARED", ROOT.parent / "shared")) / "stores/cub-wrn28-10"
WAYS, QUERIES, EPISODES = 5, 15, 2000
EPOCHS = (20, 200)  # of logistic regression: the program's default, and long training
BATCHED_EPISODES, CHECKED_EPISODES = 512, 100
RUNS = 3


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


class Store:
    def __init__(self, folder):
        self.folder = Path(folder)
        view = json.loads((self.folder / "store.json").read_text())["views"][0]
        self.novel = np.load(self.folder / f"novel/{view}.npy").astype(np.float32)
        self.labels = np.load(self.folder / "novel/labels.npy")
        self.base = np.load(self.folder / f"base/{view}.npy").astype(np.float32)
        self.base_labels = np.load(self.folder / "base/labels.npy")

    def run(self, method, shots, *flags):
        """Scores of the first episodes, and the best wall time of the whole process without writing them."""
        command = [PROGRAM, "evaluate", self.folder, "--method", method, "--shots", shots, *flags]
        runs = 1 if method == "dc" else RUNS
        seconds = min(timed(lambda: subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL))[0]
                      for _ in range(runs))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "scores.npy"
            few = ["--episodes", CHECKED_EPISODES, "--scores", file]
            subprocess.run(list(map(str, command + few)), check=True, stdout=subprocess.DEVNULL)
            return seconds, np.load(file)


def measure(name, store, shots, loop, loop_episodes, share, together=None, flags=()):
    """One row of the table. loop, together: scores of some episodes, one at a time and many together."""
    support, query = draw_episodes(store.labels, WAYS, shots, QUERIES, EPISODES)
    seconds, scores = store.run(name, shots, *flags)

    def scaled(way, count):
        taken, answer = timed(lambda: way(support[:count], query[:count]))
        few = min(count, CHECKED_EPISODES)
        agree = (answer[:few].argmax(-1) == scores[:few].argmax(-1)).mean()
        assert agree >= share, f"{name}: only {agree:.2%} of predictions agree"
        return taken / count * EPISODES

    of_loop = scaled(loop, loop_episodes)
    many = "– | –"
    if together:
        of_many = scaled(together, BATCHED_EPISODES)
        many = f"{of_many:.1f} s | {of_many / seconds:.1f}"
    print(f"| {' '.join([name, *map(str, flags)])} | {shots} | {seconds:.2f} s | {of_loop:.1f} s | {of_loop / seconds:.0f} | "
          f"{many} |", flush=True)


def measure_all(store, shots):
    roots = ways.square_roots(store.novel)
    for tied, name in ((False, "power-lr"), (True, "voronoi-lr")):
        for epochs in EPOCHS:
            measure(name, store, shots, partial(ways.lr_by_episode, roots, epochs=epochs, tied=tied), 100, 0.995,
                    partial(ways.lr_batched, roots, epochs=epochs, tied=tied), ("--epochs", epochs))
    # Start and order of batches, and the samples of dc, are others.
    measure("s2m2", store, shots, partial(ways.s2m2_by_episode, store.novel), 10, 0.9,
            partial(ways.s2m2_batched, store.novel))
    base = ways.base_statistics(store.base, store.base_labels)
    measure("dc", store, shots, partial(ways.dc_by_episode, store.novel, base), 5, 0.9)


def main():
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run `make bench`")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CUB if CUB.exists() else make_store(
        ROOT / "build/bench/cub-like", {"novel": (50, 59), "base": (100, 59)})
    store = Store(folder)
    print(f"\nHeads on {folder.name}: {WAYS}-way, {QUERIES} queries a class, {EPISODES} episodes, {store.novel.shape[1]} dimensions\n")
    print("| method | shots | deepvoro | one episode at a time | times | many together | times |\n|" + " --- |" * 7, flush=True)
    for shots in (1, 5):
        measure_all(store, shots)
    print(f"\nNumPy and scikit-learn are timed on fewer episodes and scaled: LR 100, S2M2 10, DC 5, many together "
          f"{BATCHED_EPISODES} on two threads. Predictions are compared first. deepvoro: all episodes, best of {RUNS} runs of the whole "
          "process (dc: one).")


if __name__ == "__main__":
    main()
