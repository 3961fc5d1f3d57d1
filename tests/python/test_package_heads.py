"""VoronoiLogisticRegression and SimpleShotClassifier: the program's scores bit for bit, and a plain computation."""
import deepvoro
import heads_reference
import numpy as np
import pytest
import reference
from conftest import REPOSITORY
from reference import Store, Task
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

TASK = Task(ways=4, shots=3, queries=5, episodes=6, seed=2)


@pytest.fixture(params=[18, 70])
def store(request, make_store):
    return make_store(dim=request.param, class_sizes=(20, 24))


def scores_by_estimator(model, store, task):
    opened = deepvoro.FeatureStore(store)
    X, y = opened.features("novel"), opened.labels("novel")
    support, query = deepvoro.episodes(y, ways=task.ways, shots=task.shots, queries=task.queries,
                                       episodes=task.episodes, seed=task.seed)
    ways = np.repeat(np.arange(task.ways), task.shots)
    return np.stack([model.fit(X[s.ravel()], ways).decision_function(X[q.ravel()]) for s, q in zip(support, query)])


def test_voronoi_lr_has_the_bits_of_the_program(store, evaluate):
    found = scores_by_estimator(deepvoro.VoronoiLogisticRegression(), store, TASK)
    np.testing.assert_array_equal(found, evaluate(store, "voronoi-lr", task=TASK).scores)


@pytest.mark.parametrize("normalisation", ["un", "l2n", "cl2n"])
def test_simpleshot_has_the_bits_of_the_program(store, evaluate, normalisation):
    opened = deepvoro.FeatureStore(store)
    base_mean = opened.features("base").astype(np.float64).mean(axis=0) if normalisation == "cl2n" else None
    model = deepvoro.SimpleShotClassifier(normalisation=normalisation, base_mean=base_mean)
    wanted = evaluate(store, "simpleshot", "--normalisation", normalisation, task=TASK).scores
    if normalisation == "cl2n":  # NumPy adds up the mean in another order
        np.testing.assert_allclose(scores_by_estimator(model, store, TASK), wanted, rtol=1e-12)
    else:
        np.testing.assert_array_equal(scores_by_estimator(model, store, TASK), wanted)


def uneven(seed, signed):
    random = np.random.RandomState(seed)
    labels = random.permutation(np.repeat([0, 1, 2], [2, 5, 3]))
    rows = np.random.RandomState(9).normal(size=(3, 12))[labels] + 0.5 * random.normal(size=(10, 12))
    return (rows if signed else abs(rows)).astype(np.float32), labels


@pytest.mark.parametrize("signed", [False, True])
def test_voronoi_lr_on_classes_of_different_size_is_plain_adam(signed):
    """All 10 rows in one batch; the start are the class means."""
    (X, y), (queries, _) = uneven(0, signed), uneven(1, signed)
    model = deepvoro.VoronoiLogisticRegression(epochs=15).fit(X, y)
    rows, points = (reference.transform(x.astype(float), 1, 0, 0.5, signed)[None] for x in (X, queries))
    weights = 2 * np.stack([rows[0, y == k].mean(axis=0) for k in range(3)])[None]
    adam = heads_reference.Adam(weights)
    for _ in range(15):
        weights = adam.update(weights, heads_reference.voronoi_gradient(rows, np.eye(3)[y], weights))
    np.testing.assert_allclose(model.coef_, weights[0], rtol=1e-9)
    wanted = (points @ weights.swapaxes(1, 2) + heads_reference.tied_bias(weights)[:, None])[0]
    np.testing.assert_allclose(model.decision_function(queries), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(queries), softmax(wanted / model.temperature_, axis=1), rtol=1e-9)
    nearest = np.linalg.norm(points[0][:, None] - model.centers_, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(queries), nearest)


def test_simpleshot_on_classes_of_different_size():
    (X, y), (queries, _) = uneven(0, True), uneven(1, True)
    base_mean = np.linspace(-1, 1, 12)
    model = deepvoro.SimpleShotClassifier("cl2n", base_mean, temperature=0.2).fit(X, y)
    rows, points = (heads_reference.unit(x.astype(float) - base_mean) for x in (X, queries))
    distances = np.linalg.norm(points[:, None] - [rows[y == k].mean(axis=0) for k in range(3)], axis=2)
    np.testing.assert_allclose(model.decision_function(queries), -distances, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(queries), softmax(-distances / 0.2, axis=1), rtol=1e-9)


