"""The heads in NumPy (DC with scikit-learn): one episode at a time, and logistic regression for many episodes together."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

RATE, KEEP_MEAN, KEEP_SQUARE, EPSILON = 0.01, 0.9, 0.999, 1e-8


def unit(rows):
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def softmax(logits):
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def far(points, centers):
    return np.sqrt(((points[:, None] - centers[None]) ** 2).sum(-1))


def class_means(support, ways):
    return support.reshape(*support.shape[:-2], ways, -1, support.shape[-1]).mean(-2)


class Adam:
    def __init__(self):
        self.mean = self.square = self.steps = 0

    def step(self, values, gradient):
        self.steps += 1
        self.mean = KEEP_MEAN * self.mean + (1 - KEEP_MEAN) * gradient
        self.square = KEEP_SQUARE * self.square + (1 - KEEP_SQUARE) * gradient**2
        root = np.sqrt(self.square) / np.sqrt(1 - KEEP_SQUARE**self.steps)
        return values - RATE / (1 - KEEP_MEAN**self.steps) * self.mean / (root + EPSILON)


def logistic_regression(support, ways, kind, epochs):
    """W and b of one episode, or, with a leading axis, of many. All rows of an episode are one batch."""
    rows = support.shape[-2]
    truth = np.repeat(np.eye(ways, dtype=support.dtype), rows // ways, axis=0)
    weights = 2 * class_means(support, ways)
    bias = -(weights**2).sum(-1) / 4
    for_weights, for_bias = Adam(), Adam()
    for _ in range(epochs):
        residuals = (softmax(support @ np.swapaxes(weights, -1, -2) + bias[..., None, :]) - truth) / rows
        sums = residuals.sum(-2)
        gradient = np.swapaxes(residuals, -1, -2) @ support
        if kind == "voronoi":
            weights = for_weights.step(weights, gradient - sums[..., None] * weights / 2)
            bias = -(weights**2).sum(-1) / 4
        else:
            weights, bias = for_weights.step(weights, gradient), for_bias.step(bias, sums)
    return weights, bias


def logistic_scores(rows, support, query, kind, epochs):
    weights, bias = logistic_regression(rows[support.ravel()], len(support), kind, epochs)
    return rows[query] @ weights.T + bias


def logistic_scores_together(rows, support, query, kind, epochs, at_once=50):
    """All episodes, so many of them together that they stay in the cache, on two threads."""

    def batch(begin):
        chosen, asked = support[begin : begin + at_once], query[begin : begin + at_once]
        flat = rows[chosen.reshape(len(chosen), -1)]
        weights, bias = logistic_regression(flat, support.shape[1], kind, epochs)
        return rows[asked] @ weights.transpose(0, 2, 1) + bias[:, None]

    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(batch, range(0, len(support), at_once))))


def nearest_mean_scores(rows, support, query):
    return -far(rows[query], class_means(rows[support.ravel()], len(support)))


def cosine_scores(rows, support, query, episode, epochs=300, batch=4):
    """S2M2_R's head. PyTorch's rules for SGD: the first momentum is the gradient."""
    ways, shots = support.shape
    x, labels = rows[support.ravel()], np.repeat(np.arange(ways), shots)
    random = np.random.RandomState(episode)
    reach = 1 / np.sqrt(x.shape[1])
    v = random.uniform(-reach, reach, (ways, x.shape[1]))
    g = np.linalg.norm(v, axis=1)
    v_momentum = g_momentum = None
    for _ in range(epochs):
        order = random.permutation(len(x))
        for begin in range(0, len(x), batch):
            chosen = order[begin : begin + batch]
            norms = np.linalg.norm(v, axis=1)
            residuals = softmax(2 * x[chosen] @ ((g / norms)[:, None] * v).T)
            residuals[np.arange(len(chosen)), labels[chosen]] -= 1
            gradient = 2 / len(chosen) * residuals.T @ x[chosen]
            along = (gradient * v).sum(1)
            g_gradient = along / norms + 0.001 * g
            v_gradient = (g / norms)[:, None] * (gradient - (along / norms**2)[:, None] * v) + 0.001 * v
            v_momentum = v_gradient if v_momentum is None else 0.9 * v_momentum + 0.1 * v_gradient
            g_momentum = g_gradient if g_momentum is None else 0.9 * g_momentum + 0.1 * g_gradient
            v, g = v - 0.01 * v_momentum, g - 0.01 * g_momentum
    return 2 * rows[query] @ ((g / np.linalg.norm(v, axis=1))[:, None] * v).T


def calibrated_scores(rows, support, query, base_means, base_covariances, random):
    """Distribution Calibration as its authors' release does it."""
    from sklearn.linear_model import LogisticRegression

    ways, shots = support.shape
    x, labels = [rows[support.ravel()]], [np.repeat(np.arange(ways), shots)]
    for label, row in zip(labels[0], x[0]):
        near = np.argsort(np.linalg.norm(base_means - row, axis=1))[:2]
        mean = np.concatenate([base_means[near], row[None]]).mean(0)
        covariance = base_covariances[near].mean(0) + 0.21
        x.append(random.multivariate_normal(mean, covariance, 750 // shots))
        labels.append(np.full(750 // shots, label))
    classifier = LogisticRegression(max_iter=1000).fit(np.concatenate(x), np.concatenate(labels))
    return classifier.decision_function(rows[query])
