"""Feature stores for tests: from given arrays, or random ones shaped like the output of a backbone."""
import json
from pathlib import Path

import numpy as np


def write_store(folder, splits, class_names=None):
    """splits: {split: (labels [samples], {view: features [samples, dim]})}."""
    folder = Path(folder)
    views = next(iter(splits.values()))[1]
    meta = {
        "format": "deepvoro-store",
        "version": 1,
        "dim": int(next(iter(views.values())).shape[1]),
        "views": list(views),
        "splits": {},
        "provenance": {"dataset": "made up for tests"},
    }
    for split, (labels, features) in splits.items():
        (folder / split).mkdir(parents=True)
        np.save(folder / split / "labels.npy", np.asarray(labels, dtype=np.int64))
        for view, rows in features.items():
            np.save(folder / split / f"{view}.npy", rows)
        names = (class_names or {}).get(split) or [f"{split}-{c:03d}" for c in range(max(labels) + 1)]
        meta["splits"][split] = {"samples": len(labels), "classes": names}
    (folder / "store.json").write_text(json.dumps(meta, indent=1))
    return folder


def view_names(count):
    return [f"s{84 + 10 * (i // 2)}_r0_f{i % 2}" for i in range(count)]


def random_labels(random, sizes):
    """Interleaved, so that the order of first appearance is not the order of the class index."""
    return random.permutation(np.repeat(np.arange(len(sizes)), sizes))


def random_features(random, labels, dim, relu=True, view_noise=0.4, views=1):
    """Class separation shrinks with dim so that the task stays about equally hard.

    In few dimensions the rows are shifted away from 0, or most of them would coincide once normalised.
    """
    shift = 3.0 if dim < 8 and relu else 0.0
    centers = shift + random.normal(scale=1.4 * dim**-0.25, size=(max(labels) + 1, dim))
    rows = centers[labels] + random.normal(size=(len(labels), dim))
    for _ in range(views):
        seen = rows + view_noise * random.normal(size=rows.shape)
        yield np.maximum(seen, 0) if relu else seen


def random_store(
    folder,
    dim,
    dtype=np.float32,
    views=2,
    classes=(("base", 30), ("val", 21), ("novel", 22)),
    class_sizes=(50, 58),
    relu=True,
    seed=0,
):
    random = np.random.RandomState(seed)
    splits = {}
    for split, count in classes:
        labels = random_labels(random, random.randint(class_sizes[0], class_sizes[1] + 1, size=count))
        features = random_features(random, labels, dim, relu, views=views)
        splits[split] = labels, {view: rows.astype(dtype) for view, rows in zip(view_names(views), features)}
    return write_store(folder, splits)
