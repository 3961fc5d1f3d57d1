"""Evaluation and tuning on feature stores, with the engine of the program."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FeatureStore
from ._stores import PathLike

Member = Mapping[str, Any]


class TuningResult:
    """What :func:`tune` chose on validation classes."""

    def __init__(self, found: dict[str, Any]):
        self.members: list[dict[str, Any]] = [
            {**member, "val_accuracy": accuracy}
            for member, accuracy in zip(json.loads(found["members"]), found["member_val_accuracy"])
        ]
        """The members of the pool, as in a pool file."""
        self.tried_transforms: list[dict[str, Any]] = found["transforms"]
        """Every transformation with its accuracy on val in percent, the best first."""
        self.tried_surrogates: list[dict[str, Any]] = found["surrogates"]
        """Every R and beta of deepvoro++ likewise."""

    @property
    def transforms(self) -> list[dict[str, Any]]:
        """The transformations that were chosen, for ``DeepVoroClassifier(transforms=...)``."""
        return [_without_verdict(tried) for tried in self.tried_transforms if tried["chosen"]]

    @property
    def surrogates(self) -> list[dict[str, Any]]:
        """The R and beta that were chosen, for ``DeepVoroClassifier(geometry=...)``."""
        return [_without_verdict(tried) for tried in self.tried_surrogates if tried["chosen"]]

    def to_dicts(self) -> list[dict[str, Any]]:
        """A flat dict a member, ready for ``pandas.DataFrame``."""
        return [dict(member) for member in self.members]

    def __repr__(self) -> str:
        return f"<TuningResult: {len(self.members)} members>"


def _without_verdict(tried: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tried.items() if key not in ("val_accuracy", "chosen")}


class EvaluationResult:
    """One method at one number of shots; see :func:`evaluate`."""

    def __init__(self, found: _core.Evaluation):
        self._found = found
        self._fields: dict[str, Any] = json.loads(found.json)

    @property
    def method(self) -> str:
        return self._fields["method"]

    @property
    def shots(self) -> int:
        return self._fields["shots"]

    @property
    def accuracy(self) -> float:
        """Mean over the episodes, in percent."""
        return self._fields["accuracy"]

    @property
    def ci95(self) -> float:
        """The 95% interval is accuracy ± ci95."""
        return self._fields["ci95"]

    @property
    def episode_accuracy(self) -> NDArray[np.float64]:
        """In percent, for each episode."""
        return self._found.episode_accuracy

    @property
    def scores(self) -> Optional[NDArray[np.float64]]:
        """[episodes, ways*queries, ways], the influence of every class on every query (larger is nearer), queries
        class by class; None unless they were asked for."""
        return self._found.scores

    @property
    def members(self) -> list[dict[str, Any]]:
        """What took part, as in a pool file."""
        return self._fields["pool"]

    def to_dict(self) -> dict[str, Any]:
        """All numbers as a flat dict, without lists: those of episodes and members."""
        flat = {key: value for key, value in self._fields.items() if not isinstance(value, (list, dict))}
        for key in ("guided", "greedy", "oracle", "calibration", "open_set", "seconds"):
            parts = self._fields.get(key, {}).items()
            flat.update({f"{key}_{name}": value for name, value in parts if not isinstance(value, list)})
        return {key: value for key, value in flat.items() if key not in ("format", "version")}

    def __repr__(self) -> str:
        return f"<{self.method}, {self.shots}-shot: {self.accuracy:.2f} ± {self.ci95:.2f}>"


class EvaluationResults(Sequence[EvaluationResult]):
    """The results of one call of :func:`evaluate`, by number of shots, then method."""

    def __init__(self, results: Sequence[EvaluationResult], store: FeatureStore, threads: int):
        self._results = list(results)
        self._store = store
        self._threads = threads

    @overload
    def __getitem__(self, index: int) -> EvaluationResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvaluationResult]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A flat dict a result, ready for ``pandas.DataFrame``.

        ``difference`` and ``difference_ci95`` are those to the first method at this number of shots, paired by episode.
        """
        rows = []
        for result in self:
            first = next(other for other in self if other.shots == result.shots)
            if result is first:
                difference: tuple[Optional[float], Optional[float]] = (None, None)
            else:
                difference = _core.paired_difference(result.episode_accuracy, first.episode_accuracy)
            rows.append({**result.to_dict(), "difference": difference[0], "difference_ci95": difference[1]})
        return rows

    def save(self, file: PathLike) -> None:
        """Writes a result file, as ``deepvoro evaluate --json`` does, for ``deepvoro compare``."""
        found = [result._found for result in self]
        _core.write_results(os.fspath(file), self._store, found, self._threads)

    def __str__(self) -> str:
        lines = [f"{'method':<12}{'shots':>5}  {'members':>7}  {'accuracy %':<13}  difference"]
        for row in self.to_dicts():
            accuracy = f"{row['accuracy']:.2f} ± {row['ci95']:.2f}"
            gain = "" if row["difference"] is None else f"{row['difference']:+.2f} ± {row['difference_ci95']:.2f}"
            lines.append(f"{row['method']:<12}{row['shots']:>5}  {row['members']:>7}  {accuracy:<13}  {gain}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return repr(self._results)


def evaluate(
    store: Union[FeatureStore, PathLike],
    method: Union[str, Sequence[str]],
    *,
    shots: Union[int, Sequence[int]] = 1,
    ways: int = 5,
    queries: int = 15,
    episodes: int = 2000,
    seed: int = 0,
    protocol: str = "deepvoro",
    split: str = "novel",
    scheme: str = "full",
    size: Optional[int] = None,
    pool: Union[PathLike, Sequence[Member], TuningResult, None] = None,
    preset: Optional[str] = None,
    release_views: bool = False,
    view: Optional[str] = None,
    lr: Optional[str] = None,
    epochs: Optional[int] = None,
    weight_decay: Optional[float] = None,
    start: Optional[str] = None,
    sigmoid: bool = False,
    normalisation: Optional[str] = None,
    alpha: float = 1.0,
    signed: bool = False,
    oracle: bool = False,
    calibration: bool = False,
    open_set: bool = False,
    threads: Optional[int] = None,
    device: str = "cpu",
    scores: bool = False,
) -> EvaluationResults:
    """Accuracy of methods on few-shot episodes drawn from a feature store, as ``deepvoro evaluate`` computes it.

    `method` is one or several of vd, power-lr, voronoi-lr, deepvoro--, deepvoro, deepvoro++, simpleshot, pt-ncm, s2m2,
    dc and plda. `pool` replaces the members of a method: a pool file, a list of members, or what :func:`tune` returned. All
    other arguments are the flags of the program (docs/METHODS.md); `release_views` is ``--views release``. Results do not depend on `threads`. Ctrl-C stops it.

    >>> results = deepvoro.evaluate("data/quickdraw", ["vd", "simpleshot"], shots=[1, 5], episodes=100)
    >>> print(results)
    method      shots  members  accuracy %     difference
    vd              1        1  ... ± ...
    simpleshot      1        1  ... ± ...   ... ± ...
    vd              5        1  ... ± ...
    simpleshot      5        1  ... ± ...   ... ± ...
    >>> sorted(results.to_dicts()[1])[:5]
    ['accuracy', 'alpha', 'ci95', 'difference', 'difference_ci95']
    >>> results[0].episode_accuracy.shape
    (100,)
    """
    opened = _opened(store)
    workers = _threads(threads)
    with _pool_file(pool) as pool_file:
        found = _core.evaluate(
            opened,
            methods=[method] if isinstance(method, str) else list(method),
            shots=list(shots) if isinstance(shots, Sequence) else [shots],
            split=split,
            ways=ways,
            queries=queries,
            episodes=episodes,
            seed=seed,
            protocol=protocol,
            scheme=scheme,
            size=size,
            pool=pool_file,
            preset=preset,
            release_views=release_views,
            view=view,
            lr=lr,
            epochs=epochs,
            weight_decay=weight_decay,
            start=start,
            sigmoid=sigmoid,
            normalisation=normalisation,
            alpha=alpha,
            signed=signed,
            oracle=oracle,
            calibration=calibration,
            open_set=open_set,
            threads=workers,
            device=device,
            scores=scores,
        )
    return EvaluationResults([EvaluationResult(one) for one in found], opened, workers)


def tune(
    store: Union[FeatureStore, PathLike],
    method: str,
    *,
    shots: int,
    out: Optional[PathLike] = None,
    ways: int = 5,
    queries: int = 15,
    episodes: int = 2000,
    seed: int = 0,
    protocol: str = "deepvoro",
    top_k: Optional[int] = None,
    views: Sequence[str] = (),
    lambdas: Optional[Sequence[float]] = None,
    biases: Optional[Sequence[float]] = None,
    neighbours: Optional[Sequence[int]] = None,
    betas: Optional[Sequence[float]] = None,
    shrink_within: Optional[Sequence[float]] = None,
    shrink_between: Optional[Sequence[float]] = None,
    kappas: Optional[Sequence[float]] = None,
    signed: bool = False,
    threads: Optional[int] = None,
) -> TuningResult:
    """Chooses the members of vd, deepvoro, deepvoro++ or plda on the split val, as ``deepvoro tune`` does.

    With `out`, a pool file is written, and the same call goes on where an earlier one was stopped.

    >>> tuned = deepvoro.tune("data/quickdraw", "vd", shots=5, episodes=100, lambdas=[0.5, 2])
    >>> tuned.transforms
    [{'w': 1.0, 'b': 0.0, 'lambda': 0.5}]
    >>> deepvoro.evaluate("data/quickdraw", "vd", shots=5, episodes=100, pool=tuned)
    [<vd, 5-shot: ... ± ...>]
    """
    with tempfile.TemporaryDirectory(prefix="deepvoro-") as folder:
        found = _core.tune(
            _opened(store),
            method=method,
            out=os.fspath(out) if out is not None else os.path.join(folder, "pool.json"),
            shots=shots,
            ways=ways,
            queries=queries,
            episodes=episodes,
            seed=seed,
            protocol=protocol,
            top_k=top_k,
            views=list(views),
            lambdas=_list(lambdas),
            biases=_list(biases),
            neighbours=_list(neighbours),
            betas=_list(betas),
            shrink_within=_list(shrink_within),
            shrink_between=_list(shrink_between),
            kappas=_list(kappas),
            signed=signed,
            threads=_threads(threads),
        )
    return TuningResult(found)


def _opened(store: Union[FeatureStore, PathLike]) -> FeatureStore:
    return store if isinstance(store, FeatureStore) else FeatureStore(os.fspath(store))


def _threads(threads: Optional[int]) -> int:
    return _core.available_threads() if threads is None else threads


def _list(values: Optional[Sequence[Any]]) -> Optional[list[Any]]:
    return None if values is None else list(values)


@contextmanager
def _pool_file(pool: Union[PathLike, Sequence[Member], TuningResult, None]) -> Iterator[Optional[str]]:
    if pool is None or isinstance(pool, (str, os.PathLike)):
        yield None if pool is None else os.fspath(pool)
        return
    members = pool.members if isinstance(pool, TuningResult) else [dict(member) for member in pool]
    with tempfile.TemporaryDirectory(prefix="deepvoro-") as folder:
        file = Path(folder) / "pool.json"
        file.write_text(json.dumps({"format": "deepvoro-pool", "version": 1, "members": members}), encoding="utf-8")
        yield str(file)
