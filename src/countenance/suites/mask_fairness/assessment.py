"""The assessment: the score rows of a run under the published rule and under the audit, side by side."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.answers import Boxes
from countenance.auditing import Audit, Finding
from countenance.data import tables
from countenance.data.vocabulary import UNKNOWN
from countenance.errors import InputError
from countenance.run.file_names import AUDIT
from countenance.run.run import Run
from countenance.suites.mask_fairness.causes import why
from countenance.suites.mask_fairness.seed_rule import ALPHA, SeedRow, seed_columns, seed_table

METRICS = {"localization": "localised", "true_positive": "true_positive", "true_negative": "true_negative"}
"""The names that files bear, and the columns of the score table."""

TITLES = {
    "localization": "localisation rate",
    "true_positive": "true positive rate",
    "true_negative": "true negative rate",
}


@dataclass(frozen=True)
class Row:
    """One group of one attribute under one metric, by both rules."""

    metric: str
    attribute: str
    seed: SeedRow
    finding: Finding | None
    cause: str
    sentence: str

    @property
    def ours(self) -> bool:
        """Whether the audit calls it a disparity."""
        return self.finding is not None and self.finding.verdict == "disparity"


@dataclass(frozen=True)
class Assessment:
    """Every group under every metric, what could not be assessed, and the audit."""

    rows: list[Row]
    not_assessable: dict[str, str]
    audit: Audit
    by: list[str]

    def table(self, attribute: str, metric: str) -> list[Row]:
        """The rows of one file."""
        return [row for row in self.rows if row.attribute == attribute and row.metric == metric]

    def tally(self) -> dict[str, Any]:
        """The number of tests, of findings by either rule, and of findings expected by chance alone."""
        tested = sum(row.seed.tested for row in self.rows)
        return {
            "tested": tested,
            "expected": f"{tested * ALPHA:.1f}",
            "published": sum(row.seed.significant for row in self.rows),
            "severe": sum(row.seed.severe for row in self.rows),
            "ours": sum(row.ours for row in self.rows),
        }

    def significant(self) -> list[Row]:
        """Every finding that either rule calls significant, the clearest first."""
        rows = [row for row in self.rows if row.seed.significant or row.ours]
        return sorted(rows, key=lambda row: (not row.ours, row.seed.p if row.seed.tested else 1.0))

    def beyond_the_tables(self) -> list[Finding]:
        """The disparities that the audit finds and no table lists, such as younger against older people."""
        listed = {
            (METRICS[row.metric], row.attribute, frozenset((row.finding.group, row.finding.versus)))
            for row in self.rows
            if row.finding
        }
        return [
            finding
            for finding in self.audit.findings
            if finding.verdict == "disparity"
            and (finding.metric, finding.attribute, frozenset((finding.group, finding.versus))) not in listed
        ]


def _finding(findings: Sequence[Finding], metric: str, attribute: str, group: str) -> Finding | None:
    for finding in findings:
        if finding.metric == METRICS[metric] and finding.attribute == attribute and finding.depth == 1:
            if finding.group == group:
                return finding
            if finding.versus == group:
                return finding.mirrored()
    return None


def assessable_metrics(run: Run) -> list[str]:
    """The metrics of a run that have a value for at least one face."""
    absent = _absent(run)
    if len(absent) == len(METRICS):
        raise InputError(f"{run.path}: no face was scored; see failures.parquet")
    return [column for metric, column in METRICS.items() if metric not in absent]


def assessment_of(run: Run, audit: Audit) -> Assessment:
    """Both rules side by side, the audit's findings as they are stored; attributes in bins are only in the audit."""
    scores = run.scores()
    by = [name for name in audit.settings["by"] if f"attr.{name}" in scores.column_names]
    absent = _absent(run)
    rows = []
    for attribute in by:
        groups = scores.column(f"attr.{attribute}").to_pylist()
        for metric, column in METRICS.items():
            for seed in seed_table(attribute, groups, scores.column(f"m.{column}").to_pylist()):
                if metric in absent:
                    finding, cause, sentence = None, "not assessable", absent[metric]
                elif seed.group == UNKNOWN:
                    finding, cause, sentence = None, "not testable", "unknown values are shown, not tested"
                else:
                    finding = _finding(audit.findings, metric, attribute, seed.group)
                    cause, sentence = why(seed, finding)
                rows.append(Row(metric, attribute, seed, finding, cause, sentence))
    return Assessment(rows, absent, audit, by)


