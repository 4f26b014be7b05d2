"""The page of a leaderboard: models and groups at a glance, then which models differ, then the details."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import countenance
from countenance.auditing.ordering import PERSON, role_of
from countenance.auditing.verdict import DISPARITY
from countenance.comparing import Change, Leaderboard, Standing
from countenance.comparing.result import BETTER, CANNOT_TELL, NARROWED, WORSE, GroupScore
from countenance.data.vocabulary import UNKNOWN
from countenance.report import numbers, render, words
from countenance.report.charts.forest import ChangeRow, Forest, ForestBlock, ForestRow, TiedForest, bounds
from countenance.report.charts.scale import Scale
from countenance.report.comparison import (
    by_attribute,
    change_forest,
    change_row,
    csv_of,
    gap_row,
    label_of,
    scale_of,
)
from countenance.report.comparison_words import kind_of, told_side
from countenance.report.findings import csv_link
from countenance.report.groups import label
from countenance.run.licences import in_words


def write_leaderboard(board: Leaderboard, out: Path | str) -> Path:
    """Write the page of a leaderboard as one self-contained HTML file and return its path."""
    mark, badge = board_badge(board)
    text = render.page(
        "leaderboard.html.j2",
        board=board,
        mark=mark,
        badge=badge,
        metrics=board_pages(board),
        gaps=moved_gaps(board),
        csv=csv_link(csv_of(board)),
        version=countenance.__version__,
        licences=in_words(board.settings["licences"]),
    )
    return render.write(Path(out), text)


def board_pages(board: Leaderboard) -> list[dict[str, Any]]:
    """The page's content for each metric: standings, groups, which models differ, all pairs."""
    pages: list[dict[str, Any]] = []
    for metric in board.settings["metrics"]:
        standings = board.standings(metric)
        pairs = [pair for pair in board.overall if pair.metric == metric]
        better = board.settings["better"][metric]
        least = int(board.settings.get("min_n", 1))
        columns = _columns(standings, better, least)
        pages.append(
            {
                "metric": metric,
                "better": better,
                "standings": standings,
                "cells": {s.model: _cells(s, columns, better, kind_of(pairs[0]), least) for s in standings},
                "by_attribute": [(name, list(own)) for name, own in itertools.groupby(columns, _first)],
                "critical": critical_differences(standings, pairs),
                "pairs": pairs_forest(board, metric, better, pairs),
            }
        )
    return pages


def critical_differences(standings: Sequence[Standing], pairs: Sequence[Change]) -> TiedForest:
    """The models with their intervals, and which of them are not shown to differ."""
    ties = cliques(standings, pairs)
    forest = standings_forest(standings, pairs[0].metric, kind_of(pairs[0]))
    return TiedForest(forest, tuple(tuple(tie) for tie in ties), ties_words(standings, ties))


def standings_forest(standings: Sequence[Standing], metric: str, kind: str) -> Forest:
    """The models, best first, each with its interval."""
    rows = [
        ForestRow(
            f"{standing.rank}{'=' if standing.tied else ''}  {standing.model}",
            standing.estimate,
            standing.low,
            standing.high,
            numbers.value(standing.estimate, kind),
            numbers.span(standing.low, standing.high, kind),
            numbers.plural(standing.n, "row"),
            words.NONE,
            n=standing.n,
            clusters=standing.clusters,
        )
        for standing in standings
    ]
    return Forest(metric, metric, Scale.around(bounds(rows), kind, least=0.02), (ForestBlock("", tuple(rows)),))


def pairs_forest(board: Leaderboard, metric: str, better: str | None, pairs: Sequence[Change]) -> Forest:
    """Every two models: the second minus the first."""
    rows = tuple(change_row(pair, f"{pair.a} → {pair.b}", board.settings) for pair in pairs)
    return change_forest(metric, better, [ForestBlock("", rows)], scale_of(pairs), board.settings)


def cliques(standings: Sequence[Standing], pairs: Sequence[Change]) -> list[tuple[int, ...]]:
    """The largest runs of models, by rank, in which no two are shown to differ; runs of one are left out."""
    apart = {
        frozenset((pair.a, pair.b))
        for pair in pairs
        if pair.verdict != CANNOT_TELL and not pair.verdict.startswith("no ")
    }
    models = [standing.model for standing in standings]
    runs: list[tuple[int, ...]] = []
    for start in range(len(models)):
        end = start + 1
        while end < len(models) and all(frozenset((models[end], model)) not in apart for model in models[start:end]):
            end += 1
        run = tuple(range(start, end))
        if len(run) > 1 and not any(set(run) <= set(other) for other in runs):
            runs.append(run)
    return runs


