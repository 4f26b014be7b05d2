"""A comparison or a leaderboard as PDF: the page's decision, figures and tables, for filing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import countenance
from countenance.comparing import Comparison, Leaderboard
from countenance.report import numbers, words
from countenance.report.charts.forest import ChangeRow, Forest, ForestRow
from countenance.report.comparison import badge_of, change_plots, dumbbells, gap_plots
from countenance.report.comparison_words import lead, plain, rows_words
from countenance.report.draw.mpl import critical_figure, dumbbell_figure, forest_figures
from countenance.report.leaderboard import board_badge, board_pages, moved_gaps
from countenance.report.metric_words import noun_in
from countenance.report.names import attribute_label, sentence_case
from countenance.report.paper import Paper, pdf_path
from countenance.report.words import unit_words
from countenance.run.licences import in_words

MOST_ROWS = 20
"""Groups of one metric in a PDF, those that changed most; a comparison by many attributes filled 33 pages."""
COLUMNS = ("group", "n", "difference (interval)", "adj. p", "verdict")


def write_comparison_pdf(comparison: Comparison, out: Path | str) -> Path:
    """Write a comparison as PDF and return its path: the content of its page, without pictures of people.

    The same comparison gives the same bytes.
    """
    path = pdf_path(out)
    title = f"{comparison.a} → {comparison.b}"
    paper = _begun(comparison, title, "comparison")
    settings = comparison.settings
    by = f", by {', '.join(map(attribute_label, settings['by']))}" if settings["by"] else ""
    paper.text(
        f"Both on the same {rows_words(settings)}{by}{_only(settings)}. "
        f"Differences are {comparison.b} − {comparison.a}.",
        9,
        soft=True,
    )
    _decision(paper, comparison, *badge_of(comparison), lead(comparison))
    if comparison.overall:
        chart, names = dumbbells(comparison, comparison.overall[0].metric), (comparison.a, comparison.b)
        noun = noun_in(chart.metric, settings)
        paper.figure(dumbbell_figure(chart, names, noun), f"{noun} of everyone and of each group in both models")
    for heading, plots, names in (
        ("For whom it is better or worse", change_plots(comparison), (comparison.a, comparison.b)),
        ("Did a gap widen?", gap_plots(comparison), (f"gap in {comparison.a}", f"gap in {comparison.b}")),
    ):
        if plots:
            paper.heading(heading, need=70)
        for plot in plots:
            _put_plot(paper, plot, names, noun_in(plot.metric, comparison.settings))
    _left_out(paper, comparison)
    return _ended(paper, comparison, path)


def write_leaderboard_pdf(leaderboard: Leaderboard, out: Path | str) -> Path:
    """Write a leaderboard as PDF and return its path: the content of its page.

    The same leaderboard gives the same bytes.
    """
    path = pdf_path(out)
    title = f"{len(leaderboard.models)} models on the same {rows_words(leaderboard.settings)}"
    paper = _begun(leaderboard, title, "leaderboard")
    paper.text(f"{', '.join(leaderboard.models)}{_only(leaderboard.settings)}.", 9, soft=True)
    _decision(
        paper, leaderboard, *board_badge(leaderboard), [plain(text, leaderboard) for text in leaderboard.decisions]
    )
    for board in board_pages(leaderboard):
        noun = noun_in(board["metric"], leaderboard.settings)
        paper.heading(noun, need=80)
        better = board["better"]
        direction = f"{better.capitalize()} is better. " if better else "Which way is better was not said. "
        paper.text(f"{direction}“=” marks a shared rank. Lines are intervals; all models share one scale.", soft=True)
        tied = board["critical"]
        shown = replace(tied, forest=replace(tied.forest, axis=noun))
        paper.figure(critical_figure(shown), f"models by {noun}")
        paper.text(f"{tied.words[:1].upper()}{tied.words[1:]}.")
        for name, own in board["by_attribute"]:
            models = [standing.model for standing in board["standings"]]
            cells = [(label, *(_number(board["cells"][model][a, g]) for model in models)) for a, g, label in own]
            paper.heading(f"By {attribute_label(name)}", 9.5)
            paper.table((attribute_label(name), *models), cells, "L" + "R" * len(models))
        paper.heading("All pairs", 9.5)
        paper.table(("pair", *COLUMNS[1:]), [_cells(row) for row in board["pairs"].rows], "LRRRL")
    for model, moved in moved_gaps(leaderboard):
        paper.heading(f"Gaps of {model} against {leaderboard.models[0]}", 9.5)
        if moved:
            paper.table(COLUMNS, [_cells(row) for row in moved], "LRRRL")
        else:
            paper.text("No gap is shown to have changed.")
    _left_out(paper, leaderboard)
    return _ended(paper, leaderboard, path)


def _begun(result: Comparison | Leaderboard, title: str, what: str) -> Paper:
    day = max(result.settings["dates"], default="")
    dated = f" · data of {day[:10]}" if day else ""
    licences = in_words(result.settings["licences"])
    paper = Paper(
        title,
        f"{title}{dated} · countenance {countenance.__version__}",
        finished=day or None,
        about=f"Licences: {licences}" if licences else "",
    )
    paper.text(f"Countenance · {what}", 7.5, soft=True, gap=0.5)
    paper.text(title, 18, bold=True, gap=1)
    return paper


def _only(settings: dict[str, Any]) -> str:
    return "".join(
        f"; only rows with {attribute_label(name)} {' or '.join(values)}"
        for name, values in (settings["where"] or {}).items()
    )


def _decision(paper: Paper, result: Comparison | Leaderboard, mark: str, badge: str, sentences: Sequence[str]) -> None:
    plain_words = [plain(sentence, result) for sentence in result.decisions]
    after = [*sentences[1:], *(sentence for sentence in plain_words if sentence not in sentences)]
    after += [
        f"{numbers.plural(entry['unpaired'], 'row')} of {entry['name']} left out: no partner."
        for entry in result.unpaired
        if entry["unpaired"]
    ]
    after += [f"{sentence_case(note)}." for note in result.notes]
    paper.box(mark, badge, sentences[0], [], [*after, f"{unit_words(str(result.settings['unit']))}."])


def _shortened(forest: Forest) -> tuple[Forest, int]:
    """A forest plot of the rows that changed most, shown ones first, and how many rows it leaves out."""
    rows = [row for block in forest.blocks for row in block.rows]

    def change_key(row: ForestRow) -> tuple[bool, bool, bool, float]:
        whole = row.label == "everyone"
        shown = isinstance(row, ChangeRow) and row.mark in (words.SEVERE, words.MINOR, words.DIFFERS, words.FAVOURED)
        size = -abs(row.estimate) if math.isfinite(row.estimate) else 0.0
        return not whole, not shown, row.mark == words.UNTESTED, size

    chosen = {id(row) for row in sorted(rows, key=change_key)[:MOST_ROWS]}
    blocks = [replace(block, rows=tuple(row for row in block.rows if id(row) in chosen)) for block in forest.blocks]
    return replace(forest, blocks=tuple(block for block in blocks if block.rows)), max(0, len(rows) - MOST_ROWS)


def _put_plot(paper: Paper, forest: Forest, names: tuple[str, str], noun: str) -> None:
    """The forest plot of one metric and the numbers beside it."""
    forest, left_out = _shortened(forest)
    better = f"{forest.better.capitalize()} is better. " if forest.better else "Which way is better was not said. "
    paper.heading(noun, 9.5, need=70)
    paper.text(
        f"{better}Lines are intervals; all groups share one scale; left of the dashed line is a loss"
        f"{' (right, since lower is better)' if forest.better == 'lower' else ''}.",
        soft=True,
    )
    if left_out:
        paper.text(
            f"The {MOST_ROWS} largest changes; {left_out:,} more are on the HTML page and in the CSV.", soft=True
        )
    for figure in forest_figures(replace(forest, axis=forest.axis.replace(forest.metric, noun))):
        paper.figure(figure, f"changes of {noun}")
    cells: list[Sequence[str]] = []
    for block in forest.blocks:
        cells += [(block.label,)] if block.label else []
        for row in block.rows:
            if isinstance(row, ChangeRow):
                change = f"{row.difference} [{row.interval}]"
                cells.append((row.label, numbers.count(row.n), row.old, row.new, change, row.p, row.verdict))
    paper.table(("group", "n", *names, *COLUMNS[2:]), cells, "LRRRRRL")


def _number(cell: dict[str, Any]) -> str:
    return f"{cell['value']} [{cell['interval']}]"


def _cells(row: Any) -> tuple[str, ...]:
    return row.label, f"{row.n:,}", f"{row.difference} [{row.interval}]", row.p, row.verdict


def _left_out(paper: Paper, result: Comparison | Leaderboard) -> None:
    paper.heading("Rows")
    paper.table(
        ("model", "rows", "compared", "left out", "which"),
        [
            (
                entry["name"],
                f"{entry['rows']:,}",
                f"{entry['paired']:,}",
                f"{entry['unpaired']:,}",
                ", ".join(entry["keys"][:8]) + (" …" if entry["unpaired"] > 8 else ""),
            )
            for entry in result.unpaired
        ],
        "LRRRL",
    )


def _ended(paper: Paper, result: Comparison | Leaderboard, path: Path) -> Path:
    settings = result.settings
    level = f"{100 * (1 - settings['alpha']):g} %"
    paper.heading("Method and provenance")
    deltas = ", ".join(f"{name} {value:g}" for name, value in settings["delta"].items() if value is not None)
    paper.facts(
        [
            ("Pairs", f"rows matched by {' and '.join(settings['pair'])}; intervals are {level}"),
            ("Smallest difference that matters", deltas),
            ("Adjustment", f"changes by {settings['adjust_changes']}, gaps by {settings['adjust']}"),
            (
                "From",
                "; ".join(
                    f"{place}{f' ({day[:10]})' if day else ''}"
                    for place, day in zip(settings["places"], settings["dates"], strict=True)
                ),
            ),
            ("Licences", in_words(settings["licences"])),
            ("Versions", f"countenance {countenance.__version__}"),
        ]
    )
    return paper.write(path)
