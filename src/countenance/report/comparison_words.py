"""The words of a comparison at a glance: who loses, and the names of changes and gaps."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from countenance.auditing.verdict import DISPARITY, UNTESTABLE
from countenance.comparing import Change, Comparison, Gap, Leaderboard
from countenance.comparing.result import BETTER, CANNOT_TELL, HIGHER, LOWER, NARROWED, REVERSED, WORSE
from countenance.comparing.sides import POINTS
from countenance.data.vocabulary import UNKNOWN
from countenance.report import numbers, words
from countenance.report.groups import label, others, people
from countenance.report.metric_words import is_share, noun_in

MUCH = 3.0
"""A change of this many times what matters is called much."""
ENOUGH = "no change of {} or more"


def kind_of(change: Change | Gap) -> str:
    """How the metric's numbers are written: "rate" (as percent) or "mean" (as they are)."""
    return "rate" if change.scale == POINTS or (change.scale and is_share(change.metric)) else "mean"


def size(change: Change | Gap, value: float) -> str:
    """An amount without its sign.

    >>> size(Change(metric="ok", a="v1", b="v2", n=9, clusters=9, estimate_a=1, estimate_b=1, scale="points"), -0.327)
    '32.7 points'
    """
    return numbers.change(value, kind_of(change), sign=False)


def matters(change: Change | Gap) -> str:
    """The smallest change that matters, in words."""
    if change.delta is None:
        return "any size"
    return numbers.points(change.delta) if kind_of(change) == "rate" else f"{change.delta:g}"


def change_words(change: Change, settings: Mapping[str, Any]) -> tuple[str, str]:
    """The mark of a change, and what happened to the group.

    An interval that excludes zero is never called undecided: the words say that it looks better or worse, and why that
    is not enough.
    """
    noun, many = words.counted_nouns(settings)
    if change.verdict in (WORSE, BETTER):
        mark = {WORSE: words.MINOR if change.small else words.SEVERE, BETTER: words.FAVOURED}[change.verdict]
        return mark, change.verdict + (f", by less than {matters(change)}" if change.small else "")
    if change.verdict in (HIGHER, LOWER):
        return words.DIFFERS, change.verdict
    if change.verdict != CANNOT_TELL:
        return words.NONE, ENOUGH.format(matters(change))
    if not math.isfinite(change.low):
        return words.UNTESTED, words.too_few(many)
    least = int(settings["min_n"])
    if change.low <= 0 <= change.high or change.direction not in (WORSE, BETTER):
        return (words.UNSURE, words.not_enough(many)) if change.tested else (words.UNTESTED, words.too_few(many))
    much = "much " if change.delta and abs(change.difference) >= MUCH * change.delta else ""
    looks = f"looks {much}{change.direction}"
    if change.clusters < least:
        short = least - change.clusters
        here = numbers.plural(change.clusters, noun, many)
        return words.UNTESTED, f"{looks}; {here}, {short:,} short of the {least:,} we ask for"
    return words.UNSURE, f"{looks}; chance is not ruled out (all comparisons counted)"


def behind(value: float, better: str | None) -> bool:
    """Whether a gap is to the group's disadvantage."""
    return value > 0 if better == "lower" else value < 0


def told_side(gap: Gap) -> Gap:
    """A gap between two groups, seen from the group that lost, or from the one that caught up if the gap narrowed.

    A gap between a group and everyone else stays as it is.
    """
    side = BETTER if gap.moved == NARROWED else WORSE
    if gap.versus == "rest" or gap.direction in (side, "unknown"):
        return gap
    return gap.mirrored()


def gap_words(gap: Gap, better: str | None, settings: Mapping[str, Any]) -> tuple[str, str]:
    """The mark of a gap and how it moved, seen from the side that lost or caught up."""
    many = words.counted_nouns(settings)[1]
    if gap.verdict != DISPARITY:
        if gap.verdict.startswith("none"):
            return words.NONE, ENOUGH.format(matters(gap))
        if gap.verdict == UNTESTABLE:
            return words.UNTESTED, words.too_few(many)
        return words.UNSURE, words.not_enough(many)
    amount = size(gap, gap.difference)
    if better is None:
        return words.DIFFERS, f"the gap {gap.moved} by {amount}"
    if gap.direction == WORSE:
        if gap.moved == NARROWED:
            return words.NONE, f"lost {amount} of a lead"
        if gap.moved == REVERSED or not behind(gap.gap_a, better):
            return words.SEVERE, f"fell behind by {size(gap, gap.gap_b)}"
        return words.SEVERE, f"fell {amount} further behind"
    if gap.moved == NARROWED:
        return words.NONE, f"caught up by {amount}"
    return words.FAVOURED, f"moved {amount} ahead"


