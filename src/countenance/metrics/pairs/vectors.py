"""Embeddings as they are compared: single precision for whole blocks of pairs, double precision for chosen pairs."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Index = NDArray[np.integer[Any]]

Similarity = Literal["cosine", "euclidean", "dot"]
ROUNDING = float(np.finfo(np.float32).eps)
HALVES = 3e-6
"""The largest difference between a cosine from two halves (see `device`) and one in single precision: three products of
2⁻¹¹·2⁻¹¹, and what the smallest numbers of half precision lose in vectors of up to 4,096 numbers."""
CHUNK = 4096


@dataclass(frozen=True)
class Vectors:
    """Vectors whose pairs have a score: the larger, the more alike.

    The score is the cosine, the dot product, or minus the squared Euclidean distance; `shown` gives the last one as
    the distance that people set thresholds on. A block of scores is `left[a:b] @ right[c:d].T`, in single precision;
    `exact` gives the scores of chosen pairs in double precision, and the two differ by less than `margin`.
    """

    similarity: Similarity
    raw: NDArray[Any]
    length: Array
    left: Singles
    right: Singles
    reach: tuple[float, float]
    """The range in which all scores lie."""
    margin: float

    def __len__(self) -> int:
        return len(self.raw)

    @classmethod
    def of(cls, raw: NDArray[Any], similarity: Similarity = "cosine") -> "Vectors":
        """Vectors from an array of rows; a row of zeros has cosine 0 with everything.

        >>> faces = Vectors.of(np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]))
        >>> faces.exact(np.array([0, 0]), np.array([1, 2]))
        array([1., 0.])
        """
        rows = raw if raw.dtype in (np.float32, np.float64) else raw.astype(np.float64)
        square = np.concatenate([_squares(rows[a : a + CHUNK]) for a in range(0, len(rows), CHUNK)] or [np.zeros(0)])
        largest = float(square.max(initial=0.0))
        terms = rows.shape[1] + 4
        if similarity == "cosine":
            length = np.where(square > 0, np.sqrt(square), 1.0)
            left = np.empty(rows.shape, np.float32)
            for a in range(0, len(rows), CHUNK):
                left[a : a + CHUNK] = rows[a : a + CHUNK] / length[a : a + CHUNK, None]
            return cls(similarity, rows, length, left, left, (-1.001, 1.001), terms * ROUNDING + HALVES)
        length = np.ones(len(rows))
        if similarity == "dot":
            left = rows.astype(np.float32)
            edge = reach_of(largest)
            return cls(similarity, rows, length, left, left, (-edge, edge), terms * ROUNDING * largest)
        # -|a - b|² = 2 a·b - |a|² - |b|², as one product with two more columns.
        single, ones = square.astype(np.float32)[:, None], np.ones((len(rows), 1), np.float32)
        plain = rows.astype(np.float32)
        left, right = np.hstack([2 * plain, -single, ones]), np.hstack([plain, ones, -single])
        edge = reach_of(4 * largest)
        return cls(similarity, rows, length, left, right, (-edge, edge * 1e-4), terms * ROUNDING * 4 * largest)

    def exact(self, first: Index, second: Index) -> Array:
        """The scores of pairs of rows in double precision."""
        out = np.empty(len(first))
        for a in range(0, len(first), CHUNK):
            i, j = first[a : a + CHUNK], second[a : a + CHUNK]
            left, right = self.raw[i].astype(np.float64), self.raw[j].astype(np.float64)
            if self.similarity == "cosine":
                left /= self.length[i, None]
                right /= self.length[j, None]
            if self.similarity == "euclidean":
                left -= right
                out[a : a + CHUNK] = -np.einsum("ij,ij->i", left, left)
            else:
                out[a : a + CHUNK] = np.einsum("ij,ij->i", left, right)
        return out

    def taken(self, rows: Index) -> "Vectors":
        """Some of the vectors, compared in the same way."""
        return Vectors.of(self.raw[rows], self.similarity)

    def shown(self, score: float) -> float:
        """A score as users read it: a distance where distances are compared.

        >>> Vectors.of(np.eye(2), "euclidean").shown(-4.0)
        2.0
        """
        return float(np.sqrt(max(-score, 0.0))) if self.similarity == "euclidean" else float(score)

    def score_of(self, shown: float) -> float:
        """The score for a threshold in users' units.

        >>> Vectors.of(np.eye(2), "euclidean").score_of(0.5)
        -0.25
        """
        return -(shown**2) if self.similarity == "euclidean" else float(shown)


def reach_of(largest: float) -> float:
    """A bound slightly above the largest possible score, so that rounding leaves no score outside.

    >>> round(reach_of(2.0), 6), reach_of(0.0)
    (2.0002, 1e-30)
    """
    return largest * 1.0001 + 1e-30


def _squares(rows: NDArray[Any]) -> Array:
    double = rows.astype(np.float64)
    return np.asarray(np.einsum("ij,ij->i", double, double))
