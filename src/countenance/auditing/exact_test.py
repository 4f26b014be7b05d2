"""Fisher's exact test for many tables at once."""

from __future__ import annotations

import math

import numpy as np

from countenance.auditing.codes import size_of
from countenance.auditing.table import Array

BLOCK = 2_000_000
"""How many terms are held at once."""


def fisher(right1: Array, wrong1: Array, right2: Array, wrong2: Array) -> Array:
    """Two-sided p of each 2 × 2 table of whole numbers, as `scipy.stats.fisher_exact` has it.

    >>> fisher(np.array([8.0]), np.array([2.0]), np.array([1.0]), np.array([5.0])).round(6)
    array([0.034965])
    """
    right1, wrong1, right2, wrong2 = (np.asarray(part, dtype=np.int64) for part in (right1, wrong1, right2, wrong2))
    small, large = right1 + wrong1, right2 + wrong2
    rights, wrongs = right1 + right2, wrong1 + wrong2
    rare, seen = np.minimum(rights, wrongs), np.where(rights <= wrongs, right1, wrong1)
    swapped = small > large
    small, large, seen = (
        np.where(swapped, large, small),
        np.where(swapped, small, large),
        np.where(swapped, rare - seen, seen),
    )
    tables, place = _distinct(small, large, rare, seen)
    p = np.ones(tables.shape[1])
    # The number of rare outcomes on the smaller side has a short support, far beyond which nothing adds to a p.
    small, large, rare, seen = tables
    low = np.maximum(0, rare - large)
    expected = rare * small / np.maximum(small + large, 1)
    far = np.maximum(seen, expected + 12 * np.sqrt(expected)) + 100
    width = (np.minimum(np.minimum(rare, small), far) - low + 1).astype(np.int64)
    level = np.frexp(width)[1]  # tables of similar width together: each is padded to the widest
    for width_level in np.unique(level):
        alike = np.flatnonzero(level == width_level)
        for here in np.array_split(alike, (len(alike) << int(width_level)) // BLOCK + 1):
            if len(here):  # a single table may be larger than a block
                p[here] = _block(tables[:, here], low[here], width[here])
    return p[place]


def _distinct(small: Array, large: Array, rare: Array, seen: Array) -> tuple[Array, Array]:
    """The distinct tables, and the index of each given table among them."""
    columns = (small, large, rare, seen)
    spans = [size_of(column) for column in columns]
    if math.prod(spans) >= 2**62:
        return np.array(columns), np.arange(len(small))
    key = np.zeros(len(small), dtype=np.int64)
    for column, span in zip(columns, spans, strict=True):
        key = key * span + column
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return np.array([column[first] for column in columns]), place


def _block(tables: Array, low: Array, width: Array) -> Array:
    small, large, rare, seen = tables
    steps = np.arange(int(width.max()))
    x = low[:, None] + steps
    with np.errstate(all="ignore"):
        # log p(x + 1) / p(x) of the hypergeometric distribution, added up from its lower end
        up = (small[:, None] - x) * (rare[:, None] - x)
        step = np.log(up / ((x + 1.0) * ((large - rare)[:, None] + x + 1.0)))
        height = np.zeros(x.shape)
        height[:, 1:] = np.cumsum(step[:, :-1], axis=1)
    height[steps >= width[:, None]] = -np.inf
    weight = np.exp(height - height.max(axis=1, keepdims=True))
    own = weight[np.arange(len(x)), seen - low]
    tail = np.where(weight <= own[:, None] * (1 + 1e-7), weight, 0.0).sum(axis=1)
    p: Array = np.minimum(1.0, tail / weight.sum(axis=1))
    return p
