"""What is fitted on a support set, in plain float64 NumPy and scikit-learn: the yardstick of test_heads.

Support rows are [episodes, ways, shots, dim], queries [episodes, ways * queries, dim], scores
[episodes, ways * queries, ways]. All methods see the first view only.
"""
import itertools

import numpy as np
import reference
from sklearn.linear_model import LogisticRegression

SQUARE_ROOT = {"w": 1.0, "b": 0.0, "lambda": 0.5}
BATCH = 64
EPISODES_AT_ONCE = 25


def draw_episodes(store, task):
    """Row numbers: support [episodes, ways, shots], query [episodes, ways * queries]."""
    episodes = reference.draw_episodes(reference.rows_by_class(store.labels(task.split)), task)
    return np.stack([e.support for e in episodes]), np.stack([e.query.ravel() for e in episodes])


def scores_of(head, rows, store, task):
    """Scores of head(support, query) on the episodes of a task, a few episodes at a time."""
    support, query = draw_episodes(store, task)
    starts = range(0, task.episodes, EPISODES_AT_ONCE)
    chunks = [slice(start, start + EPISODES_AT_ONCE) for start in starts]
    return np.concatenate([head(rows[support[chunk]], rows[query[chunk]]) for chunk in chunks])


def first_view(store, split):
    return store.features(split, store.views[0])


def square_roots(store, split):
    return store.transformed(split, {"view": store.views[0], **SQUARE_ROOT})


def unit(rows):
    return reference.transform(rows, 1.0, 0.0, 1.0)


# --- nearest class mean: SimpleShot, PT+NCM -----------------------------------------------------------


def distances(query, centers):
    return np.linalg.norm(query[:, :, None] - centers[:, None], axis=-1)


def nearest_mean_scores(support, query):
    return -distances(query, support.mean(axis=2))


def simpleshot_rows(store, split, normalisation):
    rows = first_view(store, split)
    if normalisation == "un":
        return rows
    if normalisation == "cl2n":
        rows = rows - first_view(store, "base").mean(axis=0)
    return unit(rows)


def power_transformed_rows(store, split):
    with np.errstate(invalid="raise"):
        return unit(np.sqrt(first_view(store, split) + 1e-6))


# --- logistic regression by Adam: Power-LR, Voronoi-LR, DeepVoro-- ------------------------------------
# In the precision of the support rows, so that float32 rows show what float32 arithmetic costs.


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def tied_bias(weights):
    return -(weights**2).sum(axis=-1) / 4


def labelled(support):
    """All first shots, then all second ones: rows [episodes, ways * shots, dim] and the wanted probabilities."""
    episodes, ways, shots, dim = support.shape
    return support.swapaxes(1, 2).reshape(episodes, ways * shots, dim), np.tile(np.eye(ways, dtype=support.dtype), (shots, 1))


def cross_entropy(rows, wanted, weights, bias, sigmoid=False):
    """Mean loss of each episode and its gradient by the logits, [episodes, ways * shots, ways]."""
    logits = rows @ weights.swapaxes(1, 2) + bias[:, None]
    slope = 1
    if sigmoid:
        logits = 1 / (1 + np.exp(-logits))
        slope = logits * (1 - logits)
    log_probabilities = log_softmax(logits)
    loss = -(wanted * log_probabilities).sum(axis=-1).mean(axis=-1)
    return loss, slope * (np.exp(log_probabilities) - wanted) / len(wanted)


def power_gradient(rows, wanted, weights, bias, sigmoid=False):
    _, by_logit = cross_entropy(rows, wanted, weights, bias, sigmoid)
    return by_logit.swapaxes(1, 2) @ rows, by_logit.sum(axis=1)


def voronoi_gradient(rows, wanted, weights, sigmoid=False):
    """The bias is a function of the weights: db_k/dW_k = -W_k/2."""
    by_weights, by_bias = power_gradient(rows, wanted, weights, tied_bias(weights), sigmoid)
    return by_weights - by_bias[..., None] * weights / 2


def in_batches(support, epochs):
    """Batches in a fixed order; the whole support set up to 64 rows."""
    rows, wanted = labelled(support)
    for _ in range(epochs):
        for start in range(0, len(wanted), BATCH):
            yield rows[:, start : start + BATCH], wanted[start : start + BATCH]


