"""The task's results for the whole run: numbers by group, curves, matrices and tables, each drawn by its type."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from countenance.data.vocabulary import in_order
from countenance.report import numbers
from countenance.report.charts.curves import CurveChart, GroupLine, colours
from countenance.report.charts.heat_maps import STEPS, HeatMap, HeatmapCell
from countenance.report.names import Names, attribute_label, sentence_case, value_label
from countenance.tasks import Curve, Matrix, Number, Result, Table

ORDERED = ("skin_tone", "age_group")
MOST_ROWS = 200
"""The most rows of a table that a page shows; `results.json` has all."""
READ_AT = 9
"""At how many points the table beside a curve reads it."""


@dataclass(frozen=True)
class ByGroup:
    """Numbers of the same name, a row for each group and a column for each name."""

    attribute: str
    names: list[tuple[str, str]]
    """Name and meaning of each column."""
    rows: list[tuple[str, list[tuple[str, str, str]], str]]
    """A group with value, interval and count in each column, and the group as the run names it."""
    named: str = ""
    """The attribute as the run names it."""


@dataclass(frozen=True)
class CurveFigure:
    """A curve with some of its values."""

    about: str
    chart: CurveChart
    table: list[tuple[str, list[tuple[str, str]]]]


@dataclass(frozen=True)
class Grid(HeatMap):
    """A matrix of the results as a heat map."""

    about: str = ""
    groups: tuple[str, ...] = ()
    """The rows as the run names them."""
    named: str = ""
    """The attribute as the run names it; empty where rows are not groups."""


@dataclass(frozen=True)
class Sheet:
    """A table as it is."""

    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    left: int


@dataclass(frozen=True)
class VerificationScreen:
    """A run of face verification at its threshold: four tiles, the DET curve, false matches between groups."""

    tiles: list[tuple[str, str, str]]
    """For each tile its title, the number, and what it means."""
    chart: CurveChart
    grids: list[Grid]


@dataclass(frozen=True)
class VerificationResults:
    """The results with which the page of a face verification run begins."""

    numbers: dict[str, Number]
    det: Curve
    matrices: list[Matrix]

    def screen(self) -> VerificationScreen:
        """The results as a page shows them."""
        grids = [_grid(matrix, rates=True) for matrix in self.matrices]
        return VerificationScreen(self._tiles(), self.chart(), grids)

    def chart(self) -> CurveChart:
        """The DET curve with the threshold in use."""
        fmr, fnmr = self.numbers["FMR"], self.numbers["FNMR"]
        here = f"FMR {numbers.share(fmr.value)}, FNMR {numbers.share(fnmr.value)}"
        return replace(
            chart_of(self.det),
            axes=("false match rate", "false non-match rate"),
            marks=(),  # the point is at the same rate
            title="DET curve with the threshold in use",
            description=f"False non-match rate at every false match rate. The threshold in use: {here}.",
            points=[(fmr.value, fnmr.value, here)] if fmr.value > 0 and fnmr.value > 0 else [],
        )

    def _tiles(self) -> list[tuple[str, str, str]]:
        fmr, fnmr, threshold = (self.numbers[name] for name in ("FMR", "FNMR", "threshold"))
        tiles = [
            ("False matches", _likely(fmr), f"strangers taken for one person, of {fmr.n:,} pairs of pictures"),
            ("True matches refused", _likely(fnmr), f"one person taken for two, of {fnmr.n:,} pairs of pictures"),
            ("Threshold", numbers.tick(threshold.value), f"{threshold.unit}: accepted from here on"),
        ]
        enrolled = self.numbers.get("failure to enrol")
        if enrolled is not None:
            none = enrolled.bound == "<"
            value = "none" if none else numbers.share(enrolled.value)
            tiles.append(("Not enrolled", value, f"pictures without an embedding, of {enrolled.n:,}"))
        return tiles


def _likely(number: Number) -> str:
    """A rate with its interval."""
    text = f"{number.bound} {numbers.share(number.value)}".strip()
    if not math.isfinite(number.low):
        return text
    low, high = (numbers.share(end).removesuffix(f"{numbers.THIN}%") for end in (number.low, number.high))
    return f"{text} (likely {low} to {high})"


def verification(results: Sequence[Result]) -> VerificationResults | None:
    """The results with which the page of a face verification run begins; None for other runs."""
    known = {result.name: result for result in results if isinstance(result, Number) and result.group is None}
    det = next((r for r in results if isinstance(r, Curve) and r.name == "DET" and r.attribute is None), None)
    if det is None or not {"FMR", "FNMR", "threshold"} <= set(known):
        return None
    matrices = [r for r in results if isinstance(r, Matrix) and r.name.startswith("FMR") and r.values]
    return VerificationResults(known, det, matrices)


@dataclass(frozen=True)
class ResultSections:
    """All sections of a page that show a task's results."""

    by_group: list[ByGroup]
    figures: list[CurveFigure]
    grids: list[Grid]
    sheets: list[Sheet]
    verification: VerificationScreen | None = None

    def __bool__(self) -> bool:
        return bool(self.by_group or self.figures or self.grids or self.sheets)


