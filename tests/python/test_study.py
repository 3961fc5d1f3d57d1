"""The paper's studies: every number is what evaluate says of the same members, or what NumPy, SciPy and scikit-learn compute."""
import base64
import csv
import json
import shutil

import heads_reference
import numpy as np
import pytest
import reference
import scipy.stats
from conftest import REPOSITORY
from reference import Store, Task
from stores import random_store

SKETCHES = REPOSITORY / "data/quickdraw"
EPISODES = 12
FLAGS = ["--episodes", EPISODES, "--seed", 3]
TASK = Task(episodes=EPISODES, seed=3)
ONE_QUERY_PERCENT = 100 / (EPISODES * 75)


class Study:
    def __init__(self, folder, name):
        self.folder = folder
        self.document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        self.tables = {table["name"]: table for table in self.document["tables"]}

    def rows(self, table, **wanted):
        columns = [column["name"] for column in self.tables[table]["columns"]]
        rows = [dict(zip(columns, row)) for row in self.tables[table]["rows"]]
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]

    def row(self, table, **wanted):
        (found,) = self.rows(table, **wanted)
        return found

    def pool(self, method, shots, store="quickdraw"):
        return json.loads((self.folder / "pools" / f"{store}-{method}-{shots}-shot.json").read_text())["members"]


@pytest.fixture(scope="module")
def study(deepvoro, tmp_path_factory):
    """Runs a study on the sketches, once; all of them share a folder."""
    folder = tmp_path_factory.mktemp("paper")
    done = {}

    def run(name, *flags):
        if name not in done:
            process = deepvoro("study", name, SKETCHES, *FLAGS, *flags, "--out", folder)
            assert process.returncode == 0, process.stderr
            done[name] = Study(folder, name)
        return done[name]

    return run


@pytest.fixture(scope="module")
def result(deepvoro, tmp_path_factory):
    """What evaluate says of a method, with members of its own or these; asked once, as studies have much in common."""
    folder = tmp_path_factory.mktemp("results")
    known = {}

    def run(method, shots, *flags, members=None):
        key = json.dumps([method, shots, flags, members])
        if key not in known:
            pool = []
            if members is not None:
                pool = ["--pool", folder / "pool.json"]
                pool[1].write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}))
            process = deepvoro("evaluate", SKETCHES, "--method", method, "--shots", shots, *FLAGS, *pool, *flags, "--json", folder / "result.json")
            assert process.returncode == 0, process.stderr
            known[key] = json.loads((folder / "result.json").read_text())
        return known[key]

    return run


def same(row, evaluated):
    assert row["accuracy"] == evaluated["accuracy"]
    assert row["ci95"] == evaluated["ci95"]


def some(rows, count=4):
    return [rows[i] for i in np.random.RandomState(0).permutation(len(rows))[:count]]