class Adam:
    RATE, FIRST, SECOND, EPSILON = 0.01, 0.9, 0.999, 1e-8

    def __init__(self, parameters):
        self.step, self.mean, self.square = 0, np.zeros_like(parameters), np.zeros_like(parameters)

    def update(self, parameters, gradient):
        self.step += 1
        self.mean = self.FIRST * self.mean + (1 - self.FIRST) * gradient
        self.square = self.SECOND * self.square + (1 - self.SECOND) * gradient**2
        mean = self.mean / (1 - self.FIRST**self.step)
        square = self.square / (1 - self.SECOND**self.step)
        return parameters - self.RATE * mean / (np.sqrt(square) + self.EPSILON)


def zeros(support):
    episodes, ways, _, dim = support.shape
    return np.zeros((episodes, ways, dim), support.dtype), np.zeros((episodes, ways), support.dtype)


def diagram_of_prototypes(support):
    """The linear classifier that decides as the nearest prototype does."""
    weights = 2 * support.mean(axis=2)
    return weights, tied_bias(weights)


class RandomStart:
    """Uniform as PyTorch's linear layer starts, by NumPy's stream of each episode; episodes come in order."""

    def __init__(self):
        self.episode = 0

    def __call__(self, support):
        episodes, ways, _, dim = support.shape
        reach = 1 / np.sqrt(dim)
        streams = [np.random.RandomState(self.episode + e) for e in range(episodes)]
        self.episode += episodes
        weights = np.stack([stream.uniform(-reach, reach, (ways, dim)) for stream in streams])
        bias = np.stack([stream.uniform(-reach, reach, ways) for stream in streams])
        return weights.astype(support.dtype), bias.astype(support.dtype)


def fit_power_lr(support, epochs, start=zeros, weight_decay=0.0, sigmoid=False):
    weights, bias = start(support)
    of_weights, of_bias = Adam(weights), Adam(bias)
    for rows, wanted in in_batches(support, epochs):
        by_weights, by_bias = power_gradient(rows, wanted, weights, bias, sigmoid)
        weights, bias = (
            of_weights.update(weights, by_weights + weight_decay * weights),
            of_bias.update(bias, by_bias + weight_decay * bias),
        )
    return weights, bias


def fit_voronoi_lr(support, epochs, start=zeros, weight_decay=0.0, sigmoid=False):
    weights, _ = start(support)
    adam = Adam(weights)
    for rows, wanted in in_batches(support, epochs):
        gradient = voronoi_gradient(rows, wanted, weights, sigmoid)
        weights = adam.update(weights, gradient + weight_decay * weights)
    return weights, tied_bias(weights)


FIT_LR = {"power": fit_power_lr, "voronoi": fit_voronoi_lr}


def lr_scores(support, query, kind, epochs, start=zeros, **options):
    weights, bias = FIT_LR[kind](support, epochs, start, **options)
    return query @ weights.swapaxes(1, 2) + bias[:, None]


def civd_scores(support, query, kind, epochs, alpha, start=zeros, **options):
    """DeepVoro--: the cluster of a class is its prototype and the center W/2 of its logistic regression."""
    weights, _ = FIT_LR[kind](support, epochs, start, **options)
    clusters = [support.mean(axis=2), weights / 2]
    return sum(reference.influence(distances(query, centers), alpha) for centers in clusters)


# --- S2M2_R: cosine classifier by stochastic gradient descent -------------------------------------------


def softmax(logits):
    return np.exp(log_softmax(logits))


class Momentum:
    """PyTorch's SGD: decay joins the gradient, and the first gradient fills the buffer undamped."""

    RATE, MOMENTUM, DAMPENING, DECAY = 0.01, 0.9, 0.9, 0.001

    def __init__(self):
        self.buffer = None

    def update(self, parameters, gradient):
        gradient = gradient + self.DECAY * parameters
        if self.buffer is None:
            self.buffer = gradient
        else:
            self.buffer = self.MOMENTUM * self.buffer + (1 - self.DAMPENING) * gradient
        return parameters - self.RATE * self.buffer


def cosine_scale(ways):
    return 2.0 if ways <= 200 else 10.0