def result_sections(results: Sequence[Result], names: Names) -> ResultSections:
    """Results in the order of the run, by type; numbers about everybody are at the top of the page."""
    grouped = [result for result in results if isinstance(result, Number) and result.group is not None]
    verified = verification(results)
    shown = () if verified is None else (verified.det, *verified.matrices)
    rest = [result for result in results if not any(result is part for part in shown)]
    return ResultSections(
        _by_group(grouped),
        [_figure(result) for result in rest if isinstance(result, Curve) and _has_points(result)],
        [_grid(result) for result in rest if isinstance(result, Matrix) and result.values],
        [_sheet(result, names) for result in rest if isinstance(result, Table)],
        None if verified is None else verified.screen(),
    )


def result_grids(results: Sequence[Result]) -> list[Grid]:
    """Every matrix among the results, in the order of the run; those of face verification are rates."""
    verified = verification(results)
    rates = verified.matrices if verified else []
    matrices = [result for result in results if isinstance(result, Matrix) and result.values]
    return [_grid(matrix, rates=any(matrix is own for own in rates)) for matrix in matrices]


def _about(result: Result) -> str:
    parts = [sentence_case(part) for part in (result.meaning, result.note) if part]
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts)


def _by_group(grouped: Sequence[Number]) -> list[ByGroup]:
    tables = []
    for attribute in dict.fromkeys(number.attribute or "" for number in grouped):
        here = [number for number in grouped if (number.attribute or "") == attribute]
        names = list(dict.fromkeys(number.name for number in here))
        cells = {(number.group or "", number.name): number for number in here}
        order = in_order(attribute, list(dict.fromkeys(number.group or "" for number in here)))
        rows = [
            (value_label(attribute, group), [_cell(cells.get((group, name))) for name in names], group)
            for group in order
        ]
        meanings = [(name, next(number.meaning for number in here if number.name == name)) for name in names]
        tables.append(ByGroup(attribute_label(attribute) if attribute else "group", meanings, rows, attribute))
    return tables


def _cell(number: Number | None) -> tuple[str, str, str]:
    if number is None or not math.isfinite(number.value):
        return numbers.NOTHING, "", "" if number is None or not number.n else f"n {numbers.count(number.n)}"
    value = f"{number.bound} {_short(number.value)}".strip()
    held = _span(number.low, number.high)
    return value, held, f"n {numbers.count(number.n)}" if number.n else ""


def _span(low: float, high: float) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{_short(low)}{' to ' if low < 0 else '–'}{_short(high)}"


def _short(value: float) -> str:
    """A number with three decimals, or two significant digits if smaller; never a signed zero.

    >>> _short(0.0312), _short(0.00042), _short(12.5), _short(-0.0), _short(0.0000012)
    ('0.031', '0.00042', '12.500', '0.000', '0.0000012')
    """
    if value == 0 or not math.isfinite(value) or abs(value) >= 0.01:
        return numbers.value(value)
    digits = min(12, 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}".rstrip("0").replace("-", numbers.MINUS)


