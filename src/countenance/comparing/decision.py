"""The decision as plain sentences: is b better than a, for whom is it worse, and which gaps moved."""

from __future__ import annotations

import math
from collections.abc import Sequence

from countenance.auditing.comparisons import REST
from countenance.auditing.table import UNKNOWN
from countenance.auditing.units import plural
from countenance.auditing.verdict import DISPARITY, INSUFFICIENT, UNTESTABLE
from countenance.comparing.result import (
    BETTER,
    CANNOT_TELL,
    HIGHER,
    LOWER,
    NARROWED,
    REVERSED,
    WIDENED,
    WORSE,
    Absent,
    Change,
    Gap,
)

MOST_NAMED = 3
SHOWN = 0.05
"""Adjusted p below which a change too small to matter is still mentioned."""


def decided(
    overall: Sequence[Change],
    groups: Sequence[Change],
    gaps: Sequence[Gap],
    nouns: tuple[str, str],
    absent: Sequence[Absent] = (),
) -> list[str]:
    """The sentences on each metric and on groups that could not be compared, each with at most three numbers.

    Everyone comes first, then for whom it is worse, then the gaps that moved.
    """
    decisions = []
    for change in overall:
        own = [each for each in groups if each.metric == change.metric]
        moved = [gap for gap in gaps if gap.metric == change.metric and not gap.mirrors]
        losing = _losing(change, own)
        names = listed([f"{g.attribute} = {g.group}" for g in losing]) if losing else ""
        contrast = f" but worse for {names}" if losing and change.verdict == BETTER else ""
        about_gaps = _gaps(moved, contrast=change.verdict == BETTER and not losing)
        below = [_loss(losing, contrast, names), "" if losing else _worse(change, own, bool(absent)), *about_gaps]
        sentences = [f"{_overall(change, nouns)}{contrast}", *(part[:1].upper() + part[1:] for part in below if part)]
        text = " ".join(f"{sentence}." for sentence in sentences)
        decisions.append(f"{change.metric}: {text}" if len(overall) > 1 else text)
    return decisions + ([_absent(absent)] if absent else [])


def _absent(absent: Sequence[Absent]) -> str:
    names = [f"{g.attribute} = {g.group} ({plural(g.rows, 'row', 'rows')}, only in {g.model})" for g in absent]
    return f"Not compared, because no row has a partner: {listed(names)}."


def amount(change: Change | Gap, value: float, *, sign: bool = True) -> str:
    """A change in words: points of 100 for metrics between 0 and 1, else the number.

    >>> rate = Change(metric="ok", a="v1", b="v2", n=9, clusters=9, estimate_a=0.5, estimate_b=0.512,
    ...               scale="points")
    >>> amount(rate, 0.012), amount(rate, -0.004, sign=False)
    ('+1.2 points', '−0.4 points')
    """
    return f"{number(change, value, sign=sign)}{' points' if in_points(change) else ''}"


def number(change: Change | Gap, value: float, *, sign: bool = False) -> str:
    """The number alone."""
    scaled = 100 * value if in_points(change) else value
    digits = 1 if in_points(change) or abs(scaled) >= 10 else 3
    text = f"{scaled:+,.{digits}f}" if sign else f"{scaled:,.{digits}f}"
    zero = text.strip("+-0.,") == ""
    return (text.lstrip("+-") if zero else text).replace("-", "−")


def margin(change: Change | Gap) -> str:
    """The smallest change that matters (δ), in the unit of `amount`.

    >>> margin(Change(metric="ok", a="v1", b="v2", n=9, clusters=9, estimate_a=0.5, estimate_b=0.5, scale="points",
    ...               delta=0.05))
    '5 points'
    """
    assert change.delta is not None
    scaled = 100 * change.delta if in_points(change) else change.delta
    return f"{scaled:g}{(' point' if scaled == 1 else ' points') if in_points(change) else ''}"


def in_points(change: Change | Gap) -> bool:
    """Whether a metric lies between 0 and 1, so that a hundredth of it is a point."""
    return change.scale == "points"


def _interval(change: Change) -> str:
    return f"{amount(change, change.difference)}, {number(change, change.low)} to {number(change, change.high)}"


def _overall(change: Change, nouns: tuple[str, str]) -> str:
    if math.isnan(change.difference):
        return f"nothing can be said: {change.reason}"
    if change.verdict in (BETTER, WORSE):
        small = f", less than {margin(change)}" if change.small and change.verdict == WORSE else ""
        return f"{change.b} is {change.verdict} overall ({_interval(change)}{small})"
    if change.verdict in (HIGHER, LOWER):
        return (
            f"{change.b} is {change.verdict} overall ({_interval(change)}; which way is better was not said: "
            "the setting better says it)"
        )
    if change.verdict == CANNOT_TELL:
        needed = ""
        if change.clusters_needed and change.clusters_needed > change.clusters:
            needed = f", and seeing {margin(change)} takes about {change.clusters_needed - change.clusters:,} more"
        here = f"{plural(change.clusters, *nouns)}{needed}" if change.tested else change.reason
        if change.tested and (change.low > 0 or change.high < 0):  # this interval is unadjusted
            here = f"adjusted p {change.p_adjusted:.2g}; {here}"
        return f"the evidence cannot tell whether {change.b} is better overall ({_interval(change)}; {here})"
    wide = change.delta is not None and max(-change.low, change.high) >= change.delta
    decides = "; two one-sided tests decide that, not this interval" if wide else ""
    return f"{change.b} and {change.a} do not differ by {margin(change)} or more overall ({_interval(change)}{decides})"


