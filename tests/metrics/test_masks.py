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
