"""A forest plot as a value: rows of estimates with their intervals, on one axis, in blocks with a heading.

It is built once from an audit, a comparison or a leaderboard, with every number computed, worded and in its order;
`report.draw` draws it for pages and for files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from countenance.report import numbers, words
from countenance.report.charts.scale import Scale

UNMARKED = "unmarked"
"""The mark of all rows of a plot that shows no verdicts."""


def audit_marks(many: str) -> tuple[tuple[str, str], ...]:
    """The marks of an audit's groups with their meaning; `many` is what the audit counts.

    >>> audit_marks("rows")[-1]
    ('untested', 'too few rows to test')
    """
    return (
        (words.SEVERE, "served worse"),
        (words.MINOR, "served worse, a small gap"),
        (words.DIFFERS, "differs; which way is better is not known"),
        (words.FAVOURED, "served better"),
        (words.NONE, "no gap that matters"),
        (words.UNSURE, words.not_enough(many)),
        (words.UNTESTED, words.too_few(many)),
    )


def change_marks(many: str) -> tuple[tuple[str, str], ...]:
    """The marks of changes with their meaning; `many` is what the comparison counts.

    >>> change_marks("people")[0]
    ('severe', 'worse')
    """
    return (
        (words.SEVERE, "worse"),
        (words.MINOR, "worse, by less than what matters"),
        (words.DIFFERS, "changed; which way is better is not known"),
        (words.FAVOURED, "better"),
        (words.NONE, "no change that matters"),
        (words.UNSURE, words.not_enough(many)),
        (words.UNTESTED, words.too_few(many)),
    )


@dataclass(frozen=True)
class ForestRow:
    """A group, a model or a change: where it lies on the axis, and the same as texts.

    >>> ForestRow("Monk 3", 0.5, 0.4, 0.6, "50 %", "40–60 %", "20 people").text
    '50 %  [40–60 %]'
    """

    label: str
    estimate: float
    low: float
    high: float
    value: str
    interval: str
    size: str
    mark: str = words.UNTESTED
    verdict: str = ""
    n: int = 0
    clusters: int = 0
    difference: str = ""
    against: str = ""
    """The group that the difference is measured from, if not everyone else."""
    note: str = ""
    colours: tuple[str, ...] = ()
    """Of the skin tones of a group."""
    key: tuple[str, str, str] | None = None
    """Metric, attribute and group, as the audit names them."""

    @property
    def text(self) -> str:
        """The number with its interval."""
        return f"{self.value}  [{self.interval}]" if self.interval else self.value


@dataclass(frozen=True)
class ChangeRow(ForestRow):
    """A difference between two models, with the numbers of both."""

    old: str = ""
    new: str = ""
    p: str = ""
    change: Any = None
    """The change or the gap itself."""


@dataclass(frozen=True)
class ForestBlock:
    """Rows below a heading; `unit` is the noun that their sizes count, if the sizes do not include it."""

    label: str
    rows: tuple[ForestRow, ...]
    unit: str = ""


@dataclass(frozen=True)
class Forest:
    """The forest plot of one metric."""

    metric: str
    axis: str
    """What the axis shows."""
    scale: Scale
    blocks: tuple[ForestBlock, ...]
    reference: float | None = None
    reference_label: str = ""
    """What the dashed line marks, with its value."""
    marks: tuple[tuple[str, str], ...] = ()
    """What the marks of the rows mean; none: there is no legend."""
    better: str | None = None
    noun: str = ""
    """The metric in words."""
    meaning: str = ""
    everybody: ForestRow | None = None
    """The number of everyone, which is not a row of the plot."""
    title: str = ""
    note: str = ""

    @property
    def overall(self) -> str:
        """The number of everyone as text."""
        return self.everybody.value if self.everybody else numbers.NOTHING

    @property
    def rows(self) -> list[ForestRow]:
        """The rows of all blocks, in order."""
        return [row for block in self.blocks for row in block.rows]

    def unmarked(self) -> Forest:
        """The forest without verdicts: every row has the same mark.

        >>> row = ForestRow("a", 0.5, 0.4, 0.6, "50 %", "40–60 %", "9 people", words.SEVERE, "worse")
        >>> scale, marks = Scale.around([0.4, 0.6]), audit_marks("rows")
        >>> plain = Forest("m", "m", scale, (ForestBlock("", (row,)),), marks=marks).unmarked()
        >>> plain.rows[0].mark, plain.marks
        ('unmarked', ())
        """
        blocks = [
            replace(block, rows=tuple(replace(row, mark=UNMARKED) for row in block.rows)) for block in self.blocks
        ]
        return replace(self, blocks=tuple(blocks), marks=())


@dataclass(frozen=True)
class TiedForest:
    """Models on one axis, and which of them (places of rows) are not shown to differ: critical differences."""

    forest: Forest
    ties: tuple[tuple[int, ...], ...]
    words: str
    """The ties in words."""


def bounds(rows: Iterable[ForestRow]) -> list[float]:
    """Every number that the axis of some rows has to hold."""
    return [end for row in rows for end in (row.estimate, row.low, row.high) if math.isfinite(end)]
