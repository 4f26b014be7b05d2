"""Ranking by paired differences: who is shown to be better, how often equal entries are called different."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.naive import rank_scores

from countenance.auditing import ranking
from countenance.auditing.ranking import effective_df, numerical_bootstrap, rank_paired


def together(columns: int, draws: int = 2000, own: float = 0.1, seed: int = 0) -> np.ndarray:
    """Replicates of entries that all do well and badly on the same draws of people."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(draws, 1)) + rng.normal(scale=own, size=(draws, columns))


def test_entries_whose_own_intervals_overlap_are_told_apart_by_their_difference() -> None:
    drawn = together(2)
    found = rank_paired(["a", "b"], np.array([9.58, 9.0]), drawn)
    half = 1.96 * drawn[:, 0].std()
    assert 9.58 - half < 9.0 + half  # the intervals of single entries overlap
    assert found.ranks == (1, 2)
    assert found.first == ("a",)
    assert found.pairs[0].low > 0


def test_the_difference_is_the_one_that_a_paired_t_test_finds() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(40, 1)) + rng.normal(scale=0.5, size=(40, 2)) + [[0.0, 0.2]]
    pair = rank_scores(["old", "new"], scores, draws=40_000).pair("old", "new")
    expected = stats.ttest_rel(scores[:, 1], scores[:, 0])
    low, high = expected.confidence_interval()
    assert pair.difference == pytest.approx(scores[:, 1].mean() - scores[:, 0].mean())
    assert pair.p == pytest.approx(expected.pvalue, rel=0.05)
    assert (pair.low, pair.high) == pytest.approx((low, high), abs=0.02)


def test_a_chain_of_small_steps_ties_neighbours_and_not_the_ends() -> None:
    drawn = np.random.default_rng(0).normal(scale=1 / math.sqrt(2), size=(4000, 3))
    found = rank_paired(["a", "b", "c"], np.array([9.0, 7.5, 6.0]), drawn)  # a and c are 3 standard errors apart
    assert found.ranks == (1, 1, 2)
    assert found.tied == (True, True, False)
    assert found.first == ("a", "b")


def test_many_pairs_need_stronger_evidence() -> None:
    drawn = np.random.default_rng(1).normal(scale=1 / math.sqrt(2), size=(4000, 6))
    two = rank_paired(["a", "b"], np.array([2.2, 0.0]), drawn[:, :2])
    six = rank_paired(list("abcdef"), np.array([2.2, 0, 0, 0, 0, 0]), drawn)
    assert two.pairs[0].decided
    assert six.pair("a", "b").p < 0.05 < six.pair("a", "b").adjusted
    assert six.first == ("a", "b", "c", "d", "e", "f")


def test_an_entry_never_loses_to_one_with_a_lower_estimate() -> None:
    rng = np.random.default_rng(2)
    drawn = np.column_stack([rng.normal(size=500), rng.normal(scale=3, size=500), rng.normal(scale=0.01, size=500)])
    found = rank_paired(["a", "b", "c"], np.array([5.0, 4.0, 0.0]), drawn)
    assert found.names[0] == "a"
    assert found.ranks[0] == 1
    assert list(found.ranks) == sorted(found.ranks)


def test_equal_entries_and_entries_without_a_score_decide_nothing() -> None:
    drawn = together(1)
    same = rank_paired(["a", "b", "c"], np.array([1.0, 1.0, np.nan]), np.repeat(drawn, 3, axis=1))
    assert same.ranks == (1, 1, 3)
    assert same.first == ("a", "b")
    assert same.pair("a", "b").p == 1
    assert math.isnan(same.pair("a", "c").p)
    assert same.names[-1] == "c"


def test_the_same_difference_in_every_unit_has_the_p_of_the_sign_flip_test() -> None:
    for units, decided in ((4, False), (30, True)):
        pair = rank_scores(["a", "b"], np.tile([1.0, 0.0], (units, 1))).pairs[0]
        assert pair.p == 2.0 ** (1 - units)
        assert pair.decided is decided
        assert (pair.low, pair.high) == (1, 1)


def test_one_unit_or_none_says_nothing() -> None:
    for units in (0, 1):
        found = rank_scores(["a", "b"], np.tile([1.0, 0.0], (units, 1)))
        assert found.ranks == (1, 1)


