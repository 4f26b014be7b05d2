"""What must hold for every table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest

from countenance.auditing import audit
from countenance.auditing.effects import rank_biserial
from countenance.auditing.estimates import bootstrap, simple, wilson
from countenance.auditing.multiplicity import benjamini_hochberg, holm
from countenance.auditing.sums import Cross
from countenance.auditing.tests import mcnemar, mcnemar_attainable, rates

few = settings(max_examples=25, deadline=None)


@st.composite
def tables(draw):
    seed = draw(st.integers(0, 10_000))
    groups = draw(st.integers(2, 5))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(40, 300))
    size = draw(st.integers(1, 6))
    identity = np.arange(n) // size
    shared = rng.random(identity.max() + 1)[identity] * draw(st.sampled_from([0.0, 0.5, 1.0]))
    ok = (rng.random(n) * 0.5 + shared * 0.5 < draw(st.floats(0.2, 0.9))).astype(int)
    value = ok if draw(st.booleans()) else np.round(ok + rng.normal(0, 1, n), 1)
    return {
        "g": rng.integers(0, groups, n).astype(str),
        "h": rng.integers(0, 2, n).astype(str),
        "identity": identity,
        "v": value,
    }


def numbers(found, relabel=None):
    back = relabel or {}
    keep = (
        "n",
        "clusters",
        "n_versus",
        "estimate",
        "low",
        "high",
        "difference",
        "diff_low",
        "diff_high",
        "p",
        "p_adjusted",
        "effect",
        "mde",
        "deff",
        "p_equivalence",
    )
    return {
        (f.attribute, back.get(f.group, f.group), f.versus): [getattr(f, name) for name in keep] for f in found.findings
    }


def same(one, two):
    assert one.keys() == two.keys()
    for key, values in one.items():
        assert values == pytest.approx(two[key], rel=1e-7, abs=1e-9, nan_ok=True), key


@few
@given(tables(), st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(rows, seed):
    order = np.random.default_rng(seed).permutation(len(rows["g"]))
    mixed = {name: column[order] for name, column in rows.items()}
    same(numbers(audit(rows, ["g", "h"], ["v"], min_n=5)), numbers(audit(mixed, ["g", "h"], ["v"], min_n=5)))


@few
@given(tables())
def test_the_names_of_groups_do_not_matter(rows):
    names = {str(i): f"group {i}" for i in range(9)}
    other = rows | {"g": np.array([names[g] for g in rows["g"]])}
    back = {new: old for old, new in names.items()}
    one, two = audit(rows, ["g"], ["v"], min_n=5), audit(other, ["g"], ["v"], min_n=5)
    for f, g in zip(one.findings, two.findings, strict=True):
        assert (f.group, f.verdict) == (back[g.group], g.verdict)
        assert (f.p, f.estimate) == pytest.approx((g.p, g.estimate), nan_ok=True)


@few
@given(tables(), st.sampled_from(["rest", "pairs", "reference"]))
def test_intervals_contain_their_estimates_and_p_is_a_probability(rows, comparison):
    for f in audit(rows, ["g", "h"], ["v"], min_n=5, comparison=comparison).findings:
        if f.verdict == "untestable":
            assert math.isnan(f.p)
            continue
        assert f.low <= f.estimate <= f.high and f.deff >= 1
        if math.isnan(f.p):  # neither side varies
            assert math.isnan(f.p_adjusted)
            continue
        assert f.diff_low <= f.difference <= f.diff_high and f.effect_low <= f.effect <= f.effect_high
        assert 0 <= f.p <= f.p_adjusted <= 1 and f.mde > 0


@few
@given(st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=30))
def test_holm_is_monotone_never_below_p_and_equals_statsmodels(p):
    p = np.array(p, dtype=float)
    for ours, theirs in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        adjusted = ours(p)
        known = ~np.isnan(p)
        assert (np.isnan(adjusted) == ~known).all() and (adjusted[known] >= p[known] * (1 - 1e-12)).all()
        assert (np.diff(adjusted[known][np.argsort(p[known], kind="stable")]) >= -1e-12).all()
        if known.any():
            np.testing.assert_allclose(adjusted[known], multipletests(p[known], method=theirs)[1], rtol=1e-6)


@few
@given(st.integers(20, 500), st.integers(20, 500), st.floats(0.2, 0.8), st.floats(0.2, 0.8))
def test_z_equals_statsmodels(n1, n2, p1, p2):
    k1, k2 = round(n1 * p1), round(n2 * p2)
    one, two = (simple(np.repeat([1.0, 0.0], [k, n - k])) for k, n in ((k1, n1), (k2, n2)))
    test = rates(one, two, Cross())
    if not test.exact:
        found = float(test.z), float(test.p)
        assert found == pytest.approx(proportions_ztest([k1, k2], [n1, n2]), rel=1e-9, abs=1e-12)


@few
@given(st.integers(1, 1000), st.floats(0, 1), st.floats(0.01, 0.5))
def test_wilson_is_within_zero_and_one(n, share, alpha):
    k = round(n * share)
    low, high = wilson(k, n, alpha)
    assert 0 <= low <= k / n <= high <= 1


@few
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_rank_biserial_is_the_share_of_pairs_won_minus_lost(x, y):
    found = rank_biserial(np.array(x), np.array(y)).r
    assert found == pytest.approx(np.mean([np.sign(a - b) for a in x for b in y]), abs=1e-12)


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_clustered_mcnemar_counts_every_swap(counts):
    gains, losses = np.array(counts).T
    net = gains - losses
    swaps = np.array(np.meshgrid(*[[-1, 1]] * len(net))).reshape(len(net), -1)
    expected = (np.abs(swaps.T @ net) >= abs(net.sum())).mean()
    assert mcnemar(gains, losses)[2] == pytest.approx(expected)


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8))
def test_every_p_that_clustered_mcnemar_can_give_is_listed(counts):
    gains, losses = np.array(counts).T
    swaps = np.array(np.meshgrid(*[[False, True]] * len(gains))).reshape(len(gains), -1).T
    each = [mcnemar(np.where(swap, losses, gains), np.where(swap, gains, losses))[2] for swap in swaps]
    listed = mcnemar_attainable(gains, losses)
    assert np.unique(np.round(each, 9)) == pytest.approx(np.unique(np.round(listed, 9)))
    assert (np.diff(listed) > 0).all() and listed[-1] == pytest.approx(1)


@few
@given(st.lists(st.tuples(st.floats(1e-6, 1), st.integers(-1, 12)), min_size=1, max_size=9))
def test_holm_of_exact_tests_is_the_plain_sum_over_what_each_test_can_reach(tests):
    """Step by step: the smallest p, the sum of what every test left could give at most there, then the next."""
    attainable = [None if d < 0 else mcnemar_attainable(np.ones(d), np.zeros(d)) for _, d in tests]
    p = np.array(
        [v if own is None else own[own >= min(v, own[-1])][0] for (v, _), own in zip(tests, attainable, strict=True)]
    )
    expected, largest, left = np.empty(len(p)), 0.0, list(range(len(p)))
    while left:
        first = min(left, key=lambda i: p[i])
        reach = [  # probabilities are sums of floats
            p[first] if attainable[i] is None else max([*attainable[i][attainable[i] <= p[first] * (1 + 1e-9)], 0])
            for i in left
        ]
        largest = max(largest, min(1.0, sum(reach)))
        expected[first] = largest
        left.remove(first)
    adjusted = holm(p, attainable)
    assert adjusted == pytest.approx(expected)
    assert (adjusted <= holm(p) + 1e-12).all() and (adjusted >= p - 1e-12).all()


@pytest.mark.slow
def test_exact_tests_keep_the_level_of_a_family():
    """Twelve changes of forty people without any effect, of which one to twelve people differ by chance."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(3000):
        discordant = rng.integers(1, 13, 12)
        counts = [(rng.random(d) < 0.5).astype(int) for d in discordant]
        p = np.array([mcnemar(gains, 1 - gains)[2] for gains in counts])
        alarms += (holm(p, [mcnemar_attainable(gains, 1 - gains) for gains in counts]) < 0.05).any()
    assert alarms / 3000 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 3000)


def test_the_bootstrap_agrees_with_the_robust_interval():
    rng = np.random.default_rng(0)
    sums = np.column_stack([rng.binomial(10, rng.beta(4, 1, 400)), np.full(400, 10)]).astype(float)
    low, high, drawn = bootstrap(sums, lambda s: s[:, 0] / s[:, 1])
    p = sums[:, 0].sum() / 4000
    half = 1.96 * np.sqrt(((sums[:, 0] - 10 * p) ** 2).sum()) / 4000
    assert (low, high) == pytest.approx((p - half, p + half), abs=0.002) and len(drawn) == 2000
    again = bootstrap(sums, lambda s: s[:, 0] / s[:, 1])
    assert (low, high) == (again[0], again[1])
