"""The renderers of the chart values of `report.charts`: SVG for pages, matplotlib for files, plotly for one page."""
