#!/usr/bin/env python3
"""Writes the novel split of a store of two dimensions, first view, as CSV: class,x,y.

    python3 scripts/doublemnist/write_points.py store points.csv
"""
import argparse
import csv
import json
from pathlib import Path

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="feature store of two dimensions")
    parser.add_argument("points", type=Path, help="CSV file to write")
    arguments = parser.parse_args()
    description = json.loads((arguments.store / "store.json").read_text(encoding="utf-8"))
    if description["dim"] != 2:
        raise SystemExit(f"{arguments.store}: has {description['dim']} dimensions, not 2")
    classes = description["splits"]["novel"]["classes"]
    labels = np.load(arguments.store / "novel/labels.npy")
    places = np.load(arguments.store / "novel" / f"{description['views'][0]}.npy")
    with open(arguments.points, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("class", "x", "y"))
        for label, (x, y) in zip(labels, places):
            writer.writerow((f"{int(classes[label]):02}", f"{x:.4f}", f"{y:.4f}"))


if __name__ == "__main__":
    main()
