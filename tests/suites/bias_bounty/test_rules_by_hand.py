"""The bias bounty's scores: the published check values, scikit-learn and scipy as oracles, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.suites.bias_bounty import rules as bounty

BASELINE_ACC = {"skin_tone": 0.25766666666666665, "gender": 0.7966666666666666, "age": 0.5783333333333334}
BASELINE_DISP = {"skin_tone": 0.5514223194748359, "gender": 0.1493182689960596, "age": 0.7802908824936}


def test_the_published_baseline_scores_what_was_published() -> None:
    assert bounty.score1(BASELINE_ACC, BASELINE_DISP) == 4.705572543130653


def test_a_perfect_model_scores_the_maximum() -> None:
    ones, zeros = dict.fromkeys(bounty.CLASS_COUNTS, 1.0), dict.fromkeys(bounty.CLASS_COUNTS, 0.0)
    assert bounty.score1(ones, zeros) == bounty.MAXIMUM == 16


@given(st.integers(0, 2**32 - 1))
def test_a_constant_predictor_scores_exactly_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    acc, disp = {}, {}
    for name, k in bounty.CLASS_COUNTS.items():
        truth = np.concatenate([np.arange(k), rng.integers(0, k, 50)])
        said = np.full(truth.shape, rng.integers(k))
        acc[name] = bounty.accuracy(truth, said)
        disp[name] = bounty.disparity(bounty.per_class_accuracy(truth, said, k))
    assert bounty.score1(acc, disp) == 0.0


def test_a_uniform_guesser_on_three_thousand_rows_scores_about_2_98() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        truth = {name: rng.integers(0, k, 3000) for name, k in bounty.CLASS_COUNTS.items()}
        said = {name: rng.integers(0, k, 3000) for name, k in bounty.CLASS_COUNTS.items()}
        found.append(bounty.scores_from_sums(bounty.class_sums(truth, said).sum(axis=0, keepdims=True))[0, 6])
    # The specification's 2.984 ± .067 is on the real label counts; even counts move the mean by less than that.
    assert abs(np.mean(found) - 2.984) < 0.02
    assert abs(np.std(found) - 0.067) < 0.01


def test_the_largest_product_of_multipliers_is_2_0592() -> None:
    tests = [bounty.randomness(np.arange(5000) % k, name, k) for name, k in bounty.CLASS_COUNTS.items()]
    product = math.prod(test.multiplier for test in tests)
    assert bounty.score2(1.0, product, 1.2) == pytest.approx(2.0592, abs=1e-15)


rows = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=60)


@settings(deadline=None)  # the first example imports scikit-learn
@given(rows)
def test_accuracy_and_confusion_agree_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix

    truth, said = (np.array(column) for column in zip(*pairs, strict=True))
    known = truth >= 0
    if not known.any():
        assert math.isnan(bounty.accuracy(truth, said))
        return
    assert bounty.accuracy(truth, said) == accuracy_score(truth[known], said[known])
    expected = confusion_matrix(truth[known], said[known], labels=range(4))
    np.testing.assert_array_equal(bounty.confusion(truth, said, 4), expected)


def test_a_class_without_truth_rows_is_left_out_of_the_disparity() -> None:
    shares = bounty.per_class_accuracy([0, 0, 1, 1], [0, 0, 1, 2], 3)
    assert np.isnan(shares[2])
    assert bounty.disparity(shares) == 0.5


def test_no_labelled_row_is_no_number() -> None:
    assert math.isnan(bounty.accuracy([-1, -1], [0, 1]))
    assert math.isnan(bounty.disparity(bounty.per_class_accuracy([-1], [0], 2)))


def test_truth_and_predictions_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="3 true classes and 2 predicted"):
        bounty.accuracy([0, 1, 1], [0, 1])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_scores_from_sums_are_the_scores_of_the_rows(seed: int, clustered: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    truth = {name: rng.integers(-1, k, n) for name, k in bounty.CLASS_COUNTS.items()}
    said = {name: rng.integers(0, k, n) for name, k in bounty.CLASS_COUNTS.items()}
    sums = bounty.class_sums(truth, said, rng.integers(0, 4, n) if clustered else None)
    found = bounty.scores_from_sums(sums.sum(axis=0, keepdims=True))[0]
    acc = {name: bounty.accuracy(truth[name], said[name]) for name in bounty.CLASS_COUNTS}
    disp = {
        name: bounty.disparity(bounty.per_class_accuracy(truth[name], said[name], k))
        for name, k in bounty.CLASS_COUNTS.items()
    }
    expected = [*acc.values(), *disp.values(), bounty.score1(acc, disp)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_the_fair_disparity_of_gender_is_the_published_one() -> None:
    # Published for 3,000 rows without the split by gender; it holds for splits up to about 40 to 60.
    mean, high = bounty.fair_disparity([1200, 1800], 0.842)
    assert mean == pytest.approx(0.011, abs=5e-4)
    assert high == pytest.approx(0.027, abs=1e-3)


def test_a_fair_model_of_ten_classes_looks_unfair_and_more_so_when_pictures_share_a_person() -> None:
    mean, _ = bounty.fair_disparity([300] * 10, 0.29)
    clustered, _ = bounty.fair_disparity([300] * 10, 0.29, deff=4.0)
    assert 0.07 < mean < 0.112
    assert clustered == pytest.approx(2 * mean, rel=0.05)


def test_many_non_faces_are_tested_with_the_chi_squared_distribution() -> None:
    from scipy.stats import chisquare

    counts = np.array([12, 7, 9, 30, 8, 10, 11, 9, 14, 0])
    statistic, p, method = bounty.uniformity_p(counts)
    assert method == "chi-squared"
    assert (statistic, p) == pytest.approx(tuple(chisquare(counts)), abs=1e-14)


def test_empty_classes_count_against_evenness() -> None:
    assert bounty.randomness([0, 1, 2, 3, 4] * 20, "skin_tone", 10).passed is False


def test_few_non_faces_get_a_monte_carlo_p_near_the_exact_one() -> None:
    from scipy.stats import binom

    counts = [6, 2]  # the exact p: two-sided, equal shares
    exact = 2 * binom.cdf(2, 8, 0.5)
    _, p, method = bounty.uniformity_p(counts)
    assert method == "Monte Carlo"
    assert p == pytest.approx(exact, abs=0.006)


def test_passing_is_failing_to_reject() -> None:
    even = bounty.randomness(np.repeat([0, 1], [52, 48]), "gender", 2)
    uneven = bounty.randomness(np.repeat([0, 1], [70, 30]), "gender", 2)
    assert (even.passed, even.multiplier) == (True, 1.1)
    assert (uneven.passed, uneven.multiplier) == (False, 1.0)


def test_too_even_is_flagged() -> None:
    assert bounty.randomness(np.arange(1000) % 10, "skin_tone", 10).too_even
    assert not bounty.randomness(np.repeat([0, 1], [52, 48]), "gender", 2).too_even


def test_no_non_faces_is_not_applicable() -> None:
    test = bounty.randomness([], "age", 4)
    assert math.isnan(test.p)
    assert test.passed is None
    assert test.multiplier == 1.0
    assert not test.too_even


def test_an_honest_guesser_passes_all_three_in_85_7_percent() -> None:
    rng = np.random.default_rng(1)
    passed = np.mean(
        [
            all(bounty.randomness(rng.integers(0, k, 400), name, k).passed for name, k in bounty.CLASS_COUNTS.items())
            for _ in range(1500)
        ]
    )
    assert abs(bounty.HONEST_PASS - 0.857) < 5e-4
    assert passed == pytest.approx(bounty.HONEST_PASS, abs=0.03)


def test_twenty_entries_fill_the_tiers_without_a_hole() -> None:
    times = [float(i) for i in range(20)]
    assert bounty.efficiency(times) == [1.2] * 2 + [1.1] * 3 + [1.0] * 15


def test_the_strict_rubric_leaves_the_published_hole() -> None:
    # Of 24 entries the third stands at 12.5 %: in neither published tier. The first at 15 % is back in.
    found = bounty.efficiency([float(i) for i in range(24)], strict_rubric=True)
    assert found[:7] == [1.2, 1.2, 1.0, 1.1, 1.1, 1.1, 1.0]
    assert bounty.efficiency([float(i) for i in range(20)], strict_rubric=True)[:5] == [1.2, 1.2, 1.1, 1.1, 1.1]


def test_ties_share_the_better_rank() -> None:
    assert bounty.efficiency([1.0, 1.0, *[2.0] * 8]) == [1.2, 1.2] + [1.0] * 8


def test_fewer_than_ten_entries_leave_the_top_tier_empty() -> None:
    for count in range(1, 10):
        assert 1.2 not in bounty.efficiency([float(i) for i in range(count)])


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=40))
def test_a_faster_entry_never_earns_less(times: list[float]) -> None:
    ranked = sorted(zip(times, bounty.efficiency(times), strict=True))
    multipliers = [multiplier for _, multiplier in ranked]
    assert multipliers == sorted(multipliers, reverse=True)


def test_a_monte_carlo_p_counts_the_observed_table_in():
    drawn = np.random.default_rng(3).multinomial(4, [0.5, 0.5], size=50)
    as_uneven = sum(abs(a - b) >= 2 for a, b in drawn)
    assert bounty.uniformity_p([3, 1], seed=3, replicates=50) == (1.0, (1 + as_uneven) / 51, "Monte Carlo")
