"""plda against its dense float64 form: gain G = B (B + S_w/N)^-1, covariance S_w + B - G B."""
import json

import numpy as np
import pytest
import reference
from checks import assert_result_follows_from_scores, assert_scores_agree
from reference import Store, Task
from stores import random_store, view_names, write_store

MANY_ROWS = (40, 44)
FEW_ROWS = (2, 3)  # 30 classes of these are fewer rows than most dimensions


def plda(view, within=0.5, between=0.4, kappa=1.0, **others):
    member = {"view": view, "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "plda"}
    return {**member, "shrink_within": within, "shrink_between": between, "kappa": kappa, **others}


@pytest.fixture
def store(tmp_path):
    def make(dim, base_sizes=MANY_ROWS):
        relu = dim > 1  # rows of one dimension are 1 or -1 once they are normalised
        base = random_store(tmp_path / "base", dim, classes=[("base", 30)], class_sizes=base_sizes, relu=relu)
        classes = [("val", 8), ("novel", 8)]
        rest = random_store(tmp_path / "rest", dim, classes=classes, class_sizes=(36, 40), relu=relu, seed=1)
        views = Store(base).views
        splits = {}
        for folder, split in ((base, "base"), (rest, "val"), (rest, "novel")):
            at = folder / split
            splits[split] = np.load(at / "labels.npy"), {view: np.load(at / f"{view}.npy") for view in views}
        return Store(write_store(tmp_path / "store", splits))

    return make


@pytest.mark.parametrize(
    "dim, shots",
    [(1, 1), (1, 5), (2, 1), (2, 20), (16, 5), (17, 1), (63, 5), (64, 1), (64, 20), (129, 5), (640, 1), (700, 5)],
)
def test_scores_are_those_of_the_dense_form(store, evaluate, write_pool, dim, shots):
    made = store(dim)
    logarithm = {"b": 0.02, "lambda": 0}
    members = [
        plda(made.views[0]),
        plda("mean", within=0.3, between=0.3, kappa=2.0, weight=1.5),
        plda(made.views[1], within=0.75, between=0.1, **logarithm),
    ]
    if dim == 1:
        members = [{**member, "b": 0.0, "lambda": 1} for member in members]
    task = Task(shots=shots, episodes=4)
    actual = evaluate(made.folder, "plda", "--pool", write_pool(members), task=task)
    assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, members))
    assert_result_follows_from_scores(actual.result, actual.scores)
    assert [member.get("weight", 1) for member in actual.result["pool"]] == [1, 1.5, 1]


@pytest.mark.parametrize("dim, shots", [(17, 1), (200, 5), (640, 1)])
def test_fewer_base_rows_than_dimensions(store, evaluate, write_pool, dim, shots):
    made = store(dim, base_sizes=FEW_ROWS)
    members = [plda(made.views[0], within=0.6, between=0.5)]
    task = Task(shots=shots, episodes=4)
    actual = evaluate(made.folder, "plda", "--pool", write_pool(members), task=task)
    assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, members))


def test_negative_spread_between_classes_is_clamped(store, evaluate, write_pool):
    made = store(40, base_sizes=(3, 4))
    members = [plda(made.views[0], between=0.0)]
    assert made.base_covariances(members[0]).is_clamped
    task = Task(shots=2, episodes=4)
    actual = evaluate(made.folder, "plda", "--pool", write_pool(members), task=task)
    assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, members))


@pytest.mark.parametrize("alpha", [2.0, -1.0])
def test_alpha_and_any_number_of_ways(store, evaluate, write_pool, alpha):
    made = store(70)
    members = [plda(view) for view in made.views]
    task = Task(ways=8, shots=3, queries=4, episodes=4)
    actual = evaluate(made.folder, "plda", "--alpha", alpha, task=task)
    assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, members, alpha))


def test_mean_view_and_weight_of_every_geometry(store, evaluate, write_pool):
    made = store(70)
    plain = {"view": "mean", "w": 1.0, "b": 0.0, "lambda": 0.75}
    for method, member in (
        ("vd", {"geometry": "vd", "weight": 2.5}),
        ("deepvoro++", {"geometry": "surrogate", "R": 3, "beta": 4.5, "gamma": 1.0, "weight": 0.25}),
    ):
        members = [{**plain, **member}]
        task = Task(shots=5, episodes=4)
        actual = evaluate(made.folder, method, "--pool", write_pool(members), task=task)
        assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, members))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("isa", ["generic", ""])
def test_same_bits_everywhere(store, evaluate, threads, isa):
    made = store(70)
    env = {"DEEPVORO_ISA": isa} if isa else {}
    task = Task(shots=2, episodes=6)
    first = evaluate(made.folder, "plda", "--scheme", "guided", "--threads", 2, task=task)
    again = evaluate(made.folder, "plda", "--scheme", "guided", "--threads", threads, task=task, env=env)
    assert first.scores_bytes == again.scores_bytes


def test_guided_members_are_chosen_on_val(store, evaluate, write_pool):
    made = store(30)
    members = [plda(view, within=share) for view in [*made.views, "mean"] for share in (0.3, 0.7)]
    task = Task(shots=1, episodes=30)
    chosen = reference.guided_members(made, task, members)
    actual = evaluate(made.folder, "plda", "--pool", write_pool(members), "--scheme", "guided", task=task)
    assert actual.result["pool"] == [{**member, "lambda": 0.5} for member in chosen]
    assert_scores_agree(actual.scores, reference.ensemble_scores(made, task, chosen))


