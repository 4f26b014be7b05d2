"""Rules for gates that are repeated while data grows: bounds that hold at every look (`any_time: true`).

The bounds are betting confidence sequences of people's means (`metrics.any_time`), each person counted once, in the
order of the rows: the rows of an earlier look come first in a later one. A score that is missing counts as wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countenance.auditing.attributes import choose, coded
from countenance.auditing.conditions import kept_rows
from countenance.auditing.directions import LOWER
from countenance.auditing.source import Source
from countenance.auditing.table import UNKNOWN
from countenance.data.vocabulary import in_order
from countenance.errors import InputError
from countenance.gating.bounds import Measurement
from countenance.metrics.any_time import (
    any_time_difference,
    any_time_lower_bound,
    any_time_upper_bound,
    cluster_means,
)
from countenance.run.auditing import complete_rows

if TYPE_CHECKING:
    from countenance.gating.evidence import RunEvidence

Array = NDArray[np.float64]
EVERYBODY = "everybody"
PEOPLE = ("person", "people")


def any_time_estimates(evidence: RunEvidence, metric: str, by: str | None, group: str | None) -> list[Measurement]:
    """A metric of everybody, of each group or of one group, with bounds that hold at every look."""
    groups = people_by_group(evidence, metric, by)
    if group is not None and group not in groups:
        raise InputError(f"{evidence.run.place}: {by} has no group {group!r}; there are {', '.join(groups)}")
    chosen = {name: values for name, values in groups.items() if group in (None, name)}
    count = max(len(chosen), 1)
    return [
        _measurement(
            metric if by is None else f"{metric} of {by} = {name}",
            float(values.mean()) if len(values) else np.nan,
            _bounds(values, evidence.alpha),
            _bounds(values, evidence.alpha / count),
            len(values),
        )
        for name, values in chosen.items()
    ]


def any_time_gaps(evidence: RunEvidence, metric: str, by: str, comparison: str) -> list[Measurement]:
    """The difference of each group to all others (or of every two groups), with bounds that hold at every look."""
    groups = people_by_group(evidence, metric, by)
    if comparison == "pairs":
        sides = [(a, b, groups[a], groups[b]) for a, b in itertools.combinations(groups, 2)]
    else:
        names = list(groups)
        rest = {
            name: np.concatenate([groups[other] for other in names if other != name] or [np.zeros(0)]) for name in names
        }
        shown = names[:1] if len(names) == 2 else names if len(names) > 2 else []
        sides = [(name, "the rest", groups[name], rest[name]) for name in shown]
    measurements = []
    for name, versus, own, other in sides:
        value = float(own.mean() - other.mean()) if len(own) and len(other) else np.nan
        bounds = any_time_difference(own, other, evidence.alpha)
        shared = any_time_difference(own, other, evidence.alpha / len(sides))
        about = f"{metric}, {by} = {name} against {versus}"
        measurements.append(_measurement(about, value, bounds, shared, min(len(own), len(other))))
    return measurements


def people_by_group(evidence: RunEvidence, metric: str, by: str | None) -> dict[str, Array]:
    """The mean of each person in each group, in the order in which people were first seen."""
    evidence.need_metric(metric)
    if by is not None:
        evidence.need_attribute(by)
    run = evidence.run
    with complete_rows(run, Source(evidence.every_score, label=run.place), [metric]) as (source, answered):
        rows = pa.table(source.read([], source.names))
    chosen = kept_rows(Source(rows, label=run.place), evidence.policy.where)
    rows = rows if chosen is None else rows.filter(pa.array(chosen))
    values, about = _values(rows, metric, answered, evidence.better(metric) == LOWER)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise InputError(f"{run.place}: {metric} is not between 0 and 1; bounds that hold at every look are for shares")
    people = _people(rows)[about]
    members = {EVERYBODY: np.ones(rows.num_rows, bool)} if by is None else _members(rows, by, run.place)
    return {name: cluster_means(values[mask[about]], people[mask[about]]) for name, mask in members.items()}


def _values(rows: pa.Table, metric: str, answered: Mapping[str, str], lower: bool) -> tuple[Array, NDArray[np.bool_]]:
    """The scores of the rows that a metric is about, missing ones as the worst score, and a mask of these rows."""
    column = np.asarray(rows[f"m.{metric}"].cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    flag = answered.get(metric)
    known = ~np.isnan(column)
    lacking = np.zeros(len(column), bool)
    if flag and flag in rows.column_names:
        lacking = ~known & (np.asarray(rows[flag].to_numpy(zero_copy_only=False), dtype=np.float64) == 0)
    about = known | lacking
    return np.where(known, column, 1.0 if lower else 0.0)[about], about


def _people(rows: pa.Table) -> NDArray[np.str_]:
    """The person of each row; the picture where no person is named."""
    blank = [None] * rows.num_rows
    names = rows["identity"].to_pylist() if "identity" in rows.column_names else blank
    samples = rows["sample"].to_pylist() if "sample" in rows.column_names else list(range(rows.num_rows))
    return np.array(
        [f"p{name}" if name is not None else f"s{sample}" for name, sample in zip(names, samples, strict=True)]
    )


def _members(rows: pa.Table, by: str, place: str) -> dict[str, NDArray[np.bool_]]:
    """The rows of each group of an attribute (bins and intersections, too); never those of unknown ones."""
    source = Source(rows, label=place)
    attributes = [
        coded(choice, source.read([choice.column], [])[choice.column], 10_000)
        for choice in choose([by], source, []).attributes
    ]
    if any(attribute.rows is not None for attribute in attributes):
        raise InputError(f"{by}: people with several values of an attribute have no bounds that hold at every look")
    members = {}
    for codes in itertools.product(*(range(len(attribute.levels)) for attribute in attributes)):
        names = [attribute.levels[code] for attribute, code in zip(attributes, codes, strict=True)]
        mask = np.logical_and.reduce([a.codes == code for a, code in zip(attributes, codes, strict=True)])
        if UNKNOWN not in names and mask.any():
            members[" × ".join(names)] = mask
    if len(attributes) == 1 and not attributes[0].cuts:
        return {name: members[name] for name in in_order(by, list(members))}
    return members


def _bounds(values: Array, alpha: float) -> tuple[float, float]:
    """Both bounds together hold with probability 1 - alpha, at every look."""
    return any_time_lower_bound(values, alpha / 2), any_time_upper_bound(values, alpha / 2)


def _measurement(
    about: str, value: float, bounds: tuple[float, float], shared: tuple[float, float], people: int
) -> Measurement:
    return Measurement(about, value, *bounds, *shared, people, people, PEOPLE)
