"""The page of a comparison of two models, the page of a leaderboard, and both as CSV."""

import csv
import io
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

import countenance
from countenance.auditing.units import nouns
from countenance.auditing.verdict import DISPARITY
from countenance.comparing import Change, Comparison, Gap, Leaderboard, Standing
from countenance.comparing.result import BETTER, CANNOT_TELL, NARROWED, WORSE
from countenance.data.vocabulary import in_order
from countenance.report import changed, numbers, render, words
from countenance.report.figures import critical, forest
from countenance.report.figures.scale import Scale
from countenance.report.findings import csv_link, safe_cell
from countenance.report.names import attribute_label, value_label
from countenance.run.licences import in_words

LEAST_POINTS, LEAST_OTHER = 0.02, 1e-9
ADJUSTED = {
    "holm": "Holm’s",
    "bh": "Benjamini and Hochberg’s (false discovery rate)",
}


@dataclass(frozen=True)
class ComparisonRow:
    """A line of a forest plot of changes or of gaps."""

    label: str
    n: int
    clusters: int
    plot: Markup
    old: str
    new: str
    difference: str
    interval: str
    p: str
    mark: str
    verdict: str
    note: str
    of: Change | Gap


@dataclass(frozen=True)
class Plot:
    """A forest plot of one metric."""

    metric: str
    better: str
    axis: Markup
    empty: Markup
    blocks: list[tuple[str, list[ComparisonRow]]]
    scale: Scale


def write_comparison(found: Comparison, entries: Sequence[Any], out: Path | str, *, gallery: str = "auto") -> Path:
    """Write the page of a comparison as one self-contained HTML file and return its path.

    `entries` are the two runs or tables: samples that changed are shown (runs) or named (tables).
    """
    galleries = changed.galleries(found, entries, gallery)
    mark, badge = badge_of(found)
    text = render.page(
        "comparison.html.j2",
        found=found,
        mark=mark,
        badge=badge,
        tops=[_top(one) for one in found.overall],
        changes=change_plots(found),
        gaps=gap_plots(found),
        galleries=galleries,
        adjusted=_adjusted(found.settings),
        nouns=nouns(found.settings["ways"]),
        csv=csv_link(csv_of(found)),
        version=countenance.__version__,
        licences=in_words(found.settings["licences"]),
    )
    return render.write(Path(out), text)


def change_plots(found: Comparison) -> list[Plot]:
    """For each metric: everyone and every group, new minus old."""
    return [plot for name in found.settings["metrics"] if (plot := _changes(found, name))]


def gap_plots(found: Comparison) -> list[Plot]:
    """For each metric: every gap, the group's change minus that of the others."""
    return [plot for name in found.settings["metrics"] if (plot := _gaps(found, name))]


def write_leaderboard(found: Leaderboard, out: Path | str) -> Path:
    """Write the page of a leaderboard as one self-contained HTML file and return its path."""
    mark, badge = board_badge(found)
    text = render.page(
        "leaderboard.html.j2", found=found, mark=mark, badge=badge, boards=board_pages(found), gaps=moved_gaps(found),
        csv=csv_link(csv_of(found)), version=countenance.__version__, licences=in_words(found.settings["licences"]),
    )  # fmt: skip
    return render.write(Path(out), text)


def board_pages(found: Leaderboard) -> list[dict[str, Any]]:
    """What is said of each metric: standings, groups as columns, who can be told apart, all pairs."""
    boards: list[dict[str, Any]] = []
    for metric in found.settings["metrics"]:
        standings = found.standings(metric)
        pairs = [pair for pair in found.overall if pair.metric == metric]
        better = found.settings["better"][metric]
        boards.append(
            {
                "metric": metric,
                "better": better,
                "standings": standings,
                "columns": _columns(standings),
                "cells": {one.model: _cells(one, _columns(standings), better, pairs[0].scale) for one in standings},
                "scale": "rate" if pairs[0].scale else "mean",
                "by_attribute": [(name, list(own)) for name, own in itertools.groupby(_columns(standings), _first)],
                "ties": critical.cliques([one.model for one in standings], pairs),
                "picture": critical.picture(standings, pairs, better, f"cd-{len(boards)}"),
                "pairs": [_row(pair, f"{pair.b} − {pair.a}", _scale(pairs)) for pair in pairs],
                "axis": forest.axis(_scale(pairs)),
            }
        )
    return boards


def _first(column: tuple[str, str, str]) -> str:
    return column[0]


def moved_gaps(found: Leaderboard) -> list[tuple[str, list[ComparisonRow]]]:
    """For each model compared with the first: the gaps that changed."""
    made = []
    for model in found.models[1:]:
        changed_gaps = [g for g in found.gaps if g.b == model and g.verdict == DISPARITY and not g.mirrors]
        scale = _scale(changed_gaps)
        rows = [_gap_row(g, f"{g.metric}: {attribute_label(g.attribute)} {_label(g.attribute, g.group)}", scale)
                for g in changed_gaps]  # fmt: skip
        made.append((model, rows))
    return made if found.gaps else []


