"""Pairs the rows that all entries have, by their keys, which must be unique; notes name what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countenance.auditing.attributes import Choice, bare, coded
from countenance.auditing.conditions import kept_rows
from countenance.auditing.source import Source
from countenance.auditing.table import Array, Attribute, metric, text_of
from countenance.auditing.units import columns_of
from countenance.comparing.entries import ComparedModel, common_metrics, key_columns
from countenance.comparing.result import Absent
from countenance.decoding import first_line
from countenance.errors import InputError
from countenance.run.auditing import metrics_of

MOST_NAMED, MOST_LEVELS = 100, 100_000


@dataclass(frozen=True)
class Paired:
    """The rows that all entries have.

    `table` has the first entry's columns (groups, people, images) without metrics; `scores[metric]` has a column for
    each entry, NaN where its metric is null.
    """

    table: Any
    keys: list[str]
    metrics: list[str]
    scores: dict[str, Array]
    kinds: dict[str, str]
    missing: dict[str, Array] = field(default_factory=dict)
    """By metric, where an entry has no score although it should, a column for each entry."""
    every: dict[str, Array] = field(default_factory=dict)
    """Where `scores` has only the rows that all entries have: the scores with the rows that only some entries have."""
    unpaired: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    alone: list[Array] = field(default_factory=list)
    """For each entry, its requested rows that have no partner."""

    @property
    def rows(self) -> int:
        """How many rows all entries have."""
        return int(self.table.num_rows)

    def assessable(self) -> Paired:
        """The same without metrics that no row has in all entries, which a note names; unchanged if none would be left.

        Detectors that judge no masks, and photographs without any, have no rate of masks.
        """
        known = [name for name in self.metrics if (~np.isnan(self.scores[name])).all(axis=1).any()]
        others = [name for name in self.metrics if name not in known]
        if not known or not others:
            return self
        note = f"{', '.join(others)}: no row has a value in all models; not compared"
        scores = {name: values for name, values in self.scores.items() if name in known}
        missing = {name: values for name, values in self.missing.items() if name in known}
        return replace(self, metrics=known, scores=scores, missing=missing, notes=[*self.notes, note])


def pair_entries(
    entries: Sequence[ComparedModel],
    *,
    by: Sequence[str] | None,
    metrics: Sequence[str] | None,
    pair: str | Sequence[str] | None,
    cluster: Any,
    where: dict[str, list[str]],
) -> Paired:
    """Put the rows of the entries side by side."""
    import pyarrow as pa

    measured = common_metrics(entries, metrics)
    keys = key_columns(entries, pair)
    columns = [_key_texts(entry, keys) for entry in entries]
    codes = _codes(columns)
    for entry, own, texts in zip(entries, codes, columns, strict=True):
        _refuse_twice(entry, own, keys, texts)
    shared, places = _places(codes, [_failed_keys(entry, keys, codes, columns, entries) for entry in entries])
    unpaired = [
        _left_over(entry, own, shared, keys, texts, entries)
        for entry, own, texts in zip(entries, codes, columns, strict=True)
    ]
    if not len(shared):
        raise InputError(
            f"{entries[0].name} and {entries[1].name} share no row by {' and '.join(keys)} (first: "
            f"{_key_name(columns[0], 0) if len(codes[0]) else 'no rows'} against "
            f"{_key_name(columns[1], 0) if len(codes[1]) else 'no rows'}); check pair="
        )
    named = {*_named(by), *keys, *where}
    if cluster not in (None, "auto"):
        named |= {cluster} if isinstance(cluster, str) else set(cluster)
    table = _columns(entries, places, measured, named)
    scores, kinds, missing = {}, {}, {}
    for name in measured:
        values, own_kinds = zip(*(_scores(entry.source, name) for entry in entries), strict=True)
        scores[name] = np.stack([_taken(own, place) for own, place in zip(values, places, strict=True)], axis=1)
        kinds[name] = "rate" if set(own_kinds) == {"rate"} else "mean"
        lacking = [_lacking(entry, name, place, scores[name]) for entry, place in zip(entries, places, strict=True)]
        missing[name] = np.isnan(scores[name]) & np.stack(lacking, axis=1)
    table, notes = _agreed(table, entries, places, by, named, columns_of(cluster, table.column_names, _resolver(table)))
    mask = kept_rows(Source(table, label=entries[0].source.label), where)
    about = np.logical_or.reduce([(~np.isnan(scores[name]) | missing[name]).any(axis=1) for name in measured])
    mask = about if mask is None else mask & about  # leave out rows that have no value of these metrics
    if not mask.all():
        table = table.filter(pa.array(mask))
        scores = {name: values[mask] for name, values in scores.items()}
        missing = {name: values[mask] for name, values in missing.items()}
    alone = [_alone(entry.source, own, shared, where) for entry, own in zip(entries, codes, strict=True)]
    return Paired(table, keys, measured, scores, kinds, missing, {}, unpaired, notes, alone)


def _failed_keys(
    entry: ComparedModel,
    keys: Sequence[str],
    codes: Sequence[Array],
    columns: Sequence[Sequence[Any]],
    entries: Sequence[ComparedModel],
) -> set[int]:
    """The keys of other entries' rows whose image failed in this entry: it lacks a score that it should have."""
    if not entry.failed or "sample" not in keys:
        return set()
    place = list(keys).index("sample")
    return {
        int(code)
        for other, own, texts in zip(entries, codes, columns, strict=True)
        if other is not entry
        for code, sample in zip(own, texts[place].to_pylist(), strict=True)
        if sample in entry.failed
    }