def test_files_hold_the_same_tables(study):
    document = study("members")
    assert document.document["format"] == "deepvoro-study"
    assert document.document["version"] == 1
    assert document.document["stores"][0]["name"] == "quickdraw"
    assert document.document["settings"]["episodes"] == EPISODES
    for name, table in document.tables.items():
        with open(document.folder / f"members-{name}.csv", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert header == [column["name"] for column in table["columns"]]
        assert len(rows) == len(table["rows"]) > 0
        for written, row in zip(rows, table["rows"]):
            for cell, value in zip(written, row):
                assert cell == "" if value is None else type(value)(cell) == value


@pytest.mark.parametrize("method", ["deepvoro", "deepvoro++"])
@pytest.mark.parametrize("shots", [1, 5])
def test_members(study, result, method, shots):
    found = study("members")
    rows = found.rows("members", method=method, shots=shots)
    pool = found.pool(method, shots)
    assert len(rows) == len(pool) == {"deepvoro": 64, "deepvoro++": 160}[method]
    for row, member in some(list(zip(rows, pool))):
        assert (row["view"], row["lambda"], row["b"]) == (member["view"], member["lambda"], member["b"])
        assert (row["R"], row["beta"]) == (member.get("R"), member.get("beta"))
        assert row["novel"] == pytest.approx(result(method, shots, members=[member])["accuracy"], abs=1e-9)
        assert row["val"] == pytest.approx(result(method, shots, "--split", "val", members=[member])["accuracy"], abs=1e-9)
    val, novel = ([row[split] for row in rows] for split in ("val", "novel"))
    assert found.row("correlation", method=method, shots=shots)["r"] == pytest.approx(np.corrcoef(val, novel)[0, 1], abs=1e-9)
    summary = found.row("summary", method=method, shots=shots)
    best = int(np.argmax(val))
    assert summary["mean_val"] == pytest.approx(np.mean(val))
    assert summary["mean_novel"] == pytest.approx(np.mean(novel))
    assert (summary["best_val_member"], summary["its_novel"]) == (rows[best]["member"], novel[best])
    assert summary["best_novel"] == max(novel)


def test_transformations(study, result):
    rows = study("members").rows("transformations", shots=1)
    view = Store(SKETCHES).views[0]
    for row in some(rows):
        member = {"view": view, "w": 1, "b": row["b"], "lambda": row["lambda"], "geometry": "vd"}
        assert row["novel"] == pytest.approx(result("vd", 1, members=[member])["accuracy"], abs=1e-9)
        assert row["val"] == pytest.approx(result("vd", 1, "--split", "val", members=[member])["accuracy"], abs=1e-9)
    assert {(row["lambda"], row["b"]) for row in rows} >= {(0.5, 0), (1, 0), (0, 0.02), (0, 0.5)}


@pytest.mark.parametrize("method", ["deepvoro", "deepvoro++"])
@pytest.mark.parametrize("shots", [1, 5])
def test_ensemble_size(study, result, method, shots):
    found = study("ensemble-size")
    members = found.pool(method, shots)
    guided = result(method, shots, "--scheme", "guided", "--oracle", members=members)
    curve = found.rows("guided", method=method, shots=shots)
    assert [row["size"] for row in curve] == list(range(1, len(members) + 1))
    chosen = {row["scheme"]: row for row in found.rows("chosen", method=method, shots=shots)}
    assert set(chosen) == {"full", "random", "guided", "greedy", "oracle"}
    expected = {
        "full": result(method, shots, members=members),
        "guided": guided,
        "greedy": result(method, shots, "--scheme", "greedy", members=members),
        "random": result(method, shots, "--scheme", "random", "--size", guided["members"], members=members),
        "oracle": guided["oracle"],
    }
    for scheme, evaluated in expected.items():
        assert (chosen[scheme]["novel"], chosen[scheme]["ci95"]) == (evaluated["accuracy"], evaluated["ci95"])
        assert chosen[scheme]["size"] == evaluated["members"]
    # The size is the one that is best on val, whatever novel says.
    val = [row["val"] for row in curve]
    assert chosen["guided"]["size"] == int(np.argmax(val)) + 1
    assert chosen["guided"]["val"] == max(val)
    assert curve[guided["members"] - 1]["novel"] == pytest.approx(guided["accuracy"], abs=ONE_QUERY_PERCENT)
    assert chosen["oracle"]["size"] == int(np.argmax([row["novel"] for row in curve])) + 1
    assert "leakage" in found.tables["chosen"]["title"]
    for row in found.rows("random", method=method, shots=shots):
        assert row["lowest"] - 1e-9 <= row["mean"] <= row["highest"] + 1e-9
    everything = found.rows("random", method=method, shots=shots)[-1]
    assert everything["size"] == len(members)
    assert everything["sd"] == 0
    assert everything["mean"] == pytest.approx(expected["full"]["accuracy"], abs=ONE_QUERY_PERCENT)


@pytest.mark.parametrize("shots", [1, 5])
def test_ablation(study, result, shots):
    found = study("ablation")
    singles = study("members")
    same(found.row("ablation_all", method="deepvoro--", shots=shots), result("deepvoro--", shots))
    for method in ("deepvoro", "deepvoro++"):
        members = found.pool(method, shots)
        first_view = [member for member in members if member["view"] == members[0]["view"]]
        val = {}
        for row, member in zip(singles.rows("members", method=method, shots=shots), members):
            val.setdefault(configuration(member), []).append(row["val"])
        best = max(val, key=lambda key: sum(val[key]))
        every_view = [member for member in members if configuration(member) == best]
        assert len(every_view) == 8
        average, transformed, viewed, whole = found.rows("ablation_all", method=method, shots=shots)
        means = [row["novel"] for row in singles.rows("members", method=method, shots=shots)]
        assert average["averaged"] and average["accuracy"] == pytest.approx(np.mean(means))
        same(transformed, result(method, shots, members=first_view))
        same(viewed, result(method, shots, members=every_view))
        guided = result(method, shots, "--scheme", "guided", members=members)
        same(whole, guided)
        assert (transformed["members"], viewed["members"], whole["members"]) == (len(first_view), 8, guided["members"])
        assert (whole["features"], whole["transformations"], whole["geometries"]) == {
            "deepvoro": (8, 8, 1), "deepvoro++": (8, 2, 10)}[method]
        schemes = found.rows("schemes", method=method, shots=shots)
        assert [row["scheme"] for row in schemes] == ["none", "full", "full", "full", "random", "guided"]
        same(schemes[0], result("vd", shots))
        same(schemes[3], result(method, shots, members=members))
        same(schemes[4], result(method, shots, "--scheme", "random", "--size", guided["members"], members=members))
        same(schemes[5], guided)


def configuration(member):
    return tuple((key, value) for key, value in sorted(member.items()) if key not in ("view", "val_accuracy"))


@pytest.mark.parametrize("shots", [1, 5])
def test_joint(study, result, shots):
    found = study("joint")
    methods = ["s2m2", "dc", "power-lr", "voronoi-lr", "vd"]
    assert [row["method"] for row in found.rows("joint", shots=shots)] == [*methods, "vd+power-lr", "vd+voronoi-lr"]
    for method in methods:
        same(found.row("joint", shots=shots, method=method), result(method, shots))
    for kind in ("power", "voronoi"):
        same(found.row("joint", shots=shots, method=f"vd+{kind}-lr"), result("deepvoro--", shots, "--lr", kind))
        release = ["--start", "random", "--weight-decay", 0.01, "--sigmoid"]
        same(found.row("release", shots=shots, method=f"{kind}-lr"), result(f"{kind}-lr", shots, *release))
        same(found.row("release", shots=shots, method=f"vd+{kind}-lr"), result("deepvoro--", shots, "--lr", kind, *release))


def test_surrogate_grid(study, result):
    found = study("surrogate-grid")
    rows = found.rows("grid")
    pool = found.pool("deepvoro++", 1)
    assert {(row["lambda"], row["b"]) for row in rows} == {(member["lambda"], member["b"]) for member in pool}
    for row in some(rows):
        member = {**row, "view": pool[0]["view"], "w": 1, "geometry": "surrogate"}
        member = {key: member[key] for key in ("view", "w", "b", "lambda", "geometry", "R", "beta")}
        assert row["novel"] == pytest.approx(result("deepvoro++", 1, members=[member])["accuracy"], abs=1e-9)
        assert row["val"] == pytest.approx(result("deepvoro++", 1, "--split", "val", members=[member])["accuracy"], abs=1e-9)
    for row in found.rows("chosen"):
        tried = found.rows("grid", **{key: row[key] for key in ("lambda", "b", "R")})
        assert row == tried[int(np.argmax([one["val"] for one in tried]))]
    assert len(found.rows("chosen")) == 2 * 10


def test_shots(study, result):
    found = study("shots")
    rows = found.rows("shots", method="vd")
    assert [row["shots"] for row in rows] == [1, 2, 3, 5]  # a class has 20 sketches
    for method in ("vd", "deepvoro", "deepvoro++", "plda"):
        for shots in (2, 5):
            same(found.row("shots", method=method, shots=shots), result(method, shots))
    assert rows[0]["accuracy"] < rows[1]["accuracy"] < rows[-1]["accuracy"]


def test_outliers(study, result):
    found = study("outliers")
    rows = found.rows("episodes")
    assert len(rows) == EPISODES
    store = Store(SKETCHES)
    points = reference.transform(store.features("novel", store.views[0]), 1, 0, 0.5)
    episodes = reference.draw_episodes(reference.rows_by_class(store.labels("novel")), Task(shots=5, episodes=EPISODES, seed=3))
    pairs = np.triu_indices(5, 1)
    for row, episode in zip(rows, episodes):
        apart = [np.linalg.norm(points[rows][:, None] - points[rows], axis=2)[pairs] for rows in episode.support]
        assert row["variance"] == pytest.approx(np.mean(apart), rel=1e-9)
    variance = [row["variance"] for row in rows]
    for method in ("s2m2", "dc", "vd", "deepvoro", "deepvoro++", "plda"):
        flags = ["--scheme", "guided"] if method in ("deepvoro", "deepvoro++", "plda") else []
        members = found.pool(method, 5) if flags else None
        accuracy = result(method, 5, *flags, members=members)["episode_accuracy"]
        assert [row[method] for row in rows] == accuracy
        line = scipy.stats.linregress(variance, accuracy)
        slope = found.row("slopes", method=method)
        assert slope["slope"] == pytest.approx(line.slope)
        assert slope["slope_ci95"] == pytest.approx(1.96 * line.stderr)
        assert slope["r"] == pytest.approx(line.rvalue)
        gain = scipy.stats.linregress(variance, np.array(accuracy) - [row["s2m2"] for row in rows])
        assert slope["gain_slope"] == pytest.approx(gain.slope, abs=1e-9)
        assert slope["gain_slope_ci95"] == pytest.approx(1.96 * gain.stderr, abs=1e-9)


def shown_classes(store):
    """The rows of the classes of the first episode, way by way."""
    class_rows = reference.rows_by_class(store.labels("novel"))
    (episode,) = reference.draw_episodes(class_rows, Task(episodes=1, seed=3))
    labels = store.labels("novel")
    return [np.flatnonzero(labels == labels[rows[0]]) for rows in episode.support]


@pytest.mark.parametrize("panel", ["raw", "l2", "tukey", "composed"])
def test_embedding_against_scikit_learn(study, panel):
    from scipy.spatial.distance import pdist
    from sklearn.manifold import TSNE, _t_sne

    found = study("embedding")
    rows = found.rows("points", panel=panel)
    about = found.row("panels", panel=panel)
    store = Store(SKETCHES)
    wanted = np.concatenate([rows[:100] for rows in shown_classes(store)])
    assert [row["sample"] for row in rows] == list(wanted)
    raw = store.features("novel", store.views[0])[wanted]
    features = {
        "raw": lambda: raw,
        "l2": lambda: reference.transform(raw, 1, 0, 1),
        "tukey": lambda: np.sqrt(raw),
        "composed": lambda: reference.transform(raw, 1, 0.04, 0),
    }[panel]()
    points = np.array([[row["x"], row["y"]] for row in rows])
    # The divergence that is told is scikit-learn's of our points and its own probabilities.
    squared = pdist(features, "sqeuclidean")
    probabilities = _t_sne._joint_probabilities(
        scipy.spatial.distance.squareform(squared).astype(np.float32), about["perplexity"], 0)
    divergence, gradient = _t_sne._kl_divergence(points.ravel(), probabilities, 1, len(points), 2)
    assert about["divergence"] == pytest.approx(divergence, rel=1e-5)
    # We are where its gradient is all but gone.
    start = _t_sne._kl_divergence(1e-4 * np.random.RandomState(0).randn(points.size), probabilities, 1, len(points), 2)[0]
    assert divergence < start / 2
    assert np.linalg.norm(gradient) < 1e-5
    if panel == "composed":  # as near to the probabilities as it gets itself; it takes seconds
        theirs = TSNE(perplexity=about["perplexity"], method="exact", init="pca", learning_rate="auto", random_state=0).fit(features)
        assert divergence <= 1.15 * theirs.kl_divergence_  # another local minimum, perhaps


def plane_of(means):
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    axes = axes[:2] * np.sign(axes[[0, 1], np.abs(axes[:2]).argmax(axis=1)])[:, None]
    return lambda rows: (rows - means.mean(axis=0)) @ axes.T


def square_rooted(store, split):
    return reference.transform(store.features(split, store.views[0]), 1, 0, 0.5)


def first_episode(store, shots):
    class_rows = reference.rows_by_class(store.labels("novel"))
    (episode,) = reference.draw_episodes(class_rows, Task(episodes=1, seed=3, shots=shots))
    return episode


def pixels(panel):
    across, up = ((np.arange(400) + 0.5) / 400 for _ in range(2))
    x = panel["x0"] + (panel["x1"] - panel["x0"]) * across
    y = panel["y0"] + (panel["y1"] - panel["y0"]) * up[::-1]
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def ladder(points, power):
    return np.sign(points) * np.abs(points) ** power


def plda_scores(points, support, base, labels):
    covariances = reference.BaseCovariances(base, labels, 0.5, 0.4)
    within, between = covariances.within, covariances.between
    shots = support.shape[1]
    gain = between @ np.linalg.inv(between + within / shots)
    spread = np.linalg.inv(within + between - gain @ between)
    centered = points - covariances.mean
    scores = []
    for of_class in support:
        away = centered - gain @ (of_class.mean(axis=0) - covariances.mean)
        scores.append(-np.einsum("ni,ij,nj->n", away, spread, away))
    return np.stack(scores, axis=1)


@pytest.mark.parametrize("geometry", ["vd", "power", "civd", "ccvd", "plda"])
@pytest.mark.parametrize("shots", [1, 3])
def test_diagram(study, geometry, shots):
    found = study("diagram", "--shots", "1,3")
    store = Store(SKETCHES)
    base, labels = square_rooted(store, "base"), store.labels("base")
    means = np.stack([base[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    plane = plane_of(means)
    episode = first_episode(store, shots)
    novel = square_rooted(store, "novel")
    support, query = plane(novel[episode.support]), plane(novel[episode.query]).reshape(-1, 2)
    prototypes = support.mean(axis=1)
    start = heads_reference.diagram_of_prototypes

    def scores(points):
        if geometry == "vd":
            return -reference.distances(points, prototypes)
        if geometry == "power":
            return heads_reference.lr_scores(support[None], points[None], "power", 20, start)[0]
        if geometry == "civd":
            return heads_reference.civd_scores(support[None], points[None], "voronoi", 20, 1, start)[0]
        if geometry == "plda":
            return plda_scores(points, support, plane(base), labels)
        return -sum(reference.distances(ladder(points, power), ladder(support, power).mean(axis=1)) for power in (0.5, 0.75, 1))

    panel = found.row("panels", geometry=geometry, split="novel", shots=shots)
    cells = np.frombuffer(base64.b64decode(panel["cells"]), np.uint8)
    assert cells.shape == (400 * 400,)
    assert (cells != scores(pixels(panel)).argmax(axis=1)).sum() <= 8  # on a border
    decided = scores(query).argmax(axis=1) == np.repeat(np.arange(5), 15)
    points = [row for row in found.rows("points", panel=panel["panel"], shots=shots) if row["role"].startswith("query")]
    np.testing.assert_allclose([[row["x"], row["y"]] for row in points], query, atol=1e-9)
    assert [row["role"] == "query" for row in points] == list(decided)
    assert [row["class"] for row in points] == list(np.repeat(np.arange(5), 15))


def test_diagram_of_base_classes(study):
    found = study("diagram", "--shots", "1,3")
    panel = found.row("panels", split="base", shots=1)
    centers = found.rows("points", panel=panel["panel"], shots=1)
    assert 2 <= len(centers) <= 10
    places = np.array([[row["x"], row["y"]] for row in centers])
    cells = np.frombuffer(base64.b64decode(panel["cells"]), np.uint8)
    assert (cells != reference.distances(pixels(panel), places).argmin(axis=1)).sum() <= 8


def test_surrogate_pattern(study):
    found = study("surrogate-pattern")
    store = Store(SKETCHES)
    means = store.base_prototypes({"view": store.views[0], "w": 1, "b": 0, "lambda": 0.5})
    novel = square_rooted(store, "novel")
    episode = first_episode(store, 1)
    support = reference.distances(novel[episode.support].mean(axis=1), means)
    query = reference.distances(novel[episode.query].reshape(-1, means.shape[1]), means)
    for role, expected in (("support", support), ("query", query)):
        written = [row["distance"] for row in found.rows("pattern", row=role)]
        np.testing.assert_allclose(np.reshape(written, expected.shape), expected, rtol=1e-9)
    classes = json.loads((SKETCHES / "store.json").read_text())["splits"]["base"]["classes"]
    assert [row["base_class"] for row in found.rows("pattern")[: len(classes)]] == classes


def test_time_has_the_rows_of_the_paper(study):
    found = study("time", "--shots", "5")
    rows = [(row["method"], row["members"], row["paper_minutes"]) for row in found.rows("time")]
    assert rows == [("dc", 1, 88.29), ("s2m2_r", 1, 33.89), ("deepvoro", 1, 0.05), ("deepvoro", 64, 25.67),
                    ("deepvoro++", 1, 0.14), ("deepvoro++", 160, 179.05), ("plda", 8, None)]
    assert all(row["seconds"] > 0 and row["episodes"] == EPISODES for row in found.rows("time"))


@pytest.mark.parametrize("name", ["backbones", "procedures", "cross-domain"])
def test_methods_side_by_side(study, result, name):
    found = study(name)
    for shots in (1, 5):
        evaluated = {"dc": result("dc", shots), "s2m2_r": result("s2m2", shots)}
        baseline = max(evaluated.values(), key=lambda one: one["accuracy"])["episode_accuracy"]
        for method in ("deepvoro", "deepvoro++", "plda"):
            evaluated[method] = result(method, shots, "--scheme", "guided", members=found.pool(method, shots))
        for method, expected in evaluated.items():
            row = found.row("table", method=method, shots=shots)
            same(row, expected)
            assert row["members"] == expected["members"]
            if method in ("deepvoro", "deepvoro++", "plda"):
                p = scipy.stats.ttest_rel(expected["episode_accuracy"], baseline).pvalue
                assert row["p_vs_best_baseline"] == pytest.approx(p, rel=1e-6)


def test_several_stores(deepvoro, make_store, tmp_path):
    first = make_store(dim=12, views=2, class_sizes=(20, 24))
    second = shutil.copytree(first, tmp_path / "another")
    shutil.rmtree(second / "val")
    description = json.loads((second / "store.json").read_text())
    del description["splits"]["val"]
    (second / "store.json").write_text(json.dumps(description))
    flags = ["--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    process = deepvoro("study", "backbones", first, second, *flags)
    assert process.returncode == 0, process.stderr
    found = Study(tmp_path / "paper", "backbones")
    assert [store["name"] for store in found.document["stores"]] == ["store", "another"]
    assert {row["scheme"] for row in found.rows("table", store="store", method="plda")} == {"guided"}
    assert {row["scheme"] for row in found.rows("table", store="another", method="plda")} == {"full"}


def test_a_killed_study_goes_on_to_the_same_bytes(deepvoro, program, make_store, tmp_path):
    """Steps of a finished run are taken away, as if it had been killed before them."""
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    out = tmp_path / "paper"
    command = ["study", "members", store, "--ways", 3, "--queries", 5, "--episodes", 10, "--out", out]
    assert deepvoro(*command).returncode == 0
    written = {file.name: file.read_bytes() for file in out.glob("members*")}
    assert len(written) == 5
    steps = sorted((out / ".steps").iterdir())
    for file in steps[::2]:
        file.unlink()
    for file in out.glob("members*"):
        file.unlink()
    process = deepvoro(*command, "--threads", 1)
    assert process.returncode == 0
    assert f"took {len(steps) // 2} of {len(steps)} steps" in process.stderr
    assert {file.name: file.read_bytes() for file in out.glob("members*")} == written


@pytest.mark.parametrize("spoil", [lambda text: text[:-20], lambda text: text.replace('"correct":[', '"correct":[1,'), lambda _: "[]"])
def test_a_damaged_step_is_refused(deepvoro, make_store, tmp_path, spoil):
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    command = ["study", "joint", store, "--shots", 1, "--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    assert deepvoro(*command).returncode == 0
    step = sorted((tmp_path / "paper/.steps").iterdir())[0]
    step.write_text(spoil(step.read_text()))
    process = deepvoro(*command)
    assert process.returncode == 3
    assert process.stderr.count("\n") == 1
    assert str(step) in process.stderr and "delete it" in process.stderr


def refused(process, code, *fragments):
    assert process.returncode == code, process.stderr
    assert process.stderr.count("\n") == 1 and process.stdout == ""
    for fragment in fragments:
        assert str(fragment) in process.stderr


def test_bad_input(deepvoro, make_store, tmp_path):
    store = make_store(dim=12, views=2, class_sizes=(20, 24))
    out = tmp_path / "paper"
    refused(deepvoro("study", "membres", store, "--out", out), 2, "membres", "did you mean members")
    refused(deepvoro("study", "cells", store, "--out", out), 2, "cells", "ensemble-size")
    refused(deepvoro("study", "members", tmp_path / "nowhere", "--out", out), 3, "nowhere")
    refused(deepvoro("study", "members", store, "--shots", 30, "--ways", 3, "--out", out), 3, "30", "class")
    refused(deepvoro("study", "outliers", store, "--shots", 1, "--out", out), 2, "--shots 1", "at least 2")
    refused(deepvoro("study", "embedding", store, "--shots", 1, "--out", out), 2, "--shots")
    refused(deepvoro("study", "joint", store, store, "--out", out), 2, "two stores")
    refused(deepvoro("study", "joint", store, "--out", store / "paper"), 2, "--out")
    bare = random_store(tmp_path / "bare", dim=12, views=2, class_sizes=(20, 24))
    description = json.loads((bare / "store.json").read_text())
    del description["splits"]["val"]
    (bare / "store.json").write_text(json.dumps(description))
    refused(deepvoro("study", "members", bare, "--out", out), 3, bare, "'val'")
    assert not out.exists()


def test_negative_features_need_signed(deepvoro, tmp_path):
    store = random_store(tmp_path / "signed", dim=2, views=2, class_sizes=(20, 24), relu=False, classes=(("base", 9), ("val", 6), ("novel", 7)))
    flags = ["--ways", 3, "--queries", 5, "--episodes", 10, "--out", tmp_path / "paper"]
    refused(deepvoro("study", "shots", store, *flags), 3, "--signed")
    process = deepvoro("study", "shots", store, "--signed", *flags)
    assert process.returncode == 0, process.stderr
    process = deepvoro("study", "diagram", store, *flags)  # the plane as it is
    assert process.returncode == 0, process.stderr
    found = Study(tmp_path / "paper", "diagram")
    assert "two dimensions" in found.rows("panels")[0]["projection"]
    # All base classes, as there are few, each with its mean and samples.
    base = Store(store)
    points, labels = base.features("base", base.views[0]), base.labels("base")
    for label in range(labels.max() + 1):
        (center,) = found.rows("points", panel="base, vd", role="center", **{"class": label})
        np.testing.assert_allclose([center["x"], center["y"]], points[labels == label].mean(axis=0), atol=1e-6)
        samples = found.rows("points", panel="base, vd", role="sample", **{"class": label})
        np.testing.assert_allclose([[row["x"], row["y"]] for row in samples], points[labels == label][:40], atol=1e-6)


def test_birds_follow_the_paper(deepvoro, cub_store, tmp_path):
    """With a larger variance of the support, the gain over S2M2_R is larger; with more shots, accuracy is."""
    flags = ["--episodes", 400, "--out", tmp_path]
    for name in ("outliers", "shots"):
        process = deepvoro("study", name, cub_store, *flags)
        assert process.returncode == 0, process.stderr
    slopes = {row["method"]: row for row in Study(tmp_path, "outliers").rows("slopes")}
    assert all(row["slope"] + row["slope_ci95"] < 0 for row in slopes.values())
    assert slopes["deepvoro"]["gain_slope"] > 0
    assert slopes["deepvoro++"]["gain_slope"] > 0
    assert slopes["plda"]["gain_slope"] - slopes["plda"]["gain_slope_ci95"] > 0
    found = Study(tmp_path, "shots")
    for method in ("vd", "deepvoro", "plda"):
        accuracy = [row["accuracy"] for row in found.rows("shots", method=method)]
        assert len(accuracy) >= 5
        assert accuracy == sorted(accuracy)
