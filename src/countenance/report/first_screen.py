"""The first screen: whom the model fails, how sure that is, and pictures of the people.

It is built once as a value; the page, the first page of the PDF, the notebook and the viewer render it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from countenance.auditing import Finding
from countenance.auditing.groups import SPLIT
from countenance.auditing.ordering import PERSON, role_of
from countenance.auditing.units import row_noun
from countenance.report import numbers, words
from countenance.report.album import Album
from countenance.report.charts.forest import UNMARKED, Forest, ForestBlock, ForestRow, bounds
from countenance.report.charts.scale import Scale
from countenance.report.harms import (
    EVERYONE,
    FACE,
    MISSING,
    TWINS,
    Harm,
    HarmSide,
    everyone,
    harms,
    kind_shown,
    metric_words,
    people_counted,
    shown_kind,
    unit_in,
)
from countenance.report.ladder import Ladder, ladders
from countenance.report.members import GroupRows
from countenance.report.names import REST, Names, attribute_label
from countenance.report.sentences import (
    average_words,
    counts_sentence,
    failed_by_all,
    finding_sentence,
    harm_sentence,
    in_sentences,
    in_two,
    sentence,
    unconfirmed_line,
    wider_sentence,
)
from countenance.report.source import Audited
from countenance.report.tiles import Failures, failures
from countenance.tasks import Metric

MOST_LINES, WORST = 4, 3
UNDER_WAY = "Being tested."


@dataclass(frozen=True)
class HarmLine:
    """A line of the lists *Who* and *When*."""

    label: str
    text: str
    more: str
    swatch: Markup
    mark: str
    key: tuple[str, str, str] | None


@dataclass(frozen=True)
class FirstScreen:
    """The content of the first screen."""

    mark: str
    sentence: str
    second: str
    who: list[HarmLine]
    when: list[HarmLine]
    more_who: str
    """How many more there are, and of which metric; empty where the list is whole."""
    more_when: str
    no_who: str
    """What stands for an empty list *Who*: nothing is confirmed, or nothing of the kind was compared."""
    no_when: str
    forest: Forest | None
    """The three worst confirmed groups and everyone, on one scale; its note counts the others."""
    failures: Failures
    ladders: list[Ladder]
    how_sure: str
    unconfirmed: str
    counted: str

    @property
    def ladder(self) -> Ladder | None:
        """The ladder that opens the report of a run on twins."""
        return self.ladders[0] if self.ladders else None


def first_screen(
    source: Audited, model: str, album: Album | None = None, *, too_many_failed: bool = False
) -> FirstScreen:
    """The first screen of an audit; without an album the people are dots."""
    album = Album("off") if album is None else album
    ordered = harms(source)
    members = GroupRows(source)
    rungs = ladders(source, album)
    lead, second = _lead(source, model, ordered, rungs, too_many_failed=too_many_failed)
    who, when = [h for h in ordered if h.is_person], [h for h in ordered if not h.is_person]
    who_differ, when_differ = _differing_lines(source)
    return FirstScreen(
        overall_mark(source),
        lead,
        second,
        [*(_line(h, source.names) for h in who), *who_differ][:MOST_LINES],
        [*(_line(h, source.names) for h in when), *when_differ][:MOST_LINES],
        _more(who, len(who_differ)),
        _more(when, len(when_differ)),
        *_empty_lists(source),
        _forest(source, ordered),
        failures(source, ordered, Album("off") if rungs else album, members),
        rungs,
        _how_sure(source, ordered, rungs),
        unconfirmed_line(source),
        _counted(source),
    )


def untested_screen(source: Audited, model: str, album: Album | None = None) -> FirstScreen:
    """The first screen while comparisons are still being tested: how many of all the model fails, and pictures."""
    album = Album("off") if album is None else album
    return FirstScreen(
        words.UNTESTED,
        counts_sentence(source, model) or _number_of_all(source, model),
        "",
        [],
        [],
        "",
        "",
        UNDER_WAY,
        UNDER_WAY,
        _forest(source, []),
        failures(source, [], album, GroupRows(source)),
        [],
        UNDER_WAY,
        "",
        _counted(source),
    )


def _number_of_all(source: Audited, model: str) -> str:
    """The first metric of everyone as a sentence; the model alone where nothing was measured."""
    for metric in source.metrics:
        if whole := source.overall.get(metric.name):
            wording = metric_words(source, metric.name)[1]
            kind = shown_kind(whole.metric_kind, wording)
            return f"{model}: {wording.noun} {numbers.percent(whole.estimate, kind)}."
    return f"{model}."


def terminal_words(source: Audited, model: str) -> str:
    """The first words of the first screen as a terminal prints them: sentences of at most three numbers."""
    ordered = harms(source)
    rungs = ladders(source, Album("off")) if source.audit.settings.get("paired_by") else []
    lead, _ = _lead(source, model, ordered, rungs, too_many_failed=False)
    whole = sentence(source, model, ordered)
    differing = sum(f.verdict == words.DISPARITY for f in source.audit.findings)
    led = bool(ordered) and not rungs and whole.endswith(harm_sentence(model, ordered[0]))
    if led:
        lead = in_sentences(whole, ordered[0].words.verb)
    if rungs and not rungs[0].confirmed:
        lead = f"{lead} {rungs[0].not_shown}"
        return f"{lead} {numbers.plural(differing, 'comparison differs', 'comparisons differ')}." if differing else lead
    more = differing - 1 if led or rungs else 0
    return f"{lead} {numbers.plural(more, 'more comparison differs', 'more comparisons differ')}." if more > 0 else lead


def _lead(
    source: Audited, model: str, ordered: Sequence[Harm], rungs: Sequence[Ladder], *, too_many_failed: bool
) -> tuple[str, str]:
    """The leading sentence, and the sentence below it."""
    first = sentence(source, model, ordered, too_many_failed=too_many_failed)
    if too_many_failed or failed_by_all(source) is not None:
        below = finding_sentence(source, model, ordered)
        below = in_sentences(below, ordered[0].words.verb) if ordered else below
        return first, rungs[0].sentence if rungs else below
    if rungs:
        return rungs[0].sentence, rungs[0].about
    if not ordered:
        return first, counts_sentence(source, model)
    head, rest = in_two(first, ordered[0].words.verb)
    second = _wider(ordered)
    return head, f"{rest} {wider_sentence(second) if second else ''}".strip()


def _differing(source: Audited) -> list[Finding]:
    """The confirmed gaps by a metric whose better direction is unknown, the largest first."""
    shown = [f for f in source.audit.findings if f.verdict == words.DISPARITY and f.kind == "group"]
    shown = [f for f in shown if f.direction not in (words.WORSE, words.BETTER)]
    return sorted(shown, key=lambda f: -abs(f.difference))


def _differing_lines(source: Audited) -> tuple[list[HarmLine], list[HarmLine]]:
    """Those gaps as lines for the lists, without naming a worse side."""
    who: list[HarmLine] = []
    when: list[HarmLine] = []
    for f in _differing(source):
        noun = metric_words(source, f.metric)[1].noun
        others = "others" if f.versus == REST else source.names.who(f.attribute, f.versus)
        values = [numbers.percent(value, kind_shown(f, source)) for value in (f.estimate, f.estimate_versus)]
        line = HarmLine(
            source.names.who(f.attribute, f.group),
            f"{noun} {values[0]}, {others} {values[1]}",
            "",
            source.names.swatch(f.attribute, f.group),
            words.own_mark(f),
            (f.metric, f.attribute, f.group),
        )
        (who if f.role == PERSON else when).append(line)
    return who, when


def _empty_lists(source: Audited) -> tuple[str, str]:
    """The words for empty lists *Who* and *When*."""
    roles = source.audit.settings.get("roles") or {}
    compared = {role_of([name], roles) for name in source.names.by} | {f.role for f in source.audit.findings}
    no_gap, none_compared = "No confirmed gap.", "Nothing of this kind was compared."
    if not source.audit.findings:
        return "Nothing could be compared.", "Nothing could be compared."
    return (
        no_gap if PERSON in compared else none_compared,
        no_gap if compared - {PERSON} else none_compared,
    )


def _more(listed: Sequence[Harm], differing: int = 0) -> str:
    """The lines that a list leaves out: "7 more", "7 more in box fit", "7 more, 2 of them in box fit"."""
    if differing:
        left_out = len(listed) + differing - MOST_LINES
        return f"{numbers.count(left_out)} more" if left_out > 0 else ""
    left = listed[MOST_LINES:]
    others = [h for h in left if h.words.noun != listed[0].words.noun]
    nouns = " and ".join(dict.fromkeys(h.words.noun for h in others))
    if not others:
        return f"{numbers.count(len(left))} more" if left else ""
    many = "" if len(others) == len(left) else f", {numbers.count(len(others))} of them"
    return f"{numbers.count(len(left))} more{many} in {nouns}"


def _how_sure(source: Audited, ordered: Sequence[Harm], rungs: Sequence[Ladder]) -> str:
    """How sure the leading statement is: the change of the ladder, else the largest harm."""
    if rungs:
        sure = rungs[0].how_sure(source.audit.settings)
        return sure if rungs[0].confirmed or ordered else f"{sure} {words.summary(source.audit)}"
    chosen = [harm.finding for harm in ordered] or _differing(source)
    chosen = chosen or [f for f in source.audit.findings if f.verdict == words.DISPARITY]  # somebody is served better
    return words.how_sure(chosen[0], source.audit.settings) if chosen else words.summary(source.audit)


def _wider(ordered: Sequence[Harm]) -> Harm | None:
    """After an intersection, the largest harm of a single attribute; else the next on the other list."""
    if not ordered:
        return None
    lead = ordered[0]
    if lead.finding.depth > 1:
        return next((h for h in ordered[1:] if h.finding.depth == 1 and h.losing.failed is not None), None)
    return next((h for h in ordered[1:] if h.is_person != lead.is_person and h.losing.failed is not None), None)


def overall_mark(source: Audited) -> str:
    """The mark of the whole result.

    It is severe if a gap is severe or if the model fails too many of all, and served better if every gap shown favours
    a group over everyone else.
    """
    if failed_by_all(source) is not None:
        return words.SEVERE
    if source.audit.verdict == words.DISPARITY and words.only_favoured(source.audit):
        return words.FAVOURED
    shown = {words.own_mark(f) for f in source.audit.findings if f.verdict == words.DISPARITY}
    if source.audit.verdict == words.DISPARITY and shown == {words.DIFFERS}:
        return words.DIFFERS
    severe = any(f.severity == words.SEVERE for f in source.audit.findings)
    return words.mark(source.audit.verdict, words.SEVERE if severe else words.MINOR)


def _line(harm: Harm, names: Names) -> HarmLine:
    key = harm.key if harm.finding.kind == "group" else None
    return HarmLine(_line_label(harm, names), harm.text, harm.more, harm.swatch, _mark(harm), key)


def _line_label(harm: Harm, names: Names) -> str:
    """The label of the losing group; a changed value of twins is named with its attribute: "skin tone: Monk 10"."""
    label, attribute = harm.losing.label, harm.finding.attribute
    value = harm.finding.kind == TWINS and names.version(attribute, harm.losing.group) is None
    name = attribute_label(attribute)
    return f"{name}: {label}" if value and harm.is_person and name not in label else label


def _mark(harm: Harm) -> str:
    return words.own_mark(harm.finding)


def _counted(source: Audited) -> str:
    """What was measured, in words: the number of pictures (or rows), and of people, by the metric of most rows.

    A metric may leave rows out: of an age check, the adults.
    """
    whole = max(source.overall.values(), key=lambda estimate: estimate.n, default=None)
    if whole is None:
        return ""
    noun, nouns = words.cluster_noun(source.audit.settings)
    if "unnamed" in noun:
        return f"{numbers.plural(whole.n, 'picture')} of people"
    if unit_in(source, whole.n, whole.clusters) == FACE:
        return numbers.plural(whole.n, FACE)
    if whole.clusters and whole.clusters != whole.n:
        unit = row_noun(source.audit.settings.get("ways") or [])
        return f"{numbers.plural(whole.n, unit)} of {numbers.plural(whole.clusters, noun, nouns)}"
    return numbers.plural(whole.n, *words.counted_nouns(source.audit.settings))


def _forest(source: Audited, ordered: Sequence[Harm]) -> Forest | None:
    """The worst confirmed groups of the leading metric; without one, the tested groups with the worst numbers."""
    metric = ordered[0].metric if ordered else source.metrics[0] if source.metrics else None
    if metric is None:
        return None
    if ordered and ordered[0].finding.kind == MISSING:
        return _missing_forest(source, ordered)
    own = [h for h in ordered if h.metric.name == metric.name and h.finding.kind != "missing"][:WORST]
    whole = everyone(source, metric)
    kind = ordered[0].kind if ordered else source.overall[metric.name].metric_kind if whole else "mean"
    wording = metric_words(source, metric.name)[1]
    kind = shown_kind(kind, wording)
    chosen: list[tuple[HarmSide, Harm | None]] = [(h.losing, h) for h in own]
    if not own:
        chosen = [(side, None) for side in _foremost(source, metric, whole)]
    rows = [_row(side, harm, kind, metric, source) for side, harm in chosen]
    if whole:
        rows.append(_row(whole, None, kind, metric, source))
    if not rows:
        return None
    return Forest(
        metric.name,
        metric.name,
        Scale.around(bounds(rows), kind),
        (ForestBlock("", tuple(rows)),),
        whole.estimate if whole else None,
        better=metric.better,
        noun=f"{wording.noun}{average_words(wording)}",
        note=rest_words(source, metric, ordered),
    )


def _missing_forest(source: Audited, ordered: Sequence[Harm]) -> Forest:
    """The forest of missing predictions: the worst groups, and the other side of the first."""
    own = [h for h in ordered if h.finding.kind == MISSING][:WORST]
    rows = [_row(h.losing, h, "rate", h.metric, source) for h in own]
    first = own[0]
    other = _row(first.other, None, "rate", first.metric, source)
    rows.append(replace(other, mark=UNMARKED, verdict=""))
    rows = [
        replace(row, size=side.counts) for row, side in zip(rows, (*(h.losing for h in own), first.other), strict=True)
    ]
    metric = f"missing {first.metric.name}"
    scale = Scale.around(bounds(rows), "rate")
    return Forest(metric, metric, scale, (ForestBlock("", tuple(rows)),), better="lower", noun=first.words.noun)


def _foremost(source: Audited, metric: Metric, whole: HarmSide | None) -> list[HarmSide]:
    """The tested groups with the worst numbers, for a first screen without a confirmed harm.

    Where it is not known which way is better, those that are confirmed to differ, then those furthest from everyone.
    """
    tested = {
        (f.attribute, g) for f in source.audit.findings if f.verdict != words.UNTESTABLE for g in (f.group, f.versus)
    }
    groups = [
        e
        for e in source.audit.groups
        if e.metric == metric.name and e.depth == 1 and e.n and (e.attribute, e.group) in tested
    ]
    sign = -1.0 if metric.better == "lower" else 1.0
    rate = metric.better is not None
    groups.sort(key=lambda e: sign * e.estimate)
    if not rate and whole is not None:
        differ = {(f.attribute, g) for f in _differing(source) if f.metric == metric.name for g in (f.group, f.versus)}
        groups.sort(key=lambda e: ((e.attribute, e.group) not in differ, -abs(e.estimate - whole.estimate)))
    foremost = []
    for e in groups[:WORST]:
        share = e.estimate if metric.better == "lower" else 1 - e.estimate
        failed = round(share * e.n) if rate and e.metric_kind == "rate" else None
        label = source.names.who(e.attribute, e.group)
        foremost.append(
            HarmSide(
                e.attribute,
                e.group,
                label,
                label,
                e.n,
                people_counted(e.clusters, source.audit.settings),
                e.estimate,
                e.low,
                e.high,
                failed,
                unit_in(source, e.n, e.clusters, source.overall.get(metric.name)),
            )
        )
    return foremost


def _row(side: HarmSide, harm: Harm | None, kind: str, metric: Metric, source: Audited) -> ForestRow:
    """A row of a group that is served worse, of one with its own verdict, or of everyone."""
    everybody = side.group in (EVERYONE, REST)
    grouped = not everybody and (harm is None or harm.finding.kind == "group")
    mark, verdict = (_mark(harm), "served worse") if harm else _own_verdict(side, metric, source)
    return ForestRow(
        side.label,
        side.estimate,
        side.low,
        side.high,
        numbers.percent(side.estimate, kind),
        numbers.likely(side.low, side.high, kind),
        _right(side, metric, source.audit.settings),
        mark,
        verdict,
        side.n,
        side.clusters,
        colours=() if everybody else source.names.colours(side.attribute, side.group),
        key=(metric.name, side.attribute, side.group) if grouped else (metric.name, "", ""),
    )


def _own_verdict(side: HarmSide, metric: Metric, source: Audited) -> tuple[str, str]:
    """The mark and the verdict in words of a group that is not shown to be served worse."""
    if side.group in (EVERYONE, REST):
        return UNMARKED, ""
    own = [
        f
        for f in source.audit.findings
        if f.metric == metric.name and f.attribute == side.attribute and side.group in (f.group, f.versus)
    ]
    if not own:
        return UNMARKED, ""
    mark = words.mark_of(own[0], side.group)
    return mark, "not confirmed" if mark == words.UNSURE else words.finding_label(
        own[0], source.audit.settings, side.group
    )


def _right(side: HarmSide, metric: Metric, settings: Mapping[str, Any]) -> str:
    """A rate as counts (n of N), in the direction of the rate; for other numbers how many people or rows there are."""
    if side.failed is None or not math.isfinite(side.estimate):
        noun, many = words.cluster_noun(settings)
        if side.unit or noun == "image":
            noun, many = (side.unit, f"{side.unit}s") if side.unit else ("person", "people")
        return numbers.plural(side.n, noun, many)
    counted = side.failed if metric.better == "lower" else side.n - side.failed
    return f"{numbers.count(counted)} of {numbers.count(side.n)}"


def rest_words(source: Audited, metric: Metric, ordered: Sequence[Harm]) -> str:
    """How the comparisons of a metric ended, as counts of groups; a range of values counts if it is in `ordered`."""
    own = [f for f in source.audit.findings if f.metric == metric.name and f.kind in ("group", TWINS)]
    own += [h.finding for h in ordered if h.finding.kind == SPLIT and h.metric.name == metric.name]
    marks = [words.mark_of(f, words.failed_side(f)) for f in own]
    shown = sum(m in (words.SEVERE, words.MINOR) for m in marks)
    many = words.counted_nouns(source.audit.settings)[1]
    counts = (
        (shown, "group served worse", "groups served worse"),
        (marks.count(words.DIFFERS), "group that differs", "groups that differ"),
        (marks.count(words.FAVOURED), "served better", "served better"),
        (marks.count(words.NONE), "cleared", "cleared"),
        (marks.count(words.UNSURE), f"with {words.not_enough(many)}", f"with {words.not_enough(many)}"),
        (marks.count(words.UNTESTED), "with too few to test", "with too few to test"),
    )
    return " · ".join(numbers.plural(n, noun, nouns) for n, noun, nouns in counts if n)
