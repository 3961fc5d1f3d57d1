"""What the estimators compute is what a plain float64 computation gives, on any kind of array."""
import copy
import pickle

import deepvoro
import numpy as np
import pytest
import reference
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

DIM = 70
SIZES = (1, 4, 3, 7)


def samples(seed, sizes=SIZES, signed=False, dim=DIM):
    random = np.random.RandomState(seed)
    labels = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    centers = np.random.RandomState(99).normal(size=(len(sizes), dim))
    rows = centers[labels] + random.normal(size=(len(labels), dim))
    return (rows if signed else np.maximum(rows, 0)).astype(np.float32), labels


def means(rows, labels):
    return np.stack([rows[labels == label].mean(axis=0) for label in np.unique(labels)])


def plain_influence(blocks, labels, query_blocks, transforms, alpha=1.0, signed=False):
    """blocks, query_blocks: [views] of [samples, dim]."""
    total = 0
    for rows, queries in zip(blocks, query_blocks):
        for t in transforms:
            points = [reference.transform(x.astype(float), t.get("w", 1), t.get("b", 0), t["lambda"], signed)
                      for x in (rows, queries)]
            total = total + reference.influence(reference.distances(points[1], means(points[0], labels)), alpha)
    return total


@pytest.mark.parametrize("dim", [3, DIM])
@pytest.mark.parametrize("alpha", [1.0, 2.0, 0.7, -1.0])
@pytest.mark.parametrize("signed", [False, True])
def test_influence_is_the_sum_over_the_eight_transformations(dim, alpha, signed):
    (X, y), (queries, _) = samples(0, signed=signed, dim=dim), samples(1, signed=signed, dim=dim)
    model = deepvoro.DeepVoroClassifier(geometry="vd", alpha=alpha).fit(X, y)
    wanted = plain_influence([X], y, [queries], reference.DEEPVORO_TRANSFORMATIONS, alpha, signed)
    np.testing.assert_allclose(model.decision_function(queries), wanted, rtol=2e-5)
    np.testing.assert_array_equal(model.predict(queries), wanted.argmax(axis=1))
    assert all(member.get("signed", False) == signed for member in model.members_)


def test_views_are_blocks_of_columns():
    (X, y), (queries, _) = samples(0), samples(1)
    other, other_queries = samples(2)[0], samples(3)[0]
    transforms = [{"lambda": 0.5}, {"w": 2, "b": 0.3, "lambda": 0}]
    model = deepvoro.DeepVoroClassifier(views=2, transforms=transforms).fit(np.hstack([X, other]), y)
    wanted = plain_influence([X, other], y, [queries, other_queries], transforms)
    np.testing.assert_allclose(model.decision_function(np.hstack([queries, other_queries])), wanted, rtol=2e-5)
    names = deepvoro.DeepVoroClassifier(views=["a", "b"], transforms=transforms).fit(np.hstack([X, other]), y)
    assert [member["view"] for member in names.members_] == ["a", "a", "b", "b"]


def test_surrogates_are_those_of_the_paper():
    (X, y), (queries, _) = samples(0), samples(1)
    base, base_labels = samples(5, sizes=(5,) * 12)
    model = deepvoro.DeepVoroClassifier(geometry="surrogate", base=(base, base_labels)).fit(X, y)
    wanted = 0
    for t in reference.SURROGATE_TRANSFORMATIONS:
        rows, points, of_base = (reference.transform(x.astype(float), 1, t["b"], t["lambda"]) for x in (X, queries, base))
        for R, beta in enumerate(reference.MINI_IMAGENET_BETA, start=1):
            wanted = wanted - reference.surrogate_distances(
                points, means(rows, y), means(of_base, base_labels), R, beta, 1.0)
    np.testing.assert_allclose(model.decision_function(queries), wanted, rtol=2e-5)
    one = deepvoro.DeepVoroClassifier(geometry=[{"R": 2, "beta": 3.5}], base=(base, base_labels)).fit(X, y)
    assert [(m["R"], m["beta"]) for m in one.members_] == [(2, 3.5)] * 2


