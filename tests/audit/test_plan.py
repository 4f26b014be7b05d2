"""Effects as differences in the metric's own units."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

from countenance.auditing.plan import _gap_of, plan
from countenance.auditing.power import rank_from_d


def draft(name: str, sd: float = 2.0) -> Any:
    values = {"effect_name": name, "estimate_versus": 0.9}
    return SimpleNamespace(values=values, sd=sd, judged=SimpleNamespace(delta=0.07))


def test_an_effect_is_a_difference_of_normal_values() -> None:
    """A rank-biserial r is P(X > Y) - P(X < Y); X - Y has the deviation sqrt(2)."""
    found = _gap_of("h", 0.3, draft("r"))
    assert found == pytest.approx(2 * math.sqrt(2) * stats.norm.ppf(0.65))
    assert rank_from_d(found / 2) == pytest.approx(0.3)
    assert _gap_of("d", 0.3, draft("r")) == pytest.approx(0.6)
    assert _gap_of("d", 1.5, draft("r")) == pytest.approx(3.0)
    assert math.isnan(_gap_of("h", 1.0, draft("r")))  # no two normal values are that far apart
    assert math.isnan(_gap_of("d", 0.3, draft("r", sd=0.0)))
    assert _gap_of("diff", 0.3, draft("r")) == 0.3
    assert _gap_of("delta", math.nan, draft("h")) == 0.07
    moved = math.sin(math.asin(math.sqrt(0.9)) - 0.1) ** 2
    assert _gap_of("h", 0.2, draft("h")) == pytest.approx(0.9 - moved)


def test_the_former_name_of_the_rate_is_read_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"plan\(baseline=\) is now called plan\(rate=\)"):
        former = plan(baseline=0.9)
    assert former == plan(rate=0.9) != plan()
