"""Curves: the arithmetic that decides points, and properties that no implementation may lose."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from countenance.metrics import curves
from countenance.metrics.curves import pairs

scores = st.lists(st.integers(0, 8).map(lambda v: v / 8), min_size=1, max_size=30).map(np.array)


def test_targets_at_exact_powers_follow_the_rounding_of_the_logarithm():
    base = math.pow(10, 1 / 8)
    for n in (1, 2, 10, 100, 1000, 10**4, 10**5, 10**6):
        targets = curves.false_alarm_targets(n, log=True, step=1)
        assert len(targets) == int(math.log(n, base)) + 1
        assert targets[-1] == n
    assert curves.false_alarm_targets(2000, log=False, step=1000).tolist() == [0, 1000, 2000]


@given(scores, st.floats(0, 1))
def test_a_threshold_lets_through_no_more_than_asked(negatives, share):
    threshold = curves.thresholds_at(negatives, np.array([share * negatives.size]))[0]
    passed = (negatives >= threshold).mean()
    assert passed <= share or share >= 1 - 2**-52
    lower = negatives[negatives < threshold]
    if lower.size:  # and the next lower score would be too much
        assert (negatives >= lower.max()).mean() > share


@given(scores, scores)
def test_rates_per_image_agree_with_scikit_learn(found, negatives):
    curve = curves.per_image_curve(found, negatives, len(found), 7)
    truth = np.r_[np.ones(len(found)), np.zeros(len(negatives))]
    false, true, thresholds = roc_curve(truth, np.r_[found, negatives], drop_intermediate=False)
    for x, y, t in zip(curve.x, curve.y, curve.thresholds, strict=True):
        k = int(np.flatnonzero(thresholds == t)[0])
        assert x == pytest.approx(false[k] * len(negatives) / 7)
        assert y == pytest.approx(true[k])


@given(scores, scores, st.booleans())
def test_more_false_alarms_never_find_fewer_faces(found, negatives, log):
    for function in (curves.froc_curve, curves.dir_curve):
        curve = function(found, negatives, len(found), log=log)
        assert (np.diff(curve.y) >= 0).all()
        assert (np.diff(curve.x) >= 0).all()
        assert curve.y[-1] == (found >= np.nextafter(negatives.min(), -1)).mean()


@given(scores, scores)
def test_a_missed_face_lowers_the_rate_and_nothing_else(found, negatives):
    more = np.append(found, curves.MISSED)
    a = curves.dir_curve(found, negatives, len(found), log=False)
    b = curves.dir_curve(more, negatives, len(more), log=False)
    np.testing.assert_allclose(b.y * len(more), a.y * len(found))


def test_nothing_to_find_is_no_rate():
    assert np.isnan(curves.froc_curve(np.empty(0), np.array([0.5]), 0, log=False).y).all()


boxes = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=12
).map(lambda rows: np.array(rows, dtype=float))


@settings(max_examples=200, deadline=None)
@given(boxes, boxes, st.randoms(use_true_random=False), st.sampled_from([4, 40, 2**21]))
def test_the_pairs_are_those_that_share_area_whatever_the_block(faces, found, random, budget):
    face_image = np.array([random.randrange(3) for _ in faces])
    found_image = np.array([random.randrange(-1, 4) for _ in found])
    before, pairs.BUDGET = pairs.BUDGET, budget
    try:
        g, d = curves.overlapping_pairs(faces, face_image, found, found_image)
    finally:
        pairs.BUDGET = before
    expected = {
        (i, k)
        for i, a in enumerate(faces)
        for k, b in enumerate(found)
        if face_image[i] == found_image[k] >= 0
        and min(a[0] + a[2], b[0] + b[2]) > max(a[0], b[0])
        and min(a[1] + a[3], b[1] + b[3]) > max(a[1], b[1])
    }
    assert len(g) == len(expected)
    assert set(zip(g.tolist(), d.tolist(), strict=True)) == expected


def test_a_long_chain_of_overlaps_is_matched_greedily():
    n = 60  # each face overlaps its neighbour's detection a little more than its own
    faces = np.array([[k * 10.0, 0.0, 10.0, 10.0] for k in range(n)])
    found = np.array([[k * 10.0 + 4.9 - k * 0.01, 0.0, 10.0, 10.0] for k in range(n)])
    image = np.zeros(n, np.int64)
    matched = curves.match_one_to_one(faces, image, found, image, overlap=0.01)
    iou = [
        (
            -float(
                curves.intersection_over_union(
                    faces[i : i + 1].astype(np.float32), found[k : k + 1].astype(np.float32)
                )[0]
            ),
            i,
            k,
        )
        for i in range(n)
        for k in range(n)
        if abs(i - k) < 2
    ]
    expected = np.full(n, -1)
    for o, i, k in sorted(iou):
        if -o >= 0.01 and expected[i] < 0 and k not in expected:
            expected[i] = k
    assert matched.tolist() == expected.tolist()


@given(st.lists(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 5)), max_size=40), min_size=1, max_size=6))
def test_the_last_score_of_a_repeated_identity_counts(rows):
    count = np.array([len(row) for row in rows])
    flat = [pair for row in rows for pair in row]
    labels = curves.ListedIdentities(
        np.cumsum(count) - count,
        count,
        np.array([i for i, _ in flat], dtype=np.int64),
        np.array([s for _, s in flat], dtype=float),
    )
    kept = curves.keep_last_label(labels)
    for k, row in enumerate(rows):
        part = slice(kept.start[k], kept.start[k] + kept.count[k])
        assert dict(zip(kept.identity[part].tolist(), kept.score[part].tolist(), strict=True)) == dict(row)
        assert kept.count[k] == len(dict(row))


def test_a_band_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for trial in range(60):
        hits = np.where(random.random(80) < 0.6, 0.9, curves.MISSED)
        alarms = np.full(20, 0.5)
        targets = np.array([20.0])
        rates = curves.resampled_rates(
            curves.ImageScores(hits, np.arange(80)),
            curves.ImageScores(alarms, random.integers(0, 80, 20)),
            images=80,
            targets=targets,
            rounds=200,
            seed=trial,
        )
        band = curves.band_of(rates, targets)
        covered += band.low[0] <= 0.6 <= band.high[0]
    assert 50 <= covered <= 60


def test_boxes_that_are_apart_in_both_directions_share_nothing():
    here = np.array([[10.0, 10, 5, 5]] * 5)
    there = np.array([[30.0, 30, 5, 5], [30, 10, 5, 5], [10, 30, 5, 5], [15, 10, 5, 5], [12, 11, 5, 5]])
    for one, two in ((here, there), (there, here)):
        assert pairs._shared(one, two).tolist() == [0.0, 0.0, 0.0, 0.0, 3 * 4]


def test_overlaps_row_by_row_are_plain_arithmetic() -> None:
    from countenance.metrics.curves.pairs import challenge_overlap, intersection_over_union

    random = np.random.default_rng(5)
    a, b = (np.hstack([random.uniform(0, 20, (60, 2)), random.uniform(3, 15, (60, 2))]) for _ in range(2))
    plain, generous = intersection_over_union(a, b), challenge_overlap(a, b)
    for k in range(60):
        wide = min(a[k, 0] + a[k, 2], b[k, 0] + b[k, 2]) - max(a[k, 0], b[k, 0])
        high = min(a[k, 1] + a[k, 3], b[k, 1] + b[k, 3]) - max(a[k, 1], b[k, 1])
        both = max(wide, 0) * max(high, 0)
        face, found = a[k, 2] * a[k, 3], b[k, 2] * b[k, 3]
        assert abs(plain[k] - both / (face + found - both)) < 1e-12
        assert abs(generous[k] - both / (max(face / 4, both) + found - both)) < 1e-12


def test_a_probe_is_a_subject_in_an_image() -> None:
    from countenance.metrics.curves.outcomes import _probes

    image, subject = np.array([0, 1, 0, 0, 1, 2, 0]), np.array([7, 7, 3, 7, -1, 3, 0])
    probe_of, first = _probes(image, subject)
    wanted = sorted({(int(i), int(s)) for i, s in zip(image, subject, strict=True) if s > 0})
    assert [wanted.index((int(i), int(s))) if s > 0 else -1 for i, s in zip(image, subject, strict=True)] == [
        int(k) for k in probe_of
    ]
    assert first.tolist() == [2, 0, 1, 5]
