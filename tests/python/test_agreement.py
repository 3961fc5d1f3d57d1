"""The program against the plain reference on random and on degenerate stores."""
import json
from dataclasses import dataclass

import numpy as np
import pytest
import reference
from checks import assert_result_follows_from_scores, assert_scores_agree
from reference import Store, Task
from stores import random_labels, view_names, write_store

EPISODES = 4
ROUNDING = 1e-6


@dataclass(frozen=True)
class Case:
    dim: int
    dtype: str
    method: str
    ways: int
    shots: int
    queries: int
    alpha: float
    protocol: str

    def task(self):
        return Task(
            ways=self.ways, shots=self.shots, queries=self.queries, episodes=EPISODES, seed=7, protocol=self.protocol
        )

    def __str__(self):
        return (
            f"{self.method}-{self.dim}d-{self.dtype}-{self.ways}way-{self.shots}shot-alpha{self.alpha}-{self.protocol}"
        )


CASES = [
    Case(2, "float32", "vd", 3, 4, 4, 1, "deepvoro"),
    Case(3, "float16", "deepvoro", 3, 2, 4, 2, "dc"),
    Case(7, "float32", "deepvoro++", 4, 3, 5, 1, "deepvoro"),
    Case(16, "float16", "vd", 20, 1, 6, -2, "dc"),
    Case(16, "float32", "deepvoro", 5, 40, 10, 0.5, "deepvoro"),
    Case(31, "float32", "deepvoro", 5, 1, 15, -1, "deepvoro"),
    Case(31, "float16", "deepvoro++", 6, 1, 8, 1.7, "dc"),
    Case(63, "float16", "deepvoro", 5, 5, 15, 1.7, "deepvoro"),
    Case(63, "float32", "vd", 10, 25, 5, 1, "dc"),
    Case(64, "float32", "deepvoro++", 5, 1, 15, -1, "deepvoro"),
    Case(64, "float16", "deepvoro", 3, 10, 10, 1, "dc"),
    Case(65, "float16", "deepvoro", 8, 1, 15, -2, "deepvoro"),
    Case(65, "float32", "vd", 5, 5, 15, 0.5, "dc"),
    Case(100, "float32", "deepvoro++", 5, 5, 15, 2, "dc"),
    Case(100, "float16", "vd", 12, 2, 7, 1.7, "deepvoro"),
    Case(333, "float16", "deepvoro", 5, 1, 15, 1, "dc"),
    Case(333, "float32", "deepvoro++", 20, 1, 5, 0.5, "deepvoro"),
    Case(640, "float16", "deepvoro++", 5, 5, 15, 1, "deepvoro"),
    Case(640, "float32", "deepvoro", 12, 2, 10, 2, "deepvoro"),
    Case(640, "float16", "vd", 5, 1, 15, -1, "deepvoro"),
    Case(700, "float32", "vd", 2, 1, 15, 1.7, "dc"),
    Case(700, "float16", "deepvoro", 15, 3, 5, -1, "deepvoro"),
    Case(700, "float32", "deepvoro++", 5, 1, 15, -2, "dc"),
]

FIRST, SECOND = view_names(2)


def vd(view, w, b, power, **extra):
    return {"view": view, "w": w, "b": b, "lambda": power, "geometry": "vd", **extra}


def surrogate(view, w, b, power, nearest, beta, gamma, **extra):
    return {**vd(view, w, b, power), "geometry": "surrogate", "R": nearest, "beta": beta, "gamma": gamma, **extra}


MIXED_POOL = [
    vd(FIRST, 1.0, 0.0, 0.5),
    vd(SECOND, 2.5, 0.3, -0.5),
    surrogate(FIRST, 1.0, 0.04, 0, 3, 4.5, 1.0),
    vd(FIRST, 0.7, 0.125, 1.3),
    vd(SECOND, -1.0, 2.25, 0.5),
    surrogate(SECOND, 3.0, 0.5, -1, 7, 2.0, 0.25),
    vd(FIRST, -1.5, 0.1, 2),
    surrogate(FIRST, 1.0, 0.0, 1, 10, 0.5, 3.0),
]
SIGNED_POOL = [
    vd(FIRST, 1.0, 0.0, 0.5, signed=True),
    vd(SECOND, 1.5, -0.02, 0, signed=True),
    surrogate(FIRST, 1.0, 0.1, 0.75, 4, 3.0, 1.0, signed=True),
    vd(FIRST, 1.0, 0.0, 1),
    vd(SECOND, 1.0, 0.0, 2),
    vd(SECOND, 1.0, 0.0, 2, signed=True),
]


