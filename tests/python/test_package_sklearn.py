"""The estimators keep the manners of scikit-learn, by its own checks and inside its own tools."""
import pickle

import deepvoro
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

ESTIMATORS = [deepvoro.DeepVoroClassifier, deepvoro.VoronoiLogisticRegression, deepvoro.SimpleShotClassifier]


@parametrize_with_checks([estimator() for estimator in ESTIMATORS])
def test_single_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_check_estimator_passes(estimator):
    check_estimator(estimator())


@pytest.mark.parametrize(
    "estimator",
    [
        deepvoro.DeepVoroClassifier(alpha=2.0, transforms=[{"lambda": 1}], temperature=3.0, n_jobs=2),
        deepvoro.DeepVoroClassifier(alpha=-1.0, signed=True),
        deepvoro.VoronoiLogisticRegression(epochs=3, signed=True),
        deepvoro.SimpleShotClassifier(normalisation="un", temperature=0.5, n_jobs=-1),
    ],
)
def test_check_estimator_passes_with_other_parameters(estimator):
    check_estimator(estimator)


@pytest.fixture
def rows():
    random = np.random.RandomState(0)
    labels = np.repeat(["ant", "bee", "cat"], 12)
    centers = random.rand(3, 10)
    return centers[np.repeat(np.arange(3), 12)] + 0.1 * random.rand(36, 10), labels


@pytest.mark.parametrize("estimator", ESTIMATORS)
class TestInsideTheTools:
    def test_pipeline(self, estimator, rows):
        X, y = rows
        model = make_pipeline(MinMaxScaler(), estimator()).fit(X, y)
        scaled = MinMaxScaler().fit_transform(X)
        np.testing.assert_array_equal(model.decision_function(X), estimator().fit(scaled, y).decision_function(scaled))
        assert model.score(X, y) == 1

    def test_cross_validation(self, estimator, rows):
        scores = cross_val_score(estimator(), *rows, cv=3)
        assert scores.shape == (3,) and scores.min() > 0.9

    def test_labels_of_any_type_mean_the_same(self, estimator, rows):
        X, y = rows
        numbers = LabelEncoder().fit_transform(y)
        names = estimator().fit(X, y)
        for labels in (numbers, numbers * 1.0, numbers - 7, y.astype(object)):
            other = estimator().fit(X, labels)
            np.testing.assert_array_equal(other.decision_function(X), names.decision_function(X))
            assert other.predict(X).dtype == np.asarray(labels).dtype

    def test_clone_is_unfitted_and_equal(self, estimator, rows):
        model = estimator(n_jobs=2).fit(*rows)
        copy = clone(model)
        assert copy.get_params() == model.get_params() and not hasattr(copy, "classes_")

    @pytest.mark.parametrize("keep", ["pickle", "joblib"])
    def test_kept_and_read_again_it_answers_alike(self, estimator, rows, keep, tmp_path):
        X, y = rows
        model = estimator().fit(X, y)
        if keep == "pickle":
            again = pickle.loads(pickle.dumps(model))
        else:
            joblib.dump(model, tmp_path / "model")
            again = joblib.load(tmp_path / "model")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        again.partial_fit(X[:2] + 3, ["dog", "dog"])
        assert list(again.classes_) == ["ant", "bee", "cat", "dog"] and list(model.classes_) == ["ant", "bee", "cat"]

    def test_works_in_processes_of_joblib(self, estimator, rows):
        model = estimator(n_jobs=2).fit(*rows)
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(model.decision_function)(rows[0]) for _ in range(2))
        for one in found:
            np.testing.assert_array_equal(one, model.decision_function(rows[0]))


def test_grid_search_over_transformations_and_exponent(rows):
    grid = {
        "alpha": [0.5, 1.0],
        "transforms": [None, [{"lambda": 0.5}], [{"lambda": 1}, {"b": 0.1, "lambda": 0}]],
        "signed": ["auto", True],
    }
    search = GridSearchCV(deepvoro.DeepVoroClassifier(), grid, cv=3).fit(*rows)
    assert len(search.cv_results_["params"]) == 12 and search.best_score_ > 0.9


def test_parameters_set_after_fitting_wait_for_the_next_fit(rows):
    X, y = rows
    model = deepvoro.DeepVoroClassifier().fit(X, y)
    before = model.decision_function(X)
    model.set_params(alpha=3.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), before)
