"""The same ensembles in NumPy: the way the paper's release computes them, and the quickest way we know.

Run as a program it is one member computed the published way:
  numpy_ways.py STORE VIEW B LAMBDA WAYS SHOTS EPISODES [R BETA]
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

QUERIES = 15
EPISODES_AT_ONCE = 100


def draw_episodes(labels, ways, shots, queries, count, seed=0):
    """Support rows [count, ways, shots] and query rows [count, ways * queries]."""
    episodes = list(episode_stream(labels, ways, shots, queries, count, seed))
    support = np.array([support for support, _ in episodes])
    return support, np.array([query for _, query in episodes]).reshape(count, ways * queries)


def episode_stream(labels, ways, shots, queries, count, seed=0):
    random = np.random.RandomState(seed)
    rows_of = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(count):
        support, query = np.empty((ways, shots), np.int64), np.empty((ways, queries), np.int64)
        for way, label in enumerate(random.permutation(len(rows_of))[:ways]):
            drawn = rows_of[label][random.permutation(len(rows_of[label]))]
            support[way], query[way] = drawn[:shots], drawn[shots : shots + queries]
        yield support, query.ravel()


def transform(unit_rows, member):
    _, b, ladder = member
    if ladder == 0:
        return np.log(unit_rows + unit_rows.dtype.type(b))
    return unit_rows if ladder == 1 else unit_rows ** unit_rows.dtype.type(ladder)


def unit(rows, dtype=np.float32):
    rows = rows.astype(dtype)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def far(points, centers):
    return np.sqrt(((points[:, None] - centers[None]) ** 2).sum(-1))


# --- as published: a process for each member, one episode at a time ---------------------------------


def published_distances(rows, member, support, query):
    """Distances of one member in one episode, and its transformed queries and prototypes."""
    ways, shots = support.shape
    support_rows = transform(unit(rows[support.ravel()]), member)
    query_rows = transform(unit(rows[query]), member)
    prototypes = support_rows.reshape(ways, shots, -1).mean(1)
    return far(query_rows, prototypes), query_rows, prototypes


def published_surrogate(rows, member, support, query, base_prototypes, neighbours, beta):
    distances, query_rows, prototypes = published_distances(rows, member, support, query)
    to_base = far(prototypes, base_prototypes)
    chosen = np.unique(np.argsort(to_base, axis=1, kind="stable")[:, :neighbours])
    surrogate = far(far(query_rows, base_prototypes[chosen]), to_base[:, chosen])
    return (beta * distances / distances.sum(1, keepdims=True)
            + surrogate / surrogate.sum(1, keepdims=True))


def published_member(store, view, b, ladder, ways, shots, episodes, neighbours=None, beta=None):
    """Accuracy of one member over its episodes, in percent."""
    rows = np.load(store / "novel" / f"{view}.npy")
    labels = np.load(store / "novel/labels.npy")
    member = (0, b, ladder)
    if neighbours:
        base_rows = transform(unit(np.load(store / "base" / f"{view}.npy")), member)
        base_labels = np.load(store / "base/labels.npy")
        base_prototypes = np.stack([base_rows[base_labels == label].mean(0) for label in np.unique(base_labels)])
    right = []
    for support, query in episode_stream(labels, ways, shots, QUERIES, episodes):
        if neighbours:
            values = published_surrogate(rows, member, support, query, base_prototypes, neighbours, beta)
        else:
            values = published_distances(rows, member, support, query)[0]
        right.append((values.argmin(1) == np.repeat(np.arange(ways), QUERIES)).mean())
    return 100 * np.mean(right) if right else 0.0


# --- the quickest: a member at a time, all episodes together, both cores ----------------------------


def from_dots(dots, query_norms, center_norms):
    return np.sqrt(np.maximum(query_norms + center_norms - 2 * dots, 0))


def batches(count):
    return [slice(begin, min(begin + EPISODES_AT_ONCE, count)) for begin in range(0, count, EPISODES_AT_ONCE)]


def add_voronoi(rows, support, query, field):
    norms = np.einsum("ij,ij->i", rows, rows)
    for batch in batches(len(support)):
        prototypes = rows[support[batch]].mean(2)
        dots = rows[query[batch]] @ prototypes.transpose(0, 2, 1)
        prototype_norms = np.einsum("ekd,ekd->ek", prototypes, prototypes)[:, None]
        field[batch] += from_dots(dots, norms[query[batch]][..., None], prototype_norms)


def add_surrogates(rows, base_prototypes, support, query, betas, field):
    norms = np.einsum("ij,ij->i", rows, rows)
    base_norms = np.einsum("ij,ij->i", base_prototypes, base_prototypes)
    row_to_base = from_dots(rows @ base_prototypes.T, norms[:, None], base_norms)
    for batch in batches(len(support)):
        prototypes = rows[support[batch]].mean(2)
        dots = rows[query[batch]] @ prototypes.transpose(0, 2, 1)
        prototype_norms = np.einsum("ekd,ekd->ek", prototypes, prototypes)
        distances = from_dots(dots, norms[query[batch]][..., None], prototype_norms[:, None])
        features = distances / distances.sum(-1, keepdims=True)
        to_base = from_dots(prototypes @ base_prototypes.T, prototype_norms[..., None], base_norms)
        ranks = to_base.argsort(-1, kind="stable").argsort(-1).min(1)
        within = (ranks[:, :, None] < np.arange(1, len(betas) + 1)).astype(rows.dtype)
        squares = (row_to_base[query[batch]][:, :, None] - to_base[:, None]) ** 2
        episodes, queries, ways, bases = squares.shape
        sums = squares.reshape(episodes, queries * ways, bases) @ within
        surrogate = np.sqrt(sums).reshape(episodes, queries, ways, len(betas))
        surrogate /= surrogate.sum(2, keepdims=True)
        field[batch] += sum(betas) * features + surrogate.sum(-1)


def quickest(views, transforms, support, query, base_views=None, base_classes=0, betas=(), dtype=np.float32):
    """Sum over all views x transforms (x neighbours) of distances, [episodes, queries, ways]."""
    shape = (*query.shape, support.shape[1])

    def one_view(index):
        field = np.zeros(shape)
        rows = unit(views[index], dtype)
        base = unit(base_views[index], dtype) if base_views else None
        for member in transforms:
            transformed = transform(rows, (index, *member))
            if base is None:
                add_voronoi(transformed, support, query, field)
            else:
                base_rows = transform(base, (index, *member))
                prototypes = base_rows.reshape(base_classes, -1, base_rows.shape[1]).mean(1)
                add_surrogates(transformed, prototypes, support, query, betas, field)
        return field

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(one_view, range(len(views))))


if __name__ == "__main__":
    folder, view, *numbers = sys.argv[1:]
    b, ladder, ways, shots, episodes, *surrogate = map(float, numbers)
    neighbours, beta = (int(surrogate[0]), surrogate[1]) if surrogate else (None, None)
    print(published_member(Path(folder), view, b, ladder, int(ways), int(shots), int(episodes), neighbours, beta))
