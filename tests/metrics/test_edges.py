"""Metrics at their edges: nothing, one, ties, exactly at a limit, arrays of other shapes."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.metrics.test_rules import cell
from tests.naive import average_precision, precision_recall

from countenance.metrics import (
    calibration,
    detection,
    identification,
    intervals,
    keypoints,
    localization,
    masks,
    parsing,
    readings,
    topk,
)
from countenance.metrics import reading_trials as trying
from countenance.metrics.curves import overlapping_pairs
from countenance.metrics.intervals import clustered_rate
from countenance.metrics.localization import expand
from countenance.metrics.pairs.comparisons import Comparisons, between
from countenance.metrics.pairs.distributions import _drawn, genuine_scores, impostor_scores
from countenance.metrics.pairs.genuine import genuine_pairs
from countenance.metrics.pairs.groups import AcceptedCounts, Groups, fnmr_by_group
from countenance.metrics.pairs.influence import Influence, _rank
from countenance.metrics.pairs.matrix import _effective, _pooled, fmr_by_group
from countenance.metrics.pairs.roc import equal_error_rate, roc
from countenance.metrics.pairs.tail import best_first
from countenance.metrics.pairs.vectors import Vectors
from countenance.metrics.readings import CORNERS, Reading
from countenance.suites.bias_bounty.rules import score

# calibration


@pytest.mark.parametrize("seed", range(3))
def test_calibration_by_hand(seed):
    random = np.random.default_rng(seed)
    stated = random.choice([0.0, 0.05, 0.1, 0.35, 0.5, 0.99, 1.0], 60)
    right, person = (random.random(60) < stated).astype(float), random.integers(0, 15, 60) * 3
    bins = np.minimum((stated * 10).astype(int), 9)
    found = calibration.reliability(stated, right, person)
    assert len(found) == len(set(bins.tolist()))
    for one, k in zip(found, sorted(set(bins.tolist())), strict=True):
        here = bins == k
        assert one.stated == pytest.approx(stated[here].mean())
        people = sorted(set(person[here].tolist()))
        hits = np.array([right[here & (person == who)].sum() for who in people])
        trials = np.array([(here & (person == who)).sum() for who in people], dtype=float)
        assert tuple(one.right) == pytest.approx(tuple(clustered_rate(hits, trials)), nan_ok=True)

    def error(values, weight):
        gaps = [
            abs(sum(w * (v - s) for w, v, s, k in zip(weight, values, stated, bins, strict=True) if k == b))
            for b in range(10)
        ]
        return sum(gaps) / sum(weight)

    assert calibration.calibration_error(stated, right) == pytest.approx(error(right, np.ones(60)))
    whole = calibration.calibration(stated, right, person, seed=seed, level=0.9)
    codes = np.unique(person, return_inverse=True)[1]
    people = codes.max() + 1
    draw, drawn = np.random.default_rng(seed), []
    for _ in range(500):
        weight = draw.multinomial(people, np.full(people, 1 / people)).astype(float)
        drawn.append(error(right, weight[codes]))
    low, high = np.quantile(drawn, [0.05, 0.95])
    value = error(right, np.ones(60))
    assert tuple(whole.error) == pytest.approx((value, min(low, value), max(high, value), 60, people))
    draw = np.random.default_rng([seed, 13])
    chance = [error((draw.random(60) < stated).astype(float), np.ones(60)) for _ in range(200)]
    assert whole.by_chance == pytest.approx(np.mean(chance))
    assert math.isnan(calibration.calibration_error(stated, right, np.zeros(60)))


# ranked lists


def test_average_precision_at_its_edges():
    assert math.isnan(average_precision(np.array([0.5]), np.array([True]), 0))
    assert average_precision(np.zeros(0), np.zeros(0, bool), 3) == 0
    precision, recall = precision_recall(np.array([0.5, 0.7]), np.array([True, True]), 0)
    assert precision.tolist() == [1, 1] and np.isnan(recall).all()
    precision, recall = precision_recall(np.array([0.5, 0.7]), np.array([True, False]), 2, np.array([3.0, 1]))
    assert precision.tolist() == [0, 0.75] and recall.tolist() == [0, 1.5]


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_bootstrap_interval_by_hand(level):
    values = np.array([1.0, 4.0, 9.0, 16.0])
    draw = np.random.default_rng(3)
    drawn = [float(np.dot(draw.multinomial(4, np.full(4, 0.25)), values)) for _ in range(50)]
    expected = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    found = intervals.bootstrap_interval(lambda w: float(w @ values), 4, replicates=50, level=level, seed=3)
    assert found == pytest.approx(tuple(expected))
    assert np.isnan(intervals.bootstrap_interval(lambda w: 1.0, 0)).all()
    assert np.isnan(intervals.bootstrap_interval(lambda w: math.nan, 3, replicates=5)).all()
    some = intervals.bootstrap_interval(lambda w: math.inf if w[0] else 2.0, 3, replicates=30)
    assert some == (2, 2)  # what is not finite is left out


def ranked(scores, image, kind, truths, members, images, block=7):
    """Detections best first and true boxes, in blocks."""
    order = np.argsort(-scores, kind="stable")

    def parts(one, two):
        return lambda: ((one[a : a + block], two[a : a + block]) for a in range(0, len(one), block))

    owner, what = np.array(truths, dtype=np.int64).reshape(len(truths), 2).T
    people = [what[owner == i] for i in range(images)]
    company = np.array([1 + i if len(one) else 0 for i, one in enumerate(people)], dtype=np.int64)
    shares = np.array([[0, *(member[one].mean() if len(one) else 0 for one in people)] for member in members])
    kind = np.where(kind < 0, -1 - company[image], kind) if len(kind) else kind
    return detection.RankedDetections(images, parts(image[order], kind[order]), parts(owner, what), members, shares)


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("seed", range(2))
def test_average_precisions_of_groups_by_hand(monkeypatch, seed, block):
    random = np.random.default_rng(seed)
    scores, image = random.permutation(30) / 30, random.integers(0, 6, 30)
    kind = np.where(image == 3, -1, random.choice([-1, 0, 1, 2], 30))  # nobody is in image 3
    truths = [(i, k) for i, k in zip(image, kind, strict=True) if k >= 0] + [(0, 1), (5, 2)]
    members = np.array([[True, True, True], [True, False, False], [False, True, True], [False, False, False]])
    monkeypatch.setattr(detection, "MOST_WEIGHTS", 6 * 9)
    monkeypatch.setattr(detection, "DRAWN_AT_ONCE", 4)
    found = detection.average_precisions(
        ranked(scores, image, kind, truths, members, 6, block), replicates=40, seed=seed
    )

    def precision(weight, member):
        total = sum(weight[i] for i, k in truths if member[k])
        if not total:
            return np.nan
        right = seen = 0.0
        points = []
        for at in np.argsort(-scores):
            there = [member[k] for i, k in truths if i == image[at]]
            if kind[at] >= 0:
                counts = member[kind[at]]
            else:
                counts = np.mean(there) if there else total / sum(weight[i] for i, _ in truths)
            right, seen = right + weight[image[at]] * counts * (kind[at] >= 0), seen + weight[image[at]] * counts
            points.append((right / total, right / seen if seen else 0.0))
        return np.mean([max((p for r, p in points if r >= level), default=0.0) for level in np.linspace(0, 1, 101)])

    draw = np.random.default_rng(seed)
    weights = [np.bincount(draw.integers(0, 6, 6), minlength=6) for _ in range(40)]
    for member, one in zip(members, found, strict=True):
        assert one.n == sum(member[k] for _, k in truths)
        assert one.value == pytest.approx(precision(np.ones(6), member), nan_ok=True)
        drawn = [value for value in (precision(weight, member) for weight in weights) if not np.isnan(value)]
        span = tuple(np.percentile(drawn, [2.5, 97.5])) if drawn else (np.nan, np.nan)
        assert (one.low, one.high) == pytest.approx(span, nan_ok=True)


def test_no_image_has_no_average_precision():
    empty = np.zeros(0, np.int64)
    (none,) = detection.average_precisions(ranked(np.zeros(0), empty, empty, [], np.ones((1, 1), bool), 0))
    assert none.n == 0 and np.isnan([none.value, none.low, none.high]).all()
    (missed,) = detection.average_precisions(ranked(np.zeros(0), empty, empty, [(0, 0)], np.ones((1, 1), bool), 2))
    assert (missed.value, missed.low, missed.high, missed.n) == (0, 0, 0, 1)


# shapes


def test_shares_of_thresholds_whatever_the_shape():
    chances = np.random.default_rng(0).random((2, 3, 4))
    levels = np.array([0.25, 0.5])
    found = localization.passed_share(chances, levels)
    assert found.shape == (2, 3, 4) and np.array_equal(found, (chances >= 0.25) / 2 + (chances >= 0.5) / 2)
    assert localization.passed_share(np.array(0.5), levels) == 1


def test_keypoints_of_people_without_an_area():
    truth, seen = np.zeros((2, 17, 2)), np.ones((2, 17), bool)
    answered = np.stack([np.zeros((17, 2)), np.ones((17, 2))])
    assert keypoints.oks_rows(answered, truth, seen, np.zeros(2)).tolist() == [1, 0]
    assert keypoints.pair_by_overlap(np.zeros((0, 2))).tolist() == [-1, -1]
    assert keypoints.pair_by_overlap(np.zeros((2, 0))).tolist() == []
    assert keypoints.pair_by_overlap(np.array([[np.nan], [0.0]])).tolist() == [1]
    assert keypoints.pair_by_overlap(np.array([[np.nan, 0.0]])).tolist() == [-1, 0]
    assert keypoints.pair_by_overlap(np.array([[0.3, 0.3, 0.2]])).tolist() == [0, -1, -1]
    assert keypoints.pair_by_overlap(np.array([[np.nan, 0.5], [np.nan, 0.1]])).tolist() == [1, 0]


@pytest.mark.parametrize(("image", "counts"), [([], []), ([0, 0], [2]), ([2, 0, 2], [1, 3, 2]), ([1], [4, 0])])
def test_every_pair_of_a_person_and_an_answer(image, counts):
    starts = [sum(counts[:k]) for k in range(len(counts))]
    expected = [(p, starts[i] + a) for p, i in enumerate(image) for a in range(counts[i])]
    found = expand(np.array(image, dtype=np.int64), np.array(counts, dtype=np.int64))
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected


@pytest.mark.parametrize("images", [[-1, 0, 1, 2], [-1, -1, 0, 0], [0, 1, 1, 2], [2, 1, 0, -1], [1, 1, 2, 2]])
def test_boxes_of_no_image_pair_with_nothing(images):
    faces = np.array([[0.0, 0, 5, 5]] * 3)
    g, d = overlapping_pairs(faces, np.arange(3), np.array([[0.0, 0, 5, 5]] * 4), np.array(images))
    assert sorted(zip(g.tolist(), d.tolist(), strict=True)) == sorted((i, k) for k, i in enumerate(images) if i >= 0)


def test_label_maps_with_fewer_labels():
    truth = np.array([[0, 1, 2, 3]], np.uint8)
    runs = {1: np.array([1, 1, 2]), 5: np.array([2, 1, 1]), 9: np.array([3, 1])}
    whole = parsing.joint_counts_from_runs(truth, runs)
    assert whole.shape == (256, 256) and whole.sum() == 4
    small = parsing.joint_counts_from_runs(truth, runs, labels=6)
    assert small.shape == (6, 6) and small[2, 5] == small[3, 5] == small[1, 1] == small[0, 0] == 1
    over = parsing.joint_counts_from_runs(np.zeros((1, 2), np.uint8), {200: np.array([0, 2]), 100: np.array([1, 1])})
    assert over[0, 200] == 1 and over[0, 300 % 256] == 1


# masks


def test_run_lengths_at_their_limits():
    assert [one.tolist() for one in masks.many_run_lengths(["", ""])] == [[], []]
    assert [one.tolist() for one in masks.many_run_lengths(["", "04", ""])] == [[], [0, 4], []]
    for text, message in [
        ("/", "character"),
        ("p", "character"),
        ("P", "middle"),
        ("0é", "character"),
        ("0\ud800", "character"),
    ]:
        with pytest.raises(ValueError, match=message):
            masks.run_lengths(text)
    assert masks.run_lengths("P" * 11 + "0").tolist() == [0]
    with pytest.raises(ValueError, match="too long"):
        masks.run_lengths("P" * 12 + "0")
    with pytest.raises(ValueError, match="negative"):
        masks.run_lengths("O")
    for lengths in ([0], [5], [31, 32, 33], [15, 16, 17, 16, 15, 1], [0, 1, 0, 1000, 5, 3, 2**31]):
        assert masks.run_lengths(masks.compress(lengths)).tolist() == lengths


@pytest.mark.parametrize("lengths", [[4], [0, 4], [1, 0, 3], [0, 0, 2, 2], [0, 1, 0, 1, 0, 1, 1]])
def test_runs_of_nothing_are_left_out(lengths):
    flat = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    starts, ends = masks.spans(np.array(lengths))
    assert (ends > starts).all() and sum(ends - starts) == flat.sum() == masks.area(np.array(lengths))
    for other in ([4], [0, 4], [2, 2], [1, 2, 1]):
        flags = np.repeat(np.arange(len(other)) % 2 == 1, other)
        assert masks.intersection(np.array(lengths), np.array(other)) == (flat & flags).sum()
        union = (flat | flags).sum()
        assert masks.iou(np.array(lengths), np.array(other)) == ((flat & flags).sum() / union if union else 0)
    assert masks.mask_runs(np.zeros((0, 3), bool)).tolist() == []


# pairs


def test_a_roc_without_one_kind_of_pair():
    far, val, at = roc(np.array([0.5, 0.5, 0.1]), np.zeros(3, bool))
    assert np.isnan(val).all() and len(val) == 3 and far.tolist() == [0, 2 / 3, 1] and at.tolist() == [np.inf, 0.5, 0.1]
    far, val, _ = roc(np.array([0.5, 0.1]), np.ones(2, bool))
    assert np.isnan(far).all() and len(far) == 3 and val.tolist() == [0, 0.5, 1]
    far, val, _ = roc(np.zeros(0), np.zeros(0, bool))
    assert len(far) == len(val) == 1 and math.isnan(equal_error_rate(far, val))
    assert math.isnan(equal_error_rate(np.zeros(0), np.zeros(0)))
    assert equal_error_rate(np.array([0.25, 1]), np.array([0.75, 1])) == 0.25
    assert equal_error_rate(np.array([0.0, 0.5, 1]), np.array([0.0, 0.5, 1])) == 0.5
    assert equal_error_rate(np.array([0, 0.2, 0.6]), np.array([0, 0.6, 1])) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.25, 0.75, 0.5),
        (1.0, np.nextafter(1, 2), np.nextafter(1, 2)),
        (-4.0, np.inf, -4 + 4e-9),
        (0.0, np.inf, 1e-9),
        (0.5, np.inf, 0.5 + 1e-9),
    ],
)
def test_a_number_between(low, high, expected):
    assert between(low, high) == pytest.approx(expected, rel=1e-15) and low < between(low, high) <= high


def test_places_of_equal_keys():
    for keys in ([], [4], [5, 3, 5, 5, 3], [1, 1, 1]):
        assert _rank(np.array(keys, dtype=np.int64)).tolist() == [keys[: k + 1].count(v) for k, v in enumerate(keys)]


def test_pairs_in_falling_order_of_their_scores():
    random = np.random.default_rng(0)
    first, second = random.integers(0, 50, 300), random.integers(0, 50, 300)
    score = random.choice([-1.5, -1e-9, -0.0, 0.0, 1e-9, 2e-9, 0.25, 2.0], 300).astype(np.float32)
    expected = sorted(range(300), key=lambda k: (-score[k] + 0.0, first[k], second[k]))
    order = best_first(first, second, score)
    assert [(score[k] + 0.0, first[k], second[k]) for k in order] == [
        (score[k] + 0.0, first[k], second[k]) for k in expected
    ]


def test_drawn_pairs_are_those_of_the_seed():
    vectors = Vectors.of(np.random.default_rng(1).normal(size=(30, 4)))
    found = genuine_pairs(vectors, np.repeat([12, 30], [12, 18]), seed=3, most=20)
    kept = set()
    for start, size in ((0, 12), (12, 18)):
        listed = [(start + i, start + j) for i in range(size) for j in range(i + 1, size)]
        kept |= {listed[k] for k in np.random.default_rng([3, 4, start]).integers(0, len(listed), 20)}
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == kept and found.drawn == 2
    compared = Comparisons.of(vectors, np.repeat(np.arange(10), 3))
    rows = np.arange(30)
    drawn = impostor_scores(compared, np.ones(30, bool), seed=8, most=25)
    first, second = _drawn(rows, compared.identity, 25, np.random.default_rng([8, 6]))
    assert np.array_equal(drawn.score, vectors.exact(first, second)) and len(drawn.score) == 25
    assert (compared.identity[first] != compared.identity[second]).all()


def test_scores_of_the_genuine_pairs_of_members():
    random = np.random.default_rng(2)
    compared = Comparisons.of(Vectors.of(random.normal(size=(24, 4))), np.repeat(np.arange(8), 3))
    member = random.random(24) < 0.8
    found = genuine_scores(compared, member)
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24) if i // 3 == j // 3 and member[i] and member[j]]
    scores = compared.vectors.exact(*np.array(pairs).T)
    assert sorted(found.score) == pytest.approx(sorted(scores)) and found.pairs == len(pairs)
    assert found.mean.value == pytest.approx(scores.mean()) and found.deviation == pytest.approx(scores.std())
    assert found.mean.clusters == len({i // 3 for i, _ in pairs})
    none = genuine_scores(compared, np.zeros(24, bool))
    assert none.pairs == 0 and math.isnan(none.deviation) and math.isnan(none.mean.value)


def test_vectors_and_what_they_are_shown_as():
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [-6.0, 8.0]])
    cosine, dot, far = (Vectors.of(rows, kind) for kind in ("cosine", "dot", "euclidean"))
    i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    assert cosine.exact(i, j) == pytest.approx([0, 0.28, 0]) and dot.exact(i, j) == pytest.approx([0, 14, 0])
    assert far.exact(i, j) == pytest.approx([-25, -97, -100])
    assert cosine.reach == (-1.001, 1.001) and dot.reach == pytest.approx((-100.01, 100.01))
    assert far.reach == pytest.approx((-400.04, 0.040004))
    eps = 2.0**-23
    assert cosine.margin == pytest.approx(6 * eps + 3e-6) and dot.margin == pytest.approx(6 * eps * 100)
    assert far.margin == pytest.approx(6 * eps * 400)
    assert (far.shown(-9), far.shown(1e-9), far.score_of(3), cosine.shown(0.5), cosine.score_of(0.5)) == (
        3,
        0,
        -9,
        0.5,
        0.5,
    )
    assert Vectors.of(rows.astype(np.int64)).raw.dtype == np.float64 and len(far) == 3
    assert np.allclose(far.left @ far.right.T, [[0, -25, -97], [-25, 0, -100], [-97, -100, 0]], atol=1e-3)
    many = np.random.default_rng(0).normal(size=(9000, 2))
    whole = Vectors.of(many)
    assert np.allclose(np.linalg.norm(whole.left, axis=1), 1, atol=1e-6)
    pairs = np.arange(8999), np.arange(1, 9000)
    assert np.allclose(whole.exact(*pairs), (whole.left[:-1] * whole.left[1:]).sum(axis=1), atol=1e-6)
    assert Vectors.of(np.zeros((0, 3)), "dot").reach == (-1e-30, 1e-30)


def test_fnmr_of_groups_at_the_threshold():
    identity = np.repeat([0, 1, 2], 2)
    vectors = Vectors.of(np.array([[1.0, 0], [0.6, 0.8], [1, 0], [0.8, 0.6], [1, 0], [1, 0]]))
    compared = Comparisons.of(vectors, identity)
    groups = Groups.of([("a",)] * 4 + [("b",)] * 2, ["a", "b", "c"])
    found = fnmr_by_group(compared.genuine, identity, groups, float(compared.genuine.score[1]))
    assert [(one.value, one.n, one.clusters) for one in found[:2]] == [(0.5, 2, 2), (0, 1, 1)]
    assert found[2].n == 0 and math.isnan(found[2].value)
    no_pair = genuine_pairs(vectors, np.arange(1, 7))
    nobody = fnmr_by_group(no_pair, np.arange(6), groups, 0.5)
    assert nobody[0].n == 0


def test_a_matrix_of_very_few_people():
    identity = np.array([0, 1, 2, 3])
    counts = AcceptedCounts(identity, [Groups.of([("a",), ("a",), ("a",), ("b",)], ["a", "b", "c"])])
    counts.add(np.array([0, 0, 1]), np.array([1, 2, 2]))
    found = fmr_by_group(counts)
    assert (
        found.value[0].tolist()[:2] == [1, 0] and np.isnan(found.value[2]).all() and found.people.tolist() == [3, 1, 0]
    )
    assert found.pairs.tolist() == [[3, 3, 0], [3, 0, 0], [0, 0, 0]]
    low, high = found.low[0, 0], found.high[0, 0]
    t = stats.t.ppf(0.975, 1)
    assert high == 1 and low == pytest.approx(3 / (3 + t * t))  # nothing but accepted pairs: each person is one trial
    assert np.isnan(found.low[0, 1])  # one person on a side
    empty = fmr_by_group(AcceptedCounts(np.zeros(0, int), [Groups.of([], ["a"])]))
    assert np.isnan(empty.value).all() and empty.pairs.tolist() == [[0]]


@pytest.mark.parametrize(("people", "known"), [(1.99, False), (2.0, True)])
def test_two_people_have_an_interval(people, known):
    assert math.isnan(cell(people=people).interval(0, 0, 0.95)[0]) is not known
    assert math.isnan(cell(pairs=0.0).interval(0, 0, 0.95)[0])
    none = cell(accepted=0.0, people=people)
    assert none.interval(0, 0, 0.95) == ((0, 0.03) if known else pytest.approx((np.nan, np.nan), nan_ok=True))
    assert cell(accepted=0.0, persons=2.0).interval(0, 0, 0.95) == (0, 1)


def test_what_cells_say_together():
    some = [cell(people=3.0), cell(accepted=50.0, place=(1, 1)), cell(people=2.0, accepted=900.0), cell(pairs=0.0)]
    used = some[:2]
    alike, within = _pooled(some)
    squares = sum(one.rate**2 for one in used)
    assert alike == pytest.approx(max(sum(one.spread / one.weight for one in used) / squares, 0))
    assert within == pytest.approx(600 / 250)
    assert _pooled([]) == (0, 0) and _pooled([cell(accepted=0.0, dyads=0.0)]) == (0, 0)
    assert _effective(np.array([1.0, 1, 2])) == pytest.approx(16 / 6) and _effective(np.zeros(3)) == 0
    assert cell(place=(1, 1), people=2.0).spread == pytest.approx((3150 - 600) / 1e6)
    assert cell(place=(1, 1), people=4.0).spread == pytest.approx((2 * 3150 - 600) / 1e6)
    assert cell(people=1.0).spread == pytest.approx((3150 - 600) / 1e6)


def test_influence_without_one_kind_of_pair():
    compared = Comparisons.of(Vectors.of(np.random.default_rng(0).normal(size=(8, 3))), np.arange(8))
    found = Influence.at(compared, np.array([0.5, 0.0]))
    assert np.isnan(found.fnmr).all() and found.pairs == (0, 28) and found.effective == pytest.approx(8)
    band = found.band(np.zeros(2), np.ones(2), found.fmr)
    expected = []
    for rate, own, dyads in zip(found.fmr, found.impostor.T, found.dyads, strict=True):
        variance = max(8 / 6 * (own**2).sum() - dyads, dyads, rate * (1 - rate) / 28)
        expected.append(rate * (1 - rate) / variance)
    assert np.isfinite(found.fmr).all() and np.isfinite(expected).all()
    assert found.share == 1 and found.scaled(0.25).share == 0.25
    assert np.isnan(band.low).all() or ((band.low <= found.fmr) & (found.fmr <= band.high)).all()


# identification


@pytest.mark.parametrize("seed", range(2))
def test_the_open_set_curve_by_hand(seed, monkeypatch):
    monkeypatch.setattr(identification, "REPLICATES", 25)
    random = np.random.default_rng(seed)
    hits, alarms = random.integers(0, 9, 20) / 8, random.integers(0, 7, 15) / 8
    hits[random.random(20) < 0.2] = -np.inf
    hit_person, alarm_person = random.integers(0, 6, 20), random.integers(10, 15, 15)
    rates = np.array([0.0, 0.1, 0.4, 1.0])
    found = identification.open_set_curve(hits, hit_person, alarms, alarm_person, rates, seed=seed, level=0.8)
    draw, drawn = np.random.default_rng([seed, 11]), []
    known, unknown = (np.unique(codes, return_inverse=True)[1] for codes in (hit_person, alarm_person))
    for _ in range(25):
        one, two = (np.bincount(draw.integers(0, k, k), minlength=k) for k in (known.max() + 1, unknown.max() + 1))
        row = []
        for rate in rates:
            total, passed, refused = two[unknown].sum(), 0, -np.inf
            for k in np.argsort(-alarms):
                passed += two[unknown[k]]
                if passed > rate * total + 1e-9:
                    refused = alarms[k]
                    break
            row.append(one[known][hits <= refused].sum() / one[known].sum())
        drawn.append(row)
    low, high = np.quantile(drawn, [0.1, 0.9], axis=0)
    value = [np.mean(hits < identification.threshold_at(alarms, rate)) for rate in rates]
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(np.minimum(low, value)) and found.high == pytest.approx(np.maximum(high, value))


def test_thresholds_of_identification_at_their_edges():
    inf = np.inf
    assert identification.threshold_at(np.array([0.5, 0.1]), 1.0) == -inf
    assert identification.threshold_at(np.array([0.5, -inf]), 0.5) == 0.5  # whoever finds nobody causes no alarm
    assert identification.threshold_at(np.array([-inf, -inf]), 0.2) == 0
    assert identification.threshold_at(np.array([0.5]), 0.0) == pytest.approx(0.5 + 1e-9, rel=1e-12)
    assert identification.threshold_at(np.arange(100) / 100, 0.29) == pytest.approx(0.705)


def test_a_search_tells_its_progress_and_knows_who_is_not_there(monkeypatch):
    monkeypatch.setattr(identification, "BLOCK", 3)
    told = []
    probes = np.eye(4)[[0, 1, 2, 3, 0]]
    found = identification.search(probes, np.array([5, 6, 9, 1, 6]), np.eye(4)[:2], np.array([5, 6]), step=told.append)
    assert told == [3, 2] and found.rank.tolist() == [1, 1, 0, 0, 2]
    assert found.own.tolist() == [1, 1, -np.inf, -np.inf, 0] and found.candidate.tolist() == [6, 5, 5, 5, 5]
    alone = identification.search(probes[:1], np.array([5]), np.eye(4)[:1], np.array([5]))
    assert alone.candidate.tolist() == [-1] and alone.other.tolist() == [-np.inf] and alone.rank.tolist() == [1]
    zero = identification.search(np.zeros((1, 4)), np.array([5]), np.eye(4)[:2], np.array([5, 6]))
    assert zero.own.tolist() == [0] and zero.rank.tolist() == [2]


# readings


@pytest.mark.parametrize(
    ("box", "outside"),
    [
        ([-1, 0, 50, 50], 0),
        ([-1.1, 0, 50, 50], 1),
        ([0, -2.1, 50, 50], 1),
        ([0, 0, 101, 50], 0),
        ([0, 0, 101.1, 50], 1),
        ([0, 0, 50, 402], 0),
        ([0, 0, 50, 402.1], 1),
        ([0, -2, 50, 50], 0),
        ([5, 5, 5, 9], 1),
        ([5, 5, 9, 5], 1),
    ],
)
def test_a_box_may_leave_its_picture_by_rounding(box, outside):
    assert readings.share_outside(np.array([box], dtype=float), np.array([[100.0, 400.0]])) == outside
    assert readings.share_outside(np.zeros((0, 4)), np.zeros((0, 2))) == 0


@pytest.mark.parametrize(("large", "units"), [(0, "rel"), (1, "rel"), (2, "px")])
def test_one_box_in_twenty_may_be_large(large, units):
    numbers = np.full((20, 4), 1.5)
    numbers[:large, 2] = -1.6
    assert readings.guessed_units(numbers) == units and readings.guessed_units(np.zeros((0, 4))) == "rel"
    assert readings.fitting(np.zeros((0, 4)), np.zeros((0, 2))) == []


@pytest.mark.parametrize(
    ("share", "used", "more"),
    [
        (0.2, 0.1, True),
        (0.19, 0.0, False),
        (0.5, 0.25, True),
        (0.49, 0.25, False),
        (0.9, 0.6, True),
        (0.89, 0.6, False),
    ],
)
def test_when_a_reading_finds_clearly_more(share, used, more):
    assert trying.clearly_more(share, used) is more


def test_sentences_about_readings():
    def told(found, of, best=0, total=None, **more):
        used = trying.Trial(CORNERS, CORNERS, found, of)
        return trying.reading_note(trying.Trials(used, (), best), lambda trial: "", total=total, **more)

    assert told(0, 0) is None and told(8, 10) is None and told(2, 10) is None and told(6, 100) is None
    assert told(5, 100, 7).startswith("5 of 100 faces were localised, and no other reading of the boxes")
    assert "would localise more than 7: do the boxes" in told(5, 100, 7)
    assert told(0, 1).startswith("0 of 1 face was localised") and told(1, 100).startswith("1 of 100 faces was")
    assert "(a sample of 1,200)" in told(0, 100, total=1200) and "sample" not in told(0, 100, total=100)
    better = tuple(trying.Trial(Reading(form, "px"), CORNERS, 90, 100) for form in ("xywh", "cxcywh", "xxyy", "yxyx"))
    trials = trying.Trials(trying.Trial(CORNERS, CORNERS, 0, 100), better, 90)
    assert trying.reading_note(trials, lambda trial: trial.predicted.form).count("; or ") == 2
    assert trying.Trial(CORNERS, CORNERS, 0, 0).share == 0
    assert [trying.step(n) for n in (0, 500, 501, 1000, 1001)] == [1, 1, 2, 2, 3]


def test_readings_are_tried_below_four_fifths_only():
    box = [10.0, 10, 30, 30]
    wrong = [10.0, 10, 20, 20]  # the corner and the size of the same box

    def trials(right, n=10):
        scenes = [trying.Scene(np.array([box]), np.array([box if k < right else wrong]), 100, 100) for k in range(n)]
        return trying.try_readings(scenes)

    assert trials(8).better == () and trials(8).used.share == 0.8 and trials(8).best_other == 0
    assert trials(0).better[0].predicted == Reading("xywh", "px") and trials(0).best_other == 10
    assert trials(0).better[0].localised == 10
    none = trying.try_readings([trying.Scene(np.array([box]), np.zeros((0, 4)), 100, 100)])
    assert none.better == () and none.used.of == 1
    half = trying.try_readings([trying.Scene(np.array([box]), np.array([[60.0, 60, 70, 70]]), 100, 100)])
    assert half.better == () and half.best_other == 0


def test_true_boxes_that_leave_their_pictures():
    def note(outside, n=20):
        boxes = np.array([[0.0, 0, 50, 50]] * (n - outside) + [[0.0, 0, 50, 150]] * outside)
        return trying.truth_note([trying.Scene(boxes, np.zeros((0, 4)), 100, 100)], CORNERS)

    assert note(0) is None and note(1) is None and note(2).startswith("10 % of the true boxes of the faces leave")
    assert trying.truth_note([], CORNERS) is None


# the bounty


def test_sums_of_nobody_and_of_unlabelled_rows():
    truth = {"skin_tone": np.array([-1, 3]), "age": np.array([-1, -1]), "gender": np.array([0, 1])}
    found = score.scores_from_sums(score.class_sums(truth, truth, [4, 4]))[0]
    assert found[:3].tolist() == pytest.approx([1, np.nan, 1], nan_ok=True)
    assert found[3:6].tolist() == pytest.approx([0, np.nan, 0], nan_ok=True) and math.isnan(found[6])
    nobody = {name: np.zeros(0, int) for name in truth}
    assert score.class_sums(nobody, nobody).shape == (0, 32)
    assert score.class_sums(truth, truth).shape == (2, 32)
    assert np.isnan(score.fair_disparity([0, 0], 0.5)).all() and np.isnan(score.fair_disparity([5], math.nan)).all()


@pytest.mark.parametrize("deff", [1.0, 3.0, 1000.0])
def test_the_fair_disparity_by_hand(deff):
    rows = [40, 0, 25, 3]
    kept = np.array([max(round(n / deff), 1) for n in rows if n])
    shares = np.random.default_rng(2).binomial(kept, 0.7, size=(50, 3)) / kept
    spread = [max(row) - min(row) for row in shares]
    found = score.fair_disparity(rows, 0.7, deff=deff, replicates=50, seed=2)
    assert found == pytest.approx((np.mean(spread), np.quantile(spread, 0.95)))


# nearest neighbours


def test_no_neighbour_and_more_than_there_are():
    probes, gallery = np.eye(3), np.eye(3)[:2]
    index, cosine = topk.cosine_top_k(probes, gallery, 5)
    assert index.tolist() == [[0, 1], [1, 0], [0, 1]] and cosine[0].tolist() == [1, 0]
    assert topk.cosine_top_k(probes, gallery, 0)[0].shape == (3, 0)
    assert topk.cosine_top_k(probes, np.zeros((0, 3)))[0].shape == (3, 0)
    assert topk.cosine_top_k(probes, np.eye(3)[np.zeros(30, int)])[0].shape == (3, 10)


def test_pairs_of_people_who_may_be_in_both_groups():
    values = [("a",)] * 2 + [("a", "b")] * 2 + [("b",)] * 2
    found = fmr_by_group(AcceptedCounts(np.arange(6), [Groups.of(values, ["a", "b"])]))
    assert found.high[0, 1] == pytest.approx(3 / 14) and found.high[0, 0] == pytest.approx(3 / 6)
