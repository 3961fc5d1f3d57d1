"""What the benchmark compares with has to be right as well."""
import sys
from functools import partial

import heads_reference as heads
import numpy as np
import pytest
from checks import assert_like_another_seed
from conftest import REPOSITORY
from reference import Store, Task

sys.path.insert(0, str(REPOSITORY / "bench"))
import heads_ways  # noqa: E402

EPOCHS = 50


@pytest.fixture
def store():
    return Store(REPOSITORY / "data/quickdraw")


@pytest.fixture
def features(store):
    return np.load(store.folder / "novel" / f"{store.views[0]}.npy")


@pytest.mark.parametrize("way", [heads_ways.lr_by_episode, heads_ways.lr_batched])
@pytest.mark.parametrize("kind", ["power", "voronoi"])
@pytest.mark.parametrize("shots", [1, 5])
def test_logistic_regression(store, features, way, kind, shots):
    task = Task(shots=shots, episodes=heads_ways.EPISODES_AT_ONCE + 3)
    head = partial(heads.lr_scores, kind=kind, epochs=EPOCHS, start=heads.diagram_of_prototypes)
    rows = heads.square_roots(store, "novel")
    expected = heads.scores_of(head, rows, store, task)
    # The ways are in float32, whose rounding Adam enlarges where a support of one row leaves hardly any gradient.
    float32_error = abs(heads.scores_of(head, rows.astype(np.float32), store, task) - expected)
    roots = heads_ways.square_roots(features)
    actual = way(roots, *heads.draw_episodes(store, task), EPOCHS, tied=kind == "voronoi")
    error = abs(actual - expected)
    assert np.median(error) < max(1e-5, 2 * np.median(float32_error))
    assert error.max() < 0.01 * abs(expected).max()
    assert (actual.argmax(axis=2) == expected.argmax(axis=2)).mean() >= 0.995


@pytest.mark.parametrize("way", [heads_ways.s2m2_by_episode, heads_ways.s2m2_batched])
def test_s2m2(store, features, way):
    task, rows = Task(shots=5, episodes=15), heads.first_view(store, "novel")
    generators = [[np.random.RandomState((seed, episode)) for episode in range(task.episodes)] for seed in range(4)]
    actual = way(features, *heads.draw_episodes(store, task))
    assert_like_another_seed(actual, [heads.s2m2_scores(rows, store, task, of_seed) for of_seed in generators])


def test_dc(store, features):
    task = Task(ways=3, shots=5, episodes=6)
    base = np.load(store.folder / "base" / f"{store.views[0]}.npy")
    statistics = heads_ways.base_statistics(base, store.labels("base"))
    actual = heads_ways.dc_by_episode(features, statistics, *heads.draw_episodes(store, task))
    assert_like_another_seed(actual, [heads.dc_scores(store, task, np.random.default_rng(s)) for s in range(3)])
