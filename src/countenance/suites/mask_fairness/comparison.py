"""`compare`: two detectors on the same faces, paired, overall and in every group: first minus second."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.auditing import Finding
from countenance.comparing.changes import paired_findings
from countenance.comparing.comparison import ComparisonQuestion
from countenance.comparing.entries import entries_of
from countenance.errors import InputError
from countenance.run import Run
from countenance.run.auditing import check_names
from countenance.suites.mask_fairness.assessment import METRICS


@dataclass(frozen=True)
class RateDifference:
    """The difference of two detectors on the same faces of one group."""

    metric: str
    attribute: str
    group: str
    finding: Finding


@dataclass(frozen=True)
class DetectorComparison:
    """Two detectors: their names, and every paired difference."""

    names: tuple[str, str]
    differences: list[RateDifference]
    skipped: dict[str, str]


def open_run(path: Path) -> Run:
    """A run, or the run of an assessment's folder."""
    return Run(path / "run") if (path / "run" / "run.json").is_file() else Run(path)


def compare(first: Path, second: Path, by: Sequence[str] = (), **settings: Any) -> DetectorComparison:
    """Compare two runs face by face: McNemar's exact test on the faces with values in both, overall and by group.

    The pictures and the rule must be the same; a face that only one detector localised has no pair of true rates.
    All lines are adjusted together.
    """
    first_run, second_run = open_run(first), open_run(second)
    names = (first_run.model_label, second_run.model_label)
    if names[0] == names[1]:
        names = (f"{names[0]} ({first.name})", f"{names[1]} ({second.name})")
    entries = entries_of([second_run, first_run], names[::-1])  # differences are the first's less the second's
    known = [name.removeprefix("attr.") for name in first_run.scores().column_names if name.startswith("attr.")]
    check_names(str(first), by, known)
    skipped: dict[str, str] = {}
    for metric, column in METRICS.items():
        rates = [run.scores().column(f"m.{column}") for run in (first_run, second_run)]
        if any(rate.null_count == len(rate) for rate in rates):
            skipped[metric] = "one of the two has no such rate"
    columns = {column: metric for metric, column in METRICS.items() if metric not in skipped}
    if not columns:
        raise InputError(f"{first} and {second} have no rate in common")
    question = ComparisonQuestion.of(entries, list(by), list(columns), **settings)
    sides, grouped = question.sides(0, 1)
    findings = paired_findings(sides, grouped)
    differences = [
        RateDifference(columns[finding.metric], attribute or "all", group or "all", finding)
        for attribute, group, finding in sorted(findings, key=lambda entry: list(columns).index(entry[2].metric))
    ]
    return DetectorComparison(names, differences, skipped)


COLUMNS = {
    "n": "n",
    "first": "estimate",
    "second": "estimate_versus",
    "difference": "difference",
    "difference_low": "diff_low",
    "difference_high": "diff_high",
    "p": "p",
    "p_adjusted": "p_adjusted",
    "verdict": "verdict",
    "reason": "reason",
}
"""The columns of the table, and what they are called in a finding."""


def table_rows(comparison: DetectorComparison) -> list[dict[str, Any]]:
    """The comparison as rows of a table."""
    return [
        {"metric": item.metric, "attribute": item.attribute, "group": item.group}
        | {column: getattr(item.finding, name) for column, name in COLUMNS.items()}
        for item in comparison.differences
    ]