def loss(change: Change) -> float:
    """The loss of a group, by which rows are sorted, largest first; unknown comes last."""
    lost = change.difference if change.better == "lower" else -change.difference
    return lost if math.isfinite(lost) else -math.inf


def counted(change: Change) -> str:
    """How many rows got better and worse; empty if not counted.

    >>> change = Change(metric="ok", a="x", b="y", n=800, clusters=8, estimate_a=1, estimate_b=1, gained=0, lost=63)
    >>> counted(change)
    '63 of 800 got worse, none got better'
    """
    if change.gained is None or change.lost is None:
        return ""
    gained, lost = (change.lost, change.gained) if change.better == "lower" else (change.gained, change.lost)
    if not gained and not lost:
        return f"all {change.n:,} are scored alike"
    more, less = ((lost, "worse"), (gained, "better")) if lost >= gained else ((gained, "better"), (lost, "worse"))
    rest = f"{less[0]:,}" if less[0] else "none"
    return f"{more[0]:,} of {change.n:,} got {more[1]}, {rest} got {less[1]}"


def lead(comparison: Comparison) -> list[str]:
    """The comparison in a few sentences: everyone, the group that loses most, the gap that moved most.

    A sentence is added for each further metric by which everyone or a group loses.
    """
    if not comparison.overall:
        return [f"{comparison.b} against {comparison.a}: nothing can be compared."]
    first, *others_measured = comparison.overall
    sentences = [
        _everyone(first, comparison),
        _losers(first, _groups(comparison, first), comparison),
        _gap(comparison, first),
    ]
    sentences += [_further(comparison, change) for change in others_measured]
    return [sentence for sentence in sentences if sentence]


def _groups(comparison: Comparison, change: Change) -> list[Change]:
    return [g for g in comparison.groups if g.metric == change.metric and g.group != UNKNOWN]


def _further(comparison: Comparison, change: Change) -> str:
    """The sentence on a loss by a further metric: of everyone, of groups or in a gap; empty without a loss."""
    noun = noun_in(change.metric, comparison.settings)
    if change.verdict == WORSE and not change.small:
        ends = [numbers.value(value, kind_of(change)) for value in (change.estimate_a, change.estimate_b)]
        return f"{noun} is worse, too: {ends[0]} → {ends[1]}."
    if any(g.verdict == WORSE and not g.small for g in _groups(comparison, change)):
        return f"{noun}: {_losers(change, _groups(comparison, change), comparison)}"
    lost = _gap(comparison, change, lost=True)
    return f"{noun}: {lost[:1].lower()}{lost[1:]}" if lost else ""


def plain(text: str, result: Comparison | Leaderboard) -> str:
    """A decision in a page's words: groups as people, metrics by their nouns, shares in points.

    >>> rows = {"sample": list(range(400)), "masked": ["yes", "no"] * 200}
    >>> from countenance.comparing import compare
    >>> old, new = rows | {"correct": [1, 0] * 200}, rows | {"correct": [0, 1] * 200}
    >>> plain("It is worse for masked = yes.", compare(old, new, by="masked", metrics="correct"))
    'It is worse for masked.'
    """
    sides = [(change.attribute, change.group) for change in result.groups]
    sides += [(gap.attribute, gap.group) for gap in result.gaps]
    for gap in result.gaps:
        pair = f"{gap.attribute} = {gap.group} and {gap.versus}"
        text = text.replace(pair, f"{label(gap.attribute, gap.group)} and {label(gap.attribute, gap.versus)}")
    for attribute, group in sorted(set(sides), key=lambda side: (-len(side[0]) - len(side[1]), side)):
        text = text.replace(f"{attribute} = {group}", label(attribute, group))
    known = {change.metric: change for change in result.overall}
    names = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    starts = rf"(?:^|(?<= ))(?=(?:{names}): )"  # with several metrics, the sentences on each begin with its name
    return "".join(_of_metric(part, known, result.settings) for part in re.split(starts, text)) if known else text


