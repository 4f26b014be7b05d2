"""Do two sets of pictures show the same gap? Intervals over people, and the rule that says a word for each pair.

Used by `does_it_measure.py`; nothing here opens a picture or a network.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Z = 1.96
OPPOSITE, ONLY_PHOTOGRAPHS, ONLY_PEOPLE = "opposite", "gap only in photographs", "gap only in people"
WEAKER, STRONGER, AGREE = "same way, weaker", "same way, stronger", "agree"
NEITHER, UNCLEAR = "neither shows a gap", "cannot tell"
VERDICTS = (OPPOSITE, ONLY_PEOPLE, ONLY_PHOTOGRAPHS, WEAKER, STRONGER, UNCLEAR, NEITHER, AGREE)
"""Disagreements first: the order of the tables."""


class Gap(NamedTuple):
    """A difference with its 95 % interval over people; `n` is how many people are on the smaller side."""

    estimate: float
    low: float
    high: float
    n: int

    @property
    def error(self) -> float:
        return (self.high - self.low) / (2 * Z)

    @property
    def centre(self) -> float:
        return (self.low + self.high) / 2


def by_person(values: Floats, people: Sequence[str]) -> Floats:
    """Each person's mean; values that are missing (NaN) are left out."""
    sums: dict[str, list[float]] = {}
    for value, person in zip(values, people, strict=True):
        if not math.isnan(value):
            sums.setdefault(person, []).append(float(value))
    return np.array([np.mean(numbers) for numbers in sums.values()])


def between(first: Floats, second: Floats, share: bool) -> Gap:
    """Mean of the first group of people minus that of the second.

    For shares each group gets one success and one failure more (Agresti and Caffo), so that a group without any
    failure still has an interval.
    """
    extra = [0.0, 1.0] if share else []
    a, b = np.append(first, extra), np.append(second, extra)
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    centre = float(a.mean() - b.mean())
    n = min(len(first), len(second))
    return Gap(float(first.mean() - second.mean()), centre - Z * error, centre + Z * error, n)


def paired(differences: Floats, share: bool) -> Gap:
    """Mean difference of the same people; for shares one gain and one loss more (Bonett and Price)."""
    padded = np.append(differences, [-1.0, 1.0] if share else [])
    error = math.sqrt(padded.var(ddof=1) / len(padded))
    centre = float(padded.mean())
    return Gap(float(differences.mean()), centre - Z * error, centre + Z * error, len(differences))


def sign(gap: Gap, margin: float) -> int | None:
    """+1 or -1 for a gap, 0 for none larger than the margin, None where the interval allows both."""
    if -margin <= gap.low and gap.high <= margin:
        return 0
    if gap.low > 0 or gap.high < 0:
        return 1 if gap.low > 0 else -1
    return None


def verdict(photographs: Gap, people: Gap, margin: float) -> str:
    """The word for one question.

    A set shows a gap where its interval excludes 0 and leaves the margin, and shows none where its interval lies
    within the margin. Two gaps differ where the interval of their difference excludes 0.

    >>> verdict(Gap(-.20, -.25, -.15, 90), Gap(-.10, -.13, -.07, 90), .05)
    'same way, weaker'
    >>> verdict(Gap(-.20, -.25, -.15, 90), Gap(.01, -.03, .04, 90), .05)
    'gap only in photographs'
    """
    first, second = sign(photographs, margin), sign(people, margin)
    difference = people.centre - photographs.centre
    differ = abs(difference) > Z * math.hypot(photographs.error, people.error)
    if first == second == 0:
        return NEITHER
    if first and second:
        if first != second:
            return OPPOSITE
        if not differ:
            return AGREE
        return WEAKER if difference * first < 0 else STRONGER
    if differ and (first or second):
        return ONLY_PHOTOGRAPHS if first else ONLY_PEOPLE
    return UNCLEAR
