"""The default rule of a classifier without base classes, in plain NumPy and double precision, straight from its definition.

Written apart from the library, to compare it with. Rows of a view are [samples, features]; classes are numbered from 0,
and the pictures of a class are in the order of their rows.
"""

import math

import heads_reference
import numpy as np

EXPONENTS = (0.75, 0.5)
STRENGTHS = (1.0, 0.1)
PLAIN_SPREAD = 0.42
COOLEST, HOTTEST = 0.02, 0.6


def unit(x):
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.divide(x, length, out=np.zeros_like(x), where=length > 0)


def represent(views, exponent):
    """Step 1: the sum of the views' powers, of unit length."""
    total = 0.0
    for view in views:
        a = unit(np.asarray(view, dtype=np.float64))
        total = total + np.sign(a) * np.abs(a) ** exponent
    return unit(total)


def shrunk(z, statistics, with_mean=True):
    """Step 2. `statistics` has mean [D], directions [D, r] and shrinkage [r]; None: as it is."""
    if statistics is None:
        return z
    mean, directions, shrinkage = (np.asarray(part, dtype=np.float64) for part in statistics)
    if with_mean:
        z = z - mean
    return z - (z @ directions * shrinkage) @ directions.T


def class_means(z, labels, classes):
    return np.stack([z[labels == k].mean(axis=0) for k in range(classes)])


def likeness(z, labels, classes, before=None):
    """The mean and the deviation of products of two points of different classes, every class with the same weight.

    `before`: the deviation that was measured on other classes of the network.
    """
    if classes == 1:
        return 0.0, 0.075
    values, weights = [], []
    counts = np.bincount(labels)
    for k in range(classes):
        for other in range(k):
            products = z[labels == k] @ z[labels == other].T
            values.append(products.ravel())
            weights.append(np.full(products.size, 1.0 / (counts[k] * counts[other])))
    pairs = len(values)
    values, weights = np.concatenate(values), np.concatenate(weights)
    mean = np.average(values, weights=weights)
    variance = np.average((values - mean) ** 2, weights=weights)
    guess, weight = (0.11, 2) if before is None else (before, 10)
    return mean, math.sqrt((weight * guess**2 + pairs * variance) / (weight + pairs))


def usual_spread(mean, tau):
    return max(0.1, 0.83 * (1 - mean) - 1.22 * tau)


def usual_temperature(tau, shots, classes):
    return tau * (0.58 + 0.39 / shots + 1.1 / classes)


class TwoDiagrams:
    """Steps 4 to 6: the nearest mean and a class-balanced ridge classifier on points."""

    def __init__(self, z, labels, classes, spread, strength=1.0):
        n = len(z)
        self.counts = np.bincount(labels, minlength=classes)
        self.means = class_means(z, labels, classes)
        squares = ((z - self.means[labels]) ** 2).sum(axis=1)
        self.within = np.bincount(labels, squares, minlength=classes)
        self.variance = (4 * spread + squares.sum()) / (4 + n - classes)
        self.z, self.classes = z, classes
        if classes == 1:
            return
        w = 1.0 / self.counts[labels]
        w = w / w.mean()
        self.pi = w / n
        B = z @ z.T
        self.mb = B @ self.pi
        self.pbp = self.pi @ B @ self.pi
        Kc = B - self.mb[:, None] - self.mb[None, :] + self.pbp
        t = (self.pi * np.diag(Kc)).sum()
        Y = np.eye(classes)[labels]
        self.yb = self.pi @ Y
        self.A = np.linalg.solve(Kc + strength * t * np.diag(1 / w), Y - self.yb)

    def squared_distances(self, q):
        return ((q[:, None, :] - self.means[None]) ** 2).sum(axis=2)

    def near(self, q):
        return -0.5 * (self.squared_distances(q) - 1.5 * self.variance / self.counts)

    def ridge(self, q):
        b = q @ self.z.T
        kc = b - self.mb - (b @ self.pi)[:, None] + self.pbp
        return kc @ self.A + self.yb

    def scores(self, q):
        return self.near(q) if self.classes == 1 else self.near(q) + self.ridge(q)

    def temperature_factor(self, q):
        """Below 1 for pictures that are less than half as far from a class as is usual."""
        u = (self.squared_distances(q) / (self.variance * (1 + 1 / self.counts))).min(axis=1)
        return np.minimum(1, np.maximum(u, 0.02) / 0.5) ** 0.75

    def class_variances(self):
        return (10 * self.variance + self.within) / (10 + self.counts - 1)


