"""Classifiers in the manner of scikit-learn. What they compute is computed by the library."""

import json
import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._stores import PathLike
from ._support import SupportClassifier, contiguous, is_signed, positive, threads_for


# The method whose members have a geometry, with its usual transformations.
_METHODS = {"vd": "deepvoro", "surrogate": "deepvoro++", "plda": "plda"}


class DeepVoroClassifier(SupportClassifier):
    """Classes of rows, after one to some tens of rows of each; numbers may differ.

    By default a row is one point in all its views, and a ridge regression, in which every class counts the same, and
    the nearest class mean decide together (``geometry="ridge-vd"``, what ``deepvoro fit`` does). The other geometries
    are cluster-to-cluster Voronoi diagrams: every member, a view with a transformation, has its own prototypes.

    Parameters
    ----------
    transforms : list of dict, default None
        Transformations of a feature row: unit length, then ``w*z + b``, then ``z**lambda`` (``log`` for 0), each such
        as ``{"w": 1, "b": 0.02, "lambda": 0}``; w is 1 and b is 0 if left out. None: the eight of DeepVoro
        (for surrogates the two of DeepVoro++). Not for "ridge-vd".
    views : int or list of str, default 1
        Number (or names) of views: equal blocks of columns of X, side by side.
    geometry : "auto", "ridge-vd", "vd", "surrogate", "plda" or list of dict, default "auto"
        "auto": "ridge-vd", or "vd" where `transforms`, `alpha` or `base` are given. "vd": Voronoi diagrams.
        "surrogate": distances to base classes are mixed in (DeepVoro++, R = 1..10); a list such as
        ``[{"R": 3, "beta": 4.5, "gamma": 1}]`` says how. "plda": rows are whitened by what base classes say of samples
        and classes; a list such as ``[{"geometry": "plda", "shrink_within": 0.3, "shrink_between": 0.3, "kappa": 2}]``
        says how.
    alpha : float, default 1
        Exponent of the influence function, not 0. Not for "ridge-vd".
    signed : bool or "auto", default "auto"
        Whether powers and logarithms are the signed ones, which negative features need (docs/METHODS.md). "auto": if
        there are negative features among those it is fitted on. Those of "ridge-vd" always are.
    temperature : float or "loo", default "loo"
        Of the softmax of `predict_proba`. "loo": what makes rows most likely that are left out of their class, one at
        a time, or with "ridge-vd" a fifth at a time. Where no class has two rows a usual one is taken, and with
        surrogates and plda 0.08 of the mean influence of the other classes; 1 for a negative alpha.
    base : (X, y), default None
        Rows of base classes, for surrogates and plda.
    statistics : str or os.PathLike, default None
        For "ridge-vd", the statistics of the network that made the features: a file made by ``deepvoro backbone
        statistics``. They make it a little better.
    n_jobs : int, default None
        Threads for queries: None is 1, -1 all. Results do not depend on it.

    Attributes
    ----------
    classes_ : the labels, sorted
    support_, support_labels_ : the rows it was fitted on, and their labels
    members_ : list of dict, as in a pool file; none for "ridge-vd"
    temperature_ : float
    exponent_, strength_ : of "ridge-vd", the exponent of its points, and the strength of its ridge regression
    is_logistic_ : of "ridge-vd", whether a logistic regression decides, as it may with twenty rows of every class
    threshold_ : of "ridge-vd", the distance beyond which a row is unknown

    Examples
    --------
    >>> store = deepvoro.FeatureStore("data/quickdraw")
    >>> X, y = store.features("novel"), store.labels("novel")
    >>> support, query = deepvoro.episodes(y, shots=5, queries=15, episodes=1)
    >>> model = deepvoro.DeepVoroClassifier().fit(X[support[0].ravel()], y[support[0].ravel()])
    >>> model.score(X[query[0].ravel()], y[query[0].ravel()]) > 0.5
    True
    >>> model.predict_proba(X[query[0].ravel()]).shape
    (75, 5)

    A class that comes later:

    >>> new = ~np.isin(y, model.classes_)
    >>> len(model.partial_fit(X[new][:3], y[new][:3]).classes_)
    6
    """

    def __init__(
        self,
        transforms: Optional[Sequence[Mapping[str, float]]] = None,
        views: Union[int, Sequence[str]] = 1,
        geometry: Union[str, Sequence[Mapping[str, float]]] = "auto",
        alpha: float = 1.0,
        signed: Union[bool, str] = "auto",
        temperature: Union[float, str] = "loo",
        base: Optional[tuple[ArrayLike, ArrayLike]] = None,
        statistics: Optional[PathLike] = None,
        n_jobs: Optional[int] = None,
    ):
        self.transforms = transforms
        self.views = views
        self.geometry = geometry
        self.alpha = alpha
        self.signed = signed
        self.temperature = temperature
        self.base = base
        self.statistics = statistics
        self.n_jobs = n_jobs

    def distances(self, X: ArrayLike) -> NDArray[np.float64]:
        """Of each row from each class, [rows, classes], where 1 is typical of rows of the class; "ridge-vd" alone.

        A row whose smallest is above `threshold_` belongs to none of the classes.
        """
        check_is_fitted(self)
        if self.members_:
            raise ValueError("distances are those of geometry 'ridge-vd' alone")
        return self._of_library("distances", X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Softmax of influence over temperature, [rows, classes].

        With "ridge-vd", the temperature is lower for rows that are far nearer to a class than is usual.
        """
        check_is_fitted(self)
        if self.members_:
            return super().predict_proba(X)
        return self._of_library("probabilities", X, self.temperature_)

    @property
    def _library_class(self) -> Any:
        return _core.Ensemble if "members" in self._arguments else _core.RidgeVoronoi

    def _library_arguments(self) -> dict[str, Any]:
        views = self._view_names()
        is_signed(self.signed, self.support_)
        if self._kind() == "ridge-vd":
            self.members_ = []
            return {"views": views, "statistics": None if self.statistics is None else os.fspath(self.statistics)}
        self.members_ = self._members(views)
        members = json.dumps(self.members_, allow_nan=False)
        return {"views": views, "members": members, "alpha": self.alpha, "base": self._base()}

    def _after_fit(self) -> None:
        ridge = not self.members_
        if ridge:
            self.exponent_, self.strength_ = self._fitted.exponent, self._fitted.strength
            self.is_logistic_, self.threshold_ = self._fitted.is_logistic, self._fitted.thresholds[1]
        if self.temperature == "loo":
            self.temperature_ = self._fitted.temperature if ridge else self._leave_one_out()
        else:
            self.temperature_ = positive(self.temperature)

    def _softmax_temperature(self) -> float:
        return self.temperature_

    def _kind(self) -> Union[str, Sequence[Mapping[str, float]]]:
        """The geometry that is meant."""
        others = self.transforms is not None or self.alpha != 1 or self.base is not None
        if isinstance(self.geometry, str) and self.geometry == "auto":
            return "vd" if others else "ridge-vd"
        if isinstance(self.geometry, str) and self.geometry == "ridge-vd" and others:
            raise ValueError("geometry 'ridge-vd' has no transforms, alpha or base")
        return self.geometry

    def _view_names(self) -> list[str]:
        if isinstance(self.views, Integral):
            if self.views < 1:
                raise ValueError(f"views must be at least 1, not {self.views}")
            return [f"view{i}" for i in range(self.views)]
        return list(self.views)

    def _needs_base(self) -> bool:
        return not (isinstance(self._kind(), str) and self._kind() == "vd")

    def _members(self, views: list[str]) -> list[dict[str, Any]]:
        kind = self._kind()
        if isinstance(kind, str) and kind not in _METHODS:
            raise ValueError(f"geometry {kind!r}: unknown; use 'ridge-vd', 'vd', 'surrogate', 'plda' or a list of dicts")
        method = _METHODS[kind] if isinstance(kind, str) else "deepvoro++"
        usual = json.loads(_core.default_members(method, views[:1]))
        transforms = _distinct(usual, ("w", "b", "lambda")) if self.transforms is None else self.transforms
        if isinstance(transforms, str) or not all(isinstance(transform, Mapping) for transform in transforms):
            raise ValueError("transforms must be a list of dicts, as in [{'lambda': 0.5, 'b': 0.1}]")
        if isinstance(kind, str):
            transformation = ("view", "w", "b", "lambda", "signed")
            geometries = _distinct(usual, tuple(key for key in usual[0] if key not in transformation))
        else:
            geometries = [{"geometry": "surrogate", **surrogate} for surrogate in kind]
        signed = {"signed": True} if is_signed(self.signed, self.support_) else {}
        return [
            {"view": view, "w": 1.0, "b": 0.0, **transform, **signed, **geometry}
            for view in views
            for transform in transforms
            for geometry in geometries
        ]

    def _base(self) -> Optional[tuple[NDArray[np.float32], NDArray[np.uintp], int]]:
        if self.base is None:
            return None
        X, y = self.base
        names, codes = np.unique(np.asarray(y), return_inverse=True)
        return contiguous(np.asarray(X, dtype=np.float32)), codes.astype(np.uintp), len(names)

    def _leave_one_out(self) -> float:
        most = 1000  # more would sharpen the temperature no further
        by_class = np.argsort(self._codes, kind="stable")
        count = min(len(by_class), most)
        chosen = by_class[np.arange(count) * len(by_class) // count]
        codes = self._codes[chosen]
        influence = self._fitted.influence(self.support_[chosen], threads_for(self.n_jobs))
        shots = np.bincount(self._codes)
        if self.alpha < 0:
            return 1.0
        if self._needs_base():
            shots = np.ones_like(shots)
        # A row that is left out of the n of its class is n/(n-1) times as far from it, and the library corrects a
        # distance for that; this is the rest of its power alpha.
        n = np.maximum(shots[codes], 2)
        influence[np.arange(count), codes] *= (n / (n - 1.0)) ** (self.alpha - 1)
        return _core.calibrated_temperature(influence, codes.astype(np.uintp), shots.astype(np.uintp))


class _HeadClassifier(SupportClassifier):
    """A head of the library, whose probabilities are measured on rows that are left out."""

    temperature: Union[float, str]
    _library_class = _core.Head

    def _after_fit(self) -> None:
        if self.temperature == "loo":
            self.temperature_ = _core.head_temperature(**self._support(), **self._arguments, threads=threads_for(self.n_jobs))
        else:
            self.temperature_ = positive(self.temperature)

    def _softmax_temperature(self) -> float:
        return self.temperature_


class VoronoiLogisticRegression(_HeadClassifier):
    """Logistic regression reduced to a Voronoi diagram: biases are tied to weights, ``b_k = -|W_k|^2/4``.

    Rows are scaled to unit length and their square root is taken. Training is deterministic.

    Parameters
    ----------
    epochs : int, default 20
        Steps of Adam over all rows.
    signed : bool or "auto", default "auto"
        Whether the square root is the signed one; see :class:`DeepVoroClassifier`.
    temperature : float or "loo", default "loo"
        Of the softmax of `predict_proba`. "loo": what makes rows most likely that are left out, a fifth at a time; a
        usual one where no class has two rows.
    n_jobs : int, default None
        Threads for queries: None is 1, -1 all.

    Attributes
    ----------
    classes_, support_, support_labels_ : as of :class:`DeepVoroClassifier`
    coef_, intercept_ : W [classes, features] and b [classes], on prepared rows
    centers_ : ``coef_ / 2``, the centers of the Voronoi diagram
    temperature_ : float

    Examples
    --------
    >>> X = np.array([[1, 0.1], [0.9, 0], [0.1, 1], [0, 0.8]])
    >>> model = deepvoro.VoronoiLogisticRegression().fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1, 0.3], [0.2, 0.3]])
    array(['a', 'b'], dtype='<U1')
    >>> np.allclose(model.intercept_, -(model.centers_**2).sum(axis=1))
    True
    """

    def __init__(
        self,
        epochs: int = 20,
        signed: Union[bool, str] = "auto",
        temperature: Union[float, str] = "loo",
        n_jobs: Optional[int] = None,
    ):
        self.epochs = epochs
        self.signed = signed
        self.temperature = temperature
        self.n_jobs = n_jobs

    def _library_arguments(self) -> dict[str, Any]:
        if not isinstance(self.epochs, Integral) or self.epochs < 1:
            raise ValueError(f"epochs must be a whole number of at least 1, not {self.epochs!r}")
        signed = is_signed(self.signed, self.support_)
        return {"method": "voronoi-lr", "epochs": int(self.epochs), "signed": signed}

    def _after_fit(self) -> None:
        super()._after_fit()
        self.coef_, self.intercept_ = self._fitted.weights
        self.centers_ = self.coef_ / 2


class SimpleShotClassifier(_HeadClassifier):
    """Nearest class mean after a normalisation (SimpleShot).

    Parameters
    ----------
    normalisation : "un", "l2n" or "cl2n", default "l2n"
        Rows as they are; of unit length; less `base_mean`, then of unit length.
    base_mean : array [features], default None
        Mean of the rows of base classes, for "cl2n".
    temperature : float or "loo", default "loo"
        Of the softmax of minus the distances in `predict_proba`; see :class:`VoronoiLogisticRegression`.
    n_jobs : int, default None
        Threads for queries: None is 1, -1 all.

    Attributes
    ----------
    classes_, support_, support_labels_ : as of :class:`DeepVoroClassifier`
    temperature_ : float

    Examples
    --------
    >>> X = [[1.0, 0.1], [2.0, 0.3], [0.1, 1.0]]
    >>> model = deepvoro.SimpleShotClassifier().fit(X, [7, 7, 9])
    >>> model.predict([[5, 1], [1, 5]])
    array([7, 9])
    """

    def __init__(
        self,
        normalisation: str = "l2n",
        base_mean: Optional[ArrayLike] = None,
        temperature: Union[float, str] = "loo",
        n_jobs: Optional[int] = None,
    ):
        self.normalisation = normalisation
        self.base_mean = base_mean
        self.temperature = temperature
        self.n_jobs = n_jobs

    def _library_arguments(self) -> dict[str, Any]:
        if self.normalisation == "cl2n" and self.base_mean is None:
            raise ValueError("normalisation 'cl2n' needs base_mean, the mean of the rows of base classes")
        mean = [] if self.base_mean is None else np.asarray(self.base_mean, dtype=np.float64).tolist()
        return {"method": "simpleshot", "normalisation": self.normalisation, "base_mean": mean}


def _distinct(members: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """What members have under these keys, each once, in their order."""
    found: list[dict[str, Any]] = []
    for member in members:
        part = {key: member[key] for key in keys if key in member}
        if part not in found:
            found.append(part)
    return found
