"""Intervals of a change between two models: against a search of the likelihood, and exact coverage."""

import numpy as np
import pytest
from scipy import optimize, stats

from countenance.auditing import change
from countenance.auditing.change import ChangeGap, GainAndLoss, tango_limits
from countenance.auditing.effects import equivalence


def slow_score(gained: int, lost: int, n: int, change: float) -> float:
    """Tango's statistic with the constrained likelihood maximised by search."""

    def minus(share_lost: float) -> float:
        share = share_lost + change
        rest = 1 - share - share_lost
        total = 0.0
        for count, p in ((gained, share), (lost, share_lost), (n - gained - lost, rest)):
            if count:
                total -= count * np.log(max(p, 1e-300))
        return float(total)

    low, high = max(0.0, -change), (1 - change) / 2
    found = optimize.minimize_scalar(minus, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return float((gained - lost - n * change) / np.sqrt(n * (2 * found + change * (1 - change))))


@pytest.mark.parametrize(("gained", "lost", "n"), [(9, 2, 50), (12, 2, 50), (1, 0, 44), (3, 3, 30), (0, 7, 60)])
def test_tango_limits_are_where_the_likelihood_says(gained: int, lost: int, n: int) -> None:
    low, high = tango_limits(gained, lost, n, 1.959964)
    assert slow_score(gained, lost, n, float(low)) == pytest.approx(1.959964, abs=2e-3)
    assert slow_score(gained, lost, n, float(high)) == pytest.approx(-1.959964, abs=2e-3)


def test_the_search_for_limits_has_converged() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(1, 5000, 3000).astype(float)
    discordant = np.floor(n * rng.random(3000) ** 3)
    gained = np.floor(discordant * rng.random(3000))
    t = rng.uniform(0.3, 6.0, 3000)
    slow_low, slow_high = (2 * gained - discordant) / n + 1e-9, np.ones(3000)
    for _ in range(80):
        middle = (slow_low + slow_high) / 2
        inside = change._excess(gained, discordant - gained, n, middle, t) > 0
        slow_low, slow_high = np.where(inside, middle, slow_low), np.where(inside, slow_high, middle)
    least = (2 * gained - discordant) / n
    assert np.abs(tango_limits(gained, discordant - gained, n, t)[1] - np.maximum(slow_high, least)).max() < 1e-9


def test_no_change_at_all_rules_out_no_more_than_a_score_interval_does() -> None:
    low, high = tango_limits(0.0, 0.0, 50.0, 1.959964)
    assert float(high) == pytest.approx(1.959964**2 / (50 + 1.959964**2), abs=1e-6)
    assert float(low) == -float(high)


def test_the_limits_of_swapped_models_are_mirrored() -> None:
    low, high = tango_limits(9.0, 2.0, 50.0, 1.959964)
    swapped = tango_limits(2.0, 9.0, 50.0, 1.959964)
    assert (float(low), float(high)) == (-float(swapped[1]), -float(swapped[0]))


@pytest.mark.parametrize("n", [30, 60, 120, 300])
@pytest.mark.parametrize("shares", [(0.05, 0.0), (0.06, 0.01), (0.1, 0.05), (0.25, 0.2)])
def test_a_change_of_delta_is_seldom_called_smaller(n: int, shares: tuple[float, float]) -> None:
    gained, lost = (part.ravel() for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    use = gained + lost <= n
    gained, lost = gained[use], lost[use]
    share = stats.multinomial.pmf(np.stack([gained, lost, n - gained - lost], axis=1), n, [*shares, 1 - sum(shares)])
    likely = share > 1e-9
    shown, _ = equivalence(GainAndLoss(gained[likely] / n, lost[likely] / n, float(n)), 0.05, 0.05)
    assert float(share[likely][np.asarray(shown)].sum()) <= 0.06


def test_the_gap_of_two_groups_is_covered() -> None:
    rng = np.random.default_rng(5)
    hits, total = 0, 4000
    one = rng.multinomial(60, [0.08, 0.03, 0.89], size=total) / 60
    two = rng.multinomial(400, [0.05, 0.05, 0.90], size=total) / 400
    gap = ChangeGap(GainAndLoss(one[:, 0], one[:, 1], 60.0), GainAndLoss(two[:, 0], two[:, 1], 400.0))
    low, high = gap.difference(0.05)
    hits = int(((low <= 0.05) & (high >= 0.05)).sum())
    assert 0.93 <= hits / total <= 0.975
