"""The face matrix: a condition down, bands of skin tone or ages across; each cell shows the people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from countenance.auditing.audit import estimates
from countenance.auditing.ordering import PERSON, role_of
from countenance.report import numbers
from countenance.report.album import Album
from countenance.report.harms import Harm, failing_share, metric_words
from countenance.report.members import GroupRows, Mask
from countenance.report.names import attribute_label, swatches, value_label
from countenance.report.people_words import value_words
from countenance.report.source import Audited
from countenance.tasks import Metric

MOST_ROWS, MOST_BANDS = 4, 4
ACROSS, DOWN, SIZE = 10, 3, 40
FADES = ((0.1, 3), (0.2, 2), (0.35, 1))
"""The half-width of an interval up to which a cell keeps this much of its tint."""
BAND, ROW = "band of people", "condition of the picture"


@dataclass(frozen=True)
class MatrixCell:
    """The people with one condition in one band."""

    value: str
    interval: str
    counts: str
    sheet: Markup | None
    strength: int
    """3: a narrow interval, 0: hardly anything is known."""
    level: int
    """How often the model fails in the cell, 0 to 4."""
    alt: str


@dataclass(frozen=True)
class FaceMatrix:
    """The face matrix as a value: its cells by row and column."""

    title: str
    columns: list[tuple[Markup, str]]
    rows: list[tuple[str, list[MatrixCell]]]
    word: str
    drawn: bool
    """Whether there are faces in it."""


def face_matrix(source: Audited, ordered: Sequence[Harm], album: Album, members: GroupRows) -> FaceMatrix | None:
    """The matrix of the worst condition by tone bands (else ages); None where the data lacks either attribute."""
    metric = next(
        (m for m in source.metrics if m.better is not None and np.isfinite(members.values(m.name)).any()), None
    )
    bands = _bands(source, members)
    row_name = _condition(source, ordered, members)
    if metric is None or not bands or row_name is None:
        return None
    across, columns = bands
    order = [level for level in source.names.levels.get(row_name, []) if level in members.levels(row_name)]
    conditions = [(value_label(row_name, level), members.levels(row_name)[level]) for level in order[:MOST_ROWS]]
    known = np.isfinite(members.values(metric.name))
    measured = _measured(source, metric, members, columns, conditions)
    rows = [
        (
            label,
            [
                _cell(
                    source, metric, album, members, known & mask & band, measured.get((label, name)), f"{label}, {name}"
                )
                for _, name, band in columns
            ],
        )
        for label, mask in conditions
    ]
    wording = metric_words(source, metric.name)[1]
    noun, labels = f"{wording.noun[:1].upper()}{wording.noun[1:]}", [label for label, _ in conditions]
    title = f"{noun} by {across}, {' and '.join(labels)}"  # two conditions need no name of their own
    if len(labels) != 2:
        title = f"{noun} by {attribute_label(row_name)} and {across}"
    rate = any(kind == "rate" for *_, kind in measured.values())
    drawn = any(cell.sheet for _, cells in rows for cell in cells)
    return FaceMatrix(title, [(tone, name) for tone, name, _ in columns], rows, wording.failed if rate else "", drawn)


Band = tuple[Markup, str, Mask]


def _bands(source: Audited, members: GroupRows) -> tuple[str, list[Band]] | None:
    """Bands of skin tone where there are tones, else ages."""
    for name in sorted(source.names.by, key=lambda name: "tone" not in name):
        levels = [v for v in source.names.levels.get(name, []) if v in members.levels(name) and v != "(unknown)"]
        tones = all(value_words(name, value).swatches for value in levels) and len(levels) > 1
        if not tones and not name.startswith("age"):
            continue
        if not tones and len(levels) > MOST_BANDS + 2:
            continue
        parts = _parts(levels) if tones else [[level] for level in levels]
        bands = []
        for part in parts:
            ends = f"{part[0]}–{part[-1]}" if len(part) > 1 else part[0]
            colours = [colour for level in part for colour in value_words(name, level).swatches]
            mask = np.logical_or.reduce([members.levels(name)[level] for level in part])
            bands.append((swatches(colours), value_label(name, ends), mask))
        return attribute_label(name), bands
    return None


def _parts(levels: Sequence[str]) -> list[list[str]]:
    """Ordered tones in three bands (ten tones as Monk 1–3, 4–6, 7–10); few tones are a band each.

    >>> [len(part) for part in _parts([f"monk_{i}" for i in range(1, 11)])], len(_parts(["a", "b"]))
    ([3, 3, 4], 2)
    """
    if len(levels) <= MOST_BANDS:
        return [[level] for level in levels]
    cut = len(levels) // 3
    return [list(levels[:cut]), list(levels[cut : 2 * cut]), list(levels[2 * cut :])]


def _condition(source: Audited, ordered: Sequence[Harm], members: GroupRows) -> str | None:
    """The attribute of pictures with the largest harm, else the first with few values."""
    roles = source.audit.settings.get("roles") or {}
    of_harms = [part for harm in ordered for part, _ in source.names.parts(harm.finding.attribute, harm.losing.group)]
    for name in [*of_harms, *source.names.by]:
        if name in source.names.by and role_of([name], roles) != PERSON and 2 <= len(members.levels(name)) <= MOST_ROWS:
            return name
    return None


def _measured(
    source: Audited, metric: Metric, members: GroupRows, bands: Sequence[Band], rows: Sequence[tuple[str, Mask]]
) -> dict[tuple[str, str], tuple[float, float, float, str]]:
    """Each cell's number with its interval, computed as in the audit."""
    import pyarrow as pa

    def labels(parts: Sequence[tuple[str, Mask]]) -> pa.Array:
        text = np.full(len(members), None, dtype=object)
        for label, mask in parts:
            text[mask] = label
        return pa.array(text.tolist(), pa.string())

    settings = source.audit.settings
    columns = {BAND: labels([(name, mask) for _, name, mask in bands]), ROW: labels(rows)}
    columns[metric.name] = pa.array(members.values(metric.name))
    ways = [way for way in settings.get("ways") or [] if way in source.scores.column_names]
    columns |= {way: source.scores.column(way) for way in ways}
    table = pa.table(columns).filter(pa.array(np.isfinite(members.values(metric.name))))
    cells = estimates(
        table,
        by=[f"{ROW}*{BAND}"],
        metrics=[metric.name],
        cluster=ways or None,
        alpha=float(settings.get("alpha", 0.05)),
    )
    measured = {}
    for cell in cells:
        for label, _ in rows:
            if cell.depth == 2 and cell.group.startswith(f"{label} × "):
                band = cell.group.removeprefix(f"{label} × ")
                measured[label, band] = (cell.estimate, cell.low, cell.high, cell.metric_kind)
    return measured


