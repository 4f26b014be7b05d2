"""The twin ladder: a row per person, a column per value of the one thing that changes, a frame for found or missed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.auditing import Finding
from countenance.auditing.directions import LOWER
from countenance.auditing.headline import deltas_of
from countenance.auditing.ordering import PERSON, role_of
from countenance.auditing.table import text_of
from countenance.data.vocabulary import in_order
from countenance.report import numbers, words
from countenance.report.album import Album
from countenance.report.harms import TWINS, metric_words
from countenance.report.members import GroupRows
from countenance.report.metric_words import MetricWords
from countenance.report.names import swatch, value_label
from countenance.report.source import Audited
from countenance.report.twin_words import UNCHANGED as AS_BEFORE
from countenance.report.twin_words import changed_label, end_labels, later_copy, thing_words
from countenance.tasks import Metric

MOST_COLUMNS = 8
FIRST_ROWS, MORE_ROWS = 5, 8
THUMB = 112
VALUE = "value of the metric"
UNCHANGED = ("", "none", "base", "original")


@dataclass(frozen=True)
class Rung:
    """One version of one person."""

    state: str
    """failed, right or nothing."""
    word: str
    picture: Markup | None
    about: str


@dataclass(frozen=True)
class Ladder:
    """All versions of the people for whom one change decides, with the totals of everybody."""

    attribute: str
    name: str
    """What changes, as a sentence names it."""
    sentence: str
    about: str
    columns: list[tuple[Markup, str]]
    rows: list[tuple[str, list[Rung]]]
    """The rows; the first of them are on the first screen."""
    left: int
    totals: list[tuple[int, int]]
    """By column: how many failed, of how many."""
    word: str
    decided: int
    people: int
    shown: Finding | None
    """The confirmed finding of the ladder's own measure that represents it: the one with the largest loss."""
    role: str
    not_shown: str
    """What is not confirmed for which measure, then the other measures that differ."""

    @property
    def confirmed(self) -> bool:
        """Whether it is confirmed that this change alone decides."""
        return self.shown is not None

    def how_sure(self, settings: Mapping[str, Any]) -> str:
        """How sure it is that this change alone decides."""
        return self.not_shown if self.shown is None else words.how_sure(self.shown, settings)


def ladders(source: Audited, album: Album) -> list[Ladder]:
    """A ladder for each thing that was changed.

    Confirmed ones come first, then those of the person, then those that decide for most people.
    """
    names = source.audit.settings.get("paired_by") or {}
    table = source.scores
    base, change = (_column(table, str(names.get(role, role))) for role in ("base", "change"))
    if base is None or change is None or not names or not source.metrics:
        return []
    if not any(f.kind == TWINS for f in source.audit.findings):
        return []
    metric = _metric(source)
    if metric is None:
        return []
    rows = _rows(source, metric, base)
    families: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        families[(row[base], row.get("subject"))].append(row)
    things = dict.fromkeys(text_of(row[change]) for row in rows if not _is_base(row, base, change))
    drawn = [_ladder(source, album, metric, thing, families, (base, change)) for thing in things]
    whole = [ladder for ladder in drawn if ladder is not None]
    return sorted(
        whole, key=lambda ladder: (not (ladder.confirmed and ladder.decided), ladder.role != PERSON, -ladder.decided)
    )


def _column(table: Any, name: str) -> str | None:
    return next((c for c in (f"attr.{name}", name) if c in table.column_names), None)


def _metric(source: Audited) -> Metric | None:
    """The ladder's metric, of those whose better direction is known: the first rate, else the first."""
    kinds = {f.metric: f.metric_kind for f in source.audit.findings if f.kind == TWINS}
    known = [m for m in source.metrics if m.better is not None and m.name in kinds]
    return next((m for m in known if kinds[m.name] == "rate"), known[0] if known else None)


def _rows(source: Audited, metric: Metric, base: str) -> list[dict[str, Any]]:
    """The rows of twins that have the metric, with its value as `value`."""
    values = GroupRows(source).values(metric.name).tolist()
    rows: list[dict[str, Any]] = source.scores.to_pylist()
    return [
        row | {VALUE: value}
        for row, value in zip(rows, values, strict=True)
        if row[base] is not None and math.isfinite(value)
    ]


def _is_base(row: dict[str, Any], base: str, change: str) -> bool:
    value = row[change]
    return value is None or text_of(value).casefold() in UNCHANGED or row[base] == row.get("sample")


