"""`compare`: is model b better than model a on the same samples, for whom is it worse, and which gaps moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.auditing.attributes import NothingToCompare, split_names
from countenance.auditing.directions import LOWER
from countenance.auditing.result import Audit
from countenance.auditing.settings import AuditSettings, Judged, delta_of_rates, judged, parse_better, parse_delta
from countenance.comparing.changes import by_group, overall
from countenance.comparing.decision import decided
from countenance.comparing.entries import ComparedModel, entries_of
from countenance.comparing.gaps import gaps
from countenance.comparing.pairing import Paired, absent_groups, pair_entries
from countenance.comparing.result import Absent, Comparison
from countenance.comparing.sides import Contrast, Lacks, Sides, is_bounded
from countenance.errors import InputError
from countenance.run.auditing import WHOLE, with_everyone

SETTINGS = (
    "cluster",
    "depth",
    "alpha",
    "delta",
    "better",
    "min_n",
    "adjust",
    "families",
    "where",
    "seed",
    "max_groups",
    "power",
    "progress",
)
"""The settings of an audit that a comparison of models has too."""


def compare(
    a: Any,
    b: Any,
    by: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    *,
    pair: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    **settings: Any,
) -> Comparison:
    """Compare two runs, or two tables of scores, on the rows that both have. All differences are b - a.

    Runs pair by sample and subject and must be of the same task, data and decoder; tables pair by the columns `pair`
    (default: sample and subject). `by`, `metrics` and `settings` (those of `SETTINGS`) are those of
    `countenance.auditing`; `depth` is 1 unless it is named. Overall changes, changes of groups, and gaps are three
    families of comparisons, each adjusted by itself.

    >>> rows = {"sample": list(range(400)), "sex": ["f", "m"] * 200}
    >>> v1, v2 = rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}
    >>> compare(v1, v2, by=["sex"], metrics=["correct"], names=["v1", "v2"]).decision
    'v2 is better overall (+50.0 points, 45.1 to 54.9). It is worse for nobody by more than 5 points. The gap between sex = f and m narrowed (from +100.0 to 0.0 points).'
    """  # noqa: E501
    return ComparisonQuestion.of(entries_of([a, b], names), by, metrics, pair=pair, **settings).between(0, 1)


class ComparisonQuestion:
    """Entries on the rows that they share, and how they are compared."""

    def __init__(
        self, entries: Sequence[ComparedModel], by: list[str] | None, paired: Paired, settings: AuditSettings
    ) -> None:
        self.entries, self.by, self.paired, self.settings = entries, by, paired, settings

    @classmethod
    def of(
        cls,
        entries: Sequence[ComparedModel],
        by: Sequence[str] | str | None,
        metrics: Sequence[str] | str | None,
        *,
        pair: str | Sequence[str] | None = None,
        **options: Any,
    ) -> ComparisonQuestion:
        """Check the settings and put the rows side by side."""
        if unknown := [name for name in options if name not in SETTINGS]:
            raise InputError(f"a comparison has no setting {unknown[0]!r}; there are pair, {', '.join(SETTINGS)}")
        audit_settings = AuditSettings(**options)
        settings = audit_settings.changed(depth=audit_settings.depth or 1)
        listed = None if by is None else split_names(by) if isinstance(by, str) else list(by)
        measured = [metrics] if isinstance(metrics, str) else metrics
        if both := [name for name in listed or () if name in (measured or ())]:
            raise InputError(f"column {both[0]!r} is named both as an attribute and as a metric")
        paired = pair_entries(
            entries, by=listed, metrics=measured, pair=pair, cluster=settings.cluster, where=settings.conditions
        )
        if measured is None:
            paired = paired.assessable()
        paired.notes.extend(dict.fromkeys(line for entry in entries if entry.run for line in entry.run.cautions))
        paired.notes.extend(f"{entry.name} {entry.remark}" for entry in entries if entry.remark)
        return cls(entries, listed, paired, settings)

    def between(self, first: int, second: int) -> Comparison:
        """The comparison of two of the entries."""
        model_a, model_b = self.entries[first], self.entries[second]
        sides, grouped = self.sides(first, second)
        changed = overall(sides)
        parts = by_group(sides) if grouped else []
        moved, audit = gaps(sides) if grouped else ([], None)
        notes = [*self.paired.notes, *self.one_sided(first, second), *(audit.notes if audit else [])]
        unpaired = [self.paired.unpaired[first], self.paired.unpaired[second]]
        absent = self.absent(sides) if grouped else []
        decisions = decided(changed, parts, moved, sides.work.nouns, absent)
        return Comparison(
            decision=" ".join(decisions),
            decisions=decisions,
            a=model_a.name,
            b=model_b.name,
            overall=changed,
            groups=parts,
            gaps=moved,
            unpaired=unpaired,
            absent=absent,
            notes=notes,
            settings=self.stored(sides, audit),
        ).of((model_a.run, model_b.run) if model_a.run and model_b.run else None)

    def absent(self, sides: Sides) -> list[Absent]:
        """The groups that are in one entry only."""
        rows = sides.work.rows
        return absent_groups(self.entries, self.paired, list(zip(rows.chosen.attributes, rows.attributes, strict=True)))

    def stored(self, sides: Sides, audit: Audit | None) -> dict[str, Any]:
        """The settings that repeat the comparison, and what was decided on the way."""
        measured = self.judged()
        return {
            "by": audit.settings["by"] if audit else [],
            "metrics": self.paired.metrics,
            "pair": self.paired.keys,
            "where": self.settings.conditions,
            "unit": sides.work.rows.units.sentence(sides.work.rows.total),
            "ways": list(sides.work.rows.units.ways),
            "nouns": list(sides.work.rows.units.nouns),
            "delta": {n: j.delta for n, j in measured.items()},
            "better": {n: j.better for n, j in measured.items()},
            "alpha": sides.work.settings.alpha,
            "min_n": sides.work.settings.min_n,
            "depth": sides.work.depth,
            "seed": sides.work.settings.seed,
            "power": sides.work.settings.power,
            "adjust": audit.settings["adjust"] if audit else "holm",
            "adjust_why": audit.settings["adjust_why"] if audit else "",
            "permutations": audit.settings["permutations"] if audit else 0,
            "rows": self.paired.rows,
            "adjust_changes": "bh" if sides.work.settings.adjust == "bh" else "holm",
            "not_compared": audit.settings["not_compared"] if audit else [],
            "places": [entry.source.label for entry in self.entries],
            "dates": [entry.date for entry in self.entries],
            "suite": next((entry.suite for entry in self.entries if entry.suite), ""),
            "task": self.entries[0].task,
            "metric_nouns": self.entries[0].nouns,
            "licences": {what: licence for entry in self.entries for what, licence in entry.licences.items()},
        }

    def sides(self, first: int, second: int) -> tuple[Sides, bool]:
        """The scores of two entries with the groups, and whether there are groups at all."""
        return self.several([(first, second)])

    def several(self, pairs: Sequence[tuple[int, int]]) -> tuple[Sides, bool]:
        """The scores of entries, two by two, with the groups, and whether there are groups at all."""
        try:
            if self.by == []:
                raise NothingToCompare("no attribute")
            contrasts, place = self._contrasts(pairs), self.entries[0].source.label
            return Sides.of(self.paired.table, contrasts, self.judged(), self.by, self.settings, place), True
        except NothingToCompare:
            return self.whole(pairs), False

    def whole(self, pairs: Sequence[tuple[int, int]]) -> Sides:
        """The scores of entries, two by two, over all rows."""
        table = with_everyone(self.paired.table)
        return Sides.of(table, self._contrasts(pairs), self.judged(), [WHOLE], self.settings)

    def _contrasts(self, pairs: Sequence[tuple[int, int]]) -> list[Contrast]:
        contrasts = []
        for metric, values in self.paired.scores.items():
            missing, every = self.paired.missing[metric], self.paired.every.get(metric, values)
            for first, second in pairs:
                names = self.entries[first].name, self.entries[second].name
                lacks = (
                    Lacks(missing[:, first], missing[:, second], every[:, first], every[:, second])
                    if missing.any()
                    else None
                )
                kind = self.paired.kinds[metric]
                contrasts.append(Contrast(metric, *names, values[:, first], values[:, second], kind, lacks))
                if lacks is not None:
                    contrasts.append(Contrast(missing_name(metric), *names, *lacks.rates(), "rate"))
        return contrasts

    @property
    def measured(self) -> list[str]:
        """The metrics, and for each with missing scores the one of `missing_name`."""
        return [*self.paired.metrics, *(missing_name(m) for m in self.paired.metrics if self.paired.missing[m].any())]

    def judged(self) -> dict[str, Judged]:
        """The smallest difference that matters and the better direction by metric: as named, the runs', or default."""
        metrics = self.paired.metrics
        bounded = [is_bounded(self.paired.scores[name].ravel()) for name in metrics]
        common, named = parse_delta(self.settings.delta)
        first = self.entries[0]
        judgements = judged(self.settings, metrics, bounded)
        stated = parse_better(self.settings.better)
        for name in metrics:
            delta, better = judgements[name].delta, judgements[name].better
            if common is None and name not in named:
                delta = first.delta.get(name, delta)
            if name not in stated and "" not in stated:
                better = first.better.get(name, better)
            judgements[name] = Judged(delta, better)
        rate = Judged(delta_of_rates(self.settings), LOWER)
        return judgements | {name: rate for name in self.measured if name not in judgements}

    def one_sided(self, first: int, second: int) -> list[str]:
        """Notes on rows with a value of a metric in only one of two entries; refused where no row has it in both."""
        notes = []
        for name, values in self.paired.scores.items():
            have = ~np.isnan(values[:, [first, second]])
            missing = self.paired.missing[name][:, [first, second]]
            for place, entry, other in ((0, first, second), (1, second, first)):
                alone = have[:, place] & ~have[:, 1 - place]
                for rows, end in (
                    (alone & missing[:, 1 - place], "counted as missing"),
                    (alone & ~missing[:, 1 - place], "left out"),
                ):
                    if count := int(rows.sum()):
                        word = "1 row has" if count == 1 else f"{count:,} rows have"
                        pair = self.entries[entry].name, self.entries[other].name
                        notes.append(f"{name}: {word} a value in {pair[0]} and none in {pair[1]}; {end}")
            if not have.all(axis=1).any():
                raise InputError(
                    f"{name}: no row has a value in both {self.entries[first].name} and {self.entries[second].name}"
                )
        return notes

    def of_all(self) -> tuple[ComparisonQuestion, list[str]]:
        """The question on values that every entry has, and notes on the others: ranks need the same rows for all."""
        scores, notes = {}, []
        for name, values in self.paired.scores.items():
            missing = np.isnan(values).sum(axis=1)
            some = int(((missing > 0) & (missing < values.shape[1])).sum())
            if missing.all():
                raise InputError(f"{name}: no row has a value in all {len(self.entries)} models")
            if some:
                word = "1 row has" if some == 1 else f"{some:,} rows have"
                notes.append(f"{name}: {word} a value in some models and none in others; left out")
            scores[name] = np.where((missing == 0)[:, None], values, np.nan)
        return ComparisonQuestion(
            self.entries, self.by, replace(self.paired, scores=scores, every=self.paired.scores), self.settings
        ), notes


def missing_name(metric: str) -> str:
    """The name of the outcome that a metric's score is missing.

    >>> missing_name("correct")
    'correct (missing)'
    """
    return f"{metric} (missing)"
