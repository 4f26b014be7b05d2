"""A forest plot: a table whose one column is drawn, so that every number is also there as text.

Positions are percentages, so the plot follows the width of its column and its text never shrinks.
"""

import math

from markupsafe import Markup

from countenance.report.figures.marks import shape
from countenance.report.figures.scale import Scale
from countenance.report.names import shown

OPEN = '<svg class="forest-{part}" width="100%" height="100%" aria-hidden="true" focusable="false">'


def axis(scale: Scale) -> Markup:
    """The axis for the head of the column.

    >>> axis(Scale.around([0.5, 0.9], "rate")).count("<text")
    5
    """
    parts = [OPEN.format(part="axis")]
    for i, tick in enumerate(scale.ticks):
        skipped = ' class="odd"' if i % 2 else ""  # left out where the column is narrow
        parts.append(
            f'<text{skipped} x="{scale.at(tick)}%" y="1em" text-anchor="middle">{shown(scale.label(tick))}</text>'
        )
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and escaped labels


def row(scale: Scale, estimate: float, low: float, high: float, kind: str, reference: float | None = None) -> Markup:
    """One group: its interval as a line, its estimate as the mark of its verdict, the overall value behind.

    >>> drawn = row(Scale.around([0.0, 1.0], "rate"), 0.5, 0.4, 0.6, "severe", 0.9)
    >>> 'x1="40.0%"' in drawn and 'class="ref"' in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>')
    if reference is not None and math.isfinite(reference):
        x = scale.at(reference)
        parts.append(f'<line class="ref" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>')
    if math.isfinite(estimate):
        if math.isfinite(low) and math.isfinite(high):
            ends = f'x1="{scale.at(low)}%" x2="{scale.at(high)}%"'
            parts.append(f'<line class="interval {kind}" {ends} y1="50%" y2="50%"/>')
        place = f'x="{scale.at(estimate)}%" y="50%"'
        parts.append(f'<svg class="mark {kind}" {place} overflow="visible">{shape(kind)}</svg>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants
