"""Sums in place of a table too large for memory: one element for each unit and combination of groups, by duckdb.

Everything an audit works out comes from sums over clusters and groups, so rows of one unit in the same groups may be
added up before they are read. Where every row is a unit, one element for each combination of groups is enough. Ranks
are sums too, once every value has its rank. The numbers are those of `Rows`: the same where sums are exact (rates),
equal up to rounding where they are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.auditing import minp
from countenance.auditing.codes import size_of
from countenance.auditing.database import Database, has_duckdb
from countenance.auditing.groups import subsets
from countenance.auditing.large_columns import CannotCondense, CodedAttribute, LargeColumns
from countenance.auditing.layout import Column
from countenance.auditing.rows import QuestionColumns, Rows, depth_of, row_marks
from countenance.auditing.settings import AuditSettings
from countenance.auditing.source import Source
from countenance.auditing.table import Array
from countenance.auditing.twins import Twins
from countenance.auditing.units import IMAGE, Units, Unnamed

LARGE = 2_000_000
"""With at least this many rows, which is more than min-p shuffles one by one, duckdb computes the sums."""
MOST_SHUFFLED = 2_000_000
"""Units whose labels a spread's test may shuffle."""


def rows_of(
    table: Any,
    by: Sequence[str] | None,
    metrics: Sequence[str] | None,
    settings: AuditSettings,
    *,
    equity: bool = False,
    twins: Twins | None = None,
) -> Rows:
    """The rows of a table, or, where it is large and in Parquet files, sums of them."""
    source = table if isinstance(table, Source) else Source(table)
    large = source.parquet is not None and source.parquet.rows >= LARGE
    if large and not equity and twins is None and not settings.given and has_duckdb():
        try:
            return CondensedRows(source, by, metrics, settings)
        except CannotCondense:
            pass
    return Rows(table, by, metrics, settings, twins)


class CondensedRows(Rows):
    """Sums of a table's rows, where `Rows` has the rows."""

    def __init__(
        self, source: Source, by: Sequence[str] | None, metrics: Sequence[str] | None, settings: AuditSettings
    ) -> None:
        _check(settings)
        question = QuestionColumns(source, by, metrics, settings)
        if len(question.grouped) > 2 or any(
            source.kind(name) not in ("number", "boolean") for name in question.measured
        ):
            raise CannotCondense
        self.metrics, self.chosen, self.pairs, self.filled = question.metrics, question.chosen, None, {}
        self.column_notes = question.column_notes
        assert source.parquet is not None
        with Database(source.parquet) as database:
            _Making(database, source, question, settings, depth_of(settings, by, question.chosen)).into(self)


def _check(settings: AuditSettings) -> None:
    if settings.pair_names or settings.comparison == "paired" or settings.filled:
        raise CannotCondense


