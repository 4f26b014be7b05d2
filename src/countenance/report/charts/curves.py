"""Curves as a value: lines over one pair of axes, with the ends and ticks of the axes, marks and labelled points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from countenance.report import numbers
from countenance.report.charts.scale import Scale

COLOURS = 10
DASHES = ("", "7 3", "2 3", "9 3 2 3")

Limits = tuple[float, float] | None
"""Both ends of an axis; None: as far as the lines go."""


@dataclass(frozen=True)
class GroupLine:
    """A group's curve. `colour` is a class of the style sheet (`s0`… along an order, `c0`… otherwise)."""

    label: str
    n: int
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = ""
    strong: bool = False
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """The band around the line, where there is one."""
    thresholds: Sequence[float] = ()
    """The threshold behind each point, for interactive figures."""
    group: str = field(default="", kw_only=True)
    """The group as the audit names it, where the line is one of a group."""

    @property
    def size(self) -> str:
        """How many units the line is computed from; empty if unknown."""
        return f"n {numbers.count(self.n)}" if self.n else ""


@dataclass(frozen=True)
class ChartAxis:
    """An axis: its label, its limits, and its ticks with their labels."""

    label: str
    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, label: str, low: float, high: float, log: bool) -> ChartAxis:
        """An axis between two ends; a single value stands in the middle, with the only tick.

        >>> ChartAxis.of("IoU", 0.0, 0.3, False).ticks, ChartAxis.of("threshold", 1.0, 1.0, False).ticks
        (((0.0, '0'), (0.1, '0.1'), (0.2, '0.2'), (0.3, '0.3')), ((1.0, '1'),))
        """
        if high <= low and not log:
            around = 0.5 * max(1.0, abs(low))  # adding 1 to a large float may not change it
            return cls(label, low - around, low + around, log, ((low, numbers.tick(low)),))
        high = high if high > low else low * 10
        return cls(label, low, high, log, tuple((tick, numbers.tick(tick)) for tick in ticks(low, high, log=log)))


@dataclass(frozen=True)
class CurveChart:
    """Lines over one pair of axes; a page and a file are drawn from the same value."""

    axes: tuple[str, str]
    lines: Sequence[GroupLine]
    log: tuple[bool, bool] = (False, False)
    marks: Sequence[float] = ()
    """Positions on the horizontal axis that have a meaning."""
    limits: tuple[Limits, Limits] = (None, None)
    title: str = ""
    lowest: float = 0.0
    """Where the vertical axis begins, unless a line goes further down."""
    points: Sequence[tuple[float, float, str]] = ()
    """Places with a label, such as the threshold in use."""
    description: str = ""
    """What is drawn, for readers who do not see it."""

    @cached_property
    def across(self) -> ChartAxis:
        """The horizontal axis."""
        log = self.log[0]
        xs = [x for line in self.lines for x in line.x if math.isfinite(x) and (x > 0 or not log)]
        low, high = (min(xs), max(xs)) if xs else (0.1 if log else 0.0, 1.0)
        return ChartAxis.of(self.axes[0], *(self.limits[0] or (_decade(low) if log else low, high)), log)

    @cached_property
    def up(self) -> ChartAxis:
        """The vertical axis: up to 1 at least; it includes bands, unless it is logarithmic."""
        log = self.log[1]
        parts = [part for line in self.lines for part in ((line.y,) if log else (line.y, line.low, line.high))]
        ys = [y for part in parts for y in part if math.isfinite(y) and (y > 0 or not log)]
        low, high = (_decade(min(ys or [0.1])) if log else min([self.lowest, *ys])), max([1.0, *ys])
        return ChartAxis.of(self.axes[1], *(self.limits[1] or (low, high)), log)

    @property
    def marked(self) -> list[tuple[float, str]]:
        """The marks that lie on the axis, with their texts."""
        return [(x, numbers.tick(x)) for x in self.marks if self.across.low <= x <= self.across.high]

    @property
    def words(self) -> str:
        """The labels of the axes, as a sentence."""
        return f"{self.axes[1]} (up) against {self.axes[0]} (across)"


def _decade(low: float) -> float:
    """The power of ten at or below a number."""
    return float(10.0 ** math.floor(math.log10(low) + 1e-9))


def ticks(low: float, high: float, *, log: bool = False) -> list[float]:
    """Round numbers within a range; powers of ten on a logarithmic axis.

    >>> ticks(0.0, 0.3), ticks(0.0, 1.0), ticks(0.01, 1.0, log=True)
    ([0.0, 0.1, 0.2, 0.3], [0.0, 0.25, 0.5, 0.75, 1.0], [0.01, 0.1, 1.0])
    """
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]
    if (low, high) == (0.0, 1.0):
        return [0.0, 0.25, 0.5, 0.75, 1.0]
    around = Scale.around([low, high], least=0.0, steps=4).ticks
    return [tick for tick in around if low - 1e-9 <= tick <= high + 1e-9]


def colours(count: int, ordered: bool) -> list[tuple[str, str]]:
    """Classes and dashes for this many lines: along the colour ramp when the groups have an order.

    >>> colours(3, True)
    [('s0', ''), ('s4', '7 3'), ('s9', '2 3')]
    >>> colours(2, False)
    [('c0', ''), ('c1', '7 3')]
    """
    ramp = ordered or count > 8
    places = [int(i * (COLOURS - 1) / max(1, count - 1)) for i in range(count)] if ramp else list(range(count))
    return [(f"{'s' if ramp else 'c'}{place % COLOURS}", DASHES[i % len(DASHES)]) for i, place in enumerate(places)]


def styled(lines: Sequence[GroupLine]) -> list[GroupLine]:
    """Lines without an order, each with a colour and dash.

    >>> [(line.colour, line.dash) for line in styled([GroupLine(name, 0, [], [], "") for name in "ab"])]
    [('c0', ''), ('c1', '7 3')]
    """
    dashes = [DASHES[(i + i // COLOURS) % len(DASHES)] for i in range(len(lines))]
    return [replace(line, colour=f"c{i % COLOURS}", dash=dashes[i]) for i, line in enumerate(lines)]


def x_limits(values: Sequence[Sequence[float]], *, log: bool, least: float | None = None) -> tuple[float, float]:
    """Left and right end of the horizontal axis; never an empty range, and no zero on a logarithmic one.

    A logarithmic axis begins at `least`, or at the smallest value above 0.

    >>> x_limits([[0.0, 0.5, 20.0]], log=True), x_limits([[0.0]], log=False)
    ((0.5, 20.0), (0.0, 1.0))
    """
    positive = [float(x) for some in values for x in some if x > 0]
    largest = max(positive, default=0.0)
    if not log:
        return 0.0, largest or 1.0
    smallest = min([1.0, *positive]) if least is None else least
    return smallest, largest if largest > smallest else smallest * 10
