"""Study and result files in the agreed formats, of made-up numbers, for what reads them. Also a script: FOLDER."""
import base64
import json
import math
import random
import sys
from pathlib import Path

STORES = ("cub-wrn28-10", "quickdraw")
BASE_OF = {"cub-wrn28-10": {1: 76.2, 5: 90.3}, "quickdraw": {1: 67.5, 5: 83.4}}
GAINS = {"s2m2": -1.8, "dc": 0.9, "vd": 0.0, "power-lr": -0.2, "voronoi-lr": -0.3, "vd+power-lr": -0.5, "vd+voronoi-lr": 0.1,
         "deepvoro--": 0.0, "deepvoro": 2.1, "deepvoro++": 3.3, "plda": 6.4, "s2m2_r": -1.8}


def column(name, label=None, unit=None):
    return {"name": name, "label": label or name, **({"unit": unit} if unit else {})}


def percent(name):
    return column(name, name, "%")


def table(name, title, columns, rows):
    return {"name": name, "title": title,
            "columns": [column(c) if isinstance(c, str) else c for c in columns], "rows": rows}


def study(name, title, tables, stores=STORES):
    return {"format": "deepvoro-study", "version": 1, "study": name, "title": title,
            "command": f"deepvoro study {name} {' '.join(stores)} --out studies",
            "program": {"version": "0.2.0", "commit": "0123456789ab"},
            "settings": {"ways": 5, "queries": 15, "episodes": 2000, "seed": 0, "protocol": "deepvoro"},
            "stores": [{"name": s, "path": f"stores/{s}", "sha256": "ab" * 32, "views": 4, "dim": 640} for s in stores],
            "seconds": 12.3, "tables": tables}


def accuracy(store, shots, method):
    return BASE_OF[store][shots] + GAINS[method] * (1 if shots == 1 else 0.45)


def member(number):
    return f"s84_r0_f{number % 2}_w1_b0.04_l0_surrogate_R{number}_beta8.5_gamma1"


def members(rng):
    rows, correlations, summaries, curves = [], [], [], []
    for store in STORES:
        for shots in (1, 5):
            for method, count in (("deepvoro", 16), ("deepvoro++", 40)):
                for i in range(count):
                    val = accuracy(store, shots, method) - 3 + rng.gauss(0, 1.6)
                    rows.append([store, shots, method, member(i), f"s84_r0_f{i % 2}", (0, 0.5, 0.75, 1)[i % 4], 0.02 * (i % 5),
                                 i % 10 + 1 if method == "deepvoro++" else None, 3 if method == "deepvoro++" else None, val, val - 0.8 + rng.gauss(0, 0.6)])
                correlations.append([store, shots, method, 0.93 + 0.01 * shots, count])
                summaries.append([store, shots, method, 74.1, 73.2, member(7), 78.0, 76.9, 77.3])
            for b in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64):
                peak = -2 * math.log(b / 0.08) ** 2 / 6
                curves.append([store, shots, 0, b, BASE_OF[store][shots] + 1.4 + peak, BASE_OF[store][shots] + 0.6 + peak])
            for lam in (0.25, 0.5, 0.75, 1):
                dip = -6 * (lam - 0.55) ** 2
                curves.append([store, shots, lam, 0, BASE_OF[store][shots] + 0.9 + dip, BASE_OF[store][shots] + dip])
    return study("members", "Members on val and novel", [
        table("members", "Every member alone", ["store", "shots", "method", "member", "view", "lambda", "b", "R", "beta", percent("val"), percent("novel")], rows),
        table("correlation", "Agreement of val and novel", ["store", "shots", "method", "r", "members"], correlations),
        table("transformations", "Transformations of view 1", ["store", "shots", "lambda", "b", percent("val"), percent("novel")], curves),
        table("summary", "Single members", ["store", "shots", "method", percent("mean_val"), percent("mean_novel"), "best_val_member", percent("best_val"), percent("its_novel"), percent("best_novel")], summaries)])


