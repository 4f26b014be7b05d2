"""Why the rules differ: each cause on rows made to have it."""

import numpy as np
import pytest

from countenance.audit import audit
from countenance.suites.mask_fairness.seed_rule import seed_table
from countenance.suites.mask_fairness.why import why


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
    assert cause == "power" and "no proof of fairness" in sentence


def test_nothing_found_in_many_faces_is_agreement():
    cause, _ = both_rules(*rows(a=(4750, 5000), b=(4750, 5000), c=(4751, 5000)), "a")
    assert cause == "agree"


@pytest.mark.parametrize("missing", [(0, 0), (30, 30)])
def test_no_faces_or_no_variance_is_not_testable(missing):
    groups, values = rows(a=(30, 30), b=missing)
    seed = seed_table("g", groups, values)[0]
    assert why(seed, None) == ("not testable", "no faces to compare")