def _ladder(
    source: Audited,
    album: Album,
    metric: Metric,
    thing: str,
    families: dict[Any, list[dict[str, Any]]],
    columns: tuple[str, str],
) -> Ladder | None:
    wording = metric_words(source, metric.name)[1]
    shown = _column(source.scores, thing)
    base, change = columns
    own = {
        key: [row for row in rows if _is_base(row, base, change) or text_of(row[change]) == thing]
        for key, rows in families.items()
    }
    own = {key: rows for key, rows in own.items() if len(rows) > 1 and any(_is_base(r, base, change) for r in rows)}
    if not own:
        return None
    label, columns_shown = _columns(shown, thing, list(own.values()), lambda row: _is_base(row, base, change))
    values = list(columns_shown)
    if len(values) < 2:
        return None
    delta = _delta(metric, source, families)
    rate = _is_rate(families)
    states = {key: _states(rows, metric, delta) for key, rows in own.items()}
    people = [_versions(rows, states[key], label) for key, rows in own.items()]
    decided = [versions for versions in people if len({state for _, state in versions.values()}) > 1]
    rows = sorted(decided, key=lambda versions: (sum(state for _, state in versions.values()), -len(versions)))
    rows = rows[: FIRST_ROWS + MORE_ROWS]
    rows += [versions for versions in people if len({state for _, state in versions.values()}) == 1][
        : max(0, FIRST_ROWS - len(rows))
    ]
    drawn = [
        (_person(versions), _rungs(versions, columns_shown, album, wording if rate else None)) for versions in rows
    ]
    totals = [_total(people, value) for value in values]
    findings = [
        f for f in source.audit.findings if f.kind == TWINS and f.attribute == thing and f.metric == metric.name
    ]
    return Ladder(
        thing,
        thing_words(thing),
        _sentence(thing, len(decided), f"{len(people)} {_whom(people)}", wording, None if rate else delta),
        _about(thing, findings, wording, len(decided)),
        [(swatch(thing, value), heading.partition(" (")[0]) for value, heading in columns_shown.items()],
        drawn,
        max(0, len(decided) - len(drawn)),
        totals,
        wording.failed if rate else "worse",
        len(decided),
        len(people),
        _shown(findings),
        role_of([thing], source.audit.settings.get("roles") or {}),
        _not_shown(source, thing, metric, len(decided), rate),
    )


def _shown(findings: Sequence[Finding]) -> Finding | None:
    """The largest loss among confirmed findings; if nobody loses, the largest gain."""
    confirmed = [f for f in findings if f.verdict == words.DISPARITY]
    return max(confirmed, key=lambda f: (f.direction == words.WORSE, abs(f.difference)), default=None)


Row = dict[str, Any]
BEFORE, AFTER = "before", "after"


def _columns(
    shown: str | None, thing: str, families: Sequence[Sequence[Row]], is_base: Callable[[Row], bool]
) -> tuple[Callable[[Row], str], dict[str, str]]:
    """The column of each row, and the headings of the columns.

    There is a column per value if people have several values, else one before and one after the change.
    """
    if shown is None:
        return lambda row: BEFORE if is_base(row) else AFTER, {BEFORE: AS_BEFORE, AFTER: changed_label(thing)}
    values = in_order(thing, [text_of(row[shown]) for rows in families for row in rows])
    if len(values) <= 2 or (len(values) <= MOST_COLUMNS and any(len(rows) > 2 for rows in families)):
        return lambda row: text_of(row[shown]), {value: value_label(thing, value) for value in values}
    if all(isinstance(row[shown], int | float) and len(rows) == 2 for rows in families for row in rows):
        last = {id(max(rows, key=lambda row: float(row[shown]))) for rows in families}
        return lambda row: AFTER if id(row) in last else BEFORE, dict(
            zip((BEFORE, AFTER), end_labels(thing), strict=True)
        )
    bases = {text_of(row[shown]) for rows in families for row in rows if is_base(row)}
    before = value_label(thing, bases.pop()) if len(bases) == 1 else AS_BEFORE
    return lambda row: BEFORE if is_base(row) else AFTER, {BEFORE: before, AFTER: changed_label(thing)}


def _states(rows: Sequence[dict[str, Any]], metric: Metric, delta: float) -> list[bool]:
    """Whether each version went well: for a mean, whether it is within δ of this person's best."""
    values = [float(row[VALUE]) for row in rows]
    if all(value in (0.0, 1.0) for value in values):
        return [value == (0.0 if metric.better == LOWER else 1.0) for value in values]
    best = min(values) if metric.better == LOWER else max(values)
    return [abs(value - best) < delta or math.isclose(value, best) for value in values]


