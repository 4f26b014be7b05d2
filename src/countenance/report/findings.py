"""The table of findings: rows for the page, and the same rows as CSV."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from countenance.auditing import Finding
from countenance.auditing.effects import effect_label
from countenance.auditing.ratio import Ratio
from countenance.report import numbers, words
from countenance.report.harms import kind_shown
from countenance.report.names import attribute_label, clean, in_group_order
from countenance.report.source import Audited

MOST, FIRST = 600, 250
"""If there are more findings than `MOST`, a page holds the first ones, so that it stays small, and says so."""


@dataclass(frozen=True)
class Cell:
    """A cell: its text, and for a number the value by which it is sorted."""

    text: str
    sort: str
    numeric: bool = False
    key: tuple[str, ...] | None = None
    """Metric, attribute and group (and `rest` for everyone else) of the rows to which the viewer leads from here."""


@dataclass(frozen=True)
class FindingRow:
    """A row of the table, with the values that the filters need."""

    metric: str
    attribute: str
    mark: str
    verdict: str
    reason: str
    cells: list[Cell]


COLUMNS = (
    ("metric", False),
    ("attribute", False),
    ("group", False),
    ("compared with", False),
    ("n", True),
    ("estimate", True),
    ("interval", True),
    ("other side", True),
    ("difference", True),
    ("its interval", True),
    ("adjusted p", True),
    ("effect", True),
)


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Worst first; among equals groups before intersections, then the smaller p, then the groups' own order."""

    def key(finding: Finding) -> tuple[int, int, float]:
        p = finding.p_adjusted if math.isfinite(finding.p_adjusted) else 2.0
        return (words.RANK[words.own_mark(finding)], finding.depth, p)

    return sorted(in_group_order(findings), key=key)


def by_size(findings: Sequence[Finding]) -> list[Finding]:
    """Findings with a difference: disparities first, what could not be tested last, each by the size of the effect."""

    def key(f: Finding) -> tuple[int, float, float, int]:
        rank = 0 if f.verdict == words.DISPARITY else 2 if f.verdict == "untestable" else 1
        effect = abs(f.effect) if f.effect == f.effect else 0.0
        return rank, -effect, -abs(f.difference), f.depth

    return sorted((f for f in findings if f.difference == f.difference), key=key)


def finding_words(f: Finding, source: Audited) -> dict[str, str]:
    """A finding as the words and numbers of a short list."""
    names, kind = source.names, kind_shown(f, source)
    return {
        "metric": f.measure,
        "group": names.who(f.attribute, f.group),
        "versus": names.versus(f.attribute, f.versus),
        "n": f"{numbers.count(f.n)} / {numbers.count(f.n_versus)}",
        "difference": numbers.change(f.difference, kind),
        "interval": numbers.change_span(f.diff_low, f.diff_high, kind),
        "effect": f"{effect_label(f.effect_name)} {numbers.effect(f.effect)}",
        "p": numbers.probability(f.p_adjusted),
        "verdict": words.finding_label(f, source.audit.settings, kind=kind),
        "depth": "alone" if f.depth == 1 else "crossed",
    }


def table_rows(findings: Sequence[Finding], source: Audited) -> list[FindingRow]:
    """The rows of the page's table."""
    return [_row(finding, source) for finding in findings]


def _row(f: Finding, source: Audited) -> FindingRow:
    names, kind = source.names, kind_shown(f, source)
    versus = "everyone else" if f.versus == "rest" else names.group(f.attribute, f.versus)
    own: tuple[str, ...] = (f.metric, f.attribute, f.group)
    other = (*own, "rest") if f.versus == "rest" else (f.metric, f.attribute, f.versus)
    cells = [
        Cell(f.measure, ""),
        Cell(attribute_label(f.attribute), ""),
        Cell(names.group(f.attribute, f.group), ""),
        Cell(versus, ""),
        _number(numbers.count(f.n), f.n, own),
        _number(numbers.value(f.estimate, kind), f.estimate, own),
        _number(numbers.span(f.low, f.high, kind), f.low, own),
        _number(numbers.value(f.estimate_versus, kind), f.estimate_versus, other),
        _number(numbers.change(f.difference, kind), f.difference, own),
        _number(numbers.change_span(f.diff_low, f.diff_high, kind), f.diff_low, own),
        _number(numbers.probability(f.p_adjusted), f.p_adjusted, own),
        _number(numbers.effect(f.effect), f.effect, own),
    ]
    verdict = words.finding_label(f, source.audit.settings, kind=kind)
    return FindingRow(
        f.metric,
        f.attribute,
        words.own_mark(f),
        verdict,
        names.reason(f),
        cells,
    )


def _number(text: str, sort: float | None, key: tuple[str, ...] | None = None) -> Cell:
    return Cell(text, f"{float(sort):.6g}" if sort is not None and math.isfinite(sort) else "", True, key)


def safe_cell(value: Any) -> str:
    """A CSV cell that no spreadsheet interprets as a formula; numbers stay numbers.

    >>> safe_cell("=1+1"), safe_cell(-0.5), safe_cell(None), safe_cell("a\\nb")
    ("'=1+1", '-0.5', '', 'a b')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Ratio):
        value, low, high = ("any" if part is None else f"{part:.6g}" for part in value)
        return f"{value} ({low} to {high})"
    text = clean(str(value))
    return "'" + text if text.lstrip()[:1] in ("=", "+", "-", "@") else text


def to_csv(findings: Sequence[Finding], *, short: bool = False) -> str:
    """All the columns of the findings as CSV; a line per finding, whatever the names contain.

    With `short`, numbers have at most nine digits.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    columns = list(Finding.model_fields)
    writer.writerow(columns)
    for finding in findings:
        cells = [safe_cell(getattr(finding, name)) for name in columns]
        writer.writerow([_nine_digits(cell) for cell in cells] if short else cells)
    return buffer.getvalue()


def _nine_digits(cell: str) -> str:
    """A number with at most nine digits, so that a heavy page becomes smaller; other cells stay.

    >>> _nine_digits("0.35198873936043646"), _nine_digits("160"), _nine_digits("'=1+1")
    ('0.351988739', '160', "'=1+1")
    """
    try:
        return min(f"{float(cell):.9g}", cell, key=len)
    except ValueError:
        return cell


def csv_uri(findings: Sequence[Finding], *, short: bool = False) -> Markup:
    """The CSV as a link that works without JavaScript."""
    return csv_link(to_csv(findings, short=short))


def csv_link(text: str) -> Markup:
    """Any CSV as a link that holds it.

    >>> csv_link("a,b\\r\\n")
    Markup('data:text/csv;charset=utf-8,%EF%BB%BFa,b%0D%0A')
    """
    content = quote("\ufeff" + text, safe=",;:/()[]=+-@!*$~")
    return Markup(f"data:text/csv;charset=utf-8,{content}")  # noqa: S704 - nothing that closes an attribute
