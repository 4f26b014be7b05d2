"""The conditions that are held equal: coded, numbers cut into bins, and joined to strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from countenance.auditing.attributes import (
    Choice,
    bare,
    bin_labels,
    choose,
    coded,
    numbers_to_cut,
    quantile_cuts,
)
from countenance.auditing.codes import size_of
from countenance.auditing.groups import GROUP, Grouping
from countenance.auditing.source import Source
from countenance.auditing.table import Array, numbers_of
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.auditing.computation import Computation

MOST_COVARIATES = 6
BINS = 4
"""Quantile bins of a number without named cut points, and the most bins that can be requested."""
FEW_VALUES = 6
"""A column with at most this many different numbers is taken as categories."""
FEWEST = 5
"""A bin with fewer people is merged with its neighbour."""


@dataclass(frozen=True)
class Covariate:
    """One condition: the level of each row (-1: not recorded), and its numbers if it is numeric."""

    name: str
    levels: list[str]
    codes: Array
    values: Array | None = None


@dataclass(frozen=True)
class HeldConditions:
    """The conditions held equal, and the groupings to compare."""

    covariates: list[Covariate]
    groupings: list[Grouping]

    @classmethod
    def of(cls, work: Computation) -> HeldConditions:
        """The conditions that the settings name; those that cannot be held equal are refused."""
        rows, settings = work.rows, work.settings
        if not settings.given_names:
            return cls([], [])
        choices = covariate_choices(settings.given_names, rows.source)
        measured = {rows.source.resolve(name, "m.", "metric") for name in rows.metrics}
        for choice in choices:
            if choice.column in measured or choice.column.startswith("m."):
                raise InputError(
                    f"given: {choice.name!r} is a metric, expected a condition that comes before the result, such as "
                    "light"
                )
            if choice.column in rows.units.ways:
                raise InputError(
                    f"given: {choice.name!r} says whose a row is, and rows of one value are never independent; name "
                    "conditions of the rows, or another column with cluster="
                )
        held = {choice.column for choice in choices}
        compared: list[Grouping] = []
        dropped: list[Grouping] = []
        for grouping in work.groupings:
            if grouping.kind == GROUP and grouping.named:
                own = {rows.chosen.attributes[i].column for i in grouping.attributes}
                (dropped if own & held else compared).append(grouping)
        if dropped and not compared:
            names = ", ".join(sorted(bare(column) for column in held))
            raise InputError(
                f"given: {names}, and by names only {', '.join(grouping.name for grouping in dropped)}: an attribute "
                "cannot be compared with itself held equal; name another attribute or another condition"
            )
        work.notes += [
            f"{grouping.name} is not compared with conditions equal: it is one of the conditions"
            if grouping.depth == 1
            else f"{grouping.name} is not compared with conditions equal: a part of it is one of the conditions"
            for grouping in dropped
        ]
        columns = rows.further([choice.column for choice in choices])
        units = unit_codes(work)[0]
        covariates = [covariate(choice, columns[choice.column], units, settings.max_groups) for choice in choices]
        work.notes += [
            f"{bare(single.name)} has one value wherever it is recorded: holding it equal changes nothing"
            for single in covariates
            if single.values is None and len(np.unique(single.codes[single.codes >= 0])) == 1
        ]
        return cls(covariates, compared)


def unit_codes(work: Computation) -> tuple[Array, ...]:
    """The independent units, as codes of rows; each row is a unit where no column says whose it is."""
    codes = work.rows.units.codes
    return tuple(np.asarray(way, dtype=np.int64) for way in codes) or (np.arange(work.rows.size),)


def covariate_choices(conditions: Sequence[str], source: Source) -> list[Choice]:
    """The columns that `given` names, with cut points or quantiles where it names some."""
    if not conditions:
        return []
    if crossed := [text for text in conditions if "*" in text and text not in source.names]:
        raise InputError(f"given: {crossed[0]!r}, expected single conditions; they are held equal together anyway")
    chosen = choose(list(conditions), source, [], option="given", most_quantiles=BINS).attributes
    if len(chosen) > MOST_COVARIATES:
        raise InputError(f"given: {len(chosen)} conditions, at most {MOST_COVARIATES} can be held equal together")
    return chosen


def covariate(choice: Choice, column: Any, units: Array, max_groups: int) -> Covariate:
    """A condition as codes; numbers come in quantile bins, each with at least five people.

    >>> import pyarrow as pa
    >>> size = covariate(Choice("size", "size"), pa.array([float(i) for i in range(40)]), np.arange(40), 100)
    >>> size.levels, np.bincount(size.codes).tolist()
    (['<10', '10–19', '20–29', '30+'], [10, 10, 10, 10])
    """
    values = numbers_to_cut(choice, column) if choice.cuts or choice.quantiles else numbers_of(column)
    if values is not None:
        values = np.where(np.isfinite(values), values, np.nan)  # an infinite number has no slope; treat it as missing
    numeric = values is not None and len(np.unique(values[~np.isnan(values)])) > FEW_VALUES
    if values is None or not (numeric or choice.cuts or choice.quantiles):
        attribute = coded(choice, column, max_groups)
        if attribute.rows is not None:
            raise InputError(f"given: {choice.name!r} has several values in a row, expected one")
        return Covariate(choice.name, attribute.levels, np.asarray(attribute.codes, dtype=np.int64))
    known = ~np.isnan(values)
    cuts = choice.cuts or quantile_cuts(values[known], choice.quantiles or BINS)
    codes = np.where(known, np.searchsorted(np.array(cuts), values, side="right"), -1).astype(np.int64)
    cuts, codes = _merged(tuple(cuts), codes, units)
    whole = bool((values[known] == np.floor(values[known])).all()) and all(cut == np.floor(cut) for cut in cuts)
    return Covariate(choice.name, bin_labels(cuts, whole), codes, values)


def _merged(cuts: tuple[float, ...], codes: Array, units: Array) -> tuple[tuple[float, ...], Array]:
    """Bins with fewer than five people joined with their smaller neighbour."""
    while cuts:
        pairs = np.unique(codes[codes >= 0] * (int(units.max(initial=0)) + 1) + units[codes >= 0])
        people = np.bincount(pairs // (int(units.max(initial=0)) + 1), minlength=len(cuts) + 1)
        small = int(np.argmin(people))
        if people[small] >= FEWEST:
            break
        left = small > 0 and (small == len(cuts) or people[small - 1] <= people[small + 1])
        removed = small - 1 if left else small  # the cut between the two bins
        cuts = cuts[:removed] + cuts[removed + 1 :]
        codes = np.where(codes > removed, codes - 1, codes)
    return cuts, codes


@dataclass(frozen=True)
class Strata:
    """The joint values of some covariates: a code for each row, and for each stratum the level of each covariate."""

    codes: Array
    levels: Array

    @classmethod
    def of(cls, covariates: Sequence[Covariate], rows: Array) -> Strata:
        """The strata of some rows, in all of which every covariate is known."""
        keys = np.zeros(len(rows), dtype=np.int64)
        for covariate in covariates:
            keys = keys * max(size_of(covariate.codes), 1) + covariate.codes[rows]
        distinct, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        levels = np.empty((len(distinct), len(covariates)), dtype=np.int64)
        for place, covariate in enumerate(covariates):
            levels[:, place] = covariate.codes[rows][first]
        return cls(codes.astype(np.int64), levels)

    @property
    def count(self) -> int:
        """How many strata there are."""
        return len(self.levels)

    def coarser(self, places: Sequence[int]) -> Array:
        """For each stratum its code when only some of the covariates count."""
        if not places:
            return np.zeros(self.count, dtype=np.int64)
        chosen = self.levels[:, list(places)]
        return np.unique(chosen, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
