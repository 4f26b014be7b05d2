"""Metrics and thresholds as a user gives them, their curves, and rates of groups."""

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.tasks.thresholds import asked_metrics, threshold_curve
from countenance.tasks.validation_rate import Pictures

KNOWN = ("PCK", "AR_OKS")


@pytest.mark.parametrize(
    ("given", "names", "levels"),
    [
        (None, KNOWN, {}),
        ([], KNOWN, {}),
        ("pck", ("PCK",), {}),
        (["AR_OKS", "pck"], ("AR_OKS", "PCK"), {}),
        ({"ar_oks": {"thresholds": [0.5, 1]}}, ("AR_OKS",), {"AR_OKS": [0.5, 1]}),
        ({"ar_oks": {"thresholds": None}}, ("AR_OKS",), {}),
        ({"PCK": {"thresholds": []}}, ("PCK",), {"PCK": []}),
    ],
)
def test_metrics_are_named_or_come_with_thresholds(given, names, levels):
    found, thresholds = asked_metrics("keypoint_estimation", KNOWN, given)
    assert found == names
    assert {name: values.tolist() for name, values in thresholds.items()} == levels


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (7, "metrics is 7, expected names"),
        ("PC", r"metric PC does not belong to keypoints, which has PCK, AR_OKS \(did you mean PCK\?\)"),
        ({"PCK": [0.5]}, r"metric 'PCK': expected {'thresholds': \[...\]}, found \[0.5\]"),
        ({"PCK": {"levels": [0.5]}}, "expected {'thresholds'"),
        ({"PCK": {"thresholds": [1.5]}}, "expected numbers from 0 to 1"),
    ],
)
def test_what_is_no_metric_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        asked_metrics("keypoints", KNOWN, given)


def test_a_metric_without_thresholds_takes_none():
    assert asked_metrics("t", ("F1",), {"F1": {"thresholds": []}}) == (("F1",), {})
    with pytest.raises(InputError, match="metric F1 takes no thresholds"):
        asked_metrics("t", ("F1",), {"F1": {"thresholds": [0.5]}})


def test_a_curve_needs_thresholds_and_shares():
    (curve,) = threshold_curve("PCK", [0.1, 0.2], [0.5, 1.0])
    assert (curve.name, curve.lines[0].x, curve.lines[0].y) == ("PCK", [0.1, 0.2], [0.5, 1.0])
    assert threshold_curve("PCK", [], []) == threshold_curve("PCK", [0.1], []) == []


def test_groups_without_pairs_are_not_in_the_table_of_rates():
    vectors = np.eye(4)[[0, 0, 1, 1, 2]] + 0.01 * np.arange(20).reshape(5, 4)
    pictures = Pictures(vectors, np.array(["a", "a", "b", "b", "c"]))
    groups = [("age", "old", np.arange(4)), ("age", "young", np.array([4])), ("pose", "left", np.arange(5))]
    table = pictures.table(groups)
    assert [row[:2] for row in table.rows] == [["age", "old"], ["pose", "left"]]
    val, interval, people, pairs, evidence = table.rows[0][2:]
    entry = pictures.entry(np.arange(4))
    assert val == round(entry["VAL"], 6) and people == 2 and pairs == "2/4" and evidence == "insufficient evidence"
    assert interval == f"{entry['VAL_Low']:.3f} to {entry['VAL_High']:.3f}"
    assert len(table.columns) == 7
