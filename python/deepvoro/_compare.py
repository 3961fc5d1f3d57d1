"""Is the difference of two results on the same episodes real?"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from . import _core
from ._study import EvaluationResults

PathLike = Union[str, "os.PathLike[str]"]
Results = Union[EvaluationResults, PathLike]


class Comparison(NamedTuple):
    """Two results on the very same episodes; differences are b - a, in percent."""

    shots: int
    a: dict[str, Any]
    """Method, scheme, members, accuracy and ci95 of the first."""
    b: dict[str, Any]
    difference: float
    ci95: float
    p: Optional[float]
    """Of the paired t-test; None for a single episode."""
    sign_test: dict[str, Any]
    """Episodes that b won, lost and tied, and p."""
    by_class: Optional[dict[str, Any]]
    """Intervals by bootstrap over the classes, where they were asked for."""
    verdict: str
    """One line of plain words, by the t-test at 5 %."""


def compare(a: Results, b: Optional[Results] = None, *, by_class: bool = False, threads: Optional[int] = None) -> list[Comparison]:
    """Compares results on the same episodes, as ``deepvoro compare`` does.

    Parameters
    ----------
    a, b : EvaluationResults or path
        What :func:`evaluate` returned, or a file of ``deepvoro evaluate --json``. With `a` alone every result is compared
        with the first one at the same number of shots; otherwise every result of `b` with its partner in `a`.
    by_class : bool, default False
        Also intervals that say what other classes would have given: episodes share classes.
    threads : int, default None
        None: all. Results do not depend on it.

    Examples
    --------
    >>> results = deepvoro.evaluate("data/quickdraw", ["vd", "deepvoro"], shots=5, episodes=200)
    >>> [comparison] = deepvoro.compare(results)
    >>> comparison.difference > 0 and comparison.p < 0.05
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "comparisons.json"
        files = [_file_of(given, Path(folder) / name) for name, given in (("a.json", a), ("b.json", b)) if given is not None]
        _core.write_comparisons(files, str(out), by_class, _core.available_threads() if threads is None else threads)
        found = json.loads(out.read_text(encoding="utf-8"))["comparisons"]
    return [
        Comparison(
            shots=one["shots"], a=one["a"], b=one["b"], difference=one["difference"], ci95=one["ci95"],
            p=one["t_test"] and one["t_test"]["p"], sign_test=one["sign_test"], by_class=one.get("by_class"),
            verdict=one["verdict"],
        )
        for one in found
    ]  # fmt: skip


def _file_of(given: Results, file: Path) -> str:
    if not isinstance(given, EvaluationResults):
        return os.fspath(given)
    given.save(file)
    return str(file)
