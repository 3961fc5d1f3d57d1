"""Few-shot evaluation with Voronoi diagrams in plain float64 NumPy: the yardstick of the tests.

A member is a dict as in a pool file. Arrays of distances and scores are [episodes, ways * queries, ways].
"""
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.linalg

DEEPVORO_TRANSFORMATIONS = [{"b": 0.0, "lambda": power} for power in (0.5, 0.75, 1.0)] + [
    {"b": 0.02 * step, "lambda": 0.0} for step in range(1, 6)
]
SURROGATE_TRANSFORMATIONS = [{"b": 0.0, "lambda": 0.75}, {"b": 0.08, "lambda": 0.0}]
MINI_IMAGENET_BETA = [7, 5.5, 4.5, 4, 4, 3.5, 3.5, 3, 3, 3]


@dataclass(frozen=True)
class Task:
    split: str = "novel"
    ways: int = 5
    shots: int = 1
    queries: int = 15
    episodes: int = 2000
    seed: int = 0
    protocol: str = "deepvoro"


@dataclass(frozen=True)
class Episode:
    """Row numbers: support [ways, shots], query [ways, queries]."""

    support: np.ndarray
    query: np.ndarray


class Store:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.views = json.loads((self.folder / "store.json").read_text())["views"]
        self._transformed = lru_cache(maxsize=4)(self._transform_split)

    def labels(self, split):
        return np.load(self.folder / split / "labels.npy")

    def features(self, split, view):
        network, slash, name = view.rpartition("/")
        if name == "mean":
            of_network = [other for other in self.views if other.rpartition("/")[:2] == (network, slash)]
            return sum(transform(self.features(split, other), 1, 0, 1) for other in of_network)
        return np.load(self.folder / split / f"{view}.npy").astype(np.float64)

    def transformed(self, split, member):
        return self._transformed(
            split, member["view"], member["w"], member["b"], member["lambda"], member.get("signed", False)
        )

    def base_prototypes(self, member):
        rows, labels = self.transformed("base", member), self.labels("base")
        return np.stack([rows[labels == label].mean(axis=0) for label in np.unique(labels)])

    def base_covariances(self, member):
        return BaseCovariances(
            self.transformed("base", member), self.labels("base"), member["shrink_within"], member["shrink_between"]
        )

    def _transform_split(self, split, view, w, b, power, signed):
        return transform(self.features(split, view), w, b, power, signed)


def transform(rows, w, b, power, signed=False):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return tukey(w * unit + b, power, signed)


def tukey(z, power, signed):
    if power == 1:
        return z
    if signed:
        magnitude = np.abs(z)
        return np.sign(z) * (np.log1p(magnitude) if power == 0 else magnitude**power)
    with np.errstate(invalid="raise", divide="raise"):
        return np.log(z) if power == 0 else z**power


def rows_by_class(labels):
    """Classes are numbered in order of first appearance."""
    _, first_rows = np.unique(labels, return_index=True)
    return [np.flatnonzero(labels == labels[row]) for row in np.sort(first_rows)]


def draw_episodes(class_rows, task):
    random = np.random.RandomState(task.seed)
    draw = {"deepvoro": _draw_rows_per_class, "dc": _draw_rows_by_repeated_shuffle}[task.protocol]
    episodes = []
    for _ in range(task.episodes):
        classes = random.permutation(len(class_rows))[: task.ways]
        rows = np.stack([drawn[: task.shots + task.queries] for drawn in draw(random, class_rows, classes)])
        episodes.append(Episode(rows[:, : task.shots], rows[:, task.shots :]))
    return episodes


def _draw_rows_per_class(random, class_rows, classes):
    return [class_rows[c][random.permutation(len(class_rows[c]))] for c in classes]


def _draw_rows_by_repeated_shuffle(random, class_rows, classes):
    indices = np.arange(min(len(rows) for rows in class_rows))
    drawn = []
    for c in classes:
        indices = random.permutation(indices)
        drawn.append(class_rows[c][indices])
    return drawn


