"""What the classifiers have in common: the manners of scikit-learn around a fitted object of the library."""

from numbers import Integral, Real
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from . import _core

try:  # scikit-learn 1.6 and later
    from sklearn.utils.validation import validate_data as _validate
except ImportError:

    def _validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
        return estimator._validate_data(*arrays, **options)


class SupportClassifier(ClassifierMixin, BaseEstimator):
    """Keeps the labelled rows it was fitted on, so that classes and rows can be added later."""

    _library_class: Any

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Fits on rows X [samples, features] with labels y of any type."""
        X, y = _validate(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        return self._fit_rows(X, y)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: Optional[ArrayLike] = None) -> Any:
        """Adds rows of known or of new classes; the outcome is that of fitting all rows at once.

        New classes need not be announced. Where `classes` is given, a label that is not among them is an error.
        """
        known = hasattr(self, "support_")
        X, y = _validate(self, X, y, dtype=np.float32, reset=not known)
        check_classification_targets(y)
        if classes is not None:
            strange = np.setdiff1d(y, np.asarray(classes))
            if strange.size > 0:
                raise ValueError(f"label {strange.tolist()[0]!r} is not among the classes that were announced")
        if known:
            before = self.support_labels_
            if (before.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
                raise ValueError(f"labels were {before.dtype} before and are {y.dtype} now; use one type for all")
            X, y = np.concatenate([self.support_, X]), np.concatenate([before, y])
        return self._fit_rows(X, y)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Influence of each class on each row, [rows, classes]; larger is nearer.

        For two classes the difference, [rows]: positive where the second one is nearer.
        """
        influence = self._influence(X)
        if len(self.classes_) != 2:
            return influence
        first, second = influence.T
        # Both are infinite where a row coincides with both centers and alpha is negative.
        return np.subtract(second, first, out=np.zeros(len(first)), where=first != second)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest influence on each row; ties go to the first of `classes_`."""
        nearest = self._influence(X).argmax(axis=1)
        return self.classes_[nearest]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Softmax of influence over temperature, [rows, classes]."""
        influence = self._influence(X)
        infinite = np.isposinf(influence)
        certain = infinite.any(axis=1)
        influence[certain] = np.where(infinite[certain], 0.0, -np.inf)
        return _core.probabilities(influence, self._softmax_temperature())

    def _fit_rows(self, X: NDArray[np.float32], y: NDArray[Any]) -> Any:
        # A copy: whoever changes X later must not change what partial_fit builds upon.
        self.support_ = np.array(X, dtype=np.float32, order="C")
        self.support_labels_ = np.array(y)
        self.classes_, self._codes = np.unique(self.support_labels_, return_inverse=True)
        self._arguments = self._library_arguments()
        self._fitted = self._fit_library()
        self._after_fit()
        return self

    def _library_arguments(self) -> dict[str, Any]:
        """What the library's object is made of, besides the support."""
        raise NotImplementedError

    def _support(self) -> dict[str, Any]:
        return {"rows": self.support_, "labels": self._codes.astype(np.uintp), "classes": len(self.classes_)}

    def _fit_library(self) -> Any:
        return self._library_class(**self._support(), **self._arguments)

    def _after_fit(self) -> None:
        pass

    def _softmax_temperature(self) -> float:
        return 1.0

    def _influence(self, X: ArrayLike) -> NDArray[np.float64]:
        return self._of_library("influence", X)

    def _of_library(self, what: str, X: ArrayLike, *arguments: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows = _validate(self, X, dtype=np.float32, reset=False)
        try:
            return getattr(self._fitted, what)(contiguous(rows), *arguments, threads_for(self.n_jobs))
        except _core.Error as error:
            if error.code != "negative_features":
                raise
            raise ValueError("X has negative features, but those that were fitted had none; "
                             "fit with signed=True") from None

    # The library's object is made again from the support, which gives the same bits.
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_fitted", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "support_" in state:
            self._fitted = self._fit_library()


def contiguous(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """X itself where the library can read it: elements of a row side by side."""
    row, element = X.strides
    fits = element == X.itemsize and row >= X.shape[1] * X.itemsize and row % X.itemsize == 0
    return X if fits else np.ascontiguousarray(X)


def is_signed(signed: Union[bool, str], rows: NDArray[np.float32]) -> bool:
    if isinstance(signed, str):
        if signed != "auto":
            raise ValueError(f"signed {signed!r}: unknown; use True, False or 'auto'")
        return bool((rows < 0).any())
    return bool(signed)


def positive(temperature: Any) -> float:
    if not isinstance(temperature, Real) or not 0 < temperature < np.inf:
        raise ValueError(f"temperature must be a positive number or 'loo', not {temperature!r}")
    return float(temperature)


def threads_for(n_jobs: Optional[int]) -> int:
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs < -1 or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, -1 or at least 1, not {n_jobs!r}")
    return _core.available_threads() if n_jobs == -1 else int(n_jobs)