def ensemble_size(rng):
    randoms, guided, chosen = [], [], []
    for store in STORES:
        for shots in (1, 5):
            for method, pool in (("deepvoro", 32), ("deepvoro++", 80)):
                top = accuracy(store, shots, method)
                size = 1
                while size <= pool:
                    mean = top - 3.2 / size ** 0.7
                    spread = 1.6 / size ** 0.5
                    randoms.append([store, shots, method, size, 100, mean, mean - 2.4 * spread, mean + 2.1 * spread, spread])
                    size = size * 2 if size * 2 <= pool or size == pool else pool
                for size in range(1, pool + 1):
                    novel = top + 0.3 - 2.0 / size - 0.004 * size
                    guided.append([store, shots, method, size, novel + 1.1, novel + rng.gauss(0, 0.05)])
                chosen += [[store, shots, method, "full", pool, top + 0.6, top - 0.2, 0.44], [store, shots, method, "random", 15, None, top - 0.4, 0.44],
                           [store, shots, method, "guided", 15, top + 1.2, top + 0.1, 0.44], [store, shots, method, "greedy", 9, top + 1.4, top + 0.2, 0.44],
                           [store, shots, method, "oracle", 22, None, top + 0.3, 0.44]]
    return study("ensemble-size", "Accuracy by the number of members", [
        table("random", "Random subsets", ["store", "shots", "method", "size", "draws", percent("mean"), percent("lowest"), percent("highest"), "sd"], randoms),
        table("guided", "In the order of val", ["store", "shots", "method", "size", percent("val"), percent("novel")], guided),
        table("chosen", "What each scheme chooses", ["store", "shots", "method", "scheme", "size", percent("val"), percent("novel"), percent("ci95")], chosen)])


def ablation(rng):
    rows, schemes = [], []
    for store in STORES:
        for shots in (1, 5):
            base = BASE_OF[store][shots]
            rows.append([store, shots, "deepvoro--", "CIVD", 1, 1, 1, 1, "none", base + 0.1, 0.45, False])
            for method, geometry, transformations, geometries in (("deepvoro", "CCVD", 8, 1), ("deepvoro++", "CCVD with surrogates", 2, 10)):
                for views, inner, scheme, gain, averaged in ((1, False, "none", 0.3, True), (1, True, "full", 1.1, False), (4, False, "full", 1.5, False), (4, True, "guided", 2.4, False)):
                    t, g = (transformations, geometries) if inner else (1, 1)
                    rows.append([store, shots, method, geometry, views, t, g, views * t * g, scheme, base + gain + (0.9 if "+" in method else 0), 0.44, averaged])
                for scheme, views, inner, gain in (("none", 1, False, 0), ("full", 1, True, 1), ("full", 4, False, 1.4), ("full", 4, True, 1.9), ("random", 4, True, 1.8), ("guided", 4, True, 2.3)):
                    t, g = (transformations, geometries) if inner else (1, 1)
                    schemes.append([store, shots, method, scheme, views, t, g, views * t * g, base + gain, 0.44])
    return study("ablation", "Levels of heterogeneity", [
        table("ablation_all", "Levels", ["store", "shots", "method", "geometry", "features", "transformations", "geometries", "members", "scheme", percent("accuracy"), percent("ci95"), "averaged"], rows),
        table("schemes", "Schemes", ["store", "shots", "method", "scheme", "features", "transformations", "geometries", "members", percent("accuracy"), percent("ci95")], schemes)])


def joint(rng):
    methods = ("s2m2", "dc", "power-lr", "voronoi-lr", "vd", "vd+power-lr", "vd+voronoi-lr")
    columns = ["store", "shots", "method", percent("accuracy"), percent("ci95")]
    rows = [[store, shots, method, accuracy(store, shots, method), 0.45] for store in STORES for shots in (1, 5) for method in methods]
    release = [row[:3] + [row[3] + 0.2, row[4]] for row in rows if "lr" in row[2]]
    return study("joint", "Two kinds of centers", [table("joint", "Joint", columns, rows), table("release", "As the release trains", columns, release)])


