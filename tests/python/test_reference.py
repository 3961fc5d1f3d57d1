"""The yardstick itself: published check values and figures, no program involved."""
import numpy as np
import pytest
import reference
from reference import Store, Task


def test_legacy_permutation():
    assert np.random.RandomState(0).permutation(10).tolist() == [2, 8, 4, 9, 1, 6, 7, 3, 0, 5]


def test_first_episode_of_twenty_classes_of_six_hundred():
    class_rows = reference.rows_by_class(np.repeat(np.arange(20), 600))
    (episode,) = reference.draw_episodes(class_rows, Task(shots=1, queries=5, episodes=1))
    assert (episode.support[:, 0] // 600).tolist() == [18, 1, 19, 8, 10]
    first_class = np.concatenate([episode.support[0], episode.query[0]]) - 18 * 600
    assert first_class.tolist() == [578, 52, 533, 367, 55, 62]


def test_classes_are_numbered_by_first_appearance():
    rows = reference.rows_by_class(np.array([2, 0, 2, 1, 0]))
    assert [r.tolist() for r in rows] == [[0, 2], [1, 4], [3]]


def test_dc_protocol_never_reaches_past_the_smallest_class():
    class_rows = reference.rows_by_class(np.repeat([0, 1, 2], [30, 20, 25]))
    task = Task(ways=3, shots=5, queries=15, episodes=4, protocol="dc")
    for episode in reference.draw_episodes(class_rows, task):
        rows = np.concatenate([episode.support, episode.query], axis=1)
        for drawn in rows:
            first = next(r[0] for r in class_rows if drawn[0] in r)
            assert sorted(drawn - first) == list(range(20))


def test_transformation_order_is_normalise_scale_shift_power():
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(reference.transform(rows, 2, 1, 2), [[2.2**2, 2.6**2], [1, 1]])
    np.testing.assert_allclose(reference.transform(rows, 1, 1, 0), [[np.log(1.6), np.log(1.8)], [0, 0]])


def test_signed_transformation():
    row = np.array([[-3.0, 4.0]])
    np.testing.assert_allclose(reference.transform(row, 1, 0, 0.5, signed=True), [[-np.sqrt(0.6), np.sqrt(0.8)]])
    np.testing.assert_allclose(reference.transform(row, 1, 0, 0, signed=True), [[-np.log(1.6), np.log(1.8)]])


def test_surrogate_distance_by_hand():
    queries, prototypes = np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [4.0, 0.0]])
    base = np.array([[0.0, 1.0], [4.0, 1.0], [100.0, 0.0]])
    actual = reference.surrogate_distances(queries, prototypes, base, 1, beta=2.0, gamma=0.5)
    query, first, second = np.sqrt([[2, 10], [1, 17], [17, 1]])
    indirect = np.array([np.hypot(*(query - first)), np.hypot(*(query - second))])
    np.testing.assert_allclose(actual, [2.0 * np.array([0.25, 0.75]) + 0.5 * indirect / indirect.sum()])


@pytest.mark.parametrize("alpha, expected", [(1, [-2, -0.0]), (2, [-4, -0.0]), (-2, [0.25, np.inf])])
def test_influence(alpha, expected):
    np.testing.assert_array_equal(reference.influence(np.array([2.0, 0.0]), float(alpha)), expected)


@pytest.mark.parametrize("dim", [3, 16, 64, 333, 700])
@pytest.mark.parametrize("shots", [1, 5])
def test_random_stores_are_neither_hopeless_nor_trivial(make_store, dim, shots):
    store = Store(make_store(dim=dim))
    task = Task(shots=shots, episodes=20)
    scores = reference.ensemble_scores(store, task, reference.default_pool("vd", store.views))
    assert 25 < reference.episode_accuracy_percent(scores).mean() < 98


@pytest.mark.parametrize(
    "method, shots, accuracy",
    [("vd", 1, 75.5600), ("deepvoro", 1, 77.4133), ("vd", 5, 89.6178), ("deepvoro", 5, 90.9111)],
)
def test_published_cub_figures(cub_store, method, shots, accuracy):
    store = Store(cub_store)
    pool = reference.default_pool(method, store.views)
    scores = reference.ensemble_scores(store, Task(shots=shots, episodes=300), pool)
    assert round(reference.episode_accuracy_percent(scores).mean(), 4) == accuracy
