"""The page of a comparison of two models, and comparisons as CSV."""

import contextlib
import csv
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import countenance
from countenance.auditing.verdict import DISPARITY
from countenance.comparing import Change, Comparison, Gap, Leaderboard
from countenance.comparing.result import BETTER, CANNOT_TELL, NARROWED, WORSE
from countenance.data.vocabulary import UNKNOWN, in_order
from countenance.errors import InputError
from countenance.report import changes, numbers, render, words
from countenance.report.charts.dumbbells import Dumbbell, Dumbbells
from countenance.report.charts.forest import ChangeRow, Forest, ForestBlock, change_marks
from countenance.report.charts.scale import Scale
from countenance.report.comparison_words import change_words, counted, gap_words, kind_of, lead, loss, told_side
from countenance.report.findings import csv_link, safe_cell
from countenance.report.fragments import fragment
from countenance.report.groups import colours, label, others
from countenance.report.names import attribute_label, value_label
from countenance.run.licences import in_words

LEAST_POINTS, LEAST_OTHER = 0.02, 1e-9
SHOWN = 10
"""Groups on the first screen; the others are folded."""
NOTEBOOK = 6
ADJUSTED = {
    "holm": "Holm’s",
    "bh": "Benjamini and Hochberg’s (false discovery rate)",
}


Links = Callable[[Change], tuple[str, str, str]]


def write_comparison(comparison: Comparison, entries: Sequence[Any], out: Path | str, *, gallery: str = "auto") -> Path:
    """Write the page of a comparison as one self-contained HTML file and return its path.

    `entries` are the two runs or tables: samples that changed are shown (runs) or named (tables).
    """
    galleries = changes.galleries(comparison, entries, gallery)
    text = render.page(
        "comparison.html.j2",
        **first_screen(comparison),
        tops=[_top(change) for change in comparison.overall],
        changes=change_plots(comparison),
        gaps=gap_plots(comparison),
        galleries=galleries,
        adjusted=_adjusted(comparison.settings),
        csv=csv_link(csv_of(comparison)),
        version=countenance.__version__,
        licences=in_words(comparison.settings["licences"]),
    )
    return render.write(Path(out), text)


def first_screen(comparison: Comparison, links: Links | None = None, shown: int = SHOWN) -> dict[str, Any]:
    """The beginning of every view of a comparison: mark, sentences and dumbbells of the first metric."""
    mark, badge = badge_of(comparison)
    first, *further = lead(comparison)
    return {
        "comparison": comparison,
        "mark": mark,
        "badge": badge,
        "sentence": first,
        "further": further,
        "dumbbells": dumbbells(comparison, comparison.overall[0].metric, links, shown) if comparison.overall else None,
        "nouns": words.counted_nouns(comparison.settings),
    }


def comparison_html(comparison: Comparison) -> str:
    """The first screen of a comparison, for a notebook; of runs with the people of whom the models differ."""
    context = first_screen(comparison, shown=NOTEBOOK)
    if comparison.compared is not None:
        with contextlib.suppress(InputError, OSError):  # a run that was moved or changed has no pictures to show
            context["galleries"] = changes.faces_of(comparison, comparison.compared)
    return fragment("comparison_first.html.j2", tables=True, notebook=True, **context)


def dumbbells(comparison: Comparison, metric: str, links: Links | None = None, shown: int = SHOWN) -> Dumbbells:
    """The dumbbells of everyone and every group by one metric: largest loss first, those too small to test last.

    Intersections are listed only in the folded part.
    """
    own = [change for change in comparison.groups if change.metric == metric and change.group != UNKNOWN and change.n]

    def small(group: Change) -> bool:
        return change_words(group, comparison.settings)[0] == words.UNTESTED

    ordered = sorted(own, key=lambda g: (g.depth > 1, small(g), -loss(g)))
    everyone = next(change for change in comparison.overall if change.metric == metric)
    singles = sum(change.depth == 1 for change in ordered)
    visible = min(shown, singles)
    every = [everyone, *ordered]
    ends = [end for change in every for end in (change.estimate_a, change.estimate_b)]
    kind = kind_of(everyone)
    scale = Scale.around(ends, kind, least=LEAST_POINTS if kind == "rate" else LEAST_OTHER)
    rows = [_dumbbell(change, comparison, links) for change in every]
    return Dumbbells(metric, scale, rows[0], rows[1 : 1 + visible], rows[1 + visible :])


