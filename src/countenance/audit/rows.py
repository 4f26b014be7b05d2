"""The columns an audit asked for, as arrays: attributes coded, metrics as floats, units and pairs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from countenance.audit.attributes import Chosen, bare, choose, coded
from countenance.audit.codes import combined, size_of
from countenance.audit.layout import Column, pattern_of
from countenance.audit.settings import Settings
from countenance.audit.source import Source
from countenance.audit.table import Array, Attribute, attribute, metric
from countenance.audit.units import IMAGE, Units, columns_of, together, units
from countenance.errors import InputError

MOST_ORDERED = 500_000
"""Rows that are units by themselves are put into an order of their own up to so many; more are not shuffled."""


class AskedColumns:
    """The columns of a table that an audit needs, found by the names it was given."""

    def __init__(
        self, source: Source, by: Sequence[str] | None, metrics: Sequence[str] | None, settings: Settings
    ) -> None:
        self.metrics = _metrics(metrics, source)
        self.measured = [source.resolve(name, "m.", "metric") for name in self.metrics]
        denominators = dict(settings.denominators or {})
        self.masks = {name: source.resolve(column, "m.", "denominator") for name, column in denominators.items()}
        if stray := [name for name in self.masks if name not in self.metrics]:
            raise InputError(f"denominators: {stray[0]!r} is not one of the metrics ({', '.join(self.metrics)})")
        self.pairs = [source.resolve(name, "attr.", "pair column") for name in settings.pair_names]
        self.grouped = columns_of(settings.cluster, source.names, source.resolve)
        self.chosen: Chosen = choose(by, source, [*self.measured, *self.masks.values(), *self.pairs, *self.grouped])
        if both := {choice.column for choice in self.chosen.attributes} & set(self.measured):
            raise InputError(f"column {sorted(both)[0]!r} is named both as an attribute and as a metric")


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

    def __init__(self, table: Any, by: Sequence[str] | None, metrics: Sequence[str] | None, settings: Settings) -> None:
        import pyarrow as pa

        source = table if isinstance(table, Source) else Source(table)
        asked = AskedColumns(source, by, metrics, settings)
        self.metrics, self.chosen = asked.metrics, asked.chosen
        measured, masks, pairs, grouped = asked.measured, asked.masks, asked.pairs, asked.grouped
        attributes = [choice.column for choice in self.chosen.attributes]
        mask = kept_rows(source, settings.conditions)
        kept = None if mask is None else pa.array(mask)
        # A source that is kept and used again need not be coded again.
        keep = source.keep if table is source and kept is None else lambda key, make: make()
        read = source.read([*attributes, *pairs, *grouped], [*measured, *masks.values()])
        columns = read if kept is None else {name: column.filter(kept) for name, column in read.items()}
        self.attributes: list[Attribute] = [
            keep(("attribute", choice), lambda c=choice: coded(c, columns[c.column], settings.max_groups))
            for choice in self.chosen.attributes
        ]
        self.columns: list[Column] = []
        for name, column in zip(self.metrics, measured, strict=True):
            own = (name, column, masks.get(name), (settings.kinds or {}).get(name))
            self.columns.append(keep(("column", *own), lambda own=own: _column(columns, *own)))
        self._bounded = {name for name, told in (settings.kinds or {}).items() if told != "mean"}
        self._told = set(settings.kinds or {})
        self.total = self.size = len(self.columns[0].values)
        self.units: Units = keep(
            ("units", tuple(grouped)), lambda: units([(name, columns[name]) for name in grouped], settings.cluster)
        )
        self.pairs: Array | None = _pairs([columns[name] for name in pairs]) if pairs else None
        self.order: Array = np.arange(self.total)
        """The place that each row has in the table."""
        self.shared_scenes = self._shared_scenes(source, settings, kept) if settings.adjust == "minp" else ""
        """Why labels must not be shuffled between people; empty where they may."""
        if len(self.units.codes) < 2:
            self._arrange(settings.comparison == "spread" or settings.adjust == "minp", keep, tuple(grouped))

    def _shared_scenes(self, source: Source, settings: Settings, kept: Any) -> str:
        """Where one column was named although images cross it: an attribute of the image is shared by people."""
        if settings.cluster in (None, "auto") or len(self.units.codes) != 1 or IMAGE not in source.names:
            return ""
        if IMAGE in self.units.ways:
            return ""
        column = source.read([IMAGE], [])[IMAGE]
        images = units([(IMAGE, column if kept is None else column.filter(kept))], settings.cluster)
        if not images.codes or together(images.codes[0], self.units.codes[0]):
            return ""
        for one in self.attributes:
            if one.rows is None and together(images.codes[0], one.codes):
                return f"{one.name} is an attribute of images that several {self.units.nouns[1]} share"
        return ""

    @cached_property
    def bounded(self) -> list[bool]:
        """For each metric, whether it is a rate or has values between 0 and 1 only."""
        return [
            column.name in self._bounded if column.name in self._told else column.kind == "rate" or _within(column)
            for column in self.columns
        ]

    def _arrange(self, shuffled: bool, keep: Callable[[Any, Callable[[], Any]], Any], grouped: tuple[str, ...]) -> None:
        """Put the rows of a unit side by side: sums over clusters then walk through memory in order.

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
            self.units = Units((codes[order],), self.units.ways, self.units.asked)
        self.columns = [Column(c.name, c.kind, c.values[order], c.centre) for c in self.columns]
        self.pairs = None if self.pairs is None else self.pairs[order]
        self.attributes = [_reordered(one, order, place) for one in self.attributes]

    def _marks(self) -> Array:
        """A number for each row that depends on its groups and values alone."""
        patterns = [pattern_of(one, self.total) for one in self.attributes]
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


