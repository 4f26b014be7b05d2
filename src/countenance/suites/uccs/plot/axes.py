"""What a plot shows: its curves, its axes, their limits and words. How it is drawn is `canvas`'s matter."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from countenance.suites.uccs.evaluation import Evaluation
from countenance.suites.uccs.tokens import Floats

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7f00")
DASHES: tuple[tuple[float, ...], ...] = ((), (9, 4), (2.5, 3), (10, 3, 2, 3))
GREY = "#999999"


@dataclass(frozen=True)
class Series:
    """One curve, and its band where it has one."""

    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    thresholds: Floats | None = None
    colour: str = COLOURS[0]
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Axes:
    """A plot before it is drawn."""

    x_label: str
    y_label: str
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    log: bool
    series: tuple[Series, ...]
    chance: Series | None = None
    """The dotted line on which there are as many false alarms as found faces."""
    title: str = ""
    legend: str = "upper left"
    width: float = 2.5
    ticks: tuple[float, ...] = field(default=())


def styled(series: Sequence[Series]) -> tuple[Series, ...]:
    """The curves in different colours and, since colours alone do not reach everybody, different dashes."""
    return tuple(
        replace(
            one, colour=COLOURS[k % len(COLOURS)], dash=DASHES[(k % len(COLOURS) + k // len(COLOURS)) % len(DASHES)]
        )
        for k, one in enumerate(series)
    )


def axes_of(evaluations: Sequence[Evaluation], *, log: bool, band: bool) -> Axes:
    """The challenge's plot of several evaluations of one kind."""
    first = evaluations[0]
    series = [_series(one, band) for one in evaluations]
    numbers, version, kind = first.settings.numbers, first.version, first.kind
    y_label = {
        ("FROC", False): "Detection Rate",
        ("FROC", True): "Number of Detections",
        ("DIR", False): "Detection & Identification Rate",
        ("DIR", True): "Detected and Identified",
        ("O-ROC", False): "TPIR Per Face",
        ("O-ROC", True): "TPI",
    }[kind, numbers]
    x_label = {
        ("FROC", 2): "False Accepts",
        ("DIR", 2): "False Identifications",
        ("FROC", 3): "False Detection Per Image",
        ("O-ROC", 3): "FPI Per Image",
    }[kind, version]
    last = evaluations[-1]
    chance = None
    if version == 2:
        y = last.curve.x if numbers else last.curve.x / max(1, last.total)
        chance = Series("as many false alarms as faces", last.curve.x, y, colour=GREY, dash=(1.5, 3))
    rank = first.settings.rank
    return Axes(
        x_label,
        y_label,
        x_limits([one.x for one in series], log=log, from_one=version == 2),
        (0, float(max(1, first.total)) if numbers else 1.0),
        log,
        styled(series),
        chance,
        title=f"Rank {rank} {kind} curve" if kind == "O-ROC" or (kind == "DIR" and rank > 1) else "",
        legend=_legend_place(series, log, float(max(1, first.total)) if numbers else 1.0),
    )


def _legend_place(series: Sequence[Series], log: bool, top: float) -> str:
    """As in the original, unless a curve that begins high would pass under it."""
    starts = [float(one.y[np.argmin(one.x)]) for one in series if len(one.y)]
    return "upper left" if log and max(starts, default=0.0) < 0.6 * top else "lower right"


def _series(evaluation: Evaluation, band: bool) -> Series:
    curve, limits = evaluation.curve, evaluation.band
    low, high = (limits.low, limits.high) if band and limits is not None else (None, None)
    return Series(evaluation.label, curve.x, curve.y, low, high, curve.thresholds)


def x_limits(values: Sequence[Floats], *, log: bool, from_one: bool) -> tuple[float, float]:
    """Left and right end of the horizontal axis; never an empty range, and no zero on a logarithmic one."""
    xs = np.concatenate([np.asarray(one) for one in values])
    largest = float(xs.max(initial=0.0))
    if not log:
        return 0.0, largest if largest > 0 else 1.0
    positive = xs[xs > 0]
    smallest = 1.0 if from_one else float(positive.min(initial=1.0))
    return smallest, largest if largest > smallest else smallest * 10


def ticks_between(low: float, high: float, *, log: bool) -> list[tuple[float, str]]:
    """Places and words of an axis's ticks.

    >>> ticks_between(1, 236, log=True)
    [(1.0, '1'), (10.0, '10'), (100.0, '100')]
    >>> [word for _, word in ticks_between(0, 1, log=False)]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    """
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps: tuple[int, ...] = (1,)
        if sum(low <= 10.0**k <= high for k in decades) < 2:
            steps = (1, 2, 5)
        places = [step * 10.0**k for k in decades for step in steps]
        return [(place, f"{place:g}") for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
    raw = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    count = math.floor((high - low) / step + 1e-9)
    return [(low + k * step, f"{low + k * step:.{digits}f}") for k in range(count + 1)]


def split_by(evaluation: Evaluation, groups: Sequence[tuple[str, Series]], *, log: bool) -> Axes:
    """A plot of one evaluation's curves by group; the curve of all stands first."""
    axes = axes_of([evaluation], log=log, band=False)
    together = replace(axes.series[0], label=f"all ({evaluation.total})")
    return replace(
        axes, series=styled([together, *(series for _, series in groups)]), title=evaluation.label, width=1.8
    )