def _dumbbell(change: Change, comparison: Comparison, links: Links | None) -> Dumbbell:
    mark, verdict = change_words(change, comparison.settings)
    kind = kind_of(change)
    who = label(change.attribute, change.group)
    return Dumbbell(
        who=f"{who[:1].upper()}{who[1:]}",
        size=numbers.plural(change.clusters, *words.counted_nouns(comparison.settings)),
        ends=(change.estimate_a, change.estimate_b),
        old=numbers.value(change.estimate_a, kind),
        new=numbers.value(change.estimate_b, kind),
        difference=numbers.change(change.difference, kind),
        interval=numbers.change_span(change.low, change.high, kind),
        mark=mark,
        verdict=verdict,
        colours=colours(change.attribute, change.group),
        links=None if links is None else links(change),
    )


def change_plots(comparison: Comparison) -> list[Forest]:
    """For each metric: everyone and every group, new minus old."""
    return [plot for name in comparison.settings["metrics"] if (plot := _changes(comparison, name))]


def gap_plots(comparison: Comparison) -> list[Forest]:
    """For each metric: every gap, the group's change minus that of the others."""
    return [plot for name in comparison.settings["metrics"] if (plot := _gaps(comparison, name))]


def badge_of(comparison: Comparison) -> tuple[str, str]:
    """The mark and the word of a comparison: whether it is safe to move to b.

    >>> from countenance.comparing import compare
    >>> rows = {"sample": list(range(400))}
    >>> badge_of(compare(rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}, metrics="correct"))
    ('none', 'better')
    """
    verdicts = [change.verdict for change in comparison.overall]
    worse = [g for g in comparison.groups if g.verdict == WORSE and not g.small]
    gaps = [told_side(g) for g in comparison.gaps if g.verdict == DISPARITY and not g.mirrors]
    widened = [g for g in gaps if g.moved != NARROWED and g.direction != BETTER]
    if any(change.verdict == WORSE and not change.small for change in comparison.overall):
        return words.SEVERE, "worse overall"
    if worse:
        return words.SEVERE, "worse for some people"
    if widened:
        return words.SEVERE, "a gap widened"
    if CANNOT_TELL in verdicts:
        return words.UNSURE, "cannot tell"
    open_groups = [g for g in comparison.groups if g.delta is not None and not g.not_worse and g.group != UNKNOWN]
    if open_groups or comparison.absent:
        overall = "no difference that matters" if verdicts[0].startswith("no ") else verdicts[0]
        return words.UNSURE, f"{overall} overall; for some groups a loss is not ruled out"
    return words.NONE, BETTER if BETTER in verdicts else verdicts[0]


def scale_of(changes: Sequence[Change | Gap]) -> Scale:
    """The scale of some differences, around zero."""
    bounds = [bound for change in changes for bound in (change.difference, change.low, change.high)]
    kind = "points" if changes and kind_of(changes[0]) == "rate" else "mean"
    return Scale.around([*bounds, 0.0], kind, least=LEAST_POINTS if kind == "points" else LEAST_OTHER)


def _top(change: Change) -> dict[str, str]:
    kind = kind_of(change)
    lower = "; lower is better" if change.better == "lower" else ""
    flips = f"; {counted(change)}" if counted(change) else ""
    return {
        "metric": change.metric,
        "difference": numbers.change(change.difference, kind),
        "interval": numbers.change_span(change.low, change.high, kind),
        "about": f"{numbers.value(change.estimate_a, kind)} → {numbers.value(change.estimate_b, kind)}{lower}{flips}",
    }


def change_row(change: Change, label: str, settings: dict[str, Any]) -> ChangeRow:
    """A change as a row of a forest plot."""
    kind = kind_of(change)
    values = numbers.value(change.estimate_a, kind), numbers.value(change.estimate_b, kind)
    return _row(change, label, values, change_words(change, settings))


def gap_row(gap: Gap, label: str, settings: dict[str, Any]) -> ChangeRow:
    """A gap as a row of a forest plot."""
    kind = kind_of(gap)
    values = numbers.change(gap.gap_a, kind), numbers.change(gap.gap_b, kind)
    return _row(gap, label, values, gap_words(gap, settings["better"][gap.metric], settings))


