"""`deepvoro store join`: members of several networks add up, each in the dimensions of its own."""
import json

import numpy as np
import pytest
import reference
from checks import assert_result_follows_from_scores, assert_scores_agree
from reference import Store, Task
from stores import random_features, random_labels, view_names, write_store

SIZES = {"base": (30, 40), "val": (8, 24), "novel": (8, 24)}


def network(folder, dim, views=2, seed=0, labels_seed=0, change=None):
    """All networks of one labels_seed see the same samples."""
    of_labels, random = np.random.RandomState(labels_seed), np.random.RandomState(100 + seed)
    splits = {}
    for split, (classes, samples) in SIZES.items():
        labels = random_labels(of_labels, [samples] * classes)
        rows = random_features(random, labels, dim, views=views)
        splits[split] = labels, {view: one.astype(np.float32) for view, one in zip(view_names(views), rows)}
    if change:
        change(splits)
    return write_store(folder, splits)


def described(store):
    return json.loads((store / "store.json").read_text())


def write_description(store, **changes):
    (store / "store.json").write_text(json.dumps({**described(store), **changes}))


@pytest.fixture
def join(deepvoro, tmp_path):
    def run(*stores, out="joined"):
        process = deepvoro("store", "join", *stores, "--out", tmp_path / out)
        assert process.returncode == 0, process.stderr
        return tmp_path / out

    return run


@pytest.fixture
def refused(deepvoro, tmp_path):
    def run(*stores, code=3):
        before = sorted(tmp_path.iterdir())
        process = deepvoro("store", "join", *stores, "--out", tmp_path / "joined")
        assert process.returncode == code, process.stderr
        assert len(process.stderr.splitlines()) == 1 and process.stdout == ""
        assert sorted(tmp_path.iterdir()) == before, "nothing may be left behind"
        return process.stderr

    return run


def member(view, geometry="vd", power=0.5, b=0.0, **others):
    return {"view": view, "w": 1.0, "b": b, "lambda": power, "geometry": geometry, **others}


def plda(view, within=0.5, between=0.4, kappa=1.0, **others):
    return member(view, "plda", shrink_within=within, shrink_between=between, kappa=kappa, **others)


def sum_of_parts(parts, task, members, **options):
    """Scores of each network's members by plain NumPy on its own store, added up."""
    scores = 0
    for name, store in parts.items():
        own = [{**m, "view": m["view"].partition("/")[2]} for m in members if m["view"].startswith(f"{name}/")]
        scores = scores + reference.ensemble_scores(Store(store), task, own, **options)
    return scores


def test_the_views_of_both_are_there_byte_for_byte(deepvoro, join, tmp_path):
    parts = {"wide": network(tmp_path / "wide", 17), "deep": network(tmp_path / "deep", 70, views=1, seed=1)}
    joined = join(f"wide={parts['wide']}", parts["deep"])
    description = described(joined)
    assert description["dim"] == {"wide": 17, "deep": 70}
    assert description["views"] == ["wide/s84_r0_f0", "wide/s84_r0_f1", "deep/s84_r0_f0"]
    assert description["splits"] == described(parts["wide"])["splits"]
    assert description["provenance"]["networks"] == {name: described(part)["provenance"] for name, part in parts.items()}
    for split in SIZES:
        assert (joined / split / "labels.npy").read_bytes() == (parts["wide"] / split / "labels.npy").read_bytes()
        for view in description["views"]:
            name, _, plain = view.partition("/")
            assert (joined / split / f"{view}.npy").read_bytes() == (parts[name] / split / f"{plain}.npy").read_bytes()
    assert "17 (wide), 70 (deep)" in deepvoro("store", "info", joined).stdout
    info = json.loads(deepvoro("store", "info", joined, "--json").stdout)
    assert info["dim"] == description["dim"] and info["views"] == description["views"]
    check = deepvoro("store", "check", joined)
    values = sum(classes * samples for classes, samples in SIZES.values()) * (2 * 17 + 70)
    assert check.returncode == 0 and f"13 files, {values} values" in check.stdout


def test_a_joined_store_can_be_joined_again(join, tmp_path):
    a, b, c = (network(tmp_path / name, dim, views=1, seed=dim) for name, dim in (("a", 3), ("b", 5), ("c", 4)))
    twice = join(join(a, b, out="ab"), c, out="abc")
    at_once = join(a, b, c)
    assert (twice / "store.json").read_text() == (at_once / "store.json").read_text()
    files = sorted(path.relative_to(twice) for path in twice.rglob("*.npy"))
    assert len(files) == 12
    for file in files:
        assert (twice / file).read_bytes() == (at_once / file).read_bytes()


