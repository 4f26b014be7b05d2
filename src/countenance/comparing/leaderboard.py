"""Many models on the same rows: ranks with ties where the evidence is too weak, and every group's number."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.auditing import estimates
from countenance.auditing.directions import LOWER
from countenance.auditing.finding import Estimate
from countenance.auditing.ranking import Ranking, in_order, ranked
from countenance.auditing.settings import Judged
from countenance.auditing.units import plural
from countenance.comparing.changes import by_group, overall
from countenance.comparing.comparison import ComparisonQuestion
from countenance.comparing.decision import decided, in_points, listed, margin, number
from countenance.comparing.entries import entries_of
from countenance.comparing.gaps import gaps
from countenance.comparing.result import Change, GroupScore, Leaderboard, Standing
from countenance.run.auditing import EVERYONE, WHOLE, with_everyone

ALL = ("alpha", "cluster", "depth", "max_groups")


def leaderboard(
    entries: Sequence[Any],
    by: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    *,
    against_first: bool = False,
    **settings: Any,
) -> Leaderboard:
    """Rank runs or tables on the rows that all of them have; settings as in `compare`.

    `against_first` also compares the groups and gaps of every model with those of the first.

    >>> rows = {"sample": list(range(300))}
    >>> models = [rows | {"ok": [1] * k + [0] * (300 - k)} for k in (200, 205, 280)]
    >>> board = leaderboard(models, metrics="ok", names=["x", "y", "z"])
    >>> [(standing.model, standing.rank, standing.tied) for standing in board.ranking]
    [('z', 1, False), ('y', 2, True), ('x', 2, True)]
    """
    opened = entries_of(entries, settings.pop("names", None))
    question, left_out = ComparisonQuestion.of(opened, by, metrics, **settings).of_all()
    names = [entry.name for entry in opened]
    remarks = {entry.name: entry.remark for entry in opened}
    sides = question.whole(list(itertools.combinations(range(len(names)), 2)))
    pairs = overall(sides)
    judged = {name: judgement for name, judgement in question.judged().items() if name in question.paired.metrics}
    scored, grouped = _scored(question)
    standings: list[Standing] = []
    rankings = []
    for metric in question.paired.metrics:
        whole = {e.metric: e for e in scored if e.attribute == WHOLE and e.group == EVERYONE}
        values = np.array([whole[_column(metric, i)].estimate for i in range(len(names))])
        ranking = _ranking(names, metric, values, pairs, judged[metric].better, question.settings.alpha)
        rankings.append(ranking)
        for model, rank, tied in zip(ranking.names, ranking.ranks, ranking.tied, strict=True):
            column = _column(metric, names.index(model))
            own = [_group_score(e) for e in grouped if e.metric == column]
            standing = _standing(metric, model, rank, tied, whole[column], own)
            standings.append(standing.model_copy(update={"remark": remarks[model]}))
    decisions = [_decision(rankings, judged, pairs, sides.work.nouns)]
    notes = [*question.paired.notes, *left_out]
    details: dict[str, Any] = {"groups": [], "gaps": [], "absent": []}
    audit = None
    if against_first:
        first, grouped_too = question.several([(0, i) for i in range(1, len(names))])
        if grouped_too:
            # One family for all models: adjusted separately, one of ten models would look worse by chance.
            details["groups"] = by_group(first)
            details["gaps"], audit = gaps(first)
            details["absent"] = question.absent(first)
            notes += audit.notes
        decisions += _against_first(names, pairs, details, sides.work.nouns)
    return Leaderboard(
        decision=" ".join(decisions),
        decisions=decisions,
        models=names,
        ranking=standings,
        overall=pairs,
        **details,
        unpaired=question.paired.unpaired,
        notes=list(dict.fromkeys(notes)),
        settings=question.stored(sides, audit),
    )


def _against_first(
    names: Sequence[str], pairs: Sequence[Change], details: dict[str, Any], nouns: tuple[str, str]
) -> list[str]:
    """The comparison of each further model with the first: whether it is better, and for whom it is worse."""
    decisions = []
    for name in names[1:]:
        changed = [pair for pair in pairs if pair.a == names[0] and pair.b == name]
        groups, moved = ([record for record in details[part] if record.b == name] for part in ("groups", "gaps"))
        absent = [record for record in details["absent"] if record.model in (names[0], name)]
        decisions.append(f"Against {names[0]}: {' '.join(decided(changed, groups, moved, nouns, absent))}")
    return decisions


def _column(metric: str, model: int) -> str:
    return f"{metric} ({model})"


def _scored(question: ComparisonQuestion) -> tuple[list[Estimate], list[Estimate]]:
    """Every model's number over all rows that all models have, and in each group."""
    import pyarrow as pa

    table = with_everyone(question.paired.table)
    columns = []
    for metric, values in question.paired.scores.items():
        for i in range(values.shape[1]):
            columns.append(_column(metric, i))
            table = table.append_column(f"m.{columns[-1]}", pa.array(values[:, i], pa.float64(), from_pandas=True))
    options = {name: getattr(question.settings, name) for name in ALL}
    whole = estimates(table, [WHOLE], columns, **options)
    sides, grouped = question.sides(0, 1)
    if not grouped:
        return whole, []
    chosen = question.by or [choice.name for choice in sides.work.rows.chosen.attributes]
    return whole, [e for e in estimates(table, chosen, columns, **options) if e.n]