def surrogate_grid(rng):
    rows, chosen = [], []
    for store in STORES:
        for lam, b in ((0.75, 0), (0, 0.08)):
            for neighbours in range(1, 11):
                best = None
                for beta in range(1, 9):
                    hill = -0.12 * (beta - 8 + 0.5 * neighbours) ** 2 - 0.02 * (neighbours - 5) ** 2
                    rows.append([store, 1, lam, b, neighbours, beta, BASE_OF[store][1] + 4 + hill + rng.gauss(0, 0.05), BASE_OF[store][1] + 3 + hill + rng.gauss(0, 0.08)])
                    if best is None or rows[-1][6] > best[6]:
                        best = rows[-1]
                chosen.append(list(best))
    columns = ["store", "shots", "lambda", "b", "R", "beta", percent("val"), percent("novel")]
    return study("surrogate-grid", "Neighbours and weight", [table("grid", "Grid", columns, rows), table("chosen", "Best weight for each number of neighbours", columns, chosen)])


DIAGRAM_CLASSES = ("ant", "bee", "cow", "dog", "emu")


def surrogate_pattern(rng):
    rows = []
    for c in range(5):
        shape = [0.5 + 0.12 * rng.random() for _ in range(64)]
        for sample, row in enumerate(["support"] + ["query"] * 8):
            rows += [["quickdraw", 1, row, f"class {c}", sample, f"base {i}", d + rng.gauss(0, 0.012 if sample else 0)] for i, d in enumerate(shape)]
    for name in DIAGRAM_CLASSES:
        shape = [rng.uniform(1, 9) for _ in range(10)]
        for sample, row in enumerate(["support"] + ["query"] * 8):
            rows += [["doublemnist", 1, row, name, sample, f"{i:02d}", d + rng.gauss(0, 0.5 if sample else 0)] for i, d in enumerate(shape)]
    return study("surrogate-pattern", "Distances to base classes", [
        table("pattern", "Pattern", ["store", "shots", "row", "class", "sample", "base_class", "distance"], rows),
        table("episode", "Episode", ["store", "episode", "seed", "view"], [["quickdraw", 0, 0, "s84_r0_f0"]])], stores=("quickdraw", "doublemnist"))


def shots(rng):
    rows = []
    for store in STORES:
        for method in ("vd", "deepvoro", "deepvoro++", "plda"):
            for n in (1, 2, 3, 5, 10, 20):
                rows.append([store, n, method, 8, 97 - (97 - accuracy(store, 1, method)) / n ** 0.55, 0.5 / n ** 0.4])
    return study("shots", "Accuracy by shots", [table("shots", "Shots", ["store", "shots", "method", "members", percent("accuracy"), percent("ci95")], rows)])


def outliers(rng):
    methods = ("s2m2", "dc", "vd", "deepvoro", "deepvoro++", "plda")
    slope = {"s2m2": -30, "dc": -26, "vd": -27, "deepvoro": -22, "deepvoro++": -21, "plda": -14}
    rows, slopes = [], []
    for store in STORES:
        for episode in range(400):
            variance = 0.62 + rng.gauss(0, 0.03)
            luck = rng.gauss(0, 4)
            rows.append([store, 5, episode, variance] + [min(100, accuracy(store, 5, m) + slope[m] * (variance - 0.62) + luck + rng.gauss(0, 1)) for m in methods])
        slopes += [[store, 5, m, slope[m], 4.1, None if m == "s2m2" else slope[m] + 30, None if m == "s2m2" else 2.5, -0.2] for m in methods]
    return study("outliers", "Outliers", [
        table("episodes", "Episodes", ["store", "shots", "episode", "variance", *map(percent, methods)], rows),
        table("slopes", "Slopes", ["store", "shots", "method", "slope", "slope_ci95", "gain_slope", "gain_slope_ci95", "r"], slopes)])


