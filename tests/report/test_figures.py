"""Figures: what is drawn is where it should be, and nothing from data becomes markup."""

import dataclasses
import itertools
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countenance.report
from countenance.answers import Boxes, Keypoints, LabelMap, Labels, Masks, Parts
from countenance.auditing import Estimate
from countenance.data import ArrayImage, Sample, Subject
from countenance.report import drawing, pictures
from countenance.report.charts.curves import CurveChart, GroupLine, colours
from countenance.report.charts.heat_maps import heat_map, tint, value_range
from countenance.report.charts.scale import Scale
from countenance.report.draw.svg import bars, curves, forest, marks
from countenance.report.names import Names
from countenance.report.words import Tally
from countenance.tasks import load_task

ATTACK = '"><script>alert(1)</script>'


def svg(text: str) -> ET.Element:
    """The drawing as XML: what does not parse fails here."""
    return ET.fromstring(text)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_an_axis_of_rates_holds_every_value_and_stays_between_0_and_1(values: list[float]) -> None:
    scale = Scale.around(values, "rate")
    assert 0 <= scale.low <= min(values) + 1e-9 and max(values) - 1e-9 <= scale.high <= 1
    assert 2 <= len(scale.ticks) <= 12
    assert all(0 <= scale.at(value) <= 100 for value in values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_an_axis_holds_any_finite_values(values: list[float]) -> None:
    scale = Scale.around(values)
    hair = 1e-8 * (scale.high - scale.low)  # less than anybody can see on an axis
    assert scale.low <= min(values) + hair and scale.high >= max(values) - hair
    assert len(scale.ticks) <= 14


def test_values_that_are_no_numbers_have_an_axis_too() -> None:
    assert Scale.around([math.nan], "rate").low == 0


def test_a_forest_row_draws_the_interval_the_estimate_and_the_reference() -> None:
    drawn = svg(forest.interval(Scale(0, 1, (0, 0.5, 1), "rate"), 0.5, 0.4, 0.7, "severe", 0.9))
    lines = {line.get("class", "").split()[0]: line for line in drawn.iter("line")}
    assert (lines["interval"].get("x1"), lines["interval"].get("x2")) == ("40.0%", "70.0%")
    assert lines["ref"].get("x1") == "90.0%"
    assert next(drawn.iter("svg")).get("aria-hidden") == "true"
    assert [mark.get("x") for mark in drawn.findall("svg")] == ["50.0%"]


def test_a_group_without_units_is_an_empty_row() -> None:
    drawn = svg(forest.interval(Scale(0, 1, (0, 1), "rate"), math.nan, math.nan, math.nan, "untested"))
    assert not drawn.findall("svg")


def test_the_marks_differ_in_shape() -> None:
    assert len(set(marks.SHAPES.values())) == 7
    for kind in marks.SHAPES:
        svg(marks.icon(kind))


def test_the_tally_fills_its_bar_and_says_so() -> None:
    drawn = svg(bars.tally_bar([Tally("severe", "severe disparity", 1), Tally("unsure", ATTACK, 3)]))
    widths = [float(rect.get("width", "").rstrip("%")) for rect in drawn.iter("rect")]
    assert widths == [25.0, 75.0]
    title = drawn.find("title")
    assert title is not None and title.text is not None and "1 severe disparity" in title.text


def test_bars_are_shares_of_the_longest() -> None:
    assert [rect.get("width") for rect in svg(bars.bar(3, 12)).iter("rect")] == ["25.0%"]
    assert "0.0%" in bars.bar(0, 0)


def line(label: str, y: list[float]) -> GroupLine:
    return GroupLine(label, 10, [0.0, 0.5, 1.0], y, "c0")


def test_a_curve_goes_through_its_points_and_skips_what_is_not_there() -> None:
    drawn = svg(curves.panel(CurveChart(("x", "y"), [line("a", [1.0, math.nan, 0.0])]), "k"))
    (poly,) = drawn.iter("polyline")
    points = [tuple(map(float, pair.split(","))) for pair in poly.get("points", "").split()]
    assert points == [(curves.LEFT, curves.TOP), (curves.WIDTH - curves.RIGHT, curves.HEIGHT - curves.BOTTOM)]


def test_a_curve_panel_has_a_title_and_a_description_that_are_text() -> None:
    chart = CurveChart((ATTACK, "y"), [line("a", [1, 0.5, 0])], title=ATTACK, description=ATTACK)
    drawn = svg(curves.panel(chart, "k"))
    assert drawn.get("role") == "img" and drawn.get("aria-labelledby") == "k-t k-d"
    assert [node.text for node in (drawn.find("title"), drawn.find("desc")) if node is not None] == [ATTACK] * 2
    assert not list(drawn.iter("script"))


@pytest.mark.parametrize("count", [1, 2, 4, 8, 10, 14])
@pytest.mark.parametrize("ordered", [True, False])
def test_neighbouring_lines_differ_in_more_than_colour(count: int, ordered: bool) -> None:
    looks = colours(count, ordered)
    assert len(set(looks)) == count
    assert all(one[1] != two[1] for one, two in itertools.pairwise(looks))


def cell(group: str, estimate: float, n: int = 60) -> Estimate:
    return Estimate(
        metric="m",
        metric_kind="rate",
        attribute="a × b",
        group=group,
        n=n,
        clusters=n,
        estimate=estimate,
        low=0,
        high=1,
        deff=1,
        depth=2,
    )


def test_a_heat_map_shows_the_missing_and_does_not_tint_the_few() -> None:
    names = Names(["a", "b"], {"a": ["x", "y"], "b": ["u", "v"]}, 2)
    cells = {("x", "u"): cell("x × u", 0.9), ("x", "v"): cell("x × v", 0.4), ("y", "u"): cell("y × u", 0.1, n=3)}
    made = heat_map("m", ("a", "b"), cells, {}, names, settings={})
    grid = dict(made.rows)
    assert [c.step for c in grid["x"]] == [0, 8]
    assert [c.step for c in grid["y"]] == [None, None]
    assert [c.text for c in grid["y"]] == ["10.0\u202f%", "nobody"]
    assert (made.best, made.worst) == ("90.0\u202f%", "40.0\u202f%")


def test_the_longer_attribute_of_a_heat_map_goes_down_the_side() -> None:
    names = Names(["a", "b"], {"a": ["x"], "b": ["u", "v", "w"]}, 2)
    made = heat_map("m", ("a", "b"), {("x", "w"): cell("x × w", 0.5)}, {}, names, settings={})
    assert made.rows_name == "b" and [label for label, _ in made.rows] == ["u", "v", "w"]
    assert made.rows[2][1][0].text == "50.0\u202f%"


def test_small_differences_do_not_shout() -> None:
    low, high = value_range([cell("a", 0.97), cell("b", 0.99)], 20)
    assert high - low == pytest.approx(0.2)
    assert tint(0.97, low, high, "higher") <= 1


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    a, b = sorted((luminance(one), luminance(two)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def palettes() -> dict[str, dict[str, str]]:
    css = (Path(countenance.report.__file__).parent / "static" / "style.css").read_text(encoding="utf-8")
    light, dark = css.split("prefers-color-scheme: dark", 1)[0], css.split("prefers-color-scheme: dark", 1)[1]
    find = r"--([\w-]+): (#[0-9a-f]{6});"
    first = dict(re.findall(find, light))
    return {"light": first, "dark": first | dict(re.findall(find, dark.split("\n* {", 1)[0]))}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_can_be_read_in_both_schemes(scheme: str) -> None:
    colours = palettes()[scheme]
    verdicts = ("severe", "minor", "unsure", "none", "untested")
    for name in ("ink", "soft", "link", *verdicts):
        assert contrast(colours[name], colours["bg"]) >= 4.5, name
    for name in verdicts:
        assert contrast(colours["soft"], colours[f"{name}-bg"]) >= 4.5, name
        assert contrast(colours[name], colours[f"{name}-bg"]) >= 4.5, name
    for name in [f"s{i}" for i in range(10)] + [f"c{i}" for i in range(10)]:
        assert contrast(colours[name], colours["bg"]) >= 2.6, name
    bright, dark = ("#ffffff", "#111111")
    turned = scheme == "dark"
    for step in range(9):
        text = colours["ink"] if step < 3 else (bright if (step >= 6) != turned else dark)
        assert contrast(text, colours[f"h{step}"]) >= 4.5, step


def test_a_small_face_in_a_large_picture_is_shown_near() -> None:
    near = pictures.window(1000, 800, [900, 20, 940, 60])
    assert near.width == near.height == 200
    assert near.x + near.width <= 1000 and near.y >= 0
    assert near.x <= 900 and near.x + near.width >= 940


def test_a_blurred_picture_cannot_be_sharpened_again() -> None:
    import base64
    import io

    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (320, 320, 3), dtype=np.uint8)
    uri = pictures.embedded(pixels, pictures.window(320, 320), blurred=True)
    back = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("L"), dtype=float)
    spectrum = np.abs(np.fft.fft2(back - back.mean()))
    fine = spectrum[40:280, 40:280].sum() / spectrum.sum()
    sharp = np.abs(np.fft.fft2(pixels[:, :, 0] - pixels[:, :, 0].mean()))
    assert fine < 0.25 < sharp[40:280, 40:280].sum() / sharp.sum()


def test_an_outline_follows_its_mask() -> None:
    mask = np.zeros((20, 30), dtype=bool)
    mask[5:15, 10:20] = True
    drawn = str(drawing.outline(mask, "truth"))
    corners = {tuple(map(int, pair.split())) for pair in re.findall(r"\d+ \d+", drawn.split('d="')[1])}
    assert corners == {(10, 5), (10, 15), (20, 15), (20, 5)}


def test_truth_and_answer_differ_in_more_than_colour() -> None:
    css = (Path(countenance.report.__file__).parent / "static" / "style.css").read_text(encoding="utf-8")
    assert "stroke-dasharray" in re.search(r"\.answer \{[^}]*\}", css)[0]  # type: ignore[index]
    assert "stroke-dasharray" not in re.search(r"\.truth \{[^}]*\}", css)[0]  # type: ignore[index]


def test_each_kind_of_answer_is_drawn_or_said() -> None:
    square = np.zeros((20, 20), dtype=bool)
    square[5:9, 5:9] = True
    classes = np.zeros((20, 20), dtype=np.uint8)
    classes[2:6, 2:6] = 3
    skeleton = np.concatenate([np.full((1, 17, 2), 4.0), np.ones((1, 17, 1))], axis=2)
    drawn = {
        "rect": drawing.answer_of(Boxes([[1, 1, 4, 4]]), 20),
        "circle": drawing.answer_of(Keypoints(skeleton), 20),
        "path": drawing.answer_of(Masks(square), 20) + drawing.answer_of(LabelMap(classes), 20),
    }
    for tag, markup in drawn.items():
        assert f'<{tag} class="answer' in markup
    assert drawn["path"].count('class="answer"') == 2
    assert drawing.answer_of(None, 20) == ""
    assert drawing.answer_words(Parts(({"head": 0.9, "arm": 0.1},))) == "head"
    assert drawing.answer_words(Labels({"gender": "female"})) == "gender: female"
    assert drawing.answer_words(Boxes(np.zeros((0, 4)))) == "no box"


def test_keypoints_that_are_not_in_the_picture_are_not_drawn() -> None:
    points = np.array([[1.0, 1, 2], [2, 2, 0], [3, 3, 1]])
    assert drawing.points(points, "truth", 100).count("<circle") == 2


def test_boxes_are_held_against_the_truth_that_the_task_asks_for() -> None:
    person = Subject("0", person_box=np.array([0.0, 0, 9, 9]), face_box=np.array([2.0, 2, 4, 4]))
    sample = Sample("a", ArrayImage(np.zeros((10, 10, 3), np.uint8)), 10, 10, (person,))
    face = load_task("face_localization")
    bodies = dataclasses.replace(face, name="person_localization")
    assert 'width="2.0"' in drawing.truth_of(sample, drawing.truth_kinds(face), 10)
    assert 'width="9.0"' in drawing.truth_of(sample, drawing.truth_kinds(bodies), 10)


def test_a_curve_of_one_point_is_a_dot() -> None:
    chart = CurveChart(("x", "y"), [GroupLine("a", 1, [0.3], [0.9], "c0")])
    assert len(svg(curves.panel(chart, "k")).findall("circle")) == 1
    assert chart.across.ticks == ((0.3, "0.3"),)  # no other threshold was measured
    assert chart.across.low < 0.3 < chart.across.high