@pytest.mark.parametrize("dims", [(17, 5), (63, 64), (20, 130), (96, 96)])
@pytest.mark.parametrize("shots", [1, 5])
def test_members_of_all_networks_add_up(join, evaluate, write_pool, tmp_path, dims, shots):
    parts = {name: network(tmp_path / name, dim, seed=i) for i, (name, dim) in enumerate(zip("ab", dims))}
    joined = join(*parts.values())
    plain = [member("b/s84_r0_f1", power=0, b=0.1), member("a/s84_r0_f0"), member("b/mean", power=1)]
    surrogate = {"geometry": "surrogate", "R": 3, "beta": 4.5, "gamma": 1.0}
    for method, members in (
        ("plda", [plda("a/mean", within=0.3, kappa=2.0), plain[0], plda("b/s84_r0_f0", weight=1.5), plain[1], plda("b/mean")]),
        ("deepvoro++", [{**plain[1], **surrogate}, *plain, {**plain[2], **surrogate, "R": 2}, {**plain[1], **surrogate, "R": 4}]),
    ):
        task = Task(shots=shots, episodes=4)
        actual = evaluate(joined, method, "--pool", write_pool(members), task=task)
        assert_scores_agree(actual.scores, sum_of_parts(parts, task, members))
        assert_result_follows_from_scores(actual.result, actual.scores)
        assert [one["view"] for one in actual.result["pool"]] == [one["view"] for one in members]


@pytest.mark.parametrize("alpha", [2.0, -1.0])
def test_without_a_pool_every_view_of_every_network(join, evaluate, tmp_path, alpha):
    parts = {name: network(tmp_path / name, dim, seed=dim) for name, dim in (("a", 20), ("b", 90))}
    joined = join(*parts.values())
    task = Task(shots=2, episodes=4)
    members = [plda(f"{name}/{view}") for name in parts for view in view_names(2)]
    actual = evaluate(joined, "plda", "--alpha", alpha, task=task)
    assert [one["view"] for one in actual.result["pool"]] == [one["view"] for one in members]
    assert_scores_agree(actual.scores, sum_of_parts(parts, task, members, alpha=alpha))


@pytest.mark.parametrize("method", ["simpleshot", "pt-ncm", "voronoi-lr", "vd"])
def test_methods_of_one_view_take_that_of_any_network(join, evaluate, tmp_path, method):
    parts = {name: network(tmp_path / name, dim, seed=dim) for name, dim in (("a", 20), ("b", 90))}
    joined = join(*parts.values())
    task = Task(shots=3, episodes=4)
    alone = evaluate(parts["b"], method, "--view", "s84_r0_f1", task=task)
    assert evaluate(joined, method, "--view", "b/s84_r0_f1", task=task).scores_bytes == alone.scores_bytes
    first = evaluate(parts["a"], method, task=task)
    assert evaluate(joined, method, task=task).scores_bytes == first.scores_bytes


def test_same_bits_at_any_number_of_threads(join, evaluate, write_pool, tmp_path):
    joined = join(network(tmp_path / "a", 40), network(tmp_path / "b", 130, seed=1))
    members = [make(f"{name}/{view}") for view in (*view_names(2), "mean") for name in "ab" for make in (plda, member)]
    flags = ["--pool", write_pool(members), "--scheme", "guided"]
    task = Task(shots=1, episodes=30)
    runs = {evaluate(joined, "plda", *flags, "--threads", threads, task=task).scores_bytes for threads in (1, 2, 5)}
    assert len(runs) == 1


def test_tuning_chooses_for_each_network_what_it_chooses_alone(deepvoro, join, tmp_path):
    parts = {name: network(tmp_path / name, dim, seed=dim) for name, dim in (("a", 12), ("b", 80))}
    joined = join(*parts.values())

    def tuned(store):
        flags = ["--method", "plda", "--shots", 1, "--episodes", 40, "--out", tmp_path / "tuned.json"]
        process = deepvoro("tune", store, *flags)
        assert process.returncode == 0, process.stderr
        return json.loads((tmp_path / "tuned.json").read_text())

    alone = {name: tuned(part) for name, part in parts.items()}
    both = tuned(joined)
    tried = [{**one, "network": name} for name, pool in alone.items() for one in pool["tuning"]["plda"]]
    assert [{**one} for one in both["tuning"]["plda"]] == tried
    assert sum(one["chosen"] for one in tried) == 2

    def keyed(members, prefix=""):
        return {(prefix + m["view"], m["lambda"], m["b"]): {**m, "view": prefix + m["view"]} for m in members}

    expected = keyed(alone["a"]["members"], "a/") | keyed(alone["b"]["members"], "b/")
    assert len(both["members"]) == len(expected) == 24
    assert keyed(both["members"]) == expected


def test_calibration_sees_all_networks(join, evaluate, tmp_path):
    # Two networks with the same features: the mean over members is that of one.
    a = network(tmp_path / "a", 30)
    both = join(f"x={a}", f"y={a}")
    task = Task(shots=5, episodes=10)
    alone = evaluate(a, "deepvoro", "--calibration", task=task).result["calibration"]
    joined = evaluate(both, "deepvoro", "--calibration", task=task).result["calibration"]
    assert joined == pytest.approx(alone, rel=1e-9)


