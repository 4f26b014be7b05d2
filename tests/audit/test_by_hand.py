"""The audit's formulas against scipy, statsmodels, enumeration and loops."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import NormalIndPower, TTestIndPower
from statsmodels.stats.proportion import proportion_confint, proportion_effectsize
from tests.naive import rank_scores

from countenance.auditing import audit, equity, exact_test, minp, ranking, tests
from countenance.auditing._dist import both, quantile, tail
from countenance.auditing.change import ChangeGap, GainAndLoss, tango_limits
from countenance.auditing.effects import MeanGap, RateGap, cohen_h, equivalence, in_common, mover, rank_biserial
from countenance.auditing.estimates import bootstrap, clopper_pearson_limits, interval, resampled, simple
from countenance.auditing.multiplicity import family_of
from countenance.auditing.plan import parse_effect, plan, plan_for
from countenance.auditing.power import detectable_rate, growth, rank_from_d, reach, shifted
from countenance.auditing.ranks import kurtosis
from countenance.auditing.spread import studentised
from countenance.auditing.sums import Cross, clustered
from countenance.errors import InputError

# distributions


@pytest.mark.parametrize("df", [1, 3.5, 40, math.inf])
def test_tails_and_quantiles_are_those_of_scipy(df):
    law = stats.norm if math.isinf(df) else stats.t(df)
    for x in (-2.5, 0.0, 0.3, 4.0):
        assert tail(x, df) == pytest.approx(law.sf(x), rel=1e-9)
        assert both(x, df) == pytest.approx(min(1, 2 * law.sf(abs(x))), rel=1e-9)
    assert quantile(0.9, df) == pytest.approx(law.ppf(0.9), rel=1e-9)


def test_tails_of_many_degrees_of_freedom_at_once():
    df, x = np.array([2.0, math.inf, 7.0]), np.array([1.0, 1.5, -2.0])
    laws = [stats.t(2), stats.norm, stats.t(7)]
    assert tail(x, df) == pytest.approx([law.sf(v) for law, v in zip(laws, x, strict=True)])
    assert tail(x, df[[0, 2, 2]]) == pytest.approx([stats.t(2).sf(1), stats.t(7).sf(1.5), stats.t(7).sf(-2)])
    assert quantile(0.8, df) == pytest.approx([law.ppf(0.8) for law in laws])


# tests of two sides


@pytest.mark.parametrize("block", [7, 2_000_000])
def test_fisher_is_that_of_scipy(monkeypatch, block):
    monkeypatch.setattr(exact_test, "BLOCK", block)
    random = np.random.default_rng(0)
    cells = np.concatenate([random.integers(0, 12, (4, 60)), random.integers(0, 300, (4, 10))], axis=1)
    cells[:, :4] = [[0, 5, 3, 0], [4, 0, 3, 0], [0, 0, 0, 9], [7, 6, 0, 2]]
    found = exact_test.fisher(*cells)
    for k, (a, b, c, d) in enumerate(cells.T):
        assert found[k] == pytest.approx(stats.fisher_exact([[a, b], [c, d]])[1], rel=1e-6)


def test_fisher_of_large_tables_is_that_of_scipy():
    for a, b, c, d in ((3, 9997, 60, 50_000), (40_000, 12, 9000, 9), (5000, 5000, 480, 520)):
        expected = stats.fisher_exact([[a, b], [c, d]])[1]
        assert exact_test.fisher(*(np.array([v]) for v in (a, b, c, d)))[0] == pytest.approx(expected, rel=1e-5)


def test_mcnemar_of_clusters_is_every_swap_written_out():
    random = np.random.default_rng(1)
    for _ in range(30):
        gains, losses = random.integers(0, 4, 7), random.integers(0, 3, 7)
        net = gains - losses
        sums = [
            abs(sum(s * abs(v) for s, v in zip(signs, net, strict=True)))
            for signs in itertools.product((1, -1), repeat=7)
        ]
        expected = np.mean([value >= abs(net.sum()) for value in sums])
        name, fewer, p = tests.mcnemar(gains, losses)
        assert p == pytest.approx(expected) and fewer == min(gains.sum(), losses.sum())
        assert ("swapped" in name) == ((gains + losses).max() > 1)


def test_mcnemar_of_many_clusters_is_normal(monkeypatch):
    gains, losses = np.repeat([3, 0, 1], [70, 40, 20]), np.repeat([0, 2, 0], [70, 40, 20])
    _, _, slow = tests.mcnemar(gains, losses)
    monkeypatch.setattr(tests, "LARGEST_EXACT", 100)
    _, _, fast = tests.mcnemar(gains, losses)
    net = gains - losses
    assert fast == pytest.approx(2 * stats.norm.sf(net.sum() / math.sqrt((net**2).sum()))) and fast != slow
    assert fast == pytest.approx(slow, abs=2e-5)


# ranks


def biserial_by_hand(x, y, codes1, codes2):
    """Loops over pairs; DeLong's variance, and summed over clusters with their leverage."""
    place1 = [np.mean([(a > b) + (a == b) / 2 for b in y]) for a in x]
    place2 = [np.mean([(a > b) + (a == b) / 2 for a in x]) for b in y]
    auc = np.mean(place1)
    e1, e2 = [(p - auc) / len(x) for p in place1], [(p - auc) / len(y) for p in place2]
    simple = sum(len(e) / (len(e) - 1) * sum(v * v for v in e) for e in (e1, e2))
    sums, leverage = {}, {}
    for e, codes in ((e1, codes1), (e2, codes2)):
        for v, code in zip(e, codes, strict=True):
            sums[code] = sums.get(code, 0) + v
        for code in set(codes):
            share = list(codes).count(code) / len(codes) - 1 / len(set(codes))
            leverage[code] = max(leverage.get(code, -9.0), share)
    for code in sums:  # a cluster that is on one side only has no leverage on the other
        if code not in codes1 or code not in codes2:
            leverage[code] = max(leverage[code], 0.0)
    used = len(sums)
    variance = used / (used - 1) * sum((1 + 2 * leverage[code]) * sums[code] ** 2 for code in sums)
    return 2 * auc - 1, 4 * simple, 4 * variance


