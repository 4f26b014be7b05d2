"""The blocked search finds what looking at everything finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.metrics import topk


def everything(probes, gallery, k):
    cosine = topk.unit_rows(probes) @ topk.unit_rows(gallery).T
    order = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosine, order, axis=1)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40), st.integers(1, 700), st.integers(1, 12), st.integers(0, 2**31), st.sampled_from([16, 100, 8192])
)
def test_blocks_change_nothing(probes, gallery, k, seed, width):
    random = np.random.default_rng(seed)
    a = random.integers(-2, 3, (probes, 4)).astype(float)  # small numbers: many equal cosines
    b = random.integers(-2, 3, (gallery, 4)).astype(float)
    before, topk.GALLERY = topk.GALLERY, width
    try:
        index, score = topk.cosine_top_k(a, b, k, threads=2)
    finally:
        topk.GALLERY = before
    expected_index, expected = everything(a, b, min(k, gallery))
    np.testing.assert_allclose(score, expected, atol=1e-6)
    assert (np.diff(score, axis=1) <= 0).all()
    exact = (topk.unit_rows(a)[:, None] * topk.unit_rows(b)[index]).sum(axis=2)
    np.testing.assert_allclose(exact, score, atol=1e-6)
    assert index.shape == expected_index.shape
    assert all(len(set(row)) == len(row) for row in index.tolist())


def test_random_templates_give_the_same_neighbours_in_the_same_order():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(1500, 32)), random.normal(size=(3000, 32))
    index, _ = topk.cosine_top_k(a, b, 10)
    assert (index == everything(a, b, 10)[0]).all()


def test_a_template_of_zeros_resembles_nothing():
    _, score = topk.cosine_top_k(np.zeros((1, 4)), np.eye(4), 2)
    assert score.tolist() == [[0.0, 0.0]]


def test_progress_counts_every_probe():
    done = []
    topk.cosine_top_k(np.ones((2500, 2)), np.ones((3, 2)), 1, step=done.append)
    assert sum(done) == 2500


def test_templates_of_different_length_are_refused():
    with pytest.raises(ValueError, match="cannot be compared"):
        topk.cosine_top_k(np.ones((1, 3)), np.ones((1, 4)))


@pytest.mark.parametrize("k", [1, 12, 13, 20])
def test_the_largest_of_a_row_come_first_and_equal_ones_in_their_order(k):
    matrix = np.random.default_rng(k).integers(0, 9, (5, 20)) / 8
    kept = matrix.copy()
    score, column = topk.largest(matrix, k)
    for row, found, places in zip(matrix.tolist(), score.tolist(), column.tolist(), strict=True):
        expected = sorted(range(20), key=lambda j, row=row: (-row[j], j))[:k]
        assert places == expected and found == [row[j] for j in expected]
    assert (matrix == kept).all()