class Logistic:
    """Step 11: logistic regression on points three times as long, by Adam from the class means, 20 epochs in batches of 64 rows."""

    def __init__(self, z, labels, classes):
        z = 3 * z
        number = np.array([(labels[:i] == labels[i]).sum() for i in range(len(labels))])
        order = np.lexsort((labels, number))
        means = class_means(z, labels, classes)
        W, b = 2 * means[None], -((means**2).sum(axis=1))[None]
        steps = heads_reference.Adam(W), heads_reference.Adam(b)
        for _ in range(20):
            for start in range(0, len(order), 64):
                batch = order[start:start + 64]
                gradients = heads_reference.power_gradient(z[batch][None], np.eye(classes)[labels[batch]], W, b)
                W, b = (adam.update(values, by) for adam, values, by in zip(steps, (W, b), gradients))
        self.W, self.b = 3 * W[0], b[0]

    def scores(self, q):
        return q @ self.W.T + self.b

    def temperature_factor(self, q):
        return np.ones(len(q))


def softmax(scores, temperatures):
    x = scores / temperatures[:, None]
    x = np.exp(x - x.max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


def likelihood_cost(scores, labels, temperature):
    x = scores / temperature
    top = x.max(axis=1)
    return float((np.log(np.exp(x - top[:, None]).sum(axis=1)) + top - x[np.arange(len(x)), labels]).sum())


def smallest(cost, low=COOLEST, high=HOTTEST):
    """The temperature of the smallest cost: a fine grid, refined by a finer one around its best again and again."""
    grid = np.geomspace(low, high, 200)
    for _ in range(6):
        costs = [cost(t) for t in grid]
        at = int(np.argmin(costs))
        grid = np.geomspace(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], 41)
    return grid[int(np.argmin([cost(t) for t in grid]))]


def cross_validated(z, labels, classes, fit):
    """Scores over the temperature's factor of every picture that is not alone in its class, by diagrams without its fold; and
    which these are."""
    number = np.zeros(len(labels), dtype=int)
    for k in range(classes):
        number[labels == k] = np.arange((labels == k).sum())
    alone = np.bincount(labels, minlength=classes)[labels] == 1
    scores = np.full((len(z), classes), np.nan)
    for fold in range(5):
        out = (number % 5 == fold) & ~alone
        if out.any():
            fitted = fit(z[~out], labels[~out], classes)
            scores[out] = fitted.scores(z[out]) / fitted.temperature_factor(z[out])[:, None]
    return scores[~alone], np.flatnonzero(~alone)


