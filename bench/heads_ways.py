"""The fitted heads in NumPy and scikit-learn: an episode at a time, as published, and many episodes together.

Rows are float32 [samples, dim]; support rows are numbered in [episodes, ways, shots], queries in [episodes, ways * queries];
the ways return scores [episodes, ways * queries, ways]. A test holds their answers against a float64 reference.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy_ways import transform, unit
from sklearn.linear_model import LogisticRegression

RATE, FIRST, SECOND, EPSILON = np.float32(0.01), np.float32(0.9), np.float32(0.999), 1e-8
THREADS = 2
EPISODES_AT_ONCE = 32


def square_roots(features):
    return transform(unit(features), (0, 0, 0.5))


def one_hot(ways, shots):
    return np.repeat(np.eye(ways, dtype=np.float32), shots, axis=0)


def softmax_in_place(logits):
    logits -= logits.max(-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(-1, keepdims=True)
    return logits


def by_chunks(work, support, query):
    """work(support, query) on a few episodes at a time, so that their parameters stay in the cache, on both cores."""
    starts = range(0, len(support), EPISODES_AT_ONCE)
    chunks = [slice(start, start + EPISODES_AT_ONCE) for start in starts]
    with ThreadPoolExecutor(THREADS) as pool:
        return np.concatenate(list(pool.map(lambda chunk: work(support[chunk], query[chunk]), chunks)))


# --- Power-LR and Voronoi-LR --------------------------------------------------------------------------


class Adam:
    """In place, with both bias corrections in the rate."""

    def __init__(self, shape):
        self.mean, self.square, self.scratch = (np.zeros(shape, np.float32) for _ in range(3))
        self.step = 0

    def update(self, parameters, gradient):
        self.step += 1
        root = np.sqrt(1 - float(SECOND) ** self.step)
        scratch = self.scratch
        self.mean *= FIRST
        self.mean += np.multiply(gradient, 1 - FIRST, out=scratch)
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - SECOND
        self.square *= SECOND
        self.square += scratch
        np.sqrt(self.square, out=scratch)
        scratch += np.float32(EPSILON * root)
        np.divide(self.mean, scratch, out=scratch)
        scratch *= np.float32(RATE * root / (1 - float(FIRST) ** self.step))
        parameters -= scratch


def tied_bias(weights):
    return np.einsum("...kd,...kd->...k", weights, weights) * np.float32(-0.25)


def fit_lr(rows, wanted, epochs, tied):
    """rows [..., ways * shots, dim]: one episode or several, from the diagram of the prototypes on, all rows in a batch."""
    ways, dim = wanted.shape[-1], rows.shape[-1]
    weights = 2 * rows.reshape(*rows.shape[:-2], ways, -1, dim).mean(-2)
    bias = tied_bias(weights)
    of_weights, of_bias = Adam(weights.shape), Adam(bias.shape)
    share = np.float32(1 / len(wanted))
    gradient = np.empty_like(weights)
    for _ in range(epochs):
        if tied:
            bias = tied_bias(weights)
        error = rows @ weights.swapaxes(-1, -2)
        error += bias[..., None, :]
        softmax_in_place(error)
        error -= wanted
        error *= share
        np.matmul(error.swapaxes(-1, -2), rows, out=gradient)
        by_bias = error.sum(-2)
        if tied:
            gradient -= np.multiply(weights, (by_bias / 2)[..., None], out=of_weights.scratch)
        else:
            of_bias.update(bias, by_bias)
        of_weights.update(weights, gradient)
    return weights, tied_bias(weights) if tied else bias


def lr_of_rows(rows, support, query, epochs, tied):
    ways, shots = support.shape[-2:]
    flat = support.reshape(*support.shape[:-2], ways * shots)
    weights, bias = fit_lr(rows[flat], one_hot(ways, shots), epochs, tied)
    return rows[query] @ weights.swapaxes(-1, -2) + bias[..., None, :]


def lr_by_episode(rows, support, query, epochs, tied):
    return np.stack([lr_of_rows(rows, s, q, epochs, tied) for s, q in zip(support, query)])


def lr_batched(rows, support, query, epochs, tied):
    return by_chunks(partial(lr_of_rows, rows, epochs=epochs, tied=tied), support, query)


# --- S2M2_R: cosine classifier -------------------------------------------------------------------------


class Momentum:
    """PyTorch's SGD with decay and dampening; the first gradient is not damped."""

    RATE, MOMENTUM, DAMPENING, DECAY = (np.float32(value) for value in (0.01, 0.9, 0.9, 0.001))

    def __init__(self):
        self.buffer = None

    def update(self, parameters, gradient):
        """Uses the gradient up."""
        gradient += self.DECAY * parameters
        if self.buffer is None:
            self.buffer = gradient.copy()
        else:
            self.buffer *= self.MOMENTUM
            gradient *= 1 - self.DAMPENING
            self.buffer += gradient
        parameters -= np.multiply(self.buffer, self.RATE, out=gradient)