def _columns(
    entries: Sequence[ComparedModel], places: Sequence[Array], measured: Sequence[str], named: set[str]
) -> Any:
    """Groups, people and images of the shared rows: of the first entry that has the row."""
    import pyarrow as pa

    left, parts, order = np.ones(len(places[0]), dtype=bool), [], []
    for entry, place in zip(entries, places, strict=True):
        here = np.flatnonzero(left & (place >= 0))
        left[here] = False
        if len(here):
            columns = _others(entry.source, measured, named)
            parts.append(pa.table({name: column.take(pa.array(place[here])) for name, column in columns.items()}))
            order.append(here)
    if len(parts) == 1:
        return parts[0]
    shared = [name for name in parts[0].column_names if all(name in part.column_names for part in parts)]
    try:
        together = pa.concat_tables([part.select(shared) for part in parts], promote_options="permissive")
    except pa.ArrowException as error:
        labels = ", ".join(entry.source.label for entry in entries)
        raise InputError(f"{labels}: their columns do not fit together ({first_line(error)})") from None
    return together.take(pa.array(np.argsort(np.concatenate(order)))).combine_chunks()


def _taken(values: Array, place: Array) -> Array:
    """The values at some places; NaN for places of -1."""
    return np.where(place >= 0, values[place], np.nan) if len(values) else np.full(len(place), np.nan)


def _lacking(entry: ComparedModel, metric: str, place: Array, scores: Array) -> Array:
    """Where an absent score counts as missing: a failed image or no answer; in a table, where any entry has a score."""
    if entry.run is None:
        return np.asarray(~np.isnan(scores).all(axis=1))
    known = next((direction for direction in metrics_of(entry.run) if direction.name == metric), None)
    if known is None or known.answered is None:
        return place < 0
    if known.answered == metric:
        return np.ones(len(place), dtype=bool)
    return np.asarray((place < 0) | (_taken(_scores(entry.source, known.answered)[0], place) == 0))


def _alone(source: Source, codes: Array, shared: Array, where: dict[str, list[str]]) -> Array:
    """The rows of an entry without a partner, after the filter `where`."""
    alone = ~np.isin(codes, shared)
    if where and alone.any():
        try:
            mask = kept_rows(source, where)
        except InputError:  # this entry lacks the column or such rows
            return np.zeros(0, dtype=np.int64)
        alone = alone if mask is None else alone & mask
    return np.flatnonzero(alone)