def _has_points(curve: Curve) -> bool:
    return any(line.x for line in curve.lines)


def result_charts(results: Sequence[Result]) -> list[tuple[str, CurveChart]]:
    """Every curve among the results with its name, in the order of the run."""
    verified = verification(results)
    charts = []
    for curve in results:
        if isinstance(curve, Curve) and _has_points(curve):
            by = f", by {attribute_label(curve.attribute)}" if curve.attribute else ""
            own = verified is not None and curve is verified.det
            charts.append((f"{curve.name}{by}", verified.chart() if verified and own else chart_of(curve)))
    return charts


def chart_of(curve: Curve) -> CurveChart:
    """A result's lines with their colours, ready to be drawn."""
    looks = colours(len(curve.lines), curve.attribute in ORDERED)
    lines = []
    for line, (colour, dash) in zip(curve.lines, looks, strict=True):
        label = value_label(curve.attribute, line.label) if curve.attribute else line.label
        lines.append(GroupLine(label, 0, line.x, line.y, colour, dash, False, line.low, line.high))
    marks = [x for x in curve.marks if math.isfinite(x)]
    return CurveChart(
        (curve.x.label, curve.y.label),
        lines,
        (curve.x.log, curve.y.log),
        marks,
        title=curve.name,
        description=f"{curve.y.label} against {curve.x.label}",
    )


def _figure(curve: Curve) -> CurveFigure:
    chart = chart_of(curve)
    about = f"{_about(curve)} {curve.y.label[:1].upper()}{curve.y.label[1:]} (up) against {curve.x.label} (across)."
    return CurveFigure(about.strip(), chart, [(line.label or curve.name, _read(line)) for line in chart.lines])


def _read(line: GroupLine) -> list[tuple[str, str]]:
    """Points spread evenly along a line."""
    places = sorted({round(i * (len(line.x) - 1) / (READ_AT - 1)) for i in range(READ_AT)}) if line.x else []
    return [(_short(line.x[i]), _short(line.y[i])) for i in places]


def _grid(matrix: Matrix, *, rates: bool = False) -> Grid:
    """A matrix as a tinted table; `rates` are written as percent."""
    written = numbers.share if rates else _short
    known = [value for row in matrix.values for value in row if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    rows = []
    for i, name in enumerate(matrix.rows):
        cells = []
        for j, value in enumerate(matrix.values[i]):
            count = matrix.counts[i][j] if matrix.counts else 0
            held = _span(matrix.low[i][j], matrix.high[i][j]) if matrix.low else ""
            step = None
            if math.isfinite(value) and high > low:
                step = min(STEPS - 1, int((value - low) / (high - low) * STEPS))
            text = written(value) if math.isfinite(value) else numbers.NOTHING
            cells.append(HeatmapCell(text, count, held, step, None, ""))
        rows.append((_named(matrix.attribute, name), cells))
    return Grid(
        matrix.name,
        matrix.row_label,
        matrix.column_label,
        [_named(matrix.attribute, name) for name in matrix.columns],
        rows,
        about=_about(matrix),
        groups=tuple(matrix.rows),
        named=matrix.attribute or "",
    )


def _named(attribute: str | None, name: str) -> str:
    return value_label(attribute, name) if attribute else name


def _sheet(table: Table, names: Names) -> Sheet:
    """A table with its attributes and groups in words."""

    def worded(text: str) -> str:
        for attribute in names.by:
            text = re.sub(rf"(?<![\w.-]){re.escape(attribute)}(?![\w-])", attribute_label(attribute), text)
        return names.in_text(text)

    rows = [[worded(cell) if isinstance(cell, str) else _text(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    return Sheet(worded(table.name), worded(_about(table)), list(table.columns), rows, len(table.rows) - len(rows))


def _text(cell: str | int | float | bool | None) -> str:
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return numbers.NOTHING
    if isinstance(cell, bool | str):
        return str(cell)
    return numbers.count(cell) if isinstance(cell, int) else _short(cell)
