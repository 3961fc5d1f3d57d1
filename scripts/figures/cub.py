#!/usr/bin/env python3
"""Draws the training on photographs of birds and the accuracies after it. Needs matplotlib.

    python3 scripts/figures/cub.py results/cub results/cub/birds.svg
"""

import csv
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "deepvoro", "svg.fonttype": "none", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402

METHODS = ("vd", "deepvoro", "deepvoro++")
PAPER = {1: (78.57, 82.99, 82.95), 5: (91.31, 92.62, 91.21)}
COLOURS = {"here": "#2f6ea5", "the paper": "#c9c9c9"}


def draw_training(axes, folder):
    with open(folder / "training.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    epochs = [int(row["epoch"]) for row in rows]
    axes.plot(epochs, [float(row["accuracy"]) for row in rows], color="#999999", label="training pictures, augmented")
    validated = [row for row in rows if row["val_accuracy"]]
    axes.plot([int(row["epoch"]) for row in validated], [float(row["val_accuracy"]) for row in validated],
              "o-", color="#c2711d", label="val, mean of 1 and 5 shots")
    axes.axvline(len(rows) / 2 + 0.5, color="#dddddd", zorder=0)
    axes.set(xlabel="epoch", ylabel="accuracy %", ylim=(0, 100), title="WRN-28-10 by S2M2_R; mixup from the line on")
    axes.legend(loc="lower right", frameon=False)


def draw_accuracies(axes, folder, shots):
    results = [json.loads((folder / f"{method}-{shots}.json").read_text()) for method in METHODS]
    places = range(len(METHODS))
    axes.bar([place - 0.2 for place in places], [result["accuracy"] for result in results], 0.38,
             yerr=[result["ci95"] for result in results], color=COLOURS["here"], label="here")
    axes.bar([place + 0.2 for place in places], PAPER[shots], 0.38, color=COLOURS["the paper"], label="the paper")
    lowest = min(result["accuracy"] for result in results)
    axes.set(xticks=places, xticklabels=METHODS, ylim=(lowest - 4, lowest + 8), title=f"{shots}-shot, novel")
    axes.legend(loc="upper left", frameon=False)


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    figure, (training, one, five) = plt.subplots(1, 3, figsize=(10, 3.2), width_ratios=(1.6, 1, 1), layout="constrained")
    draw_training(training, folder)
    draw_accuracies(one, folder, 1)
    draw_accuracies(five, folder, 5)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
