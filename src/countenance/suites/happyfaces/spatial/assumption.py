"""Tests the assumption that the two features are at different places, on labelled photos alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.suites.happyfaces.interface import Floats
from countenance.suites.happyfaces.spatial.regions import RegionGroups, residuals

MOST_CUT = 0.5
"""A normalised cut above this does not separate the groups: the links between them are too strong."""
MOST_CORRELATION, MOST_WHERE_TOUCHING = 0.25, 0.2
"""Residuals of two groups that see different features are nearly uncorrelated; groups that touch are allowed less."""
TOUCHING, MOST_OVERLAP = 0.3, 0.5
"""Windows at the edges of two neighbouring places overlap by up to the second number; places that overlap by more are a
single place."""
MOST_LOG_LOSS = 0.5
"""A head with a larger log-loss than this (guessing has .69) explains too little of the label."""
# The bounds were set on divisions 0 to 12 of the rendered people; docs/suites/happyfaces.md has their results on
# others.
ASSUMED = ": two features at two places, which spatial discovery assumes, cannot be told apart here"


@dataclass(frozen=True)
class Separation:
    """The separation of the two groups of windows, and a sentence if they are too close."""

    cut: float
    correlation: float
    """Correlation of the two groups' residuals, each the mean of its windows weighted by accuracy."""
    overlap: float
    """Share of the smaller group's windows' area that windows of the other group cover too."""
    problem: str | None


def separation(
    groups: RegionGroups, target: Floats, shapes: Sequence[tuple[int, int]], accuracy: float, log_loss: float
) -> Separation:
    """The separation of two groups; its `problem` is the reason to decline, or None.

    `shapes` are the grids of blocks; `accuracy` and `log_loss` are leave-one-out values of the weaker head.
    """
    left, windows = residuals(groups.windows.scores, target), groups.windows
    own = [groups.group == group for group in (0, 1)]
    means = [np.average(left[feature], axis=0, weights=windows.accuracy[feature] - 0.5) for feature in own]
    correlation = float(np.corrcoef(means[0], means[1])[0, 1])
    first, second = (
        np.concatenate([windows.paint(scale, shape, 0, feature).ravel() for scale, shape in enumerate(shapes)]) > 0
        for feature in own
    )
    overlap = float((first & second).sum() / max(min(first.sum(), second.sum()), 1))
    chance = 0.5 + 3 * float(np.sqrt(0.25 / len(target)))
    problem = second_head(accuracy, chance, log_loss) or apart(groups.cut, correlation, overlap)
    return Separation(groups.cut, correlation, overlap, problem)


def second_head(accuracy: float, chance: float, log_loss: float) -> str | None:
    """The reason why the weaker head cannot be used, or None.

    >>> second_head(0.6, 0.67, 0.68)
    'one place explains the label and no other does by itself (a second head is right 0.60 of the time, chance ...'
    >>> second_head(0.74, 0.66, 0.59)
    'one place explains the label well and no other does (a second head leaves 0.59 of log-loss, a guess 0.69): ...'
    >>> second_head(0.9, 0.66, 0.3)
    """
    if accuracy <= chance:
        sentence = f"a second head is right {accuracy:.2f} of the time, chance reaches {chance:.2f}"
        return f"one place explains the label and no other does by itself ({sentence}){ASSUMED}"
    if log_loss > MOST_LOG_LOSS:
        sentence = f"a second head leaves {log_loss:.2f} of log-loss, a guess 0.69"
        return f"one place explains the label well and no other does ({sentence}){ASSUMED}"
    return None


def apart(cut: float, correlation: float, overlap: float) -> str | None:
    """The reason why the two groups of windows are not at two places, or None.

    >>> apart(0.08, 0.03, 0.19), apart(0.2, 0.22, 0.1)
    (None, None)
    >>> apart(0.2, 0.22, 0.4)
    'the two groups of windows err on the same photos (residuals correlate 0.22): ...'
    """
    if cut > MOST_CUT:
        return f"the windows that explain the label form one group, not two (normalised cut {cut:.2f}){ASSUMED}"
    if correlation > (MOST_WHERE_TOUCHING if overlap > TOUCHING else MOST_CORRELATION):
        return f"the two groups of windows err on the same photos (residuals correlate {correlation:.2f}){ASSUMED}"
    if overlap > MOST_OVERLAP:
        return f"the two groups of windows share a place (overlap {overlap:.2f}){ASSUMED}"
    return None