def _delta(metric: Metric, source: Audited, families: dict[Any, list[dict[str, Any]]]) -> float:
    """The smallest change that counts: the audit's δ, else half a standard deviation of all scores."""
    named = deltas_of(source.audit.settings).get(metric.name)
    if named:
        return float(named)
    spread = float(np.std([row[VALUE] for rows in families.values() for row in rows]))
    return float(f"{spread / 2:.2g}")


Version = tuple[dict[str, Any], bool]


def _versions(rows: Sequence[dict[str, Any]], states: Sequence[bool], label: Any) -> dict[str, Version]:
    return {label(row): (row, state) for row, state in zip(rows, states, strict=True)}


def _person(versions: dict[str, Version]) -> str:
    row = next(iter(versions.values()))[0]
    return str(row.get("subject") or row.get("identity") or row.get("sample"))


def _is_rate(families: dict[Any, list[dict[str, Any]]]) -> bool:
    return all(row[VALUE] in (0.0, 1.0) for rows in families.values() for row in rows)


def _rungs(
    versions: dict[str, Version], columns: Mapping[str, str], album: Album, wording: MetricWords | None
) -> list[Rung]:
    """The versions of one person in the order of the columns; with scores where there are no words for hit and miss."""
    rungs = []
    for value, heading in columns.items():
        if value not in versions:
            rungs.append(Rung("nothing", "", None, ""))
            continue
        row, right = versions[value]
        word = numbers.short(row[VALUE]) if wording is None else wording.right if right else wording.failed
        about = f"{_person(versions)}, {heading}: {word}"
        picture = album.face(row.get("sample"), row.get("subject"), THUMB)
        rungs.append(Rung("right" if right else "failed", word, picture, about))
    return rungs


def _total(people: Sequence[dict[str, Version]], value: str) -> tuple[int, int]:
    there = [versions[value][1] for versions in people if value in versions]
    return sum(not right for right in there), len(there)


def _whom(families: Sequence[dict[str, Version]]) -> str:
    """What the bases are, as a noun: people, or pictures of fewer people."""
    owners = {next(iter(versions.values()))[0].get("identity") for versions in families}
    if None in owners or len(owners) == len(families):
        return "people"
    return f"pictures of {numbers.plural(len(owners), 'person', 'people')}"


def _sentence(thing: str, decided: int, people: str, wording: MetricWords, delta: float | None) -> str:
    what = thing_words(thing)
    if delta is not None:
        size = f"the {wording.noun} by {delta:g} or more"
        if not decided:
            return f"For none of {people} does {what} alone change {size}."
        return f"For {decided} of {people}, {what} alone changes {size}."
    if not decided:
        return f"For none of {people} does {what} alone decide whether they are {wording.right}."
    return f"For {decided} of {people}, {what} alone decides whether they are {wording.right}."


def _not_shown(source: Audited, thing: str, metric: Metric, decided: int, rate: bool) -> str:
    """What a ladder without a confirmed finding leaves open, and the other measures that this change affects."""
    wording = metric_words(source, metric.name)[1]
    what = f"whether people are {wording.right} or {wording.failed}" if rate else f"the {wording.noun}"
    verb = "decides" if rate else "changes"
    first = f"So few may be chance: that {thing_words(thing)} alone {verb} {what} is not confirmed."
    if not decided:
        first = "Nobody in these twins is lost by this change alone."
    others = [
        metric_words(source, f.metric)[1].noun
        for f in source.audit.findings
        if f.kind == TWINS and f.attribute == thing and f.metric != metric.name and f.verdict == words.DISPARITY
    ]
    named = [f"the {noun}" for noun in dict.fromkeys(others)]
    if not named:
        return first
    kind = "is another measure" if len(named) == 1 else "are other measures"
    return f"{first} What is confirmed {kind}, {' and '.join(named)}."


def _about(thing: str, findings: Sequence[Finding], wording: MetricWords, decided: int) -> str:
    """What stayed the same between copies, and which copy loses."""
    rest = ", ".join(f"same {name}" for name in ("pose", "light", "background") if name != thing)
    same = f"Same person, {rest}: only this one thing changes."
    ends = next((f for f in findings if f.group == "last version" and f.lost is not None), None)
    if ends is None or ends.lost is None or ends.metric_kind != "rate" or not decided:
        return same
    copy = later_copy(thing)
    if ends.lost == decided == 1 and not ends.gained:
        return f"{same} The {copy} is the one that is {wording.failed}."
    if ends.lost == decided and not ends.gained:
        return f"{same} In all {decided} the {copy} is the one that is {wording.failed}."
    lost = numbers.plural(ends.lost, "person", "people")
    return f"{same} The {copy} is {wording.failed} for {lost}, the other one for {ends.gained or 0}."
