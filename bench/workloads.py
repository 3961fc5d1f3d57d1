"""Synthetic feature stores for the benchmarks: ReLU-like values, float16, classes that overlap."""

import json

import numpy as np


def relu_like(random, labels, means, content):
    noise = random.standard_normal(content.shape, dtype=np.float32)
    return np.maximum(means[labels] + content + 0.25 * noise - 0.15, 0).astype(np.float16)


def write_split(folder, random, classes, per_class, dim, views):
    folder.mkdir(parents=True)
    labels = np.repeat(np.arange(classes), per_class)
    np.save(folder / "labels.npy", labels.astype(np.int64))
    means = 0.2 * random.gamma(0.3, 1, (classes, dim)).astype(np.float32)
    content = 0.35 * random.standard_normal((len(labels), dim), dtype=np.float32)
    for view in views:
        np.save(folder / f"{view}.npy", relu_like(random, labels, means, content))
    return {"samples": len(labels), "classes": [str(label) for label in range(classes)]}


def make_store(folder, splits, dim=640, view_count=1):
    """Makes the store unless it is there; splits: {name: (classes, samples per class)}."""
    if (folder / "store.json").exists():
        return folder
    random = np.random.default_rng(0)
    views = [f"s84_v{index}" for index in range(view_count)]
    described = {name: write_split(folder / name, random, *sizes, dim, views) for name, sizes in splits.items()}
    (folder / "store.json").write_text(json.dumps({
        "format": "deepvoro-store", "version": 1, "dim": dim, "views": views, "splits": described,
        "provenance": {"note": "synthetic, made by bench/workloads.py"}}))
    return folder
