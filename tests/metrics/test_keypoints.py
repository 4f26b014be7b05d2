"""PCK and OKS: COCO's own numbers, and what must hold for any points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from countenance.metrics.keypoints import COCO_SIGMAS, correct_keypoints, oks_rows, pair_by_overlap

rng = np.random.default_rng(3)


def test_oks_equals_pycocotools(capsys):
    truth = np.concatenate([rng.uniform(0, 200, (2, 17, 2)), rng.integers(0, 3, (2, 17, 1))], axis=2)
    answered = np.concatenate([rng.uniform(0, 200, (3, 17, 2)), np.ones((3, 17, 1))], axis=2)
    areas = np.array([900.0, 2500.0])
    data = COCO()
    data.dataset = {
        "info": {},
        "images": [{"id": 1}],
        "categories": [{"id": 1}],
        "annotations": [
            {
                "id": i + 1,
                "image_id": 1,
                "category_id": 1,
                "keypoints": truth[i].ravel().tolist(),
                "num_keypoints": int((truth[i, :, 2] > 0).sum()),
                "area": areas[i],
                "bbox": [0, 0, 200, 200],
                "iscrowd": 0,
            }
            for i in range(2)
        ],
    }
    data.createIndex()
    found = data.loadRes(
        [
            {"image_id": 1, "category_id": 1, "keypoints": a.ravel().tolist(), "score": 1 - i / 10}
            for i, a in enumerate(answered)
        ]
    )
    evaluation = COCOeval(data, found, "keypoints")
    evaluation.params.kpt_oks_sigmas = COCO_SIGMAS
    evaluation._prepare()
    expected = evaluation.computeOks(1, 1)
    for i in range(3):
        row = oks_rows(np.repeat(answered[i : i + 1, :, :2], 2, 0), truth[:, :, :2], truth[:, :, 2] > 0, areas)
        assert np.allclose(row, expected[i], atol=1e-12)


def test_exactly_on_the_threshold_is_correct():
    truth = np.zeros((1, 1, 2))
    points = np.array([[[30.0, 40.0]]])
    shares = correct_keypoints(points, truth, np.array([[True]]), np.array([100.0]), np.array([0.49, 0.5]))
    assert shares.tolist() == [[0.0, 1.0]]


def test_nobody_visible_has_no_score():
    shares = correct_keypoints(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.zeros((1, 2), bool), np.ones(1), np.ones(1))
    assert np.isnan(shares).all()


@given(st.integers(0, 10_000))
def test_more_tolerance_never_loses_a_keypoint(seed):
    generator = np.random.default_rng(seed)
    shares = correct_keypoints(
        generator.normal(size=(3, 5, 2)),
        generator.normal(size=(3, 5, 2)),
        generator.random((3, 5)) < 0.7,
        np.ones(3),
        np.linspace(0, 4, 9),
    )
    known = shares[~np.isnan(shares).any(axis=1)]
    assert (np.diff(known, axis=1) >= 0).all()
    assert ((known >= 0) & (known <= 1)).all()


@settings(max_examples=50)
@given(st.integers(0, 4), st.integers(1, 4), st.integers(0, 1000))
def test_pairing_is_one_to_one_and_best(answers, people, seed):
    from itertools import permutations

    overlap = np.random.default_rng(seed).random((answers, people))
    paired = pair_by_overlap(overlap)
    used = paired[paired >= 0]
    assert len(used) == min(answers, people)
    assert len(set(used.tolist())) == len(used)
    total = sum(overlap[a, p] for p, a in enumerate(paired) if a >= 0)
    if answers <= people:
        best = max(
            (sum(overlap[a, p] for a, p in enumerate(chosen)) for chosen in permutations(range(people), answers)),
            default=0,
        )
    else:
        best = max(sum(overlap[a, p] for p, a in enumerate(chosen)) for chosen in permutations(range(answers), people))
    assert np.isclose(total, best)


def test_the_constants_are_those_of_coco_and_fhibe() -> None:
    from pycocotools.cocoeval import Params

    from countenance.metrics.boxes import AR_THRESHOLDS
    from countenance.metrics.keypoints import PCK_THRESHOLDS

    assert COCO_SIGMAS.tolist() == pytest.approx(Params(iouType="keypoints").kpt_oks_sigmas.tolist())
    assert AR_THRESHOLDS.tolist() == pytest.approx(Params(iouType="bbox").iouThrs.tolist())
    assert PCK_THRESHOLDS.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