def test_two_classes_have_one_decision():
    (X, y), (queries, _) = samples(0, sizes=(3, 5)), samples(1, sizes=(3, 5))
    wanted = plain_influence([X], y, [queries], reference.DEEPVORO_TRANSFORMATIONS)
    model = deepvoro.DeepVoroClassifier(geometry="vd").fit(X, y)
    np.testing.assert_allclose(model.decision_function(queries), wanted[:, 1] - wanted[:, 0], rtol=1e-3, atol=1e-4)


def test_a_row_on_a_center_is_certain_with_a_negative_exponent():
    X = np.array([[1.0, 0], [0, 1], [0, 1], [1, 1]])
    model = deepvoro.DeepVoroClassifier(alpha=-1).fit(X, ["a", "b", "c", "d"])
    np.testing.assert_array_equal(model.predict_proba(X[:2]), [[1, 0, 0, 0], [0, 0.5, 0.5, 0]])
    assert list(model.predict(X[:2])) == ["a", "b"]
    both = deepvoro.DeepVoroClassifier(alpha=-1).fit(X[1:3], ["b", "c"])
    assert both.decision_function(X[1:2]) == 0 and both.predict(X[1:2]) == "b"


class TestPartialFit:
    def parts(self):
        X, y = samples(0, sizes=(4, 3, 5, 6))
        return [(X[part], y[part]) for part in (y < 2, y == 3, y == 2)], samples(1)[0]

    @pytest.mark.parametrize("estimator", [deepvoro.DeepVoroClassifier, deepvoro.VoronoiLogisticRegression,
                                           deepvoro.SimpleShotClassifier])
    def test_is_fitting_everything_at_once(self, estimator):
        parts, queries = self.parts()
        grown = estimator()
        for rows, labels in parts:
            grown.partial_fit(rows, labels)
        X, y = (np.concatenate(part) for part in zip(*parts))
        whole = estimator().fit(X, y)
        np.testing.assert_array_equal(grown.classes_, [0, 1, 2, 3])
        np.testing.assert_array_equal(grown.decision_function(queries), whole.decision_function(queries))
        np.testing.assert_array_equal(grown.predict_proba(queries), whole.predict_proba(queries))

    def test_more_shots_of_known_classes_count(self):
        (X, y), queries = samples(0), samples(1)[0]
        grown = deepvoro.DeepVoroClassifier().fit(X[:8], y[:8]).partial_fit(X[8:], y[8:])
        np.testing.assert_array_equal(
            grown.decision_function(queries), deepvoro.DeepVoroClassifier().fit(X, y).decision_function(queries))

    def test_negative_rows_that_come_later_make_all_signed(self):
        X, y = samples(0, signed=True)
        grown = deepvoro.DeepVoroClassifier(geometry="vd").fit(abs(X), y).partial_fit(X, y)
        whole = deepvoro.DeepVoroClassifier(geometry="vd").fit(np.concatenate([abs(X), X]), np.concatenate([y, y]))
        np.testing.assert_array_equal(grown.decision_function(X), whole.decision_function(X))

    def test_does_not_feel_later_changes_of_the_array(self):
        (X, y), queries = samples(0), samples(1)[0]
        given = X.copy()
        model = deepvoro.DeepVoroClassifier().fit(given, y)
        given[:] = 7
        np.testing.assert_array_equal(
            model.partial_fit(X, y).decision_function(queries),
            deepvoro.DeepVoroClassifier().fit(np.concatenate([X, X]), np.concatenate([y, y])).decision_function(queries))

    def test_announced_classes_are_the_only_ones(self):
        X, y = samples(0)
        model = deepvoro.DeepVoroClassifier().partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2, 9])
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
        with pytest.raises(ValueError, match="label 3 is not among the classes"):
            model.partial_fit(X, y, classes=[0, 1, 2])
        with pytest.raises(ValueError, match="use one type"):
            model.partial_fit(X, y.astype(str))


