"""Plots of curves in the look of the challenge: PDF, SVG and PNG drawn here, interactive HTML with plotly.

They are drawn here because loading a plotting library takes longer than the whole evaluation.
"""

from countenance.suites.uccs.plot.axes import Axes, Series, axes_of, split_by
from countenance.suites.uccs.plot.save import save_plot

__all__ = ["Axes", "Series", "axes_of", "save_plot", "split_by"]
