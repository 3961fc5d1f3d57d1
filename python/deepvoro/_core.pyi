"""The library behind the package; use what the package itself exports."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, TypedDict, Union

import numpy as np
from numpy.typing import NDArray

__version__: str
commit: str

class Error(ValueError):
    code: Optional[str]

class TrustInAllFiles:
    def __init__(self) -> None: ...

def available_threads() -> int: ...

class _Split(TypedDict):
    samples: int
    classes: list[str]

class _StoreCheck(TypedDict):
    files: int
    values: int
    notes: list[str]
    warnings: list[str]

class FeatureStore:
    def __init__(self, path: Union[str, os.PathLike[str]]) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def dim(self) -> Any: ...  # int, or dict[str, int] where there are several networks
    @property
    def networks(self) -> list[str]: ...
    @property
    def views(self) -> list[str]: ...
    @property
    def splits(self) -> dict[str, _Split]: ...
    @property
    def provenance(self) -> Any: ...
    def features(self, split: str, view: Optional[str] = None) -> NDArray[np.floating[Any]]: ...
    def labels(self, split: str) -> NDArray[np.int64]: ...
    def check(self) -> _StoreCheck: ...
    def sha256(self) -> str: ...

def row_names(store: FeatureStore, split: str) -> list[str]: ...
def create_store(
    output: Union[str, os.PathLike[str]],
    sources: Sequence[tuple[str, str, tuple[str, str]]],
    label_files: Mapping[str, tuple[str, str]],
    class_files: Mapping[str, str],
    features_name: str,
    labels_name: str,
    dtype: Optional[str],
    note: str,
) -> None: ...
def join_stores(
    stores: Sequence[tuple[str, Union[str, os.PathLike[str]]]], output: Union[str, os.PathLike[str]]
) -> None: ...
def draw_episodes(
    labels: NDArray[np.uintp],
    class_names: Sequence[str],
    ways: int,
    shots: int,
    queries: int,
    episodes: int,
    seed: int,
    protocol: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def paired_difference(
    a: Union[Sequence[float], NDArray[np.float64]], b: Union[Sequence[float], NDArray[np.float64]]
) -> tuple[float, float]: ...

class Evaluation:
    @property
    def json(self) -> str: ...
    @property
    def episode_accuracy(self) -> NDArray[np.float64]: ...
    @property
    def scores(self) -> Optional[NDArray[np.float64]]: ...

def evaluate(
    store: FeatureStore,
    *,
    methods: Sequence[str],
    shots: Sequence[int],
    split: str,
    ways: int,
    queries: int,
    episodes: int,
    seed: int,
    protocol: str,
    scheme: str,
    size: Optional[int],
    pool: Optional[str],
    preset: Optional[str],
    release_views: bool,
    view: Optional[str],
    lr: Optional[str],
    epochs: Optional[int],
    weight_decay: Optional[float],
    start: Optional[str],
    sigmoid: bool,
    normalisation: Optional[str],
    alpha: float,
    signed: bool,
    oracle: bool,
    calibration: bool,
    open_set: bool,
    threads: int,
    device: str,
    scores: bool,
) -> list[Evaluation]: ...
def write_results(file: str, store: FeatureStore, results: Sequence[Evaluation], threads: int) -> None: ...
def write_comparisons(files: Sequence[str], out: str, by_class: bool, threads: int) -> None: ...
def tune(
    store: FeatureStore,
    *,
    method: str,
    out: str,
    shots: int,
    ways: int,
    queries: int,
    episodes: int,
    seed: int,
    protocol: str,
    top_k: Optional[int],
    views: Sequence[str],
    lambdas: Optional[Sequence[float]],
    biases: Optional[Sequence[float]],
    neighbours: Optional[Sequence[int]],
    betas: Optional[Sequence[float]],
    shrink_within: Optional[Sequence[float]],
    shrink_between: Optional[Sequence[float]],
    kappas: Optional[Sequence[float]],
    signed: bool,
    threads: int,
) -> dict[str, Any]: ...
def default_members(method: str, views: Sequence[str]) -> str: ...
def probabilities(influence: NDArray[np.float64], temperature: float) -> NDArray[np.float64]: ...
def calibrated_temperature(
    influence: NDArray[np.float64], labels: NDArray[np.uintp], shots: NDArray[np.uintp]
) -> float: ...

class Ensemble:
    def __init__(
        self,
        rows: NDArray[np.float32],
        labels: NDArray[np.uintp],
        classes: int,
        views: Sequence[str],
        members: str,
        alpha: float,
        base: Optional[tuple[NDArray[np.float32], NDArray[np.uintp], int]] = None,
    ) -> None: ...
    def influence(self, rows: NDArray[np.float32], threads: int) -> NDArray[np.float64]: ...

class RidgeVoronoi:
    def __init__(
        self,
        rows: NDArray[np.float32],
        labels: NDArray[np.uintp],
        classes: int,
        views: Sequence[str],
        statistics: Optional[str] = None,
    ) -> None: ...
    def influence(self, rows: NDArray[np.float32], threads: int) -> NDArray[np.float64]: ...
    def distances(self, rows: NDArray[np.float32], threads: int) -> NDArray[np.float64]: ...
    def probabilities(self, rows: NDArray[np.float32], temperature: float, threads: int) -> NDArray[np.float64]: ...
    @property
    def temperature(self) -> float: ...
    @property
    def exponent(self) -> float: ...
    @property
    def strength(self) -> float: ...
    @property
    def is_logistic(self) -> bool: ...
    @property
    def thresholds(self) -> list[float]: ...
    @property
    def left_out(self) -> list[Optional[int]]: ...

def head_temperature(
    rows: NDArray[np.float32],
    labels: NDArray[np.uintp],
    classes: int,
    method: str,
    epochs: int = ...,
    normalisation: str = "l2n",
    signed: bool = False,
    base_mean: Sequence[float] = ...,
    threads: int = 1,
) -> float: ...

class Head:
    def __init__(
        self,
        rows: NDArray[np.float32],
        labels: NDArray[np.uintp],
        classes: int,
        method: str,
        epochs: int = ...,
        normalisation: str = "l2n",
        signed: bool = False,
        base_mean: Sequence[float] = ...,
    ) -> None: ...
    def influence(self, rows: NDArray[np.float32], threads: int) -> NDArray[np.float64]: ...
    @property
    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

class Picture:
    @property
    def name(self) -> str: ...
    @property
    def where(self) -> str: ...

def picture_of_bytes(file: bytes, name: str) -> Picture: ...
def picture_of_pixels(pixels: NDArray[np.uint8], name: str) -> Picture: ...
def pictures_at(path: Union[str, os.PathLike[str]]) -> list[Picture]: ...
def missing_picture(path: str, reason: str) -> Picture: ...
def is_classifier(file: str) -> bool: ...

class Looking:
    def __init__(self, backbone: str, device: str, skip_bad: bool, fast_decode: bool, threads: int) -> None: ...
    @property
    def skipped(self) -> list[str]: ...
    @property
    def warning(self) -> Optional[str]: ...
    @property
    def notes(self) -> list[str]: ...

class Classifier:
    @staticmethod
    def fit_collection(
        collection: str, views: str, pool: Optional[str], method: Optional[str], leaves: bool, looking: Looking
    ) -> Classifier: ...
    @staticmethod
    def fit_pictures(
        classes: Sequence[str],
        labels: Sequence[int],
        pictures: Sequence[Picture],
        views: str,
        pool: Optional[str],
        method: Optional[str],
        looking: Looking,
    ) -> Classifier: ...
    @staticmethod
    def fit_store(store: FeatureStore, split: str, pool: Optional[str], method: Optional[str], threads: int) -> Classifier: ...
    @staticmethod
    def load(file: str) -> Classifier: ...
    def save(self, file: str) -> None: ...
    def with_pictures(self, class_name: str, pictures: Sequence[Picture], looking: Looking) -> Classifier: ...
    def with_store(self, store: FeatureStore, class_name: str, split: str, threads: int) -> Classifier: ...
    def without(self, what: list[str], threads: int) -> Classifier: ...
    def renamed(self, class_name: str, to: str, threads: int) -> Classifier: ...
    def predict(
        self, pictures: Sequence[Picture], looking: Looking, on_answer: Callable[..., Any], on_unreadable: Callable[..., Any]
    ) -> None: ...
    def test_pictures(self, collection: str, leaves: bool, looking: Looking) -> str: ...
    def test_store(self, store: FeatureStore, split: str, threads: int) -> str: ...
    def info(self) -> str: ...
    def predict_store(self, store: FeatureStore, split: str, threads: int) -> list[tuple[Any, ...]]: ...
    def explain(self, picture: Picture, neighbours: int, looking: Looking) -> dict[str, Any]: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def labels(self) -> list[int]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def views(self) -> list[str]: ...
    @property
    def dim(self) -> int: ...
    @property
    def members(self) -> str: ...
    @property
    def backbone(self) -> str: ...
    @property
    def temperature(self) -> float: ...
    @property
    def thresholds(self) -> list[float]: ...
    @property
    def method(self) -> str: ...
    @property
    def left_out(self) -> list[Optional[int]]: ...