@pytest.mark.parametrize("seed", range(6))
def test_rank_biserial_is_loops_over_pairs(seed):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 6, 11), random.integers(1, 8, 14)
    codes1, codes2 = random.integers(0, 5, 11), random.integers(3, 8, 14)
    found = rank_biserial(x, y, codes1, codes2)
    r, simple, variance = biserial_by_hand(x, y, codes1.tolist(), codes2.tolist())
    assert (found.r, found.variance) == pytest.approx((r, variance))
    assert rank_biserial(x, y).variance == pytest.approx(simple)
    assert 2 * stats.mannwhitneyu(x, y).statistic / (11 * 14) - 1 == pytest.approx(r)


def test_kurtosis_is_that_of_scipy():
    values = np.random.default_rng(0).exponential(size=50)
    assert kurtosis(np.append(values, np.nan)) == pytest.approx(stats.kurtosis(values, fisher=False))
    assert kurtosis(np.ones(4)) == 3 and kurtosis(np.full(2, np.nan)) == 3


# intervals of one group


@pytest.mark.parametrize(("k", "n"), [(0, 12), (12, 12), (1, 12), (7, 30), (299, 300)])
@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_clopper_pearson_is_that_of_statsmodels(k, n, alpha):
    low, high = clopper_pearson_limits(k / n, n, stats.norm.ppf(1 - alpha / 2))
    assert (float(low), float(high)) == pytest.approx(proportion_confint(k, n, alpha, "beta"), abs=1e-9)


@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_an_interval_of_clusters_is_the_formula_written_out(kind):
    random = np.random.default_rng(3)
    codes = np.repeat(np.arange(12), random.integers(1, 6, 12))
    own = random.random(12)[codes]
    values = (
        (random.random(len(codes)) < own).astype(float) if kind == "rate" else own + random.normal(0, 1, len(codes))
    )
    side = clustered(values, codes)
    low, high, deff = interval(side, kind, 0.1)
    n, mean = len(values), values.mean()
    assert side.mean == pytest.approx(mean)
    sums = np.bincount(codes, values) - mean * np.bincount(codes)
    sizes = np.bincount(codes)
    effective = n**2 / (sizes**2).sum()
    share = sizes / n - 1 / 12
    variance = 12 / 11 * ((1 + 2 * share) * sums**2).sum() / n**2
    assert float(side.variance) == pytest.approx(variance, rel=1e-9)
    expected = max(variance / (values.var() / n), 1)
    assert deff == pytest.approx(expected)
    t = stats.t.ppf(0.95, effective - 1)
    if kind == "mean":
        half = t * math.sqrt(variance)
        assert (low, high) == pytest.approx((mean - half, mean + half))
    else:
        size = n / expected
        centre = (mean + t * t / (2 * size)) / (1 + t * t / size)
        half = t / (1 + t * t / size) * math.sqrt(mean * (1 - mean) / size + t * t / (4 * size * size))
        assert (low, high) == pytest.approx((centre - half, centre + half))


