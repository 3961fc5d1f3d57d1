#!/usr/bin/env python3
"""The benchmark table of plda: statistics of base classes against NumPy, and a member against a vd member.

Scores of the first episodes are compared with NumPy in float64 before times are printed.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # statistics are those of one core; set before NumPy is loaded

import numpy as np  # noqa: E402
from numpy_ways import draw_episodes  # noqa: E402
from workloads import make_store  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"
TIMES = ROOT / "build/bin/deepvoro_plda_bench"
DATA = ROOT / "build/bench"
CHECKED_EPISODES = 20
MEMBERS = 8
WITHIN, BETWEEN = 0.5, 0.4


def square_roots(rows):
    rows = rows.astype(np.float64)
    return np.sqrt(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def statistics(file, labels):
    """Mean, axes and psi, as docs/METHODS.md defines them; reads the features, as the program does."""
    rows = square_roots(np.load(file))
    J, n, dim = labels.max() + 1, *rows.shape
    means = np.stack([rows[labels == c].mean(axis=0) for c in range(J)])
    mean = means.mean(axis=0)
    residuals = rows - means[labels]
    S_w = residuals.T @ residuals / (n - J)
    S_b = (means - mean).T @ (means - mean) / (J - 1) - S_w * J / n
    S_w = (1 - WITHIN) * S_w + WITHIN * np.trace(S_w) / dim * np.eye(dim)
    S_b = (1 - BETWEEN) * S_b + BETWEEN * np.trace(S_b) / dim * np.eye(dim)
    spreads, directions = np.linalg.eigh(S_w)
    whitening = directions / np.sqrt(spreads)
    psi, rotation = np.linalg.eigh(whitening.T @ S_b @ whitening)
    return mean, whitening @ rotation, np.maximum(psi, 1e-6)


def distances(points, psi, support, query):
    """[episodes, queries, ways] of points of one length; support: [episodes, ways, shots] rows."""
    shots = support.shape[2]
    m, v = psi / (psi + 1 / shots), 1 + psi / (shots * psi + 1)
    centers = m * points[support].mean(axis=2) / np.sqrt(v)
    asked = points[query] / np.sqrt(v)
    return np.linalg.norm(asked[:, :, None] - centers[:, None], axis=-1)


def assert_same(store, view, shots, found):
    """The program's scores of the first episodes are those that NumPy finds."""
    mean, axes, psi = found
    points = (square_roots(np.load(store / f"novel/{view}.npy")) - mean) @ axes
    points *= np.sqrt((1 + psi).sum()) / np.linalg.norm(points, axis=1, keepdims=True)
    support, query = draw_episodes(np.load(store / "novel/labels.npy"), 5, shots, 15, CHECKED_EPISODES)
    member = {"view": view, "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "plda"}
    member |= {"shrink_within": WITHIN, "shrink_between": BETWEEN}
    with tempfile.TemporaryDirectory() as folder:
        pool, scores = Path(folder) / "pool.json", Path(folder) / "scores.npy"
        pool.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": [member]}))
        flags = ["--method", "plda", "--shots", shots, "--episodes", CHECKED_EPISODES, "--pool", pool, "--scores", scores]
        subprocess.run([PROGRAM, "evaluate", store, *map(str, flags)], check=True, stdout=subprocess.DEVNULL)
        actual = -np.load(scores)
    expected = distances(points, psi, support.reshape(CHECKED_EPISODES, 5, shots), query.reshape(CHECKED_EPISODES, -1))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def measured(store, shots):
    view = json.loads((store / "store.json").read_text())["views"][0]
    labels = np.load(store / "base/labels.npy")
    start = time.perf_counter()
    found = statistics(store / f"base/{view}.npy", labels)
    seconds = time.perf_counter() - start
    assert_same(store, view, shots, found)
    lines = subprocess.run([TIMES, store, str(shots), str(MEMBERS)], check=True, capture_output=True, text=True).stdout
    return seconds, {name: float(value) for name, value in map(str.split, lines.splitlines())}


def main():
    stores = {
        640: make_store(DATA / "plda-640", {"novel": (20, 600), "base": (64, 100)}, view_count=MEMBERS),
        2048: make_store(DATA / "plda-2048", {"novel": (20, 100), "base": (64, 100)}, dim=2048),
    }
    print("\n| dimensions | statistics of a member, one core | NumPy | times | shots | vd member | plda member | "
          "1000 more episodes: vd | plda | of vd |")
    print("|" + " --- |" * 10)
    for dim, store in stores.items():
        for shots in (1, 5):
            in_numpy, times = measured(store, shots)
            print(f"| {dim} | {times['statistics']:.2f} s | {in_numpy:.2f} s | {in_numpy / times['statistics']:.1f} | {shots} | "
                  f"{1e3 * times['vd']:.1f} ms | {1e3 * times['plda']:.1f} ms | {1e3 * times['vd_more']:.1f} ms | "
                  f"{1e3 * times['plda_more']:.1f} ms | {times['plda_more'] / times['vd_more']:.2f} |", flush=True)
    print("\nA member on 2000 episodes; the plda member includes mapping all rows of the split once. Scores are compared first.")


if __name__ == "__main__":
    main()
