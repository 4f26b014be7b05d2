"""The charts of a report as values, with every number computed, worded and in order; `report.draw` draws them."""

from countenance.report.charts.group_curves import curve_panels
from countenance.report.charts.group_forests import forests
from countenance.report.charts.headline import headline_numbers
from countenance.report.charts.heat_maps import heat_maps

__all__ = ["curve_panels", "forests", "headline_numbers", "heat_maps"]
