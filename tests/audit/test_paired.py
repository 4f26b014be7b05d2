"""The same rows under two conditions: which pairs count, and what is said of the rest."""

import math

import numpy as np
import pytest
from scipy import stats

from countenance.auditing import audit

N = 60


def table(one: np.ndarray, two: np.ndarray) -> dict[str, list[object]]:
    names = [f"s{k}" for k in range(len(one))]
    return {
        "sample": names * 2,
        "m.ok": [*one.tolist(), *two.tolist()],
        "attr.model": ["old"] * len(one) + ["new"] * len(two),
    }


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_a_pair_counts_only_where_both_sides_have_the_metric(kind: str) -> None:
    random = np.random.default_rng(4)
    one, two = (random.random((2, N)) < 0.7).astype(float) if kind == "rate" else random.normal(size=(2, N))
    one[:3], two[2:7] = math.nan, math.nan  # rows 0 to 6: one side or both are missing
    found = audit(table(one, two), by=["model"], comparison="paired", pair=["sample"])
    (finding,) = [f for f in found.findings if f.kind == "group"]
    assert finding.n == finding.n_versus == N - 7
    sign = 1 if finding.group == "old" else -1
    assert finding.difference == pytest.approx(sign * float((one - two)[7:].mean()))
    assert finding.clusters == N - 7


@pytest.mark.parametrize("gained", [4, 6])
def test_two_ways_that_cross_are_tested_by_the_robust_test_too(gained: int) -> None:
    """No row is lost, so the exact test of either way alone is surer than both ways together allow."""
    random = np.random.default_rng(gained)
    one, two = np.ones(N), np.ones(N)
    person, scene = np.arange(N) % 12, random.permutation(np.arange(N) % 10)
    two[(random.random(N) < gained / 20) | (person == 0)] = 0
    rows = table(one, two)
    rows["identity"], rows["scene"] = ([f"p{k}" for k in [*person, *person]], [f"c{k}" for k in [*scene, *scene]])
    asked = {"by": ["model"], "comparison": "paired", "pair": ["sample"], "min_n": 5}
    crossed, *alone = (
        audit(rows, cluster=cluster, **asked).findings[0] for cluster in (["identity", "scene"], "identity", "scene")
    )
    change = one - two
    joint = np.unique(np.stack([person, scene]), axis=1, return_inverse=True)[1]

    def variance(codes: np.ndarray) -> float:
        sums = np.bincount(codes, change - change.mean())
        sums = sums[np.bincount(codes) > 0]
        return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / N**2

    robust = variance(person) + variance(scene) - variance(joint)
    t = abs(change.mean()) / math.sqrt(robust)
    assert crossed.p > 1.2 * max(one.p for one in alone)
    assert crossed.p == pytest.approx(max(max(one.p for one in alone), 2 * stats.t.sf(t, crossed.df)), rel=0.25)
