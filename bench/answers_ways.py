"""Ways to answer after a few labelled rows: this package's default and what scikit-learn offers, for bench/answers.py.

Rows hold the views of a picture side by side. scikit-learn's classifiers get one row per picture: the sum of its views, each
of unit length, brought to unit length.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

import deepvoro

STRENGTHS = (1, 10, 100, 1000)  # C of logistic regression on rows of unit length
USUAL_STRENGTH = 10  # where there is nothing to cross-validate on
NEIGHBOURS = (1, 3, 5, 10)
FOLDS = 5
MOST_ROWS_TO_SEARCH = 150


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def one_row_per_picture(rows, views):
    return unit(unit(rows.astype(np.float64).reshape(len(rows), views, -1)).sum(axis=1))


def in_their_span(support, queries):
    """The same inner products in no more dimensions than there are support rows: regularised fits are the same, and fast."""
    if len(support) >= support.shape[1]:
        return support, queries
    basis, _ = np.linalg.qr(support.T)
    return support @ basis, queries @ basis


def default(rows, labels, asked, views, statistics):
    """Probabilities, distance from the nearest class, and the threshold of unknown."""
    model = deepvoro.DeepVoroClassifier(views=views, statistics=statistics).fit(rows, labels)
    return model.predict_proba(asked), model.distances(asked).min(axis=1), model.threshold_


def searched(model, parameters, rows, labels):
    """The model with the parameters that cross-validation prefers, or as it is where a class has one row."""
    folds = min(FOLDS, np.bincount(labels).min())
    if folds < 2:
        return model.fit(rows, labels)
    return GridSearchCV(model, parameters, cv=StratifiedKFold(folds)).fit(rows, labels).best_estimator_


class LogisticRegressionByCrossValidation:
    """C is chosen in every draw; of many rows in the first draw of a cell, and kept for the others."""

    def __init__(self):
        self.kept = None

    def predict(self, rows, labels, queries):
        rows, queries = in_their_span(rows, queries)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=self.kept or USUAL_STRENGTH, max_iter=300, tol=1e-3)
            if self.kept:
                return model.fit(rows, labels).predict(queries)
            model = searched(model, {"C": STRENGTHS}, rows, labels)
            if len(rows) > MOST_ROWS_TO_SEARCH:
                self.kept = model.C
            return model.predict(queries)


class NearestNeighbours:
    def predict(self, rows, labels, queries):
        most = len(rows) * (FOLDS - 1) // FOLDS
        counts = [count for count in NEIGHBOURS if count <= most]
        model = KNeighborsClassifier(1, metric="cosine", algorithm="brute", weights="distance")
        return searched(model, {"n_neighbors": counts}, rows, labels).predict(queries)


class NearestMean:
    def predict(self, rows, labels, queries):
        return NearestCentroid().fit(rows, labels).predict(queries)


PEERS = {"LogisticRegression": LogisticRegressionByCrossValidation, "k-NN cosine": NearestNeighbours, "NearestCentroid": NearestMean}