def test_few_people_take_the_variance_of_all():
    values = np.array([0.1, 0.2, 0.15, 0.12, 0.18])
    narrow = interval(simple(values), "mean", 0.05, 0.0, row=4.0, kurtosis=1.0)
    wide = interval(simple(values), "mean", 0.05, 0.0, row=4.0, kurtosis=3.0)
    t = stats.t.ppf(0.975, 4)
    assert narrow[1] - narrow[0] == pytest.approx(2 * t * values.std(ddof=1) / math.sqrt(5))
    assert wide[1] - wide[0] == pytest.approx(2 * t * math.sqrt(4 / 5))
    # trusted where clusters × 0.3² reaches the kurtosis less 1
    many = simple(np.tile(values, 5))
    for k, few in ((1 + 25 * 0.09 - 1e-6, False), (1 + 25 * 0.09 + 1e-6, True)):
        low, high, _ = interval(many, "mean", 0.05, 0.0, row=4.0, kurtosis=k)
        assert (high - low > 1) == few


def test_ends_cut_an_interval():
    side = simple(np.array([0.0, 1.0, 1.0, 1.0]) - 0.05)
    low, high, _ = interval(side, "mean")
    assert low < 0 and high > 1
    assert interval(side, "mean", ends=(0.0, 1.0))[:2] == (0, 1)


@pytest.mark.parametrize(("kinds", "cells"), [(3, 200_000), (40, 200_000), (40, 100)])
def test_a_bootstrap_has_the_spread_of_the_mean(kinds, cells):
    values = np.random.default_rng(1).permutation(np.arange(60) % kinds * 1.0)
    sums = np.column_stack([values, np.ones(60)])
    drawn = resampled(sums, 4000, 3, cells)
    assert (drawn[:, 1] == 60).all() and len(drawn) == 4000
    means = drawn[:, 0] / 60
    assert means.mean() == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(60 * 4000))
    assert means.std() == pytest.approx(values.std() / math.sqrt(60), rel=0.05)
    low, high, _ = bootstrap(sums, lambda s: s[:, 0] / s[:, 1], replicates=4000, alpha=0.1, seed=3)
    assert (low, high) == pytest.approx(tuple(np.quantile(resampled(sums, 4000, 3)[:, 0] / 60, [0.05, 0.95])))
    assert np.isnan(bootstrap(np.zeros((0, 2)), lambda s: s[:, 0] / s[:, 1])[0])


# differences and their equivalence


@pytest.mark.parametrize("rho", [0.0, 0.4])
def test_mover_is_its_formula(rho):
    shared = in_common(0.5, (0.3, 0.6), 0.2, (0.1, 0.35), rho)
    low, high = mover(0.5, (0.3, 0.6), 0.2, (0.1, 0.35), shared)
    assert float(low) == pytest.approx(0.3 - math.sqrt(0.2**2 + 0.15**2 - 2 * rho * 0.2 * 0.15))
    assert float(high) == pytest.approx(0.3 + math.sqrt(0.1**2 + 0.1**2 - 2 * rho * 0.1 * 0.1))