def _ranking(
    names: Sequence[str], metric: str, values: Any, pairs: Sequence[Change], better: str | None, alpha: float
) -> Ranking:
    sign = -1.0 if better == LOWER else 1.0
    intervals, adjusted = [], []
    for i, j in in_order(names, sign * values):
        pair = next(
            change for change in pairs if change.metric == metric and {change.a, change.b} == {names[i], names[j]}
        )
        low, high = (pair.low, pair.high) if pair.b == names[i] else (-pair.high, -pair.low)
        intervals.append((i, j, *((low, high) if sign > 0 else (-high, -low)), pair.p))
        adjusted.append(pair.p_adjusted if pair.shown else max(pair.p_adjusted, alpha))
    return ranked(names, sign * values, intervals, alpha, adjusted)


def _group_score(e: Estimate) -> GroupScore:
    return GroupScore(
        attribute=e.attribute, group=e.group, n=e.n, clusters=e.clusters, estimate=e.estimate, low=e.low, high=e.high
    )


def _standing(metric: str, model: str, rank: int, tied: bool, whole: Estimate, groups: list[GroupScore]) -> Standing:
    return Standing(
        metric=metric,
        model=model,
        rank=rank,
        tied=tied,
        n=whole.n,
        clusters=whole.clusters,
        estimate=whole.estimate,
        low=whole.low,
        high=whole.high,
        groups=groups,
    )


def _decision(
    rankings: Sequence[Ranking], judged: Mapping[str, Judged], pairs: Sequence[Change], nouns: tuple[str, str]
) -> str:
    """The models in first place by each metric, and their lead if it is confirmed."""
    sentences = []
    for (metric, known), ranking in zip(judged.items(), rankings, strict=True):
        own = [pair for pair in pairs if pair.metric == metric]
        first = ranking.first
        if len(first) == 1 and len(ranking.names) > 1:
            second = ranking.pair(first[0], ranking.names[1])
            scale = (
                f"{number(own[0], second.difference)} points"
                if in_points(own[0])
                else number(own[0], second.difference)
            )
            what = "is better" if known.better else "is higher"
            words = f"{first[0]} {what} than all others (ahead of {ranking.names[1]} by {scale})"
            tied = [name for name, rank in zip(ranking.names, ranking.ranks, strict=True) if rank == ranking.ranks[1]]
            if len(tied) > 1:
                words += f"; {listed(tied)} share rank {ranking.ranks[1]}"
        else:
            every = "all share" if 2 < len(first) == len(ranking.names) else "share"
            words = f"{listed(first)} {every} first place: {_why_tied(first, own, nouns)}"
        if known.better is None:
            words += " (which way is better was not said: the setting better says it)"
        sentences.append(f"{metric}: {words}." if len(judged) > 1 else f"{words}.")
    return " ".join(sentences)


def _why_tied(first: Sequence[str], pairs: Sequence[Change], nouns: tuple[str, str]) -> str:
    tied = [pair for pair in pairs if pair.a in first and pair.b in first]
    if all(pair.small for pair in tied):
        return f"they do not differ by {margin(tied[0])} or more"
    return f"{plural(pairs[0].clusters, *nouns)} cannot tell them apart"
