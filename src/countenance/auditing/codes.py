"""Codes from 0 for rows: their number, the first row of each, and combinations of two columns."""

from __future__ import annotations

import math

import numpy as np

from countenance.auditing.table import Array

ROUNDING = 1e-9
"""Numbers that differ from a whole number by at most this are rounded to it."""


def size_of(codes: Array) -> int:
    """The largest code plus one: the number of codes, if every code occurs.

    >>> size_of(np.array([0, 2, 1])), size_of(np.array([-1])), size_of(np.array([], int))
    (3, 0, 0)
    """
    return int(codes.max()) + 1 if len(codes) else 0


def firsts_of(codes: Array) -> Array:
    """The place at which each code first occurs; every code from 0 to the largest must occur.

    >>> firsts_of(np.array([1, 0, 1, 2])).tolist(), firsts_of(np.array([], int)).tolist()
    ([1, 0, 3], [])
    """
    first = np.zeros(size_of(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several places the last one written stays
    return first


def combined(first: Array, second: Array) -> Array:
    """A code for each combination of two columns of codes, in their order; -1 is a code like others.

    >>> combined(np.array([0, 1, 0, -1]), np.array([-1, 0, -1, 5])).tolist()
    [1, 2, 1, 0]
    """
    low = int(second.min()) if len(second) else 0
    return np.unique(first.astype(np.int64) * (size_of(second) - low) + (second - low), return_inverse=True)[1]


def rounded_up(value: float) -> int:
    """The next whole number; an excess that is only rounding error is ignored.

    >>> rounded_up(2.0000000001), rounded_up(2.001), rounded_up(2.0)
    (2, 3, 2)
    """
    return math.ceil(value - ROUNDING)