def _of_metric(text: str, known: Mapping[str, Change], settings: Mapping[str, Any]) -> str:
    """The sentences on one metric, with its noun; the decision writes δ in points only for rates, a page for shares."""
    own = next((change for name, change in known.items() if text.startswith(f"{name}: ")), None)
    if own is not None:
        text = f"{noun_in(own.metric, settings)}{text.removeprefix(own.metric)}"
    elif len(known) == 1:
        own = next(iter(known.values()))
    if own is None or own.delta is None or own.scale == POINTS or kind_of(own) != "rate":
        return text
    return re.sub(rf"\b(by|of|than|seeing) {own.delta:g}\b", rf"\1 {matters(own)}", text)


def rows_words(settings: Mapping[str, Any]) -> str:
    """What was compared, as a noun: pictures of people, or rows."""
    counted_rows = words.unit_words(str(settings["unit"]))
    if counted_rows == settings["unit"]:
        return numbers.plural(settings["rows"], "row")
    return counted_rows.partition(";")[0]


def _everyone(change: Change, comparison: Comparison) -> str:
    how = counted(change) or (
        f"{noun_in(change.metric, comparison.settings)} {numbers.value(change.estimate_a, kind_of(change))} → "
        f"{numbers.value(change.estimate_b, kind_of(change))}"
    )
    if change.verdict in (BETTER, WORSE, HIGHER, LOWER):
        small = f", by less than {matters(change)}" if change.small else ""
        return f"{change.b} is {change.verdict} than {change.a}{small}: {how}."
    if change.verdict != CANNOT_TELL:
        return f"{change.b} and {change.a} do equally well (no difference of {matters(change)} or more): {how}."
    if math.isfinite(change.low) and change.low * change.high > 0 and change.direction in (BETTER, WORSE):
        return f"{change.b} looks {change.direction} than {change.a}, but chance is not ruled out: {how}."
    return f"Whether {change.b} is better than {change.a} cannot be told: {how}."


def _losers(first: Change, groups: Sequence[Change], comparison: Comparison) -> str:
    lost = sorted((g for g in groups if g.verdict == WORSE and not g.small), key=loss, reverse=True)
    kind = kind_of(first)
    if lost:
        worst = lost[0]
        share = f"{numbers.value(worst.estimate_a, kind)} → {numbers.value(worst.estimate_b, kind)}"
        more = f" ({numbers.plural(len(lost) - 1, 'more group loses', 'more groups lose')}, too)" if lost[1:] else ""
        return f"Worst: {people(worst.attribute, worst.group)}, {share}{more}."
    if not groups or first.delta is None:
        return ""
    open_groups = [g for g in groups if not g.not_worse]
    if not open_groups and not comparison.absent:
        return f"Nobody loses {matters(first)} or more."
    return (
        f"No group is shown to lose; a loss of {matters(first)} or more is not ruled out for "
        f"{len(open_groups):,} of {numbers.plural(len(groups), 'group')}."
    )


def _gap(comparison: Comparison, change: Change, *, lost: bool = False) -> str:
    """The gap of a metric that moved most to a group's disadvantage, else the one that narrowed most."""
    better = change.better
    gaps = [g for g in comparison.gaps if g.metric == change.metric and not g.mirrors]
    moved = [told_side(g) for g in gaps if g.verdict == DISPARITY]
    if not moved or better is None:
        return ""
    bad = [g for g in moved if g.direction == WORSE and g.moved != NARROWED]
    good = [g for g in moved if g.direction == BETTER and g.moved == NARROWED and not lost]
    shown = sorted(bad or good, key=lambda g: (g.depth, -abs(g.difference)))
    if not shown:
        return ""
    first = shown[0]
    who = people(first.attribute, first.group)
    clause = gap_words(first, better, {"ways": [], "min_n": 0})[1]
    preposition = "with" if first.direction == BETTER else "to"
    return f"{who[:1].upper()}{who[1:]} {clause}, compared {preposition} {others(first.attribute, first.versus)}."