def embedding(rng):
    rows = []
    for i, panel in enumerate(("raw", "l2", "tukey", "composed")):
        for c in range(5):
            x, y = 30 * math.cos(1.3 * c + i), 30 * math.sin(1.3 * c + i)
            rows += [["cub-wrn28-10", panel, f"{c:03d}.Some_Bird", s, rng.gauss(x, 8 - i), rng.gauss(y, 8 - i)] for s in range(60)]
    return study("embedding", "t-SNE", [table("points", "Points", ["store", "panel", "class", "sample", "x", "y"], rows)], stores=("cub-wrn28-10",))


def diagram(rng):
    size = 120
    panels, points = [], []
    classes = DIAGRAM_CLASSES
    base = [(rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9)) for _ in range(10)]
    cells = bytes(min(range(10), key=lambda k: math.dist(base[k], ((i + 0.5) / size, 1 - (j + 0.5) / size))) for j in range(size) for i in range(size))
    panels.append(["doublemnist", 1, "base, vd", "vd", "base", size, size, 0, 0, 1, 1, "as it is", base64.b64encode(cells).decode()])
    for k, (x, y) in enumerate(base):
        points.append(["doublemnist", 1, "base, vd", "center", k, f"{k:02d}", x, y])
        points += [["doublemnist", 1, "base, vd", "sample", k, f"{k:02d}", x + rng.gauss(0, 0.02), y + rng.gauss(0, 0.02)] for _ in range(20)]
    means = [(rng.uniform(0.15, 0.85), rng.uniform(0.15, 0.85)) for _ in classes]
    for geometry in ("vd", "power", "civd", "plda"):
        centers = [[(x + rng.gauss(0, 0.05), y + rng.gauss(0, 0.05)) for x, y in means] for _ in range(2 if geometry == "civd" else 1)]
        weight = [rng.uniform(0, 0.05) if geometry == "power" else 0 for _ in classes]

        def owner(x, y):
            def far(k):
                if geometry == "power":
                    return (x - centers[0][k][0]) ** 2 + (y - centers[0][k][1]) ** 2 - weight[k]
                return sum(math.hypot((x - c[k][0]) * (2 if geometry == "plda" else 1), y - c[k][1]) for c in centers)
            return min(range(len(classes)), key=far)

        cells = bytes(owner((i + 0.5) / size, 1 - (j + 0.5) / size) for j in range(size) for i in range(size))
        panel = f"novel, {geometry}"
        panels.append(["doublemnist", 1, panel, geometry, "novel", size, size, 0, 0, 1, 1, "as it is", base64.b64encode(cells).decode()])
        for k, (x, y) in enumerate(means):
            points += [["doublemnist", 1, panel, "center", k, classes[k], *c[k]] for c in centers]
            points.append(["doublemnist", 1, panel, "support", k, classes[k], *centers[0][k]])
            for _ in range(12):
                qx, qy = min(0.99, max(0.01, rng.gauss(x, 0.09))), min(0.99, max(0.01, rng.gauss(y, 0.09)))
                points.append(["doublemnist", 1, panel, "query" if owner(qx, qy) == k else "query-wrong", k, classes[k], qx, qy])
    return study("diagram", "Diagrams", [
        table("panels", "Panels", ["store", "shots", "panel", "geometry", "split", "width", "height", "x0", "y0", "x1", "y1", "projection", "cells"], panels),
        table("points", "Points", ["store", "shots", "panel", "role", "class", "class_name", "x", "y"], points)], stores=("doublemnist",))


def time(rng):
    rows = [["cub-wrn28-10", 1, *row] for row in (("dc", 1, 55.1, 2000, 2, 1, 88.29), ("s2m2", 1, 4.2, 2000, 2, 1, 33.89), ("deepvoro", 1, 0.03, 2000, 2, 1, 0.05),
                                                 ("deepvoro", 32, 0.5, 2000, 2, 512, 25.67), ("deepvoro++", 80, 0.6, 2000, 2, 1280, 179.05), ("plda", 4, 0.3, 2000, 2, None, None))]
    return study("time", "Running times", [table("time", "Times", ["store", "shots", "method", "members", "seconds", "episodes", "threads", "paper_members", "paper_minutes"], rows)], stores=("cub-wrn28-10",))


