"""Equity measures within groups: rates by a naive count, values by the pure functions, and what fairness shows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.metrics import equity
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.equity import AcceptedPairs, WithinGroups
from countenance.metrics.pairs.groups import Groups
from countenance.metrics.pairs.vectors import Vectors


def made(seed: int, people: int, values: list[tuple[str, ...]], names: list[str], threshold: float, each: int = 3):
    """Pictures of random people, and a copy of them that is counted by hand."""
    random = np.random.default_rng(seed)
    identity = np.repeat(np.arange(people), each)
    raw = random.standard_normal((people, 8))[identity] + 0.6 * random.standard_normal((people * each, 8))
    compared, kept = Comparisons.of(Vectors.of(raw), identity), AcceptedPairs()
    compared.accepted(threshold, kept.add)
    refused = (compared.genuine.score < threshold).astype(float)
    groups = Groups.of(values, names)
    return WithinGroups(identity, groups, kept.pairs(), compared.genuine, refused), raw


def naive(raw, identity, values, name, threshold, weight):
    """FMR and FNMR of one group, pair by pair."""
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    taken = all_impostors = refused = all_genuine = 0.0
    for i, j in itertools.combinations(range(len(raw)), 2):
        if name not in values[i] or name not in values[j]:
            continue
        accepted = unit[i] @ unit[j] >= threshold
        if identity[i] == identity[j]:
            all_genuine += weight[identity[i]]
            refused += weight[identity[i]] * (not accepted)
        else:
            both = weight[identity[i]] * weight[identity[j]]
            all_impostors += both
            taken += both * accepted
    return taken / all_impostors if all_impostors else np.nan, refused / all_genuine if all_genuine else np.nan


@given(st.integers(0, 10**6), st.integers(3, 7), st.booleans())
@settings(max_examples=25, deadline=None)
def test_rates_are_those_of_a_count_pair_by_pair(seed: int, people: int, by_picture: bool) -> None:
    random = np.random.default_rng(seed)
    kinds = [("a",), ("b",), ("a", "b"), ()]
    drawn = random.integers(0, 4, people * 3 if by_picture else people)
    values = [kinds[k] for k in (drawn if by_picture else np.repeat(drawn, 3))]
    within, raw = made(seed, people, values, ["a", "b"], 0.3)
    for weight in (np.ones(people), random.integers(0, 3, people).astype(float)):
        wanted = [naive(raw, within.identity, values, name, 0.3, weight) for name in ("a", "b")]
        np.testing.assert_allclose(within.rates(weight=weight), np.array(wanted).T.ravel(), atol=1e-12)


def test_values_are_those_of_the_pure_functions_and_intervals_hold_them() -> None:
    values = [(f"g{(k // 3) % 3}",) for k in range(75 * 3)]
    within, _ = made(4, 75, values, ["g0", "g1", "g2"], 0.55)
    fmr, fnmr = np.split(within.rates(), 2)
    wanted = {
        ("FMR and FNMR", "fairness_discrepancy_rate"): equity.fairness_discrepancy_rate(fmr, fnmr, 0.5),
        ("FMR and FNMR", "inequity_rate"): equity.inequity_rate(fmr, fnmr, 0.5),
        ("FMR and FNMR", "garbe"): equity.garbe(fmr, fnmr, 0.5),
        ("FMR", "max_min_ratio"): equity.max_min_ratio(fmr),
        ("FMR", "max_geomean_ratio"): equity.max_geomean_ratio(fmr),
        ("FNMR", "max_min_ratio"): equity.max_min_ratio(fnmr),
        ("FNMR", "max_geomean_ratio"): equity.max_geomean_ratio(fnmr),
    }
    found = {(one.of, one.measure.name): one for one in within.estimates()}
    assert set(found) == set(wanted)
    for name, one in found.items():
        assert one.measured.value == pytest.approx(wanted[name], abs=1e-12)
        assert one.measured.low <= one.measured.value <= one.measured.high


def test_a_fair_system_shows_what_is_said_and_a_lenient_one_does_not() -> None:
    values = [(f"g{(k // 3) % 4}",) for k in range(100 * 3)]
    observed, fair, p = [], [], []
    for seed in range(8):
        within, _ = made(seed, 100, values, [f"g{k}" for k in range(4)], 0.55)
        one = next(one for one in within.estimates() if (one.of, one.measure.name) == ("FMR", "max_min_ratio"))
        observed.append(one.measured.value)
        fair.append(one.measured.fair)
        p.append(one.measured.p)
    assert np.mean(observed) == pytest.approx(np.mean(fair), rel=0.15)
    assert sum(one < 0.05 for one in p) <= 2
    alike, random = np.random.default_rng(1), np.random.default_rng(2)
    identity, common = np.repeat(np.arange(100), 3), alike.standard_normal(8)
    centre = random.standard_normal((100, 8)) + np.where(np.arange(100) % 4 == 3, 1.0, 0.0)[:, None] * common
    raw = centre[identity] + 0.6 * random.standard_normal((300, 8))
    compared, kept = Comparisons.of(Vectors.of(raw), identity), AcceptedPairs()
    compared.accepted(0.55, kept.add)
    refused = (compared.genuine.score < 0.55).astype(float)
    groups = Groups.of(values, [f"g{k}" for k in range(4)])
    within = WithinGroups(identity, groups, kept.pairs(), compared.genuine, refused)
    one = next(one for one in within.estimates() if (one.of, one.measure.name) == ("FMR", "max_min_ratio"))
    assert one.measured.p < 0.01
    assert one.measured.low > 1.1
    assert one.measured.value > one.measured.fair_limit


def test_shuffling_keeps_people_whole_where_they_have_one_value_and_sizes_where_they_have_several() -> None:
    values = [("m",) if k % 3 == 0 else ("n",) for k in range(30)]
    within, _ = made(0, 10, values, ["m", "n"], 0.3)
    random = np.random.default_rng(0)
    shuffled = within._shuffled(random)
    assert sorted(shuffled) == sorted(within.groups.cell)
    assert shuffled.tolist() != within.groups.cell.tolist()  # pictures of a person change places
    assert all((shuffled[a : a + 3] == within.groups.cell[0]).sum() == 1 for a in range(0, 30, 3))
    whole, _ = made(0, 10, [("m",) if k // 3 < 4 else ("n",) for k in range(30)], ["m", "n"], 0.3)
    moved = whole._shuffled(random).reshape(10, 3)
    assert (moved == moved[:, :1]).all()


def test_too_many_pairs_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("countenance.metrics.pairs.equity.MOST_PAIRS", 3)
    kept = AcceptedPairs()
    kept.add(np.array([0, 1]), np.array([2, 3]))
    assert kept.complete
    kept.add(np.array([0, 1]), np.array([3, 2]))
    assert not kept.complete
    assert kept.blocks == []
