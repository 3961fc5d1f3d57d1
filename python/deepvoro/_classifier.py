"""Classifiers of pictures, with the answers of the program."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FeatureStore
from ._stores import PathLike, trusting
from ._study import Member, TuningResult, _pool_file

_STRICTNESSES = ("low", "normal", "high")

Picture = Any
"""A file or folder (str or os.PathLike), the bytes of such a file, an array of uint8 [height, width, 3] (or
[height, width], grey) or what NumPy makes one of, such as an image of Pillow; or a tuple (name, bytes or array)."""


@dataclass(frozen=True)
class Prediction:
    """The answer to one picture."""

    picture: str
    """What was asked: the file; of a feature store the name of the picture, or ``split/row``; the name or hash of a picture in
    memory."""
    label: Optional[str]
    """The nearest class; "unknown" where the picture is far from every class and `reject` was asked for; None where it
    could not be read."""
    nearest: Optional[str]
    """The nearest class."""
    unknown: bool
    """Whether the picture is far from every class: `distance` is beyond the threshold."""
    distance: float
    """From the nearest class. Of a classifier of the usual method, 1 is typical of pictures of the class."""
    probabilities: dict[str, float]
    """Of every class, together 1."""
    influence: dict[str, float]
    """Of every class; larger is nearer."""
    error: Optional[str] = None
    """Why the picture could not be read."""

    @property
    def probability(self) -> float:
        """Of the nearest class; nan where the picture could not be read."""
        return float("nan") if self.nearest is None else self.probabilities[self.nearest]

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<{self.picture}: {self.error}>"
        return f"<{self.picture}: {self.nearest}, {self.probability:.2f}{', unknown' if self.unknown else ''}>"


@dataclass(frozen=True)
class Part:
    """Members of a classifier that have a view, a transformation or a geometry in common, and their opinion.

    Members of the usual method are its two diagrams; a view of it is what it says of that view alone."""

    name: str
    members: int
    influence: dict[str, float]
    """Of every class, mean over these members."""
    votes: dict[str, int]
    """For every class, the members to which it is the nearest."""


@dataclass(frozen=True)
class Neighbour:
    """A picture that the classifier was fitted on."""

    label: str
    name: str
    distance: float
    """Between points, or the mean over the members."""


@dataclass(frozen=True)
class Explanation:
    """Why a picture got its class."""

    prediction: Prediction
    views: list[Part]
    transformations: list[Part]
    geometries: list[Part]
    neighbours: list[Neighbour]
    """Pictures it was fitted on, the nearest first."""


class Classifier:
    """A classifier made of a few pictures of each class, as ``deepvoro fit`` makes it.

    It is made by :meth:`fit` or :meth:`load`, not directly. Files are those of the program, and so are the answers,
    bit for bit. Pictures need the networks of the program (docs/PYTHON.md); the network is loaded when the first
    pictures come and kept for the next.

    Methods that look at pictures have these options:

    backbone : str, default None
        Name or file of the network. None: in `fit` the one that suits the pictures, elsewhere that of the classifier.
    device : "cpu" or "cuda", default "cpu"
    skip_bad : bool, default False
        Leave out pictures that cannot be read, with a warning, instead of a ValueError; in `predict` instead of an answer
        that has an `error`.
    fast_decode : bool, default False
        Decode large JPEG files at 1/2, 1/4 or 1/8 of their size, which is faster and changes features about as little as
        saving a file once more. A classifier fitted with it remembers it and decodes all its pictures this way; pictures
        cannot be added this way to any other.
    threads : int, default None
        None: all. Results do not depend on it.
    trust_files : bool, default False
        Read files that unpack to far more than they hold, too. Holds for all that is read meanwhile, by other threads too.

    Examples
    --------
    >>> sketches = {"house": ["data/quickdraw/pictures/house"], "tree": ["data/quickdraw/pictures/tree"]}
    >>> model = deepvoro.Classifier.fit(sketches, views=1)                         # doctest: +SKIP
    >>> model.save(folder / "sketches.dv")                                         # doctest: +SKIP
    >>> deepvoro.Classifier.load(folder / "sketches.dv").predict(["garden.png"])   # doctest: +SKIP
    [<garden.png: tree, 0.93>]

    Of features, which needs no network:

    >>> store = deepvoro.FeatureStore("data/quickdraw")
    >>> model = deepvoro.Classifier.fit(store, split="novel")
    >>> model
    <Classifier: 80 classes, 1600 pictures, ridge-vd>
    >>> model.predict(store, split="novel")[0].picture
    'novel/0'
    """

    def __init__(self, fitted: _core.Classifier):
        if not isinstance(fitted, _core.Classifier):
            raise TypeError("a classifier is made by Classifier.fit or Classifier.load")
        self._fitted = fitted

    def __reduce__(self):
        raise TypeError("a classifier is kept by save(file) and Classifier.load(file), not by pickle")

    @classmethod
    def fit(
        cls,
        support: Union[PathLike, FeatureStore, Mapping[str, Any]],
        *,
        views: Union[int, str, Iterable[str]] = 4,
        pool: Union[PathLike, Iterable[Member], TuningResult, None] = None,
        method: Optional[str] = None,
        split: Optional[str] = None,
        leaves: bool = False,
        backbone: Optional[str] = None,
        device: str = "cpu",
        skip_bad: bool = False,
        fast_decode: bool = False,
        threads: Optional[int] = None,
        trust_files: bool = False,
    ) -> "Classifier":
        """Makes a classifier of labelled pictures.

        `support` is a folder with a folder of pictures for each class, or another collection that the program reads; a
        dict of pictures by class, such as ``{"owl": ["owl.jpg", pixels], "wren": "pictures/wren"}``; or a feature
        store, of which `split` is taken (None: the only one, or else novel). One picture per class is enough. With
        `leaves`, every folder that holds pictures is a class, however deep. What you may not have meant, such as
        pictures beside the folders of classes, is warned of.

        `views` are the ways to look at each picture: 1, 4, 8, 16, 64, or names such as ``["s84_r0_f0"]``.

        `method` is "ridge-vd" (None): a ridge regression and the nearest class mean decide together, in a space that
        statistics of the network make even where there are any. "deepvoro": every view with the eight transformations,
        or the members of a `pool`: a pool file, a list of members, or what :func:`tune` returned. "plda": every view,
        whitened by statistics of the network (``deepvoro backbone statistics --plda``) or by the split base of a store.
        """
        with _pool_file(pool if pool is None or isinstance(pool, (str, os.PathLike, TuningResult)) else list(pool)) as file, trusting(trust_files):
            store = _store(support)
            if store is not None:
                if backbone is not None:
                    raise ValueError("backbone: a feature store already has features")
                _refuse_fast_decode(fast_decode)
                return cls(_core.Classifier.fit_store(store, split or "", file, method, _threads(threads)))
            looking = _looking(backbone, device, skip_bad, fast_decode, threads)
            names = str(views) if isinstance(views, (int, str)) else ",".join(views)
            if isinstance(support, Mapping):
                classes = list(support)
                groups = [pictures_of(support[name]) for name in classes]
                labels = [label for label, group in enumerate(groups) for _ in group]
                pictures = [picture for group in groups for picture in group]
                fitted = _core.Classifier.fit_pictures(classes, labels, pictures, names, file, method, looking)
            else:
                fitted = _core.Classifier.fit_collection(os.fspath(support), names, file, method, leaves, looking)
        _warn(looking)
        return cls(fitted)

    @classmethod
    def load(cls, file: PathLike) -> "Classifier":
        """The classifier of a ``.dv`` file, made by :meth:`save` or ``deepvoro fit``."""
        return cls(_core.Classifier.load(os.fspath(file)))

    def save(self, file: PathLike, *, force: bool = False) -> None:
        """Writes a ``.dv`` file, whole or not at all. An earlier classifier is replaced; any other file only with
        `force`."""
        path = Path(file)
        if not force and path.is_file() and path.stat().st_size > 0 and not _core.is_classifier(os.fspath(file)):
            raise ValueError(f"{path}: is there already and is not a classifier; force=True replaces it")
        self._fitted.save(os.fspath(file))

    def add(
        self,
        class_name: str,
        pictures: Union[Picture, Iterable[Picture], FeatureStore],
        *,
        split: Optional[str] = None,
        backbone: Optional[str] = None,
        device: str = "cpu",
        skip_bad: bool = False,
        fast_decode: bool = False,
        threads: Optional[int] = None,
        trust_files: bool = False,
    ) -> "Classifier":
        """Adds a class, or more pictures of one, and returns the classifier itself.

        It becomes what fitting everything at once would have made; the earlier pictures are not needed.
        """
        store = _store(pictures)
        if store is not None:
            _refuse_fast_decode(fast_decode)
            self._fitted = self._fitted.with_store(store, class_name, split or "", _threads(threads))
            return self
        looking = _looking(backbone, device, skip_bad, fast_decode, threads)
        with trusting(trust_files):
            self._fitted = self._fitted.with_pictures(class_name, pictures_of(pictures), looking)
        _warn(looking)
        return self

    def remove(self, *what: str) -> "Classifier":
        """Removes classes, or single pictures as ``"CLASS/PICTURE"``, and returns the classifier itself, which becomes as
        if they had never been there. A class that has no pictures left is gone."""
        self._fitted = self._fitted.without(list(what), _threads(None))
        return self

    def rename(self, class_name: str, to: str) -> "Classifier":
        """Gives a class another name and returns the classifier itself.

        The name of a picture, ``"CLASS/PICTURE"``, is refused: `remove` could not tell them apart.
        """
        self._fitted = self._fitted.renamed(class_name, to, _threads(None))
        return self

    def predict(
        self,
        pictures: Union[Picture, Iterable[Picture], FeatureStore],
        on_answer: Optional[Callable[[Prediction], Any]] = None,
        *,
        reject: bool = False,
        strictness: str = "normal",
        threshold: Optional[float] = None,
        split: Optional[str] = None,
        backbone: Optional[str] = None,
        device: str = "cpu",
        skip_bad: bool = False,
        fast_decode: bool = False,
        threads: Optional[int] = None,
        trust_files: bool = False,
    ) -> list[Prediction]:
        """The class of each picture, in order: a :class:`Prediction` each.

        A picture that is missing or cannot be read has an answer too, whose `error` says why and whose `label` is None; there
        is one warning for all of them. With `skip_bad` such pictures have no answer.

        `pictures` is one picture or several: files, folders (all pictures in and below them), zip files, bytes of files,
        arrays of uint8 [height, width, 3]; or a feature store. With `on_answer`, each answer is handed to it when it is found,
        and none is kept: the list is empty.

        With `reject`, the label of a picture that is far from every class is "unknown". `strictness` "high" finds more
        of these and gives up more of the others, "low" the opposite; `threshold` is a distance of your own instead.

        An answer does not depend on the other pictures.
        """
        beyond = self._threshold(strictness) if threshold is None else float(threshold)
        store = _store(pictures)
        if store is not None:
            _refuse_fast_decode(fast_decode)
            of = split or _usual_split(store)
            found = self._fitted.predict_store(store, of, _threads(threads))
            names = _core.row_names(store, of) or [f"{of}/{row}" for row in range(len(found))]
            answers = [self._prediction(name, answer, beyond, reject) for name, answer in zip(names, found)]
            if on_answer is None:
                return answers
            for answer in answers:
                on_answer(answer)
            return []
        looking = _looking(backbone, device, skip_bad, fast_decode, threads)
        with trusting(trust_files):
            asked = pictures_of(pictures, _picture_or_missing)
        answers = []
        tell = answers.append if on_answer is None else on_answer
        unreadable = 0

        def take(number: int, answer: Any) -> None:
            tell(self._prediction(asked[number].where, answer, beyond, reject))

        def take_unreadable(number: int, reason: str) -> None:
            nonlocal unreadable
            unreadable += 1
            tell(Prediction(asked[number].where, None, None, False, float("nan"), {}, {}, reason))

        with trusting(trust_files):
            self._fitted.predict(asked, looking, take, take_unreadable)
        _warn(looking)
        if unreadable:
            warnings.warn(f"{unreadable} of {len(asked)} pictures cannot be read: see `error` of the answers", stacklevel=2)
        return answers

    def test(
        self,
        pictures: Union[PathLike, FeatureStore],
        *,
        leaves: bool = False,
        split: Optional[str] = None,
        backbone: Optional[str] = None,
        device: str = "cpu",
        skip_bad: bool = False,
        fast_decode: bool = False,
        threads: Optional[int] = None,
        trust_files: bool = False,
    ) -> dict[str, Any]:
        """Counts right answers on `pictures` whose classes are known, a folder per class as in :meth:`fit`.

        Returns what ``deepvoro test --json`` prints: "accuracy" with its interval, "by_class", "confusion", "answers", and
        how many of strange classes `reject` would find.
        """
        store = _store(pictures)
        if store is not None:
            _refuse_fast_decode(fast_decode)
            return json.loads(self._fitted.test_store(store, split or "", _threads(threads)))
        looking = _looking(backbone, device, skip_bad, fast_decode, threads)
        with trusting(trust_files):
            tested = self._fitted.test_pictures(os.fspath(pictures), leaves, looking)
        _warn(looking)
        return json.loads(tested)

    def info(self) -> dict[str, Any]:
        """What is in it, as ``deepvoro info --pictures --json`` prints it: classes with their pictures, how many of them
        were right when they were left out, the network, what decides, temperature and threshold."""
        return json.loads(self._fitted.info())

    def explain(
        self,
        picture: Picture,
        neighbours: int = 5,
        *,
        backbone: Optional[str] = None,
        device: str = "cpu",
        fast_decode: bool = False,
        threads: Optional[int] = None,
        trust_files: bool = False,
    ) -> Explanation:
        """Why a picture gets its class: what views, transformations and diagrams say, and the nearest pictures."""
        looking = _looking(backbone, device, False, fast_decode, threads)
        with trusting(trust_files):
            asked = pictures_of(picture)
        if len(asked) != 1:
            raise ValueError(f"explain takes one picture, not {len(asked)}")
        with trusting(trust_files):
            found = self._fitted.explain(asked[0], neighbours, looking)
        _warn(looking)
        classes = self.classes

        def parts(level: str) -> list[Part]:
            return [
                Part(name, members, dict(zip(classes, influence.tolist())), dict(zip(classes, votes)))
                for name, members, influence, votes in found[level]
            ]

        return Explanation(
            self._prediction(asked[0].where, found["prediction"], self.threshold),
            parts("views"),
            parts("transformations"),
            parts("geometries"),
            [Neighbour(classes[label], name, distance) for label, name, distance in found["neighbours"]],
        )

    @property
    def classes(self) -> list[str]:
        """Names, in alphabetical order."""
        return self._fitted.classes

    @property
    def pictures(self) -> dict[str, list[str]]:
        """Names of the pictures it was fitted on, by class."""
        classes = self.classes
        by_class: dict[str, list[str]] = {name: [] for name in classes}
        for label, name in zip(self._fitted.labels, self._fitted.names):
            by_class[classes[label]].append(name)
        return by_class

    @property
    def views(self) -> list[str]:
        """Ways to look at a picture."""
        return self._fitted.views

    @property
    def method(self) -> str:
        """How it was made: "ridge-vd", "deepvoro" or "plda"."""
        return self._fitted.method

    @property
    def members(self) -> list[dict[str, Any]]:
        """The members of an ensemble, as in a pool file; none for "ridge-vd"."""
        return json.loads(self._fitted.members)

    @property
    def left_out(self) -> dict[tuple[str, str], str]:
        """For each picture that was left out, by class and name, the class that it was taken for."""
        classes = self.classes
        return {
            (classes[label], name): classes[answer]
            for label, name, answer in zip(self._fitted.labels, self._fitted.names, self._fitted.left_out)
            if answer is not None
        }

    @property
    def backbone(self) -> Optional[str]:
        """Name or file of the network that made its features; None where they were given as such."""
        return self._fitted.backbone or None

    @property
    def temperature(self) -> float:
        """Of the softmax that turns influence into probabilities."""
        return self._fitted.temperature

    @property
    def threshold(self) -> float:
        """A picture that is farther than this from every class is unknown, at normal strictness."""
        return self._threshold("normal")

    def __repr__(self) -> str:
        members = f"{len(self.members)} members" if self.members else self.method
        return f"<Classifier: {len(self.classes)} classes, {len(self._fitted.labels)} pictures, {members}>"

    def _threshold(self, strictness: str) -> float:
        if strictness not in _STRICTNESSES:
            raise ValueError(f"strictness {strictness!r}: unknown; use {', '.join(_STRICTNESSES)}")
        return self._fitted.thresholds[_STRICTNESSES.index(strictness)]

    def _prediction(self, picture: str, answer: Any, threshold: float, reject: bool = False) -> Prediction:
        label, _, probabilities, influence, distance = answer
        classes = self.classes
        unknown = not distance < threshold
        return Prediction(
            picture,
            "unknown" if reject and unknown else classes[label],
            classes[label],
            unknown,
            distance,
            dict(zip(classes, probabilities.tolist())),
            dict(zip(classes, influence.tolist())),
        )


def pictures_of(given: Any, at: Callable[[str], list[_core.Picture]] = _core.pictures_at) -> list[_core.Picture]:
    """Pictures of any kind; one is taken for a list of one."""
    if isinstance(given, (str, os.PathLike)):
        return at(os.fspath(given))
    if isinstance(given, (bytes, bytearray, memoryview)):
        return [_core.picture_of_bytes(bytes(given), "")]
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str) and not isinstance(given[1], (str, os.PathLike)):
        return [_named(*given)]
    if hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        return [_core.picture_of_pixels(_pixels(given), "")]
    try:
        several = list(given)
    except TypeError:
        raise TypeError(f"{type(given).__name__} is not a picture; use a file, bytes or an array") from None
    return [picture for one in several for picture in pictures_of(one, at)]


def _picture_or_missing(path: str) -> list[_core.Picture]:
    try:
        return _core.pictures_at(path)
    except _core.Error as error:
        if error.code != "missing_file":
            raise
        return [_core.missing_picture(path, str(error))]


def _named(name: str, content: Any) -> _core.Picture:
    if isinstance(content, (bytes, bytearray, memoryview)):
        return _core.picture_of_bytes(bytes(content), name)
    return _core.picture_of_pixels(_pixels(content), name)


def _on_white(image: Any) -> NDArray[np.uint8]:
    """What files look like as well: what is transparent shows white."""
    if image.mode not in ("LA", "PA", "RGBA") and "transparency" not in image.info:
        return np.asarray(image.convert("RGB"))
    rgba = np.asarray(image.convert("RGBA")).astype(np.uint16)
    alpha = rgba[:, :, 3:]
    return ((rgba[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def _pixels(given: Any) -> NDArray[np.uint8]:
    is_pillow_image = hasattr(given, "mode") and hasattr(given, "convert")
    # The array of a palette is of its indices, and that of black and white of bools.
    pixels = _on_white(given) if is_pillow_image else np.asarray(given)
    if pixels.dtype != np.uint8:
        raise ValueError(f"pixels must be uint8, from 0 to 255, not {pixels.dtype}")
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"pixels must be [height, width, 3] or [height, width], not {list(pixels.shape)}")
    return np.ascontiguousarray(pixels)


def _store(given: Any) -> Optional[FeatureStore]:
    if isinstance(given, FeatureStore):
        return given
    if isinstance(given, (str, os.PathLike)) and (Path(given) / "store.json").exists():
        return FeatureStore(os.fspath(given))
    return None


def _refuse_fast_decode(fast_decode: bool) -> None:
    if fast_decode:
        raise ValueError("fast_decode: a feature store already has features; leave it out")


def _usual_split(store: FeatureStore) -> str:
    return next(iter(store.splits)) if len(store.splits) == 1 else "novel"


def _looking(backbone: Optional[str], device: str, skip_bad: bool, fast_decode: bool, threads: Optional[int]) -> _core.Looking:
    return _core.Looking(os.fspath(backbone) if backbone else "", device, skip_bad, fast_decode, _threads(threads))


def _threads(threads: Optional[int]) -> int:
    return _core.available_threads() if threads is None else threads


def _warn(looking: _core.Looking) -> None:
    for note in looking.notes:
        warnings.warn(note, stacklevel=3)
    for skipped in looking.skipped:
        warnings.warn(f"skipped {skipped}", stacklevel=3)
    if looking.warning:
        warnings.warn(looking.warning, stacklevel=3)