def _losing(change: Change, groups: Sequence[Change]) -> list[Change]:
    """The groups for which b is worse, the largest loss first."""
    if change.better is None:
        return []
    worse = [g for g in groups if g.group != UNKNOWN and g.verdict == WORSE and not g.small]
    return sorted(worse, key=lambda g: (g.depth, _worst(g)))


def _loss(losing: Sequence[Change], contrast: str, names: str) -> str:
    """The sentence on the largest loss of a group; other losing groups are named unless they were before."""
    if not losing:
        return ""
    first = losing[0]
    if contrast:
        return f"{first.attribute} = {first.group} changed by {_interval(first)}"
    return f"it is worse for {names}: {first.attribute} = {first.group} changed by {_interval(first)}"


def _worse(change: Change, groups: Sequence[Change], absent: bool) -> str:
    """The sentence where b is worse for no group: whether a loss of δ is ruled out for everyone."""
    known = [g for g in groups if g.group != UNKNOWN]
    if not known or change.better is None:
        return ""
    if change.delta is None:
        return f"it is shown to be worse for none of {plural(len(known), 'group', 'groups')}"
    uncertain = sorted((g for g in known if not g.not_worse), key=_worst)
    if uncertain:
        few = sum(not g.tested for g in uncertain)
        names = listed([f"{g.attribute} = {g.group}" for g in uncertain])
        why = f" ({plural(few, 'group is', 'groups are')} too small to test)" if few else ""
        return f"a loss of {margin(change)} or more is not ruled out for {names}{why}"
    return f"it is worse for nobody {'who was compared ' if absent else ''}by more than {margin(change)}"


def _worst(change: Change) -> float:
    gain = -change.difference if change.better == LOWER else change.difference
    return gain if math.isfinite(gain) else -math.inf


def _gaps(gaps: Sequence[Gap], *, contrast: bool = False) -> list[str]:
    """How the gaps moved: a sentence each for those that widened, reversed and narrowed."""
    if not gaps:
        return []
    changed = sorted((g for g in gaps if g.verdict == DISPARITY), key=lambda g: (g.depth, -abs(g.difference)))
    if changed:
        # Where a group falls behind, all others move ahead of their rest, and vice versa; only the group itself is
        # reported.
        largest = max(abs(g.difference) for g in changed)
        news = [g for g in changed if g.versus != REST or g.direction != _mirrored(g) or abs(g.difference) == largest]
        sentences: list[str] = []
        for word in (WIDENED, REVERSED, NARROWED):
            own = [g for g in news if g.moved == word]
            if own:
                names = listed([f"{_between(own[0])} {word} ({_from_to(own[0])})", *(_between(g) for g in own[1:])])
                but = "but " if contrast and word != NARROWED and not sentences else ""
                sentences.append(f"{but}the gap {names}")
        return sentences
    unsure = sum(g.verdict in (INSUFFICIENT, UNTESTABLE) for g in gaps)
    if unsure:
        some = "any of the " if unsure == len(gaps) else f"{unsure} of the "
        which = f"{some}{len(gaps)} gaps" if len(gaps) > 1 else "the gap"
        return [f"whether {which} changed cannot be told"]
    if gaps[0].delta is None:
        return []
    grown = [g for g in gaps if _grew(g)]
    small = f", but the one {_between(grown[0])} grew by less ({_from_to(grown[0])})" if grown else ""
    return [f"no gap changed by {margin(gaps[0])} or more{small}"]


def _mirrored(gap: Gap) -> str:
    """The direction in which a group moved if its gap changed only because another group's did."""
    return WORSE if gap.moved == NARROWED else BETTER


def _grew(gap: Gap) -> bool:
    """Whether a group is shown to have fallen further behind, though by less than δ."""
    shown = gap.p_adjusted < SHOWN and (gap.low > 0 or gap.high < 0)
    return shown and gap.direction != BETTER and abs(gap.gap_b) > abs(gap.gap_a)


def _between(gap: Gap) -> str:
    if gap.versus == REST:
        return f"for {gap.attribute} = {gap.group}"
    return f"between {gap.attribute} = {gap.group} and {gap.versus}"


def _from_to(gap: Gap) -> str:
    return f"from {number(gap, gap.gap_a, sign=True)} to {amount(gap, gap.gap_b)}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; of a long list the first few, and how many more there are.

    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
    ('a', 'a and b', 'a, b, c and 3 more')
    """
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
