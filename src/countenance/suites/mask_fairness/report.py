"""What an assessment adds to the report of its run: the published rule and the audit side by side."""

from pathlib import Path

from markupsafe import Markup

from countenance.report import numbers, render
from countenance.report.source import ReportSource
from countenance.run.suite import Section
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Row, assessment_of
from countenance.suites.mask_fairness.seed_rule import ALPHA

TEMPLATES = Path(__file__).parent / "templates"


def sections(source: ReportSource) -> list[Section]:
    """The table of every finding that either rule calls significant; nothing where none of the metrics was audited."""
    if not {metric.name for metric in source.metrics} & set(METRICS.values()):
        return []
    assessment = assessment_of(source.run, source.audit)
    tested = sum(row.seed.tested for row in assessment.rows)
    text = render.template(TEMPLATES, "rules.html.j2").render(
        rows=[(row, TITLES[row.metric], cells(row)) for row in assessment.significant()],
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


def cells(row: Row | None) -> dict[str, str]:
    """A group by both rules, as pages show it; dashes where it was not assessed."""
    if row is None:
        return dict.fromkeys(("n", "rate", "rate_other", "p", "h", "published", "p_adjusted", "audit"), "–")
    seed, finding = row.seed, row.finding
    verdict = row.cause if finding is None else f"{finding.severity or ''} {finding.verdict}".strip()
    return {
        "n": numbers.count(seed.n),
        "rate": numbers.value(seed.rate, "rate"),
        "rate_other": numbers.value(seed.rate_other, "rate"),
        "p": numbers.probability(seed.p),
        "h": numbers.effect(seed.h),
        "published": seed.verdict,
        "p_adjusted": numbers.probability(finding.p_adjusted) if finding else "–",
        "audit": verdict,
    }
