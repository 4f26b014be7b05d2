"""The same rows under two conditions: which pairs count, and what is said of the rest."""

import math

import numpy as np
import pytest

from countenance.audit import audit

N = 60


def table(one: np.ndarray, two: np.ndarray) -> dict[str, list[object]]:
    names = [f"s{k}" for k in range(len(one))]
    return {
        "sample": names * 2, "m.ok": [*one.tolist(), *two.tolist()],
        "attr.model": ["old"] * len(one) + ["new"] * len(two),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_a_pair_counts_only_where_both_sides_have_the_metric(kind: str) -> None:
    random = np.random.default_rng(4)
    one, two = (random.random((2, N)) < 0.7).astype(float) if kind == "rate" else random.normal(size=(2, N))
    one[:3], two[2:7] = math.nan, math.nan  # rows 0 to 6: one side or both are missing
    found = audit(table(one, two), by=["model"], comparison="paired", pair=["sample"])
    (finding,) = found.findings
    assert finding.n == finding.n_versus == N - 7
    sign = 1 if finding.group == "old" else -1
    assert finding.difference == pytest.approx(sign * float((one - two)[7:].mean()))
    assert finding.clusters == N - 7
