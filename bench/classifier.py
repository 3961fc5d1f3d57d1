#!/usr/bin/env python3
"""Classifiers side by side: this library, NearestCentroid and LogisticRegression of scikit-learn, on the same rows.

1000 rows are classified after 5 samples of each of 5 to 1000 classes. Rows are CUB features where they are at hand
(novel, then val, then base classes, 200 in all), and synthetic ones for more classes or without them. Everything is
timed inside its process, with features in memory. scikit-learn gets the rows of the first view, transformed as this
library transforms them for one member; its answers must be those of that one member.
"""

import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from workloads import make_store

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro_classifier_bench"
DATA = ROOT / "build/bench"
CUB = Path(os.environ.get("DEEPVORO_SHARED", ROOT.parent / "shared")) / "stores/cub-wrn28-10"
SHOTS, QUERIES, RUNS, LONG_SECONDS = 5, 1000, 3, 5
# Near-ties that float32 decides otherwise than float64.
MOST_DIFFERENT_ANSWERS = 2


def all_splits(store):
    """Views [samples x dim] and labels of all splits together, numbered novel, val, base."""
    views = json.loads((store / "store.json").read_text())["views"]
    labels, parts, first = [], {view: [] for view in views}, 0
    for split in ("novel", "val", "base"):
        if not (store / split).is_dir():
            continue
        own = np.load(store / split / "labels.npy")
        labels.append(own + first)
        first += own.max() + 1
        for view in views:
            parts[view].append(np.load(store / split / f"{view}.npy"))
    return {view: np.concatenate(rows) for view, rows in parts.items()}, np.concatenate(labels)


def write_part(folder, views, labels, rows):
    (folder / "novel").mkdir(parents=True)
    np.save(folder / "novel/labels.npy", labels[rows])
    for view, values in views.items():
        np.save(folder / f"novel/{view}.npy", values[rows])
    dim = next(iter(views.values())).shape[1]
    classes = [f"{k:04d}" for k in range(labels[rows].max() + 1)]
    description = {"format": "deepvoro-store", "version": 1, "dim": dim, "views": list(views), "provenance": {},
                   "splits": {"novel": {"samples": len(rows), "classes": classes}}}
    (folder / "store.json").write_text(json.dumps(description))
    return folder


def drawn(labels, classes):
    """Rows of the support and of the queries, the same number of each class as far as that goes."""
    random = np.random.RandomState(0)
    rows = [random.permutation(np.flatnonzero(labels == k)) for k in range(classes)]
    support = np.concatenate([some[:SHOTS] for some in rows])
    others = np.concatenate([some[SHOTS:] for some in rows])
    if len(others) < QUERIES:
        raise SystemExit(f"{classes} classes have {len(others)} rows to classify, fewer than {QUERIES}")
    return support, random.permutation(others)[:QUERIES]


def best_seconds(work):
    """Best of three runs, or of fewer where they take long."""
    seconds = []
    while len(seconds) < RUNS and sum(seconds) < LONG_SECONDS:
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def transformed(rows):
    rows = rows.astype(np.float32)
    return np.sqrt(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def of_library(support, query, members):
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.npy"
        command = [PROGRAM, support, query, members, answers]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        seconds = {name: float(value) for name, value in map(str.split, lines)}
        return seconds["fit"], seconds["predict"], np.load(answers)


def of_sklearn(model, support, support_labels, queries):
    fit = best_seconds(lambda: model.fit(transformed(support), support_labels))
    predict = best_seconds(lambda: model.predict(transformed(queries)))
    return fit, predict, model.predict(transformed(queries))


def measure(name, store, classes):
    views, labels = all_splits(store)
    support, query = drawn(labels, classes)
    first = next(iter(views.values()))
    with tempfile.TemporaryDirectory() as folder:
        parts = [write_part(Path(folder) / part, views, labels, rows)
                 for part, rows in (("support", support), ("query", query))]
        ways = {f"deepvoro, {text}": of_library(*parts, members)
                for members, text in (("1", "1 member"), ("8", "8 members"), ("all", f"{8 * len(views)} members"))}
    data = first[support], labels[support], first[query]
    ways["NearestCentroid"] = of_sklearn(NearestCentroid(), *data)
    ways["LogisticRegression"] = of_sklearn(LogisticRegression(max_iter=1000), *data)
    different = (ways["deepvoro, 1 member"][2] != ways["NearestCentroid"][2]).sum()
    if different > MOST_DIFFERENT_ANSWERS:
        raise SystemExit(f"{name}, {classes} classes: {different} answers are not those of NearestCentroid")
    for way, (fit, predict, answers) in ways.items():
        accuracy = 100 * (answers == labels[query]).mean()
        print(f"| {name} | {classes} | {way} | {accuracy:.1f} | {1e3 * fit:.1f} ms | {1e3 * predict:.1f} ms |", flush=True)


def main():
    few = make_store(DATA / "fifty", {"novel": (50, 205)}, view_count=4)
    many = make_store(DATA / "thousand", {"novel": (1000, 10)}, view_count=4)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; NumPy {np.__version__}, "
          f"scikit-learn {sklearn.__version__}; {SHOTS} samples a class, {QUERIES} queries, best of {RUNS} runs\n")
    print("| rows | classes | classifier | accuracy % | fit | predict |\n|" + " --- |" * 6)
    if (CUB / "store.json").is_file():
        for classes in (20, 50, 200):
            measure("CUB", CUB, classes)
    for store, classes in ((few, 5), (few, 50), (many, 200), (many, 1000)):
        measure("synthetic", store, classes)


if __name__ == "__main__":
    main()
