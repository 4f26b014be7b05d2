"""What the plots show: every curve within its axes, one on the axis too, names as text, a missing extra in one line."""

import sys
from pathlib import Path

import numpy as np
import pytest
from challenge_files import write_truth, write_v2

from countenance.report.draw.mpl import curve_figure
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.plot import HEIGHT, chart_of, group_charts

FIXTURES = Path(__file__).parent / "fixtures" / "ties"
BOX, AWAY = (10.0, 10.0, 40.0, 40.0), (200.0, 200.0, 20.0, 20.0)


def axes_of(chart):
    figure = curve_figure(chart, HEIGHT)
    (axes,) = figure.axes
    return figure, axes


def line_of(axes, number=0):
    return next(line for line in axes.lines if line.get_gid() == f"curve-{number}")


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_every_point_of_the_curve_is_inside_the_axes(log, numbers):
    settings = CurveSettings(log=log, numbers=numbers)
    (found,) = evaluate_detector(FIXTURES, [FIXTURES / "v2-detection.txt"], settings=settings)
    _, axes = axes_of(chart_of([found], band=False))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    x, y = line_of(axes).get_data()
    assert np.array_equal(y, found.curve.y)
    assert np.array_equal(x, np.maximum(found.curve.x, 1) if log else found.curve.x)
    assert (left < x).all() and (x < right).all() and (bottom < y).all() and (y < top).all()
    assert axes.get_xscale() == ("log" if log else "linear") and axes.get_xlabel() == "False Accepts"
    chance = line_of(axes, 1)
    assert chance.get_ydata().max() <= (found.total if numbers else 1)
    assert axes.get_ylabel() == ("Number of Detections" if numbers else "Detection Rate")


def nothing_found(folder):
    data = write_truth(folder / "data", [(f"{k}.jpg", k + 1, BOX) for k in range(8)])
    path = write_v2(folder / "none.txt", [(f"{k}.jpg", AWAY, 0.1 * k, []) for k in range(8)])
    return evaluate_detector(
        data, [path], labels=["$a_1$ " + "long " * 30 + "end"], version=2, settings=CurveSettings(log=True)
    )[0]


def test_a_curve_on_the_axis_is_drawn_above_it(tmp_path):
    figure, axes = axes_of(chart_of([nothing_found(tmp_path)], band=False))
    figure.draw_without_rendering()
    line = line_of(axes)
    assert (line.get_ydata() == 0).all()
    base = axes.transAxes.transform((0, 0))[1]
    assert axes.transData.transform((1, 0))[1] - base > 2, "two pixels and more between the axis and the curve"
    (legend,) = figure.legends
    label = legend.get_texts()[0].get_text()
    assert label.startswith("$a_1$ long") and label.endswith("end") and len(label) <= 40
    beside, inside = legend.get_window_extent(), axes.get_window_extent()
    assert beside.x0 >= inside.x1 and beside.x1 <= figure.bbox.x1, "it covers no curve and is not cut off"


def test_one_point_is_a_dot(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, BOX)])
    path = write_v2(tmp_path / "one.txt", [("a.jpg", BOX, 0.9, [])])
    (found,) = evaluate_detector(data, [path], version=2)
    _, axes = axes_of(chart_of([found], band=False))
    assert line_of(axes).get_marker() == "o"


def test_bands_and_groups_are_in_the_figure():
    settings = CurveSettings(log=True, bootstrap=20, rank=3)
    (found,) = evaluate_recognizer(FIXTURES, [FIXTURES / "v2-recognition.txt"], settings=settings)
    chart = chart_of([found], band=True)
    _, axes = axes_of(chart)
    assert [one.get_gid() for one in axes.collections] == ["band-0"]
    assert chart.title == "Rank 3 DIR curve" and group_charts(found, []) == {}


def test_without_the_extra_one_line_says_what_to_install(command, monkeypatch):
    small, mine = FIXTURES, FIXTURES / "v2-detection.txt"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = command("evaluate-detector", "-d", small, "-r", mine, "-w", "p.svg", "--json", "o.json")
    assert (code, out) == (2, "")
    assert err == "error: a plot as PDF, SVG or PNG needs an optional part: pip install 'countenance[plots]'\n"
    code, out, err = command("evaluate-detector", "-d", small, "-r", mine, "--json", "o.json")
    assert code == 0 and Path("o.json").exists() and "FROC written: o.json" in out
    assert err.startswith("warning: no UCCS-v2-FROC.pdf: ") and "countenance[plots]" in err and err.count("\n") == 1
    code, out, _ = command("evaluate-detector", "-d", small, "-r", mine, "-w", "p.html")
    assert code == 0 and "FROC written: p.html" in out