@pytest.mark.parametrize(
    "gap",
    [
        RateGap(0.9, 300.0, 0.91, 500.0),
        RateGap(0.9, 300.0, 0.91, 500.0, 40.0, 60.0, 0.3),
        MeanGap(0.31, 0.3, 0.012, 30.0),
        GainAndLoss(0.02, 0.03, 400.0),
        ChangeGap(GainAndLoss(0.02, 0.03, 400.0), GainAndLoss(0.02, 0.02, 300.0), 0.1),
    ],
    ids=["rates", "clustered rates", "means", "change", "two changes"],
)
def test_the_p_of_equivalence_is_where_the_interval_touches_delta(gap):
    shown, p = equivalence(gap, 0.05, 0.05)
    assert bool(shown) == (float(p) < 0.05) and 0 < float(p) < 1
    for level, inside in ((float(p) * 1.02, True), (float(p) * 0.98, False)):
        low, high = gap.decisive(level)
        assert (float(low) > -0.05 and float(high) < 0.05) == inside
    assert not equivalence(gap, 0.001, 0.05)[0] and equivalence(gap, 0.001, 0.05)[1] == 1
    assert np.isnan(equivalence(gap, math.nan, 0.05)[1])


def test_gain_and_loss_from_sums():
    change = np.array([1, 1, 0, -1, 0, 0, 1, 0, 0, 0], dtype=float)
    found = GainAndLoss.of(simple(change), [0.0])
    assert (float(found.gained), float(found.lost), float(found.n)) == pytest.approx((0.3, 0.1, 10))
    assert float(found.gap) == pytest.approx(0.2) and math.isinf(found.df)
    low, high = found.difference(0.05)
    assert (float(low), float(high)) == pytest.approx(tuple(map(float, tango_limits(3, 1, 10, stats.norm.ppf(0.975)))))
    first, second = (proportion_confint(k, 10, 0.05, "beta") for k in (3, 1))
    rho = -math.sqrt(0.3 / 0.7 * 0.1 / 0.9)
    low, high = found.clopper_pearson(0.05)
    a, b, c, d = 0.3 - first[0], second[1] - 0.1, first[1] - 0.3, 0.1 - second[0]
    assert float(low) == pytest.approx(0.2 - math.sqrt(a * a + b * b - 2 * rho * a * b), abs=1e-9)
    assert float(high) == pytest.approx(0.2 + math.sqrt(c * c + d * d - 2 * rho * c * d), abs=1e-9)
    pair = ChangeGap(found, GainAndLoss(0.1, 0.2, 50.0), 0.2)
    low, high = pair.difference(0.05)
    own, other = found.difference(0.05), pair.change2.difference(0.05)
    a, b = 0.2 - float(own[0]), float(other[1]) + 0.1
    assert float(low) == pytest.approx(0.3 - math.sqrt(a * a + b * b - 2 * 0.2 * a * b))


# power and plans


def test_rates_away_from_the_nearer_end():
    for p, h in ((0.9, 0.3), (0.5, 0.4), (0.3, 0.2), (0.05, 0.5)):
        assert abs(proportion_effectsize(shifted(p, h), p)) == pytest.approx(h)
        assert (shifted(p, h) < p) == (p >= 0.5)
    assert math.isnan(shifted(0.9, 3.2)) and math.isnan(shifted(0.1, 3.0))
    assert reach(0.05, 0.9) == pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.9))
    assert reach(0.05, 0.9, 12) == pytest.approx(stats.t.ppf(0.975, 12) + stats.t.ppf(0.9, 12))
    found = NormalIndPower().solve_power(nobs1=80, ratio=3, alpha=0.01, power=0.9)
    assert reach(0.01, 0.9) * math.sqrt(1 / 80 + 1 / 240) == pytest.approx(found, abs=1e-4)
    assert rank_from_d(0.5) == pytest.approx(2 * stats.norm.cdf(0.5 / math.sqrt(2)) - 1)


@pytest.mark.parametrize(("versus", "n1", "n2"), [(0.999, 60, 1000), (0.97, 30, 90), (0.02, 40, 200), (1.0, 25, 60)])
def test_with_few_cases_the_power_is_added_up(versus, n1, n2):
    found = detectable_rate(versus, n1, n2)

    def power(rate):
        rare, other = min(versus, 1 - versus), rate if versus < 0.5 else 1 - rate
        total = 0.0
        for b in range(n2 + 1):
            weight = stats.binom.pmf(b, n2, rare)
            if weight < 1e-7:
                continue
            for a in range(n1 + 1):
                chance = stats.binom.pmf(a, n1, other)
                if chance > 1e-9 and a / n1 > b / n2 and _p(a, n1, b, n2) < 0.05:
                    total += weight * chance
        return total

    assert power(found) == pytest.approx(0.8, abs=0.02)


