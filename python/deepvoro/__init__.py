"""Few-shot classification by cluster-induced Voronoi diagrams.

Pictures, after a few examples of each class; `birds` has a folder of them for each class:

>>> deepvoro.Classifier.fit("birds").save("birds.dv")                        # doctest: +SKIP
>>> deepvoro.Classifier.load("birds.dv").predict(["garden.jpg", pixels])     # doctest: +SKIP
[<garden.jpg: robin, 0.97>, <320x240-1f3a0c...: wren, 0.88>]

Classifiers in the manner of scikit-learn, on features of any network:

>>> import numpy as np, deepvoro
>>> support = np.array([[1, 0, 0], [0.9, 0.2, 0], [0, 1, 0.1], [0, 0.8, 0]])
>>> model = deepvoro.DeepVoroClassifier().fit(support, ["cat", "cat", "dog", "dog"])
>>> model.predict([[0.7, 0.3, 0]])
array(['cat'], dtype='<U3')

Evaluation on many few-shot episodes, with the engine of the program `deepvoro`:

>>> results = deepvoro.evaluate("data/quickdraw", ["vd", "deepvoro"], shots=5, episodes=100)
>>> [result.method for result in results if result.accuracy > 70]
['vd', 'deepvoro']

Errors of the library are :class:`Error`, a ValueError, with one line: what is wrong, where, and what to do. An option
is named in backquotes, and so is the argument: `signed` is ``signed=True``.
"""

from typing import TYPE_CHECKING, Any

from ._classifier import Classifier, Explanation, Prediction
from ._compare import Comparison, compare
from ._core import Error, FeatureStore, __version__
from ._sampling import Episodes, episodes
from ._stores import create_store, join_stores
from ._study import EvaluationResult, EvaluationResults, TuningResult, evaluate, tune

if TYPE_CHECKING:
    from ._estimators import DeepVoroClassifier, SimpleShotClassifier, VoronoiLogisticRegression

__all__ = [
    "Classifier",
    "Comparison",
    "DeepVoroClassifier",
    "Episodes",
    "Error",
    "EvaluationResult",
    "EvaluationResults",
    "Explanation",
    "FeatureStore",
    "Prediction",
    "SimpleShotClassifier",
    "TuningResult",
    "VoronoiLogisticRegression",
    "__version__",
    "compare",
    "create_store",
    "episodes",
    "evaluate",
    "join_stores",
    "tune",
]


def __getattr__(name: str) -> Any:
    """The estimators, which need scikit-learn, are loaded when they are first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'deepvoro' has no attribute {name!r}")
    try:
        from . import _estimators
    except ModuleNotFoundError as missing:
        if missing.name != "sklearn":
            raise
        raise ImportError(f"deepvoro.{name} needs scikit-learn; install it (Debian: apt-get install python3-sklearn)") from None

    return getattr(_estimators, name)


def __dir__() -> list[str]:
    return __all__
