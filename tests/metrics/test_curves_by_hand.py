"""Who found whom, and the curves of it, by plain loops over every pair of boxes."""

import math

import numpy as np
import pytest

from countenance.metrics import curves
from countenance.metrics.curves import outcomes, rates
from countenance.metrics.curves import pairs as overlaps

MISSED = -math.inf


def scene(seed, faces=7, found=9, images=3):
    """Boxes of whole numbers, so that overlaps are often equal, and of exactly one half."""
    random = np.random.default_rng(seed)
    boxes = [
        np.hstack([random.integers(0, 8, (n, 2)), random.choice([2, 4, 6], (n, 2))]).astype(float)
        for n in (faces, found)
    ]
    image = [random.integers(low, images, n) for low, n in ((0, faces), (-1, found))]
    return boxes[0], image[0], boxes[1], image[1]


def shared(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(wide, 0) * max(high, 0)


def generous(face, found):
    both = shared(face, found)
    return both / (max(face[2] * face[3] / 4, both) + found[2] * found[3] - both)


def plain(a, b):
    return shared(a, b) / (a[2] * a[3] + b[2] * b[3] - shared(a, b))


def table(measure, faces, face_image, found, found_image):
    """Faces × detections; 0 for those of different images."""
    return np.array(
        [
            [measure(a, b) if i == k >= 0 else 0.0 for b, k in zip(found, found_image, strict=True)]
            for a, i in zip(faces, face_image, strict=True)
        ]
    ).reshape(len(faces), len(found))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("overlap", [0.25, 0.5, 1.0])
def test_detections_that_hit(seed, overlap):
    boxes = scene(seed)
    o = table(generous, *boxes)
    hit, star, best = curves.detection_outcomes(*boxes, overlap=overlap)
    for d in range(o.shape[1]):
        top = o[:, d].max()
        first = int(o[:, d].argmax()) if top > 0 else -1
        assert best[d] == pytest.approx(top) and star[d] == first
        rivals = [k for k in range(o.shape[1]) if k != d and (o[first, k] > top or (o[first, k] == top and k > d))]
        assert hit[d] == (first if top >= overlap and not rivals else -1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("piece", [2, 131_072])
def test_the_best_detection_of_each_face(monkeypatch, seed, piece):
    monkeypatch.setattr(outcomes, "PIECE", piece)
    boxes = scene(seed)
    o = table(generous, *boxes)
    first, best = curves.best_detection(*boxes)
    assert first.tolist() == [int(row.argmax()) if row.max() > 0 else -1 for row in o]
    assert best == pytest.approx(o.max(axis=0))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("overlap", [0.1, 1 / 3, 0.5])
def test_matching_one_to_one(seed, overlap):
    boxes = scene(seed, 9, 9, 2)
    o = table(plain, *boxes).astype(np.float32)
    expected, used = np.full(9, -1), set()
    for _, g, d in sorted((-o[g, d], g, d) for g in range(9) for d in range(9) if o[g, d] >= np.float32(overlap)):
        if expected[g] < 0 and d not in used:
            expected[g] = d
            used.add(d)
    assert curves.match_one_to_one(*boxes, overlap=overlap).tolist() == expected.tolist()


@pytest.mark.parametrize("n", [15, 16, 17, 40])
def test_matching_along_a_chain_of_any_length(n):
    """Each pair is first for both of its sides only once the pair before it is taken."""
    faces = np.array([[k * 20.0, 0, 20, 10] for k in range(n)])
    found = np.array([[k * 20.0 + 9.9 - k * 0.05, 0, 20, 10] for k in range(n)])
    image = np.zeros(n, np.int64)
    o = table(plain, faces, image, found, image).astype(np.float32)
    expected, used = np.full(n, -1), set()
    for _, g, d in sorted((-o[g, d], g, d) for g in range(n) for d in range(n) if o[g, d] > 0):
        if expected[g] < 0 and d not in used:
            expected[g] = d
            used.add(d)
    assert curves.match_one_to_one(faces, image, found, image, overlap=1e-6).tolist() == expected.tolist()


def listed(random, rows, most=4):
    """Identities with scores of quarters, so that rivals tie; some named twice in a row."""
    each = [
        [(int(random.integers(-1, 4)), int(random.integers(0, 4)) / 4) for _ in range(random.integers(0, most))]
        for _ in range(rows)
    ]
    count = np.array([len(row) for row in each], dtype=np.int64)
    flat = [pair for row in each for pair in row]
    identity, score = np.array([i for i, _ in flat], dtype=np.int64), np.array([s for _, s in flat], dtype=float)
    return curves.ListedIdentities(np.cumsum(count) - count, count, identity, score), [dict(row) for row in each]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_identification(seed, rank):
    boxes = scene(seed, 9, 8, 2)
    random = np.random.default_rng([seed, 1])
    subject = random.choice([-1, 0, 1, 2, 3, 3], 9)
    labels, rows = listed(random, 8)
    found = curves.identification_outcomes(boxes[0], boxes[1], subject, *boxes[2:], labels, overlap=0.5, rank=rank)
    o = table(generous, *boxes)
    taken = [int(row.argmax()) if row.max() > 0 else -1 for row in o]
    assert found.face_row.tolist() == taken
    probes = sorted({(int(boxes[1][k]), int(subject[k])) for k in range(9) if subject[k] > 0})
    scores = []
    for image, who in probes:
        faces = [k for k in range(9) if boxes[1][k] == image and subject[k] == who]
        said = [rows[taken[k]] if taken[k] >= 0 else {} for k in faces]
        own = next((one[who] for one in said if who in one), MISSED)
        better = sum(score >= own for one in said for name, score in one.items() if name != who)
        scores.append(own if better < rank else MISSED)
    assert found.probe_score.tolist() == scores
    first = [next(k for k in range(9) if (boxes[1][k], subject[k]) == probe) for probe in probes]
    assert found.probe_face.tolist() == first
    strangers = [
        max((s for name, s in rows[taken[k]].items() if name != subject[k]), default=MISSED)
        if subject[k] < 0 and taken[k] >= 0
        else MISSED
        for k in range(9)
    ]
    assert found.stranger_score.tolist() == strangers
    negatives = [(s, taken[k]) for k, s in enumerate(strangers) if s > MISSED]
    for d in range(8):
        named = [s for name, s in rows[d].items() if name > 0]
        if o[:, d].max() < 0.5 and boxes[3][d] >= 0 and named:
            negatives.append((max(named), d))
    assert list(zip(found.negatives.tolist(), found.negative_row.tolist(), strict=True)) == negatives


@pytest.mark.parametrize("most", [2, 25, 26, 60])
def test_the_last_label_counts_in_rows_of_any_length(most):
    random = np.random.default_rng(most)
    labels, rows = listed(random, 30, most)
    kept = curves.keep_last_label(labels)
    for k, row in enumerate(rows):
        part = slice(kept.start[k], kept.start[k] + kept.count[k])
        assert dict(zip(kept.identity[part].tolist(), kept.score[part].tolist(), strict=True)) == row
        assert kept.count[k] == len(row)
    nothing = curves.ListedIdentities(*(np.zeros(0, np.int64) for _ in range(3)), np.zeros(0))
    assert curves.keep_last_label(nothing) is nothing


def test_identities_of_any_size_are_told_apart():
    huge = 2**61
    for values in ([0, huge, 0], [-huge, huge, -huge], [5, 5, 6]):
        labels = curves.ListedIdentities(
            np.array([0, 3]), np.array([3, 1]), np.array([*values, values[0]]), np.array([0.1, 0.2, 0.3, 0.4])
        )
        kept = curves.keep_last_label(labels)
        assert kept.count.tolist() == [2, 1] and kept.score.tolist()[-1] == 0.4
        assert dict(zip(kept.identity[:2].tolist(), kept.score[:2], strict=True)) == dict(
            zip(values, [0.1, 0.2, 0.3], strict=True)
        )


# pairs


@pytest.mark.parametrize("budget", [1, 3, 30, 300])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_images_of_unlike_sizes(monkeypatch, budget, seed):
    monkeypatch.setattr(overlaps, "BUDGET", budget)
    random = np.random.default_rng(seed)
    boxes = [np.hstack([random.integers(0, 9, (n, 2)), random.integers(0, 6, (n, 2))]).astype(float) for n in (40, 50)]
    image = [np.sort(random.choice(6, n, p=[0.5, 0.25, 0.1, 0.1, 0.05, 0])) for n in (40, 50)]
    g, d = curves.overlapping_pairs(boxes[0], image[0], boxes[1], image[1])
    expected = {
        (i, k)
        for i in range(40)
        for k in range(50)
        if image[0][i] == image[1][k] and shared(boxes[0][i], boxes[1][k]) > 0
    }
    assert len(g) == len(expected) and set(zip(g.tolist(), d.tolist(), strict=True)) == expected


def test_pairs_of_nothing():
    none, image = np.zeros((0, 4)), np.zeros(0, np.int64)
    some = np.array([[0.0, 0, 4, 4]])
    cases = [(none, image, some, [0]), (some, [0], none, image), (none, image, none, image), (some, [0], some, [-1])]
    for faces, there, found, here in cases:
        g, d = curves.overlapping_pairs(faces, np.array(there), found, np.array(here))
        assert len(g) == len(d) == 0


def test_overlaps_keep_the_precision_of_their_boxes():
    boxes = np.array([[0.1, 0.1, 0.3, 0.3]], np.float32)
    assert curves.intersection_over_union(boxes, boxes).dtype == np.float32
    assert curves.challenge_overlap(boxes, boxes).dtype == np.float64
    assert overlaps._shared(boxes, boxes + np.float32(9)).dtype == np.float32


def test_boxes_that_touch_share_nothing():
    face = np.array([[0.0, 0, 4, 4]] * 3)
    found = np.array([[4.0, 0, 4, 4], [0, 4, 4, 4], [3, 3, 4, 4]])
    assert overlaps._shared(face, found).tolist() == [0, 0, 1]
    assert overlaps._shared(found, face).tolist() == [0, 0, 1]


# rates


def test_targets_of_a_curve():
    for n in (1, 7, 10, 99, 4321):
        base = 10 ** (1 / 8)
        powers = [base**k for k in range(int(math.log(n, base)))]
        assert rates.false_alarm_targets(n, log=True, step=9) == pytest.approx([*powers, n])
        assert rates.false_alarm_targets(n, log=False, step=9).tolist() == [*range(0, n, 9), n]
    assert rates.false_alarm_targets(0, log=True, step=1).tolist() == [0]
    assert rates.false_alarm_targets(0, log=False, step=1).tolist() == [0]


def lowest_threshold(negatives, target):
    """The lowest score of a negative (or just above all) that lets no larger share through; all: just below."""
    if target / len(negatives) >= 1 - np.finfo(float).eps:
        return np.nextafter(min(negatives), -np.inf)
    fine = [t for t in negatives if np.mean(np.array(negatives) >= t) <= target / len(negatives)]
    return min(fine, default=np.nextafter(max(negatives), np.inf))


@pytest.mark.parametrize("seed", range(8))
def test_curves_point_by_point(seed):
    random = np.random.default_rng(seed)
    negatives, units = random.integers(0, 9, 70) / 8, random.integers(0, 9, 30) / 8
    units[random.random(30) < 0.3] = MISSED
    negatives = negatives[: (70, 1)[seed == 7]]
    for log in (False, True):
        for numbers in (False, True):
            froc = curves.froc_curve(units, negatives, 40, log=log, numbers=numbers)
            dirs = curves.dir_curve(units, negatives, 40, log=log, numbers=numbers)
            scale = 1 if numbers else 40
            at = rates.false_alarm_targets(len(negatives), log=log, step=1000)
            for k, target in enumerate(at):
                t = lowest_threshold(negatives.tolist(), target)
                assert froc.thresholds[k] == t
                strict = t > negatives.max()
                assert froc.x[k] == (target if strict else (negatives >= t).sum())
                assert froc.y[k] == pytest.approx(0 if strict else (units >= max(t, -1e9)).sum() / scale)
            at = rates.false_alarm_targets(len(negatives), log=log, step=50)
            assert dirs.x.tolist() == at.tolist()
            for k, target in enumerate(at):
                t = lowest_threshold(negatives.tolist(), target)
                assert dirs.y[k] == pytest.approx((units >= max(t, -1e9)).sum() / scale)
    each = curves.per_image_curve(units, negatives, 40, 11)
    assert each.thresholds.tolist() == sorted(set(negatives.tolist()))
    assert each.x == pytest.approx([(negatives >= t).sum() / 11 for t in each.thresholds])
    assert each.y == pytest.approx([(units >= t).sum() / 40 for t in each.thresholds])
    whole = curves.per_image_curve(units, negatives, 40, 11, numbers=True)
    assert whole.y.tolist() == [(units >= t).sum() for t in each.thresholds]


def test_curves_have_every_thousandth_and_every_fiftieth_point():
    units, negatives = np.array([0.5]), np.arange(2500) / 2500
    assert curves.froc_curve(units, negatives, 1, log=False).x.tolist() == [0, 1000, 2000, 2500]
    assert len(curves.dir_curve(units, negatives, 1, log=False).x) == 51


def test_without_false_alarms_everything_found_counts():
    units, none = np.array([0.5, 0.1, MISSED]), np.zeros(0)
    for curve in (
        curves.froc_curve(units, none, 4, log=True),
        curves.dir_curve(units, none, 4, log=False),
        curves.per_image_curve(units, none, 4, 9),
    ):
        assert curve.x.tolist() == [0] and curve.y.tolist() == [0.5] and curve.thresholds.tolist() == [-np.inf]
    assert np.isnan(curves.dir_curve(units, none, 0, log=False).y).all()
    assert curves.dir_curve(units, none, 0, log=False, numbers=True).y.tolist() == [2]
    assert curves.dir_curve(units, none, 1, log=False).y.tolist() == [2]


# bands


def rates_by_hand(units, unit_image, negatives, negative_image, images, targets, rounds, seed, strict):
    random, made = np.random.default_rng(seed), []
    for _ in range(rounds):
        weight = np.bincount(random.integers(0, images, images), minlength=images)
        total = sum(weight[k] for k in unit_image)
        row = []
        for target in targets:
            if not total:
                row.append(np.nan)
                continue
            alarms = {
                t: sum(w for s, w in zip(negatives, weight[negative_image], strict=True) if s >= t)
                for t in set(negatives.tolist())
            }
            fine = [t for t, n in alarms.items() if n <= target]
            if target >= max(alarms.values(), default=0):
                own = units > MISSED
            elif fine:
                own = units >= min(fine)
            else:
                own = np.zeros(len(units), bool) if strict else units > negatives.max()
            row.append(sum(weight[k] for k in unit_image[own]) / total)
        made.append(row)
    return np.array(made)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("alarms", [0, 1, 12])
@pytest.mark.parametrize("seed", range(3))
def test_bands_of_images_drawn_again(seed, alarms, strict):
    random = np.random.default_rng([seed, alarms])
    units, unit_image = random.integers(0, 6, 9) / 5, random.integers(0, 7, 9)
    units[random.random(9) < 0.25] = MISSED
    if seed == 2:
        unit_image[:] = 3  # now and then nobody is drawn
    negatives, negative_image = random.integers(0, 6, alarms) / 5, random.integers(0, 7, alarms)
    targets = np.array([0.0, 1, 2.5, 5, 40])
    hits, wrong = curves.ImageScores(units, unit_image), curves.ImageScores(negatives, negative_image)
    drawn = curves.resampled_rates(hits, wrong, images=7, targets=targets, rounds=30, seed=seed, strict=strict)
    expected = rates_by_hand(units, unit_image, negatives, negative_image, 7, targets, 30, seed, strict)
    np.testing.assert_allclose(drawn, expected)
    assert seed != 2 or np.isnan(expected).any()
    band = curves.band_of(drawn, targets, level=0.8)
    whole = expected[~np.isnan(expected).any(axis=1)]
    np.testing.assert_allclose([band.low, band.high], np.quantile(whole, [0.1, 0.9], axis=0))
    assert band.x is targets


def test_a_band_of_nobody_is_none():
    empty = np.zeros(0)
    nobody = curves.ImageScores(empty, empty.astype(int))
    band = curves.band_of(curves.resampled_rates(nobody, nobody, images=3, targets=np.ones(2)), np.ones(2))
    assert np.isnan(band.low).all() and np.isnan(band.high).all() and len(band.low) == 2
