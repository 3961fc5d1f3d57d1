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
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # set before NumPy is loaded

import numpy as np  # noqa: E402
import numpy_heads as heads  # noqa: E402
from numpy_ways import draw_episodes  # noqa: E402
from workloads import make_store  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"
CUB = Path(os.environ.get("DEEPVORO_SHARED", ROOT.parent / "shared")) / "stores/cub-wrn28-10"
WAYS, QUERIES, EPISODES = 5, 15, 2000
EPOCHS = 20  # of logistic regression: the program's default
MANY_EPOCHS = 200
RUNS = 3


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


class Store:
    def __init__(self, folder):
        self.folder = Path(folder)
        view = json.loads((self.folder / "store.json").read_text())["views"][0]
        self.novel = np.load(self.folder / f"novel/{view}.npy").astype(np.float64)
        self.labels = np.load(self.folder / "novel/labels.npy")
        self.base = np.load(self.folder / f"base/{view}.npy").astype(np.float64)
        self.base_labels = np.load(self.folder / "base/labels.npy")

    def run(self, method, shots, *flags):
        """Scores, and the best wall time of the whole process without writing them."""
        command = [PROGRAM, "evaluate", self.folder, "--method", method, "--shots", shots, *flags]
        runs = 1 if method == "dc" else RUNS
        seconds = min(timed(lambda: subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL))[0]
                      for _ in range(runs))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "scores.npy"
            few = ["--episodes", 200, "--scores", file]
            subprocess.run(list(map(str, command + few)), check=True, stdout=subprocess.DEVNULL)
            return seconds, np.load(file)


def loop_seconds(one_episode, count):
    """Scores of the first `count` episodes, and their time scaled to all."""
    seconds, scores = timed(lambda: np.stack([one_episode(i) for i in range(count)]))
    return seconds / count * EPISODES, scores


def assert_same(actual, expected, tolerance=1e-7, share=1.0):
    """Equal scores and at least that share of equal predictions."""
    actual = actual[: len(expected)]
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    agree = (actual.argmax(-1) == expected.argmax(-1)).mean()
    assert agree >= share, f"only {agree:.2%} of predictions agree"


def row(name, shots, seconds, loop, timed_on, together=None):
    batched = "– | –" if together is None else f"{together:.1f} s | {together / seconds:.0f}"
    print(f"| {name} | {shots} | {seconds:.2f} s | {loop:.0f} s ({timed_on}) | {loop / seconds:.0f} | {batched} |", flush=True)


def logistic(store, shots, kind, epochs):
    support, query = draw_episodes(store.labels, WAYS, shots, QUERIES, EPISODES)
    exact = np.sqrt(heads.unit(store.novel))
    rows = exact.astype(np.float32)
    seconds, scores = store.run(f"{kind}-lr", shots, "--epochs", epochs)
    _, expected = loop_seconds(lambda i: heads.logistic_scores(exact, support[i], query[i], kind, epochs), 20)
    assert_same(scores, expected, tolerance=2e-2, share=0.995)  # float32
    loop, _ = loop_seconds(lambda i: heads.logistic_scores(rows, support[i], query[i], kind, epochs), 50)
    count = 500
    together, _ = timed(lambda: heads.logistic_scores_together(rows, support[:count], query[:count], kind, epochs))
    row(f"{kind}-lr, {epochs} epochs", shots, seconds, loop, 50, together * EPISODES / count)


def nearest_mean(store, shots, name, rows, *flags):
    support, query = draw_episodes(store.labels, WAYS, shots, QUERIES, EPISODES)
    seconds, scores = store.run(name, shots, *flags)
    loop, expected = loop_seconds(lambda i: heads.nearest_mean_scores(rows, support[i], query[i]), 100)
    assert_same(scores, expected)
    row(" ".join([name, *flags[1:]]), shots, seconds, loop, 100)


def cosine(store, shots):
    support, query = draw_episodes(store.labels, WAYS, shots, QUERIES, EPISODES)
    rows = heads.unit(store.novel)
    seconds, scores = store.run("s2m2", shots)
    loop, expected = loop_seconds(lambda i: heads.cosine_scores(rows, support[i], query[i], i), 5)
    assert_same(scores, expected)
    row("s2m2", shots, seconds, loop, 5)


def calibrated(store, shots):
    support, query = draw_episodes(store.labels, WAYS, shots, QUERIES, EPISODES)
    classes = [store.base[store.base_labels == label] for label in np.unique(store.base_labels)]
    means = np.stack([rows.mean(0) for rows in classes])
    covariances = np.stack([np.cov(rows.T) for rows in classes])
    rows, random = np.sqrt(store.novel), np.random.RandomState(0)
    seconds, scores = store.run("dc", shots)
    loop, expected = loop_seconds(
        lambda i: heads.calibrated_scores(rows, support[i], query[i], means, covariances, random), 5)
    assert_same(scores, expected, tolerance=np.inf, share=0.9)  # the samples are others
    row("dc", shots, seconds, loop, "5, scikit-learn")


def main():
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: run `make bench`")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CUB if CUB.exists() else make_store(
        ROOT / "build/bench/cub-like", {"novel": (50, 59), "base": (100, 59)})
    store = Store(folder)
    print(f"\nHeads on {folder.name}: {WAYS}-way, {QUERIES} queries a class, {EPISODES} episodes, {store.novel.shape[1]} dimensions\n")
    print("| method | shots | deepvoro | one episode at a time (timed) | times | many together | times |\n|" + " --- |" * 7, flush=True)
    for shots in (1, 5):
        for kind in ("power", "voronoi"):
            for epochs in (EPOCHS, MANY_EPOCHS):
                logistic(store, shots, kind, epochs)
        nearest_mean(store, shots, "simpleshot", heads.unit(store.novel - store.base.mean(0)))
        nearest_mean(store, shots, "pt-ncm", heads.unit(np.sqrt(store.novel + 1e-6)))
        cosine(store, shots)
        try:
            calibrated(store, shots)
        except ImportError:
            print("| dc | skipped: needs python3-sklearn | | | | | |")
    print(f"\nNumPy and scikit-learn: timed on the number of episodes in brackets (many together: 500 of them, two threads, float32) "
          f"and scaled; dc draws other samples, so 90% of its predictions must agree. deepvoro: all episodes, best of {RUNS} runs "
          "of the whole process (dc: one).")


if __name__ == "__main__":
    main()