def setting(name, stores):
    rows = []
    for i, store in enumerate(stores):
        for n in (1, 5):
            for method in ("dc", "s2m2_r", "deepvoro", "deepvoro++", "plda"):
                rows.append([store, method, n, "none", 1, (52 if n == 1 else 70) + 3 * i + GAINS[method], 0.9, None if method in ("dc", "s2m2_r") else 1e-9 if method == "plda" else 0.2])
    return study(name, name, [table("table", name, ["store", "method", "shots", "scheme", "members", percent("accuracy"), percent("ci95"), "p_vs_best_baseline"], rows)], stores=stores)


STUDIES = {
    "members": members, "ensemble-size": ensemble_size, "ablation": ablation, "joint": joint, "surrogate-grid": surrogate_grid,
    "surrogate-pattern": surrogate_pattern, "shots": shots, "outliers": outliers, "embedding": embedding, "diagram": diagram, "time": time,
    "backbones": lambda rng: setting("backbones", ("mini-conv4", "mini-resnet18")),
    "procedures": lambda rng: setting("procedures", ("mini-rotation", "mini-mixup")),
    "cross-domain": lambda rng: setting("cross-domain", ("mini-to-cub", "cub-to-mini")),
}


def result(rng, method, n, classes=12, episodes=300):
    lucks = random.Random(n)  # the same episodes for every method
    values = [min(100, max(0, accuracy("cub-wrn28-10", n, method) + lucks.gauss(0, 9) + rng.gauss(0, 2))) for _ in range(episodes)]
    mean = sum(values) / episodes
    confusion = [0] * classes ** 2
    asked = [1000] * classes
    right = []
    for c in range(classes):
        wrong = 60 + 25 * c
        confusion[c * classes + (c + 1) % classes] = wrong // 2
        confusion[c * classes + (c + 3) % classes] = wrong - wrong // 2
        confusion[c * classes + c] = asked[c] - wrong
        right.append(asked[c] - wrong)
    return {"format": "deepvoro-result", "version": 1, "method": method, "split": "novel", "ways": 5, "shots": n, "queries": 15,
            "episodes": episodes, "seed": 0, "protocol": "deepvoro", "scheme": "guided" if "deepvoro" in method else "full", "alpha": 1.0,
            "accuracy": mean, "ci95": 0.5, "episode_accuracy": values, "members": 15 if "deepvoro" in method else 1,
            **({"guided": {"pool_size": 32, "val_accuracy": mean + 1}} if "deepvoro" in method else {}),
            "answers": {"classes": [f"{c:03d}.Bird_{c}" for c in range(classes)], "samples": [60] * classes, "asked": asked, "right": right,
                        "ci95": [1.5] * classes, "confusion": confusion,
                        "hardest": [{"class": c, "place": 3 * c, "asked": 40, "wrong": 39 - c, "taken_for": (c + 1) % classes} for c in range(6)]},
            "calibration": {"ece": 3.1, "nll": 0.6, "nll_ci95": 0.02}, "open_set": {"auroc": 81.0, "auroc_ci95": 0.4, "kept": 95, "found": 30},
            "store": {"path": "stores/cub-wrn28-10", "sha256": "ab" * 32}, "seconds": {"selection": 0.4, "evaluation": 0.3},
            "program": {"version": "0.2.0", "commit": "0123456789ab"}}


def write_studies(folder, names=tuple(STUDIES)):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps(STUDIES[name](random.Random(name))), encoding="utf-8")


def write_results(file, methods=("vd", "s2m2", "dc", "deepvoro", "deepvoro++", "plda")):
    file.parent.mkdir(parents=True, exist_ok=True)
    rng = random.Random(5)
    file.write_text(json.dumps([result(rng, method, n) for n in (1, 5) for method in methods]), encoding="utf-8")


if __name__ == "__main__":
    write_studies(Path(sys.argv[1]))
    write_results(Path(sys.argv[1]) / "results.json")
