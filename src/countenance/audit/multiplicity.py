"""Room: audit. Many comparisons in one audit: Holm by default, Benjamini-Hochberg on request."""

from __future__ import annotations

import numpy as np

from countenance.audit.table import Array


def holm(p: Array) -> Array:
    """Holm's adjusted p; NaN stays NaN and is outside the family.

    >>> holm(np.array([0.01, np.nan, 0.04, 0.03]))
    array([0.03, nan, 0.06, 0.06])
    """
    return _adjust(p, lambda ordered, m: np.maximum.accumulate(ordered * (m - np.arange(m))))


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
