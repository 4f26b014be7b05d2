"""Dumbbells, waterfalls and critical differences: one value, drawn on pages and in files with the same rows."""

import re

import numpy as np
import pytest

import countenance as ct
from countenance.auditing import audit
from countenance.comparing import Comparison
from countenance.report import held_equal
from countenance.report.comparison import comparison_html, dumbbells
from countenance.report.draw import mpl, svg
from countenance.report.leaderboard import board_pages

pytest.importorskip("matplotlib")


def drawn_texts(figure) -> str:  # type: ignore[no-untyped-def]
    (axes,) = figure.axes
    return "\n".join(text.get_text() for text in axes.texts)


def lines_of(figure) -> list[tuple[float, ...]]:  # type: ignore[no-untyped-def]
    """Where the lines of a figure lie on its axis."""
    (axes,) = figure.axes
    return [tuple(round(float(x), 9) for x in line.get_xdata()) for line in axes.lines]


def tables(count: int) -> list[dict[str, list[object]]]:
    random = np.random.default_rng(3)
    shared = {"sample": list(range(600)), "sex": ["f", "m", "x"] * 200}
    return [
        shared | {"correct": (random.random(600) < share).astype(int).tolist()} for share in (0.9, 0.7, 0.69)[:count]
    ]


def test_dumbbells_have_the_same_groups_numbers_and_ends_on_the_page_and_in_the_file() -> None:
    comparison = ct.compare(*tables(2), by="sex", metrics="correct", names=["old", "new"])
    assert isinstance(comparison, Comparison)
    chart = dumbbells(comparison, "correct")
    page, figure = comparison_html(comparison), mpl.dumbbell_figure(chart, ("old", "new"))
    texts, lines = drawn_texts(figure), lines_of(figure)
    assert len(chart.shown) == 3
    for row in (chart.everyone, *chart.shown):
        assert row.who in texts and f"{row.old} → {row.new}" in texts and row.difference in page
        assert tuple(round(end, 9) for end in row.ends) in lines
        assert f'cx="{chart.scale.at(row.ends[0])}%"' in svg.dumbbell(chart.scale, row.ends, row.mark)
    assert list(figure.axes[0].get_xlim()) == [chart.scale.low, chart.scale.high]


def test_critical_differences_join_the_same_models_on_the_page_and_in_the_file() -> None:
    board = ct.leaderboard(tables(3), metrics="correct", names=["a", "b", "c"])
    chart = board_pages(board)[0]["critical"]
    assert chart.ties == ((1, 2),), "b and c cannot be told apart, a is better"
    figure, markup = mpl.critical_figure(chart), svg.critical(chart, "cd")
    tie = sorted(chart.forest.rows[place].estimate for place in chart.ties[0])
    assert tuple(round(end, 9) for end in tie) in [tuple(sorted(line)) for line in lines_of(figure)]
    assert markup.count('class="tie"') == 1
    for row in chart.forest.rows:
        assert row.label in drawn_texts(figure) and row.text in drawn_texts(figure)
        assert f"{row.label} {row.value}" in re.sub(r"</?bdi>", "", markup)


def test_a_waterfall_has_the_same_steps_on_the_page_and_in_the_file() -> None:
    random = np.random.default_rng(5)
    sex = np.array(["f", "m"] * 400)
    dark = random.random(800) < np.where(sex == "f", 0.7, 0.3)
    correct = (random.random(800) < np.where(dark, 0.6, 0.95)).astype(int)
    rows = {"sex": sex.tolist(), "light": np.where(dark, "dark", "bright").tolist(), "correct": correct.tolist()}
    section = held_equal.section(audit(rows, ["sex"], ["correct"], given=["light"]), {})
    assert section is not None
    fall = section.falls[0]
    figure = mpl.waterfall_figure(fall)
    bars = [(round(bar.get_x(), 9), round(bar.get_width(), 9)) for bar in figure.axes[0].patches]
    assert bars == [
        (round(min(row.step.start, row.step.end) if row.step.size >= 0 else row.step.start, 9), round(row.step.size, 9))
        for row in fall.steps
    ]
    for row in fall.steps:
        assert row.name in drawn_texts(figure) and row.size in drawn_texts(figure)
        assert f'class="fall {row.step.kind}"' in svg.step_bar(fall.scale, row.step)