def absent_groups(
    entries: Sequence[ComparedModel], paired: Paired, known: Sequence[tuple[Choice, Attribute]]
) -> list[Absent]:
    """The groups that only rows without a partner have, about which nothing can be concluded.

    `known` are the attributes that are compared, with the groups of the paired rows.
    """
    import pyarrow as pa

    absent: list[Absent] = []
    for entry, alone in zip(entries, paired.alone, strict=True):
        for choice, attribute in known:
            if not len(alone) or choice.quantiles or choice.column not in entry.source.names:
                continue
            columns = ([], [choice.column]) if choice.cuts else ([choice.column], [])
            column = entry.source.read(*columns)[choice.column].take(pa.array(alone))
            own = coded(choice, column, MOST_LEVELS)
            counts = np.bincount(own.codes[own.codes >= 0], minlength=len(own.levels))
            absent += [
                Absent(attribute=choice.name, group=level, rows=int(count), model=entry.name)
                for level, count in zip(own.levels, counts, strict=True)
                if count and level not in attribute.levels
            ]
    return absent


def _resolver(table: Any) -> Any:
    return Source(table).resolve


def _named(by: Sequence[str] | None) -> set[str]:
    """The columns that `by` may name: with bins and intersections taken apart."""
    names: set[str] = set()
    for text in by or ():
        names |= {text, *(part.strip() for part in text.split("*"))}
        names |= {part.strip().rpartition(":")[0] for part in text.split("*")}
    return names - {""}


def _key_texts(entry: ComparedModel, keys: Sequence[str]) -> list[Any]:
    """The key columns as texts; null is an empty text."""
    import pyarrow as pa

    names = [entry.source.resolve(name, "attr.", "pair column") for name in keys]
    texts = []
    for name, column in entry.source.read(names, []).items():
        if pa.types.is_nested(column.type):
            raise InputError(f"{entry.source.label}: pair column {name!r} holds lists, expected texts or numbers")
        if pa.types.is_floating(column.type):
            column = pa.array([None if value is None else text_of(value) for value in column.to_pylist()], pa.string())
        texts.append(column.cast(pa.large_string()).fill_null(""))
    return texts