def test_pictures_of_one_person_count_as_one() -> None:
    rng = np.random.default_rng(4)
    people = rng.normal(size=(20, 2))
    alone = rank_scores(["a", "b"], people)
    copies = rank_scores(["a", "b"], np.repeat(people, 8, axis=0), clusters=np.repeat(np.arange(20), 8))
    assert copies.pairs[0].p == pytest.approx(alone.pairs[0].p)
    naive = rank_scores(["a", "b"], np.repeat(people, 8, axis=0))
    assert naive.pairs[0].p < alone.pairs[0].p / 3


def test_wrong_shapes_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match="a column of replicates for each name"):
        rank_paired(["a", "b"], np.zeros(2), np.zeros((10, 3)))
    with pytest.raises(ValueError, match="same name"):
        rank_paired(["a", "a"], np.zeros(2), np.zeros((10, 2)))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(3, 25), st.integers(0, 2**20))
def test_a_ranking_hangs_together(entries: int, units: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (units, entries)).astype(float)
    names = [f"e{i}" for i in range(entries)]
    found = rank_scores(names, scores, draws=200, seed=seed)
    assert sorted(found.names) == names
    assert list(found.ranks) == sorted(found.ranks)
    assert len(found.pairs) == entries * (entries - 1) // 2
    for name, rank in zip(found.names, found.ranks, strict=True):
        assert rank == 1 + sum(pair.decided for pair in found.pairs if pair.worse == name)
    for pair in found.pairs:
        assert pair.difference >= 0
        assert pair.low <= pair.difference <= pair.high
        assert pair.adjusted >= pair.p
        assert pair.decided == (pair.adjusted < found.alpha)
    order = rng.permutation(entries)
    again = rank_scores([names[i] for i in order], scores[:, order], draws=200, seed=seed)
    assert again.estimates == pytest.approx(found.estimates)
    assert dict(zip(again.names, again.ranks, strict=True)) == dict(zip(found.names, found.ranks, strict=True))


def spread(sums: np.ndarray) -> np.ndarray:
    """Largest minus smallest mean of eight classes, for two entries: what makes an ordinary bootstrap too wide."""
    share = sums[..., :8] / sums[..., 8:]
    return share.max(axis=-1) - share.min(axis=-1)


def test_equal_entries_are_rarely_called_different_and_unlike_ones_mostly_are() -> None:
    """The largest minus the smallest of eight classes, five people each."""
    rng = np.random.default_rng(11)
    false, found, trials = 0, 0, 200
    classes = np.tile(np.arange(8), 5)
    member = np.eye(8)[classes]
    for trial in range(trials):
        hard = rng.normal(scale=0.15, size=(40, 1))  # people who are hard for every entry
        scores = 0.7 + hard + rng.normal(scale=0.1, size=(40, 3))
        scores[:, 2] -= 0.6 * (classes == 3)  # the third entry fails one class
        sums = np.concatenate([scores[:, :, None] * member[:, None], np.repeat(member[:, None], 3, 1)], axis=2)
        estimates, drawn = numerical_bootstrap(sums, spread, draws=400, seed=trial)
        ranking = rank_paired(["a", "b", "c"], estimates, drawn, df=effective_df(np.ones(40)))
        false += ranking.pair("a", "b").p < 0.05
        found += ranking.pair("a", "c").decided
    assert false / trials <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / trials)
    assert found / trials > 0.8


def test_replicates_of_a_mean_spread_as_its_standard_error() -> None:
    values = np.random.default_rng(5).normal(size=(60, 1))
    sums = np.column_stack([values, np.ones(60)])
    estimate, drawn = numerical_bootstrap(sums, lambda s: s[:, :1] / s[:, 1:], draws=20_000)
    assert estimate[0] == pytest.approx(values.mean())
    assert drawn.std(ddof=1) == pytest.approx(values.std(ddof=1) / math.sqrt(60), rel=0.03)


def test_two_draws_make_an_interval_and_one_does_not() -> None:
    low, high, p = ranking._compare(0.5, np.array([0.4, 0.6, math.nan]), 3.0, 0.05)
    spread = math.sqrt(0.02)  # of 0.4 and 0.6
    half = stats.t.ppf(0.975, 3) * spread
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    assert p == pytest.approx(2 * stats.t.sf(0.5 / spread, 3))
    for difference, drawn, df in ((0.5, [0.4], 3.0), (math.nan, [0.4, 0.6], 3.0), (0.5, [0.4, 0.6], 0.0)):
        assert np.isnan(ranking._compare(difference, np.array(drawn), df, 0.05)).all()