def _p(a, n1, b, n2):
    expected = stats.contingency.expected_freq([[a, n1 - a], [b, n2 - b]]).min() if 0 < a + b < n1 + n2 else 0
    if expected < 5:
        return exact_test.fisher(*(np.array([v]) for v in (a, n1 - a, b, n2 - b)))[0]
    pooled = (a + b) / (n1 + n2)
    return 2 * stats.norm.sf(abs(a / n1 - b / n2) / math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2)))


def test_no_rate_can_be_told_from_another_by_two_rows():
    assert math.isnan(detectable_rate(0.9, 2, 3))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.3, 2.0, 4.0])
def test_growth_halves_the_error_as_asked(share, ratio):
    factor, both_sides = growth(share, ratio)
    kept = share / factor + (1 - share) / (factor if both_sides else 1)
    if ratio > 1:
        assert kept == pytest.approx(1 / ratio**2)
        alone = 1 / ratio**2 - (1 - share)
        assert both_sides == (alone <= 0 or share / alone > 2 * ratio**2)
    else:
        assert factor == ratio**2 and not both_sides


@pytest.mark.parametrize(
    ("groups", "comparison", "count"), [(2, "rest", 1), (4, "rest", 4), (4, "pairs", 6), (2, "pairs", 1)]
)
def test_a_plan_for_rates_is_that_of_statsmodels(groups, comparison, count):
    found = plan(rate=0.6, effect="diff=.1", groups=groups, comparison=comparison, power=0.9)
    assert found.comparisons == count and found.alpha_each == pytest.approx(0.05 / count)
    h = abs(proportion_effectsize(0.5, 0.6))
    ratio = groups - 1 if comparison == "rest" else 1
    n = NormalIndPower().solve_power(effect_size=h, ratio=ratio, alpha=0.05 / count, power=0.9)
    assert found.n_per_group == pytest.approx(n, abs=1.5) and found.n_total == groups * found.n_per_group
    assert found.effect == pytest.approx(h) and found.difference == 0.1


def test_a_plan_for_means_and_people():
    found = plan("mean", effect="d=.4", groups=3, deff=2.5, power=0.8)
    n = TTestIndPower().solve_power(effect_size=0.4, ratio=2, alpha=0.05 / 3 / 2, power=0.8)  # mean and ranks
    assert found.n_effective == pytest.approx(n, abs=1.5) and found.n_per_group == pytest.approx(2.5 * n, abs=4)
    assert found.alpha_each == pytest.approx(0.05 / 6)
    assert "for 3 comparisons; design effect 2.5" in found.reason and found.effect_name == "d"
    people = plan("mean", effect="diff=3", sd=10, rows_per_unit=4, icc=0.25)
    assert people.deff == pytest.approx(1.75) and people.units_per_group == math.ceil(people.n_per_group / 4)
    assert people.n_per_group % 4 == 0 and people.difference == 3 and people.effect == pytest.approx(0.3)
    assert f"{people.units_per_group} people with" in people.reason and "for 1 comparison;" in people.reason
    up = plan(rate=0.2, effect="diff=.1")
    assert "0.2 against 0.3" in up.reason and "0.8 against 0.7" in plan(rate=0.8, effect="diff=.1").reason
    assert "from" not in up.reason and up.rows_per_unit == 1


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "sum"},
        {"rate": 0},
        {"rate": 1},
        {"effect": "d=.2"},
        {"metric": "mean", "effect": "h=.2"},
        {"groups": 1},
        {"deff": 0.99},
        {"alpha": 0},
        {"alpha": 1},
        {"power": 0.49},
        {"power": 1},
        {"sd": 0},
        {"rows_per_unit": 0.9},
        {"icc": -0.1},
        {"icc": 1.1},
        {"icc": 0.1, "deff": 2},
        {"effect": "h=0"},
        {"effect": "h=inf"},
        {"effect": "x=1"},
        {"effect": "h=a"},
        {"rate": 0.9, "effect": "diff=.91"},
    ],
    ids=str,
)
def test_plans_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match="plan: "):
        plan(**options)


def test_plans_at_the_limits_are_made():
    for options in ({"groups": 2}, {"deff": 1.0}, {"power": 0.5}, {"icc": 0.0, "rows_per_unit": 2}, {"icc": 1.0}):
        assert plan(**options).n_per_group > 0
    assert plan(rate=0.9, effect="diff=.9").difference == 0.9
    assert parse_effect(" d = .5") == ("d", 0.5)


