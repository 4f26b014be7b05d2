"""Twins: pictures that differ from their base in one thing. Each is compared only with its own base.

A thing that is changed on purpose says nothing about groups: people with the change are the same people. So every value
of the changed thing is compared with the base, pair by pair, and of an ordered thing also the first version of each
base with the last. Where a thing has so many values that no value has enough bases for a test, all values together are
compared with the base instead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing.batch import MEAN, PEOPLE
from countenance.auditing.codes import combined
from countenance.auditing.comparisons import Draft, Test
from countenance.auditing.conditions import kept_rows
from countenance.auditing.directions import HIGHER, LOWER
from countenance.auditing.finding import MissingScores
from countenance.auditing.groups import GROUP
from countenance.auditing.measured_metric import MeasuredMetric
from countenance.auditing.ordering import checked, order_of
from countenance.auditing.pairs import PairedMetric
from countenance.auditing.settings import FEWEST, AuditSettings
from countenance.auditing.source import Source
from countenance.auditing.table import Array, text_of
from countenance.auditing.units import AUTO, IMAGE, codes_of, together
from countenance.person_columns import person_column
from countenance.words import plain_float

TWINS, BASE = "twins", "base"
FIRST, LAST = "first version", "last version"
CHANGED = "changed"
"""The group of all values of a change, used if no single value has enough bases."""
UNCHANGED = ("", "none", "base", "original")
"""The value of the column of changes for a base."""


@dataclass(frozen=True)
class Twins:
    """Which rows of a table are twins, and which of their attributes are compared in pairs alone."""

    columns: list[str]
    """The columns of base and change."""
    paired: frozenset[str]
    """Attributes whose values are compared in pairs, and so not with other people."""
    apart: Array | None
    """Rows that are compared by groups: all but the changed ones; None: all rows, because every row is a twin."""
    things: list[str] | None
    """The changes to look at; None: all."""
    bases: Array
    changes: list[str]
    is_base: Array

    @classmethod
    def of(cls, source: Source, by: Sequence[str] | None, settings: AuditSettings) -> Twins | None:
        """The twins of a table; None where there are no twins, or where another comparison is requested."""
        if settings.paired_by is None or settings.comparison != "rest":
            return None
        base, change = (
            source.resolve(settings.paired_by[role], "attr.", "column of twins") for role in (BASE, "change")
        )
        image = [IMAGE] if IMAGE in source.names else []
        read = source.read([base, change, *image], [])
        bases = codes_of(read[base])
        changes = [text_of(value) for value in read[change].to_pylist()]
        unchanged = np.array([value.casefold() in UNCHANGED or value == "(unknown)" for value in changes], dtype=bool)
        own = np.array(read[base].to_pylist(), dtype=object)
        same = own == np.array(read[IMAGE].to_pylist(), dtype=object) if image else np.zeros(len(own), dtype=bool)
        is_base = (bases >= 0) & (unchanged | same.astype(bool))
        changed = (bases >= 0) & ~is_base
        if not changed.any():
            return None
        paired = {change} | (set() if (bases < 0).any() else _varying(source, bases, [base, change]))
        named = None if by is None or {change, change.removeprefix("attr.")} & set(by) else list(by)
        apart = ~changed if (bases < 0).any() else None
        return cls([base, change], frozenset(paired), apart, named, bases, changes, is_base)


def _varying(source: Source, bases: Array, used: Sequence[str]) -> set[str]:
    """The attributes that differ between versions of one base."""
    marked = [name for name in source.names if name.startswith("attr.")]
    others = [name for name in marked or source.names if name not in used and source.kind(name) in ("text", "boolean")]
    others = [name for name in others if name not in ("identity", "sample", "subject")]
    columns = source.read(others, [])
    return {name for name in others if not together(bases, codes_of(columns[name]))}


@dataclass(frozen=True)
class Decides:
    """For how many bases one change alone decides: some versions are right and others wrong."""

    change: str
    metric: str
    bases: int
    of: int

    def sentence(self) -> str:
        """The count in words.

        >>> Decides("skin_tone", "found", 14, 40).sentence()
        'found: for 14 of 40 bases skin_tone alone decides'
        """
        return f"{self.metric}: for {self.bases} of {self.of} bases {self.change} alone decides"


def twin_drafts(
    source: Source, twins: Twins, measured: Sequence[MeasuredMetric], order: Array, settings: AuditSettings
) -> tuple[list[Draft], list[Decides]]:
    """Every changed value against its base, by every metric; `order`: the rows of the table that metrics have."""
    versions = _Versions(source, twins, settings)
    drafts, decides = [], []

    def by_row(values: Array) -> Array:
        placed = np.full(len(twins.changes), np.nan)
        placed[order] = values
        return placed

    for each in measured:
        metric = PairedMetric.of(each, by_row)
        for thing in versions.things:
            compared = [*versions.values(thing), *versions.ends(thing)]
            own = [_draft(metric, thing, pair, versions.owners, settings) for pair in compared]
            for draft, pair in zip(own, compared, strict=True):
                earlier = own[next(place for place, other in enumerate(compared) if pair.same_as(other))]
                draft.repeats = None if earlier is draft else earlier
            drafts += own
            if each.column.kind == "rate" and each.kind == GROUP:
                decides.append(_decided(each.metric, metric.values, thing, versions))
    return drafts, decides


@dataclass(frozen=True)
class _Pair:
    """Two versions of some bases: rows of the second, rows of the first, and their bases."""

    group: str
    versus: str
    rows: Array
    against: Array
    bases: Array

    def same_as(self, other: _Pair) -> bool:
        """Whether the same rows are compared, whichever of the two comes first."""
        own, others = (np.sort([pair.rows, pair.against], axis=0) for pair in (self, other))
        return own.shape == others.shape and bool(
            np.array_equal(own[:, np.argsort(own[0])], others[:, np.argsort(others[0])])
        )


class _Versions:
    """The rows of every base, by what was changed and to which value."""

    def __init__(self, source: Source, twins: Twins, settings: AuditSettings) -> None:
        self.source, self.twins, self.settings = source, twins, settings
        mask = kept_rows(source, settings.conditions)
        self.use = np.ones(len(twins.changes), dtype=bool) if mask is None else mask
        subject = source.read(["subject"], [])["subject"] if "subject" in source.names else None
        self.keys = twins.bases if subject is None else combined(twins.bases, codes_of(subject))
        changed = [
            c for c, b, is_base in zip(twins.changes, twins.bases, twins.is_base, strict=True) if b >= 0 and not is_base
        ]
        self.things = [name for name in dict.fromkeys(changed) if twins.things is None or name in twins.things]
        self.owners = _owners(source, twins.bases, settings)
        self.home = np.full(int(self.keys.max(initial=-1)) + 1, -1)
        here = np.flatnonzero(twins.is_base & self.use)
        self.home[self.keys[here]] = here

    def _rows(self, thing: str) -> Array:
        """The rows in which one thing is changed, for the bases that exist."""
        changed = np.array([change == thing for change in self.twins.changes])
        rows = np.flatnonzero(changed & (self.twins.bases >= 0) & ~self.twins.is_base & self.use)
        return rows[self.home[self.keys[rows]] >= 0]

    def _labels(self, thing: str) -> list[str]:
        """The value of the changed thing in every row."""
        for name in (f"attr.{thing}", thing):
            if name in self.source.names:
                return [text_of(value) for value in self.source.read([name], [])[name].to_pylist()]
        return [thing] * len(self.twins.changes)

    def _measured(self, thing: str, values: Array) -> bool:
        """Whether the changed thing is a number that few bases share, such as an age."""
        name = f"attr.{thing}" if f"attr.{thing}" in self.source.names else thing
        if name not in self.source.names or self.source.kind(name) != "number":
            return False
        return min(Counter(values.tolist()).values(), default=FEWEST) < FEWEST

    def _ways(self, rows: Array, labels: Sequence[str]) -> tuple[Array, Array]:
        """The rows whose number is higher or lower than their base's, and which of the two."""
        numbers = np.array([_number(label) for label in labels])
        away = numbers[rows] - numbers[self.home[self.keys[rows]]]
        moved = away[np.abs(away) > 0]
        return rows[np.abs(away) > 0], np.where(moved > 0, HIGHER, LOWER).astype(object)

    def values(self, thing: str) -> Iterator[_Pair]:
        """Every value of the thing against the base."""
        rows, labels = self._rows(thing), self._labels(thing)
        own = np.array([labels[row] for row in rows], dtype=object)
        if self._measured(thing, own):
            rows, own = self._ways(rows, labels)
        present = list(dict.fromkeys(own.tolist()))
        order = order_of(thing, present, checked(self.settings.ordered))
        if order is None and len(present) > 1 and self._each_too_few(rows, own):
            own, present = np.full(len(rows), CHANGED, dtype=object), [CHANGED]
        for value in order or sorted(present):
            here = rows[own == value]
            yield _Pair(value, BASE, here, self.home[self.keys[here]], self.twins.bases[here])

    def _each_too_few(self, rows: Array, own: Array) -> bool:
        """Whether no single value has enough people for a test, but all values together have."""
        people = self.owners[rows]
        most = max(len(np.unique(people[own == value])) for value in set(own.tolist()))
        return most < self.settings.min_n <= len(np.unique(people))

    def ends(self, thing: str) -> Iterator[_Pair]:
        """For an ordered thing, the last version of each base against the first."""
        rows, labels = self._rows(thing), self._labels(thing)
        if not len(rows):
            return
        versions = np.concatenate([rows, np.unique(self.home[self.keys[rows]])]).astype(np.int64)
        order = _numbered(thing, list(dict.fromkeys(labels[row] for row in versions)), self.settings)
        if order is None:
            return
        place = np.array([order[labels[row]] for row in versions])
        sort = np.lexsort((place, self.keys[versions]))
        versions, place, keys = versions[sort], place[sort], self.keys[versions][sort]
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        ends = np.r_[starts[1:], len(keys)] - 1
        several = place[starts] < place[ends]
        first, last = versions[starts[several]], versions[ends[several]]
        if len(first):
            yield _Pair(LAST, FIRST, last, first, self.twins.bases[first])

    def families(self, thing: str) -> list[Array]:
        """All versions of each base by one thing, the base among them."""
        rows = self._rows(thing)
        keys = self.keys[rows]
        return [np.r_[self.home[key], rows[keys == key]] for key in np.unique(keys)]


