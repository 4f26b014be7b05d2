"""Boxes of many images at once, hits, average precision and body parts."""

from dataclasses import astuple, replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from tests.naive import average_precision, precision_recall

from countenance.metrics import boxes, detection
from countenance.metrics.detection import (
    RankedDetections,
    _running,
    average_precisions,
)
from countenance.metrics.localization import (
    best_overlaps,
    expand,
    hits,
    iou_rows,
    part_accuracy,
    part_recall,
    passed_share,
)


def scene(seed: int, images: int = 6):
    generator = np.random.default_rng(seed)
    truth, image = [], []
    for i in range(images):
        for _ in range(generator.integers(1, 4)):
            x, y = generator.uniform(0, 80, 2)
            truth.append([x, y, x + generator.uniform(10, 40), y + generator.uniform(10, 40)])
            image.append(i)
    counts = generator.integers(0, 5, images)
    answered, owners = [], np.repeat(np.arange(images), counts)
    for i in owners:
        own = [t for t, k in zip(truth, image, strict=True) if k == i]
        base = np.array(own[generator.integers(len(own))])
        answered.append(base + generator.normal(0, 4, 4))
    answered = np.array(answered).reshape(-1, 4)
    answered[:, 2:] = np.maximum(answered[:, 2:], answered[:, :2] + 1)
    scores = generator.permutation(len(answered)) / 100
    return np.array(truth), np.array(image), answered, scores, counts


def match_greedy(truth, answered, scores, threshold):
    """Which true box each answer of one image hits, best scores first, each true box at most once; -1: nobody."""
    hit = np.full(len(answered), -1)
    overlaps = boxes.iou_matrix(truth, answered)
    for i in np.argsort(-scores, kind="stable"):
        best = int(np.argmax(overlaps[:, i]))
        if overlaps[best, i] >= threshold:
            hit[i] = best
            overlaps[best] = -1
    return hit


@given(st.integers(0, 2000))
def test_many_images_at_once_equal_one_by_one(seed):
    truth, image, answered, scores, counts = scene(seed)
    best = best_overlaps(truth, image, answered, counts)
    found = hits(truth, image, answered, scores, counts)
    starts = np.cumsum(counts) - counts
    for i in range(len(counts)):
        rows, part = image == i, slice(starts[i], starts[i] + counts[i])
        assert np.array_equal(best[rows], boxes.best_overlap(truth[rows], answered[part]))
        one = match_greedy(truth[rows], answered[part], scores[part], 0.5)
        assert np.array_equal(found[part], np.where(one >= 0, np.append(np.flatnonzero(rows), -1)[one], -1))


def test_a_duplicate_box_is_a_false_alarm():
    box = np.array([[0, 0, 10, 10.0]])
    found = hits(box, np.array([0]), np.repeat(box, 3, 0), np.array([0.2, 0.9, 0.5]), np.array([3]))
    assert found.tolist() == [-1, 0, -1]


@given(st.integers(0, 300))
def test_average_precision_equals_pycocotools(seed):
    truth, image, answered, scores, counts = scene(seed)
    owners = np.repeat(np.arange(len(counts)), counts)
    if not len(answered):
        return

    def xywh(b):
        return [float(b[0]), float(b[1]), float(b[2] - b[0]), float(b[3] - b[1])]

    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO()
        data.dataset = {
            "info": {},
            "images": [{"id": i} for i in range(len(counts))],
            "categories": [{"id": 1}],
            "annotations": [
                {
                    "id": n + 1,
                    "image_id": int(image[n]),
                    "category_id": 1,
                    "bbox": xywh(b),
                    "area": xywh(b)[2] * xywh(b)[3],
                    "iscrowd": 0,
                }
                for n, b in enumerate(truth)
            ],
        }
        data.createIndex()
        found = data.loadRes(
            [
                {"image_id": int(owners[n]), "category_id": 1, "bbox": xywh(b), "score": float(scores[n])}
                for n, b in enumerate(answered)
            ]
        )
        evaluation = COCOeval(data, found, "bbox")
        evaluation.params.iouThrs = np.array([0.5])
        evaluation.evaluate()
        evaluation.accumulate()
    expected = float(evaluation.eval["precision"][0, :, 0, 0, -1].mean())
    hit = hits(truth, image, answered, scores, counts) >= 0
    assert average_precision(scores, hit, len(truth)) == pytest.approx(expected, abs=1e-9)


def plain_interval(scores, hit, image, truth_per_image, replicates, seed=0):
    """Each resample's average precision from all its answers, one group at a time."""
    order = np.argsort(-scores, kind="stable")
    generator = np.random.default_rng(seed)
    n, values = len(truth_per_image), []
    for _ in range(replicates):
        weight = np.bincount(generator.integers(0, n, n), minlength=n).astype(float)
        if (truth := weight @ truth_per_image) == 0:
            continue
        w = weight[image[order]]
        found, total = np.cumsum(w * hit[order]), np.cumsum(w)
        precision = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
        envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
        values.append(envelope[np.searchsorted(found / truth, np.linspace(0, 1, 101), side="left")].mean())
    return tuple(np.percentile(values, [2.5, 97.5])) if values else (np.nan, np.nan)


def in_blocks(size, *columns):
    """The same columns, so many rows at a time."""
    return lambda: (tuple(one[i : i + size] for one in columns) for i in range(0, len(columns[0]), size))


def ranked(scores, found, owners, image, members, size):
    """Detections by group; a true box is a kind by itself, and a false alarm counts in full for every group."""
    order = np.argsort(-scores, kind="stable")
    boxes = in_blocks(size, owners[order], np.where(found < 0, -2, found)[order])
    images = int(max(owners.max(initial=-1), image.max(initial=-1))) + 1
    truths = in_blocks(size, image, np.arange(len(image)))
    return RankedDetections(images, boxes, truths, np.array(members), np.ones((len(members), 2)))


