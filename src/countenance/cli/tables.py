"""Tables for a terminal: as wide as it is, verdicts in their colours, rates with a bar."""

import sys
from collections.abc import Sequence

from countenance.cli.lines import PaintedLine, PaintedText

EIGHTHS = " ▏▎▍▌▋▊▉█"
BAR = 8
LEAST = 12
"""The fewest characters to which the column of names may be shortened."""


def spark(share: float, width: int = BAR) -> str:
    """A rate as a bar; nothing where the terminal cannot show one, or the number is not a share.

    >>> spark(0.5, 4), spark(1.0, 4), spark(7.0, 4)
    ('██  ', '████', '')
    """
    if not 0 <= share <= 1 or "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower():
        return ""
    eighths = round(share * width * 8)
    text = "█" * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else "")
    return text.ljust(width)


def columns_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns are as wide as their widest cell.

    >>> columns_of([("a", "bb"), ("ccc", "d")])
    ['a    bb', 'ccc  d']
    """
    return list(fitted(rows))


def fitted(rows: Sequence[Sequence[str]], width: int | None = None, spare: Sequence[str] = ()) -> list[PaintedLine]:
    """Lines of a table that fits a width: cells are shortened, then columns of `spare` left out, then the widest cut.

    The first row is the head. Cells keep the colour of their verdict.

    >>> table = [("who", "p", "verdict"), ("a long name", "0.01", "worse")]
    >>> [str(line) for line in fitted(table, 20, spare=["p"])]
    ['who          verdict', 'a long name  worse']
    """
    shown = [list(row) for row in rows]
    widths = _widths(shown)
    if width is not None and _total(widths) > width:
        shown = [[PaintedText(c.short, c.mark) if isinstance(c, PaintedText) else c for c in row] for row in shown]
        widths = _widths(shown)
    for name in spare:
        if width is None or _total(widths) <= width:
            break
        if name in shown[0]:
            place = shown[0].index(name)
            shown = [row[:place] + row[place + 1 :] for row in shown]
            widths = _widths(shown)
    if width is not None and _total(widths) > width:
        widest = max(range(len(widths)), key=lambda place: widths[place])
        room = max(LEAST, widths[widest] - (_total(widths) - width))
        shown = [[_cut(cell, room) if place == widest else cell for place, cell in enumerate(row)] for row in shown]
        widths = _widths(shown)
    return [_line(row, widths) for row in shown]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _cut(cell: str, width: int) -> str:
    text = cell if len(cell) <= width else f"{cell[: width - 1]}…"
    return PaintedText(text, cell.mark) if isinstance(cell, PaintedText) else text


def _line(row: Sequence[str], widths: Sequence[int]) -> PaintedLine:
    parts: list[str] = []
    for place, (cell, wide) in enumerate(zip(row, widths, strict=True)):
        last = place == len(row) - 1
        parts += [cell, "" if last else " " * (wide - len(cell) + 2)]
    while parts and not parts[-1].strip():
        parts.pop()
    if parts and not isinstance(parts[-1], PaintedText):
        parts[-1] = parts[-1].rstrip()
    return PaintedLine(parts)
