"""The columns that an audit needs of a table too large for memory, as duckdb sees them.

`units` is a view with units u0 and u1; `src` also has groups as codes a0, a1 …, and metrics m0, m1 … Codes are joined
to every row, which costs more than grouping by units does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countenance.auditing import detection
from countenance.auditing.attributes import Choice, coded
from countenance.auditing.codes import firsts_of
from countenance.auditing.conditions import kept_rows, nothing_kept
from countenance.auditing.database import TABLE, Database, quoted
from countenance.auditing.layout import Column, Shape, pattern_of
from countenance.auditing.rows import QuestionColumns
from countenance.auditing.settings import AuditSettings
from countenance.auditing.source import Source
from countenance.auditing.table import LARGEST, Array, Attribute
from countenance.auditing.units import IMAGE

MOST_DISTINCT = 2_000_000
"""The most different values of an attribute that is cut into bins."""


class CannotCondense(Exception):
    """A request that needs the rows themselves, or a column whose kind or faults only `Rows` handles."""


@dataclass(frozen=True)
class CodedAttribute:
    """An attribute in SQL: `codes` in its column, and the groups of each code."""

    attribute: Attribute
    patterns: Array
    """For each different value, its code in SQL."""

    def spread_out(self, codes: Array) -> Attribute:
        """The attribute of elements that have these codes."""
        attribute = self.attribute
        if attribute.rows is None:
            return Attribute(attribute.name, attribute.levels, codes.astype(np.int32), cuts=attribute.cuts)
        example = firsts_of(self.patterns)[codes]  # a value with the same groups
        start = np.searchsorted(attribute.rows, example, side="left")
        count = np.searchsorted(attribute.rows, example, side="right") - start
        offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        members = attribute.codes[np.repeat(start, count) + offset]
        return Attribute(attribute.name, attribute.levels, members, np.repeat(np.arange(len(codes)), count))

    @property
    def unknown(self) -> list[int]:
        """The codes of values without a group."""
        if self.attribute.rows is None:
            return [-1] if (self.attribute.codes < 0).any() else []
        return sorted(set(self.patterns.tolist()) - set(self.patterns[self.attribute.rows].tolist()))


class LargeColumns:
    """A table in duckdb, its columns coded as an audit needs them."""

    def __init__(self, database: Database, source: Source, question: QuestionColumns, settings: AuditSettings) -> None:
        self.database, self.source, self.question, self.settings = database, source, question, settings
        self.where = " AND ".join(self._conditions()) or "TRUE"
        self.attributes = [self._coded(choice) for choice in question.chosen.attributes]
        self.columns = self._columns()
        self.grouped, self.detected = list(question.grouped), ""
        candidates = question.candidates(source, settings)
        self._view(candidates)
        if candidates:
            self._detect(candidates)

    def _conditions(self) -> list[str]:
        import pyarrow as pa

        assert self.source.parquet is not None
        about = [f"{quoted(name)} IS NOT NULL" for name in self.source.parquet.about]
        conditions = [f"({' OR '.join(about)})"] if about else []
        for i, (name, values) in enumerate(self.settings.conditions.items()):
            column = self.source.resolve(name, "attr.", "attribute")
            counted = self.database.values(column, conditions[0] if about else "TRUE")
            mask = kept_rows(Source({column: counted.column("value")}, label=self.source.label), {name: values})
            self.database.add(f"w{i}", counted.select(["value"]).filter(pa.array(mask)))
            conditions.append(f"{quoted(column)} IN (SELECT value FROM w{i})")  # noqa: S608
        if self.settings.conditions:
            where = " AND ".join(conditions)
            if not self.database.row(f"SELECT count(*) FROM {TABLE} WHERE {where}")[0]:  # noqa: S608
                raise nothing_kept(self.source, self.settings.conditions)
        return conditions

    def _coded(self, choice: Choice) -> CodedAttribute:
        counted = self.database.values(choice.column, self.where)
        if counted.num_rows > MOST_DISTINCT:
            raise CannotCondense
        values = counted.column("value").combine_chunks()
        attribute = coded(choice, values, self.settings.max_groups, np.asarray(counted.column("n")))
        patterns = pattern_of(attribute, counted.num_rows) if attribute.rows is not None else attribute.codes
        name = f"k{self.question.chosen.attributes.index(choice)}"
        self.database.add(name, counted.select(["value"]).append_column("code", [np.asarray(patterns, dtype=np.int64)]))
        return CodedAttribute(attribute, np.asarray(patterns, dtype=np.int64))

    def _value(self, j: int) -> tuple[str, str]:
        """A metric's value before and after its denominator, NULL where it is outside."""
        name, column = self.question.metrics[j], self.question.measured[j]
        raw = as_double(self.source, column)
        if name not in self.question.masks:
            return raw, raw
        mask = self.question.masks[name]
        if self.source.kind(mask) not in ("number", "boolean"):
            raise CannotCondense
        return raw, f"CASE WHEN {as_double(self.source, mask)} = 1 THEN {raw} END"

    def _absent(self, j: int) -> str:
        """The condition under which a row has no score of a metric although it should."""
        name = self.question.metrics[j]
        if self.question.answered.get(name) == "":
            return "FALSE"
        conditions = [f"{self._value(j)[0]} IS NULL"]
        for flags, level in ((self.question.masks, 1), (self.question.answered, 0)):
            if name in flags:
                if self.source.kind(flags[name]) not in ("number", "boolean"):
                    raise CannotCondense
                conditions.append(f"{as_double(self.source, flags[name])} = {level}")
        return " AND ".join(conditions)

    def _columns(self) -> list[Column]:
        """The metrics: their kinds, their means and the shapes of their distributions, without any sums."""
        columns = []
        for j, name in enumerate(self.question.metrics):
            raw, value = self._value(j)
            flags = [flags[name] for flags in (self.question.masks, self.question.answered) if flags.get(name)]
            masked = [as_double(self.source, flag) for flag in flags]
            checks = "".join(f", bool_and({mask} IN (0, 1))" for mask in masked)
            whole = self.database.row(
                f"SELECT bool_and(abs({raw}) <= {LARGEST}), bool_and({raw} IN (0, 1)), count({value}), fsum({value}), "  # noqa: S608
                f"min({value}), max({value}), count(CASE WHEN {self._absent(j)} THEN 1 END){checks} FROM {TABLE} "
                f"WHERE {self.where}"
            )
            if whole[0] is False or any(check is False for check in whole[7:]):
                raise CannotCondense  # reading the rows says which one is wrong
            kind = "mean" if whole[1] is False else "rate"
            stated_kind = (self.settings.kinds or {}).get(name, kind)
            kind = "mean" if stated_kind == "bounded" else stated_kind
            lowest, highest = (math.nan, math.nan) if not whole[2] else (float(whole[4]), float(whole[5]))
            centre, kurtosis, skewness = 0.0, 3.0, 0.0
            if kind != "rate" and whole[2]:
                mean = float(whole[3]) / whole[2]
                apart = f"({value} - {mean!r}::DOUBLE)"
                m2, m3, m4 = self.database.row(
                    f"SELECT fsum({apart} ** 2), fsum({apart} ** 3), fsum({apart} ** 4) FROM {TABLE} "  # noqa: S608
                    f"WHERE {self.where}"
                )
                centre = mean if kind == "mean" else 0.0
                if m2 > 0:
                    kurtosis, skewness = m4 / whole[2] / (m2 / whole[2]) ** 2, m3 / whole[2] / (m2 / whole[2]) ** 1.5
            shape = Shape(lowest, highest, kurtosis, skewness)
            absent = np.empty(0) if whole[6] and whole[2] and name not in (self.settings.kinds or {}) else None
            columns.append(Column(name, kind, np.empty(0), centre, shape=shape, absent=absent))
        return columns

    def _view(self, candidates: Sequence[str] = ()) -> None:
        """Creates views: `units`, and `src` with the image if there is one; c0, c1 … are `candidates` for units."""
        parts = [f"{as_unit(self.source, name)} AS u{i}" for i, name in enumerate(self.grouped)]
        self.database.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW units AS SELECT {', '.join(parts) or '1'} FROM {TABLE} WHERE {self.where}"  # noqa: S608
        )
        joins = ""
        for i, choice in enumerate(self.question.chosen.attributes):
            parts.append(f"k{i}.code AS a{i}")
            joins += f" LEFT JOIN k{i} ON t.{quoted(choice.column)} IS NOT DISTINCT FROM k{i}.value"
        parts += [f"{self._value(j)[1]} AS m{j}" for j in range(len(self.columns))]
        for j, column in enumerate(self.columns):
            if column.absent is not None:
                parts.append(f"CAST({self._absent(j)} AS INTEGER) AS x{j}")
        parts += [f"{as_unit(self.source, name)} AS c{i}" for i, name in enumerate(candidates)]
        if IMAGE in self.source.names:
            parts.append(f"{as_unit(self.source, IMAGE)} AS image")
        self.database.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW src AS SELECT {', '.join(parts)} FROM {TABLE} t{joins} WHERE {self.where}"  # noqa: S608
        )

    def _detect(self, candidates: Sequence[str]) -> None:
        """Use up to two columns that nobody named as units where their rows are alike, as `detection.alike` does."""
        cells = self._joint_cells()
        tested = []
        for i, name in enumerate(candidates):
            values = f"SELECT count(*) AS n FROM src WHERE c{i} IS NOT NULL GROUP BY c{i}"  # noqa: S608
            repeated = self.database.row(f"SELECT count(*) FROM ({values}) WHERE n >= 2")[0]  # noqa: S608
            if repeated >= detection.FEWEST_VALUES:
                each = [(*self._alike(j, f"c{i}", cells), self.question.metrics[j]) for j in range(len(self.columns))]
                p, correlation, metric = min(each)
                tested.append(detection.Alike(name, metric, correlation, min(1.0, p * len(each))))
        alike = detection.adjusted(tested)[:2]
        if alike:
            self.grouped = [*(unit.column for unit in alike), *self.grouped]
            self.detected = "; ".join(unit.sentence() for unit in alike)
            self._view()

    def _joint_cells(self) -> list[str]:
        """The attributes whose joint group means are subtracted first; those that make too many groups are left out."""
        total = self.database.row("SELECT count(*) FROM src")[0]
        chosen: list[str] = []
        for i in range(len(self.attributes)):
            finer = [*chosen, f"a{i}"]
            count = self.database.row(f"SELECT count(*) FROM (SELECT DISTINCT {', '.join(finer)} FROM src)")[0]  # noqa: S608
            chosen = finer if count <= detection.MOST_CELLS * total else chosen
        return chosen

    def _alike(self, j: int, unit: str, cells: Sequence[str]) -> tuple[float, float]:
        """How often chance makes rows of one value as alike, and how alike they are."""
        mean = f"avg(m{j}) OVER (PARTITION BY {', '.join(cells)})" if cells else f"avg(m{j}) OVER ()"
        sums = self.database.table(
            f"SELECT count(r) AS n, fsum(r) AS y, fsum(r * r) AS q FROM (SELECT {unit} AS v, m{j} - {mean} AS r "  # noqa: S608
            "FROM src) WHERE v IS NOT NULL AND r IS NOT NULL GROUP BY v"
        )
        n, y, q = (np.asarray(sums.column(name), dtype=float) for name in ("n", "y", "q"))
        squares, pairs = float(q.sum()), float((n * (n - 1)).sum())
        if not pairs or not squares:
            return 1.0, 0.0
        excess, variance = float(y @ y) - squares, squares / float(n.sum())
        return detection.approximate(excess, variance, n), excess / (variance * pairs)


def as_double(source: Source, column: str) -> str:
    """A column as a number; NULL where it has none."""
    name = quoted(column)
    if source.kind(column) == "boolean":
        return f"CAST(CAST({name} AS INTEGER) AS DOUBLE)"
    return f"CASE WHEN NOT isnan(CAST({name} AS DOUBLE)) THEN CAST({name} AS DOUBLE) END"


def as_unit(source: Source, column: str) -> str:
    """The SQL of a column that says which rows belong together; NULL where it is empty."""
    import pyarrow as pa

    kind = source.parquet.schema.field(column).type  # type: ignore[union-attr]
    name = quoted(column)
    if pa.types.is_nested(kind):
        raise CannotCondense
    if source.kind(column) == "text":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    return f"CASE WHEN NOT isnan({name}) THEN {name} END" if pa.types.is_floating(kind) else name
