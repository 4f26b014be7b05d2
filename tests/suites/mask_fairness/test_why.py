"""Why the rules differ: each cause on rows made to have it."""

import numpy as np
import pytest
from scipy import stats

from countenance.auditing import audit
from countenance.suites.mask_fairness.causes import exact_p, why
from countenance.suites.mask_fairness.seed_rule import seed_row, seed_table


def both_rules(groups, values, group, clusters=None, **settings):
    table = {"attr.g": groups, "m.x": values}
    if clusters is not None:
        table["sample"] = clusters
    found = audit(table, by=["g"], metrics=["x"], **settings)
    seed = next(row for row in seed_table("g", groups, values) if row.group == group)
    finding = next(f for f in found.findings if f.group == group)
    return why(seed, finding)


def rows(**counts):
    groups, values = [], []
    for group, (k, n) in counts.items():
        groups += [group] * n
        values += [1.0] * k + [0.0] * (n - k)
    return groups, values


def test_a_clear_difference_is_found_by_both():
    cause, sentence = both_rules(*rows(a=(100, 200), b=(190, 200), c=(190, 200)), "a")
    assert cause == "agree" and "both rules find it (severe" in sentence


def test_one_error_in_a_small_cell_is_no_finding():
    groups, values = rows(old=(19, 20), young=(1929, 1937), adult=(100, 100))
    cause, sentence = both_rules(groups, values, "old")
    assert cause == "small cell" and "Fisher's exact" in sentence and "1 error among 20 faces" in sentence


def test_a_group_below_the_smallest_size_is_a_small_cell():
    cause, sentence = both_rules(*rows(old=(17, 18), young=(1929, 1937), adult=(30, 30)), "old")
    assert cause == "small cell" and "fewer than 20" in sentence


def test_one_of_many_comparisons():
    others = {f"g{i}": (90, 100) for i in range(12)}
    cause, sentence = both_rules(*rows(a=(83, 100), **others), "a")
    assert cause == "multiplicity" and "one of 13 comparisons" in sentence


def test_faces_of_one_photograph_stand_or_fall_together():
    random = np.random.default_rng(3)
    groups, values, clusters = [], [], []
    for group, share in (("a", 0.6), ("b", 0.8)):
        for photo in range(40):
            right = float(random.random() < share)
            groups += [group] * 8
            values += [right] * 8
            clusters += [f"{group}{photo}"] * 8
    cause, sentence = both_rules(groups, values, "a", clusters)
    assert cause == "clustering" and "design effect" in sentence


def test_nothing_found_in_few_faces_proves_nothing():
    cause, sentence = both_rules(*rows(a=(27, 30), b=(28, 30), c=(27, 30)), "a")
    assert cause == "power" and "not a proof of fairness" in sentence


def test_nothing_found_in_many_faces_is_agreement():
    cause, _ = both_rules(*rows(a=(4750, 5000), b=(4750, 5000), c=(4751, 5000)), "a")
    assert cause == "agree"


@pytest.mark.parametrize("missing", [(0, 0), (30, 30)])
def test_no_faces_or_no_variance_is_not_testable(missing):
    groups, values = rows(a=(30, 30), b=missing)
    seed = seed_table("g", groups, values)[0]
    assert why(seed, None) == ("not testable", "no faces to compare")


def known(groups, values, group="a", **update):
    """A group by the published rule, and a finding with what a case needs."""
    found = audit({"attr.g": groups, "m.x": values}, by=["g"], metrics=["x"])
    seed = next(row for row in seed_table("g", groups, values) if row.group == group)
    finding = next(one for one in found.findings if group in (one.group, one.versus))
    return seed, finding.model_copy(update=update)


def test_what_the_audit_alone_finds_is_the_clustering():
    seed, finding = known(*rows(a=(90, 100), b=(93, 100)), verdict="disparity", p_adjusted=0.012)
    cause, sentence = why(seed, finding)
    assert cause == "clustering" and sentence.startswith("only the audit finds it (adjusted p 0.012)")


def test_neither_rule_and_not_tested_says_why():
    seed, finding = known(*rows(a=(90, 100), b=(93, 100)), verdict="untestable", reason="too few")
    assert why(seed, finding) == (
        "not testable",
        "no difference by the published rule; the audit does not test it: too few",
    )


def test_the_rarer_outcome_is_the_one_that_is_counted():
    """Where most succeed an error is rare, where most fail a success is; either may be one or several."""
    seed, finding = known(*rows(a=(98, 100), b=(1929, 1937)), verdict="insufficient evidence", p=0.001)
    assert "it rests on 2 errors among 100 faces" in why(seed, finding)[1]
    for successes, of, told in ((2, 100, "2 successes among 100"), (1, 30, "1 success among 30")):
        seed, finding = known(*rows(a=(successes, of), b=(8, 1937)), verdict="insufficient evidence", p=0.001)
        assert f"it rests on {told} faces" in why(seed, finding)[1]


def test_what_the_audit_does_not_test_rests_on_the_rarer_outcome():
    seed, finding = known(*rows(a=(3, 18), b=(1500, 1937)), verdict="untestable", reason="fewer than 20")
    assert why(seed, finding)[1].endswith("rests on 3 of 18 faces")
    seed, finding = known(*rows(a=(14, 18), b=(1937, 1937)), verdict="untestable", reason="fewer than 20")
    assert why(seed, finding)[1].endswith("rests on 4 of 18 faces")


@pytest.mark.parametrize(("deff", "other", "shown"), [(2.5, 1.0, "2.5"), (1.0, 3.5, "3.5"), (float("nan"), 1.5, "1.5")])
def test_the_larger_design_effect_is_told(deff, other, shown):
    changes = {"verdict": "insufficient evidence", "p": 0.2, "deff": deff, "deff_versus": other}
    seed, finding = known(*rows(a=(100, 200), b=(150, 200)), **changes)
    cause, sentence = why(seed, finding)
    assert cause == "clustering" and f"(design effect {shown})" in sentence and "to 0.2" in sentence


@pytest.mark.parametrize(("deff", "other"), [(1.0, 0.5), (float("nan"), 1.04)])
def test_without_a_design_effect_clustering_is_not_the_cause(deff, other):
    changes = {"verdict": "insufficient evidence", "p": 0.055, "deff": deff, "deff_versus": other}
    seed, finding = known(*rows(a=(91, 107), b=(813, 893)), **changes)
    cause, sentence = why(seed, finding)
    assert (
        cause == "other test" and "p is close to 0.05: 0.047 by the z test, 0.055 by the test of the audit" in sentence
    )


def test_how_many_findings_chance_makes_is_a_twentieth_of_the_comparisons():
    changes = {"verdict": "insufficient evidence", "p": 0.03, "p_adjusted": 0.4, "family_size": 40}
    seed, finding = known(*rows(a=(100, 200), b=(150, 200)), **changes)
    cause, sentence = why(seed, finding)
    assert cause == "multiplicity" and "one of 40 comparisons, of which chance makes about 2.0" in sentence


def test_an_exact_test_is_made_where_an_expected_cell_is_below_five():
    below, at = seed_row("g", 6, 10, 4, 10), seed_row("g", 5, 10, 5, 10)
    assert exact_p(below) is None and exact_p(at) is None  # 5 expected on either side
    small = seed_row("g", 4, 9, 6, 11)
    assert exact_p(small) == pytest.approx(float(stats.fisher_exact([[4, 5], [6, 5]])[1]))