def badge_of(found: Comparison) -> tuple[str, str]:
    """The mark and the word of a comparison: is it safe to move to b?

    >>> from countenance.comparing import compare
    >>> rows = {"sample": list(range(400))}
    >>> badge_of(compare(rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}, metrics="correct"))
    ('none', 'better')
    """
    verdicts = [one.verdict for one in found.overall]
    worse = [g for g in found.groups if g.verdict == WORSE and not g.small]
    widened = [g for g in found.gaps if g.verdict == DISPARITY and g.moved != NARROWED and not g.mirrors]
    if any(one.verdict == WORSE and not one.small for one in found.overall):
        return words.SEVERE, "worse overall"
    if worse:
        return words.SEVERE, "worse for some people"
    if widened:
        return words.MINOR, "a gap widened"
    if CANNOT_TELL in verdicts:
        return words.UNSURE, "cannot tell"
    if any(g.delta is not None and not g.not_worse for g in found.groups if g.group != "(unknown)") or found.absent:
        return words.UNSURE, f"{verdicts[0]} overall; a loss is not ruled out for everyone"
    return words.NONE, BETTER if BETTER in verdicts else verdicts[0]


def board_badge(found: Leaderboard) -> tuple[str, str]:
    """The mark and the word of a leaderboard: may a model that is first be taken?

    >>> from countenance.comparing import leaderboard
    >>> rows = {"sample": list(range(400))}
    >>> board_badge(leaderboard([rows | {"ok": [1, 0] * 200}, rows | {"ok": [1, 1] * 200}], metrics="ok"))
    ('none', 'one model is first')
    """
    first = {one.model for one in found.ranking if one.rank == 1}
    worse = [g for g in found.groups if g.b in first and g.verdict == WORSE and not g.small]
    widened = [g for g in found.gaps if g.b in first and g.verdict == DISPARITY and g.moved != NARROWED]
    if worse:
        return words.SEVERE, f"{worse[0].b}, which is first, is worse for some people than {worse[0].a}"
    if [g for g in widened if g.direction != "better" and not g.mirrors]:
        return words.MINOR, f"a gap of {widened[0].b}, which is first, is wider than with {widened[0].a}"
    tied = [one for one in found.overall if {one.a, one.b} <= first]
    if any(one.verdict == CANNOT_TELL for one in tied):
        return words.UNSURE, "who is first cannot be told"
    return words.NONE, "one model is first" if len(first) == 1 else "models that are alike are first"


def change_mark(one: Change) -> str:
    """The mark of a change: who fares worse is marked as a failure, who fares better as favoured."""
    if one.verdict == WORSE:
        return words.MINOR if one.small else words.SEVERE
    if one.verdict == BETTER:
        return words.FAVOURED
    if one.verdict == CANNOT_TELL:
        return words.UNSURE if one.tested else words.UNTESTED
    return words.NONE if one.verdict.startswith("no ") else words.MINOR


def gap_mark(gap: Gap) -> str:
    """The mark of a gap: one that narrowed, or in which the group gained, does not look like a failure."""
    if gap.verdict == DISPARITY and (gap.direction == "better" or gap.moved == NARROWED):
        return words.FAVOURED
    return words.mark(gap.verdict, gap.severity)


def _kind(one: Change | Gap) -> str:
    return "rate" if one.scale else "mean"


def _scale(shown: Sequence[Change | Gap]) -> Scale:
    bounds = [bound for one in shown for bound in (one.difference, one.low, one.high)]
    kind = "points" if shown and shown[0].scale else "mean"
    return Scale.around([*bounds, 0.0], kind, least=LEAST_POINTS if kind == "points" else LEAST_OTHER)


def _top(one: Change) -> dict[str, str]:
    kind = _kind(one)
    lower = "; lower is better" if one.better == "lower" else ""
    flips = f"; {one.gained:,} went from wrong to right, {one.lost:,} back" if one.gained is not None else ""
    return {
        "metric": one.metric,
        "difference": numbers.change(one.difference, kind),
        "interval": numbers.change_span(one.low, one.high, kind),
        "about": f"{numbers.value(one.estimate_a, kind)} → {numbers.value(one.estimate_b, kind)}, "
        f"n = {one.n:,}{lower}{flips}",
    }


def _row(one: Change, label: str, scale: Scale) -> ComparisonRow:
    kind, mark = _kind(one), change_mark(one)
    note = f"by less than {one.delta:g}" if one.small and one.verdict in (WORSE, BETTER) else ""
    if one.verdict == CANNOT_TELL and not one.tested:
        note = one.reason
    return ComparisonRow(
        label, one.n, one.clusters, forest.row(scale, one.difference, one.low, one.high, mark, 0.0),
        numbers.value(one.estimate_a, kind), numbers.value(one.estimate_b, kind),
        numbers.change(one.difference, kind), numbers.change_span(one.low, one.high, kind),
        numbers.probability(one.p_adjusted), mark, one.verdict, note, one,
    )  # fmt: skip


