"""Room: audit. `spread`: is the largest minus the smallest group estimate more than chance would make it?

Even a perfectly fair model shows a spread, so the spread minus its mean under the null is given as well.
"""

from __future__ import annotations

import math

import numpy as np

from countenance.audit.comparisons import Draft
from countenance.audit.effects import cohen_h
from countenance.audit.estimates import correlation, interval, resampled
from countenance.audit.groups import Grouping
from countenance.audit.power import rank_from_d
from countenance.audit.sides import Sides
from countenance.audit.table import Array
from countenance.audit.tests import effective


def permuted(labels: Array, n: Array, y: Array, groups: int, replicates: int, seed: int) -> Array:
    """Spreads after permuting the labels of whole blocks (rows of one cluster and group) `replicates` times.

    >>> labels, right = np.repeat(np.arange(10), 300), np.repeat([1.0, 0.0], [870, 2130])
    >>> fair = permuted(labels, np.ones(3000), right, 10, 500, 0)
    >>> round(float(fair.mean()), 2)
    0.08
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(labels, minlength=groups)
    if (n == 1).all() and ((y == 0) | (y == 1)).all():
        ones = rng.multivariate_hypergeometric(sizes, int(y.sum()), size=replicates, method="marginals")
        means = ones / sizes
        return np.asarray(means.max(axis=1) - means.min(axis=1))
    spreads = np.empty(replicates)
    same = bool((n == n[0]).all())
    for index in range(replicates):
        mixed = rng.permutation(labels)
        rows = sizes * n[0] if same else np.bincount(mixed, n, minlength=groups)
        means = np.bincount(mixed, y, minlength=groups) / rows
        spreads[index] = means.max() - means.min()
    return spreads


def spread(
    sides: Sides,
    grouping: Grouping,
    *,
    metric: str,
    alpha: float,
    delta: float,
    min_n: int,
    replicates: int,
    seed: int,
) -> tuple[Draft | None, list[tuple[str, int, int, str]]]:
    """One comparison of all groups that are large enough, and the groups left out with the reason."""
    cells = [sides.cell(g) for g in range(len(grouping.cells))]
    units = "clusters" if sides.clusters is not None else "rows"
    out = [
        (
            grouping.cells[g],
            c.n,
            c.clusters,
            "no units" if not c.n else f"{c.clusters} {units}, fewer than {min_n}",
        )
        for g, c in enumerate(cells)
        if c.clusters < max(min_n, 1)
    ]
    chosen = [g for g, c in enumerate(cells) if c.clusters >= max(min_n, 1)]
    if len(chosen) < 2:
        return None, out
    means = np.array([cells[g].mean for g in chosen])
    top, bottom = chosen[int(means.argmax())], chosen[int(means.argmin())]
    one, two = cells[top], cells[bottom]
    icc = correlation([cells[g] for g in chosen])
    low, high, deff = interval(one, sides.kind, alpha, icc)
    low2, high2, deff2 = interval(two, sides.kind, alpha, icc)
    draft = Draft(
        {
            "metric": metric,
            "attribute": grouping.name,
            "group": grouping.cells[top],
            "versus": grouping.cells[bottom],
            "comparison": "spread",
            "n": one.n,
            "clusters": one.clusters,
            "n_versus": two.n,
            "clusters_versus": two.clusters,
            "estimate": one.mean,
            "low": low,
            "high": high,
            "estimate_versus": two.mean,
            "low_versus": low2,
            "high_versus": high2,
            "deff": deff,
            "deff_versus": deff2,
            "kind": sides.kind,
            "depth": grouping.depth,
            "effect_name": "spread",
        }
    )
    observed = float(means.max() - means.min())
    labels, n, y = sides.blocks(chosen)
    if observed == 0 and all(cells[g].constant for g in chosen):
        draft.untestable = "no variance in any group"
        return draft, out
    null = permuted(labels, n, y, len(chosen), replicates, seed)
    boot = np.empty((replicates, len(chosen)))
    for place in range(len(chosen)):  # clusters are resampled within each group
        sums = resampled(np.column_stack([y, n])[labels == place], replicates, seed + 1 + place)
        boot[:, place] = sums[:, 0] / sums[:, 1]
    spreads = boot.max(axis=1) - boot.min(axis=1)
    diff_low, diff_high = np.quantile(spreads, [alpha / 2, 1 - alpha / 2])
    sizes = effective(one, two, sides.cross(top, bottom))
    draft.se, draft.df = float(spreads.std(ddof=1)), sizes.df
    draft.unit = math.sqrt(one.spread / sizes.n1 + two.spread / sizes.n2)
    draft.tost = float((1 + (spreads >= delta).sum()) / (replicates + 1))
    draft.severity_effect = (
        cohen_h(one.mean, two.mean) if sides.kind == "rate" else rank_from_d(observed / math.sqrt(sides.total.spread))
    )
    p = float((1 + (null >= observed - 1e-12).sum()) / (replicates + 1))
    mean = float(null.mean())
    draft.values |= {
        "difference": observed,
        "diff_low": min(float(diff_low), observed),
        "diff_high": max(float(diff_high), observed),
        "test": "permutation of labels over clusters" if sides.clusters is not None else "permutation of labels",
        "statistic": observed,
        "p": p,
        "effect": observed,
        "effect_low": float(diff_low),
        "effect_high": float(diff_high),
        "null_mean": mean,
        "excess": observed - mean,
        "se": draft.se,
    }
    return draft, out
