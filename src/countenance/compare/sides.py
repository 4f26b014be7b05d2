"""Models on the same rows, two by two: their scores, in one audit of the differences of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.audit.audit import work_of
from countenance.audit.groups import Grouping
from countenance.audit.paired import Pairs, Pooled
from countenance.audit.settings import Judged, Settings
from countenance.audit.source import Source
from countenance.audit.table import UNKNOWN, Array
from countenance.audit.work import Work

POINTS = "points"


@dataclass(frozen=True)
class Contrast:
    """Two models by one metric: their scores on the same rows."""

    metric: str
    a: str
    b: str
    old: Array
    new: Array
    kind: str

    @property
    def bounded(self) -> bool:
        """Whether all scores of both lie between 0 and 1."""
        return is_bounded(np.concatenate([self.old, self.new]))


@dataclass(frozen=True)
class Sides:
    """Models on the same rows, two by two, in the order in which the audit keeps the rows.

    All contrasts are of one audit, so that its families hold every metric and every two models.
    """

    work: Work
    contrasts: dict[str, Contrast]
    """By the column that holds their differences."""
    bounded: dict[str, bool]

    @classmethod
    def of(
        cls, table: Any, contrasts: Sequence[Contrast], judged: dict[str, Judged], by: Sequence[str] | None,
        settings: Settings, place: str = "table",
    ) -> Sides:  # fmt: skip
        """Set up an audit of the differences of rows; `table`, read from `place`, has the groups and units."""
        import pyarrow as pa

        several = len({(one.a, one.b) for one in contrasts}) > 1
        named = {f"{one.metric} ({one.b} - {one.a})" if several else one.metric: one for one in contrasts}
        bounded = {name: one.bounded for name, one in named.items()}
        told = {
            name: "change" if one.kind == "rate" else "bounded" if bounded[name] else "mean"
            for name, one in named.items()
        }  # fmt: skip
        for name, one in named.items():
            table = table.append_column(f"m.{name}", pa.array(one.new - one.old, pa.float64(), from_pandas=True))
        known = {name: judged[one.metric] for name, one in named.items()}
        own = replace(
            settings, kinds=told, families=_by_column(settings.families, named), where=None,
            delta={name: one.delta for name, one in known.items() if one.delta is not None},
            better={name: one.better for name, one in known.items() if one.better is not None},
        )  # fmt: skip
        work = work_of(Source(table, label=place), by, list(named), own)
        order = work.rows.order
        arranged = {name: replace(one, old=one.old[order], new=one.new[order]) for name, one in named.items()}
        return cls(work, arranged, bounded)

    def scale(self, column: str) -> str:
        """How changes of a metric are told: in points where it lies between 0 and 1."""
        return POINTS if self.bounded[column] else ""

    def pairs(self, column: str, rows: Array | None = None, pooled: Pooled | None = None) -> Pairs:
        """The pairs of scores that both models have, b first."""
        one = self.contrasts[column]
        use = ~np.isnan(one.old) & ~np.isnan(one.new)
        place = np.flatnonzero(use if rows is None else use & rows)
        own = [codes[place] for codes in self.work.rows.units.codes]
        return Pairs(one.new[place], one.old[place], one.kind, own, pooled)

    def cells(self) -> Iterator[tuple[Grouping, str, Array]]:
        """Every group with its rows, the unknown of single attributes last."""
        total = self.work.rows.total
        for grouping in self.work.groupings:
            members = grouping.members(self.work.rows.attributes, total)
            for place, name in enumerate(grouping.cells):
                rows = np.zeros(total, dtype=bool)
                if members.rows is None:
                    rows = members.cells == place
                else:
                    rows[members.rows[members.cells == place]] = True
                yield grouping, name, rows
            unknown = ~members.known(total)
            if grouping.depth == 1 and unknown.any():
                yield grouping, UNKNOWN, unknown


def _by_column(families: Any, named: dict[str, Contrast]) -> Any:
    """Families that name metrics, by the columns that hold these metrics for every two models."""
    columns: dict[str, list[str]] = {}
    for name, one in named.items():
        columns.setdefault(one.metric, []).append(name)
    if all(own == [metric] for metric, own in columns.items()):
        return families
    if isinstance(families, Mapping):
        return {
            family: [name for member in members for name in columns.get(member, [member])]
            for family, members in families.items()
        }
    listed = [families] if isinstance(families, str) else list(families or ())
    if listed == ["metric"]:
        return columns
    return [name for name in listed if name != "metric"] or None  # one family for all metrics: never too small


def is_bounded(values: Array) -> bool:
    """Whether all known values lie between 0 and 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(known.min() >= 0) and bool(known.max() <= 1)