class TestProbabilities:
    def test_are_the_softmax_at_the_given_temperature(self):
        (X, y), (queries, _) = samples(0), samples(1)
        model = deepvoro.DeepVoroClassifier(temperature=0.3).fit(X, y)
        np.testing.assert_allclose(
            model.predict_proba(queries), softmax(model.decision_function(queries) / 0.3, axis=1), rtol=1e-10)

    @pytest.mark.parametrize("alpha", [1.0, 2.0, 0.5])
    def test_leave_one_out_really_leaves_out(self, alpha):
        """The temperature minimises the loss of rows that models without them see, pulled to the prior."""
        X, y = samples(0, sizes=(3, 4, 5))
        model = deepvoro.DeepVoroClassifier(geometry="vd", alpha=alpha).fit(X, y)
        all_rows = model.decision_function(X)
        prior = -0.08 * np.mean([all_rows[i, k] for i in range(len(y)) for k in range(3) if k != y[i]])
        left_out = []
        for i in range(len(y)):
            others = np.arange(len(y)) != i
            model_without = deepvoro.DeepVoroClassifier(geometry="vd", alpha=alpha).fit(X[others], y[others])
            left_out.append(model_without.decision_function(X[i:i + 1])[0])

        def cost(log_factor):
            likelihood = log_softmax(np.array(left_out) / (prior * np.exp(log_factor)), axis=1)
            return -likelihood[np.arange(len(y)), y].sum() + 8 / 2 * log_factor**2

        best = minimize_scalar(cost, bounds=(-4, 4), method="bounded", options={"xatol": 1e-9}).x
        assert model.temperature_ == pytest.approx(prior * np.exp(best), rel=1e-3)

    @pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 4, 3)])
    def test_without_rows_to_leave_out_a_share_of_the_distances_is_taken(self, sizes):
        X, y = samples(0, sizes=sizes)
        base = samples(5, sizes=(5,) * 12)
        model = deepvoro.DeepVoroClassifier(geometry="vd" if sizes == (1, 1, 1) else "surrogate", base=base).fit(X, y)
        influence = model.decision_function(X)
        others = [influence[i, k] for i in range(len(y)) for k in range(3) if k != y[i]]
        assert model.temperature_ == pytest.approx(-0.08 * np.mean(others))

    def test_one_class_is_certain(self):
        X, y = samples(0, sizes=(4,))
        model = deepvoro.DeepVoroClassifier().fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((4, 1)))
        np.testing.assert_array_equal(model.predict(X), y)


