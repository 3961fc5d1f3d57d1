"""The paper's studies: every number is what evaluate says of the same members, or what NumPy and SciPy compute."""
import json

import numpy as np
import pytest
import reference
import scipy.stats
from conftest import REPOSITORY
from reference import Store, Task
from study_runs import EPISODES, FLAGS, SEED, STORE, Study, store, study  # noqa: F401

SKETCHES = REPOSITORY / "data/quickdraw"
ONE_QUERY_PERCENT = 100 / (EPISODES * 75)
VIEWS = STORE["views"]


@pytest.fixture(scope="module")
def result(deepvoro, store, tmp_path_factory):
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
            process = deepvoro("evaluate", store, "--method", method, "--shots", shots, *FLAGS, *pool, *flags, "--json", folder / "result.json")
            assert process.returncode == 0, process.stderr
            known[key] = json.loads((folder / "result.json").read_text())
        return known[key]

    return run


def same(row, evaluated):
    assert row["accuracy"] == evaluated["accuracy"]
    assert row["ci95"] == evaluated["ci95"]


def some(rows, count=4):
    return [rows[i] for i in np.random.RandomState(0).permutation(len(rows))[:count]]


@pytest.mark.parametrize("method", ["deepvoro", "deepvoro++"])
@pytest.mark.parametrize("shots", [1, 5])
def test_members(study, result, method, shots):
    found = study("members")
    rows = found.rows("members", method=method, shots=shots)
    pool = found.pool(method, shots)
    assert len(rows) == len(pool) == {"deepvoro": 8 * VIEWS, "deepvoro++": 20 * VIEWS}[method]
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


def test_transformations(study, store, result):
    rows = study("members").rows("transformations", shots=1)
    view = Store(store).views[0]
    for row in some(rows):
        member = {"view": view, "w": 1, "b": row["b"], "lambda": row["lambda"], "geometry": "vd"}
        for split in ("val", "novel"):
            evaluated = result("vd", 1, "--split", split, members=[member])
            assert (row[split], row[f"{split}_ci95"]) == (evaluated["accuracy"], evaluated["ci95"])
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
    for size in (2, len(members) // 2):
        fixed = result(method, shots, "--scheme", "guided", "--size", size, members=members)
        assert curve[size - 1]["novel"] == pytest.approx(fixed["accuracy"], abs=ONE_QUERY_PERCENT)
    assert chosen["oracle"]["size"] == int(np.argmax([row["novel"] for row in curve])) + 1
    assert "leakage" in found.tables["chosen"]["title"]
    for row in found.rows("random", method=method, shots=shots):
        assert row["lowest"] - 1e-9 <= row["mean"] <= row["highest"] + 1e-9
    single = found.row("random", method=method, shots=shots, size=1)
    alone = [row["novel"] for row in study("members").rows("members", method=method, shots=shots)]
    for end in ("lowest", "highest"):
        assert any(abs(single[end] - accuracy) < 1e-9 for accuracy in alone)
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
        assert len(every_view) == VIEWS
        average, transformed, viewed, whole = found.rows("ablation_all", method=method, shots=shots)
        means = [row["novel"] for row in singles.rows("members", method=method, shots=shots)]
        assert average["averaged"] and average["accuracy"] == pytest.approx(np.mean(means))
        same(transformed, result(method, shots, members=first_view))
        same(viewed, result(method, shots, members=every_view))
        guided = result(method, shots, "--scheme", "guided", members=members)
        same(whole, guided)
        assert (transformed["members"], viewed["members"], whole["members"]) == (len(first_view), VIEWS, guided["members"])
        assert (whole["features"], whole["transformations"], whole["geometries"]) == {
            "deepvoro": (VIEWS, 8, 1), "deepvoro++": (VIEWS, 2, 10)}[method]
        schemes = found.rows("schemes", method=method, shots=shots)
        assert [row["scheme"] for row in schemes] == ["none", "full", "full", "full", "random", "guided"]
        same(schemes[0], result("vd", shots))
        same(schemes[1], result(method, shots, members=first_view))
        same(schemes[2], result(method, shots, members=every_view))
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
    assert [row["shots"] for row in rows] == [1, 2, 3, 5]  # the smallest class has 20 samples
    for method in ("vd", "deepvoro", "deepvoro++", "plda"):
        for shots in (2, 5):
            same(found.row("shots", method=method, shots=shots), result(method, shots))
    assert rows[0]["accuracy"] < rows[1]["accuracy"] < rows[-1]["accuracy"]


def test_outliers(study, store, result):
    found = study("outliers")
    rows = found.rows("episodes")
    assert len(rows) == EPISODES
    novel = Store(store)
    points = reference.transform(novel.features("novel", novel.views[0]), 1, 0, 0.5)
    episodes = reference.draw_episodes(reference.rows_by_class(novel.labels("novel")), Task(shots=5, episodes=EPISODES, seed=SEED))
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


def test_time_has_the_rows_of_the_paper(study):
    found = study("time", "--shots", "5")
    rows = [(row["method"], row["members"], row["paper_minutes"]) for row in found.rows("time")]
    assert rows == [("dc", 1, 88.29), ("s2m2_r", 1, 33.89), ("deepvoro", 1, 0.05), ("deepvoro", 8 * VIEWS, 25.67),
                    ("deepvoro++", 1, 0.14), ("deepvoro++", 20 * VIEWS, 179.05), ("plda", VIEWS, None)]
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


def test_findings_of_the_paper(deepvoro, tmp_path):
    """With a larger variance of the support, the gain over S2M2_R is larger."""
    process = deepvoro("study", "outliers", SKETCHES, "--episodes", 400, "--out", tmp_path)
    assert process.returncode == 0, process.stderr
    slopes = {row["method"]: row for row in Study(tmp_path, "outliers").rows("slopes")}
    assert all(row["slope"] + row["slope_ci95"] < 0 for row in slopes.values())
    assert slopes["deepvoro"]["gain_slope"] > 0
    assert slopes["deepvoro++"]["gain_slope"] > 0
    assert slopes["plda"]["gain_slope"] - slopes["plda"]["gain_slope_ci95"] > 0


def test_more_shots_are_better_on_birds(deepvoro, cub_store, tmp_path):
    process = deepvoro("study", "shots", cub_store, "--episodes", 100, "--out", tmp_path)
    assert process.returncode == 0, process.stderr
    found = Study(tmp_path, "shots")
    for method in ("vd", "deepvoro", "plda"):
        accuracy = [row["accuracy"] for row in found.rows("shots", method=method)]
        assert len(accuracy) >= 5
        assert accuracy == sorted(accuracy)