def distances(points, centers):
    """Differences first, so that coinciding points have distance exactly 0."""
    return np.stack([np.linalg.norm(points - center, axis=1) for center in centers], axis=1)


def unit_sum(values):
    sums = values.sum(axis=1, keepdims=True)
    return np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)


def surrogate_distances(queries, prototypes, base_prototypes, nearest, beta, gamma):
    to_base = distances(prototypes, base_prototypes)
    surrogates = base_prototypes[np.unique(np.argsort(to_base, axis=1, kind="stable")[:, :nearest])]
    direct = distances(queries, prototypes)
    indirect = distances(distances(queries, surrogates), distances(prototypes, surrogates))
    return beta * unit_sum(direct) + gamma * unit_sum(indirect)


class BaseCovariances:
    """What plda learns from base rows, as dense matrices."""

    LEAST_PSI = 1e-6

    def __init__(self, rows, labels, shrink_within, shrink_between):
        names = np.unique(labels)
        means = np.stack([rows[labels == name].mean(axis=0) for name in names])
        samples, classes = len(rows), len(names)
        centered = rows - means[np.searchsorted(names, labels)]
        self.mean = means.mean(axis=0)
        within = centered.T @ centered / (samples - classes)
        deviations = means - self.mean
        between = deviations.T @ deviations / (classes - 1) - within * classes / samples
        self.within = self._shrunk(within, shrink_within)
        self.between = self._shrunk(between, shrink_between)
        self.psi, axes = scipy.linalg.eigh(self.between, self.within)
        if self.is_clamped:
            clamped = np.maximum(self.psi, self.LEAST_PSI)
            self.between = self.within @ (axes * clamped) @ axes.T @ self.within
        self.length = np.sqrt(len(self.psi) + np.trace(np.linalg.solve(self.within, self.between)))

    @property
    def is_clamped(self):
        return self.psi.min() < self.LEAST_PSI

    @staticmethod
    def _shrunk(covariance, share):
        dim = len(covariance)
        return (1 - share) * covariance + share * np.trace(covariance) / dim * np.eye(dim)

    def points(self, rows):
        """Of one length, measured by the covariance within classes."""
        centered = rows - self.mean
        norms = np.sqrt((centered * np.linalg.solve(self.within, centered.T).T).sum(axis=1, keepdims=True))
        return np.divide(self.length * centered, norms, out=np.zeros_like(centered), where=norms > 0)

    def squared_distances(self, points, support, kappa):
        """Of points from the class of some support points, and log det of its covariance less that within."""
        gain, inverse, log_determinant = self._posterior(len(support), kappa)
        difference = points - gain @ support.mean(axis=0)
        return (difference @ inverse * difference).sum(axis=1), log_determinant

    @lru_cache(maxsize=4)
    def _posterior(self, shots, kappa):
        between = self.between / kappa
        gain = np.linalg.solve(between + self.within / shots, between).T
        covariance = self.within + between - gain @ between
        log_determinant = np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(self.within)[1]
        return gain, np.linalg.inv(covariance), log_determinant


def plda_distances(covariances, queries, supports, kappa):
    """queries: points [queries, dim]; supports: those of each class."""
    found = [covariances.squared_distances(queries, support, kappa) for support in supports]
    differ = len({len(support) for support in supports}) > 1
    return np.sqrt(np.stack([squared + (offset if differ else 0) for squared, offset in found], axis=1))


def member_distances(store, split, member, episodes):
    return member.get("weight", 1) * unweighted_distances(store, split, member, episodes)


