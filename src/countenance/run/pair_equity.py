"""Equity measures that a run's task computed from all pairs, as an audit has them.

An audit of rows would take each picture's share of comparisons with everybody, which depends on who else is in the test
set; the task compares people of the same group.
"""

import math
from collections.abc import Collection
from typing import Any

from countenance.auditing.finding import Equity
from countenance.run.run import Run
from countenance.tasks.results import Table
from countenance.tasks.verification_equity import NAME


def pair_equity(run: Run, attributes: Collection[str]) -> list[Equity]:
    """The measures of the attributes named; empty if the task computed no measures."""
    tables = [result for result in run.results() if isinstance(result, Table) and result.name.startswith(f"{NAME}: ")]
    by = {table.name.removeprefix(f"{NAME}: "): table for table in tables}
    return [
        _measure(attribute, row) for attribute, table in by.items() if attribute in attributes for row in table.rows
    ]


def _measure(attribute: str, row: list[Any]) -> Equity:
    metric, measure, *numbers, meaning = row
    values = [math.nan if value is None else float(value) for value in numbers]
    known = dict(zip(("value", "low", "high", "fair", "fair_limit", "p"), values, strict=True))
    return Equity(attribute=attribute, metric=str(metric), measure=str(measure), meaning=str(meaning), **known)