class _Making(LargeColumns):
    """The queries that make sums: units, ranks, then everything at once."""

    def __init__(
        self, database: Database, source: Source, question: QuestionColumns, settings: AuditSettings, depth: int
    ) -> None:
        super().__init__(database, source, question, settings)
        self.depth = depth
        self._fill()

    def into(self, rows: Rows) -> None:
        """Fill in the rows."""
        coded_attributes, columns = self.attributes, self.columns
        rows.unknown = frozenset(i for i, attribute in enumerate(coded_attributes) if attribute.unknown)
        rows._stated_kinds = dict(self.settings.kinds or {})
        rows.total = total = self.total
        if not total:
            raise CannotCondense
        ways, counts = self._ways()
        alone = all(count == total for count in counts)
        if alone and self.settings.comparison == "spread":
            raise CannotCondense  # shuffling the labels of rows needs the rows
        self.units = [] if alone else ways
        names = tuple(self.grouped[way] for way in ways)
        needed = self._rank_tables(columns, coded_attributes, rows.unknown)
        marked = len(self.units) == 1 and self._shuffled(counts[0])
        table = self._sums(columns, needed, marked)
        codes = [_codes(table.column(f"u{way}")) for way in self.units]
        order = self._order(codes, table, marked)
        codes = [way[order] for way in (codes if not marked else [self._ranked_codes])]
        rows.size = table.num_rows
        rows.order = np.arange(rows.size)
        rows.weights = _numbers(table, "w")[order]
        rows.units = Units(tuple(codes), names, self.settings.cluster, self.detected, self._unnamed(ways))
        rows.attributes = [
            attribute.spread_out(_numbers(table, f"a{i}")[order].astype(np.int64))
            for i, attribute in enumerate(coded_attributes)
        ]
        rows.columns = [self._column(column, table, f"m{j}", order) for j, column in enumerate(columns)]
        rows.ranked = {
            (columns[j].name, known): self._column(
                Column(f"{columns[j].name} (ranks {sorted(known)})", "mean", np.empty(0)), table, name, order
            )
            for (j, known), name in needed.items()
        }
        rows.shared_scenes = self._shared_scenes(rows) if self.settings.adjust == "minp" else ""

    # ---- units

    def _fill(self) -> None:
        """Fill in units: a row without a person takes its image's only person, else its image, else the row itself."""
        self.keys = [f"u{i}" for i in range(len(self.grouped))]
        counted = ", ".join(["count(*)", *(f"count(*) - count({key})" for key in self.keys)])
        self.total, *missing = self.database.row(f"SELECT {counted} FROM units")  # noqa: S608
        self.missing = missing
        if not self.keys:
            return
        nobody = "'c' || gen_random_uuid()"
        if missing[-1]:
            last = self.keys[-1]
            self.keys[-1] = f"coalesce('a' || {last}, {nobody})"
        if len(missing) == 2 and missing[0]:
            self.database.connection.execute(
                "CREATE OR REPLACE TEMP TABLE only_one AS SELECT u1 AS image, min(u0) AS person FROM units "
                "WHERE u0 IS NOT NULL AND u1 IS NOT NULL GROUP BY u1 HAVING min(u0) = max(u0)"
            )
            person = "(SELECT person FROM only_one WHERE only_one.image = u1)"
            self.keys[0] = f"coalesce('a' || u0, 'a' || {person}, 'b' || u1, {nobody})"

    def _unnamed(self, ways: Sequence[int]) -> tuple[Unnamed | None, ...]:
        """For each way of clustering, the number of rows without a value, and of different values in the others."""
        last = len(self.grouped) - 1
        lacking: list[Unnamed | None] = []
        for way in ways:
            by = self.grouped[last] if way != last else ""
            if self.missing[way]:
                known = self.database.row(f"SELECT count(DISTINCT u{way}) FROM units")[0]  # noqa: S608
                joined = 0
                if by:
                    where = "u0 IS NULL AND u1 IN (SELECT image FROM only_one)"
                    joined = self.database.row(f"SELECT count(*) FROM units WHERE {where}")[0]  # noqa: S608
                lacking.append(Unnamed(int(self.missing[way]), int(known), by, int(joined)))
            else:
                lacking.append(None)
        return tuple(lacking)

    def _ways(self) -> tuple[list[int], list[int]]:
        """Which columns say what is independent, and how many units each has; of nested columns only the coarser."""
        if not self.keys:
            return [], []
        if len(self.keys) == 1:
            return [0], [self._count(0)]
        first, inside = self._nested(0, 1)
        if inside:
            return [1], [self._count(1)]
        second, inside = self._nested(1, 0)
        return ([0], [first]) if inside else ([0, 1], [first, second])

    def _count(self, way: int) -> int:
        return self._nested(way, way)[0]

    def _nested(self, fine: int, coarse: int) -> tuple[int, bool]:
        """How many units the first way has, and whether each is within one unit of the second.

        A unit is known by two hashes of its name, 128 bits together: numbers are grouped in half the time of names.
        """
        count, inside = self.database.row(
            "SELECT count(*), bool_and(low = high) FROM (SELECT min(hash(o)) AS low, max(hash(o)) AS high FROM "  # noqa: S608
            f"(SELECT CAST({self.keys[fine]} AS VARCHAR) AS k, {self.keys[coarse]} AS o FROM units) "
            "GROUP BY hash(k), hash(k || '.'))"
        )
        return int(count), inside is not False

    def _shuffled(self, units: int) -> bool:
        """Whether labels may be shuffled between the units, so that their order must not depend on the table's."""
        if self.settings.comparison == "spread":
            return units <= MOST_SHUFFLED
        count = minp.permutations_needed(self.settings.alpha, len(self.question.metrics))
        return self.settings.adjust == "minp" and units * len(self.question.metrics) * count <= minp.MOST_CLUSTER_STEPS

    def _shared_scenes(self, rows: Rows) -> str:
        """A note where one column was named although images cross it: people then share an attribute of the image."""
        if self.settings.cluster in (None, "auto") or len(rows.units.codes) != 1 or IMAGE not in self.source.names:
            return ""
        if IMAGE in rows.units.ways:
            return ""
        plain = [i for i, attribute in enumerate(rows.attributes) if attribute.rows is None]
        same = "".join(f", min(a{i}) = max(a{i}) AS s{i}" for i in plain)
        row = self.database.row(
            f"SELECT bool_and(s){''.join(f', bool_and(s{i})' for i in plain)} FROM "  # noqa: S608
            f"(SELECT min({self.keys[self.units[0]]}) = max({self.keys[self.units[0]]}) AS s{same} FROM src "
            "WHERE image IS NOT NULL GROUP BY image)"
        )
        if row[0] is not False:
            return ""
        for i, together in zip(plain, row[1:], strict=True):
            if together:
                many = rows.units.nouns[1]
                return f"{rows.attributes[i].name} is an attribute of images that several {many} share"
        return ""

    # ---- sums

    def _rank_tables(
        self, columns: Sequence[Column], attributes: Sequence[CodedAttribute], unknown: frozenset[int]
    ) -> dict[tuple[int, frozenset[int]], str]:
        """A table from values to ranks for each metric that needs it and each choice of rows that are known."""
        means = [j for j, column in enumerate(columns) if column.kind != "rate"]
        if means and self.settings.comparison in ("pairs", "reference"):
            raise CannotCondense  # two groups at a time are ranked row by row
        if self.settings.comparison != "rest":
            return {}
        chosen = self.question.chosen
        subsets_of_known = {
            frozenset[int](),
            *(unknown & set(subset) for subset in [*subsets(chosen.single, self.depth), *chosen.crosses]),
        }
        tables = {}
        for j in means:
            for known in sorted(subsets_of_known, key=sorted):
                name = "_".join(["r", str(j), *map(str, sorted(known))])
                here = " AND ".join([f"m{j} IS NOT NULL", *self._known(known, attributes)])
                self.database.connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT value, sum(n) OVER (ORDER BY value) - n / 2 + 0.5 "  # noqa: S608
                    f"- (sum(n) OVER () + 1) / 2 AS rank FROM "
                    f"(SELECT m{j} AS value, count(*)::DOUBLE AS n FROM src WHERE {here} GROUP BY 1)"
                )
                tables[j, known] = name
        return tables

    @staticmethod
    def _known(known: frozenset[int], attributes: Sequence[CodedAttribute]) -> list[str]:
        return [f"a{i} NOT IN ({', '.join(map(str, attributes[i].unknown))})" for i in sorted(known)]

    def _sums(self, columns: Sequence[Column], needed: dict[tuple[int, frozenset[int]], str], marked: bool) -> Any:
        groups = [f"{self.keys[way]} AS u{way}" for way in self.units]
        groups += [f"a{i}" for i in range(len(self.question.chosen.attributes))]
        parts = ["count(*)::DOUBLE AS w"]
        for j, column in enumerate(columns):
            away = f"(m{j} - {column.centre!r}::DOUBLE)" if column.centre else f"m{j}"
            parts += _three(f"m{j}", away, exact=column.kind in ("rate", "change"))
            parts += [f"sum(x{j})::DOUBLE AS m{j}_k"] if column.absent is not None else []
        joins = ""
        for (j, known), name in needed.items():
            also = "".join(f" AND {condition}" for condition in self._known(known, self.attributes))
            joins += f" LEFT JOIN {name} ON m{j} = {name}.value{also}"
            parts += _three(name, f"{name}.rank", exact=False)
        if marked:
            self._mark_function(columns)
            count = len(self.question.chosen.attributes)
            inputs = [f"a{i}" for i in range(count)] + [f"m{j}" for j in range(len(columns))]
            parts.append(f"(sum(marked({', '.join(inputs)})) % 18446744073709551616)::UBIGINT AS mark")
        by = ", ".join(str(place + 1) for place in range(len(groups)))
        return self.database.table(
            f"SELECT {', '.join([*groups, *parts])} FROM src{joins}{f' GROUP BY {by}' if groups else ''}"  # noqa: S608
        )

    def _mark_function(self, columns: Sequence[Column]) -> None:
        import pyarrow as pa

        count = len(self.question.chosen.attributes)

        def marked(*parts: Any) -> Any:
            arrays = [np.asarray(part.cast(pa.float64()).fill_null(math.nan)) for part in parts[count:]]
            values = [array - column.centre + column.centre for array, column in zip(arrays, columns, strict=True)]
            return pa.array(row_marks([np.asarray(part) for part in parts[:count]], values))

        self.database.connection.create_function(
            "marked", marked, None, "UBIGINT", type="arrow", null_handling="special"
        )

    def _order(self, codes: list[Array], table: Any, marked: bool) -> Array:
        """The order with elements of one unit side by side; with several ways of clustering or none, as they are."""
        if len(codes) != 1:
            return np.arange(table.num_rows)
        if marked:
            sums = np.zeros(size_of(codes[0]), dtype=np.uint64)
            np.add.at(sums, codes[0], _numbers(table, "mark"))
            rank = np.empty(len(sums), dtype=np.int64)
            rank[np.argsort(sums, kind="stable")] = np.arange(len(sums))
            self._ranked_codes = rank[codes[0]]
            return np.argsort(self._ranked_codes, kind="stable")
        return np.argsort(codes[0], kind="stable")

    @staticmethod
    def _column(column: Column, table: Any, prefix: str, order: Array) -> Column:
        n, y, squares = (np.nan_to_num(_numbers(table, f"{prefix}_{part}"))[order] for part in "nyq")
        absent = None
        if column.absent is not None:
            absent = np.nan_to_num(_numbers(table, f"{prefix}_k"))[order]
        return replace(column, values=y, counts=n, squares=squares, absent=absent)


def _three(name: str, value: str, *, exact: bool) -> list[str]:
    add = "sum" if exact else "fsum"
    return [
        f"count({value})::DOUBLE AS {name}_n",
        f"{add}({value}) AS {name}_y",
        f"{add}({value} * {value}) AS {name}_q",
    ]


def _codes(column: Any) -> Array:
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64)


def _numbers(table: Any, name: str) -> Array:
    column = table.column(name)
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False) if column.null_count == 0 else column)