def test_what_a_table_can_see():
    rows = {"g": ["a"] * 100 + ["b"] * 100, "x": np.tile([0.0, 10.0], 100), "id": np.repeat(np.arange(100), 2)}
    (one,) = plan_for(rows, ["g"], "x", effect="d=.5")
    assert one["target"] == 0.5 and one["target_name"] == "d" and one["more"] >= 0
    (small,) = plan_for({name: values[80:120] for name, values in rows.items()}, ["g"], "x", effect="diff=1")
    assert not small["sees"] and small["clusters_needed"] - small["clusters"] == small["more"] > 0
    with pytest.raises(InputError, match="which difference matters is not known"):
        plan_for(rows, ["g"], "x")
    with pytest.raises(InputError, match="effect d is for means"):
        plan_for({"g": rows["g"], "ok": [0, 1] * 100}, ["g"], "ok", effect="d=.5")


# many comparisons


def test_families():
    values = {"metric": "m", "attribute": "age", "depth": 1, "comparison": "rest"}
    assert family_of(values, None) == "all" and family_of(values, ["metric", "depth"]) == "m · 1"
    assert family_of(values, {"one": ["x"], "two": ["age"]}) == "two"
    assert family_of(values, {"one": ["m"]}) == "one" and family_of(values, {"one": ["x"]}) == "all others"
    with pytest.raises(InputError, match="families: 'color'"):
        family_of(values, "color")


@pytest.mark.parametrize("seed", range(4))
def test_step_down_and_balance_written_out(seed):
    random = np.random.default_rng(seed)
    p, values = random.random(5) ** 2, random.random((40, 5))
    metric = np.array([0, 0, 1, 1, 1])
    own, shuffled = minp.balanced(p, values, metric)
    for k in range(5):
        every = [*values[:, metric == metric[k]].ravel(), *p[metric == metric[k]]]
        assert own[k] == pytest.approx(np.mean([v <= p[k] for v in every]))
        assert shuffled[3, k] == pytest.approx(np.mean([v <= values[3, k] for v in every]))
    found, before = minp.step_down(own, shuffled), 0.0
    order = np.argsort(own)
    for place, k in enumerate(order):
        rest = order[place:]
        share = (1 + sum(min(row[rest]) <= own[k] * (1 + 1e-9) for row in shuffled)) / 41
        before = max(before, share)
        assert found[k] == pytest.approx(before)
    bound = sorted(row.min() for row in shuffled)[math.floor(0.1 * 41) - 1]
    assert minp._bound(shuffled, 0.1) == pytest.approx(bound)
    levels = minp.critical(p, values, metric, bound)
    for k in range(5):
        every = sorted([*values[:, metric == metric[k]].ravel(), *p[metric == metric[k]]])
        assert levels[k] == pytest.approx(every[max(math.floor(bound * len(every) + 1e-9) - 1, 0)])


# spread


def test_the_largest_studentised_difference_is_a_loop():
    random = np.random.default_rng(2)
    means, variance = random.normal(size=(3, 5)), random.random((3, 5)) + 0.1
    for row, own, found in zip(means, variance, studentised(means, variance), strict=True):
        gaps = [abs(row[i] - row[j]) / math.sqrt(own[i] + own[j]) for i, j in itertools.combinations(range(5), 2)]
        assert found == pytest.approx(max(gaps))


