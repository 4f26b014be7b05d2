"""The first page of the PDF: the first screen on paper."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Sequence
from typing import Any

from countenance.report.charts.forest import Forest, ForestRow
from countenance.report.charts.scale import Scale
from countenance.report.draw.palette import COLOURS, INK, LINE, SOFT
from countenance.report.first_screen import FirstScreen, HarmLine
from countenance.report.ladder import FIRST_ROWS, Ladder
from countenance.report.names import clean
from countenance.report.paper import MARGIN, WIDTH, Paper, rgb
from countenance.report.tiles import ACROSS, Failures

_COLOUR = re.compile(r'fill="(#[0-9a-f]{6})"')
INSIDE = WIDTH - 2 * MARGIN
RIGHT = "#155f8c"
TILE, RUNG = 17.0, 16.5
WIDEST_STEP = 26.0
"""The distance between columns of a ladder in mm, if the page is wide enough."""
GAP = 2.0
DOT = 2.2
"""From one dot to the next, in mm."""
SWATCH = 2.4
PLOT = 102.0
"""Where the intervals of the short forest plot begin, in mm from the margin: names and numbers stand before it."""


def put_first(paper: Paper, first: FirstScreen, notes: Sequence[str], *, faces: bool) -> None:
    """Put the sentence, the lists, the short forest plot, the people and how sure it is on a page.

    Without `faces` (real people) only the frames of pictures are printed.
    """
    pdf = paper.pdf
    top = pdf.get_y()
    pdf.set_left_margin(MARGIN + 4)
    pdf.set_x(MARGIN + 4)
    paper.text(first.sentence, 15, bold=True, gap=1)
    pdf.set_fill_color(*rgb(COLOURS[first.mark]))
    pdf.rect(MARGIN, top, 1.6, pdf.get_y() - top, style="F")
    pdf.set_left_margin(MARGIN)
    pdf.set_x(MARGIN)
    if first.second:
        paper.text(first.second, 10, gap=2)
    _lists(paper, first)
    if first.forest is not None:
        _forest(paper, first.forest)
    if first.ladder is not None:
        _ladder(paper, first.ladder, faces)
    else:
        _failures(paper, first.failures, faces)
    paper.text(f"How sure: {first.how_sure}", 8.5, gap=1)
    for text in (first.unconfirmed, *notes):
        if text:
            paper.text(text if text.endswith(".") else f"{text}.", 8, soft=True, gap=0.6)


def _lists(paper: Paper, first: FirstScreen) -> None:
    """Put the lists Who and When beside each other."""
    pdf, top, half = paper.pdf, paper.pdf.get_y(), INSIDE / 2
    ends = [
        _list(pdf, MARGIN, top, half - 4, ("Who", first.no_who), first.who, first.more_who),
        _list(pdf, MARGIN + half, top, half - 4, ("When", first.no_when), first.when, first.more_when),
    ]
    pdf.set_xy(MARGIN, max(ends) + 2)


def _list(
    pdf: Any, x: float, y: float, width: float, titles: tuple[str, str], lines: Sequence[HarmLine], more: str
) -> float:
    """One list; `titles` are its heading and the words for an empty list."""
    _write(pdf, x, y, width, titles[0], 10, bold=True)
    y += 5.5
    if not lines:
        _write(pdf, x, y, width, titles[1], 8, soft=True)
        return y + 4.5
    for line in lines:
        _mark(pdf, x + 1.4, y + 2.1, line.mark)
        place = _swatches(pdf, x + 4, y, _COLOUR.findall(str(line.swatch)))
        _write(pdf, place, y, x + width - place, line.label, 8.5, bold=True)
        _write(pdf, x + 4, y + 3.9, width - 4, line.text, 7.5)
        y += 8.4
    if more:
        _write(pdf, x, y, width, f"and {more}", 7.5, soft=True)
        y += 4
    return y


def _write(
    pdf: Any, x: float, y: float, width: float, text: str, size: float, *, bold: bool = False, soft: bool = False
) -> None:
    """Write one line, cut to its width."""
    pdf.set_xy(x, y)
    pdf.set_font("sans", "B" if bold else "", size)
    pdf.set_text_color(*rgb(SOFT if soft else INK))
    shown = clean(text)
    while shown and pdf.get_string_width(shown) > width:
        shown = shown[:-2].rstrip() + "…"
    pdf.cell(width, size * 0.48, shown)


def _swatches(pdf: Any, x: float, y: float, colours: Sequence[str]) -> float:
    """Put the colours of skin tones beside each other; returns where the text after them begins."""
    for colour in colours:
        pdf.set_fill_color(*rgb(colour))
        pdf.rect(x, y + 0.5, SWATCH, SWATCH, style="F")
        x += SWATCH
    return x + 1 if colours else x


def _mark(pdf: Any, x: float, y: float, kind: str) -> None:
    pdf.set_fill_color(*rgb(COLOURS[kind]))
    pdf.set_draw_color(*rgb(COLOURS[kind]))
    size = 1.3
    pdf.polygon([(x, y - size), (x + size, y), (x, y + size), (x - size, y)], style="DF")


def _forest(paper: Paper, forest: Forest) -> None:
    pdf = paper.pdf
    _write(pdf, MARGIN, pdf.get_y(), INSIDE, f"{forest.noun[:1].upper()}{forest.noun[1:]}", 8.5, bold=True)
    top = y = pdf.get_y() + 5
    left, width = MARGIN + PLOT, 42.0
    for row in forest.rows:
        _row(pdf, forest.scale, row, y, left, width)
        y += 6
    if forest.reference is not None:
        x = left + width * forest.scale.at(forest.reference) / 100
        with pdf.local_context():
            pdf.set_draw_color(*rgb(SOFT))
            pdf.set_dash_pattern(dash=0.8, gap=0.8)
            pdf.line(x, top, x, y)
        _write(
            pdf,
            left + width + 4,
            y - 6,
            INSIDE - PLOT - width - 4,
            f"dashed line: {forest.rows[-1].label}",
            7.5,
            soft=True,
        )
    for tick, label in forest.scale.labelled:
        _write(pdf, left + width * forest.scale.at(tick) / 100 - 4, y, 9, label, 6, soft=True)
    _write(pdf, MARGIN, y + 4, INSIDE, forest.note, 7.5, soft=True)
    pdf.set_xy(MARGIN, y + 9.5)


def _row(pdf: Any, scale: Scale, row: ForestRow, y: float, left: float, width: float) -> None:
    x = _swatches(pdf, MARGIN, y, row.colours)
    _write(pdf, x, y, MARGIN + 44 - x, row.label, 7.5, bold=True)
    _write(pdf, MARGIN + 45, y, PLOT - 46, f"{row.value}  {row.size}, {row.interval}", 7)
    middle = y + 2
    pdf.set_draw_color(*rgb(LINE))
    pdf.line(left, middle, left + width, middle)
    if all(math.isfinite(value) for value in (row.low, row.high, row.estimate)):
        low, high, at = (left + width * scale.at(value) / 100 for value in (row.low, row.high, row.estimate))
        pdf.set_draw_color(*rgb(COLOURS[row.mark]))
        pdf.set_line_width(0.5)
        pdf.line(low, middle, high, middle)
        _mark(pdf, at, middle, row.mark)
        pdf.set_line_width(0.15)
    _write(pdf, left + width + 4, y, INSIDE - PLOT - width - 4, row.verdict, 7.5, soft=True)


def _failures(paper: Paper, failures: Failures, faces: bool) -> None:
    pdf = paper.pdf
    for row in failures.rows if faces else ():
        y = pdf.get_y()
        _write(pdf, MARGIN, y, INSIDE, f"{row.label}  {row.counts}", 8.5, bold=True)
        x, y = MARGIN, y + 4.6
        for pair in row.pairs:
            for tile in pair:
                if tile is not None:
                    _picture(pdf, tile.picture, x, y, TILE, tile.failed, tile.word, tile.about)
                    x += TILE + 1
            x += GAP
            if x + 2 * TILE > WIDTH - MARGIN:
                break
        pdf.set_xy(MARGIN, y + TILE + 5)
    for dots in failures.dots:
        y = pdf.get_y()
        _write(pdf, MARGIN, y, INSIDE, f"{dots.label}  {dots.counts}", 8.5, bold=True)
        for place in range(dots.total):
            colour = rgb(COLOURS["severe"] if place < dots.failed else RIGHT)
            pdf.set_draw_color(*colour)
            pdf.set_fill_color(*colour)
            left, top = MARGIN + DOT * (place % ACROSS), y + 5 + DOT * (place // ACROSS)
            pdf.ellipse(left, top, 0.7 * DOT, 0.7 * DOT, style="DF" if place < dots.failed else "D")
        pdf.set_xy(MARGIN, y + 7 + DOT * -(-dots.total // ACROSS))
    if failures.sentence:
        paper.text(failures.sentence, 8, soft=True)


def _ladder(paper: Paper, ladder: Ladder, faces: bool) -> None:
    pdf, side = paper.pdf, min(RUNG, (INSIDE - 24) / max(1, len(ladder.columns)) - 2)
    x0, y = MARGIN + 24, pdf.get_y()
    step = max(side + 2, min(WIDEST_STEP, (INSIDE - 24) / max(1, len(ladder.columns))))
    for place, (swatch, name) in enumerate(ladder.columns):
        x = _swatches(pdf, x0 + place * step, y, _COLOUR.findall(str(swatch)))
        _write(pdf, x, y, x0 + (place + 1) * step - 1 - x, name, 7.5)
    y += 4.4
    for person, rungs in ladder.rows[:FIRST_ROWS]:
        _write(pdf, MARGIN, y + side / 2, 23, person, 7, soft=True)
        for place, rung in enumerate(rungs):
            if rung.state != "nothing":
                x = x0 + place * step
                _picture(
                    pdf, rung.picture if faces else None, x, y, side, rung.state == "failed", rung.word, rung.about
                )
        y += side + 4.4
    _write(pdf, MARGIN, y, 23, f"{ladder.word}, of {ladder.people}", 7, soft=True)
    for place, (failed, n) in enumerate(ladder.totals):
        total = str(failed) if n == ladder.people else f"{failed} of {n}"
        _write(pdf, x0 + place * step + side / 2 - 2, y, side, total, 8, bold=True)
    pdf.set_xy(MARGIN, y + 6)


def _picture(pdf: Any, picture: Any, x: float, y: float, side: float, failed: bool, word: str, alt: str) -> None:
    """Put a face in a frame coloured by its outcome, with its word below; without a picture, only the frame."""
    if picture is not None:
        content = base64.b64decode(str(picture).partition(",")[2])
        pdf.image(io.BytesIO(content), x=x, y=y, w=side, h=side, alt_text=clean(alt))
    colour = COLOURS["severe"] if failed else RIGHT
    pdf.set_draw_color(*rgb(colour))
    pdf.set_line_width(0.7)
    pdf.rect(x, y, side, side)
    pdf.set_line_width(0.15)
    pdf.set_xy(x, y + side + 0.3)
    pdf.set_font("sans", "B", 5.6)
    pdf.set_text_color(*rgb(colour))
    pdf.cell(side, 2.6, clean(f"{'✕' if failed else '●'} {word}"), align="C")