def _row(change: Change | Gap, label: str, values: tuple[str, str], verdict: tuple[str, str]) -> ChangeRow:
    kind = kind_of(change)
    difference = numbers.change(change.difference, kind)
    return ChangeRow(
        label=label,
        estimate=change.difference,
        low=change.low,
        high=change.high,
        value=difference,
        interval=numbers.change_span(change.low, change.high, kind),
        size=numbers.plural(change.n, "row"),
        mark=verdict[0],
        verdict=verdict[1],
        n=change.n,
        clusters=change.clusters,
        difference=difference,
        old=values[0],
        new=values[1],
        p=numbers.probability(change.p_adjusted),
        change=change,
    )


def change_forest(
    metric: str, better: str | None, blocks: Sequence[ForestBlock], scale: Scale, settings: Mapping[str, Any]
) -> Forest:
    """Differences around zero."""
    marks = change_marks(words.counted_nouns(settings)[1])
    axis = f"{metric}: change" + (" (lower is better)" if better == "lower" else "")
    return Forest(metric, axis, scale, tuple(blocks), 0.0, "no difference", marks, better)


def _changes(comparison: Comparison, metric: str) -> Forest | None:
    """Everyone and every group: new minus old."""
    own = [change for change in [*comparison.overall, *comparison.groups] if change.metric == metric]
    if not own:
        return None
    settings = comparison.settings
    blocks = [ForestBlock("", (change_row(own[0], "everyone", settings),))]
    for name, listed in by_attribute(own[1:]):
        rows = [change_row(change, label_of(name, change.group), settings) for change in listed]
        blocks.append(ForestBlock(attribute_label(name), tuple(rows)))
    return change_forest(metric, own[0].better, blocks, scale_of(own), comparison.settings)


def _gaps(comparison: Comparison, metric: str) -> Forest | None:
    """Every gap, seen from the side that lost or caught up: the group's change minus that of the others."""
    own = [told_side(gap) for gap in comparison.gaps if gap.metric == metric and not gap.mirrors]
    if not own:
        return None
    blocks = []
    for name, listed in by_attribute(own):
        rows = []
        for gap in listed:
            against = "" if gap.versus == "rest" else f" against {others(name, gap.versus)}"
            rows.append(gap_row(gap, label_of(name, gap.group) + against, comparison.settings))
        blocks.append(ForestBlock(attribute_label(name), tuple(rows)))
    return change_forest(metric, comparison.settings["better"][metric], blocks, scale_of(own), comparison.settings)


def label_of(attribute: str, group: str) -> str:
    """A group under the heading of its attribute."""
    return value_label(attribute, group) if " × " not in attribute else group


def by_attribute(listed: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Groups by attribute, in their natural order."""
    blocks = []
    for name, members in itertools.groupby(listed, key=lambda change: change.attribute):
        own = list(members)
        order = {value: i for i, value in enumerate(in_order(name, [change.group for change in own]))}
        blocks.append((name, sorted(own, key=lambda change: order.get(change.group, len(order)))))
    return blocks


def _adjusted(settings: dict[str, Any]) -> str:
    """How gaps were adjusted, in words."""
    if settings["adjust"] == "minp":
        return f"by step-down min-p over {settings['permutations']:,} joint permutations of the labels"
    why = f" ({settings['adjust_why']})" if settings["adjust_why"] else ""
    return f"by {ADJUSTED[settings['adjust']]} rule{why}"


def csv_of(result: Comparison | Leaderboard) -> str:
    """One line for each change and each gap (and each standing); the column `part` says which."""
    parts: list[tuple[str, Sequence[Any]]] = [
        ("overall", result.overall),
        ("group", result.groups),
        ("gap", result.gaps),
    ]
    if isinstance(result, Leaderboard):
        parts.insert(0, ("ranking", result.ranking))
    rows = [{"part": part} | entry.model_dump(exclude={"groups"}) for part, some in parts for entry in some]
    if isinstance(result, Leaderboard):
        rows += [
            {"part": "group score", "metric": standing.metric, "model": standing.model} | score.model_dump()
            for standing in result.ranking
            for score in standing.groups
        ]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["part"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([safe_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue()
