"""The report of an assessment: the run's report with a forest plot per metric, and the two rules side by side."""

from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader

from countenance.report import numbers, page, render
from countenance.report.source import Source
from countenance.run import Run
from countenance.suites.mask_fairness.assessment import TITLES, Assessment, Row
from countenance.suites.mask_fairness.seed_rule import ALPHA

BEFORE = '<section aria-labelledby="cannot-tell">'
"""Our section stands between what was found and what cannot be told."""


def write_suite_report(run: Run, assessment: Assessment, out: Path, *, gallery: str = "auto") -> Path:
    """Write the page; everything in it comes from the run directory."""
    source = Source.of(run)
    text = render.page("report.html.j2", **page.context(source, gallery))
    section = rules_section(assessment)
    place = BEFORE if BEFORE in text else "</main>"
    text = text.replace(place, section + place, 1)
    link = '<li><a href="#cannot-tell">'
    text = text.replace(link, '<li><a href="#two-rules">Two rules</a></li>\n' + link, 1)
    return render.write(out, text)


def rules_section(assessment: Assessment) -> str:
    """The table of every finding that either rule calls significant, as HTML."""
    environment = render.environment()
    mine = FileSystemLoader(Path(__file__).parent / "templates")
    both = environment.overlay(loader=ChoiceLoader([mine, environment.loader or mine]))
    tested = sum(row.seed.tested for row in assessment.rows)
    return both.get_template("rules.html.j2").render(
        rows=[_line(row) for row in assessment.significant()],
        not_assessable=[(TITLES[metric], reason) for metric, reason in assessment.not_assessable.items()],
        tested=tested,
        expected=f"{tested * ALPHA:.1f}",
        seed=sum(row.seed.significant for row in assessment.rows),
        severe=sum(row.seed.severe for row in assessment.rows),
        ours=numbers.plural(sum(finding.verdict == "disparity" for finding in assessment.audit.findings), "disparity"),
    )


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
