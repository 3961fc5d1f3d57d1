"""Feature stores from files of other libraries and from arrays."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._core import FeatureStore

PathLike = Union[str, "os.PathLike[str]"]
DEFAULT_VIEW = "s84_r0_f0"


def create_store(
    path: PathLike,
    *,
    base: Any = None,
    val: Any = None,
    novel: Any = None,
    labels: Optional[Mapping[str, PathLike]] = None,
    classes: Optional[Mapping[str, PathLike]] = None,
    features_name: str = "",
    labels_name: str = "",
    dtype: Optional[str] = None,
    note: str = "",
    trust_files: bool = False,
) -> FeatureStore:
    """Makes a feature store, as ``deepvoro store create`` does; `path` must not exist.

    Each split is given as one of

    - a file: ``.npy .npz .h5 .hdf5 .safetensors .plk .pkl .pickle``, so what SimpleShot, S2M2, DC and DeepVoro
      save (docs/FORMATS.md). ``"FILE::ARRAY"`` names an array in it. Pickles are read without running them;
    - arrays ``(features, labels)``, labels of any type;
    - an array [classes, samples, dim] as EASY keeps it (``torch.load(file)[:64].numpy()``);
    - a table with columns ``embedding`` and ``class_name``, as easyfsl keeps it in pandas;
    - a dict of these by name of view, where there are several views of the same samples.

    `labels` and `classes` name files by split: labels where a file of features has none, and names of classes.
    `dtype` is float16 or float32. A file that unpacks to far more than it holds is refused unless `trust_files`, which
    holds for all that is read meanwhile, by other threads too.

    >>> rows = np.random.RandomState(0).rand(20, 8)
    >>> store = deepvoro.create_store(folder / "mine", novel=(rows, np.repeat(["ant", "bee"], 10)))
    >>> store.splits["novel"]
    {'samples': 20, 'classes': ['ant', 'bee']}
    >>> easy = np.random.RandomState(0).rand(6, 5, 8)
    >>> deepvoro.create_store(folder / "easy", base=easy[:4], novel=easy[4:], dtype="float16").features("base").shape
    (20, 8)
    """
    given = {"base": base, "val": val, "novel": novel}
    label_files = {split: _file_and_array(file) for split, file in (labels or {}).items()}
    class_files = {split: os.fspath(file) for split, file in (classes or {}).items()}
    with tempfile.TemporaryDirectory(prefix="deepvoro-") as folder, trusting(trust_files):
        sources = []
        for split, content in given.items():
            if content is None:
                continue
            for view, one in (content if _is_views(content) else {DEFAULT_VIEW: content}).items():
                if isinstance(one, (str, os.PathLike)):
                    sources.append((split, view, _file_and_array(one)))
                    continue
                features, of_class, names = _arrays(one, f"{split}: {view}")
                files = Path(folder) / f"{split}-{len(sources)}"
                files.mkdir()
                np.save(files / "features.npy", features)
                np.save(files / "labels.npy", of_class)
                (files / "classes.json").write_text(json.dumps(names), encoding="utf-8")
                sources.append((split, view, (str(files / "features.npy"), "")))
                label_files[split] = (str(files / "labels.npy"), "")
                class_files.setdefault(split, str(files / "classes.json"))
        _core.create_store(os.fspath(path), sources, label_files, class_files, features_name, labels_name, dtype, note)
    return FeatureStore(os.fspath(path))


def join_stores(stores: Union[Mapping[str, PathLike], Sequence[PathLike]], path: PathLike) -> FeatureStore:
    """Makes one store of several with features of the same samples, as ``deepvoro store join`` does.

    Views are named ``NETWORK/VIEW``, and the members of all networks add up. `stores` is a dict by name of network, or
    a list, where networks have the names of the folders. `path` must not exist.

    >>> labels = np.repeat(["ant", "bee"], 10)
    >>> for network, dim in (("wide", 8), ("deep", 5)):
    ...     _ = deepvoro.create_store(folder / network, novel=(np.random.RandomState(dim).rand(20, dim), labels))
    >>> both = deepvoro.join_stores([folder / "wide", folder / "deep"], folder / "both")
    >>> both.views, both.dim
    (['wide/s84_r0_f0', 'deep/s84_r0_f0'], {'wide': 8, 'deep': 5})
    """
    named = stores.items() if isinstance(stores, Mapping) else (("", store) for store in stores)
    _core.join_stores([(network, os.fspath(store)) for network, store in named], os.fspath(path))
    return FeatureStore(os.fspath(path))


@contextmanager
def trusting(trust_files: bool) -> Iterator[None]:
    """Where `trust_files`, reads what unpacks to far more than it holds, too."""
    trust = _core.TrustInAllFiles() if trust_files else None
    try:
        yield
    finally:
        del trust


def _is_views(content: Any) -> bool:
    return isinstance(content, Mapping) and "embedding" not in content


def _file_and_array(text: PathLike) -> tuple[str, str]:
    file, colons, array = os.fspath(text).rpartition("::")
    return (file, array) if colons else (array, "")


def _arrays(given: Any, where: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features [samples, dim], class index of each, and the names of the classes."""
    if hasattr(given, "columns") or isinstance(given, Mapping):
        features, labels = np.stack([np.asarray(row) for row in given["embedding"]]), np.asarray(given["class_name"])
    elif isinstance(given, tuple):
        features, labels = (np.asarray(part) for part in given)
    else:
        by_class = np.asarray(given)
        if by_class.ndim != 3:
            raise ValueError(f"{where}: features without labels must be [classes, samples, dim], not {by_class.shape}")
        features = by_class.reshape(-1, by_class.shape[2])
        labels = np.repeat(np.arange(len(by_class)), by_class.shape[1])
    if features.ndim != 2 or labels.shape != (len(features),):
        raise ValueError(
            f"{where}: features must be [samples, dim] with a label for each, not {features.shape} and {labels.shape}"
        )
    names, codes = np.unique(labels, return_inverse=True)
    if features.dtype not in (np.float16, np.float32):
        features = features.astype(np.float32)
    return features, codes.astype(np.int64), [str(name) for name in names]
