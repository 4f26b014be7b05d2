"""Forest plots, dumbbells and waterfalls: tables with one drawn column, so that every number is also text.

Positions are percentages, so the plot follows the width of its column and its text never shrinks.
"""

import math

from markupsafe import Markup

from countenance.report.charts.forest import Forest, ForestRow
from countenance.report.charts.scale import Scale
from countenance.report.charts.waterfall import Step
from countenance.report.draw.svg.marks import shape
from countenance.report.names import shown

MOST_LABELS = 5
"""As many labels of ticks fit below the short plot of the first screen."""
OPEN = '<svg class="forest-{part}" width="100%" height="100%" aria-hidden="true">'


def axis(scale: Scale) -> Markup:
    """The axis for the head of the column.

    >>> axis(Scale.around([0.5, 0.9], "rate")).count("<text")
    5
    """
    parts = [OPEN.format(part="axis")]
    many = " many" if len(scale.ticks) > MOST_LABELS else ""
    for i, (tick, label) in enumerate(scale.labelled):
        skipped = f' class="odd{many}"' if i % 2 else ""  # left out where the column is narrow
        parts.append(f'<text{skipped} x="{scale.at(tick)}%" y="1em" text-anchor="middle">{shown(label)}</text>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and escaped labels


def plot(forest: Forest, row: ForestRow | None = None) -> Markup:
    """A row of a forest plot, or the empty plot beside the heading of a block.

    >>> even = Forest("m", "m", Scale.around([0.0, 1.0], "rate"), (), 0.9)
    >>> 'class="ref"' in plot(even) and "interval" not in plot(even)
    True
    """
    if row is None:
        return interval(forest.scale, math.nan, math.nan, math.nan, "", forest.reference)
    return interval(forest.scale, row.estimate, row.low, row.high, row.mark, forest.reference)


def interval(
    scale: Scale, estimate: float, low: float, high: float, mark: str, reference: float | None = None
) -> Markup:
    """One group: its interval as a line, its estimate as the mark of its verdict, the overall value behind.

    >>> drawn = interval(Scale.around([0.0, 1.0], "rate"), 0.5, 0.4, 0.6, "severe", 0.9)
    >>> 'x1="40.0%"' in drawn and 'class="ref"' in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="grid" x1="{x}%" x2="{x}%" y2="100%"/>')
    if reference is not None and math.isfinite(reference):
        x = scale.at(reference)
        parts.append(f'<line class="ref" x1="{x}%" x2="{x}%" y2="100%"/>')
    if math.isfinite(estimate):
        if math.isfinite(low) and math.isfinite(high):
            ends = f'x1="{scale.at(low)}%" x2="{scale.at(high)}%"'
            parts.append(f'<line class="interval {mark}" {ends} y1="50%" y2="50%"/>')
        place = f'x="{scale.at(estimate)}%" y="50%"'
        parts.append(f'<svg class="mark {mark}" {place} overflow="visible">{shape(mark)}</svg>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants


def dumbbell(scale: Scale, ends: tuple[float, float], mark: str) -> Markup:
    """One group: ○ old ─── ● new, in the colour of its mark; a disc alone where nothing moved.

    >>> drawn = dumbbell(Scale.around([0.0, 1.0], "rate"), (0.9, 0.5), "severe")
    >>> 'cx="90.0%"' in drawn and 'cx="50.0%"' in drawn and "dumbbell severe" in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="grid" x1="{x}%" x2="{x}%" y2="100%"/>')
    if all(math.isfinite(end) for end in ends):
        x0, x1 = (scale.at(end) for end in ends)
        parts.append(
            f'<g class="dumbbell {mark}"><line x1="{x0}%" x2="{x1}%" y1="50%" y2="50%"/>'
            f'<circle class="old" cx="{x0}%" cy="50%" r="5"/><circle class="new" cx="{x1}%" cy="50%" r="5"/></g>'
        )
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants


def dumbbell_key(part: str) -> Markup:
    """The ring or the disc for a legend.

    >>> "old" in dumbbell_key("old")
    True
    """
    return Markup(  # noqa: S704 - a constant
        '<svg class="icon" viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true">'
        f'<g class="dumbbell untested"><circle class="{part}" r="5"/></g></svg>'
    )


def step_bar(scale: Scale, step: Step) -> Markup:
    """One step as a bar, with the interval of its size at its end.

    >>> drawn = step_bar(Scale.around([-0.1, 0.1], "points"), Step("raw gap", 0.0, -0.1, -0.12, -0.08, "raw"))
    >>> 'class="fall raw"' in drawn and 'class="interval fall-ends"' in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="{"grid" if tick else "ref"}" x1="{x}%" x2="{x}%" y2="100%"/>')
    if math.isfinite(step.end):
        left, right = sorted((scale.at(step.start), scale.at(step.end)))
        width = max(right - left, 0.4)
        parts.append(f'<rect class="fall {step.kind}" x="{left}%" width="{width:.2f}%" y="25%" height="50%"/>')
        if math.isfinite(step.low) and math.isfinite(step.high):
            ends = f'x1="{scale.at(step.start + step.low)}%" x2="{scale.at(step.start + step.high)}%"'
            parts.append(f'<line class="interval fall-ends" {ends} y1="50%" y2="50%"/>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants
