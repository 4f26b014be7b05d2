"""A linear axis: its range, its ticks, and where a value lies on it in percent."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from countenance.report import numbers


@dataclass(frozen=True)
class Scale:
    """A range with ticks of a linear axis.

    >>> Scale.around([0.62, 0.97], "rate").ticks
    (0.6, 0.7, 0.8, 0.9, 1.0)
    >>> Scale.around([0.0, 0.002]).ticks  # what is never negative has no negative ticks
    (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    kind: str = "mean"

    @classmethod
    def around(cls, values: Iterable[float], kind: str = "mean", least: float = 0.1, steps: int = 5) -> "Scale":
        """The range that holds all the values, between round ticks; a rate stays within 0 and 1."""
        known = [value for value in values if math.isfinite(value)]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if kind == "rate":
            low, high = max(low, 0.0), min(high, 1.0)
        least = max(least, 1e-6 * max(abs(low), abs(high)))
        if high - low < least:
            middle = (low + high) / 2
            below = kind == "points" or low < 0
            low, high = middle - least / 2, middle + least / 2
            shift = (0.0 if below else max(0.0, -low)) - (max(0.0, high - 1.0) if kind == "rate" else 0.0)
            low, high = low + shift, high + shift
        step = _step((high - low) / steps)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        ticks = tuple(round(i * step, 10) for i in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks, kind)

    def at(self, value: float) -> float:
        """The position of a value in percent of the axis, clipped to it."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    @property
    def labelled(self) -> list[tuple[float, str]]:
        """The ticks with their texts."""
        return [(tick, self.label(tick)) for tick in self.ticks]

    def label(self, tick: float) -> str:
        """A tick's text.

        >>> Scale(0, 1, (0, 1), "rate").label(0.5), Scale(0, 1, (0, 1)).label(0.5)
        ('50\u202f%', '0.5')
        """
        if self.kind == "points":  # changes of a rate
            return f"{100 * tick:+g}".replace("-", numbers.MINUS) if tick else "0"
        return f"{100 * tick:g}{numbers.THIN}%" if self.kind == "rate" else numbers.tick(tick)


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
