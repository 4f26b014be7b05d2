import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as coco

from countenance.metrics.boxes import average_recall, best_overlap, iou_matrix, recall_curve, suppress

corner = st.floats(-100, 100, allow_nan=False, width=32)


@st.composite
def boxes(draw: st.DrawFn, most: int = 6) -> np.ndarray:
    n = draw(st.integers(0, most))
    start = draw(arrays(np.float64, (n, 2), elements=corner))
    side = draw(arrays(np.float64, (n, 2), elements=st.floats(0.5, 50, width=32)))
    return np.hstack([start, start + side])


@given(boxes(), boxes())
def test_overlap_equals_pycocotools(a: np.ndarray, b: np.ndarray) -> None:
    def xywh(c: np.ndarray) -> np.ndarray:
        return np.hstack([c[:, :2], c[:, 2:] - c[:, :2]])

    if len(a) and len(b):
        expected = coco.iou(xywh(a), xywh(b), [0] * len(b))
        assert np.allclose(iou_matrix(a, b), expected, atol=1e-9)


@given(boxes(), boxes())
def test_overlap_is_symmetric_and_within_bounds(a: np.ndarray, b: np.ndarray) -> None:
    overlap = iou_matrix(a, b)
    assert np.allclose(overlap, iou_matrix(b, a).T)
    assert ((overlap >= 0) & (overlap <= 1 + 1e-12)).all()
    assert np.allclose(np.diag(iou_matrix(a, a)), 1)


@given(boxes(), boxes())
def test_a_further_answer_never_lowers_the_best_overlap(truth: np.ndarray, answered: np.ndarray) -> None:
    more = np.vstack([answered, truth[:1]])
    assert (best_overlap(truth, more) >= best_overlap(truth, answered) - 1e-12).all()


def test_an_overlap_of_exactly_the_threshold_passes() -> None:
    assert average_recall(np.array([0.5, 0.6, 0.95])).tolist() == [0.1, 0.3, 1.0]


def test_no_subjects_is_nan() -> None:
    assert np.isnan(recall_curve(np.zeros(0), np.array([0.5]))).all()


@given(boxes(12), st.floats(0.1, 0.9))
def test_what_suppression_keeps_overlaps_no_more_than_the_limit(found: np.ndarray, limit: float) -> None:
    scores = np.linspace(0, 1, len(found))
    kept = suppress(found, scores, limit)
    overlap = iou_matrix(found[kept], found[kept]) - np.eye(len(kept))
    assert (overlap <= limit + 1e-12).all()
    assert (np.diff(scores[kept]) <= 0).all()
