"""A warning that needs no option: a compared attribute is associated with a condition that the metric depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from countenance.auditing._dist import quantile
from countenance.auditing.attributes import MOST_VALUES, NEVER, Choice, bare
from countenance.auditing.given_finding import ON_THE_FACE
from countenance.auditing.groups import GROUP, Grouping
from countenance.auditing.held_equal_covariates import Covariate, covariate, unit_codes
from countenance.auditing.ordering import CONDITION, role_of
from countenance.auditing.table import UNKNOWN, Array

if TYPE_CHECKING:
    from countenance.auditing.computation import Computation

ASSOCIATED = 0.2
"""Cramér's V from which an attribute counts as associated with a condition."""
SAME = 0.95
"""Cramér's V from which the two count as the same thing under two names."""
LEVEL = 0.01
MOST_CONDITIONS = 40
MOST_NAMED = 3


def confounding_notes(work: Computation) -> list[str]:
    """One sentence for each compared attribute whose gaps may be those of a condition, with the option to check it."""
    rows = work.rows
    if rows.weights is not None or not rows.size or work.settings.comparison != "rest" or not hasattr(rows, "source"):
        return []
    compared = [g for g in work.groupings if g.kind == GROUP and g.depth == 1 and g.named and len(g.cells) > 1]
    members = {g.name: g.members(rows.attributes, rows.size) for g in compared}
    compared = [g for g in compared if not members[g.name].overlap]
    names = _candidates(work)
    if not compared or not names:
        return []
    units = unit_codes(work)
    columns = rows.further(names)
    conditions = [
        covariate(Choice(bare(name), name), columns[name], units[0], work.settings.max_groups) for name in names
    ]
    predicts = {condition.name: _predicts(work, condition, units[0]) for condition in conditions}
    return [
        note
        for grouping in compared
        if (note := _note(work, grouping, members[grouping.name].cells, conditions, predicts))
    ]


def _candidates(work: Computation) -> list[str]:
    """Columns of conditions: recorded ones of few values, and picture measurements outside of faces."""
    rows, settings = work.rows, work.settings
    source, held = rows.source, {name.partition(":")[0] for name in settings.given_names}
    marked = any(name.startswith("attr.") for name in source.names)
    taken = {*rows.metrics, *rows.units.ways, *settings.pair_names, *(settings.paired_by or {}).values()}
    taken |= {*(settings.denominators or {}).values(), *(settings.answered or {}).values()}
    chosen = []
    for name in source.names:
        plain = bare(name)
        if plain in held or plain in taken or name in taken or plain in NEVER or source.names.count(name) > 1:
            continue
        if name.startswith("img."):
            if not name.startswith(ON_THE_FACE) and source.kind(name) == "number":
                chosen.append(name)
            continue
        if (marked and not name.startswith("attr.")) or name.startswith("m.") or plain in ("identity", "sample"):
            continue
        if role_of([plain], settings.roles or {}) == CONDITION and source.kind(name) in ("text", "boolean"):
            chosen.append(name)
    chosen = chosen[:MOST_CONDITIONS]
    return [name for name in chosen if name.startswith("img.") or 2 <= source.distinct(name) <= MOST_VALUES]


def _predicts(work: Computation, condition: Covariate, people: Array) -> list[str]:
    """The metrics that depend on a condition: some level's sum of residuals is more than chance."""
    levels = len(condition.levels)
    named = []
    for column, name in zip(work.rows.columns, work.rows.metrics, strict=True):
        known = ~np.isnan(column.values) & (condition.codes >= 0)
        if not known.any() or levels < 2:
            continue
        codes, values, owner = condition.codes[known], column.values[known], people[known]
        centred = values - values.mean()
        share = np.bincount(codes, minlength=levels) / len(codes)
        most = float(quantile(1 - LEVEL / levels / 2))
        for level in np.flatnonzero((share > 0) & (share < 1)):
            f = np.bincount(owner, ((codes == level) - share[level]) * centred)
            spread = float(np.sqrt((f**2).sum()))
            if spread > 0 and abs(float(f.sum())) / spread > most:
                named.append(name)
                break
    return named


def _note(
    work: Computation, grouping: Grouping, cells: Array, conditions: Sequence[Covariate], predicts: dict[str, list[str]]
) -> str:
    own = {bare(work.rows.chosen.attributes[i].column) for i in grouping.attributes}
    there = []
    for condition in conditions:
        if condition.name in own or not predicts[condition.name]:
            continue
        strength = cramers_v(cells, condition.codes, len(grouping.cells), len(condition.levels))
        if ASSOCIATED <= strength < SAME:
            there.append((strength, condition.name))
    if not there or grouping.name == UNKNOWN:
        return ""
    there = sorted(there, key=lambda condition: (-condition[0], condition[1]))[:MOST_NAMED]
    names = [name for _, name in there]
    joined = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    metrics = list(dict.fromkeys(metric for name in names for metric in predicts[name]))
    verb = "predicts" if len(names) == 1 else "predict"
    return (
        f"{grouping.name} goes with {joined} (Cramér's V {there[0][0]:.2f}), which {verb} {', '.join(metrics[:3])}: "
        f'by="{grouping.name}", given="{",".join(names)}" holds that equal'
    )


def cramers_v(first: Array, second: Array, rows: int, columns: int) -> float:
    """How strongly two columns of codes are associated, from 0 to 1; -1 is not counted.

    >>> cramers_v(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), 2, 2)
    1.0
    """
    known = (first >= 0) & (second >= 0)
    table = np.bincount(first[known].astype(np.int64) * columns + second[known], minlength=rows * columns)
    table = table.reshape(rows, columns).astype(float)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    if min(table.shape) < 2:
        return 0.0
    total = table.sum()
    expected = np.outer(table.sum(1), table.sum(0)) / total
    chi = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi / total / (min(table.shape) - 1)))
