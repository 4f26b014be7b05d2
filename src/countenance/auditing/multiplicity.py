"""Many comparisons in one audit: families, and Holm's and Benjamini and Hochberg's adjustments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.auditing.table import Array
from countenance.errors import InputError

COLUMNS = ("metric", "attribute", "depth", "comparison")


def family_of(values: Mapping[str, Any], families: Any) -> str:
    """The family a comparison is in: all (None), by columns ('metric'), or as named in a mapping.

    A mapping gives each family's metrics or attributes: {"safety": ["recall"], "rest": ["iou"]}.

    >>> family_of({"metric": "recall", "attribute": "age"}, "metric")
    'recall'
    """
    if families is None:
        return "all"
    if isinstance(families, Mapping):
        for name, members in families.items():
            if values["metric"] in members or values["attribute"] in members:
                return str(name)
        return "all others"
    columns = [families] if isinstance(families, str) else list(families)
    if unknown := [c for c in columns if c not in COLUMNS]:
        raise InputError(
            f"families: {unknown[0]!r}, expected metric, attribute, depth, or a mapping of names to members"
        )
    return " · ".join(str(values[column]) for column in columns)


def holm(p: Array, attainable: Sequence[Array | None] = ()) -> Array:
    """Holm's adjusted p; NaN stays NaN and is outside the family.

    `attainable` has every p that an exact test can give, and None for other tests. A test then counts with the largest
    of its own that is not above p, so that a test that cannot reach so small a p does not count (Westfall and Wolfinger
    1997).

    >>> holm(np.array([0.01, np.nan, 0.04, 0.03]))
    array([0.03, nan, 0.06, 0.06])
    >>> holm(np.array([0.01, 0.5, 0.5]), [None, np.array([0.5, 1.0]), None])
    array([0.02, 1.  , 1.  ])
    """
    if not any(values is not None for values in attainable):
        return _adjust(p, lambda ordered, m: np.maximum.accumulate(ordered * (m - np.arange(m))))
    p = np.asarray(p, dtype=float)
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    levels = p[order]
    counted = np.zeros(len(order))
    for place, test in enumerate(order):  # each test counts for itself and for every smaller p
        own = attainable[test]
        counted[: place + 1] += levels[: place + 1] if own is None else _largest_up_to(own, levels[: place + 1])
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(counted))
    return adjusted


def _largest_up_to(values: Array, levels: Array) -> Array:
    """For each level, the largest of the rising values that is not above it up to rounding, or 0."""
    place = np.searchsorted(values, levels * (1 + 1e-9), side="right")
    return np.where(place > 0, values[place - 1], 0.0)


def benjamini_hochberg(p: Array) -> Array:
    """Benjamini and Hochberg's adjusted p (false discovery rate); NaN stays NaN.

    >>> benjamini_hochberg(np.array([0.01, np.nan, 0.04, 0.03]))
    array([0.03, nan, 0.04, 0.04])
    """
    return _adjust(p, lambda ordered, m: np.minimum.accumulate((ordered * m / np.arange(1, m + 1))[::-1])[::-1])


def _adjust(p: Array, rule: object) -> Array:
    p = np.asarray(p, dtype=float)
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    if len(order) and callable(rule):
        adjusted[order] = np.minimum(1.0, rule(p[order], len(order)))
    return adjusted
