"""Pages of a PDF: headings, paragraphs, a verdict box, tables and figures, laid out by fpdf2.

Fonts are DejaVu's, which come with matplotlib and have the signs that reports use.
"""

from __future__ import annotations

import io
import logging
import re
import weakref
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.report.draw.mpl import svg_of
from countenance.report.draw.mpl.style import check_installed
from countenance.report.draw.palette import COLOURS, INK, LINE, SOFT
from countenance.report.names import clean

WIDEST = 34
"""Characters after which a cell may be broken into lines."""
ACROSS = 130
"""Characters of a table's text that fit beside each other on a page."""
MARGIN, WIDTH, HEIGHT = 16.0, 210.0, 297.0
FOOT = 16.0
TINTS = {
    "severe": "#fbeeeb",
    "minor": "#fbf2e4",
    "unsure": "#eff2f6",
    "none": "#eaf4ef",
    "untested": "#f2f1ec",
    "differs": "#f2f1ec",
    "favoured": "#eff2f6",
}


def pdf_path(out: Path | str) -> Path:
    """A path that ends in .pdf; anything else is refused."""
    path = Path(out)
    if path.suffix.lower() != ".pdf":
        raise InputError(f"{path}: expected a name that ends in .pdf")
    return path


def rgb(colour: str) -> tuple[int, int, int]:
    """The red, green and blue of a colour.

    >>> rgb("#ff0080")
    (255, 0, 128)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


class Swatch(NamedTuple):
    """A colour that is shown in a line of text."""

    red: int
    green: int
    blue: int


class Paper:
    """A document that grows from top to bottom."""

    def __init__(self, title: str, foot: str, *, finished: str | None = None, about: str = "") -> None:
        check_installed("a report as PDF", pdf=True)
        import matplotlib
        from fpdf import FPDF

        logging.getLogger("fpdf").setLevel(logging.ERROR)  # fpdf2 logs every character that the font lacks
        logging.getLogger("fontTools").setLevel(logging.ERROR)
        foot_text = clean(foot)

        class Document(FPDF):  # type: ignore[misc]
            """A page with a line at its foot."""

            def footer(self) -> None:
                self.set_y(-FOOT + 4)
                self.set_font("sans", size=6.5)
                self.set_text_color(*rgb(SOFT))
                shown = foot_text
                while self.get_string_width(shown) > self.epw - 22:
                    shown = f"{shown.removesuffix('…')[:-4]}…"
                self.cell(self.epw - 20, 4, shown)
                self.cell(20, 4, f"{self.page_no()} of {{nb}}", align="R")

        self.pdf = Document(format="A4")
        fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        for family, style, file in (
            ("sans", "", "DejaVuSans.ttf"),
            ("sans", "B", "DejaVuSans-Bold.ttf"),
            ("mono", "", "DejaVuSansMono.ttf"),
        ):
            self.pdf.add_font(family, style, fonts / file)
        # fpdf2 leaves font files open, also when writing fails.
        weakref.finalize(self, _close, list(self.pdf.fonts.values()))
        self.pdf.set_margins(MARGIN, MARGIN, MARGIN)
        self.pdf.set_auto_page_break(True, FOOT)
        self.pdf.set_title(clean(title))
        self.pdf.set_subject(clean(about))
        self.pdf.set_creator("countenance")
        try:
            self.pdf.set_creation_date(datetime.fromisoformat(str(finished)))
        except ValueError:
            self.pdf.set_creation_date(datetime(2000, 1, 1))  # the same run gives the same bytes
        self.pdf.set_lang("en")
        self.pdf.add_page()

    def text(self, text: str, size: float = 8.5, *, bold: bool = False, soft: bool = False, gap: float = 1.5) -> None:
        """A paragraph."""
        self.pdf.set_font("sans", "B" if bold else "", size)
        self.pdf.set_text_color(*rgb(SOFT if soft else INK))
        self.pdf.multi_cell(0, size * 0.52, clean(text), align="L", new_x="LMARGIN", new_y="NEXT")
        self.pdf.ln(gap)

    def facts(self, facts: Sequence[tuple[str, str | Sequence[str | Swatch]]]) -> None:
        """Names with their values: text, or text with colours in it."""
        for name, value in facts:
            if not value:
                continue
            self.pdf.set_font("sans", "B", 8)
            self.pdf.set_text_color(*rgb(INK))
            self.pdf.write(4.4, f"{clean(name)}  ")
            self.pdf.set_font("sans", "", 8)
            for piece in [value] if isinstance(value, str) else value:
                if isinstance(piece, Swatch):
                    self._swatch(piece)
                else:
                    self.pdf.write(4.4, clean(piece))
            self.pdf.ln(5.4)

    def _swatch(self, swatch: Swatch) -> None:
        """A colour in a line of text; it goes to the next line where this one is full."""
        side = 3.0
        if self.pdf.get_x() + 4 * side > WIDTH - MARGIN:
            self.pdf.ln(4.4)
        if self.pdf.get_y() + 4.4 > HEIGHT - FOOT:
            self.pdf.add_page()
        self.pdf.set_fill_color(*swatch)
        self.pdf.set_draw_color(*rgb(LINE))
        self.pdf.set_line_width(0.15)
        self.pdf.rect(self.pdf.get_x(), self.pdf.get_y() + 0.7, side, side, style="DF")
        self.pdf.set_x(self.pdf.get_x() + side + 0.8)

    def code(self, lines: Sequence[str]) -> None:
        """Put commands in fixed-width type."""
        self.pdf.set_font("mono", "", 7)
        self.pdf.set_text_color(*rgb(INK))
        self.pdf.set_fill_color(*rgb("#f5f4ef"))
        for line in lines:
            self.pdf.multi_cell(0, 4.2, f"$ {clean(line)}", align="L", fill=True, new_x="LMARGIN", new_y="NEXT")
        self.pdf.ln(2)

    def heading(self, text: str, size: float = 12.5, *, need: float = 30.0) -> None:
        """A heading that stays with what follows it."""
        self.break_before(need)
        self.pdf.ln(3.5 if size > 11 else 1.5)
        self.pdf.set_font("sans", "B", size)
        self.pdf.set_text_color(*rgb(INK))
        if size > 11:
            self.pdf.start_section(clean(text), strict=False)
        self.pdf.multi_cell(0, size * 0.5, clean(text), align="L", new_x="LMARGIN", new_y="NEXT")
        self.pdf.ln(1.5)

    def break_before(self, height: float) -> None:
        """Begin a page where less than `height` millimetres are left."""
        if self.pdf.get_y() + height > HEIGHT - FOOT:
            self.pdf.add_page()

    def box(self, kind: str, badge: str, headline: str, lines: Sequence[tuple[str, str]], after: Sequence[str]) -> None:
        """The verdict: a tinted box with a bar of its colour."""
        pdf = self.pdf
        with pdf.offset_rendering() as trial:
            top = trial.get_y()
            self._boxed(trial, kind, badge, headline, lines, after)
            height = trial.get_y() - top
            broken = trial.page_break_triggered
        if not broken:
            top = pdf.get_y()
            pdf.set_fill_color(*rgb(TINTS[kind]))
            pdf.rect(MARGIN, top, WIDTH - 2 * MARGIN, height + 3, style="F")
            pdf.set_fill_color(*rgb(COLOURS[kind]))
            pdf.rect(MARGIN, top, 1.6, height + 3, style="F")
        self._boxed(pdf, kind, badge, headline, lines, after)
        pdf.set_left_margin(MARGIN)
        pdf.set_right_margin(MARGIN)
        pdf.set_x(MARGIN)
        pdf.ln(6)

    @staticmethod
    def _boxed(
        pdf: Any, kind: str, badge: str, headline: str, lines: Sequence[tuple[str, str]], after: Sequence[str]
    ) -> None:
        pdf.set_left_margin(MARGIN + 6)
        pdf.set_right_margin(MARGIN + 4)
        pdf.ln(4)
        pdf.set_x(MARGIN + 6)
        pdf.set_font("sans", "B", 8)
        pdf.set_text_color(*rgb(COLOURS[kind]))
        pdf.multi_cell(0, 4.4, clean(badge), new_x="LMARGIN", new_y="NEXT", align="L")
        pdf.set_font("sans", "B", 13)
        pdf.set_text_color(*rgb(INK))
        pdf.multi_cell(0, 6.6, clean(headline), new_x="LMARGIN", new_y="NEXT", align="L")
        pdf.ln(1.5)
        for who, text in lines:
            pdf.set_font("sans", "B", 8.5)
            pdf.write(4.5, f"{clean(who)}: ")
            pdf.set_font("sans", "", 8.5)
            pdf.write(4.5, clean(text))
            pdf.ln(6)
        pdf.set_font("sans", "", 8)
        pdf.set_text_color(*rgb(SOFT))
        for text in after:
            pdf.multi_cell(0, 4.3, clean(text), new_x="LMARGIN", new_y="NEXT", align="L")
            pdf.ln(1)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], right: str) -> None:
        """A table whose head is repeated on every page; `right` has an R for each column of numbers, an L otherwise.

        Columns are as wide as what they hold. A row of one cell goes across all columns.
        """
        from fpdf.enums import TableBordersLayout
        from fpdf.fonts import FontFace

        self.pdf.set_font("sans", "", 7)
        self.pdf.set_text_color(*rgb(INK))
        self.pdf.set_draw_color(*rgb(LINE))
        self.pdf.set_line_width(0.15)
        self.pdf.set_fill_color(255, 255, 255)
        whole = [line for line in (columns, *rows) if len(line) == len(columns)]
        cells = [[clean(line[i]) for line in whole] for i in range(len(columns))]
        with self.pdf.table(
            col_widths=tuple(widths(cells)),
            text_align=tuple(right),
            line_height=4.2,
            padding=(0.5, 1.2),
            borders_layout=TableBordersLayout.HORIZONTAL_LINES,
            headings_style=FontFace(emphasis="BOLD"),
        ) as table:
            for line in [columns, *rows]:
                if len(line) == len(columns):
                    table.row([clean(cell) for cell in line])
                else:
                    table.row().cell(clean(line[0]), colspan=len(columns), align="L")
        self.pdf.ln(3)

    @staticmethod
    def height_of(figure: Any) -> float:
        """How high a figure of matplotlib is on paper, in mm."""
        inches = figure.get_size_inches()
        return (WIDTH - 2 * MARGIN) * float(inches[1] / inches[0])

    def figure(self, figure: Any, alt: str) -> None:
        """A figure of matplotlib, as lines and text that can be searched, on a page where it fits."""
        height = self.height_of(figure)
        self.break_before(height + 2)
        drawn = io.BytesIO(svg_of(figure, "sans").encode())
        self.pdf.image(drawn, x=MARGIN, w=WIDTH - 2 * MARGIN, h=height, alt_text=clean(alt))
        self.pdf.ln(2)

    def write(self, path: Path) -> Path:
        """Write the document, whole or not at all."""
        content = bytes(self.pdf.output())
        write_atomically(path, lambda part: part.write_bytes(content) and None)
        return path


def _close(fonts: Sequence[Any]) -> None:
    for font in fonts:
        font.close()


def widths(columns: Sequence[Sequence[str]], most: int = ACROSS) -> list[int]:
    """Widths of columns in characters: the longest word always fits, a whole cell if it is short and there is space.

    >>> widths([["n", "1,204 / 96"], ["meaning", "the share of people that were found"]], most=40)
    [11, 29]
    """
    words = [max(len(word) for cell in cells for word in re.split("[ \\n]+", cell)) for cells in columns]
    least = [1.15 * word + 3 for word in words]  # headings are bold; cells have margins
    ideal = [max(low, min(WIDEST, max(map(len, cells))) + 2) for low, cells in zip(least, columns, strict=True)]
    more = sum(ideal) - sum(least)
    share = min(1.0, max(0.0, (most - sum(least)) / more)) if more else 0.0
    return [round(low + share * (high - low)) for low, high in zip(least, ideal, strict=True)]
