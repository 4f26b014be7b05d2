"""What an assessment adds to the report of its run: the published rule and the audit side by side."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.report import numbers, render, write_report
from countenance.report.source import Source
from countenance.run import Run
from countenance.run.suite import Section
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Assessment, Row, assessment_of
from countenance.suites.mask_fairness.seed_rule import ALPHA

TEMPLATES = Path(__file__).parent / "templates"


def write_suite_report(run: Run, assessment: Assessment, out: Path, *, gallery: str = "auto") -> Path:
    """Write the report of an assessed run: `countenance.report.write_report`, which has both rules on its page."""
    return write_report(run, out, gallery=gallery)


def sections(source: Source) -> list[Section]:
    """The table of every finding that either rule calls significant; nothing where none of the metrics was audited."""
    if not {metric.name for metric in source.metrics} & set(METRICS.values()):
        return []
    assessment = assessment_of(source.run, source.audit)
    tested = sum(row.seed.tested for row in assessment.rows)
    text = render.template(TEMPLATES, "rules.html.j2").render(
        rows=[_line(row) for row in assessment.significant()],
        not_assessable=[(TITLES[metric], reason) for metric, reason in assessment.not_assessable.items()],
        tested=tested,
        expected=f"{tested * ALPHA:.1f}",
        seed=sum(row.seed.significant for row in assessment.rows),
        severe=sum(row.seed.severe for row in assessment.rows),
        ours=numbers.plural(
            sum(finding.verdict == "disparity" for finding in assessment.audit.findings), "disparity", "disparities"
        ),
    )
    return [("two-rules", "Two rules, side by side", Markup(text))]  # noqa: S704 - an autoescaped template


def _line(row: Row) -> dict[str, Any]:
    seed, finding = row.seed, row.finding
    published = "severe" if seed.severe else "significant" if seed.significant else "not significant"
    return {
        "metric": TITLES[row.metric],
        "attribute": row.attribute,
        "group": seed.group,
        "n": seed.n,
        "rate": numbers.value(seed.rate, "rate"),
        "rate_other": numbers.value(seed.rate_other, "rate"),
        "p": numbers.probability(seed.p),
        "h": numbers.effect(seed.h),
        "published": published,
        "p_adjusted": numbers.probability(finding.p_adjusted) if finding else "–",
        "audit": (finding.severity or "") + " " * bool(finding.severity) + finding.verdict if finding else row.cause,
        "why": row.sentence,
    }
