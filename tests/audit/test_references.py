"""Unclustered numbers equal statsmodels and scipy."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportion_effectsize,
    proportions_ztest,
)

from countenance.auditing import audit
from countenance.auditing.effects import RateGap
from countenance.auditing.estimates import wilson

NEAR = {"rel": 1e-9, "abs": 1e-12}


def table(seed, groups, sizes, rates):
    rng = np.random.default_rng(seed)
    g = np.repeat(groups, sizes)
    return {"g": list(g), "ok": (rng.random(len(g)) < np.repeat(rates, sizes)).astype(int)}


def assert_near(a, b):
    assert a == pytest.approx(b, nan_ok=True, **NEAR)


def arcsine_mover(k1, n1, k2, n2):
    """The interval of Cohen's h from the arcsines of statsmodels' Wilson limits."""
    one, low1, high1, two, low2, high2 = (
        2 * math.asin(math.sqrt(p))
        for k, n in ((k1, n1), (k2, n2))
        for p in (k / n, *proportion_confint(k, n, method="wilson"))
    )
    h = one - two
    return h - math.hypot(one - low1, high2 - two), h + math.hypot(high1 - one, two - low2)


def check_rates(f, k1, n1, k2, n2):
    assert (f.n, f.n_versus) == (n1, n2)
    assert_near(f.estimate, k1 / n1)
    assert_near((f.low, f.high), proportion_confint(k1, n1, method="wilson"))
    assert_near((f.low_versus, f.high_versus), proportion_confint(k2, n2, method="wilson"))
    assert_near(
        (f.diff_low, f.diff_high),
        confint_proportions_2indep(k1, n1, k2, n2, compare="diff", method="newcomb"),
    )
    h = proportion_effectsize(k1 / n1, k2 / n2)
    assert_near(f.effect, h)
    assert_near((f.effect_low, f.effect_high), arcsine_mover(k1, n1, k2, n2))
    cells = [[k1, n1 - k1], [k2, n2 - k2]]
    if stats.contingency.expected_freq(cells).min() < (20 if 0.05 / f.family_size < 0.01 else 5):
        assert f.test == "Fisher's exact"
        assert_near(f.p, stats.fisher_exact(cells)[1])
    else:
        z, p = proportions_ztest([k1, k2], [n1, n2])
        assert f.test == "two-proportion z"
        assert_near((f.test_statistic, f.p), (z, p))


def test_the_example_of_the_specification():
    rows = {"g": ["a"] * 150 + ["b"] * 545, "ok": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    [f] = audit(rows, ["g"], ["ok"], adjust="holm").findings
    assert (round(f.test_statistic, 6), round(f.p, 6)) == (1.650523, 0.098836) and f.p_adjusted == f.p
    check_rates(f, 120, 150, 400, 545)
    [shuffled] = audit(rows, ["g"], ["ok"]).findings
    assert shuffled.z == f.z and shuffled.p == shuffled.p_adjusted == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_rest_equals_statsmodels(seed):
    sizes = np.random.default_rng(seed).integers(25, 400, 5)
    rows = table(seed, list("abcde"), sizes, [0.97, 0.9, 0.93, 0.99, 0.5])
    g, ok = np.array(rows["g"]), rows["ok"]
    found = audit(rows, ["g"], ["ok"], adjust="holm")
    assert [f.group for f in found.findings] == list("abcde")
    for f in found.findings:
        here = g == f.group
        check_rates(f, ok[here].sum(), here.sum(), ok[~here].sum(), (~here).sum())
    p = [f.p for f in found.findings]
    assert_near([f.p_adjusted for f in found.findings], list(multipletests(p, method="holm")[1]))
    again = audit(rows, ["g"], ["ok"], adjust="bh")
    assert_near([f.p_adjusted for f in again.findings], list(multipletests(p, method="fdr_bh")[1]))


def test_a_column_of_distinct_samples_changes_nothing():
    rows = table(3, list("abc"), [80, 200, 300], [0.9, 0.8, 0.85])
    plain = audit(rows, ["g"], ["ok"])
    own = audit(rows | {"sample": [f"s{i}" for i in range(580)]}, ["g"], ["ok"])
    for one, two in zip(plain.findings, own.findings, strict=True):
        assert one.model_dump_json() == two.model_dump_json()


def test_pairs_and_reference_compare_two_groups_only():
    rows = table(1, list("abcd"), [100, 150, 200, 250], [0.9, 0.8, 0.7, 0.9])
    g, ok = np.array(rows["g"]), rows["ok"]
    found = audit(rows, ["g"], ["ok"], comparison="pairs").findings
    assert len(found) == 6
    named = audit(rows, ["g"], ["ok"], comparison="reference", reference="b", adjust="holm").findings
    assert [(f.group, f.versus) for f in named] == [("a", "b"), ("c", "b"), ("d", "b")]
    for f in [*found, *named]:
        x, y = ok[g == f.group], ok[g == f.versus]
        check_rates(f, x.sum(), len(x), y.sum(), len(y))
    largest = audit(rows, ["g"], ["ok"], comparison="reference").findings
    assert {f.versus for f in largest} == {"d"}


def floored_welch(one, two):
    """Welch's t where each side has at least the variance that the rows of both imply."""
    row = (len(one) * one.var() + len(two) * two.var()) / (len(one) + len(two))
    v1, v2 = (max(x.var(ddof=1), row) / len(x) for x in (one, two))
    df = (v1 + v2) ** 2 / (v1**2 / (len(one) - 1) + v2**2 / (len(two) - 1))
    return (one.mean() - two.mean()) / math.sqrt(v1 + v2), df, math.sqrt(v1 + v2)