@given(st.integers(0, 300), st.sampled_from([1, 3, 1000]), st.sampled_from([1, 40, 10**6]))
def test_values_and_intervals_of_groups_equal_those_of_each_alone(seed, size, memory):
    truth, image, answered, scores, counts = scene(seed)
    scores = np.round(scores, 1)  # ties too
    found, owners = hits(truth, image, answered, scores, counts), np.repeat(np.arange(len(counts)), counts)
    members = [np.ones(len(truth), bool), np.arange(len(truth)) % 2 == 0, np.zeros(len(truth), bool)]
    with mock.patch.multiple(detection, MOST_WEIGHTS=memory, DRAWN_AT_ONCE=size):
        one = replace(ranked(scores, found, owners, image, members, size), images=len(counts))
        several = average_precisions(one, replicates=20)
    for member, estimate in zip(members, several, strict=True):
        keep = (found < 0) | member[found]
        count = np.bincount(image[member], minlength=len(counts)).astype(float)
        low, high = plain_interval(scores[keep], found[keep] >= 0, owners[keep], count, 20)
        value = average_precision(scores[keep], found[keep] >= 0, int(member.sum()))
        expected = (value, low, high, int(member.sum()))
        np.testing.assert_array_equal(astuple(estimate), expected)  # to the last digit


def test_average_precision_has_an_interval_and_no_truth_no_number():
    truth, image, answered, scores, counts = scene(5, images=40)
    hit = hits(truth, image, answered, scores, counts) >= 0
    value = average_precision(scores, hit, len(truth))
    owners = np.repeat(np.arange(len(counts)), counts)
    found = hits(truth, image, answered, scores, counts)
    (one,) = average_precisions(ranked(scores, found, owners, image, [np.ones(len(truth), bool)], 50), replicates=200)
    assert one.value == value
    assert one.low < value < one.high
    assert np.isnan(average_precision(scores, hit, 0))
    assert average_precision(np.zeros(0), np.zeros(0, bool), 3) == 0.0
    precision, recall = precision_recall(scores, hit, len(truth))
    assert (np.diff(recall) >= 0).all()
    assert ((precision >= 0) & (precision <= 1)).all()


def test_boxes_without_area_overlap_nothing():
    point = np.array([[5, 5, 5, 5.0]])
    assert iou_rows(point, point).tolist() == [0.0]
    assert expand(np.array([0, 1]), np.array([0, 2]))[1].tolist() == [0, 1]


@given(st.floats(0, 1), st.booleans())
def test_accuracy_and_recall_of_a_part_agree_where_it_is_there(chance, present):
    levels = np.array([0.3, 0.5, 0.9])
    p, there = np.array([chance]), np.array([present])
    recall, accuracy = part_recall(p, there, levels)[0], part_accuracy(p, there, levels)[0]
    if present:
        assert recall == accuracy == passed_share(p, levels)[0]
    else:
        assert np.isnan(recall)
        assert accuracy == pytest.approx(1 - passed_share(p, levels)[0])


def flooded(boxes_per_image: int, images: int = 8) -> RankedDetections:
    """One hit in each image among very many false positives, in drawn order; two groups that share an image."""
    generator = np.random.default_rng(boxes_per_image)
    image = generator.permutation(np.repeat(np.arange(images), boxes_per_image))
    kind = -2 - image % 3  # alone, alone, or both together
    kind[image == images - 1] = -1  # nobody is in the last image
    for one in range(images - 1):
        kind[np.argmax(image == one)] = one % 2
    truths = (np.arange(images - 1), np.arange(images - 1) % 2)
    shares = np.array([[0, 1, 1, 1], [0, 1, 0, 0.3], [0, 0, 1, 0.7]])
    members = np.array([[True, True], [True, False], [False, True]])
    return RankedDetections(images, in_blocks(10_000, image, kind), lambda: iter([truths]), members, shares)


def test_a_flood_of_false_positives_costs_no_more_sums_than_a_few(monkeypatch) -> None:
    """200,000 boxes in every image took minutes: each was added up in each resample of each group."""
    added = {}
    for boxes_per_image in (100, 1000, 4000):
        sizes: list[int] = []
        monkeypatch.setattr(
            detection, "_running", lambda values, s=sizes, f=_running: (s.append(len(values)), f(values))[1]
        )
        estimates = average_precisions(flooded(boxes_per_image), replicates=20)
        assert 0 < estimates[0].value < 1 and estimates[0].low < estimates[0].high
        added[boxes_per_image] = sum(sizes)
    blocks = 8 * 4000 / 10_000
    assert added[4000] < 21 * 4 * 8 * (7 + blocks)  # resamples x groups x images x (hits and ends of blocks)
    assert added[4000] < 3 * added[100]  # for 40 times as many boxes


@pytest.mark.parametrize("boxes_per_image", [1, 5, 60])
def test_sums_of_false_positives_give_the_numbers_of_single_ones(boxes_per_image, monkeypatch) -> None:
    found = flooded(boxes_per_image)
    estimates = average_precisions(found, replicates=15, seed=2)
    every = staticmethod(
        lambda chosen, gap, image, kind: detection._Alarms(
            *(column[chosen] for column in (gap, image, kind, np.ones(len(kind))))
        )
    )
    monkeypatch.setattr(detection._Alarms, "of", every)
    singly = average_precisions(found, replicates=15, seed=2)
    for one, other in zip(estimates, singly, strict=True):
        np.testing.assert_allclose(astuple(one), astuple(other), rtol=1e-12)
