"""Efficiency: the multiplier that an entry earns by its inference time among the entries ranked."""

from collections.abc import Sequence


def efficiency(seconds: Sequence[float], *, strict_rubric: bool = False) -> list[float]:
    """A multiplier for each entry: fastest 10 % → 1.2, up to 25 % → 1.1, the rest 1; ties share the better rank.

    The percentile of rank r among N is 100·r/N, so with fewer than 10 entries nobody is in the top 10 %. The published
    rubric says "top 10 %" and "15 %–25 %" without the range between: `strict_rubric` keeps that gap.

    >>> efficiency([float(t) for t in range(1, 9)])
    [1.1, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    >>> efficiency([float(t) for t in range(1, 9)], strict_rubric=True)
    [1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    count = len(seconds)
    multipliers = []
    for own in seconds:
        rank = 1 + sum(other < own for other in seconds)
        percent_of_n = 100 * rank  # comparing with multiples of N avoids rounding
        if percent_of_n <= 10 * count:
            multipliers.append(1.2)
        elif percent_of_n <= 25 * count and not (strict_rubric and percent_of_n < 15 * count):
            multipliers.append(1.1)
        else:
            multipliers.append(1.0)
    return multipliers
