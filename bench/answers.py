#!/usr/bin/env python3
"""How good the answers of the default are, next to scikit-learn's classifiers and this program's other heads.

usage: answers.py FOLDER [--draws 100] [--jobs CORES] [--only NAME...] [--ways 5,20,40] [--shots 1,2,5,10,50,200]

FOLDER/collections has the pictures that scripts/answers/collections.sh makes; FOLDER/stores gets their features, FOLDER/cells
a file per cell of the table with the figures of every draw, so that a run that was stopped goes on, and FOLDER/answers.md and
FOLDER/answers.json the results. A draw takes some classes and some pictures of each, and asks for the classes of others; as many
pictures of classes that were not taken are strangers. Differences are paired by draw, with 95 % intervals.
"""

import argparse
import json
import os
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # set before NumPy is loaded

import numpy as np  # noqa: E402

import answers_ways as ways_to_answer  # noqa: E402
import deepvoro  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/bin/deepvoro"
HEADS = {"vd": {}, "deepvoro": {}, "power-lr": {}, "voronoi-lr": {}, "deepvoro--": {}, "simpleshot": {"normalisation": "l2n"},
         "pt-ncm": {}, "s2m2": {}}
FEWEST_QUERIES, MOST_QUERIES = 5, 15
BINS = 15
UNEVEN_WAYS, UNEVEN_SHOTS = 20, ((10, 1), (10, 3))
MANY_LABELLED, FEWER_DRAWS = 1000, 5  # from that many labelled pictures, one in FEWER_DRAWS draws


@dataclass(frozen=True)
class Collection:
    pictures: str
    network: str
    reported: bool = False
    """Looked at only once everything was chosen on the others."""

    @property
    def name(self):
        return f"{self.pictures}-{self.network}"


COLLECTIONS = (
    Collection("birds", "resnet50"), Collection("sketches", "resnet50"), Collection("sketches", "quickdraw-conv4"),
    Collection("clothes", "resnet50"), Collection("clothes-many", "quickdraw-conv4"), Collection("surfaces", "resnet50"), Collection("clipart", "resnet50", True),
    Collection("letters", "resnet50", True), Collection("birds-others", "resnet50", True),
    Collection("sketches-others", "quickdraw-conv4", True))


def store_of(folder, collection):
    store = folder / "stores" / collection.name
    if not (store / "store.json").is_file():
        pictures = folder / "collections" / collection.pictures
        subprocess.run([PROGRAM, "extract", pictures, "--split", "novel", "--model", collection.network, "--views", "4", "--out", store],
                       check=True)
    return store


class Features:
    """The rows of a store, the views of a picture side by side."""

    def __init__(self, folder):
        store = deepvoro.FeatureStore(folder)
        self.views = store.views
        self.labels = np.asarray(store.labels("novel"))
        self.rows = np.hstack([np.asarray(store.features("novel", view), dtype=np.float32) for view in self.views])
        self.peers = ways_to_answer.one_row_per_picture(self.rows, len(self.views))

    def classes_with(self, least):
        return np.flatnonzero(np.bincount(self.labels) >= least)

    def write(self, folder, rows):
        """A store of some rows, for the program's heads."""
        deepvoro.create_store(folder, novel={view: (part, self.labels[rows]) for view, part in
                                             zip(self.views, np.split(self.rows[rows], len(self.views), axis=1))})
        return folder


def paired(a, b):
    """Mean difference in percent and its 95 % interval."""
    difference = 100 * (np.asarray(a) - np.asarray(b))
    return difference.mean(), 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))


def calibration_error(confidence, right):
    confidence, right = np.concatenate(confidence), np.concatenate(right)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    of_bin = [bins == one for one in range(BINS)]
    return 100 * sum(abs(confidence[one].sum() - right[one].sum()) for one in of_bin) / len(bins)


def auroc(known, strangers):
    ranked = np.sort(known)
    below = np.searchsorted(ranked, strangers, "left") + np.searchsorted(ranked, strangers, "right")
    return below.mean() / 2 / len(known)


