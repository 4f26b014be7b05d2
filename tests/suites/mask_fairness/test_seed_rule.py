"""The published rule to the digit, against statsmodels."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_effectsize, proportions_ztest

from countenance.suites.mask_fairness.seed_rule import seed_columns, seed_row, seed_table


@st.composite
def counts(draw):
    n1, n2 = draw(st.integers(1, 3000)), draw(st.integers(1, 3000))
    return draw(st.integers(0, n1)), n1, draw(st.integers(0, n2)), n2


@given(counts())
def test_z_p_and_h_equal_statsmodels(numbers):
    k1, n1, k2, n2 = numbers
    assume(0 < k1 + k2 < n1 + n2)
    row = seed_row("g", k1, n1, k2, n2)
    z, p = proportions_ztest([k1, k2], [n1, n2])
    assert row.z == pytest.approx(z, abs=1e-12, rel=1e-12)
    assert row.p == pytest.approx(p, abs=1e-12, rel=1e-12)
    assert row.h == pytest.approx(proportion_effectsize(k1 / n1, k2 / n2), abs=1e-12)


def test_the_example_of_one_error_is_severe_by_the_published_rule():
    row = seed_row("more than 70", 17, 18, 1929, 1937)
    assert (round(row.p, 4), round(row.h, 3), row.significant, row.severe) == (0.0013, -0.347, True, True)


def test_the_reference_measurement_of_rfb320():
    row = seed_row("Black", 240, 322, 1662 - 240, 2000 - 322)
    assert (round(row.rate_other, 3), round(row.z, 2), round(row.h, 3)) == (0.847, -4.48, -0.255)


def test_p_far_out_is_not_zero():
    assert 0 < seed_row("g", 100, 1000, 600, 1000).p < 1e-100  # 1 - cdf would give 0


def test_everybody_alike_is_untested_and_not_p_zero():
    row = seed_row("g", 5, 5, 7, 7)
    assert math.isnan(row.p) and not row.significant
    assert seed_columns(row)["significant"] is None


def test_no_faces_is_no_rate():
    row = seed_row("g", 0, 0, 3, 7)
    assert math.isnan(row.rate) and seed_columns(row)["severe"] is None


def test_severe_needs_significance():
    assert not seed_row("g", 1, 2, 9, 10).severe and abs(seed_row("g", 1, 2, 9, 10).h) > 0.2


def test_rows_outside_the_denominator_count_nowhere_and_unknown_is_compared_with_nobody():
    rows = seed_table("sex", ["f", "f", "m", "m", None], [1.0, None, 0.0, 1.0, 1.0])
    assert [(r.group, r.k, r.n, r.k_other, r.n_other) for r in rows] == [
        ("f", 1, 1, 1, 2),
        ("m", 1, 2, 1, 1),
        ("(unknown)", 1, 1, 0, 0),
    ]


def test_groups_stand_in_their_natural_order():
    ages = ["10-19", "more than 70", "3-9", "0-2"]
    assert [row.group for row in seed_table("age", ages, [1.0] * 4)] == ["0-2", "3-9", "10-19", "more than 70"]