def _gap_row(gap: Gap, label: str, scale: Scale) -> ComparisonRow:
    kind, mark = _kind(gap), gap_mark(gap)
    verdict = gap.moved or gap.verdict
    note = f"{gap.severity} {gap.verdict}" if gap.moved else gap.reason if gap.verdict == words.UNTESTABLE else ""
    return ComparisonRow(
        label, gap.n, gap.clusters, forest.row(scale, gap.difference, gap.low, gap.high, mark, 0.0),
        numbers.change(gap.gap_a, kind), numbers.change(gap.gap_b, kind), numbers.change(gap.difference, kind),
        numbers.change_span(gap.low, gap.high, kind), numbers.probability(gap.p_adjusted), mark, verdict, note, gap,
    )  # fmt: skip


def _plot(
    metric: str, better: str | None, shown: list[Any], blocks: list[tuple[str, list[ComparisonRow]]], scale: Scale
) -> Plot:
    empty = forest.row(scale, math.nan, math.nan, math.nan, words.UNTESTED, 0.0)
    return Plot(metric, better or "", forest.axis(scale), empty, blocks, scale)


def _changes(found: Comparison, metric: str) -> Plot | None:
    """Everyone and every group: new minus old."""
    shown = [one for one in [*found.overall, *found.groups] if one.metric == metric]
    if not shown:
        return None
    scale = _scale(shown)
    blocks = [("everyone", [_row(shown[0], "everyone", scale)])]
    for name, own in _by_attribute(shown[1:]):
        blocks.append((attribute_label(name), [_row(one, _label(name, one.group), scale) for one in own]))
    return _plot(metric, shown[0].better, shown, blocks, scale)


def _gaps(found: Comparison, metric: str) -> Plot | None:
    """Every gap: the group's change minus that of the others."""
    shown = [gap for gap in found.gaps if gap.metric == metric and not gap.mirrors]
    if not shown:
        return None
    scale = _scale(shown)
    blocks = []
    for name, own in _by_attribute(shown):
        rows = []
        for gap in own:
            other = "" if gap.versus == "rest" else f" − {_label(name, gap.versus)}"
            rows.append(_gap_row(gap, _label(name, gap.group) + other, scale))
        blocks.append((attribute_label(name), rows))
    return _plot(metric, found.settings["better"][metric], shown, blocks, scale)


def _label(attribute: str, group: str) -> str:
    return value_label(attribute, group) if " × " not in attribute else group


def _by_attribute(shown: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Groups by attribute, in their natural order."""
    made = []
    for name, own in itertools.groupby(shown, key=lambda one: one.attribute):
        listed = list(own)
        order = {value: i for i, value in enumerate(in_order(name, [one.group for one in listed]))}
        made.append((name, sorted(listed, key=lambda one: order.get(one.group, len(order)))))
    return made


def _columns(standings: Sequence[Standing]) -> list[tuple[str, str, str]]:
    """The groups of all models as columns: attribute, group and label."""
    groups = [one for one in standings[0].groups if one.group != "(unknown)"] if standings else []
    return [(name, one.group, _label(name, one.group)) for name, own in _by_attribute(groups) for one in own]


def _cells(
    standing: Standing, columns: Sequence[tuple[str, str, str]], better: str | None, scale: str
) -> list[dict[str, Any]]:
    """A model's numbers in the groups; the worst group of each attribute is marked."""
    scores = [standing.group(attribute, group) for attribute, group, _ in columns]
    sign = -1.0 if better == "lower" else 1.0
    worst = set()
    for name, own in itertools.groupby(scores, key=lambda one: one.attribute):
        listed = list(own)
        if len(listed) > 1:
            worst.add((name, min(listed, key=lambda one: sign * one.estimate).group))
    kind = "rate" if scale else "mean"
    return [
        {
            "value": numbers.value(one.estimate, kind),
            "interval": numbers.span(one.low, one.high, kind),
            "n": one.n,
            "attribute": one.attribute,
            "group": one.group,
            "worst": (one.attribute, one.group) in worst,
        }
        for one in scores
    ]


def _adjusted(settings: dict[str, Any]) -> str:
    """How gaps were adjusted, in words."""
    if settings["adjust"] == "minp":
        return f"by step-down min-p over {settings['permutations']:,} joint permutations of the labels"
    why = f" ({settings['adjust_why']})" if settings["adjust_why"] else ""
    return f"by {ADJUSTED[settings['adjust']]} rule{why}"


def csv_of(found: Comparison | Leaderboard) -> str:
    """One line for each change and each gap (and each standing); the column `part` says which."""
    parts: list[tuple[str, Sequence[Any]]] = [("overall", found.overall), ("group", found.groups), ("gap", found.gaps)]
    if isinstance(found, Leaderboard):
        parts.insert(0, ("ranking", found.ranking))
    rows = [{"part": part} | one.model_dump(exclude={"groups"}) for part, some in parts for one in some]
    if isinstance(found, Leaderboard):
        rows += [
            {"part": "group score", "metric": one.metric, "model": one.model} | each.model_dump()
            for one in found.ranking
            for each in one.groups
        ]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["part"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([safe_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue()