def test_means_equal_welch_where_the_floor_does_not_bind():
    x, y = np.tile([0.1, 0.9, 0.5, 0.4], 10), np.tile([0.2, 1.0, 0.6, 0.5], 25)
    [f] = audit({"g": ["a"] * 40 + ["b"] * 100, "v": np.r_[x, y]}, ["g"], ["v"], adjust="holm").findings
    t, df, _ = floored_welch(x, y)
    assert_near(f.p_mean, 2 * stats.t.sf(abs(t), df))
    assert f.p_mean == pytest.approx(stats.ttest_ind(x, y, equal_var=False).pvalue, rel=0.05)


@pytest.mark.parametrize("comparison", ["pairs", "rest"])
def test_means_equal_scipy(comparison):
    rng = np.random.default_rng(5)
    g = np.repeat(list("abc"), [40, 60, 90])
    x = np.round(rng.normal(np.repeat([0.5, 0.6, 0.55], [40, 60, 90]), 0.2), 2)
    ranks = stats.rankdata(x)
    for f in audit({"g": list(g), "v": x}, ["g"], ["v"], comparison=comparison, adjust="holm").findings:
        inside = g == f.group
        outside = g == f.versus if comparison == "pairs" else ~inside
        one = x[g == f.group]
        two = x[g == f.versus] if comparison == "pairs" else x[g != f.group]
        assert_near(f.estimate, one.mean())
        assert_near((f.low, f.high), stats.t.interval(0.95, len(one) - 1, one.mean(), stats.sem(one)))
        t, df, se = floored_welch(one, two)
        half = stats.t.ppf(0.975, df) * se
        assert_near((f.diff_low, f.diff_high), (one.mean() - two.mean() - half, one.mean() - two.mean() + half))
        u = stats.mannwhitneyu(one, two, alternative="two-sided")
        assert_near(f.effect, 2 * u.statistic / (len(one) * len(two)) - 1)
        assert_near(f.p_mean, 2 * stats.t.sf(abs(t), df))
        t, df, _ = floored_welch(ranks[inside], ranks[outside])  # of the ranks among everybody
        assert_near(f.p_rank, 2 * stats.t.sf(abs(t), df))
        assert_near(f.p, min(1.0, 2 * min(f.p_mean, f.p_rank)))
        assert f.statistic == ("mean" if f.p_mean <= f.p_rank else "rank")


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_equals_statsmodels(seed):
    rng = np.random.default_rng(seed)
    base = rng.random(120)
    one, two = (base < 0.8).astype(int), ((base + rng.normal(0, 0.1, 120)) < 0.7).astype(int)
    rows = {"twin": list(range(120)) * 2, "tone": ["dark"] * 120 + ["light"] * 120, "ok": np.r_[one, two]}
    [f] = audit(rows, ["tone"], ["ok"], comparison="paired", pair="twin").findings
    cells = [[((one == a) & (two == b)).sum() for b in (1, 0)] for a in (1, 0)]
    expected = sm_mcnemar(cells, exact=True)
    assert_near((f.p, f.test_statistic), (expected.pvalue, expected.statistic))
    assert_near(f.difference, one.mean() - two.mean())
    assert f.diff_low <= f.difference <= f.diff_high
    assert f.n == 120


def test_the_minimum_detectable_effect_equals_statsmodels():
    rows = table(2, ["a", "b"], [150, 545], [0.8, 0.8])
    [f] = audit(rows, ["g"], ["ok"], adjust="holm").findings
    h = NormalIndPower().solve_power(nobs1=150, ratio=545 / 150, alpha=0.05, power=0.8)
    assert f.mde == pytest.approx(h, abs=1e-4)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 7), (999, 1000)])
def test_wilson_equals_statsmodels(k, n):
    assert_near(wilson(k, n, 0.1), proportion_confint(k, n, alpha=0.1, method="wilson"))
    theirs = confint_proportions_2indep(k, n, 5, 9, compare="diff", method="newcomb")
    assert_near(RateGap(k / n, n, 5 / 9, 9).difference(0.05), theirs)