def measure(features, statistics, ways, shots, draws):
    """The figures of a cell by draw, or None where the collection is too small. shots: a number, or (of one half, of the other)."""
    most, least = (shots, shots) if isinstance(shots, int) else shots
    rows = np.flatnonzero(np.isin(features.labels, features.classes_with(most + FEWEST_QUERIES)))
    labels = features.labels[rows]
    counts = np.bincount(labels)
    if np.count_nonzero(counts) < ways:
        return None
    queries = min(MOST_QUERIES, int(counts[counts > 0].min()) - most)
    supports, asked = deepvoro.episodes(labels, ways=ways, shots=most, queries=queries, episodes=draws)
    kept = np.arange(ways * most) % most < np.where(np.arange(ways * most) // most < ways // 2, most, least)
    truth = np.repeat(np.arange(ways), queries)
    peers = {name: way() for name, way in ways_to_answer.PEERS.items()}
    found = {"right": {name: [] for name in ("default", *peers)}, "small": [], "auroc": [], "kept": [], "right_kept": [], "strangers_found": []}
    confidence, right = [], []
    for draw in range(draws):
        support, query = rows[supports[draw].ravel()[kept]], rows[asked[draw].ravel()]
        of_support = np.repeat(np.arange(ways), most)[kept]
        others = np.flatnonzero(~np.isin(features.labels, features.labels[support]))
        strangers = np.random.RandomState(draw).permutation(others)[:len(query)]
        probabilities, distance, threshold = ways_to_answer.default(
            features.rows[support], of_support, features.rows[np.concatenate([query, strangers])], len(features.views), statistics)
        is_right = probabilities[:len(query)].argmax(axis=1) == truth
        found["right"]["default"].append(is_right.mean())
        found["small"].append(is_right[truth >= ways // 2].mean())
        confidence.append(probabilities[:len(query)].max(axis=1))
        right.append(is_right)
        known = distance[:len(query)]
        found["kept"].append((known <= threshold).mean())
        found["right_kept"].append((known[is_right] <= threshold).mean() if is_right.any() else np.nan)
        if len(strangers):
            found["auroc"].append(auroc(known, distance[len(query):]))
            found["strangers_found"].append((distance[len(query):] > threshold).mean())
        for name, peer in peers.items():
            answers = peer.predict(features.peers[support], of_support, features.peers[query])
            found["right"][name].append((answers == truth).mean())
    found["calibration_error"] = calibration_error(confidence, right)
    if most == least:
        with tempfile.TemporaryDirectory() as folder:
            store = features.write(Path(folder) / "store", rows)
            for head, settings in HEADS.items():
                result, = deepvoro.evaluate(store, head, shots=most, ways=ways, queries=queries, episodes=draws, threads=1, **settings)
                found["right"][head] = list(result.episode_accuracy / 100)
    return {"queries": queries, **found}


def described(cell):
    right = cell["right"]
    mean = {name: 100 * np.mean(values) for name, values in right.items()}
    best = max((name for name in right if name != "default"), key=mean.get)
    difference, interval = paired(right["default"], right[best])

    def percent(name, digits=0):
        return f"{100 * np.nanmean(cell[name]):.{digits}f}" if cell[name] else "–"

    strange = f"{percent('auroc', 1)} | {percent('kept')} ({percent('right_kept')}) / {percent('strangers_found')}"
    peers = " | ".join(f"{mean[name]:.1f}" for name in ways_to_answer.PEERS)
    heads = [name for name in HEADS if name in mean]
    own = max(heads, key=mean.get) if heads else None
    return (f"{mean['default']:.1f} | {peers} | " + (f"{mean[own]:.1f} {own}" if own else "–") +
            f" | {difference:+.1f} ± {interval:.1f}, {best} | {cell['calibration_error']:.1f} | {strange}")


def summary(cells):
    """How often the default is above the best of all others, within the 95 % interval of the difference, and below it."""
    above, below = [], []
    for name, ways, shots, cell in cells:
        right = cell["right"]
        best = max((way for way in right if way != "default"), key=lambda way: np.mean(right[way]))
        difference, interval = paired(right["default"], right[best])
        if difference > interval:
            above.append(name)
        elif difference < -interval:
            below.append(f"{name} {ways}-way {shots} ({difference:.1f} ± {interval:.1f}, {best})")
    within = len(cells) - len(above) - len(below)
    return (f"Of {len(cells)} cells the default is above the best of all others in {len(above)}, within the interval in {within}, "
            f"below it in {len(below)}" + (": " + "; ".join(below) if below else "") + ".")


def table(cells):
    head = ("accuracy % | LogisticRegression | k-NN cosine | NearestCentroid | best other head | to the best of all | calibration error % | "
            "AUROC % | known kept (of right answers) / strangers found %")
    lines = [f"| pictures | ways | shots | {head} |", "|" + " --- |" * (3 + head.count("|") + 1)]
    for name, ways, shots, cell in cells:
        lines.append(f"| {name} | {ways} | {shots} | {described(cell)} |")
    return "\n".join(lines)


def uneven_table(cells):
    lines = ["| pictures | shots of one half and of the other | accuracy % | of classes with fewer | LogisticRegression | k-NN cosine | "
             "NearestCentroid | to the best | calibration error % |", "|" + " --- |" * 9]
    for name, _, shots, cell in cells:
        mean = {way: 100 * np.mean(values) for way, values in cell["right"].items()}
        best = max(ways_to_answer.PEERS, key=mean.get)
        difference, interval = paired(cell["right"]["default"], cell["right"][best])
        lines.append(f"| {name} | {shots} | {mean['default']:.1f} | {100 * np.mean(cell['small']):.1f} | " +
                     " | ".join(f"{mean[way]:.1f}" for way in ways_to_answer.PEERS) +
                     f" | {difference:+.1f} ± {interval:.1f}, {best} | {cell['calibration_error']:.1f} |")
    return "\n".join(lines)


def heads_table(cells):
    lines = [f"| pictures | ways | shots | default | {' | '.join(HEADS)} |", "|" + " --- |" * (4 + len(HEADS))]
    for name, ways, shots, cell in cells:
        means = (f"{100 * np.mean(cell['right'][way]):.1f}" for way in ("default", *HEADS))
        lines.append(f"| {name} | {ways} | {shots} | {' | '.join(means)} |")
    return "\n".join(lines)


def statistics_of(network):
    file = ROOT / "data/backbones" / f"{network}.statistics"
    return file if file.is_file() else None


@lru_cache(1)
def features_of(store):
    return Features(store)


def text_of(shots):
    return "-".join(map(str, np.atleast_1d(shots)))


def measured(folder, collection, ways, shots, draws):
    """What is in the file of a cell, which is made where it is missing."""
    if ways * np.max(shots) >= MANY_LABELLED:
        draws //= FEWER_DRAWS
    file = folder / "cells" / f"{collection.name}.{ways}.{text_of(shots)}.{draws}.json"
    if not file.is_file():
        cell = measure(features_of(store_of(folder, collection)), statistics_of(collection.network), ways, shots, draws)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(cell))
        part.rename(file)
    return json.loads(file.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--only", nargs="*", help="collections such as birds-resnet50")
    parser.add_argument("--ways", default="5,20,40")
    parser.add_argument("--shots", default="1,2,5,10,50,200")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="cells that are measured at the same time")
    options = parser.parse_args()
    (options.folder / "cells").mkdir(parents=True, exist_ok=True)
    even = [(ways, shots) for ways in map(int, options.ways.split(",")) for shots in map(int, options.shots.split(","))]
    chosen = [one for one in COLLECTIONS if (not options.only or one.name in options.only) and
              (options.folder / "collections" / one.pictures).is_dir()]
    for collection in chosen:
        store_of(options.folder, collection)
    cells = [(collection, ways, shots) for collection in chosen
             for ways, shots in [*even, *((UNEVEN_WAYS, shots) for shots in UNEVEN_SHOTS)]]
    results = []
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(measured, options.folder, *cell, options.draws) for cell in cells]
        for (collection, ways, shots), future in zip(cells, futures):
            if cell := future.result():
                results.append((collection, ways, text_of(shots), cell))
                print(f"{collection.name} {ways}-way {text_of(shots)}: {described(cell)}", flush=True)
    parts = []
    for reported, title in ((False, "Development collections"), (True, "Collections that nothing was chosen on")):
        rows = [(one.name, ways, shots, cell) for one, ways, shots, cell in results if one.reported == reported]
        if rows:
            equal = [row for row in rows if "-" not in row[2]]
            parts += [f"{title}, {options.draws} draws ({options.draws // FEWER_DRAWS} from {MANY_LABELLED} labelled pictures):", summary(rows),
                      table(equal), uneven_table([row for row in rows if "-" in row[2]]), heads_table(equal)]
    (options.folder / "answers.md").write_text("\n\n".join(parts) + "\n")
    (options.folder / "answers.json").write_text(json.dumps(
        [{"collection": one.name, "reported": one.reported, "ways": ways, "shots": shots, **cell} for one, ways, shots, cell in results]))
    print(f"{options.folder / 'answers.md'}, {options.folder / 'answers.json'}")


if __name__ == "__main__":
    main()