class Rule:
    """Fitted on views (a list of [samples, features]) with labels.

    `statistics`: {exponent: (mean, directions, shrinkage)} or None; `deviations`: {exponent: deviation} of the network, or
    None. Afterwards: exponent, strength (None: logistic regression decides), temperature, kappa,
    left_out (the pictures that could be left out), left_out_scores; threshold() for each strictness.
    """

    LOSSES = {"low": (0.01, 0.02), "normal": (0.04, 0.07), "high": (0.12, 0.2)}

    def __init__(self, views, labels, statistics=None, deviations=None):
        self.statistics, self.deviations = statistics, deviations
        labels = np.asarray(labels)
        self.labels, self.classes = labels, int(labels.max()) + 1
        self.counts = np.bincount(labels, minlength=self.classes)
        best = None
        for exponent in EXPONENTS:
            for strength in self._strengths():
                one = self._candidate(views, exponent, strength)
                if best is None or best["cost"] - one["cost"] > 1.5:
                    best = one
        self.exponent, self.strength, self.temperature = best["exponent"], best["strength"], best["temperature"]
        self.m, self.z, self.tau, self.spread = best["m"], best["z"], best["tau"], best["spread"]
        self.left_out, self.left_out_scores = best["left_out"], best["scores"]
        self.is_logistic = self.strength is None
        self.diagrams = TwoDiagrams(self.z, labels, self.classes, self.spread, self.strength or 1.0)
        self.decides = Logistic(self.z, labels, self.classes) if self.is_logistic else self.diagrams
        self._fit_unknown(views)

    def _of(self, exponent):
        return None if self.statistics is None else self.statistics[exponent]

    def _centred(self, z, m):
        return unit(z - self.classes / (self.classes + 5.0) * m)

    def _strengths(self):
        """None: logistic regression instead of both diagrams."""
        fewest = self.counts.min()
        return STRENGTHS[:1] if fewest < 5 else STRENGTHS if fewest < 20 or self.classes == 1 else (*STRENGTHS, None)

    def _candidate(self, views, exponent, strength):
        K, N = self.classes, self.counts
        z = shrunk(represent(views, exponent), self._of(exponent))
        m = class_means(z, self.labels, K).mean(axis=0)
        z = self._centred(z, m)
        mean, tau = likeness(z, self.labels, K, self.deviations and self.deviations[exponent])
        spread = usual_spread(mean, tau)
        usual = usual_temperature(tau, K / (1.0 / N).sum(), K)
        found = {"exponent": exponent, "strength": strength, "z": z, "m": m, "tau": tau, "spread": spread, "cost": 0.0,
                 "temperature": usual, "left_out": np.zeros(0, dtype=int), "scores": np.zeros((0, K))}
        if N.max() == 1 or K == 1:
            return found
        def fit(some, labels, classes):
            return Logistic(some, labels, classes) if strength is None else TwoDiagrams(some, labels, classes, spread, strength)

        scores, which = cross_validated(z, self.labels, K, fit)
        truth = self.labels[which]
        several = N[N > 1]
        fewer = max(1.0, len(several) / (1.0 / several).sum() * (1 - 1 / min(5, N.max())))
        in_folds = usual_temperature(tau, fewer, K)

        def cost(t):
            return likelihood_cost(scores, truth, t)

        found.update(left_out=which, scores=scores)
        if strength is None:
            best = smallest(lambda t: cost(t) + 4 * math.log(t) ** 2, 0.01, 100)
            found.update(temperature=best, cost=cost(smallest(cost, 0.01, 100)))
        else:
            best = smallest(lambda t: cost(t) + 4 * math.log(t / in_folds) ** 2)
            found.update(temperature=best * usual / in_folds, cost=cost(smallest(cost)))
        return found

    def _plain(self, views):
        return unit(shrunk(represent(views, 0.75), self._of(0.75), with_mean=False))

    def _fit_unknown(self, views):
        n, K = len(self.labels), self.classes
        self.plain = TwoDiagrams(self._plain(views), self.labels, K, PLAIN_SPREAD)
        self.weight_of_plain = 0.5 * (n - K) / (n - K + 4)
        rows = np.arange(n)
        full = self._combined(self.z, self.plain.z)
        own = self._mixed(self._left_out_term(self.diagrams), self._left_out_term(self.plain))
        # A picture of the support is in the mean that is taken off, one of another class is not.
        others = full - 2 / (K + 5) / (self.diagrams.class_variances() * (1 + 1 / self.counts)) / (1 + self.weight_of_plain)
        others[rows, self.labels] = np.inf
        left = full.copy()
        left[rows, self.labels] = own
        could = np.bincount(self.labels, minlength=K)[self.labels] > 1
        nearest = left[could].min(axis=1)
        strangers = None if K == 1 else others.min(axis=1)
        deviation = math.sqrt((2 * self.tau) ** 2 + 0.08**2 * 4 / (4 + n - K))

        def given_up(kappa):
            share = 1.0 if strangers is None else (strangers > kappa).mean()
            return (1 - 0.5 * (1 + math.erf((kappa - 1) / deviation / math.sqrt(2)))) * share

        def threshold(strictness):
            loss, of_left_out = self.LOSSES[strictness]
            low, high = 0.6, 2.0
            if given_up(low) <= loss:
                high = low
            while high - low > 1e-12:
                middle = (low + high) / 2
                low, high = (low, middle) if given_up(middle) <= loss else (middle, high)
            if not could.any():
                return high
            return (20 * high + could.sum() * np.quantile(nearest, 1 - of_left_out)) / (20 + could.sum())

        self.threshold = threshold
        self.kappa = threshold("normal")

    def _mixed(self, first, second):
        return (first + self.weight_of_plain * second) / (1 + self.weight_of_plain)

    def _combined(self, z, plain):
        return self._mixed(
            self.diagrams.squared_distances(z) / (self.diagrams.class_variances() * (1 + 1 / self.counts)),
            self.plain.squared_distances(plain) / (self.plain.class_variances() * (1 + 1 / self.counts)))

    def _left_out_term(self, diagrams):
        """Of each picture, its distance from the others of its class; of one that is alone, nothing of use."""
        N = np.maximum(self.counts, 2)[self.labels].astype(float)
        squares = ((diagrams.z - diagrams.means[self.labels]) ** 2).sum(axis=1)
        return squares * (N / (N - 1)) ** 2 / (diagrams.class_variances()[self.labels] * (1 + 1 / (N - 1)))

    def points(self, views):
        return self._centred(shrunk(represent(views, self.exponent), self._of(self.exponent)), self.m)

    def scores(self, views):
        return self.decides.scores(self.points(views))

    def probabilities(self, views):
        points = self.points(views)
        return softmax(self.decides.scores(points), self.temperature * self.decides.temperature_factor(points))

    def distances(self, views):
        """u of every class; a picture is unknown where the smallest is above kappa."""
        return self._combined(self.points(views), self._plain(views))

    def predict(self, views):
        return self.scores(views).argmax(axis=1)

    def unknown(self, views):
        return self.distances(views).min(axis=1) > self.kappa


def measured_deviation(views, labels, statistics, exponent):
    """Of the first picture of each class of a network."""
    first = [np.flatnonzero(labels == k)[0] for k in range(labels.max() + 1)]
    z = shrunk(represent([view[first] for view in views], exponent), statistics[exponent])
    classes = len(first)
    z = unit(z - classes / (classes + 5.0) * z.mean(axis=0))
    return likeness(z, np.arange(classes), classes)[1]


def statistics_of(file):
    """What a .npz with mu_0.75, U_0.75, g_0.75 and the same of 0.5 holds, for Rule."""
    with np.load(file, allow_pickle=False) as arrays:
        return {e: (arrays[f"mu_{e}"], arrays[f"U_{e}"], arrays[f"g_{e}"]) for e in EXPONENTS}