def ties_words(standings: Sequence[Standing], ties: Sequence[tuple[int, ...]]) -> str:
    """The models that are not shown to differ, as a clause."""
    names = [", ".join(standings[place].model for place in tie) for tie in ties]
    return "; ".join(f"{models} cannot be told apart" for models in names) or "all models differ"


def _first(column: tuple[str, str, str]) -> str:
    return column[0]


def moved_gaps(board: Leaderboard) -> list[tuple[str, list[ChangeRow]]]:
    """For each model compared with the first: the gaps that changed, seen from the side that lost."""
    blocks = []
    for model in board.models[1:]:
        gaps = [told_side(g) for g in board.gaps if g.b == model and g.verdict == DISPARITY and not g.mirrors]
        rows = [gap_row(g, f"{label(g.attribute, g.group)} ({g.metric})", board.settings) for g in gaps]
        blocks.append((model, rows))
    return blocks if board.gaps else []


def board_badge(board: Leaderboard) -> tuple[str, str]:
    """The mark and the word of a leaderboard: whether the model in first place can be chosen without a loss.

    >>> from countenance.comparing import leaderboard
    >>> rows = {"sample": list(range(400))}
    >>> board_badge(leaderboard([rows | {"ok": [1, 0] * 200}, rows | {"ok": [1, 1] * 200}], metrics="ok"))
    ('none', 'one model is first')
    """
    first = {standing.model for standing in board.ranking if standing.rank == 1}
    worse = [g for g in board.groups if g.b in first and g.verdict == WORSE and not g.small]
    gaps = [told_side(g) for g in board.gaps if g.b in first and g.verdict == DISPARITY and not g.mirrors]
    widened = [g for g in gaps if g.moved != NARROWED and g.direction != BETTER]
    if worse:
        return words.SEVERE, f"{worse[0].b}, which is first, is worse for some people than {worse[0].a}"
    if widened:
        return words.SEVERE, f"a gap of {widened[0].b}, which is first, is wider than with {widened[0].a}"
    tied = [pair for pair in board.overall if {pair.a, pair.b} <= first]
    if any(pair.verdict == CANNOT_TELL for pair in tied):
        return words.UNSURE, "who is first cannot be told"
    return words.NONE, "one model is first" if len(first) == 1 else "several models share first place"


def _columns(standings: Sequence[Standing], better: str | None, least: int) -> list[tuple[str, str, str]]:
    """The groups of all models: attribute, group and label.

    Attributes with the largest loss of a group under any model come first; of those without one, attributes of people.
    """
    groups = [score for score in standings[0].groups if score.group != UNKNOWN] if standings else []
    lost: dict[str, float] = {}
    for standing in standings:
        for score in standing.groups:
            if _is_below(score, standing, better, least):
                lost[score.attribute] = max(lost.get(score.attribute, 0.0), abs(score.estimate - standing.estimate))
    blocks = sorted(
        by_attribute(groups), key=lambda block: (-lost.get(block[0], 0.0), role_of([block[0]], {}) != PERSON)
    )
    return [(name, score.group, label_of(name, score.group)) for name, own in blocks for score in own]


def _is_below(score: GroupScore, standing: Standing, better: str | None, least: int) -> bool:
    """Whether the interval of a large enough group lies entirely on the worse side of the model's overall number."""
    if score.clusters < least:
        return False
    return score.low > standing.estimate if better == "lower" else score.high < standing.estimate


def _cells(
    standing: Standing, columns: Sequence[tuple[str, str, str]], better: str | None, kind: str, least: int
) -> dict[tuple[str, str], dict[str, Any]]:
    """A model's numbers in the groups; the worst group of each attribute is marked.

    It is red if its interval lies beyond the model's number for everyone.
    """
    scores = [standing.group(attribute, group) for attribute, group, _ in columns]
    sign = -1.0 if better == "lower" else 1.0
    worst = set()
    for name, members in itertools.groupby(scores, key=lambda score: score.attribute):
        own = list(members)
        if len({score.estimate for score in own}) > 1:
            worst.add((name, min(own, key=lambda score: sign * score.estimate).group))
    return {
        (score.attribute, score.group): {
            "value": numbers.value(score.estimate, kind),
            "interval": numbers.span(score.low, score.high, kind),
            "n": score.n,
            "attribute": score.attribute,
            "group": score.group,
            "who": label(score.attribute, score.group),
            "worst": (score.attribute, score.group) in worst,
            "below": _is_below(score, standing, better, least),
        }
        for score in scores
    }