def test_a_spread_of_rates_written_out():
    random = np.random.default_rng(4)
    sizes, rates = [60, 90, 120], [0.7, 0.8, 0.9]
    g = np.repeat(list("abc"), sizes)
    ok = (random.random(270) < np.repeat(rates, sizes)).astype(int)
    (found,) = audit({"g": g, "ok": ok}, ["g"], ["ok"], comparison="spread").findings
    means = np.array([ok[g == name].mean() for name in "abc"])
    pooled = ok.mean()
    variance = pooled * (1 - pooled) / np.array(sizes)
    assert found.difference == pytest.approx(np.ptp(means)) == found.effect
    assert (found.group, found.versus) == ("abc"[means.argmax()], "abc"[means.argmin()])
    statistic = float(studentised(means, variance))
    assert found.test_statistic == pytest.approx(statistic)
    largest, plain = [], []
    for _ in range(3000):
        label = random.permutation(g)
        drawn = np.array([ok[label == name].mean() for name in "abc"])
        largest.append(float(studentised(drawn, variance)))
        plain.append(np.ptp(drawn))
    assert found.p == pytest.approx((1 + np.sum(np.array(largest) >= statistic - 1e-9)) / 3001, abs=0.01)
    assert found.null_mean == pytest.approx(np.mean(plain), rel=0.05)
    assert found.excess == pytest.approx(found.difference - found.null_mean)
    critical = np.quantile(largest, 0.95)
    lowest = max(
        abs(means[i] - means[j]) - critical * math.sqrt(variance[i] + variance[j])
        for i, j in itertools.combinations(range(3), 2)
    )
    assert found.diff_low == pytest.approx(max(lowest, 0), abs=0.02)
    upper = 0.0
    for i, j in itertools.permutations(range(3), 2):
        # the effective size is the group's own spread over the variance under the null, at most its rows
        n = [min(means[k] * (1 - means[k]) / variance[k], sizes[k]) for k in (i, j)]
        ends = [proportion_confint(means[k] * m, m, 0.05, "wilson") for k, m in zip((i, j), n, strict=True)]
        upper = max(upper, means[i] - means[j] + math.hypot(ends[0][1] - means[i], means[j] - ends[1][0]))
    assert found.diff_high == pytest.approx(upper, abs=1e-9)


# ranking


@pytest.mark.parametrize("draws", [40, 700])
def test_the_numerical_bootstrap_written_out(draws):
    random = np.random.default_rng(5)
    sums = random.random((9, 2, 2)) + 0.5

    def worst(s):
        return (s[..., 0] / s[..., 1]).max(axis=-1, keepdims=True)

    estimate, found = ranking.numerical_bootstrap(sums, worst, draws=draws, seed=2)
    assert estimate == pytest.approx(worst(sums.sum(axis=0)[None])[0])
    rng, step, expected = np.random.default_rng(2), 9 ** (-1 / 3), []
    for start in range(0, draws, 500):
        for weights in rng.multinomial(9, np.full(9, 1 / 9), size=min(500, draws - start)):
            moved = sum((1 + step * (w - 1)) * row for w, row in zip(weights, sums, strict=True))
            change = worst(moved[None])[0] - estimate
            expected.append(estimate + change / step * math.sqrt(9 / 8))
    assert found == pytest.approx(np.array(expected))
    one, nothing = ranking.numerical_bootstrap(sums[:1], worst, draws=3)
    assert np.isnan(nothing).all() and nothing.shape == (3, 1) and np.isfinite(one).all()


def test_two_entries_compared_written_out():
    random = np.random.default_rng(6)
    drawn = random.normal(0, 1, (400, 3)) + np.array([[0.0, 0.5, 4.0]])
    found = ranking.rank_paired(["a", "b", "c"], np.array([1.0, 1.4, 5.0]), drawn, df=11, alpha=0.1)
    assert found.names == ("c", "b", "a") and found.ranks == (1, 2, 2) and found.tied == (False, True, True)
    pair = found.pair("a", "c")
    spread = (drawn[:, 2] - drawn[:, 0]).std(ddof=1)
    half = stats.t.ppf(0.95, 11) * spread
    assert (pair.better, pair.difference) == ("c", 4.0)
    assert (pair.low, pair.high, pair.p) == pytest.approx((4 - half, 4 + half, 2 * stats.t.sf(4 / spread, 11)))
    assert pair.adjusted == pytest.approx(min(1, 3 * pair.p)) or pair.adjusted == pytest.approx(2 * pair.p)
    equal = ranking.rank_paired(["a", "b"], np.array([1.0, 3.0]), np.array([[0.0, 2.0]] * 9), df=5)
    assert equal.pairs[0].p == 2.0**-5 and equal.pairs[0].low == equal.pairs[0].high == 2
    same = ranking.rank_paired(["a", "b"], np.ones(2), np.zeros((9, 2)))
    assert same.pairs[0].p == 1 and same.ranks == (1, 1)
    lost = ranking.rank_paired(["a", "b", "c"], np.array([1.0, np.nan, 0.9]), drawn)
    assert lost.names[-1] == "b" and lost.ranks[-1] == 3 and np.isnan(lost.pair("a", "b").p)
    none = ranking.rank_paired(["a", "b"], np.array([1.0, 2.0]), drawn[:1, :2])
    assert np.isnan(none.pairs[0].p) and none.ranks == (1, 1)
    assert np.isnan(ranking.rank_paired(["a", "b"], np.array([1.0, 2.0]), drawn[:, :2], df=0).pairs[0].p)
    for wrong in ((["a"], np.ones(2), drawn), (["a", "a"], np.ones(2), drawn[:, :2])):
        with pytest.raises(ValueError, match=r"names|same name"):
            ranking.rank_paired(*wrong)


