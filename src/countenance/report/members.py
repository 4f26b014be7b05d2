"""The rows of a score table that belong to a group of the audit."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from countenance.auditing.attributes import Choice, coded
from countenance.auditing.source import Source as Columns
from countenance.report.names import REST
from countenance.report.people_words import RANGE, TO
from countenance.report.source import Audited

Mask = NDArray[np.bool_]
MOST_GROUPS = 10_000


class GroupRows:
    """The rows of groups, each attribute coded once."""

    def __init__(self, source: Audited) -> None:
        self.source, self.columns = source, Columns(source.scores)
        self._levels: dict[str, dict[str, Mask]] = {}

    def of(self, attribute: str, group: str) -> Mask:
        """The rows of a group, an intersection, or a range of an ordered attribute; no rows for an unknown group."""
        rows = np.ones(len(self), dtype=bool)
        for name, value in self.source.names.parts(attribute, group):
            rows &= self._value(name, value)
        return rows

    def other(self, attribute: str, group: str, versus: str) -> Mask:
        """The rows of the other side of a comparison."""
        return ~self.of(attribute, group) if versus == REST else self.of(attribute, versus)

    def values(self, metric: str) -> NDArray[np.float64]:
        """The scores of a metric by row, NaN where a row has no score."""
        for name in (f"m.{metric}", metric):
            if name in self.source.scores.column_names:
                column = self.source.scores.column(name)
                return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        return np.full(len(self), np.nan)

    def __len__(self) -> int:
        return int(self.source.scores.num_rows)

    def _value(self, name: str, value: str) -> Mask:
        levels = self.levels(name)
        if value in levels:
            return levels[value]
        chosen = [levels[v] for v in self.values_in(name, value) if v in levels]
        return np.logical_or.reduce(chosen) if chosen else np.zeros(len(self), dtype=bool)

    def values_in(self, name: str, value: str) -> list[str]:
        """The values of one attribute in a group: the group itself, or all values of a range."""
        order = self.source.names.levels.get(name, [])
        for between in re.finditer(f"{RANGE}|{TO}", value):
            first, last = value[: between.start()], value[between.end() :]
            if first in order and last in order:
                return order[order.index(first) : order.index(last) + 1]
        return [value]

    def levels(self, name: str) -> dict[str, Mask]:
        """The rows of each value of one attribute."""
        if name not in self._levels:
            self._levels[name] = self._coded(name)
        return self._levels[name]

    def _coded(self, name: str) -> dict[str, Mask]:
        cuts = self.source.audit.settings.get("bins") or {}
        bare = name.partition(":")[0] if name in cuts else name
        known = next((c for c in (f"attr.{bare}", bare) if c in self.columns.names), None)
        if known is None:
            return {}
        groups = coded(
            Choice(name, known, cuts=tuple(cuts.get(name, ()))), self.columns.read([known], [])[known], MOST_GROUPS
        )
        masks = {}
        for code, level in enumerate(groups.levels):
            member = groups.codes == code
            if groups.rows is None:
                masks[level] = np.asarray(member)
            else:
                masks[level] = np.zeros(len(self), dtype=bool)
                masks[level][groups.rows[member]] = True
        return masks
