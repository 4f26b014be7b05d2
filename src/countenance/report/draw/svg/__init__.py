"""Figures of pages: inline SVG, drawn from chart values. Templates use these functions as `draw`."""

from countenance.report.draw.svg.critical import critical
from countenance.report.draw.svg.curves import drawn, panel, swatch
from countenance.report.draw.svg.forest import axis, dumbbell, dumbbell_key, interval, plot, step_bar
from countenance.report.draw.svg.marks import icon

__all__ = [
    "axis",
    "critical",
    "drawn",
    "dumbbell",
    "dumbbell_key",
    "icon",
    "interval",
    "panel",
    "plot",
    "step_bar",
    "swatch",
]
