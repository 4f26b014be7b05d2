"""Tables of two models with a known truth."""

from typing import Any

import numpy as np
import pytest

Table = dict[str, Any]


def two_models(
    n: int = 1500,
    *,
    gained: float | dict[str, float] = 0.03,
    lost: float | dict[str, float] = 0.03,
    seed: int = 0,
    right: float | dict[str, float] = 0.9,
) -> tuple[Table, Table]:
    """Two tables on the same rows; by group, how often a row went from wrong to right and back.

    `right` is how often a row that did not change was right.
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(["dark", "light", "medium"], n, p=[0.2, 0.5, 0.3])
    parts = (gained, lost, right)
    up, down, kept = (np.array([part[g] if isinstance(part, dict) else part for g in group]) for part in parts)
    draw = rng.random(n)
    change = np.where(draw < up, 1, np.where(draw < up + down, -1, 0))
    old = np.where(change > 0, 0, np.where(change < 0, 1, rng.random(n) < kept)).astype(int)
    rows = {"sample": [f"s{i}" for i in range(n)], "tone": group.tolist()}
    return rows | {"correct": old.tolist()}, rows | {"correct": (old + change).tolist()}


@pytest.fixture
def models() -> Any:
    """The function that draws two models."""
    return two_models
