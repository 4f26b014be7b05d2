"""Does the assumption hold that the two features live in different places? Measured on labelled photos alone."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.suites.happyfaces.spatial.regions import Groups, Region, residuals
from countenance.suites.happyfaces.spatial.windows import SCALES

Floats = NDArray[np.float64]

MOST_CUT = 0.5
"""A normalised cut above this separates nothing: more than half as much holds the groups together as apart."""
MOST_CORRELATION, MOST_WHERE_TOUCHING = 0.25, 0.2
"""Residuals of two groups that see different features are nearly uncorrelated; groups that touch are allowed less."""
TOUCHING, MOST_OVERLAP = 0.3, 0.5
"""Windows at the edges of two neighbouring places overlap; more than the second is one place."""
MOST_LOG_LOSS = 0.5
"""A head that leaves more of the label open than this (a guess leaves .69) has found nothing to be asked about."""
# The bounds were set on divisions 0 to 12 of the rendered people; docs/suites/happyfaces.md: how they did on others.


@dataclass(frozen=True)
class Separation:
    """How well the two groups of windows are apart, and a sentence when they are not."""

    cut: float
    correlation: float
    """Correlation of the two groups' residuals, each the mean of its windows weighted by accuracy."""
    overlap: float
    """Share of the smaller group's windows' area that windows of the other group cover too."""
    problem: str | None

    def as_dict(self) -> dict[str, float | str | None]:
        """Plain values for records."""
        return asdict(self)


def separation(
    groups: Groups,
    target: Floats,
    both: tuple[Region, Region],
    accuracies: tuple[float, float],
    losses: tuple[float, float] = (0.0, 0.0),
) -> Separation:
    """Measure it; `problem` says why no answer should be given, or is None.

    `accuracies` and `losses` are the heads' leave-one-out accuracies and log-losses on the labelled photos.
    """
    left = residuals(groups.windows.scores, target)
    means = []
    for group in (0, 1):
        own = groups.group == group
        means.append(np.average(left[own], axis=0, weights=groups.windows.accuracy[own] - 0.5))
    correlation = float(np.corrcoef(means[0], means[1])[0, 1])
    overlap = _overlap(groups, both)
    problem = None
    least = 0.5 + 3 * float(np.sqrt(0.25 / len(target)))
    if min(accuracies) <= least or max(losses) > MOST_LOG_LOSS:
        problem = (
            "one place explains the label and no other does by itself (a second head is right "
            f"{min(accuracies):.2f} of the time, chance reaches {least:.2f}; log-loss {max(losses):.2f})"
        )
    elif groups.cut > MOST_CUT:
        problem = f"the windows that explain the label form one group, not two (normalised cut {groups.cut:.2f})"
    elif correlation > (MOST_WHERE_TOUCHING if overlap > TOUCHING else MOST_CORRELATION):
        problem = f"the two groups of windows err on the same photos (residuals correlate {correlation:.2f})"
    elif overlap > MOST_OVERLAP:
        problem = f"the two groups of windows share a place (overlap {overlap:.2f})"
    if problem:
        problem += ": the two features do not live in different places, which spatial discovery assumes"
    return Separation(groups.cut, correlation, overlap, problem)


def _overlap(groups: Groups, both: tuple[Region, Region]) -> float:
    covered = []
    for group in (0, 1):
        masks = []
        for scale, weights in enumerate(both[0].weights):
            mask = np.zeros(weights.shape, bool)
            side = SCALES[scale][1]
            windows = groups.windows
            for i in np.nonzero((windows.scale == scale) & (groups.group == group))[0]:
                mask[windows.row[i] : windows.row[i] + side, windows.column[i] : windows.column[i] + side] = True
            masks.append(mask.ravel())
        covered.append(np.concatenate(masks))
    smaller = min(covered[0].sum(), covered[1].sum())
    return float((covered[0] & covered[1]).sum() / max(smaller, 1))