def other_labels(splits):
    labels, views = splits["val"]
    labels = labels.copy()
    i = next(i for i in range(len(labels)) if labels[i] != labels[i + 1])
    labels[[i, i + 1]] = labels[[i + 1, i]]
    splits["val"] = labels, views


def fewer_samples(splits):
    labels, views = splits["novel"]
    splits["novel"] = labels[:-1], {view: rows[:-1] for view, rows in views.items()}


@pytest.mark.parametrize(
    "change, words",
    [
        (other_labels, ["split val", "is of class 'val-0", "same order"]),
        (fewer_samples, ["split novel", "192", "191"]),
        (lambda splits: splits.pop("base"), ["only", "the split 'base'"]),
    ],
)
def test_other_samples_are_refused(refused, tmp_path, change, words):
    a, b = network(tmp_path / "a", 6), network(tmp_path / "b", 7, seed=1, change=change)
    for stores in ((a, b), (b, a)):
        message = refused(*stores)
        assert str(a) in message and str(b) in message
        assert all(word in message for word in words), message


def test_other_classes_and_pictures_are_refused(refused, join, tmp_path):
    a, b = network(tmp_path / "a", 6), network(tmp_path / "b", 7, seed=1)
    splits = described(b)["splits"]
    write_description(b, splits={**splits, "val": {**splits["val"], "classes": splits["val"]["classes"][::-1]}})
    assert "split val has other classes" in refused(a, b)
    write_description(b, splits=splits, provenance={"pictures": {"val": "00", "base": "11"}})
    c = join(a, b, out="c")  # a does not say
    write_description(a, provenance={"pictures": {"val": "00", "base": "12"}})
    assert "split base was made from other pictures" in refused(a, b)
    assert "split base was made from other pictures" in refused(f"d={a}", c)


def test_wrong_names_are_refused(refused, join, tmp_path):
    a, b = network(tmp_path / "a", 6), network(tmp_path / "b", 7, seed=1)
    assert "both networks are named 'x'" in refused(f"x={a}", f"x={b}", code=2)
    assert "at least two" in refused(a, code=2)
    assert "'mean' cannot be the name of a network" in refused(a, network(tmp_path / "mean", 3), code=2)
    assert "is not a feature store" in refused(a, tmp_path / "nowhere")
    joined = join(a, b)
    assert "such as 'a'; give it without a name" in refused(f"x={joined}", network(tmp_path / "c", 3), code=2)
    assert "already exists" in refused(a, b, code=2)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"dim": 6}, '"a/s84_r0_f0" cannot be the name of a view'),
        ({"dim": {"a": 6}}, '"dim" of "b" must be a whole number'),
        ({"dim": {"a": 6, "b": 0}}, '"dim" of "b" must be a whole number'),
        ({"dim": {"a": 6, "b": 7, "c": 8}}, '"dim" names 3 networks, but "views" has views of 2'),
        ({"dim": {}}, '"dim" of "a" must be'),
        ({"views": ["a/s84_r0_f0", "s84_r0_f1"]}, '"s84_r0_f1" cannot be the name of a view'),
        ({"views": ["a/s84_r0_f0", "../s84_r0_f1"]}, '"../s84_r0_f1" cannot be the name of a view'),
        ({"views": ["a/s84_r0_f0", "b/"]}, '"b/" cannot be the name of a view'),
        ({"views": ["a/s84_r0_f0", "b/c/d"]}, '"b/c/d" cannot be the name of a view'),
        ({"views": ["a/s84_r0_f0", "b/mean"]}, '"b/mean" cannot be the name of a view'),
        ({"views": ["a/s84_r0_f0", "b/s84_r0_f0"], "dim": {"a": 6, "b": 8}}, "(1200, 7), but store.json says 1200 samples of 8 dimensions"),
    ],
)
def test_damaged_descriptions_are_refused(deepvoro, join, tmp_path, changes, words):
    joined = join(network(tmp_path / "a", 6), network(tmp_path / "b", 7, seed=1))
    write_description(joined, **changes)
    process = deepvoro("store", "check", joined)
    assert process.returncode == 3 and len(process.stderr.splitlines()) == 1
    assert words in process.stderr


def test_what_several_networks_cannot_do_is_told(deepvoro, join, write_pool, tmp_path):
    joined = join(network(tmp_path / "a", 6), network(tmp_path / "b", 7, seed=1))
    fit = deepvoro("fit", joined, "--out", tmp_path / "classifier.dv")
    assert fit.returncode == 3 and "features of 2 networks, but a classifier is of one" in fit.stderr
    assert not (tmp_path / "classifier.dv").exists()
    for view in ("mean", "c/mean", "s84_r0_f0"):
        process = deepvoro("evaluate", joined, "--method", "vd", "--pool", write_pool([member(view)]))
        assert process.returncode == 3 and f"names view '{view}', which" in process.stderr
        assert "a/s84_r0_f0, a/s84_r0_f1, b/s84_r0_f0" in process.stderr