def _absent(run: Run) -> dict[str, str]:
    """The metrics without a value for any face, each with the reason."""
    columns = {metric: run.scores().column(f"m.{column}") for metric, column in METRICS.items()}
    return {metric: _why_not(run, metric) for metric, column in columns.items() if column.null_count == len(column)}


def _why_not(run: Run, metric: str) -> str:
    """The reason why a metric has no units: no masked (or bare) face, no judgement, or no face found."""
    if metric == "localization":
        return "no face in the data"
    scores = run.scores()
    worn_value = "yes" if metric == "true_positive" else "no"
    worn = scores.column("attr.masked").to_pylist() if "attr.masked" in scores.column_names else []
    if worn_value not in worn:
        which = "masked" if worn_value == "yes" else "unmasked"
        return f"not assessable: {run.dataset_name} has no {which} faces"
    boxes = [answer for answer in run.answers().values() if isinstance(answer, Boxes) and len(answer)]
    if boxes and all(answer.labels is None for answer in boxes):
        return f"not assessable: {run.model_label} finds faces and does not judge masks"
    return "not assessable: no such face was localised"


OWN = {
    "low": "low",
    "high": "high",
    "clusters": "clusters",
    "low_other": "low_versus",
    "high_other": "high_versus",
    "design_effect": "deff",
    "difference": "difference",
    "difference_low": "diff_low",
    "difference_high": "diff_high",
    "h_low": "effect_low",
    "h_high": "effect_high",
    "test": "test",
    "p_test": "p",
    "p_adjusted": "p_adjusted",
    "smallest_detectable_h": "mde",
    "n_needed": "n_needed",
    "verdict": "verdict",
    "severity": "severity",
    "reason": "reason",
}
"""Our columns, and what they are called in a finding."""


def csv_columns(row: Row) -> Mapping[str, Any]:
    """The published columns, then ours."""
    own = {column: getattr(row.finding, name, None) for column, name in OWN.items()}
    if row.finding is None:
        own |= {"verdict": row.cause, "reason": row.sentence}
    return {**seed_columns(row.seed), **own, "rules_differ_by": row.cause, "why": row.sentence}


def _cell(value: Any) -> Any:
    """A cell of a CSV: twelve digits of a number, so that no rounding error shows; empty for missing values.

    >>> _cell(0.1 + 0.2), _cell(float("nan"))
    ('0.3', '')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.12g}" if isinstance(value, float) else value


def csv_text(rows: Sequence[Mapping[str, Any]], header: Sequence[str]) -> str:
    """A CSV text; missing values are empty."""
    return tables.csv_text(header, ([_cell(row[name]) for name in header] for row in rows))


FINDING_COLUMNS = (
    "metric",
    "attribute",
    "group",
    "n",
    "rate",
    "rate_other",
    "p",
    "h",
    "significant",
    "severe",
    "p_adjusted",
    "verdict",
    "severity",
    "rules_differ_by",
    "why",
)


def tables_of(assessment: Assessment) -> dict[str, str]:
    """`assessment_<attribute>_<metric>.csv` for every attribute and metric, and `assessment_findings.csv`."""
    tables = {}
    for attribute in assessment.by:
        for metric in METRICS:
            rows = [csv_columns(row) for row in assessment.table(attribute, metric)]
            tables[f"assessment_{attribute}_{metric}.csv"] = csv_text(rows, list(rows[0]))
    rows = [{"metric": row.metric, "attribute": row.attribute, **csv_columns(row)} for row in assessment.significant()]
    return tables | {"assessment_findings.csv": csv_text(rows, FINDING_COLUMNS)}


def store_tables(run: Run, assessment: Assessment) -> list[str]:
    """Write the tables into the run and name them."""
    tables = tables_of(assessment)
    with run.store.replacing(*tables):
        for name, text in tables.items():
            run.store.storage.write(name, text.encode())
    return list(tables)


def tables_again(run: Run, names: Sequence[str]) -> list[str]:
    """Write the tables of a run again after its scores changed, if it had any and has an audit; returns their names."""
    from countenance.run import read_audit

    had = any(name.startswith("assessment_") for name in names) and run.scores().num_rows
    return store_tables(run, assessment_of(run, read_audit(run))) if had and run.store.storage.entries(AUDIT) else []