def _cell(
    source: Audited,
    metric: Metric,
    album: Album,
    members: GroupRows,
    mask: Mask,
    measured: tuple[float, float, float, str] | None,
    label: str,
) -> MatrixCell:
    rows = np.flatnonzero(mask)
    if measured is None or not len(rows):
        return MatrixCell("–", "", "nobody", None, 0, 0, f"{label}: nobody")
    value, low, high, kind = measured
    values = members.values(metric.name)[rows]
    rate = kind == "rate"
    failed = failing_share(value, metric.better) if rate else math.nan
    order = rows[np.argsort(values if metric.better == "higher" else -values, kind="stable")]
    sheet = _sheet(source, metric, album, members, order, rate)
    wording = metric_words(source, metric.name)[1]
    counts = f"{round(failed * len(rows))} of {len(rows)} {wording.failed}" if rate else f"n {len(rows)}"
    half = (high - low) / 2 if math.isfinite(high - low) else math.inf
    strength = next((step for most, step in FADES if half <= most), 0)
    level = min(4, int(failed * 6)) if rate else 0
    shown, interval = numbers.value(value, kind), numbers.likely(low, high, kind)
    alt = f"{label}: {wording.noun} {shown} ({interval}); {counts}"
    return MatrixCell(shown, interval, counts, sheet, strength, level, alt)


def _sheet(
    source: Audited, metric: Metric, album: Album, members: GroupRows, order: np.ndarray, rate: bool
) -> Markup | None:
    """Faces from failed to served, in the proportion in which they occur."""
    if not album.samples or "sample" not in source.scores.column_names:
        return None
    most = ACROSS * DOWN
    chosen = order if len(order) <= most else order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    values = members.values(metric.name)
    right = values[chosen] == (1.0 if metric.better == "higher" else 0.0) if rate else np.ones(len(chosen), dtype=bool)
    table = source.scores.take(chosen)
    subjects = table.column("subject").to_pylist() if "subject" in table.column_names else [None] * len(chosen)
    faces = list(zip(table.column("sample").to_pylist(), subjects, right.tolist(), strict=True))
    return album.sheet(faces, SIZE, ACROSS)