def test_scores_of_units_are_ranked_by_their_means():
    random = np.random.default_rng(7)
    person = random.integers(0, 20, 60)
    scores = random.normal(0, 1, (60, 2)) + np.array([[0.0, 0.2]])
    found = rank_scores(["old", "new"], scores, clusters=person, draws=4000)
    pair = found.pairs[0]
    assert dict(zip(found.names, found.estimates, strict=True)) == pytest.approx(
        {"old": scores[:, 0].mean(), "new": scores[:, 1].mean()}
    )
    gap = scores[:, 1] - scores[:, 0]
    residual = np.bincount(person, gap - gap.mean())
    sizes = np.bincount(person)
    used = sizes[sizes > 0]
    spread = math.sqrt(len(used) / (len(used) - 1) * (residual**2).sum()) / 60
    t = stats.t.ppf(0.975, 60**2 / (used**2).sum() - 1)
    assert (pair.high - pair.low) / 2 == pytest.approx(t * spread, rel=0.05)
    assert ranking.effective_df(np.zeros(3)) == 0


# equity


def test_sums_of_units_by_cell_are_a_loop():
    from countenance.auditing.groups import Members
    from countenance.auditing.layout import Column
    from countenance.auditing.row_sums import RowSums
    from countenance.auditing.units import Units

    random = np.random.default_rng(9)
    person, cells = random.integers(0, 6, 40), random.integers(-1, 3, 40)
    values = np.where(random.random(40) < 0.2, np.nan, random.random(40))
    layout = RowSums((), Units((person,), (("identity",),), None), 40).layouts[0]
    found = equity._by_unit(layout, Members(cells), Column("x", "mean", values - 0.25, 0.25), 3)
    expected = np.zeros((6, 6))
    for who, cell, value in zip(person, cells, values, strict=True):
        if cell >= 0 and not np.isnan(value):
            expected[who, cell] += value
            expected[who, 3 + cell] += 1
    assert found == pytest.approx(expected)


def test_cohen_h_is_that_of_statsmodels():
    for a, b in ((0.1, 0.3), (0.9, 0.2), (0.0, 1.0)):
        assert cohen_h(a, b) == pytest.approx(proportion_effectsize(a, b))


def test_a_skewed_mean_keeps_only_the_variance_that_its_distance_does_not_explain():
    """The statistic of permutations of a mean, by plain sums over the values of two groups."""
    rng = np.random.default_rng(6)
    for shape in (rng.exponential, lambda size: np.where(rng.random(size) < 0.2, 0.0, 0.8), rng.standard_normal):
        one, two = shape(size=25), shape(size=80)
        both, n = np.r_[one, two], (25, 80)
        row = (25 * one.var() + 80 * two.var()) / 105
        variances = []
        for values in (one, two):
            away = values - values.mean()
            explained = 1.5 * (away**3).sum() / (away**2).sum() / len(values) * (values.mean() - both.mean())
            variances.append(max(values.var(ddof=1) / len(values) - explained, row / len(values)))
        welch = [max(values.var(ddof=1), row) / len(values) for values in (one, two)]
        df = sum(welch) ** 2 / sum(v**2 / (size - 1) for v, size in zip(welch, n, strict=True))
        t = (one.mean() - two.mean()) / np.sqrt(sum(variances))
        sides = [
            dataclasses.replace(simple(x), thirds=((x**3).sum(), (x**2).sum(), x.sum(), float(len(x))))
            for x in (one, two)
        ]
        assert float(tests.unskewed(*sides, Cross())) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)
