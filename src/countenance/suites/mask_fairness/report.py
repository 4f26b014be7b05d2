"""The section of an assessment in the report of its run, and a page for several: both rules side by side."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.errors import InputError
from countenance.report import numbers, render, words
from countenance.report.harms import harms, size_key
from countenance.report.metric_words import noun_in
from countenance.report.sentences import harm_sentence
from countenance.report.source import AuditSource, ReportSource
from countenance.run import Run, read_audit
from countenance.run.file_names import AUDIT
from countenance.run.suite import Section
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Assessment, Row, assessment_of
from countenance.suites.mask_fairness.citation import CITATION
from countenance.suites.mask_fairness.comparison import open_run
from countenance.suites.mask_fairness.seed_rule import ALPHA, SEVERE

TEMPLATES = Path(__file__).parent / "templates"
STARS = {"significant": "*", "severe": "**"}
"""The mark that the overview shows beside a rate, by the verdict of the published rule."""
WIDTH, STEP = 120, 8
"""The width of a row of the forest plot and the height of each detector's line in it, in pixels."""
Span = tuple[float, float, float]
"""The lower end of an interval, the rate, the upper end."""


def sections(source: ReportSource) -> list[Section]:
    """The table of every finding that either rule calls significant; empty if none of the metrics was audited."""
    if not {metric.name for metric in source.metrics} & set(METRICS.values()):
        return []
    assessment = assessment_of(source.run, source.audit)
    disparities = sum(finding.verdict == "disparity" for finding in assessment.audit.findings)
    text = render.template(TEMPLATES, "rules.html.j2").render(
        rows=[(row, TITLES[row.metric], cells(row)) for row in assessment.significant()],
        not_assessable=[(TITLES[metric], reason) for metric, reason in assessment.not_assessable.items()],
        disparities=numbers.plural(disparities, "disparity", "disparities") if disparities else "no disparity",
        **assessment.tally(),
    )
    return [("two-rules", "Two rules, side by side", Markup(text))]  # noqa: S704 - an autoescaped template


def cells(row: Row | None) -> dict[str, str]:
    """A group by both rules, in the words of pages; dashes where it was not assessed."""
    if row is None:
        names = ("n", "rate", "rate_other", "p", "h", "published", "p_adjusted", "audit")
        return dict.fromkeys(names, "–") | {"mark": words.UNTESTED}
    seed, finding = row.seed, row.finding
    return {
        "n": numbers.count(seed.n),
        "rate": numbers.value(seed.rate, "rate"),
        "rate_other": numbers.value(seed.rate_other, "rate"),
        "p": numbers.probability(seed.p),
        "h": numbers.effect(seed.h),
        "published": seed.verdict,
        "p_adjusted": numbers.probability(finding.p_adjusted) if finding else "–",
        "audit": f"{finding.severity or ''} {finding.verdict}".strip() if finding else row.cause,
        "mark": words.mark_of(finding, seed.group),
    }


def read_assessed(path: Path) -> tuple[Run, Assessment]:
    """An assessed run; a run without an audit, or of another suite, is refused by name."""
    run = open_run(path)
    if any(f"m.{column}" not in run.scores().column_names for column in METRICS.values()):
        raise InputError(f"{path}: not a run of `countenance mask-fairness assess`")
    if not run.store.storage.entries(AUDIT):
        raise InputError(f"{path}: was not audited; `countenance mask-fairness assess` does it")
    return run, assessment_of(run, read_audit(run))


def write_overview(paths: Sequence[Path], out: Path) -> Path:
    """Write the page of several assessments, a section for each dataset and a column for each detector."""
    datasets: dict[tuple[str, str], list[tuple[Run, Assessment]]] = {}
    for path in paths:
        run, assessment = read_assessed(path)
        datasets.setdefault((run.dataset_label, run.manifest.dataset.fingerprint), []).append((run, assessment))
    shown = [
        {
            "name": name,
            "images": max(run.manifest.dataset.images for run, _ in assessed),
            "citation": assessed[0][0].manifest.dataset.card.citation,
            "real": assessed[0][0].manifest.dataset.card.real_people,
            "detectors": [_detector(run, assessment) for run, assessment in assessed],
            "tables": [_table(metric, [assessment for _, assessment in assessed]) for metric in METRICS],
        }
        for (name, _), assessed in datasets.items()
    ]
    page = render.template(TEMPLATES, "overview.html.j2")
    rule = {"alpha": ALPHA, "severe": SEVERE, "stars": STARS, "step": STEP}
    lead = _lead([pair for assessed in datasets.values() for pair in assessed])
    return render.write(out, render.page(page, lead=lead, datasets=shown, citation=CITATION, **rule))


def _lead(assessed: Sequence[tuple[Run, Assessment]]) -> str:
    """The largest confirmed harm of all runs, as a sentence."""
    largest = [
        (harm, run.model_label)
        for run, assessment in assessed
        for harm in harms(AuditSource(assessment.audit, run.task()))[:1]
    ]
    if not largest:
        return "No detector is shown to serve a group worse than the others."
    harm, model = min(largest, key=lambda pair: size_key(pair[0]))
    return harm_sentence(model, harm)


def _detector(run: Run, assessment: Assessment) -> dict[str, Any]:
    return assessment.tally() | {
        "name": run.model_label,
        "failed": run.manifest.failed,
        "not_assessable": [f"{TITLES[metric]}: {why}" for metric, why in assessment.not_assessable.items()],
        "verdict": assessment.audit.verdict,
    }


def _table(metric: str, assessed: Sequence[Assessment]) -> dict[str, Any]:
    """The groups of one metric with the cells of every detector; dashes where a detector has none."""
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    for i, assessment in enumerate(assessed):
        for row in assessment.rows:
            if row.metric == metric and metric not in assessment.not_assessable:
                rows.setdefault((row.attribute, row.seed.group), {})[i] = row
    each = range(len(assessed))
    spans = {key: [_span(own.get(i)) for i in each] for key, own in rows.items()}
    low = min((span[0] for some in spans.values() for span in some if span is not None), default=0.0)
    shown = [(*key, [cells(own.get(i)) for i in each], forest_lines(spans[key], low)) for key, own in rows.items()]
    noun = noun_in(METRICS[metric], {"task": "mask_detection"})
    return {"title": f"{noun} ({TITLES[metric]})", "rows": shown, "low": numbers.value(low, "rate")}


def _span(row: Row | None) -> Span | None:
    """The interval and the rate of a group; None if the audit has no finite values for it."""
    if row is None or row.finding is None:
        return None
    values = row.finding.low, row.finding.estimate, row.finding.high
    return values if all(map(math.isfinite, values)) else None


def forest_lines(spans: Sequence[Span | None], low: float) -> list[dict[str, float]]:
    """For each detector a line over its interval and a dot at its rate, on an axis from `low` to 1.

    >>> forest_lines([(0.5, 0.75, 1.0), None], 0.5)
    [{'y': 4.0, 'x1': 2.0, 'x': 62.0, 'x2': 122.0}]
    """
    scale = WIDTH / (1 - low) if low < 1 else 0.0
    return [
        {"y": STEP * (i + 0.5)}
        | {name: 2 + scale * (value - low) for name, value in zip(("x1", "x", "x2"), span, strict=True)}
        for i, span in enumerate(spans)
        if span is not None
    ]