def assert_agreement(evaluation, store, task, members, alpha=1.0, **tolerance):
    expected = reference.ensemble_scores(Store(store), task, members, float(alpha))
    assert_scores_agree(evaluation.scores, expected, **tolerance)
    assert_result_follows_from_scores(evaluation.result, evaluation.scores)
    assert evaluation.result["members"] == len(members)
    return expected


def assert_neither_chance_nor_perfect(scores):
    chance = 100 / scores.shape[2]
    assert chance < reference.episode_accuracy_percent(scores).mean() < 100


@pytest.mark.parametrize("case", CASES, ids=str)
def test_default_pools(evaluate, make_store, case):
    store = make_store(dim=case.dim, dtype=case.dtype)
    pool = reference.default_pool(case.method, Store(store).views)
    evaluation = evaluate(store, case.method, "--alpha", case.alpha, task=case.task())
    assert_neither_chance_nor_perfect(assert_agreement(evaluation, store, case.task(), pool, case.alpha))


@pytest.mark.parametrize("alpha", [-2, -1, 0.5, 1, 1.7, 2])
@pytest.mark.parametrize("dim, dtype", [(31, "float16"), (65, "float32"), (640, "float16")])
def test_pool_file_of_both_geometries(evaluate, make_store, write_pool, dim, dtype, alpha):
    store = make_store(dim=dim, dtype=dtype)
    task = Task(shots=3, queries=6, episodes=EPISODES, seed=11)
    evaluation = evaluate(store, "deepvoro++", "--pool", write_pool(MIXED_POOL), "--alpha", alpha, task=task)
    assert_neither_chance_nor_perfect(assert_agreement(evaluation, store, task, MIXED_POOL, alpha))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("protocol", ["deepvoro", "dc"])
def test_signed_members_in_a_pool_file(evaluate, make_store, write_pool, protocol, dtype):
    store = make_store(dim=48, dtype=dtype, relu=False)
    task = Task(ways=4, shots=2, queries=9, episodes=EPISODES, protocol=protocol)
    evaluation = evaluate(store, "deepvoro++", "--pool", write_pool(SIGNED_POOL), task=task)
    assert_agreement(evaluation, store, task, SIGNED_POOL)


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
def test_signed_flag_applies_to_every_member(evaluate, make_store, method):
    store = make_store(dim=100, relu=False)
    task = Task(shots=2, queries=9, episodes=EPISODES)
    pool = [{**member, "signed": True} for member in reference.default_pool(method, Store(store).views)]
    assert_agreement(evaluate(store, method, "--signed", task=task), store, task, pool)


@pytest.mark.parametrize("size", [1, 5, 16])
def test_random_scheme(evaluate, make_store, size):
    store = make_store(dim=64)
    task = Task(queries=5, episodes=EPISODES, seed=3)
    members = reference.random_members(reference.default_pool("deepvoro", Store(store).views), size, seed=3)
    evaluation = evaluate(store, "deepvoro", "--scheme", "random", "--size", size, task=task)
    assert_agreement(evaluation, store, task, members)


@pytest.mark.parametrize("method, alpha", [("deepvoro", 1), ("deepvoro", -1), ("deepvoro++", 1)])
def test_guided_scheme(evaluate, make_store, method, alpha):
    store = make_store(dim=64)
    task = Task(shots=1, queries=8, episodes=12, seed=5)
    pool = reference.default_pool(method, Store(store).views)
    members = reference.guided_members(Store(store), task, pool, float(alpha))
    evaluation = evaluate(store, method, "--scheme", "guided", "--alpha", alpha, task=task)
    assert_agreement(evaluation, store, task, members, alpha)


@pytest.mark.parametrize("method, alpha", [("deepvoro", 1), ("deepvoro", -1), ("deepvoro++", 1), ("deepvoro", 2)])
def test_greedy_scheme(evaluate, make_store, method, alpha, tmp_path):
    store = make_store(dim=64)
    task = Task(shots=1, queries=8, episodes=12, seed=5)
    pool = reference.default_pool(method, Store(store).views)
    members = reference.greedy_members(Store(store), task, pool, float(alpha))
    evaluation = evaluate(store, method, "--scheme", "greedy", "--alpha", alpha, task=task)
    assert_agreement(evaluation, store, task, members, alpha)
    assert len(evaluation.result["greedy"]["counts"]) == len(members)
    # A result is a pool: its weights say all that was chosen.
    file = tmp_path / "greedy.json"
    file.write_text(json.dumps(evaluation.result))
    again = evaluate(store, method, "--pool", file, "--alpha", alpha, task=task)
    assert again.scores_bytes == evaluation.scores_bytes