def unweighted_distances(store, split, member, episodes):
    rows = store.transformed(split, member)
    if member["geometry"] == "plda":
        covariances = store.base_covariances(member)
        points = covariances.points(rows)
        return np.stack(
            [
                plda_distances(covariances, points[episode.query.ravel()], points[episode.support], member["kappa"])
                for episode in episodes
            ]
        )
    is_surrogate = member["geometry"] == "surrogate"
    base_prototypes = store.base_prototypes(member) if is_surrogate else None
    result = []
    for episode in episodes:
        prototypes = rows[episode.support].mean(axis=1)
        queries = rows[episode.query.ravel()]
        if is_surrogate:
            surrogate = member["R"], member["beta"], member["gamma"]
            result.append(surrogate_distances(queries, prototypes, base_prototypes, *surrogate))
        else:
            result.append(distances(queries, prototypes))
    return np.stack(result)


def influence(values, alpha):
    with np.errstate(divide="ignore"):
        return -np.sign(alpha) * values**alpha


def member_scores(store, task, members, alpha=1.0):
    """Yields the influence of one member after the other on the same episodes."""
    episodes = draw_episodes(rows_by_class(store.labels(task.split)), task)
    for member in members:
        yield influence(member_distances(store, task.split, member, episodes), alpha)


def ensemble_scores(store, task, members, alpha=1.0):
    return sum(member_scores(store, task, members, alpha))


def hits(scores):
    _, rows, ways = scores.shape
    return scores.argmax(axis=2) == np.repeat(np.arange(ways), rows // ways)


def episode_accuracy_percent(scores):
    return 100.0 * hits(scores).mean(axis=1)


def ci95(episode_accuracy):
    return 1.96 * np.std(episode_accuracy) / np.sqrt(len(episode_accuracy))


def default_pool(method, views):
    first = {"view": views[0], "w": 1.0, "b": 0.0, "lambda": 0.5, "geometry": "vd"}
    if method == "vd":
        return [first]
    if method == "deepvoro":
        return [{**first, "view": view, **t} for view in views for t in DEEPVORO_TRANSFORMATIONS]
    if method == "deepvoro++":
        return [
            {**first, "view": view, **t, "geometry": "surrogate", "R": nearest, "beta": beta, "gamma": 1.0}
            for view in views
            for t in SURROGATE_TRANSFORMATIONS
            for nearest, beta in enumerate(MINI_IMAGENET_BETA, start=1)
        ]
    raise ValueError(f"no default pool for {method}")


def random_members(pool, size, seed):
    return [pool[i] for i in np.random.RandomState(seed).permutation(len(pool))[:size]]


def guided_members(store, task, pool, alpha=1.0):
    """Ranks on the validation split and cuts the ranking where the ensemble is best there."""
    scores = list(member_scores(store, replace(task, split="val"), pool, alpha))
    ranking = sorted(range(len(pool)), key=lambda i: -hits(scores[i]).sum())
    ensemble_hits = []
    total = np.zeros_like(scores[0])
    for i in ranking:
        total += scores[i]
        ensemble_hits.append(hits(total).sum())
    return [pool[i] for i in ranking[: np.argmax(ensemble_hits) + 1]]


def greedy_members(store, task, pool, alpha=1.0, steps=30):
    """On the validation split, step by step the member that makes the ensemble best; the steps that were best."""
    distances = [-scores for scores in member_scores(store, replace(task, split="val"), pool)]
    means = [of_member.mean() for of_member in distances]
    scores = [influence(of_member / mean, alpha) for of_member, mean in zip(distances, means)]
    total, chosen, best = np.zeros_like(scores[0]), [], []
    for _ in range(steps):
        correct = [hits(total + one).sum() for one in scores]
        chosen.append(int(np.argmax(correct)))
        best.append(max(correct))
        total = total + scores[chosen[-1]]
    chosen = chosen[: int(np.argmax(best)) + 1]
    return [
        {**pool[i], "weight": pool[i].get("weight", 1) * chosen.count(i) ** (1 / alpha) / means[i]}
        for i in dict.fromkeys(chosen)
    ]