HEADS = [deepvoro.VoronoiLogisticRegression, deepvoro.SimpleShotClassifier]
USUAL_SHARE = {deepvoro.VoronoiLogisticRegression: 0.12, deepvoro.SimpleShotClassifier: 0.08}


def usual_temperature(head, X, y):
    """A share of how much larger the score of a row's own class is than those of the others."""
    scores = head(temperature=1.0).fit(X, y).decision_function(X)
    own = np.eye(len(set(y)), dtype=bool)[y]
    return USUAL_SHARE[head] * (scores[own].mean() - scores[~own].mean())


@pytest.mark.parametrize("head", HEADS)
def test_the_temperature_suits_rows_that_were_left_out(head):
    random = np.random.RandomState(4)
    y = random.permutation(np.repeat([0, 1, 2], [1, 7, 12]))
    X = (abs(np.random.RandomState(9).normal(size=(3, 12)))[y] + 0.6 * abs(random.normal(size=(20, 12)))).astype(np.float32)
    number = np.array([(y[:i] == y[i]).sum() for i in range(len(y))])
    scores, truth = [], []
    for fold in range(5):
        out = (number % 5 == fold) & (y != 0)
        scores.append(head(temperature=1.0).fit(X[~out], y[~out]).decision_function(X[out]))
        truth.append(y[out])
    scores, truth = np.concatenate(scores), np.concatenate(truth)
    usual = usual_temperature(head, X, y)

    def cost(logarithm):
        likelihoods = log_softmax(scores / np.exp(logarithm), axis=1)[np.arange(len(truth)), truth]
        return -likelihoods.sum() + 4 * (logarithm - np.log(usual)) ** 2

    best = minimize_scalar(cost, bounds=(np.log(usual / 100), np.log(usual * 100)), method="bounded", options={"xatol": 1e-10})
    assert head().fit(X, y).temperature_ == pytest.approx(np.exp(best.x), rel=1e-4)
    assert head(n_jobs=3).fit(X, y).temperature_ == head().fit(X, y).temperature_


@pytest.mark.parametrize("head", HEADS)
def test_with_one_row_of_each_class_the_temperature_is_the_usual_one(head):
    X, y = uneven(0, False)
    first = [np.flatnonzero(y == k)[0] for k in range(3)]
    assert head().fit(X[first], y[first]).temperature_ == pytest.approx(usual_temperature(head, X[first], y[first]), rel=1e-9)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("shots", [1, 5])
def test_probabilities_are_calibrated_on_the_built_in_sketches(head, shots):
    store = deepvoro.FeatureStore(REPOSITORY / "data/quickdraw")
    X, y = store.features("novel"), store.labels("novel")
    support, query = deepvoro.episodes(y, ways=10, shots=shots, queries=15, episodes=40)
    truth = np.repeat(np.arange(10), 15)
    losses, confidence, right = [], [], []
    for s, q in zip(support, query):
        found = head().fit(X[s.ravel()], np.repeat(np.arange(10), shots)).predict_proba(X[q.ravel()])
        losses.append(-np.log(found[np.arange(150), truth]).mean())
        confidence.append(found.max(axis=1))
        right.append(found.argmax(axis=1) == truth)
    confidence, right = np.concatenate(confidence), np.concatenate(right)
    bins = (confidence * 10).astype(int).clip(0, 9)
    error = sum(abs((confidence - right)[bins == one].sum()) for one in range(10)) / len(right)
    assert np.mean(losses) < {1: 0.75, 5: 0.5}[shots] * np.log(10)
    assert error < {1: 0.1, 5: 0.06}[shots]


def test_what_is_wrong_is_said():
    X, y = uneven(0, True)
    with pytest.raises(ValueError, match="needs base_mean"):
        deepvoro.SimpleShotClassifier("cl2n").fit(X, y)
    with pytest.raises(ValueError, match="has 3 elements, but rows have 12"):
        deepvoro.SimpleShotClassifier("cl2n", [1, 2, 3]).fit(X, y)
    with pytest.raises(ValueError, match="`normalisation` fine: unknown"):
        deepvoro.SimpleShotClassifier("fine").fit(X, y)
    with pytest.raises(ValueError, match="row 0, column .*`signed`"):
        deepvoro.VoronoiLogisticRegression(signed=False).fit(X, y)
    with pytest.raises(ValueError, match="epochs must be"):
        deepvoro.VoronoiLogisticRegression(epochs=0).fit(X, y)
