"""Step c: finds two groups of windows that err on different photos, and the blocks of each group.

Windows that see the same feature are wrong about the same photos; windows that see different features are not.
So the residuals, once the label is taken out, are correlated within a feature and not between features, and a
two-way normalised cut of the graph of correlations separates them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.suites.happyfaces.interface import Floats, Labels, Singles
from countenance.suites.happyfaces.spatial.windows import Windows


@dataclass(frozen=True)
class RegionGroups:
    """The informative windows and the group (0 the more accurate, 1 the other) of each."""

    windows: Windows
    group: Labels
    cut: float
    """The normalised cut: 0 two unconnected groups, near 1 and above no two groups at all."""


def residuals(scores: Floats, target: Floats) -> Floats:
    """Each window's scores less the mean score of the photo's own class."""
    left = scores.copy()
    for label in np.unique(target):
        own = target == label
        left[:, own] -= left[:, own].mean(1, keepdims=True)
    return left


def two_groups(windows: Windows, target: Floats) -> RegionGroups:
    """Cut the informative windows in two; the group with the most accurate window comes first.

    Raises ValueError if fewer than two windows are informative.
    """
    about = windows.only(windows.telling())
    if len(about.accuracy) < 2:
        raise ValueError(f"windows that do better than chance: {len(about.accuracy)}; two are needed")
    left = residuals(about.scores, target)
    left /= np.linalg.norm(left, axis=1, keepdims=True) + 1e-12
    first, cut = normalised_cut(np.square(np.maximum(left @ left.T, 0)))
    best, other = ((some.max(), some.mean()) for some in (about.accuracy[first], about.accuracy[~first]))
    return RegionGroups(about, np.where(first == (best >= other), 0, 1), cut)


@dataclass(frozen=True)
class Region:
    """The region of one head: for each scale a weight for every block, summing to 1."""

    weights: tuple[Floats, ...]

    def box(self, scale: int) -> tuple[int, int, int, int]:
        """The smallest centred box of blocks that holds the region: first row, end row, first column, end column."""
        rows, columns = np.nonzero(self.weights[scale])
        if not len(rows):
            return 0, 1, 0, self.weights[scale].shape[1]
        return int(rows.min()), int(rows.max()) + 1, int(columns.min()), int(columns.max()) + 1

    def root(self, scale: int) -> Singles:
        """Square roots of the weights inside the box, rows × columns × 1: they multiply features, not distances."""
        top, bottom, left, right = self.box(scale)
        return np.sqrt(self.weights[scale][top:bottom, left:right]).astype(np.float32)[:, :, None]


def regions(groups: RegionGroups, shapes: tuple[tuple[int, int], ...], gamma: float) -> tuple[Region, Region]:
    """The blocks of both groups: a block's weight is Σ (accuracy − ½)^γ over its windows.

    A block that windows of both groups contain goes to the group with the larger weight, so that no head sees the
    other's feature. Weights are made symmetric, because heads look at a photo and its mirror image alike.
    """
    both: list[list[Floats]] = [[], []]
    for scale, shape in enumerate(shapes):
        weights = np.stack([groups.windows.paint(scale, shape, gamma, groups.group == group) for group in (0, 1)])
        weights = weights + weights[:, :, ::-1]
        for group in (0, 1):
            own = np.where(weights.argmax(0) == group, weights[group], 0.0)
            both[group].append(own / own.sum() if own.any() else own)
    return Region(tuple(both[0])), Region(tuple(both[1]))


def weigh_again(region: Region, windows: Windows, gamma: float) -> Region:
    """The same blocks, weighted by windows that were scored again on photos moved to the region's template."""
    again = []
    for scale, old in enumerate(region.weights):
        weights = windows.paint(scale, (old.shape[0], old.shape[1]), gamma, windows.telling())
        weights = np.where(old > 0, weights + weights[:, ::-1], 0.0)
        again.append(weights / weights.sum() if weights.any() else old)
    return Region(tuple(again))


def normalised_cut(affinity: NDArray[np.float64]) -> tuple[NDArray[np.bool_], float]:
    """The two-way normalised cut (Shi and Malik): second eigenvector, best threshold. Membership and the cut's value.

    >>> affinity = np.array([[1, 0.9, 0.1], [0.9, 1, 0], [0.1, 0, 1.0]])
    >>> side, cut = normalised_cut(affinity)
    >>> bool(side[0] == side[1] != side[2]), round(cut, 2)
    (True, 0.12)
    """
    degree = affinity.sum(1)
    scaled = affinity / np.sqrt(degree[:, None] * degree[None])
    _, vectors = np.linalg.eigh(np.eye(len(affinity)) - scaled)
    order = np.argsort(vectors[:, 1] / np.sqrt(degree))
    ordered = affinity[np.ix_(order, order)]
    inside = np.cumsum(degree[order])[:-1]
    # Weight across the cut after the k-th node: all of the left side's weight that does not stay on the left.
    within = np.cumsum(2 * np.tril(ordered, -1).sum(1) + np.diag(ordered))[:-1]
    across = inside - within
    values = across / inside + across / (degree.sum() - inside)
    best = int(values.argmin())
    side = np.zeros(len(affinity), bool)
    side[order[: best + 1]] = True
    return side, float(values[best])
