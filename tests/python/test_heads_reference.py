"""The yardstick of the heads itself: gradients, closed forms and hand-made cases, no program involved."""
import heads_reference as heads
import numpy as np
import pytest
from reference import Store, Task
from scipy.optimize import check_grad
from stores import random_store

WAYS, SHOTS, DIM = 3, 2, 4


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def support(random):
    return random.random((1, WAYS, SHOTS, DIM))


def assert_gradient(value, gradient, point):
    assert check_grad(value, gradient, point, epsilon=1e-6) < 1e-5 * np.linalg.norm(gradient(point))


def test_power_gradient(random, support):
    def parts(point):
        return point[: WAYS * DIM].reshape(1, WAYS, DIM), point[WAYS * DIM :].reshape(1, WAYS)

    def value(point):
        return heads.cross_entropy(*heads.labelled(support), *parts(point))[0][0]

    def gradient(point):
        return np.concatenate([part.ravel() for part in heads.power_gradient(*heads.labelled(support), *parts(point))])

    assert_gradient(value, gradient, random.normal(size=WAYS * DIM + WAYS))


def test_voronoi_gradient_goes_through_the_tie(random, support):
    def value(point):
        weights = point.reshape(1, WAYS, DIM)
        return heads.cross_entropy(*heads.labelled(support), weights, heads.tied_bias(weights))[0][0]

    def gradient(point):
        return heads.voronoi_gradient(*heads.labelled(support), point.reshape(1, WAYS, DIM)).ravel()

    assert_gradient(value, gradient, random.normal(size=WAYS * DIM))


def test_cosine_gradient(random):
    rows, wanted = random.random((1, 5, DIM)), np.eye(WAYS)[[[0, 1, 2, 1, 1]]]

    def parts(point):
        return point[: WAYS * DIM].reshape(1, WAYS, DIM), point[WAYS * DIM :].reshape(1, WAYS)

    def value(point):
        direction, length = parts(point)
        weights = length[..., None] * direction / np.linalg.norm(direction, axis=-1, keepdims=True)
        logits = 2 * rows @ weights.swapaxes(1, 2)
        return -(wanted * heads.log_softmax(logits)).sum() / 5

    def gradient(point):
        return np.concatenate([part.ravel() for part in heads.cosine_gradient(rows, wanted, *parts(point))])

    assert_gradient(value, gradient, random.normal(size=WAYS * DIM + WAYS))


def test_first_step_of_adam_has_the_length_of_the_rate():
    step = heads.Adam(np.zeros(3)).update(np.zeros(3), np.array([1e-3, -5.0, 0.0]))
    np.testing.assert_allclose(step, [-0.01, 0.01, 0], rtol=1e-4)


def test_second_step_of_adam_by_hand():
    adam = heads.Adam(np.zeros(()))
    point = adam.update(adam.update(1.0, 1.0), 3.0)
    mean, square = (0.9 * 0.1 + 0.1 * 3) / (1 - 0.81), (0.999 * 0.001 + 0.001 * 9) / (1 - 0.999**2)
    assert point == pytest.approx(1 - 0.01 - 0.01 * mean / np.sqrt(square), abs=1e-9)


def test_momentum_by_hand():
    """Only the first gradient enters undamped, and decay joins each of them."""
    momentum = heads.Momentum()
    first = momentum.update(2.0, 1.0)
    assert first == pytest.approx(2 - 0.01 * 1.002)
    second = momentum.update(first, 3.0)
    assert second == pytest.approx(first - 0.01 * (0.9 * 1.002 + 0.1 * (3 + 0.001 * first)))


def test_voronoi_lr_is_a_voronoi_diagram_of_half_its_weights(random, support):
    query = random.random((1, 50, DIM))
    weights, bias = heads.fit_voronoi_lr(support, 200)
    logits = query @ weights.swapaxes(1, 2) + bias[:, None]
    assert len(np.unique(logits.argmax(axis=2))) > 1
    np.testing.assert_array_equal(logits.argmax(axis=2), heads.distances(query, weights / 2).argmin(axis=2))
    squared = (query**2).sum(axis=-1, keepdims=True) - logits
    np.testing.assert_allclose(heads.distances(query, weights / 2) ** 2, squared, rtol=1e-12)


def test_start_from_the_diagram_of_prototypes(random, support):
    query = random.random((1, 50, DIM))
    actual = heads.lr_scores(support, query, "power", 0, heads.diagram_of_prototypes)
    squared = heads.distances(query, support.mean(axis=2)) ** 2
    np.testing.assert_allclose(actual, (query**2).sum(axis=-1, keepdims=True) - squared, rtol=1e-12)


