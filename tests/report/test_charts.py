"""A chart is built once: page, PDF, files, card and summary show the same rows, in one order, with the same texts."""

import itertools
import math
import re
import xml.etree.ElementTree as ET

import pytest

from countenance.report import charts
from countenance.report.cards import groups_table
from countenance.report.charts.curves import CurveChart, GroupLine
from countenance.report.charts.forest import Forest
from countenance.report.charts.heat_maps import HeatMap, HeatmapCell
from countenance.report.draw import mpl, palette, svg
from countenance.report.draw.mpl.heat_map import heat_figures_of
from countenance.report.page import context
from countenance.report.render import asset, page
from countenance.report.source import ReportSource
from countenance.run import Run

pytest.importorskip("matplotlib")


def texts(figure) -> list[str]:  # type: ignore[no-untyped-def]
    """The texts of a figure from top to bottom, as matplotlib holds them."""
    (axes,) = figure.axes
    lines = [(text.get_position()[1], text.get_position()[0], text.get_text()) for text in axes.texts]
    return [text for _, _, text in sorted(lines) if text]


def in_order(parts: list[str], whole: list[str]) -> bool:
    """Whether the parts are in the whole, in their order."""
    rest = iter(whole)
    return all(part in rest for part in parts)


@pytest.fixture(scope="module")
def forest(run: Run) -> Forest:
    return charts.forests(ReportSource.of(run))[0]


def test_page_and_file_draw_the_rows_of_one_value(run: Run, forest: Forest) -> None:
    content = context(ReportSource.of(run), "off")
    assert content["forests"][0] == forest, "the page has the value that the files are drawn from"
    html = page("report.html.j2", **content)
    start = html.index('id="forest-0"')
    table = html[start : html.index("</table>", start)]
    cells = [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", table, re.S)]
    drawn = list(itertools.chain(*map(texts, mpl.forest_figures(forest))))
    assert len(forest.rows) > 10 and [block.label for block in forest.blocks if block.label in drawn]
    for label in [block.label for block in forest.blocks] + [row.label for row in forest.rows]:
        assert label in cells and label in drawn
    assert in_order([row.value for row in forest.rows], cells) and in_order([row.label for row in forest.rows], cells)
    assert in_order([row.label for row in forest.rows], drawn) and in_order([row.text for row in forest.rows], drawn)


def test_card_and_summary_have_the_rows_of_the_plot(run: Run, forest: Forest) -> None:
    table = groups_table(ReportSource.of(run))
    own = [row for row in table.rows if row[0] == forest.metric]
    assert [row[2] for row in own] == ["everyone", *(row.label for row in forest.rows)]
    assert [row[6] for row in own[1:]] == [row.verdict for row in forest.rows]
    assert [row[5] for row in own[1:]] == [f"{row.value} [{row.interval}]" for row in forest.rows]


def test_both_renderers_put_a_row_at_the_same_share_of_the_axis(forest: Forest) -> None:
    from matplotlib.colors import to_rgba

    (figure, *_) = mpl.forest_figures(forest)
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    points = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1]
    marks = [mark for row in forest.rows for mark in ET.fromstring(svg.plot(forest, row)).findall("svg")]
    shares = [float(mark.get("x", "").rstrip("%")) for mark in marks]
    assert shares == pytest.approx([100 * (x - low) / (high - low) for x in points], abs=0.01)
    assert len(points) == sum(math.isfinite(row.estimate) for row in forest.rows)
    squares = [patch.get_facecolor() for patch in axes.patches]  # of the skin tones that rows are of, as on the page
    colours = [colour for row in forest.rows for colour in row.colours]
    assert squares == [to_rgba(colour) for colour in colours] and squares


def test_both_renderers_have_the_same_axes_marks_and_points() -> None:
    line = GroupLine("all", 30, [0.0001, 0.01, 1.0], [0.9, 0.5, 0.1], "c0", low=[0.8, 0.4, -0.2], high=[1.0, 0.6, 0.2])
    chart = CurveChart(("FAR", "VAL"), [line], (True, False), [0.001, 7.0], points=[(0.01, 0.5, "here")])
    figure = mpl.curve_figure(chart)
    (axes,) = figure.axes
    drawn = ET.fromstring(svg.panel(chart, "k"))
    shown = [text.text for text in drawn.iter("text")]
    for axis, value in ((axes.xaxis, chart.across), (axes.yaxis, chart.up)):
        labels = [label for _, label in value.ticks]
        assert [label.get_text() for label in axis.get_ticklabels()] == labels and len(labels) > 2
        assert in_order(labels, [str(text) for text in shown])
    assert chart.marked == [(0.001, "0.001")], "a mark outside the axis is not drawn"
    assert [text.get_text() for text in axes.texts] == ["0.001", "here"] and {"0.001", "here"} <= set(shown)
    assert chart.up.low <= -0.2, "the band lies inside"


def test_curves_of_groups_and_of_results_are_values_of_the_page_and_of_the_files(run: Run) -> None:
    source = ReportSource.of(run)
    panels = context(source, "off")["curves"]
    figures = mpl.curve_figures(source)
    assert [name for name, _ in figures][: len(panels)] == [panel.attribute for panel in panels] and panels
    for panel, (_, figure) in zip(panels, figures, strict=False):
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        assert legend == [f"{line.label} ({line.size})" for line in panel.chart.lines]


def test_the_files_have_the_heat_maps_of_the_page(run: Run) -> None:
    source = ReportSource.of(run)
    maps = [item for _, some in context(source, "off")["heat_maps"] for item in some]
    figures = mpl.heat_figures(source)
    assert len(figures) == len(maps) and maps
    for heat_map, (name, figure) in zip(maps, figures, strict=True):
        assert name == f"{heat_map.title}, {heat_map.rows_name} × {heat_map.columns_name}"
        shown = [text.get_text() for text in figure.axes[0].texts]
        assert in_order([cell.text for _, cells in heat_map.rows for cell in cells], shown)
        assert in_order(heat_map.columns, shown) and in_order([label for label, _ in heat_map.rows], shown)


def test_a_long_heat_map_goes_on_in_a_further_figure_with_its_own_name() -> None:
    cells = [HeatmapCell("50 %", 9, "40–60 %", 3, None, "")]
    long = HeatMap("m", "a", "b", ["x"], [(str(i), cells) for i in range(30)])
    first, second = heat_figures_of(long)
    assert [len([t for t in figure.axes[0].texts if t.get_text() == "50 %"]) for figure in (first, second)] == [24, 6]


def test_the_tints_of_files_are_those_of_the_style_sheet() -> None:
    style = asset("style.css").split("prefers-color-scheme: dark", 1)[0]
    assert list(palette.TINTS) == [re.search(rf"--h{i}: (#\w+);", style)[1] for i in range(9)]  # type: ignore[index]
