"""The columns that an audit needs, as arrays: attributes coded, metrics as floats, units and pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from countenance.auditing import detection
from countenance.auditing.attributes import Chosen, choose, coded
from countenance.auditing.codes import combined, size_of
from countenance.auditing.conditions import kept_rows
from countenance.auditing.far_ends import CHANGE, SHARE, Ends
from countenance.auditing.layout import Column, pattern_of
from countenance.auditing.settings import AuditSettings
from countenance.auditing.source import Source
from countenance.auditing.table import Array, Attribute, metric
from countenance.auditing.units import AUTO, IMAGE, NO_PERSON, Units, codes_of, columns_of, together, units
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.auditing.twins import Twins

MOST_ORDERED = 500_000
"""Up to this many rows that are their own units are sorted; more are not shuffled."""


class QuestionColumns:
    """The columns of a table that an audit needs, found by the names that the user gave."""

    def __init__(
        self,
        source: Source,
        by: Sequence[str] | None,
        metrics: Sequence[str] | None,
        settings: AuditSettings,
        twins: Twins | None = None,
    ) -> None:
        self.metrics = metrics_named(metrics, source)
        self.measured = [source.resolve(name, "m.", "metric") for name in self.metrics]
        self.masks = self._by_metric(source, settings.denominators, "denominator")
        self.answered = self._by_metric(source, settings.answered, "answered")
        self.filled = self._by_metric(source, settings.filled, "filled")
        self.pairs = [source.resolve(name, "attr.", "pair column") for name in settings.pair_names]
        self.twins = [] if twins is None else twins.columns
        self.grouped = _clusters(settings, source, [*self.measured, *_columns_named(by)])
        self.chosen: Chosen = choose(by, source, self.taken, () if twins is None else twins.paired)
        if both := {choice.column for choice in self.chosen.attributes} & set(self.measured):
            raise InputError(f"column {sorted(both)[0]!r} is named both as an attribute and as a metric")
        notes = {choice.column: source.note_of(choice.column) for choice in self.chosen.attributes}
        self.column_notes = {name: note for name, note in notes.items() if note}

    @property
    def taken(self) -> list[str]:
        """Columns with a role other than that of an attribute."""
        return [*self.measured, *self.flags, *self.twins, *self.pairs, *self.grouped]

    @property
    def flags(self) -> list[str]:
        """Columns that qualify the metrics: denominators, answers, values with missing as wrong."""
        named = (*self.masks.values(), *self.answered.values(), *self.filled.values())
        return [column for column in named if column]

    def candidates(self, source: Source, settings: AuditSettings) -> list[str]:
        """Columns that may identify people although no option names them; empty where a column of people is known."""
        if settings.cluster != AUTO or any(name != IMAGE for name in self.grouped):
            return []
        compared = [choice.column for choice in self.chosen.attributes]
        return list(detection.candidates(source, [*self.taken, *compared]))

    def _by_metric(self, source: Source, columns: Mapping[str, str] | None, what: str) -> dict[str, str]:
        if stray := [name for name in columns or {} if name not in self.metrics]:
            raise InputError(f"{what}: {stray[0]!r} is not one of the metrics ({', '.join(self.metrics)})")
        return {name: source.resolve(column, "m.", what) if column else "" for name, column in (columns or {}).items()}


def _columns_named(by: Sequence[str] | None) -> list[str]:
    """The columns that `by` may mean, with intersections and bins split up."""
    parts = [part.strip() for text in by or () for part in (text, *text.split("*"))]
    return [name for part in parts for name in (part, f"attr.{part}", part.rpartition(":")[0]) if name]


def _clusters(settings: AuditSettings, source: Source, used: Sequence[str]) -> list[str]:
    """The columns that say what is independent, without columns that only say whether there is a person."""
    if settings.cluster != AUTO:
        return columns_of(settings.cluster, source.names, source.resolve)
    free = [name for name in source.names if name not in used]
    columns = columns_of(AUTO, free, source.resolve)
    return [name for name in columns if name == IMAGE or not _whether(source, name)]


def _whether(source: Source, name: str) -> bool:
    if name == "identity" or source.kind(name) == "number":
        return False
    return source.kind(name) == "boolean" or {value.casefold() for value in source.values(name)} <= NO_PERSON


class Rows:
    """A table as arrays. Rows of one unit stand side by side where there is one way of clustering.

    `total` is the number of rows, `size` that of the arrays' elements: fewer where each stands for many rows.
    """

    weights: Array | None = None
    """How many rows each element stands for; None: one."""
    ranked: Mapping[tuple[str, frozenset[int]], Column]
    """Where elements stand for many rows: ranks by metric, and by which attributes must be known."""
    unknown: frozenset[int] = frozenset()
    """Where elements stand for many rows: the attributes with unknown values."""
    column_notes: Mapping[str, str]
    """By column of an attribute, a note on its origin, such as that a discovered slice is known for only some
    people."""

    def __init__(
        self,
        table: Any,
        by: Sequence[str] | None,
        metrics: Sequence[str] | None,
        settings: AuditSettings,
        twins: Twins | None = None,
    ) -> None:
        import pyarrow as pa

        source = table if isinstance(table, Source) else Source(table)
        question = QuestionColumns(source, by, metrics, settings, twins)
        self.metrics, self.chosen = question.metrics, question.chosen
        self.column_notes = question.column_notes
        pairs, grouped = question.pairs, list(question.grouped)
        attributes = [choice.column for choice in self.chosen.attributes]
        mask = kept_rows(source, settings.conditions)
        if twins is not None and twins.apart is not None:
            mask = twins.apart if mask is None else mask & twins.apart
        mask_column = None if mask is None else pa.array(mask)
        self.source, self._mask = source, mask_column
        # The codes of a source that is used again are cached.
        keep = source.keep if table is source and mask_column is None else lambda key, make: make()
        candidates = question.candidates(source, settings)
        texts = [*attributes, *pairs, *grouped, *candidates]
        read = source.read(texts, [*question.measured, *question.flags])
        columns = read if mask_column is None else {name: column.filter(mask_column) for name, column in read.items()}
        self.attributes: list[Attribute] = [
            keep(("attribute", choice), lambda c=choice: coded(c, columns[c.column], settings.max_groups))
            for choice in self.chosen.attributes
        ]
        self.columns: list[Column] = []
        for name in self.metrics:
            own = _MetricColumns.of(name, question, settings)
            self.columns.append(keep(("column", own), lambda own=own: own.column(columns)))
        self._stated_kinds = dict(settings.kinds or {})
        self.filled = {name: metric(name, columns[column])[0] for name, column in question.filled.items()}
        self.total = self.size = len(self.columns[0].values)
        alike = detection.alike({name: codes_of(columns[name]) for name in candidates}, self.columns, self.attributes)
        grouped = [*(unit.column for unit in alike[:2]), *grouped]
        reason = "; ".join(unit.sentence() for unit in alike[:2])
        self.units: Units = keep(
            ("units", tuple(grouped)),
            lambda: units([(name, columns[name]) for name in grouped], settings.cluster, reason),
        )
        self.pairs: Array | None = pair_codes([columns[name] for name in pairs]) if pairs else None
        self.order: Array = np.arange(self.total)
        """The place that each row has in the table."""
        self.shared_scenes = self._shared_scenes(source, settings, mask_column) if settings.adjust == "minp" else ""
        """Why labels must not be shuffled between people; empty where they may."""
        if len(self.units.codes) < 2:
            self._arrange(settings.comparison == "spread" or settings.adjust == "minp", keep, tuple(grouped))

    def _shared_scenes(self, source: Source, settings: AuditSettings, mask: Any) -> str:
        """A note where one column was named although images cross it: people then share an attribute of the image."""
        if settings.cluster in (None, "auto") or len(self.units.codes) != 1 or IMAGE not in source.names:
            return ""
        if IMAGE in self.units.ways:
            return ""
        column = source.read([IMAGE], [])[IMAGE]
        images = units([(IMAGE, column if mask is None else column.filter(mask))], settings.cluster)
        if not images.codes or together(images.codes[0], self.units.codes[0]):
            return ""
        for attribute in self.attributes:
            if attribute.rows is None and together(images.codes[0], attribute.codes):
                return f"{attribute.name} is an attribute of images that several {self.units.nouns[1]} share"
        return ""

    def further(self, names: Sequence[str]) -> dict[str, Any]:
        """Other columns of the table: the same rows in the same order."""
        import pyarrow as pa

        texts = [name for name in names if self.source.kind(name) == "text"]
        read = self.source.read(texts, [name for name in names if name not in texts])
        order = pa.array(self.order)
        return {
            name: (column if self._mask is None else column.filter(self._mask)).take(order)
            for name, column in read.items()
        }

    @cached_property
    def ends(self) -> list[Ends | None]:
        """For each metric, the ends between which it lies: of rates, of values from 0 to 1, and of changes of these."""
        return [self._ends(column) for column in self.columns]

    def _ends(self, column: Column) -> Ends | None:
        if column.name in self._stated_kinds:
            return None if self._stated_kinds[column.name] == "mean" else CHANGE
        return SHARE if column.kind == "rate" or _within(column) else None

    def _arrange(self, shuffled: bool, keep: Callable[[Any, Callable[[], Any]], Any], grouped: tuple[str, ...]) -> None:
        """Sort the rows of a unit side by side, so that sums over clusters read memory in order.

        Where labels will be shuffled, units (and their rows) stand in an order that their content alone gives, so
        that the order of the rows in the table does not matter.
        """
        codes = self.units.codes[0] if self.units.codes else None
        if shuffled and (codes is not None or self.total <= MOST_ORDERED):
            marks = self._marks()
            if codes is None:
                order = np.argsort(marks, kind="stable")
            else:
                sums = np.zeros(size_of(codes), dtype=np.uint64)
                np.add.at(sums, codes, marks)
                rank = np.empty(len(sums), dtype=np.int64)
                rank[np.argsort(sums, kind="stable")] = np.arange(len(sums))
                codes = rank[codes]
                order = np.lexsort((marks, codes))
        elif codes is None or (np.diff(codes) >= 0).all():
            return
        else:
            order = keep(("order", grouped), lambda: np.argsort(codes, kind="stable"))
        place = np.empty(self.total, dtype=np.int64)
        place[order] = np.arange(self.total)
        self.order = order
        if codes is not None:
            self.units = replace(self.units, codes=(codes[order],), layouts=[])
        self.columns = [column.reordered(order) for column in self.columns]
        self.filled = {name: values[order] for name, values in self.filled.items()}
        self.pairs = None if self.pairs is None else self.pairs[order]
        self.attributes = [_reordered(attribute, order, place) for attribute in self.attributes]

    def _marks(self) -> Array:
        """A number for each row that depends on its groups and values alone."""
        patterns = [pattern_of(attribute, self.total) for attribute in self.attributes]
        return row_marks(patterns, [column.values + column.centre for column in self.columns])


def row_marks(patterns: Sequence[Array], metrics: Sequence[Array]) -> Array:
    """A number for each row that depends on its groups and on the values of its metrics alone."""
    parts = [np.asarray(pattern).astype(np.int64).view(np.uint64) for pattern in patterns]
    for metric_values in metrics:
        values = np.round(metric_values, 12) + 0.0  # no negative zero
        parts.append(np.where(np.isnan(values), np.nan, values).view(np.uint64))
    marks = np.zeros(len(parts[0]) if parts else 0, dtype=np.uint64)
    for part in parts:  # a step of the generator splitmix64
        marks = (marks ^ part) + np.uint64(0x9E3779B97F4A7C15)
        marks = (marks ^ (marks >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        marks = (marks ^ (marks >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        marks ^= marks >> np.uint64(31)
    return marks


def depth_of(settings: AuditSettings, by: Sequence[str] | None, chosen: Chosen) -> int:
    """How many attributes are crossed at most."""
    if settings.comparison == "paired":
        return 1
    if settings.depth is None and (by is None or chosen.crosses):
        return 1  # no intersections by default, nor where `by` names some
    return 2 if settings.depth is None else settings.depth


def _reordered(attribute: Attribute, order: Array, place: Array) -> Attribute:
    if attribute.rows is None:
        return replace(attribute, codes=attribute.codes[order])
    rows = place[attribute.rows]
    sort = np.argsort(rows, kind="stable")
    return replace(attribute, codes=attribute.codes[sort], rows=rows[sort])


def metrics_named(metrics: Sequence[str] | None, source: Source) -> list[str]:
    if metrics is None:
        marked = [name.removeprefix("m.") for name in source.names if name.startswith("m.")]
        if not marked:
            raise InputError(f"{source.label}: name the metrics to compare (metrics=)")
        return marked
    listed = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not listed:
        raise InputError("metrics: nothing named, expected at least one column")
    return listed


@dataclass(frozen=True)
class _MetricColumns:
    """A metric's columns: its values, its denominator, and whether the model answered."""

    name: str
    values: str
    mask: str | None
    answered: str | None
    stated_kind: str | None

    @classmethod
    def of(cls, name: str, question: QuestionColumns, settings: AuditSettings) -> _MetricColumns:
        values = question.measured[question.metrics.index(name)]
        stated_kind = (settings.kinds or {}).get(name)
        return cls(name, values, question.masks.get(name), question.answered.get(name), stated_kind)

    def column(self, columns: Mapping[str, Any]) -> Column:
        """The metric as sums need it, NaN outside its denominator and where it is missing."""
        values, kind = metric(self.name, columns[self.values])
        absent = np.isnan(values)
        if self.mask is not None:
            inside = _flag(self.mask, columns[self.mask], 1.0)
            values, absent = np.where(inside, values, np.nan), absent & inside
        if self.answered is not None:
            absent = absent & _flag(self.answered, columns[self.answered], 0.0) if self.answered else np.zeros(1, bool)
        kind = self.stated_kind or kind
        return Column.of(
            self.name, "mean" if kind == "bounded" else kind, values, None if self.stated_kind is not None else absent
        )


def _flag(name: str, column: Any, level: float) -> Array:
    """Which rows of a column of true/false or 0/1 have one of the two values."""
    values, kind = metric(name, column)
    if kind != "rate":
        raise InputError(f"column {name!r}: expected true/false or 0/1")
    return np.asarray(values == level)


def _within(column: Column) -> bool:
    if column.shape is not None:
        return column.shape.lowest >= -1e-12 and column.shape.highest <= 1 + 1e-12
    known = column.values[~np.isnan(column.values)] + column.centre
    return bool(len(known)) and bool(known.min() >= -1e-12) and bool(known.max() <= 1 + 1e-12)


def pair_codes(columns: list[Any]) -> Array:
    """One code per combination of values; -1 where any is null."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    known = np.ones(len(codes), dtype=bool)
    for column in columns:
        own = np.asarray(column.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
        known &= own >= 0
        codes = combined(codes, own)
    return np.where(known, codes, -1)
