"""The columns that an audit needs of a table too large for memory, as duckdb sees them.

`units` is a view with units u0 and u1; `src` also has groups as codes a0, a1 …, and metrics m0, m1 … Codes are joined
to every row, which costs more than grouping by units does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countenance.audit.attributes import Choice, coded
from countenance.audit.codes import firsts_of
from countenance.audit.database import TABLE, Database, quoted
from countenance.audit.layout import Column, Shape, pattern_of
from countenance.audit.rows import AskedColumns, kept_rows, nothing_kept
from countenance.audit.settings import Settings
from countenance.audit.source import Source
from countenance.audit.table import Array, Attribute
from countenance.audit.units import IMAGE

MOST_DISTINCT = 2_000_000
"""Different values that an attribute which is cut into bins may have."""


class CannotCondense(Exception):
    """Something was asked for that needs the rows themselves, or a column is of a kind that only they explain."""


@dataclass(frozen=True)
class CodedAttribute:
    """An attribute as SQL knows it: `codes` in its column, and the groups of each."""

    attribute: Attribute
    patterns: Array
    """For each different value, its code in SQL."""

    def spread_out(self, codes: Array) -> Attribute:
        """The attribute of elements that have these codes."""
        one = self.attribute
        if one.rows is None:
            return Attribute(one.name, one.levels, codes.astype(np.int32), cuts=one.cuts)
        example = firsts_of(self.patterns)[codes]  # a value with the same groups
        start = np.searchsorted(one.rows, example, side="left")
        count = np.searchsorted(one.rows, example, side="right") - start
        offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        members = one.codes[np.repeat(start, count) + offset]
        return Attribute(one.name, one.levels, members, np.repeat(np.arange(len(codes)), count))

    @property
    def unknown(self) -> list[int]:
        """The codes of values without a group."""
        if self.attribute.rows is None:
            return [-1] if (self.attribute.codes < 0).any() else []
        return sorted(set(self.patterns.tolist()) - set(self.patterns[self.attribute.rows].tolist()))


class LargeColumns:
    """A table in duckdb, its columns coded as an audit needs them."""

    def __init__(self, database: Database, source: Source, asked: AskedColumns, settings: Settings) -> None:
        self.database, self.source, self.asked, self.settings = database, source, asked, settings
        self.where = " AND ".join(self._conditions()) or "TRUE"
        self.attributes = [self._coded(choice) for choice in asked.chosen.attributes]
        self.columns = self._columns()
        self._view()

    def _conditions(self) -> list[str]:
        import pyarrow as pa

        assert self.source.parquet is not None
        about = [f"{quoted(name)} IS NOT NULL" for name in self.source.parquet.about]
        made = [f"({' OR '.join(about)})"] if about else []
        for i, (name, values) in enumerate(self.settings.conditions.items()):
            column = self.source.resolve(name, "attr.", "attribute")
            found = self.database.values(column, made[0] if about else "TRUE")
            kept = kept_rows(Source({column: found.column("value")}, label=self.source.label), {name: values})
            self.database.add(f"w{i}", found.select(["value"]).filter(pa.array(kept)))
            made.append(f"{quoted(column)} IN (SELECT value FROM w{i})")  # noqa: S608
        if self.settings.conditions:
            where = " AND ".join(made)
            if not self.database.one(f"SELECT count(*) FROM {TABLE} WHERE {where}")[0]:  # noqa: S608
                raise nothing_kept(self.source, self.settings.conditions)
        return made

    def _coded(self, choice: Choice) -> CodedAttribute:
        found = self.database.values(choice.column, self.where)
        if found.num_rows > MOST_DISTINCT:
            raise CannotCondense
        values = found.column("value").combine_chunks()
        attribute = coded(choice, values, self.settings.max_groups, np.asarray(found.column("n")))
        patterns = pattern_of(attribute, found.num_rows) if attribute.rows is not None else attribute.codes
        name = f"k{self.asked.chosen.attributes.index(choice)}"
        self.database.add(name, found.select(["value"]).append_column("code", [np.asarray(patterns, dtype=np.int64)]))
        return CodedAttribute(attribute, np.asarray(patterns, dtype=np.int64))

    def _value(self, j: int) -> tuple[str, str]:
        """A metric's value before and after its denominator, NULL where it is outside."""
        name, column = self.asked.metrics[j], self.asked.measured[j]
        raw = as_double(self.source, column)
        if name not in self.asked.masks:
            return raw, raw
        mask = self.asked.masks[name]
        if self.source.kind(mask) not in ("number", "boolean"):
            raise CannotCondense
        return raw, f"CASE WHEN {as_double(self.source, mask)} = 1 THEN {raw} END"

    def _columns(self) -> list[Column]:
        """The metrics: their kinds, their means and the shapes of their distributions, without any sums."""
        found = []
        for j, name in enumerate(self.asked.metrics):
            raw, value = self._value(j)
            masked = [as_double(self.source, self.asked.masks[name])] if name in self.asked.masks else []
            checks = "".join(f", bool_and({mask} IN (0, 1))" for mask in masked)
            whole = self.database.one(
                f"SELECT bool_and(isfinite({raw})), bool_and({raw} IN (0, 1)), count({value}), fsum({value}), "  # noqa: S608
                f"min({value}), max({value}){checks} FROM {TABLE} WHERE {self.where}"
            )
            if whole[0] is False or any(check is False for check in whole[6:]):
                raise CannotCondense  # reading the rows says which one is wrong
            kind = "mean" if whole[1] is False else "rate"
            told = (self.settings.kinds or {}).get(name, kind)
            kind = "mean" if told == "bounded" else told
            lowest, highest = (math.nan, math.nan) if not whole[2] else (float(whole[4]), float(whole[5]))
            centre, kurtosis, skewness = 0.0, 3.0, 0.0
            if kind != "rate" and whole[2]:
                mean = float(whole[3]) / whole[2]
                apart = f"({value} - {mean!r}::DOUBLE)"
                m2, m3, m4 = self.database.one(
                    f"SELECT fsum({apart} ** 2), fsum({apart} ** 3), fsum({apart} ** 4) FROM {TABLE} "  # noqa: S608
                    f"WHERE {self.where}"
                )
                centre = mean if kind == "mean" else 0.0
                if m2 > 0:
                    kurtosis, skewness = m4 / whole[2] / (m2 / whole[2]) ** 2, m3 / whole[2] / (m2 / whole[2]) ** 1.5
            shape = Shape(lowest, highest, kurtosis, skewness)
            found.append(Column(name, kind, np.empty(0), centre, shape=shape))
        return found

    def _view(self) -> None:
        """`units`, and `src` with the image where there is one."""
        parts = [f"{as_unit(self.source, name)} AS u{i}" for i, name in enumerate(self.asked.grouped)]
        self.database.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW units AS SELECT {', '.join(parts) or '1'} FROM {TABLE} WHERE {self.where}"  # noqa: S608
        )
        joins = ""
        for i, choice in enumerate(self.asked.chosen.attributes):
            parts.append(f"k{i}.code AS a{i}")
            joins += f" LEFT JOIN k{i} ON t.{quoted(choice.column)} IS NOT DISTINCT FROM k{i}.value"
        parts += [f"{self._value(j)[1]} AS m{j}" for j in range(len(self.columns))]
        if IMAGE in self.source.names:
            parts.append(f"{as_unit(self.source, IMAGE)} AS image")
        self.database.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW src AS SELECT {', '.join(parts)} FROM {TABLE} t{joins} WHERE {self.where}"  # noqa: S608
        )


def as_double(source: Source, column: str) -> str:
    """A column as a number; NULL where it has none."""
    name = quoted(column)
    if source.kind(column) == "boolean":
        return f"CAST(CAST({name} AS INTEGER) AS DOUBLE)"
    return f"CASE WHEN NOT isnan(CAST({name} AS DOUBLE)) THEN CAST({name} AS DOUBLE) END"


def as_unit(source: Source, column: str) -> str:
    """A column that says which rows belong together; NULL where it says nothing."""
    import pyarrow as pa

    kind = source.parquet.schema.field(column).type  # type: ignore[union-attr]
    name = quoted(column)
    if pa.types.is_nested(kind):
        raise CannotCondense
    if source.kind(column) == "text":
        return f"nullif(CAST({name} AS VARCHAR), '')"
    return f"CASE WHEN NOT isnan({name}) THEN {name} END" if pa.types.is_floating(kind) else name