def test_other_split(evaluate, make_store):
    store = make_store(dim=64)
    task = Task(split="val", queries=5, episodes=EPISODES)
    pool = reference.default_pool("vd", Store(store).views)
    assert_agreement(evaluate(store, "vd", task=task), store, task, pool)


@pytest.mark.parametrize("protocol", ["deepvoro", "dc"])
def test_every_class_in_every_episode(evaluate, make_store, protocol):
    store = make_store(dim=31, dtype="float16")
    task = Task(ways=22, shots=2, queries=3, episodes=EPISODES, protocol=protocol)
    for method in ("vd", "deepvoro++"):
        pool = reference.default_pool(method, Store(store).views)
        assert_agreement(evaluate(store, method, task=task), store, task, pool)


def test_more_nearest_base_classes_than_there_are(evaluate, make_store, write_pool):
    store = make_store(dim=16, classes=(("base", 4), ("novel", 8)))
    pool = [surrogate(FIRST, 1.0, 0.0, 0.75, nearest, 2.0, 1.0) for nearest in (3, 4, 5, 1000)]
    task = Task(queries=5, episodes=EPISODES)
    evaluation = evaluate(store, "deepvoro++", "--pool", write_pool(pool), task=task)
    assert_agreement(evaluation, store, task, pool)


@pytest.mark.parametrize("alpha", [1, -1, 1.7])
def test_one_dimension(evaluate, tmp_path, alpha):
    """Normalised rows are 0 or 1, so most distances are exactly 0 and ties abound."""
    random = np.random.RandomState(1)
    labels = random_labels(random, [9, 8, 11, 10])
    rows = (random.uniform(size=(38, 1)) * (random.uniform(size=(38, 1)) < 0.8)).astype(np.float32)
    store = write_store(tmp_path / "store", {"novel": (labels, {FIRST: rows})})
    task = Task(ways=4, shots=2, queries=6, episodes=EPISODES)
    evaluation = evaluate(store, "vd", "--alpha", alpha, task=task)
    assert_agreement(evaluation, store, task, reference.default_pool("vd", [FIRST]), alpha)


@pytest.mark.parametrize("dim", [5, 64, 130])
@pytest.mark.parametrize("alpha", [-1, -2, -0.5])
def test_query_on_a_prototype_has_infinite_influence(evaluate, tmp_path, dim, alpha):
    random = np.random.RandomState(2)
    labels = np.repeat(np.arange(5), 6)
    rows = random.uniform(0.1, 1, size=(30, dim))
    rows[1::6] = rows[0::6]
    store = write_store(tmp_path / "store", {"novel": (labels, {FIRST: rows.astype(np.float32)})})
    task = Task(ways=5, shots=1, queries=5, episodes=EPISODES)
    pool = reference.default_pool("vd", [FIRST])
    expected = assert_agreement(evaluate(store, "vd", "--alpha", alpha, task=task), store, task, pool, alpha)
    assert np.isinf(expected).any()


@pytest.mark.parametrize("method, alpha", [("vd", 1), ("vd", -1), ("deepvoro", 1), ("deepvoro++", 1)])
def test_identical_rows_all_go_to_the_first_class(evaluate, tmp_path, method, alpha):
    labels = np.repeat(np.arange(5), 20)
    rows = np.tile(np.arange(1, 71, dtype=np.float16) / 70, (100, 1))
    split = labels, {FIRST: rows, SECOND: rows}
    store = write_store(tmp_path / "store", {"base": split, "novel": split})
    task = Task(shots=2, episodes=EPISODES)
    evaluation = evaluate(store, method, "--alpha", alpha, task=task)
    pool = reference.default_pool(method, [FIRST, SECOND])
    assert_agreement(evaluation, store, task, pool, alpha, absolute_tolerance=ROUNDING)
    assert evaluation.result["accuracy"] == pytest.approx(20)


@pytest.mark.parametrize("method", ["vd", "deepvoro", "deepvoro++"])
def test_zero_rows(evaluate, tmp_path, method):
    random = np.random.RandomState(4)
    splits = {}
    for split in ("base", "novel"):
        labels = random_labels(random, [20, 22, 21, 25, 20, 23])
        rows = random.uniform(size=(len(labels), 65)) * (random.uniform(size=(len(labels), 1)) < 0.7)
        splits[split] = labels, {FIRST: rows.astype(np.float32)}
    store = write_store(tmp_path / "store", splits)
    task = Task(shots=1, queries=10, episodes=EPISODES)
    pool = reference.default_pool(method, [FIRST])
    assert_agreement(evaluate(store, method, task=task), store, task, pool, absolute_tolerance=ROUNDING)
