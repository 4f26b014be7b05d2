"""Equity measures of face verification as a result: FMR among impostors of the same group, and FNMR."""

import math

from countenance.metrics.equity_measures import MeasuredEquity
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.equity import LEAST_PEOPLE, MOST_PAIRS, AcceptedPairs, EquityEstimate, WithinGroups
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.results import Result, Table

NAME = "equity within groups"
COLUMNS = ["of", "measure", "value", "low", "high", "fair system", "19 of 20 fair within", "p", "meaning"]


def equity(
    compared: Comparisons, accepted: AcceptedPairs, threshold: float, attribute: str, groups: Groups, seed: int
) -> list[Result]:
    """Each measure with its interval and its fair value at this size, or the reason why it is undefined."""
    if not accepted.complete:
        why = f"{accepted.count:,} impostor pairs are accepted; these measures need every pair and keep {MOST_PAIRS:,}"
        return [_table(attribute, [], why)]
    refused = (compared.genuine.score < threshold).astype(float)
    within = WithinGroups(compared.identity, groups, accepted.pairs(), compared.genuine, refused, seed)
    small = [name for name, people in zip(groups.names, within.people, strict=True) if people < LEAST_PEOPLE]
    estimates = within.estimates()
    notes = [estimate.undefined for estimate in estimates if estimate.undefined]
    if small:
        notes.append(f"fewer than {LEAST_PEOPLE} people: {', '.join(small)}")
    return [
        _table(
            attribute,
            [_row(estimate, estimate.measured) for estimate in estimates if estimate.measured],
            "; ".join(dict.fromkeys(notes)),
        )
    ]


def _table(attribute: str, rows: list[list[str | int | float | bool | None]], note: str) -> Table:
    return Table(
        name=f"{NAME}: {attribute}",
        columns=COLUMNS,
        rows=rows,
        note=note,
        meaning=f"FMR among impostors of the same {attribute}, and FNMR, compared between groups; "
        "such measures differ from even by chance alone, so what a fair system of this size shows stands beside them",
    )


def _row(estimate: EquityEstimate, measured: MeasuredEquity) -> list[str | int | float | bool | None]:
    shown = [None if math.isnan(value) else round(value, 6) for value in measured]
    return [estimate.of, estimate.measure.name, *shown, estimate.measure.meaning]