def kept_rows(source: Source, conditions: Mapping[str, Sequence[str]]) -> Array | None:
    """Which rows have one of the values named in every column named; None: all.

    >>> kept_rows(Source({"change": ["none", "mask", "hat"]}), {"change": ["none", "hat"]}).tolist()
    [True, False, True]
    """
    keep: Array | None = None
    for name, values in conditions.items():
        column = source.resolve(name, "attr.", "attribute")
        read = source.read([column], [])[column]
        one = attribute(bare(name), read, sys.maxsize, numeric=sys.maxsize)
        if absent := [value for value in values if value not in one.levels]:
            some = ", ".join(one.levels[:12]) + (" …" if len(one.levels) > 12 else "")
            raise InputError(f"{source.label}: where: no row has {name} = {absent[0]}; there are {some}")
        rows = np.isin(one.codes, [one.levels.index(value) for value in values])
        if one.rows is not None:
            rows = np.bincount(one.rows[rows], minlength=len(read)) > 0
        keep = rows if keep is None else keep & rows
    if keep is not None and not keep.any():
        raise nothing_kept(source, conditions)
    return keep


def nothing_kept(source: Source, conditions: Mapping[str, Sequence[str]]) -> InputError:
    """The error that no row fulfils all conditions."""
    told = " and ".join(f"{name} = {' or '.join(values)}" for name, values in conditions.items())
    return InputError(f"{source.label}: where: no row has {told}")


def depth_of(settings: Settings, by: Sequence[str] | None, chosen: Chosen) -> int:
    """How many attributes are crossed at most."""
    if settings.comparison == "paired":
        return 1
    if settings.depth is None and (by is None or chosen.crosses):
        return 1  # nobody asked for intersections, or those that matter were named
    return 2 if settings.depth is None else settings.depth


def _reordered(one: Attribute, order: Array, place: Array) -> Attribute:
    if one.rows is None:
        return replace(one, codes=one.codes[order])
    rows = place[one.rows]
    sort = np.argsort(rows, kind="stable")
    return replace(one, codes=one.codes[sort], rows=rows[sort])


def _metrics(metrics: Sequence[str] | None, source: Source) -> list[str]:
    if metrics is None:
        marked = [name.removeprefix("m.") for name in source.names if name.startswith("m.")]
        if not marked:
            raise InputError(f"{source.label}: name the metrics to compare (metrics= or --metric)")
        return marked
    listed = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not listed:
        raise InputError("metrics: nothing named, expected at least one column")
    return listed


def _column(columns: Mapping[str, Any], name: str, column: str, mask: str | None, told: str | None) -> Column:
    """A metric as sums need it, NaN outside its denominator."""
    values, kind = metric(name, columns[column])
    if mask is not None:
        values = np.where(_mask(mask, columns[mask]), values, np.nan)
    kind = told or kind
    return Column.of(name, "mean" if kind == "bounded" else kind, values)


def _mask(name: str, column: Any) -> Array:
    values, kind = metric(name, column)
    if kind != "rate":
        raise InputError(f"denominator {name!r}: expected true/false or 0/1")
    found: Array = values == 1
    return found


def _within(column: Column) -> bool:
    if column.shape is not None:
        return column.shape.lowest >= -1e-12 and column.shape.highest <= 1 + 1e-12
    known = column.values[~np.isnan(column.values)] + column.centre
    return bool(len(known)) and bool(known.min() >= -1e-12) and bool(known.max() <= 1 + 1e-12)


def _pairs(columns: list[Any]) -> Array:
    """One code per combination of values; -1 where any is null."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    known = np.ones(len(codes), dtype=bool)
    for column in columns:
        own = np.asarray(column.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
        known &= own >= 0
        codes = combined(codes, own)
    return np.where(known, codes, -1)
