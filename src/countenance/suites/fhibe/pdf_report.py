"""The bias report as PDF: the same numbers as the page, for people who file paper."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from countenance.audit import Audit, Estimate
from countenance.report import numbers, words
from countenance.report.names import REST
from countenance.report.source import Source
from countenance.suites.fhibe import descriptions
from countenance.suites.fhibe.pdf import MARGIN, WIDTH, Pdf, wrap
from countenance.suites.fhibe.rundir import FhibeRun

MOST_ROWS = 60
LABEL = 190.0


def write_pdf(run: FhibeRun, source: Source, said: dict[str, Any], path: Path, marks: bool = True) -> Path:
    """Write the report of an audited run as PDF; it never shows a face.

    `said` is what the page says (`countenance.report.page.context`), so that both begin with the same findings.
    `marks`: groups with a disparity are marked in the plots.
    """
    from countenance.suites.fhibe.report import meanings

    found, about, card = source.audit, run.fhibe, run.manifest["dataset"]["card"]
    pdf = Pdf(f"Bias report: {run.model_name}, {about['task']}")
    pdf.text(f"Bias report: {about['task'].replace('_', ' ')}", 18, bold=True)
    images = numbers.plural(int(run.manifest["dataset"]["images"]), "image")
    pdf.text(f"{run.model_name} on {run.dataset_name}, version {card['version']}, {images}", 11)
    _lead(pdf, found, said)
    _heading(pdf, "Task, data, consent")
    pdf.text(descriptions.TASKS[about["task"]])
    for label, value in (("Data", card["description"]), ("Licence", card["licence"]), ("Consent", card["consent"])):
        pdf.text(f"{label}: {value}")
    if card["warning"]:
        pdf.text(card["warning"])
    for name, meaning in meanings(run, source.names.by):
        pdf.text(f"{name}: {meaning}", x=MARGIN + 10, gap=0)
    if run.largest_regions:
        pdf.text("Ancestry and nationality are compared by continent.", x=MARGIN + 10)
    for metric, reason in about["skipped"].items():
        pdf.text(f"{metric} was not computed: {reason}")
    for problem in about["problems"]:
        pdf.text(f"Note: {problem}")
    for metric in source.metrics:
        _metric(pdf, run, source, metric.name, metric.meaning, metric.better, marks)
    _whole_run(pdf, run, source.names.by)
    _disparities(pdf, found, source)
    pdf.text(f"The audit's reason, word for word: {found.reason}", 8)
    made_by = f"Made by countenance {run.manifest['countenance']} from the run directory"
    pdf.text(f"{made_by}; run key {run.manifest['key'][:16]}.", 8)
    return pdf.write(path)


def _lead(pdf: Pdf, found: Audit, said: dict[str, Any]) -> None:
    """The verdict and the findings that the page begins with, in the same order and words."""
    pdf.text(f"Verdict: {found.verdict}. {said['headline']}", 10, bold=True, gap=6)
    if not said["strongest"]:
        pdf.text(said["summary"])
    for sentence in said["strongest"] or said["in_short"]:
        pdf.text(f"{sentence.who}: {sentence.text}", x=MARGIN + 10, gap=2)
    if said["strongest"]:
        pdf.text(said["how_sure"], gap=6)


def _heading(pdf: Pdf, text: str) -> None:
    pdf.room(60)
    pdf.y += 6
    pdf.text(text, 13, bold=True)


def _metric(pdf: Pdf, run: FhibeRun, source: Source, name: str, meaning: str, better: str, marks: bool) -> None:
    _heading(pdf, name)
    whole = source.overall.get(name)
    if whole is not None:
        value = numbers.value(whole.estimate, whole.kind)
        span = numbers.span(whole.low, whole.high, whole.kind)
        pdf.text(f"Everyone: {value} ({span}), n {whole.n}. {better.capitalize()} is better.", bold=True)
    pdf.text(meaning)
    levels = run.fhibe["thresholds"].get(name.split(" ")[0])
    if levels:
        pdf.text("Thresholds: " + ", ".join(f"{level:.2f}" for level in levels))
    if curve := run.curves().get(name):
        _curve(pdf, curve[0].x, curve[0].y)
    shown = [f for f in source.audit.findings if marks and f.metric == name and f.verdict == words.DISPARITY]
    worse = [f for f in shown if f.versus != REST or words.group_is_worse(f, source.better)]
    for attribute in source.names.by:
        failed = {words.failed_side(f, source.better) for f in worse if f.attribute == attribute}
        _forest(pdf, attribute, source.estimates(name, attribute), failed)


def _whole_run(pdf: Pdf, run: FhibeRun, by: list[str]) -> None:
    """Numbers that no row has by itself, and the validation rate of each group."""
    from countenance.suites.fhibe.report import group_rates

    summaries, rates = run.manifest["summaries"], group_rates(run, by)
    if summaries:
        _heading(pdf, "All images together")
        for s in summaries:
            span = "" if s["low"] is None or s["low"] != s["low"] else f" ({s['low']:.4f} to {s['high']:.4f})"
            pdf.text(f"{s['name']}: {s['estimate']:.4f}{span}, {s['meaning']}")
    if rates:
        _heading(pdf, "Validation rate of each group")
        pdf.table(
            ["by", "group", "VAL (interval)", "people", "pairs, same / different", "evidence"],
            [
                [
                    row["attributes"],
                    row["group"],
                    f"{row['VAL']:.3f} ({row['VAL_Low']:.3f} to {row['VAL_High']:.3f})",
                    str(row["Identities"]),
                    row["Same_/_Different_Pairs"],
                    row["Evidence"],
                ]
                for row in rates[:MOST_ROWS]
            ],
            [80, 140, 100, 40, 70, 57],
        )


def _curve(pdf: Pdf, x: Sequence[float], y: Sequence[float], height: float = 90.0) -> None:
    """The curve over everybody."""
    pdf.room(height + 24)
    left, right, top = MARGIN + 26, MARGIN + 300, pdf.y + 4
    low, high = min(x), max(x)
    span = (high - low) or 1.0

    def place(a: float, b: float) -> tuple[float, float]:
        return left + (a - low) / span * (right - left), top + (1 - min(max(b, 0.0), 1.0)) * height

    for level in (0.0, 0.5, 1.0):
        pdf.line(left, place(low, level)[1], right, place(low, level)[1], width=0.3, grey=0.8)
        pdf.put(f"{level:g}", left - 20, place(low, level)[1] + 3, 7, grey=0.3)
    points = [place(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(b)]
    for (x0, y0), (x1, y1) in pairwise(points):
        pdf.line(x0, y0, x1, y1, width=1.4, grey=0.2)
    for a, b in points:
        pdf.dot(a, b, size=2.4)
    pdf.put(f"{low:g}", left, top + height + 10, 7, grey=0.3)
    pdf.put(f"{high:g}", right - 10, top + height + 10, 7, grey=0.3)
    pdf.y = top + height + 16


def _forest(pdf: Pdf, attribute: str, estimates: list[Estimate], failed: set[str]) -> None:
    """A dot with its interval and n for each group; the groups in `failed` are marked."""
    shown = [e for e in estimates if e.n]
    if not shown:
        return
    pdf.room(34)
    pdf.text(attribute.replace("_", " "), 10, bold=True, gap=1)
    ends = [v for e in shown for v in (e.low, e.high, e.estimate) if math.isfinite(v)]
    low, high = min([*ends, 0.0]) if min(ends) < 0 else min(ends), max(ends)
    span = (high - low) or 1.0
    left, right = MARGIN + LABEL, WIDTH - MARGIN - 90

    def place(value: float) -> float:
        return left + (value - low) / span * (right - left)

    for e in shown:
        pdf.room(12)
        y = pdf.y + 6
        pdf.put(wrap(e.group, 8, LABEL - 6)[0], MARGIN, y + 3, 8)
        if math.isfinite(e.low) and math.isfinite(e.high):
            pdf.line(place(e.low), y, place(e.high), y, width=1.0, grey=0.35)
        pdf.dot(place(e.estimate), y, dark=e.group not in failed)
        mark = "  disparity" if e.group in failed else ""
        pdf.put(f"{numbers.value(e.estimate, e.kind)}   n {e.n}{mark}", right + 8, y + 3, 8, bold=bool(mark))
        pdf.y += 12
    pdf.y += 5


def _disparities(pdf: Pdf, found: Audit, source: Source) -> None:
    from countenance.suites.fhibe.report import by_size

    _heading(pdf, "Disparities by size, groups alone and crossed")
    rows = by_size(found)
    pdf.table(
        ["metric", "group", "against", "n", "difference (interval)", "adjusted p", "verdict"],
        [
            [
                f.metric,
                source.names.who(f.attribute, f.group),
                source.names.versus(f.attribute, f.versus),
                f"{f.n} / {f.n_versus}",
                f"{numbers.change(f.difference, f.kind)} ({numbers.change_span(f.diff_low, f.diff_high, f.kind)})",
                numbers.probability(f.p_adjusted),
                words.verdict_label(f.verdict, f.severity),
            ]
            for f in rows[:MOST_ROWS]
        ],
        [52, 130, 70, 45, 92, 42, 56],
    )
    if len(rows) > MOST_ROWS:
        pdf.text(f"The first {MOST_ROWS} of {len(rows)}; findings.parquet has all.", 8)
