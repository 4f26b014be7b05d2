"""Pictures of failures: for each of the worst findings people whom the model failed, each beside one whom it served.

Where pictures may not be shown, every person (or picture) is a dot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.auditing.ordering import PERSON, role_of
from countenance.report import numbers
from countenance.report.album import Album
from countenance.report.gallery import about_row
from countenance.report.harms import MISSING, Harm, HarmSide, everyone, metric_words, share_or_number
from countenance.report.members import GroupRows, Mask
from countenance.report.metric_words import MetricWords
from countenance.report.source import Audited

MOST_FINDINGS, MOST_PAIRS = 3, 3
TILE = 168
MOST_DOTS, ACROSS = 200, 40
EACH_DOT = ": dots stand for rows"
WORST_SHARE = 0.9
"""Scores beyond this quantile of badness are the worst tenth."""
TENTH = 0.11
"""The largest share that is called a tenth."""
CONDITIONS = ("masked", "light", "pose")
LIKE = ("identity", "attr.gender", "attr.age_group", "attr.skin_tone", "attr.light", "attr.pose")
"""Attributes that a hit should share with the miss beside it, the most important first."""


@dataclass(frozen=True)
class FaceTile:
    """One picture of somebody."""

    picture: Markup
    failed: bool
    word: str
    """Missed, found."""
    about: str
    sample: str


@dataclass(frozen=True)
class TileRow:
    """The failures of one finding: pairs of a miss and a hit."""

    label: str
    swatch: Markup
    counts: str
    pairs: list[tuple[FaceTile, FaceTile | None]]
    key: tuple[str, str, str] | None


@dataclass(frozen=True)
class DotRow:
    """One side of a comparison as dots."""

    label: str
    counts: str
    dots: Markup
    failed: int
    """How many of the dots stand for those whom the model failed."""
    total: int


@dataclass(frozen=True)
class Failures:
    """The people on the first screen: tiles, or dots with the reason why no pictures are shown."""

    rows: list[TileRow]
    dots: list[DotRow]
    sentence: str
    total: int
    word: str
    real: bool = False
    unanswered: bool = False
    """Whether the total is of pictures without a prediction."""


def failures(source: Audited, ordered: Sequence[Harm], album: Album, members: GroupRows) -> Failures:
    """The failures of the worst findings, as pictures if allowed, else as dots."""
    metric = ordered[0].metric if ordered else source.metrics[0] if source.metrics else None
    wording = metric_words(source, metric.name)[1] if metric else MetricWords("")
    total = 0
    if metric is not None and (whole := everyone(source, metric)) is not None and whole.failed is not None:
        total = whole.failed
    unanswered = bool(source.failures) and bool(ordered) and ordered[0].finding.kind == MISSING
    if unanswered:
        total, wording = len(source.failures), ordered[0].words
    rows = _tile_rows(source, ordered, album, members) if album.samples else []
    dots = [] if rows else _dot_rows(source, ordered) or _scored_dots(source, ordered, members)
    why = album.sentence if dots else album.sentence.replace(EACH_DOT, "")
    return Failures(rows, dots, "" if rows else why, total, wording.failed, album.mode != "off", unanswered)


def _tile_rows(source: Audited, ordered: Sequence[Harm], album: Album, members: GroupRows) -> list[TileRow]:
    rows: list[TileRow] = []
    shown: set[str] = set()
    for harm in ordered[: 2 * MOST_FINDINGS]:
        losing = members.of(harm.finding.attribute, harm.losing.group)
        other = members.other(harm.finding.attribute, harm.losing.group, harm.other.group)
        before = len(shown)
        if harm.finding.kind == MISSING:
            pairs = _unanswered(source, album, members, harm, other, shown)
        else:
            pairs = _pairs(source, album, members, harm.metric.name, losing, other, shown)
        if pairs:
            above = bool(before) and len(pairs) < min(MOST_PAIRS, harm.losing.failed or 0)
            counts = f"{_counts(harm)}{', others of them above' if above else ''}"
            rows.append(TileRow(harm.losing.label, harm.swatch, counts, pairs, harm.key))
        if len(rows) == MOST_FINDINGS:
            break
    if rows or not source.metrics:
        return rows
    everybody = np.ones(len(members), dtype=bool)
    name = source.metrics[0].name
    pairs = _pairs(source, album, members, name, everybody, everybody, shown, most=2 * MOST_PAIRS)
    if pairs:
        return [TileRow("everyone", Markup(""), "", pairs, None)]
    return _all_served(source, album, members, name)


def _all_served(source: Audited, album: Album, members: GroupRows, name: str) -> list[TileRow]:
    """Tiles where the model failed nobody: some of the people whom it served."""
    metric, wording = metric_words(source, name)
    whole = everyone(source, metric)
    if whole is None or whole.failed != 0 or "sample" not in source.scores.column_names:
        return []
    known = np.flatnonzero(np.isfinite(members.values(name)))
    tiles: dict[str, FaceTile] = {}
    for place in known.tolist():
        row = source.scores.slice(place, 1).to_pylist()[0]
        person = str(row.get("identity") or row["sample"])
        if person not in tiles and (tile := _tile(row, album, False, wording, source)) is not None:
            tiles[person] = tile
        if len(tiles) == 2 * MOST_PAIRS:
            break
    pairs: list[tuple[FaceTile, FaceTile | None]] = [(tile, None) for tile in tiles.values()]
    return [TileRow("everyone", Markup(""), f"{whole.counts} {wording.failed}", pairs, None)] if pairs else []


def _unanswered(
    source: Audited, album: Album, members: GroupRows, harm: Harm, other: Mask, shown: set[str]
) -> list[tuple[FaceTile, FaceTile | None]]:
    """Pictures of a group without a prediction, each beside one of the other side that has one."""
    values = members.values(harm.metric.name)
    served = source.scores.take(np.flatnonzero(other & np.isfinite(values))).to_pylist()
    hits = [(row, harm.words) for row in served]
    parts = [
        (f"attr.{name}", set(members.values_in(name, value)))
        for name, value in source.names.parts(harm.finding.attribute, harm.losing.group)
    ]
    pairs: list[tuple[FaceTile, FaceTile | None]] = []
    for row in source.failures:
        sample = album.samples.get(str(row["sample"]))
        person = sample.people[0] if sample is not None and sample.people else None
        if person is None or row["sample"] in shown:
            continue
        if not all(values_of & {str(value) for value in row.get(name) or ()} for name, values_of in parts):
            continue
        about = {f"attr.{name}": value for name, value in person.attributes.items()}
        missed = {"sample": row["sample"], "subject": person.id, "identity": person.identity, **about}
        tile = _tile(missed, album, True, harm.words, source)
        if tile is None:
            continue
        shown.add(str(row["sample"]))
        pairs.append((tile, _hit(missed, hits, album, source, shown)))
        if len(pairs) == MOST_PAIRS:
            break
    return pairs


def _counts(harm: Harm) -> str:
    return f"{harm.losing.counts} {harm.words.failed}" if harm.losing.failed is not None else ""


def _pairs(
    source: Audited,
    album: Album,
    members: GroupRows,
    name: str,
    losing: Mask,
    other: Mask,
    shown: set[str],
    most: int = MOST_PAIRS,
) -> list[tuple[FaceTile, FaceTile | None]]:
    """The worst rows of one side, each beside the row of the other side that is most similar to it and was served."""
    metric, wording = metric_words(source, name)
    values = members.values(name)
    if np.isnan(values).all() or metric.better is None or "sample" not in source.scores.column_names:
        return []
    badness = values if metric.better == "lower" else -values
    known = np.isfinite(badness)
    if not (losing & known).any():
        return []
    is_rate = bool(np.isin(values[known], (0.0, 1.0)).all())
    failed = 1.0 if metric.better == "lower" else 0.0
    bad = values == failed if is_rate else badness >= np.quantile(badness[known], WORST_SHARE)
    good = values == 1 - failed if is_rate else badness <= np.quantile(badness[known], 0.5)
    misses = np.flatnonzero(losing & known & bad)
    misses = misses[np.argsort(-badness[misses], kind="stable")]
    served = np.flatnonzero(other & known & good)
    hits = [
        (row, wording if is_rate else _value_words(value, wording))
        for row, value in zip(source.scores.take(served).to_pylist(), values[served], strict=True)
    ]
    pairs: list[tuple[FaceTile, FaceTile | None]] = []
    people: set[str] = set()
    for place in misses.tolist():
        row = source.scores.slice(place, 1).to_pylist()[0]
        person = str(row.get("identity") or row["sample"])
        if str(row["sample"]) in shown or person in people:
            continue
        tile = _tile(row, album, True, wording if is_rate else _value_words(values[place], wording), source)
        if tile is None:
            continue
        people.add(person)
        shown.add(str(row["sample"]))
        pairs.append((tile, _hit(row, hits, album, source, shown)))
        if len(pairs) == most:
            break
    return pairs


def _hit(
    miss: dict[str, Any], hits: list[tuple[dict[str, Any], MetricWords]], album: Album, source: Audited, shown: set[str]
) -> FaceTile | None:
    """A person whom the model served, as similar as possible to the one whom it failed."""

    def unlike(hit: tuple[dict[str, Any], MetricWords]) -> tuple[Any, ...]:
        return tuple(hit[0].get(name) != miss.get(name) or hit[0].get(name) is None for name in LIKE)

    free = [hit for hit in hits if str(hit[0]["sample"]) not in shown and hit[0]["sample"] != miss["sample"]]
    for row, wording in sorted(free, key=unlike)[:3]:
        tile = _tile(row, album, False, wording, source)
        if tile is not None:
            shown.add(str(row["sample"]))
            return tile
    return None


def _value_words(value: float, wording: MetricWords) -> MetricWords:
    """The caption of a picture without hit or miss: its score."""
    text = share_or_number(value, wording)
    text = f"{text} {wording.right}" if wording.share and wording.right not in ("", "right") else text
    return MetricWords("", failed=text, right=text)


def _tile(row: dict[str, Any], album: Album, failed: bool, wording: MetricWords, source: Audited) -> FaceTile | None:
    picture = album.face(row["sample"], row.get("subject"), TILE)
    if picture is None:
        return None
    attributes = about_row(
        row, [name for name in source.names.by if role_of([name], {}) == PERSON or name in CONDITIONS]
    )
    about = ", ".join(f"{name} {value}".strip() for name, value in attributes)
    return FaceTile(picture, failed, wording.failed if failed else wording.right, about, str(row["sample"]))


def _dot_rows(source: Audited, ordered: Sequence[Harm]) -> list[DotRow]:
    counted = [harm for harm in ordered if harm.losing.failed is not None]
    if counted:
        first = counted[0]
        return [_dot_row(side, first.words.failed) for side in (first.losing, first.other)]
    for metric in source.metrics:
        whole = everyone(source, metric)
        if whole is not None and whole.failed is not None:
            return [_dot_row(whole, metric_words(source, metric.name)[1].failed)]
    return []


def _scored_dots(source: Audited, ordered: Sequence[Harm], members: GroupRows) -> list[DotRow]:
    """Dots for a metric without hit and miss: how many of the worst group are among the worst tenth of all.

    The worst group is that of the largest harm, else the one with the worst number. Of scores that are often equal more
    than a tenth may be the worst; dots say how many.
    """
    metric = ordered[0].metric if ordered else source.metrics[0] if source.metrics else None
    if metric is None or metric.better is None:
        return []
    values = members.values(metric.name)
    badness = values if metric.better == "lower" else -values
    known = np.isfinite(badness)
    if not known.any():
        return []
    sign = 1.0 if metric.better == "lower" else -1.0
    least = int(source.audit.settings.get("min_n", 20))
    groups = [e for e in source.audit.groups if e.metric == metric.name and e.depth == 1 and e.clusters >= least]
    if ordered:
        sides = ordered[0].losing, ordered[0].other
        masks = (
            members.of(sides[0].attribute, sides[0].group),
            members.other(ordered[0].finding.attribute, sides[0].group, sides[1].group),
        )
        labels = [side.label for side in sides]
    elif groups:
        worst = max(groups, key=lambda e: sign * e.estimate)
        own = members.of(worst.attribute, worst.group)
        masks, labels = (own, ~own), [source.names.who(worst.attribute, worst.group), "everyone else"]
    else:
        return []
    bad = badness >= np.quantile(badness[known], WORST_SHARE)
    share = float(bad[known].mean())
    if share == 1:
        return []
    worst_scores = f"worst {numbers.percent(share, 'rate')}" if share > TENTH else "worst tenth"
    rows = []
    for label, mask in zip(labels, masks, strict=True):
        n, failed = int((mask & known).sum()), int((mask & known & bad).sum())
        if n:
            side = HarmSide("", "", label, label, n, 0, math.nan, math.nan, math.nan, failed, "")
            rows.append(_dot_row(side, f"among the {worst_scores} of all scores"))
    return rows


def _dot_row(side: HarmSide, failed: str) -> DotRow:
    return DotRow(side.label, f"{side.counts} {failed}{each_dot(side)}", dots(side, side.label), *dots_of(side)[1:])


def dots_of(side: HarmSide) -> tuple[int, int, int]:
    """How many units a dot stands for, how many dots stand for failures, and how many there are.

    >>> dots_of(HarmSide("", "f", "women", "women", 400, 400, 0.7, 0.5, 0.9, 3, ""))
    (2, 2, 200)
    """
    each = -(-side.n // MOST_DOTS)
    red = -(-(side.failed or 0) // each)
    return each, red, max(red, -(-side.n // each))


def each_dot(side: HarmSide) -> str:
    """How many units a dot stands for, if more than one."""
    each = dots_of(side)[0]
    return f" (a dot is {numbers.count(each)})" if each > 1 else ""


def dots(side: HarmSide, label: str) -> Markup:
    """A dot for each person or picture, whom the model failed first; if there are many, a dot stands for several.

    >>> side = HarmSide("", "f", "women", "women", 10, 10, 0.7, 0.5, 0.9, 3, "")
    >>> dots(side, "women").count('class="dot-failed"'), dots(side, "women").count('class="dot-right"')
    (3, 7)
    """
    from countenance.report.names import shown

    each, red, total = dots_of(side)
    across = ACROSS
    circles = []
    for place in range(total):
        kind, radius = ("dot-failed", "4.4") if place < red else ("dot-right", "3.6")
        x, y = 6 + 12 * (place % across), 6 + 12 * (place // across)
        circles.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius}"/>')
    height = 12 * -(-total // across)
    several = f", a dot for {numbers.count(each)}" if each > 1 else ""
    title = f"{side.counts} of {label}{several}"
    return Markup(  # noqa: S704 - numbers and an escaped label
        f'<svg class="dots" viewBox="0 0 {12 * across} {height}" role="img" aria-label="{shown(title)}">'
        f"{''.join(circles)}</svg>"
    )