def cosine_gradient(rows, wanted, direction, length):
    """Gradient of the mean cross-entropy of scale * length_k * direction_k / |direction_k| . row."""
    scale = cosine_scale(direction.shape[1])
    norms = np.linalg.norm(direction, axis=-1, keepdims=True)
    units = direction / norms
    cosines = rows @ units.swapaxes(1, 2)
    by_logit = scale * (softmax(scale * cosines * length[:, None]) - wanted) / rows.shape[1]
    by_length = (by_logit * cosines).sum(axis=1)
    by_weights = by_logit.swapaxes(1, 2) @ rows
    by_direction = length[..., None] / norms * (by_weights - by_length[..., None] * units)
    return by_direction, by_length


def fit_cosine(support, generators, epochs=300, batch=4):
    """generators: a RandomState for each episode, of which the start and then the order of each epoch are drawn."""
    episodes, ways, shots, dim = support.shape
    rows = unit(support.reshape(-1, dim)).reshape(episodes, ways * shots, dim)
    wanted = np.repeat(np.eye(ways), shots, axis=0)
    bound = 1 / np.sqrt(dim)
    direction = np.stack([random.uniform(-bound, bound, size=(ways, dim)) for random in generators])
    length = np.linalg.norm(direction, axis=-1)
    of_direction, of_length = Momentum(), Momentum()
    episode = np.arange(episodes)[:, None]
    for _ in range(epochs):
        order = np.stack([random.permutation(ways * shots) for random in generators])
        for start in range(0, ways * shots, batch):
            chosen = order[:, start : start + batch]
            gradients = cosine_gradient(rows[episode, chosen], wanted[chosen], direction, length)
            direction = of_direction.update(direction, gradients[0])
            length = of_length.update(length, gradients[1])
    return direction / np.linalg.norm(direction, axis=-1, keepdims=True) * length[..., None]


def cosine_scores(support, query, generators):
    weights = fit_cosine(support, generators)
    units = unit(query.reshape(-1, query.shape[-1])).reshape(query.shape)
    return cosine_scale(support.shape[1]) * units @ weights.swapaxes(1, 2)


def s2m2_scores(rows, store, task, generators):
    """rows: untransformed, of the task's split; generators: one for each episode."""
    remaining = iter(generators)

    def head(support, query):
        return cosine_scores(support, query, list(itertools.islice(remaining, len(support))))

    return scores_of(head, rows, store, task)


# --- DC: distribution calibration -----------------------------------------------------------------------


class BaseStatistics:
    """Means of the raw base features and factors F of their covariances, F'F = np.cov."""

    def __init__(self, store):
        rows, labels = first_view(store, "base"), store.labels("base")
        classes = [rows[labels == label] for label in np.unique(labels)]
        self.means = np.stack([c.mean(axis=0) for c in classes])
        self.factors = [(c - c.mean(axis=0)) / np.sqrt(len(c) - 1) for c in classes]


def calibrated(row, base, neighbours=2, spread=0.21):
    """Mean, and a factor F of the covariance: all elements of the mean covariance are raised by the spread."""
    to_base = np.linalg.norm(base.means - row, axis=1)
    nearest = np.argsort(to_base, kind="stable")[:neighbours]
    mean = np.concatenate([base.means[nearest], row[None]]).mean(axis=0)
    factors = [base.factors[i] / np.sqrt(neighbours) for i in nearest]
    return mean, np.concatenate([*factors, np.full((1, len(row)), np.sqrt(spread))])


def calibrated_samples(row, base, count, random):
    mean, factor = calibrated(row, base)
    return mean + random.standard_normal((count, len(factor))) @ factor


def calibrated_scores(support, query, base, random):
    """Of raw features; one episode."""
    ways, shots, dim = support.shape
    rows, queries = np.sqrt(support.reshape(-1, dim)), np.sqrt(query)
    labels = np.repeat(np.arange(ways), shots)
    count = int(750 / shots)
    sampled = np.concatenate([calibrated_samples(row, base, count, random) for row in rows])
    model = LogisticRegression(max_iter=1000)
    model.fit(np.concatenate([rows, sampled]), np.concatenate([labels, np.repeat(labels, count)]))
    return model.decision_function(queries)


def dc_scores(store, task, random):
    base, rows = BaseStatistics(store), first_view(store, task.split)
    support, query = draw_episodes(store, task)
    return np.stack([calibrated_scores(rows[s], rows[q], base, random) for s, q in zip(support, query)])
