"""What an assessment adds to the report of its run, and one page for several: both rules side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.errors import InputError
from countenance.report import numbers, render, words
from countenance.report.source import ReportSource
from countenance.run import Run, read_audit
from countenance.run.file_names import AUDIT
from countenance.run.suite import Section
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Assessment, Row, assessment_of
from countenance.suites.mask_fairness.citation import CITATION
from countenance.suites.mask_fairness.compare import open_run
from countenance.suites.mask_fairness.seed_rule import ALPHA

TEMPLATES = Path(__file__).parent / "templates"


def sections(source: ReportSource) -> list[Section]:
    """The table of every finding that either rule calls significant; nothing where none of the metrics was audited."""
    if not {metric.name for metric in source.metrics} & set(METRICS.values()):
        return []
    assessment = assessment_of(source.run, source.audit)
    disparities = sum(finding.verdict == "disparity" for finding in assessment.audit.findings)
    text = render.template(TEMPLATES, "rules.html.j2").render(
        rows=[(row, TITLES[row.metric], cells(row)) for row in assessment.significant()],
        not_assessable=[(TITLES[metric], reason) for metric, reason in assessment.not_assessable.items()],
        disparities=numbers.plural(disparities, "disparity", "disparities"),
        **assessment.tally(),
    )
    return [("two-rules", "Two rules, side by side", Markup(text))]  # noqa: S704 - an autoescaped template


def cells(row: Row | None) -> dict[str, str]:
    """A group by both rules, as pages show it; dashes where it was not assessed."""
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
    """An assessed run; one that was not audited, or is of another suite, is refused by name."""
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
        datasets.setdefault((run.dataset_name, run.manifest.dataset.fingerprint), []).append((run, assessment))
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
    return render.write(out, render.page(page, datasets=shown, alpha=ALPHA, citation=CITATION))


def _detector(run: Run, assessment: Assessment) -> dict[str, Any]:
    return assessment.tally() | {
        "name": run.model_name,
        "failed": run.manifest.failed,
        "not_assessable": [f"{TITLES[metric]}: {why}" for metric, why in assessment.not_assessable.items()],
        "verdict": assessment.audit.verdict,
    }


def _table(metric: str, assessed: Sequence[Assessment]) -> dict[str, Any]:
    """The groups of one metric: of each the cells of every detector, dashes where it has none."""
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    for i, assessment in enumerate(assessed):
        for row in assessment.rows:
            if row.metric == metric and metric not in assessment.not_assessable:
                rows.setdefault((row.attribute, row.seed.group), {})[i] = row
    shown = [(*key, [cells(own.get(i)) for i in range(len(assessed))]) for key, own in rows.items()]
    return {"title": TITLES[metric], "rows": shown}