def cosine_step(rows, wanted, direction, length, of_direction, of_length):
    scale = np.float32(2 if direction.shape[-2] <= 200 else 10)
    norms = np.sqrt(np.einsum("...kd,...kd->...k", direction, direction))
    cosines = rows @ direction.swapaxes(-1, -2)
    cosines /= norms[..., None, :]
    error = softmax_in_place(cosines * (scale * length)[..., None, :])
    error -= wanted
    error *= scale / np.float32(rows.shape[-2])
    by_length = np.einsum("...nk,...nk->...k", error, cosines)
    gradient = error.swapaxes(-1, -2) @ rows
    gradient -= (by_length / norms)[..., None] * direction
    gradient *= (length / norms)[..., None]
    of_direction.update(direction, gradient)
    of_length.update(length, by_length)


def fit_cosine(rows, wanted, random, epochs=300, batch=4):
    """rows [..., ways * shots, dim]: one episode or several."""
    *outer, count, dim = rows.shape
    bound = 1 / np.sqrt(dim)
    direction = random.uniform(-bound, bound, (*outer, wanted.shape[1], dim)).astype(np.float32)
    length = np.linalg.norm(direction, axis=-1)
    of_direction, of_length = Momentum(), Momentum()
    episode = np.arange(len(rows))[:, None] if outer else None
    rank = np.tile(np.arange(count), (*outer, 1)) if outer else np.arange(count)
    for _ in range(epochs):
        order = random.permuted(rank, axis=-1)
        for start in range(0, count, batch):
            chosen = order[..., start : start + batch]
            batch_rows = rows[episode, chosen] if outer else rows[chosen]
            cosine_step(batch_rows, wanted[chosen], direction, length, of_direction, of_length)
    return direction * (length / np.linalg.norm(direction, axis=-1))[..., None]


def cosine_of_rows(units, support, query, seed=0):
    ways, shots = support.shape[-2:]
    flat = support.reshape(*support.shape[:-2], ways * shots)
    weights = fit_cosine(units[flat], one_hot(ways, shots), np.random.default_rng((seed, *flat.ravel()[:5])))
    return np.float32(2 if ways <= 200 else 10) * (units[query] @ weights.swapaxes(-1, -2))


def s2m2_by_episode(features, support, query, seed=0):
    units = unit(features)
    return np.stack([cosine_of_rows(units, s, q, seed) for s, q in zip(support, query)])


def s2m2_batched(features, support, query, seed=0):
    return by_chunks(partial(cosine_of_rows, unit(features), seed=seed), support, query)


# --- DC: distribution calibration ------------------------------------------------------------------------


def base_statistics(features, labels):
    """Means and covariances of the raw base features, in float64 as published."""
    classes = [features[labels == label].astype(np.float64) for label in np.unique(labels)]
    return np.stack([c.mean(0) for c in classes]), np.stack([np.cov(c.T) for c in classes])


def calibrate(row, means, covariances, neighbours=2, spread=0.21):
    nearest = np.argpartition(np.linalg.norm(means - row, axis=1), neighbours)[:neighbours]
    mean = np.concatenate([means[nearest], row[None]]).mean(0)
    return mean, covariances[nearest].mean(0) + spread


def dc_of_episode(roots, support, query, base, random):
    ways, shots = support.shape
    rows, labels = roots[support.ravel()], np.repeat(np.arange(ways), shots)
    count = int(750 / shots)
    sampled = [random.multivariate_normal(*calibrate(row, *base), size=count) for row in rows]
    data = np.concatenate([rows, *sampled])
    model = LogisticRegression(max_iter=1000).fit(data, np.concatenate([labels, np.repeat(labels, count)]))
    return model.decision_function(roots[query])


def dc_by_episode(features, base, support, query, seed=0):
    """base: what base_statistics gives."""
    roots = np.sqrt(features.astype(np.float64))
    random = np.random.RandomState(seed)
    return np.stack([dc_of_episode(roots, s, q, base, random) for s, q in zip(support, query)])
