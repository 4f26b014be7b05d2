"""Missing scores: a separate outcome, and a metric's value if each of them were wrong.

A row is missing for a metric when it is in the metric's denominator and has no score: a failed image, no answer. A
person without a prediction is not served, so missing rows clear no group.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from countenance.auditing.directions import HIGHER, LOWER
from countenance.auditing.far_ends import Ends
from countenance.auditing.layout import Column

TOLERATED = 0.01
"""For a metric without bounds: the largest share of a group's rows that may be missing if it is to be cleared."""
LACKING = "more than 1 % of a side has no score, and {} has no worst value to put in its place"


def missing_column(column: Column) -> Column | None:
    """The 0/1 column of rows that have no score among those that should have one; None where none is missing.

    >>> ok = Column("ok", "rate", np.array([1.0, np.nan, np.nan]), absent=np.array([0.0, 1.0, 0.0]))
    >>> missing_column(ok).values.tolist()
    [0.0, 1.0, nan]
    """
    if column.absent is None:
        return None
    name, absent = f"{column.name} (missing)", column.absent
    if column.counts is not None:
        return Column(name, "rate", absent, 0.0, column.counts + absent, absent)
    return Column(name, "rate", np.where(absent > 0, 1.0, np.where(column.known, 0.0, np.nan)))


def with_missing_as(column: Column, value: float) -> Column:
    """The column with one value in place of every missing score.

    >>> ok = Column("ok", "rate", np.array([1.0, np.nan, np.nan]), absent=np.array([0.0, 1.0, 0.0]))
    >>> with_missing_as(ok, 0.0).values.tolist()
    [1.0, 0.0, nan]
    """
    if column.absent is None:
        return column
    away, name = value - column.centre, f"{column.name} (missing as {value:g})"
    if column.counts is not None and column.squares is not None:
        return replace(
            column,
            name=name,
            values=column.values + away * column.absent,
            counts=column.counts + column.absent,
            squares=column.squares + away * away * column.absent,
            absent=None,
        )
    return replace(column, name=name, values=np.where(column.absent > 0, away, column.values), absent=None)


def as_wrong(column: Column, ends: Ends | None, better: str | None) -> list[Column]:
    """The column with every missing score as wrong: at the worse end, or at both if the direction is unknown."""
    if column.absent is None or ends is None:
        return []
    worse = {HIGHER: [ends[0]], LOWER: [ends[1]]}.get(better or "", list(ends))
    return [with_missing_as(column, end) for end in worse]