def test_tune_chooses_shrinkage_on_val_with_the_mean_view(store, deepvoro, tmp_path):
    made = store(20)
    out = tmp_path / "pool.json"
    flags = ["--shots", 1, "--episodes", 40, "--shrink-within", "0.3,0.6", "--shrink-between", "0.1,0.5", "--kappas", "1,4"]
    done = deepvoro("tune", made.folder, "--method", "plda", *flags, "--out", out)
    assert done.returncode == 0, done.stderr
    pool = json.loads(out.read_text())
    tried = [plda("mean", within, between, kappa) for within in (0.3, 0.6) for between in (0.1, 0.5) for kappa in (1, 4)]
    task = Task(split="val", shots=1, episodes=40)
    accuracy = [
        reference.episode_accuracy_percent(scores).mean() for scores in reference.member_scores(made, task, tried)
    ]
    best = tried[int(np.argmax(accuracy))]
    np.testing.assert_allclose([one["val_accuracy"] for one in pool["tuning"]["plda"]], accuracy, atol=1e-9)
    parameters = ("shrink_within", "shrink_between", "kappa")
    (chosen,) = [one for one in pool["tuning"]["plda"] if one["chosen"]]
    assert [chosen[key] for key in parameters] == [best[key] for key in parameters]
    members = pool["members"]
    assert {(m["view"], m["lambda"], m["b"]) for m in members} == {
        (view, *transform)
        for view in [*made.views, "mean"]
        for transform in ((0.5, 0), (1, 0), (0, 0.02), (0, 0.1))
    }
    assert all([m[key] for key in parameters] == [best[key] for key in parameters] for m in members)


def test_the_mean_of_one_view_is_that_view_and_no_member_of_its_own(deepvoro, tmp_path):
    store = random_store(tmp_path / "store", 20, views=1)
    out = tmp_path / "pool.json"
    done = deepvoro("tune", store, "--method", "plda", "--shots", 1, "--episodes", 5, "--kappas", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    assert {member["view"] for member in json.loads(out.read_text())["members"]} == set(view_names(1))
    assert "--scheme guided" in done.stdout


def base_store(tmp_path, labels, rows):
    """A split base as given, and a split novel that would do."""
    random = np.random.RandomState(0)
    novel = np.repeat(np.arange(5), 16), {"a": random.rand(80, rows.shape[1]).astype(np.float32)}
    return write_store(tmp_path / "store", {"base": (labels, {"a": rows.astype(np.float32)}), "novel": novel})


RANDOM_ROWS = np.random.RandomState(3).rand(12, 4)


@pytest.mark.parametrize(
    "labels, rows, mentions",
    [
        (np.zeros(12, int), RANDOM_ROWS, ["1 base class", "at least 2"]),
        (np.arange(12), RANDOM_ROWS, ["12 rows in 12 base classes"]),
        (np.arange(12) // 6, np.repeat(np.eye(4)[:2], 6, axis=0), ["all rows", "equal"]),
        (np.arange(12) // 6, np.tile(RANDOM_ROWS[:6], (2, 1)), ["differ no more than"]),
    ],
)
def test_base_rows_that_tell_nothing(deepvoro, tmp_path, labels, rows, mentions):
    done = deepvoro("evaluate", base_store(tmp_path, labels, rows), "--method", "plda", "--shots", 1, "--episodes", 2)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert all(mention in done.stderr for mention in mentions), done.stderr


def test_no_shrinkage_needs_spread_in_every_dimension(deepvoro, tmp_path, write_pool):
    labels = np.arange(12) // 3
    rows = np.concatenate([RANDOM_ROWS + 2 * np.eye(RANDOM_ROWS.shape[1])[labels], np.full((12, 1), 0.5)], axis=1)
    members = [plda("a", within=0.0, **{"lambda": 1})]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[:, -1] = rows[:, 0]  # what is the same twice has no spread of its own
    store = base_store(tmp_path, labels, rows)
    done = deepvoro("evaluate", store, "--method", "plda", "--pool", write_pool(members), "--shots", 1, "--episodes", 2)
    assert done.returncode == 3 and "shrink_within above 0" in done.stderr, done.stderr


def test_a_store_without_base_and_a_pool_of_another_method(deepvoro, store, tmp_path, write_pool):
    made = store(5)
    done = deepvoro("evaluate", made.folder, "--method", "deepvoro", "--pool", write_pool([plda(made.views[0])]))
    assert done.returncode != 0 and "--method plda" in done.stderr
    labels = np.repeat(np.arange(5), 16)
    novel = {"a": np.random.RandomState(0).rand(80, 3).astype(np.float32)}
    without = write_store(tmp_path / "without", {"novel": (labels, novel)})
    done = deepvoro("evaluate", without, "--method", "plda", "--shots", 1)
    assert done.returncode == 3 and "'base'" in done.stderr and "plda" in done.stderr


def test_no_view_of_a_store_is_called_mean(deepvoro, tmp_path):
    labels = np.repeat(np.arange(5), 16)
    rows = np.random.RandomState(0).rand(80, 3).astype(np.float32)
    store = write_store(tmp_path / "store", {"novel": (labels, {"mean": rows})})
    done = deepvoro("evaluate", store, "--method", "vd", "--shots", 1)
    assert done.returncode == 3 and '"mean"' in done.stderr
