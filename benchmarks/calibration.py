"""Is the audit's word good? Simulated tables with a known truth; prints JSON. Argument: how many tables.

Promises (specs/statistics.md): no true difference, clustered rows (design effect 5), 60 comparisons: the
share of audits that report any disparity is at most alpha + 2 s.e.; 95 % intervals cover 93-97 %; a true
gap of the printed minimum detectable effect is found with power .75-.85.
"""

from __future__ import annotations

import json
import math
import sys
import time

import numpy as np

from countenance.audit import audit
from countenance.audit.power import shifted

ICC = 4 / 9  # clusters of ten rows: design effect 1 + 9 · 4/9 = 5


def people(rng: np.random.Generator, p: np.ndarray, icc: float = ICC, size: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Clusters and correlated 0/1 rows: each cluster's own rate is drawn around p (beta-binomial)."""
    cluster = np.repeat(np.arange(len(p)), size)
    if icc <= 0:
        return cluster, (rng.random(len(cluster)) < p[cluster]).astype(np.int8)
    both = 1 / icc - 1
    own = rng.beta(np.maximum(p * both, 1e-9), np.maximum((1 - p) * both, 1e-9))
    return cluster, (rng.random(len(cluster)) < own[cluster]).astype(np.int8)


def false_alarms(tables: int, seed: int, p: float = 0.9, clusters: int = 600, mean: bool = False) -> dict[str, float]:
    """The share of audits (three attributes of four groups, depth 2) that report any disparity."""
    rng = np.random.default_rng(seed)
    alarms = each = made = small = 0
    for _ in range(tables):
        cluster, y = people(rng, np.full(clusters, p))
        value = y + rng.normal(0, 0.1, len(y)) if mean else y
        groups = {f"a{i}": np.array(list("wxyz"))[rng.integers(0, 4, clusters)][cluster] for i in range(3)}
        found = audit({**groups, "identity": cluster, "ok": value}, list(groups), ["ok"]).findings
        tested = [f for f in found if f.verdict != "untestable"]
        alarms += any(f.verdict == "disparity" for f in tested)
        each += sum(f.p < 0.05 for f in tested)
        small += sum(f.p < 0.001 for f in tested)
        made += len(tested)
    share = alarms / tables
    return {
        "tables": tables,
        "comparisons": made / tables,
        "share": share,
        "each_at_.05": each / made,
        "each_at_.001": small / made,
        "limit": 0.05 + 2 * math.sqrt(0.05 * 0.95 / tables),
    }


def coverage(tables: int, seed: int, p: float = 0.9, clusters: int = 120, icc: float = ICC) -> dict[str, float]:
    """How often the 95 % intervals of two groups' rates, their difference and h contain the truth."""
    rng = np.random.default_rng(seed)
    inside = {"estimate": 0, "difference": 0, "effect": 0}
    other = p - 0.1
    h = 2 * math.asin(math.sqrt(p)) - 2 * math.asin(math.sqrt(other))
    for _ in range(tables):
        truth = np.repeat([p, other], [clusters, clusters])
        cluster, y = people(rng, truth, icc)
        rows = {"g": np.where(cluster < clusters, "a", "b"), "identity": cluster, "ok": y}
        [f] = audit(rows, ["g"], ["ok"]).findings
        inside["estimate"] += f.low <= p <= f.high
        inside["difference"] += f.diff_low <= p - other <= f.diff_high
        inside["effect"] += f.effect_low <= h <= f.effect_high
    return {
        "tables": tables,
        "clusters": clusters,
        **{name: count / tables for name, count in inside.items()},
    }


def power(
    tables: int,
    seed: int,
    p: float = 0.9,
    clusters: tuple[int, int] = (100, 100),
    icc: float = ICC,
    mean: bool = False,
) -> dict[str, float]:
    """How often a gap of the printed minimum detectable effect is found; the gap is a fresh table's."""
    rng = np.random.default_rng(seed)
    hits, printed = 0, []

    def found(first: float):  # type: ignore[no-untyped-def]
        truth = np.repeat([first, p], clusters)
        cluster, y = people(rng, np.full(len(truth), p) if mean else truth, icc)
        value = y + rng.normal(0, 0.1, len(y)) + np.where(cluster < clusters[0], first - p, 0) if mean else y
        group = np.where(cluster < clusters[0], "a", "b")
        return audit({"g": group, "identity": cluster, "ok": value}, ["g"], ["ok"], min_n=10).findings[0]

    for _ in range(tables):
        planned = found(p)
        gap = p - planned.mde_difference if mean else shifted(p, planned.mde)
        printed.append(planned.mde)
        hits += found(gap).verdict == "disparity"
    return {
        "tables": tables,
        "p": p,
        "icc": round(icc, 3),
        "mde": round(float(np.mean(printed)), 4),
        "power": hits / tables,
    }


def main() -> None:
    """Print the figures."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    start = time.perf_counter()
    figures = {
        "false_alarms": false_alarms(tables, 1),
        "false_alarms_p.97": false_alarms(tables, 2, p=0.97),
        "false_alarms_few_clusters": false_alarms(tables, 3, clusters=330),
        "false_alarms_means": false_alarms(tables, 4, mean=True),
        "coverage": coverage(tables, 5),
        "coverage_few_clusters": coverage(tables, 6, clusters=40),
        "coverage_unclustered": coverage(tables, 7, clusters=200, icc=0.0),
        "power": power(tables, 8),
        "power_p.7": power(tables, 9, p=0.7),
        "power_small_against_large": power(tables, 10, clusters=(60, 600)),
        "power_independent_rows": power(tables, 11, icc=0.0),
        "power_means": power(tables, 12, mean=True),
    }
    print(json.dumps({**figures, "seconds": round(time.perf_counter() - start, 1)}, indent=1))


if __name__ == "__main__":
    main()
