"""The figures of a report with the numbers that stand beside them, from its source."""

from countenance.report.charts.curves import curves
from countenance.report.charts.forests import forests
from countenance.report.charts.headline import headline_numbers
from countenance.report.charts.heat_maps import heat_maps

__all__ = ["curves", "forests", "headline_numbers", "heat_maps"]