@pytest.mark.parametrize("kind", ["power", "voronoi"])
def test_adam_lowers_the_loss(support, kind):
    fitted = [heads.FIT_LR[kind](support, epochs) for epochs in (0, 10, 100)]
    losses = [heads.cross_entropy(*heads.labelled(support), *parameters)[0] for parameters in fitted]
    assert losses[0] == pytest.approx(np.log(WAYS))
    assert losses[0] > losses[1] > losses[2]


def test_rows_carry_their_labels(support):
    rows, wanted = heads.labelled(support)
    for row, label in zip(rows[0], wanted.argmax(axis=1)):
        assert (support[0, label] == row).all(axis=1).any()


def test_more_than_64_rows_are_taken_in_batches(random):
    support = random.random((1, 10, 7, DIM))
    (rows, wanted), (last_rows, last_wanted) = heads.in_batches(support, epochs=1)
    assert rows.shape == (1, 64, DIM) and last_rows.shape == (1, 6, DIM)
    np.testing.assert_array_equal(last_rows[0], support[0, 4:, 6])
    np.testing.assert_array_equal(np.concatenate([wanted, last_wanted]).sum(axis=0), np.full(10, 7))


def test_episodes_are_fitted_apart(random):
    support = random.random((3, WAYS, SHOTS, DIM))
    together = heads.fit_voronoi_lr(support, 50)[0]
    np.testing.assert_allclose(together[1], heads.fit_voronoi_lr(support[1:2], 50)[0][0], rtol=1e-9)


def test_scores_do_not_depend_on_the_number_of_episodes_at_once(make_store, monkeypatch):
    store = Store(make_store(dim=16))
    rows, task = heads.square_roots(store, "novel"), Task(ways=3, queries=4, episodes=7)
    whole = heads.scores_of(heads.nearest_mean_scores, rows, store, task)
    monkeypatch.setattr(heads, "EPISODES_AT_ONCE", 3)
    np.testing.assert_array_equal(heads.scores_of(heads.nearest_mean_scores, rows, store, task), whole)


@pytest.fixture
def small_store(tmp_path):
    return Store(random_store(tmp_path / "store", 6, classes=(("base", 5), ("novel", 4)), class_sizes=(8, 12)))


def test_calibration_is_that_of_the_published_formula(small_store):
    rows, labels = heads.first_view(small_store, "base"), small_store.labels("base")
    row = np.sqrt(heads.first_view(small_store, "novel")[3])
    means = np.stack([rows[labels == c].mean(axis=0) for c in range(5)])
    covariances = np.stack([np.cov(rows[labels == c].T) for c in range(5)])
    nearest = np.argpartition([np.linalg.norm(row - mean) for mean in means], 2)[:2]
    mean, factor = heads.calibrated(row, heads.BaseStatistics(small_store))
    np.testing.assert_allclose(mean, np.mean([row, *means[nearest]], axis=0))
    np.testing.assert_allclose(factor.T @ factor, covariances[nearest].mean(axis=0) + 0.21)


def test_calibrated_samples_have_the_calibrated_moments(small_store, random):
    row, base, count = np.sqrt(heads.first_view(small_store, "novel")[3]), heads.BaseStatistics(small_store), 100_000
    mean, factor = heads.calibrated(row, base)
    samples = heads.calibrated_samples(row, base, count, random)
    covariance = factor.T @ factor
    variances = np.diag(covariance)
    five_sigma = 5 / np.sqrt(count)
    assert (abs(samples.mean(axis=0) - mean) < five_sigma * np.sqrt(variances)).all()
    spread = np.sqrt(np.outer(variances, variances) + covariance**2)
    assert (abs(np.cov(samples.T) - covariance) < five_sigma * spread).all()


def test_centred_rows(small_store):
    base, rows = heads.first_view(small_store, "base"), heads.first_view(small_store, "novel")
    centred = rows - base.sum(axis=0) / len(base)
    expected = centred / np.sqrt((centred**2).sum(axis=1))[:, None]
    np.testing.assert_allclose(heads.simpleshot_rows(small_store, "novel", "cl2n"), expected)
    assert np.linalg.norm(heads.simpleshot_rows(small_store, "novel", "un") - rows) == 0


def test_power_transformation_comes_before_the_norm(small_store):
    rows = heads.power_transformed_rows(small_store, "novel")
    expected = np.sqrt(heads.first_view(small_store, "novel") + 1e-6)
    np.testing.assert_allclose(rows, expected / np.sqrt((expected**2).sum(axis=1))[:, None])


def test_nearest_mean_by_hand():
    support = np.array([[[[0.0, 0.0], [2.0, 0.0]], [[4.0, 3.0], [4.0, 5.0]]]])
    np.testing.assert_allclose(heads.nearest_mean_scores(support, np.array([[[1.0, 4.0]]])), [[[-4, -3]]])
