"""Rules inside metrics, each at the place where a wrong sign or limit shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.frozen import unfrozen

import countenance.metrics
from countenance.metrics.boxes import iou_matrix, suppress
from countenance.metrics.curves.outcomes import NOBODY, _probes
from countenance.metrics.pairs.matrix import _Cell


def test_faces_of_one_subject_in_one_image_are_one_probe_wherever_they_are_listed():
    image, subject = np.array([0, 1, 0, 1, 0, 2]), np.array([1, 1, 1, 2, 0, 1])
    probe, first = _probes(image, subject)
    assert probe.tolist() == [0, 1, 0, 2, NOBODY, 3] and first.tolist() == [0, 1, 3, 5]


def cell(**changed):
    usual = {
        "place": (0, 1),
        "accepted": 200.0,
        "pairs": 1000.0,
        "residual": np.array([30.0, -20.0, 25.0, -35.0]),
        "dyads": 300.0,
        "people": 20.0,
        "weight": 0.2,
        "persons": 100.0,
    }
    return _Cell(**(usual | changed))


def test_the_interval_of_a_cell_adds_the_variance_of_people_and_of_pairs():
    one, none = cell(), cell(dyads=0.0)
    assert one.spread == pytest.approx((20 / 19 * 3150 - 600) / 1e6)
    # People's variance holds the pairs' twice, so with the pairs' own added once it is smaller than without any.
    wide, narrow = (np.diff(made.interval(0.0, 0.0, 0.95)).item() for made in (none, one))
    assert narrow < wide
    least = (20 / 19 * 3150 - 300) / 1e6
    size = 0.2 * 0.8 / least
    assert size == pytest.approx(0.2 * 0.8 / (max(one.spread, 0) + 300 / 1e6))
    same = cell(dyads=0.0, residual=one.residual * np.sqrt((20 / 19 * 3150 - 300) / (20 / 19 * 3150)))
    assert np.diff(same.interval(0.0, 0.0, 0.95)).item() == pytest.approx(narrow, rel=1e-3)


@given(st.integers(0, 12), st.integers(0, 99), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_suppression_is_that_of_the_textbook(n, seed, limit):
    random = np.random.default_rng(seed)
    corner = random.integers(0, 6, (n, 2)).astype(float)
    boxes = np.hstack([corner, corner + random.integers(0, 5, (n, 2))])
    scores = random.integers(0, 4, n) / 4
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if all(iou_matrix(boxes[[k]], boxes[[i]])[0, 0] <= limit for k in kept):
            kept.append(int(i))
    assert suppress(boxes, scores, limit).tolist() == kept


def test_a_box_in_a_box_goes_where_the_smaller_one_counts():
    boxes = np.array([[0, 0, 10, 10], [2, 2, 4, 4], [3, 3, 3, 9], [9, 9, 12, 12.0]])
    scores = np.array([0.9, 0.8, 0.7, 0.6])
    assert suppress(boxes, scores, 0.5).tolist() == [0, 1, 2, 3]
    assert suppress(boxes, scores, 0.5, "smaller").tolist() == [0, 2, 3]
    assert suppress(boxes, scores, 0.1, "smaller").tolist() == [0, 2]


def test_only_counters_change():
    assert unfrozen(countenance.metrics) <= {"AcceptedCounts", "AcceptedPairs", "PlainCount", "_Rising"}
