"""A dumbbell: one group's number in the old model (a ring) and in the new one (a disc), joined by a line."""

import math

from markupsafe import Markup

from countenance.report.figures.forest import OPEN
from countenance.report.figures.scale import Scale


def row(scale: Scale, old: float, new: float, mark: str) -> Markup:
    """One group: ○ old ─── ● new, in the colour of its mark; a disc alone where nothing moved.

    >>> drawn = row(Scale.around([0.0, 1.0], "rate"), 0.9, 0.5, "severe")
    >>> 'cx="90.0%"' in drawn and 'cx="50.0%"' in drawn and "dumbbell severe" in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>')
    if math.isfinite(old) and math.isfinite(new):
        x0, x1 = scale.at(old), scale.at(new)
        parts.append(
            f'<g class="dumbbell {mark}"><line x1="{x0}%" x2="{x1}%" y1="50%" y2="50%"/>'
            f'<circle class="old" cx="{x0}%" cy="50%" r="5"/><circle class="new" cx="{x1}%" cy="50%" r="5"/></g>'
        )
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants


def key(part: str) -> Markup:
    """The ring or the disc for a legend.

    >>> "old" in key("old")
    True
    """
    return Markup(  # noqa: S704 - a constant
        '<svg class="icon" viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true" focusable="false">'
        f'<g class="dumbbell untested"><circle class="{part}" r="5"/></g></svg>'
    )