def _codes(columns: Sequence[Sequence[Any]]) -> list[Array]:
    """One number for each combination of texts, the same in all entries."""
    import pyarrow as pa

    sizes = [len(texts[0]) for texts in columns]
    codes = np.zeros(sum(sizes), dtype=np.int64)
    for i in range(len(columns[0])):
        both = pa.concat_arrays([texts[i] for texts in columns]).dictionary_encode()
        own = np.asarray(both.indices).astype(np.int64)
        codes = np.unique(codes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    return list(np.split(codes, np.cumsum(sizes)[:-1]))


def _key_name(texts: Sequence[Any], row: int) -> str:
    return " · ".join(str(text[row].as_py()) or "(empty)" for text in texts)


def _refuse_twice(entry: ComparedModel, codes: Array, keys: Sequence[str], texts: Sequence[Any]) -> None:
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(np.diff(codes[order]) == 0)
    if not len(again):
        return
    rows = min((int(order[i]), int(order[i + 1])) for i in again)
    key = ", ".join(f"{name} = {text[rows[0]].as_py()!r}" for name, text in zip(keys, texts, strict=True))
    count = len(np.unique(codes[order][again]))
    more = f" ({count} such keys)" if count > 1 else ""
    raise InputError(
        f"{entry.source.label}: rows {rows[0] + 1} and {rows[1] + 1} have the same key ({key}){more}; name more "
        "columns with pair= so that each key occurs once"
    )


def _places(codes: Sequence[Array], failed: Sequence[set[int]]) -> tuple[Array, list[Array]]:
    """The keys that all entries have or failed on, in the first entry's order, and the row of each in every entry.

    -1 if the entry failed on it.
    """
    size = max((int(own.max(initial=-1)) for own in codes), default=-1) + 1
    where = []
    for own in codes:
        place = np.full(size, -1)
        place[own] = np.arange(len(own))
        where.append(place)
    inside = np.ones(size, dtype=bool)
    for place, of_entry in zip(where, failed, strict=True):
        lost = np.zeros(size, dtype=bool)
        lost[list(of_entry)] = True
        inside &= (place >= 0) | lost
    ordered = np.concatenate([codes[0], *(np.setdiff1d(own, codes[0]) for own in codes[1:])])
    shared = ordered[inside[ordered]]
    shared = shared[np.sort(np.unique(shared, return_index=True)[1])]
    return shared, [place[shared] for place in where]


def _left_over(
    entry: ComparedModel,
    codes: Array,
    shared: Array,
    keys: Sequence[str],
    texts: Sequence[Any],
    entries: Sequence[ComparedModel],
) -> dict[str, Any]:
    """Counts of an entry's rows: paired, unpaired (with the first keys), and those on which another entry failed."""
    alone = np.flatnonzero(~np.isin(codes, shared))
    failed: set[str] = set().union(*(other.failed for other in entries if other is not entry))
    lost = 0
    if failed and "sample" in keys:
        lost = sum(sample in failed for sample in texts[list(keys).index("sample")].to_pylist())
    return {
        "name": entry.name,
        "rows": len(codes),
        "paired": len(shared),
        "unpaired": len(alone),
        "failed_elsewhere": lost,
        "keys": [_key_name(texts, int(row)) for row in alone[:MOST_NAMED]],
    }


def _others(source: Source, metrics: Sequence[str], named: set[str]) -> dict[str, Any]:
    """All columns that are not compared; named columns keep their texts as written."""
    measured = {source.resolve(name, "m.", "metric") for name in metrics}
    names = [name for name in dict.fromkeys(source.names) if name not in measured and not name.startswith("m.")]
    names = [name for name in names if source.names.count(name) == 1]
    texts = [name for name in names if bare(name) in named or name in named or source.kind(name) == "text"]
    return source.read(texts, [name for name in names if name not in texts])


def _scores(source: Source, name: str) -> tuple[Array, str]:
    column = source.resolve(name, "m.", "metric")
    return metric(name, source.read([], [column])[column])


def _agreed(
    table: Any,
    entries: Sequence[ComparedModel],
    places: Sequence[Array],
    by: Sequence[str] | None,
    named: set[str],
    clusters: Sequence[str],
) -> tuple[Any, list[str]]:
    """The table without columns that differ between entries, and notes on named ones, where the first entry's are used.

    A column that differs describes what a model did, not who is in the picture.
    """
    import pyarrow as pa

    notes, drop = [], []
    for name in table.column_names:
        is_named = name in named or bare(name) in named or name in clusters
        if not is_named and by is not None:
            continue
        mine = table.column(name).combine_chunks()
        for entry, place in zip(entries[1:], places[1:], strict=True):
            if name not in entry.source.names:
                continue
            texts = [name] if entries[0].source.kind(name) == "text" or is_named else []
            here = np.flatnonzero(place >= 0)  # failed rows have no value that could differ
            theirs = entry.source.read(texts, [] if texts else [name])[name].take(pa.array(place[here]))
            differ = _differ(mine.take(pa.array(here)), theirs)
            if not differ:
                continue
            if not is_named:
                drop.append(name)
                break
            word = "1 row has" if differ == 1 else f"{differ:,} rows have"
            notes.append(f"{word} another {bare(name)} in {entry.name} than in {entries[0].name}; the latter is used")
    return table.drop_columns(list(dict.fromkeys(drop))), notes


def _differ(first: Any, second: Any) -> int:
    """How many values of two columns differ; empty and null are alike."""
    if first.type == second.type and first.equals(second):
        return 0
    pairs = zip(first.to_pylist(), second.to_pylist(), strict=True)
    return sum(a != b and not (a in (None, "") and b in (None, "")) for a, b in pairs)