def _owners(source: Source, bases: Array, settings: AuditSettings) -> Array:
    """The owner of each row: its person where each base has one person, else its base."""
    person = person_column(source.names)
    if settings.cluster != AUTO or person is None:
        return bases
    people = codes_of(source.read([person], [])[person])
    twin = bases >= 0
    if (people[twin] < 0).any() or not together(bases[twin], people[twin]):
        return bases
    return people


def _number(label: str) -> float:
    try:
        return plain_float(label)
    except ValueError:
        return math.nan


def _numbered(thing: str, labels: Sequence[str], settings: AuditSettings) -> dict[str, float] | None:
    """The place of every value of an ordered thing; numbers are ordered, yes comes after no."""
    try:
        return {label: float(label) for label in labels}
    except ValueError:
        order = order_of(thing, labels, checked(settings.ordered))
        return None if order is None or len(order) < len(labels) else {label: float(i) for i, label in enumerate(order)}


def _draft(metric: PairedMetric, thing: str, pair: _Pair, owners: Array, settings: AuditSettings) -> Draft:
    measured = metric.measured
    pairs, draft = metric.draft(
        pair.rows, pair.against, lambda rows, _: [owners[rows]], thing, (pair.group, pair.versus), settings
    )
    better = -1.0 if measured.judged.better == LOWER else 1.0
    values = draft.values
    there = ~np.isnan(metric.values[pair.rows]) & ~np.isnan(metric.values[pair.against])
    values |= {
        "kind": TWINS if measured.kind == GROUP else measured.kind,
        "lost": int((better * pairs.change < 0).sum()),
        "gained": int((better * pairs.change > 0).sum()),
        "bases": len(np.unique(pair.bases[there])),
    }
    if "p" in values and not math.isnan(values["p"]):
        rate = measured.column.kind == "rate"
        test = Test(
            values["test"], values["test_statistic"], values["p"], values["z"], values["df"], values["difference"]
        )
        draft.tests = {PEOPLE if rate else MEAN: test}  # McNemar's test is exact, for few bases too
        draft.small = bool(draft.untestable) and rate and pairs.units >= FEWEST
    values["small_group"] = draft.small
    return draft


def missing_versions(values: Mapping[str, Any]) -> MissingScores:
    """How many scores of one changed value are missing, from the comparison with its base."""
    return MissingScores(
        metric=values["metric"],
        attribute=values["attribute"],
        group=values["group"],
        n=values["n"],
        clusters=values["clusters"],
        missing=round(values["estimate"] * values["n"]),
        share=values["estimate"],
        low=values["low"],
        high=values["high"],
    )


def _decided(metric: str, values: Array, thing: str, versions: _Versions) -> Decides:
    families = [values[rows] for rows in versions.families(thing)]
    known = [own[~np.isnan(own)] for own in families]
    differ = sum(bool(len(own)) and bool(own.min() < own.max()) for own in known)
    return Decides(thing, metric, differ, len(known))
