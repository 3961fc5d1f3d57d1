"""Few-shot episodes as row numbers, for this and other libraries."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core


class Episodes(NamedTuple):
    """Row numbers of episodes, as :func:`episodes` draws them."""

    support: NDArray[np.int64]
    """[episodes, ways, shots]"""
    query: NDArray[np.int64]
    """[episodes, ways, queries]"""


def episodes(
    labels: ArrayLike,
    *,
    ways: int = 5,
    shots: int = 1,
    queries: int = 15,
    episodes: int = 2000,
    seed: int = 0,
    protocol: str = "deepvoro",
) -> Episodes:
    """Draws the episodes that :func:`evaluate` draws from samples with these labels.

    Labels may be of any type. The way of a row in an episode is its place in the second dimension.

    >>> labels = np.repeat(["ant", "bee", "cat"], 4)
    >>> support, query = deepvoro.episodes(labels, ways=2, shots=1, queries=2, episodes=3)
    >>> support.shape, query.shape
    ((3, 2, 1), (3, 2, 2))
    >>> labels[query[0]]
    array([['cat', 'cat'],
           ['bee', 'bee']], dtype='<U3')
    """
    given = np.asarray(labels)
    if given.ndim != 1:
        raise ValueError(f"labels must have one dimension, not {given.ndim}")
    names, codes = np.unique(given, return_inverse=True)
    support, query = _core.draw_episodes(
        codes.astype(np.uintp), [str(name) for name in names], ways, shots, queries, episodes, seed, protocol
    )
    return Episodes(support, query)
