"""Vectors as they are compared: their reach and rounding by hand, and work in pieces."""

import numpy as np
import pytest
from tests.metrics.pairs import naive

from countenance.metrics.pairs import vectors
from countenance.metrics.pairs.vectors import Vectors

ROWS = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])
EPS = 2.0**-23


@pytest.mark.parametrize(
    ("similarity", "reach", "margin"),
    [
        ("cosine", (-1.001, 1.001), (2 + 4) * EPS + 3e-6),
        ("dot", (-25.0025, 25.0025), (2 + 4) * EPS * 25),
        ("euclidean", (-100.01, 0.010001), (2 + 4) * EPS * 100),  # two vectors of length 5 are at most 10 apart
    ],
)
def test_reach_and_rounding_of_each_similarity(similarity, reach, margin):
    made = Vectors.of(ROWS, similarity)
    assert made.reach == pytest.approx(reach, rel=1e-12) and made.margin == pytest.approx(margin, rel=1e-12)
    assert len(made) == 3 and made.left.dtype == made.right.dtype == np.float32
    np.testing.assert_allclose(made.left @ made.right.T, naive.scores(ROWS, similarity), atol=1e-5)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int32, np.float16])
def test_pieces_give_the_scores_of_all_pairs(monkeypatch, similarity, kind):
    monkeypatch.setattr(vectors, "CHUNK", 2)
    rows = np.random.default_rng(0).integers(-9, 9, (7, 5)).astype(kind)
    made = Vectors.of(rows, similarity)
    i, j = np.triu_indices(7, 1)
    expected = naive.scores(rows, similarity)
    np.testing.assert_allclose(made.exact(i, j), expected[i, j], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made.left @ made.right.T, expected, atol=made.margin)
    some = made.taken(np.array([4, 1]))
    assert some.exact(np.array([0]), np.array([1]))[0] == pytest.approx(expected[4, 1])
    assert some.similarity == similarity
    nobody = Vectors.of(rows[:0], similarity)
    assert len(nobody) == len(nobody.left) == len(nobody.length) == 0


def test_thresholds_are_told_as_people_read_them():
    plain, distance = Vectors.of(ROWS), Vectors.of(ROWS, "euclidean")
    assert plain.shown(0.25) == plain.score_of(0.25) == 0.25
    assert distance.shown(-9.0) == 3 and distance.score_of(3.0) == -9
    assert distance.shown(1e-9) == 0  # above 0 by rounding alone