class TestArrays:
    def test_rows_that_lie_apart_are_read_where_they_are(self):
        (X, y), (queries, _) = samples(0), samples(1)
        wide = np.full((len(queries), 3 * DIM), np.nan, dtype=np.float32)
        wide[:, DIM:2 * DIM] = queries
        inner = wide[:, DIM:2 * DIM]
        model = deepvoro.DeepVoroClassifier().fit(X, y)
        from deepvoro._support import contiguous
        assert contiguous(inner) is inner and contiguous(queries) is queries
        np.testing.assert_array_equal(model._fitted.influence(inner, 1), model.decision_function(queries))

    def test_the_library_refuses_what_it_would_have_to_copy(self):
        X, y = samples(0)
        model = deepvoro.DeepVoroClassifier().fit(X, y)
        for rows in (np.asfortranarray(X), X[:, ::-1], X[::-1]):
            with pytest.raises(ValueError, match="one after the other"):
                model._fitted.influence(rows, 1)
            np.testing.assert_array_equal(
                model.decision_function(rows), model.decision_function(np.ascontiguousarray(rows)))
        with pytest.raises(TypeError):
            model._fitted.influence(X.astype(np.float64), 1)

    @pytest.mark.parametrize("dtype", [np.float16, np.float64])
    def test_other_types_are_converted_once(self, dtype):
        X, y = samples(0)
        rows = X.astype(np.float16)
        np.testing.assert_array_equal(
            deepvoro.DeepVoroClassifier().fit(rows.astype(dtype), y).decision_function(rows.astype(dtype)),
            deepvoro.DeepVoroClassifier().fit(rows.astype(np.float32), y).decision_function(rows.astype(np.float32)))

    def test_any_number_of_threads_gives_the_same_bits(self):
        (X, y), (queries, _) = samples(0), samples(1, sizes=(50,) * 4)
        for estimator in (deepvoro.DeepVoroClassifier, deepvoro.VoronoiLogisticRegression, deepvoro.SimpleShotClassifier):
            found = [estimator(n_jobs=jobs).fit(X, y).decision_function(queries) for jobs in (None, 3, -1)]
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])

    def test_copies_are_independent(self):
        X, y = samples(0)
        model = deepvoro.DeepVoroClassifier().fit(X, y)
        other = copy.deepcopy(model).partial_fit(X[:1], [77])
        assert 77 in other.classes_ and 77 not in model.classes_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha"),
        ({"views": 0}, "views must be at least 1"),
        ({"views": 3}, "70 features cannot be divided into 3 equal views"),
        ({"geometry": "circle"}, "geometry 'circle': unknown"),
        ({"geometry": "surrogate"}, "base"),
        ({"geometry": "ridge-vd", "alpha": 2}, "'ridge-vd' has no transforms"),
        ({"statistics": "nowhere.statistics"}, "nowhere.statistics"),
        ({"transforms": [{"power": 2}]}, "member 0: \"power\" is unknown"),
        ({"transforms": []}, "no members"),
        ({"transforms": "sqrt"}, "transforms must be a list of dicts"),
        ({"transforms": [0.5]}, "transforms must be a list of dicts"),
        ({"signed": "maybe"}, "signed 'maybe': unknown"),
        ({"temperature": -1}, "temperature must be a positive number"),
        ({"temperature": "hot"}, "temperature must be a positive number"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, y = samples(0)
    with pytest.raises(ValueError, match=message) as failure:
        deepvoro.DeepVoroClassifier(**parameters).fit(X, y).predict(X)
    assert "\n" not in str(failure.value)


def test_negative_features_are_an_error_if_unsigned_is_asked_for():
    X, y = samples(0, signed=True)
    with pytest.raises(ValueError, match="column .*`signed`"):
        deepvoro.DeepVoroClassifier(geometry="vd", signed=False).fit(X, y)
    model = deepvoro.DeepVoroClassifier(geometry="vd").fit(abs(X), y)
    with pytest.raises(ValueError, match="X has negative features.*; fit with signed=True"):
        model.predict(-abs(X))


def test_errors_are_of_one_class_and_say_by_a_code_what_can_be_decided(tmp_path):
    X, y = samples(0)
    assert issubclass(deepvoro.Error, ValueError) and "backquotes" in deepvoro.Error.__doc__
    with pytest.raises(deepvoro.Error) as raised:
        deepvoro.evaluate("data/quickdraw-that-is-not-there", "vd")
    assert "\n" not in str(raised.value) and raised.value.code == "missing_file"
    with pytest.raises(deepvoro.Error) as raised:
        deepvoro.Classifier.load(tmp_path / "absent.dv")
    assert raised.value.code == "missing_file"
    store = deepvoro.create_store(tmp_path / "store", novel=(X, y))
    with pytest.raises(TypeError, match=r"save\(file\)"):
        pickle.dumps(deepvoro.Classifier.fit(store))
    deepvoro.Classifier.fit(store).save(tmp_path / "a.dv")
    whole = bytearray((tmp_path / "a.dv").read_bytes())
    whole[-1] ^= 1
    (tmp_path / "a.dv").write_bytes(whole)
    with pytest.raises(deepvoro.Error) as raised:
        deepvoro.Classifier.load(tmp_path / "a.dv")
    assert raised.value.code == "damaged_file"
    negative = deepvoro.create_store(tmp_path / "negative", novel=(np.repeat(X - 1, 8, axis=0), np.repeat(y, 8)))
    with pytest.raises(deepvoro.Error, match="`signed`") as raised:
        deepvoro.evaluate(negative, "vd", ways=2, queries=1, shots=1, episodes=1)
    assert raised.value.code == "negative_features"
    with pytest.raises(deepvoro.Error, match="`ways` must be at least 2") as raised:
        deepvoro.evaluate(store, "vd", ways=1)
    assert raised.value.code is None
