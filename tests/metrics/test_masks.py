"""Masks in runs give what decoded pixels give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as coco

from countenance.metrics import masks

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12))
pairs = shapes.flatmap(lambda s: st.tuples(arrays(bool, s), arrays(bool, s)))


def encode(mask: np.ndarray) -> str:
    return coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()


@given(pairs)
def test_run_lengths_read_and_write_as_pycocotools_does(pair):
    mask = pair[0]
    text = encode(mask)
    runs = masks.run_lengths(text)
    assert np.array_equal(masks.fill(runs, *mask.shape), mask)
    assert masks.compress(runs) == text
    assert np.array_equal(masks.mask_runs(mask), runs)
    assert masks.area(runs) == mask.sum()


@given(pairs)
def test_overlap_equals_pycocotools(pair):
    a, b = (masks.mask_runs(mask) for mask in pair)
    rles = [{"size": list(mask.shape), "counts": encode(mask).encode()} for mask in pair]
    expected = float(coco.iou([rles[0]], [rles[1]], [0])[0, 0])
    assert masks.iou(a, b) == expected
    assert masks.iou(b, a) == expected
    assert masks.intersection(a, b) == (pair[0] & pair[1]).sum()


def test_large_runs_survive():
    lengths = np.array([0, 3_000_000, 7, 2_999_993])
    assert np.array_equal(masks.run_lengths(masks.compress(lengths)), lengths)


@pytest.mark.parametrize("text", ["~~~", "d", "P" * 40, " 04", "0O"])
def test_malformed_run_lengths_are_refused(text):
    with pytest.raises(ValueError, match=r"run length|character|negative"):
        masks.run_lengths(text)


def test_nobody_answered_is_zero():
    assert masks.best_overlap([np.array([0, 4])], []).tolist() == [0.0]


@pytest.mark.parametrize("seed", range(12))
def test_polygons_are_filled_as_opencv_fills_them(seed):
    cv2 = pytest.importorskip("cv2")
    random = np.random.default_rng(seed)
    height, width = (int(v) for v in random.integers(4, 20, 2))
    polygons = [random.integers(-2 if seed % 3 else 0, 22, (int(random.integers(3, 7)), 2)) for _ in range(seed % 4)]
    if seed == 5:
        polygons = [np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]])]
    canvas = np.zeros((height, width), np.uint8)
    for polygon in polygons:
        cv2.fillPoly(canvas, [polygon.astype(np.int32)], 1)
    found = masks.polygon_runs(polygons, height, width)
    assert np.array_equal(masks.fill(found, height, width), canvas.astype(bool))
    assert np.array_equal(found, masks.mask_runs(canvas.astype(bool)))


@pytest.mark.parametrize("first", [0, 3])
def test_columns_that_are_full_from_top_to_bottom_join(first):
    """A person who reaches from the upper to the lower border, beside columns that do not."""
    corners = np.array([[first, 4], [first + 3, -3], [first + 8, -3], [first + 8, 12], [first + 3, 12]])
    found = masks.polygon_runs([corners], 10, 15)
    filled = masks.fill(found, 10, 15)
    assert filled[:, first + 4 : first + 9].all() and filled.sum() == masks.area(found)
    assert np.array_equal(found, masks.mask_runs(filled)) and len(found) < 12


def test_polygons_beside_the_picture_are_empty():
    for corners in ([[30, 0], [40, 0], [40, 9]], [[0, 30], [9, 30], [9, 40]], [[-9, -9], [-5, -9], [-5, -5]]):
        assert masks.polygon_runs([np.array(corners)], 10, 12).tolist() == [120]
    assert masks.polygon_runs([], 3, 4).tolist() == [12] and masks.polygon_runs([np.zeros((0, 2), int)], 3, 4)[0] == 12


@given(st.lists(shapes.flatmap(lambda s: arrays(bool, s)), max_size=5))
def test_several_masks_are_read_as_one_by_one(some):
    texts = [encode(mask) for mask in some]
    together = masks.many_run_lengths(texts)
    assert len(together) == len(texts)
    for one, text in zip(together, texts, strict=True):
        assert np.array_equal(one, masks.run_lengths(text))


@pytest.mark.parametrize(
    "lengths", [[0, 15], [0, 16], [16, 1], [511, 512], [0, 1, 2, 3, 4, 5], [9, 8, 7, 6, 5], [0, 10**9]]
)
def test_run_lengths_of_any_size_are_written_and_read(lengths):
    assert masks.run_lengths(masks.compress(lengths)).tolist() == lengths
    assert len(masks.many_run_lengths([masks.compress(lengths)] * 3)) == 3


@pytest.mark.parametrize(
    ("text", "message"), [("/", "character"), ("p", "character"), ("o", "middle"), ("0O", "negative")]
)
def test_what_is_wrong_with_run_lengths_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        masks.run_lengths(text)
    with pytest.raises(ValueError, match="too long"):
        masks.run_lengths("P" * 12 + "0")
