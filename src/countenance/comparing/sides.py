"""Models on the same rows, two by two: their scores, in one audit of the differences of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from countenance.auditing.audit import work_of
from countenance.auditing.computation import Computation
from countenance.auditing.directions import LOWER
from countenance.auditing.far_ends import SHARE, Ends
from countenance.auditing.groups import Grouping
from countenance.auditing.pairs import Pairs, Pooled
from countenance.auditing.settings import AuditSettings, Judged
from countenance.auditing.source import Source
from countenance.auditing.table import UNKNOWN, Array

POINTS, BOUNDED = "points", "0 to 1"
FILLED = "filled."
"""Prefix of the columns in which missing scores count as wrong."""


class Lacks(NamedTuple):
    """Which scores the old and the new model lack although they should have them, and the scores that each has."""

    old: Array
    new: Array
    old_scores: Array
    new_scores: Array

    def rates(self) -> tuple[Array, Array]:
        """The missing scores as a rate: 1 if missing, 0 if present, NaN if there should be no score."""
        return (
            np.where(self.old, 1.0, np.where(np.isnan(self.old_scores), np.nan, 0.0)),
            np.where(self.new, 1.0, np.where(np.isnan(self.new_scores), np.nan, 0.0)),
        )


@dataclass(frozen=True)
class Contrast:
    """Two models by one metric: their scores on the same rows."""

    metric: str
    a: str
    b: str
    old: Array
    new: Array
    kind: str
    lacks: Lacks | None = None
    """Which scores are missing; None: none."""

    def as_wrong(self, better: str | None) -> tuple[Array, Array] | None:
        """Both models' scores with missing ones as wrong; None if none is missing or the metric has no worst score."""
        if self.lacks is None or self.ends is None or better is None:
            return None
        worst = self.ends[1] if better == LOWER else self.ends[0]
        lacks = self.lacks
        return np.where(lacks.old, worst, lacks.old_scores), np.where(lacks.new, worst, lacks.new_scores)

    @property
    def ends(self) -> Ends | None:
        """The ends between which all scores of both lie: 0 and 1, or None."""
        return SHARE if is_bounded(np.concatenate([self.old, self.new])) else None

    def reordered(self, order: Array) -> Contrast:
        """The same with its rows in another order."""
        lacks = None if self.lacks is None else Lacks(*(part[order] for part in self.lacks))
        return replace(self, old=self.old[order], new=self.new[order], lacks=lacks)


@dataclass(frozen=True)
class Sides:
    """Models on the same rows, two by two, in the order in which the audit keeps the rows.

    All contrasts are of one audit, so that its families hold every metric and every two models.
    """

    work: Computation
    contrasts: dict[str, Contrast]
    """The contrasts by the column that holds their differences."""
    ends: dict[str, Ends | None]

    @classmethod
    def of(
        cls,
        table: Any,
        contrasts: Sequence[Contrast],
        judged: dict[str, Judged],
        by: Sequence[str] | None,
        settings: AuditSettings,
        place: str = "table",
    ) -> Sides:
        """Set up an audit of the differences of rows; `table`, read from `place`, has the groups and units."""
        import pyarrow as pa

        several = len({(contrast.a, contrast.b) for contrast in contrasts}) > 1
        named = {
            f"{contrast.metric} ({contrast.b} - {contrast.a})" if several else contrast.metric: contrast
            for contrast in contrasts
        }
        ends = {name: contrast.ends for name, contrast in named.items()}
        kinds = {
            name: "change" if contrast.kind == "rate" else "bounded" if ends[name] else "mean"
            for name, contrast in named.items()
        }
        filled = {}
        for name, contrast in named.items():
            table = table.append_column(
                f"m.{name}", pa.array(contrast.new - contrast.old, pa.float64(), from_pandas=True)
            )
            if (wrong := contrast.as_wrong(judged[contrast.metric].better)) is not None:
                filled[name] = f"{FILLED}{name}"
                table = table.append_column(filled[name], pa.array(wrong[1] - wrong[0], pa.float64(), from_pandas=True))
        known = {name: judged[contrast.metric] for name, contrast in named.items()}
        own = settings.changed(
            kinds=kinds,
            families=_by_column(settings.families, named),
            where=None,
            delta={name: judgement.delta for name, judgement in known.items() if judgement.delta is not None},
            better={name: judgement.better for name, judgement in known.items()},
            filled=filled,
        )
        work = work_of(Source(table, label=place), by, list(named), own)
        work.derived = []  # no derived groupings: only groups are compared between models
        order = work.rows.order
        arranged = {name: contrast.reordered(order) for name, contrast in named.items()}
        return cls(work, arranged, ends)

    def scale(self, column: str) -> str:
        """How changes of a metric are written: "points" for rates, "0 to 1" for scores between these, else empty."""
        if self.contrasts[column].kind == "rate":
            return POINTS
        return BOUNDED if self.ends[column] else ""

    def pairs(
        self, column: str, rows: Array | None = None, pooled: Pooled | None = None, *, wrong: bool = False
    ) -> Pairs:
        """The pairs of scores that both models have, b first; `wrong`: with missing scores as wrong."""
        contrast = self.contrasts[column]
        filled = contrast.as_wrong(self.work.judged[column].better) if wrong else None
        old, new = (contrast.old, contrast.new) if filled is None else filled
        use = ~np.isnan(old) & ~np.isnan(new)
        place = np.flatnonzero(use if rows is None else use & rows)
        own = [codes[place] for codes in self.work.rows.units.codes]
        return Pairs(new[place], old[place], contrast.kind, own, pooled)

    def missing(self, column: str, rows: Array | None = None) -> int:
        """How many rows lack a score of at least one of the two models."""
        lacks = self.contrasts[column].lacks
        if lacks is None:
            return 0
        either = lacks.old | lacks.new
        return int((either if rows is None else either & rows).sum())

    def cells(self) -> Iterator[tuple[Grouping, str, Array]]:
        """Every group with its rows; unknown values of single attributes come last."""
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
    """Families of metrics as families of the columns that hold these metrics for every two models."""
    columns: dict[str, list[str]] = {}
    for name, contrast in named.items():
        columns.setdefault(contrast.metric, []).append(name)
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
    return [name for name in listed if name != "metric"] or None  # without families: one family for all metrics


def is_bounded(values: Array) -> bool:
    """Whether all known values lie between 0 and 1."""
    known = values[~np.isnan(values)]
    return bool(len(known)) and bool(known.min() >= 0) and bool(known.max() <= 1)
