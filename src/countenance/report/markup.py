"""A suite's section of the page in the PDF: paragraphs, headings, tables, facts with colours; without pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import groupby, zip_longest

from countenance.report.paper import Paper, Swatch, rgb

BLOCKS = ("p", "h3", "h4", "th", "td", "dt", "dd", "li", "summary")
HIDDEN = ("caption", "svg", "style", "script")
_NUMBER = re.compile(r"[-−+<>≤≥ ]*[\d.]+[\d.,% /\u2009\u202f]*")


def put_markup(paper: Paper, markup: str) -> None:
    """Put the content of a section on the pages, in its order."""
    reader = _Reader(paper)
    reader.feed(markup)
    reader.close()


class _Reader(HTMLParser):
    """Writes each block as soon as it is complete."""

    def __init__(self, paper: Paper) -> None:
        super().__init__(convert_charrefs=True)
        self.paper = paper
        self.words: list[str | Swatch] = []
        self.rows: list[list[str]] = []
        self.term = ""
        self.hidden = 0
        self.swatch = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self.hidden += 1
            self.swatch = ("class", "swatch") in attrs
        elif tag == "rect" and self.swatch and (colour := swatch_of(dict(attrs).get("fill") or "")):
            self.words.append(colour)
        elif tag == "table":
            self.rows = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in BLOCKS:
            self.words = []
        elif tag in ("br", "span"):  # a second line of a cell
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self.hidden -= 1
        elif tag == "table":
            put_table(self.paper, self.rows)
        elif tag in BLOCKS:
            self._block(tag, " ".join("".join(word for word in self.words if isinstance(word, str)).split()))
            self.words = []

    def _block(self, tag: str, text: str) -> None:
        if tag in ("th", "td"):
            if not self.rows:
                self.rows.append([])
            self.rows[-1].append(text)
        elif tag in ("h3", "h4", "summary"):
            self.paper.heading(text, 9.5)
        elif tag == "dt":
            self.term = text
        elif tag == "dd":
            self.paper.facts([(self.term, _pieces(self.words))])
        elif text:
            self.paper.text(f"· {text}" if tag == "li" else text)


def swatch_of(fill: str) -> Swatch | None:
    """The colour of a rectangle; None unless it has a plain colour.

    >>> swatch_of("rgb(102,78,65)"), swatch_of("#664e41"), swatch_of("none")
    (Swatch(red=102, green=78, blue=65), Swatch(red=102, green=78, blue=65), None)
    """
    if re.fullmatch(r"#[0-9a-fA-F]{6}", fill):
        return Swatch(*rgb(fill))
    numbers = re.fullmatch(r"rgb\((\d+), ?(\d+), ?(\d+)\)", fill)
    return None if numbers is None else Swatch(*(int(number) for number in numbers.groups()))


def _pieces(words: Sequence[str | Swatch]) -> list[str | Swatch]:
    """Words and colours in their order, each run of words with single spaces.

    >>> _pieces(["In this", "  run: ", Swatch(1, 2, 3), " dark; "])
    ['In this run: ', Swatch(red=1, green=2, blue=3), 'dark;']
    """
    pieces: list[str | Swatch] = []
    for colour, run in groupby(words, key=lambda word: isinstance(word, Swatch)):
        if colour:
            pieces += run
        elif text := " ".join("".join(map(str, run)).split()):
            pieces.append(f"{text} ")
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].rstrip()
    return pieces


def put_table(paper: Paper, rows: Sequence[Sequence[str]]) -> None:
    """A table; columns of numbers are aligned to the right, and a row of one cell goes across all columns."""
    if len(rows) < 2:
        return
    across = max(map(len, rows))
    whole = [row for row in rows if len(row) > 1 or across == 1]
    columns = [[str(cell) for cell in column] for column in zip_longest(*whole, fillvalue="")]
    right = ["R" if all(_NUMBER.fullmatch(cell) for cell in cells[1:] if cell) else "L" for cells in columns]
    head, *body = [list(row) if row not in whole else [*row, *[""] * (across - len(row))] for row in rows]
    paper.table(head, body, "".join(right))
