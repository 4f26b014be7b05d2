"""The assessment: the score rows of a run under the published rule and under the audit, side by side."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.answers import Boxes
from countenance.audit import Audit, Finding
from countenance.data.tables import near
from countenance.data.vocabulary import UNKNOWN
from countenance.errors import InputError
from countenance.files import write_text
from countenance.run.run import Run
from countenance.run.store import AUDIT
from countenance.suites.mask_fairness.seed_rule import SeedRow, seed_columns, seed_table
from countenance.suites.mask_fairness.why import why

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
    """Every group under every metric, what could not be assessed at all, and the audit behind it."""

    rows: list[Row]
    not_assessable: dict[str, str]
    audit: Audit
    by: list[str]

    def table(self, attribute: str, metric: str) -> list[Row]:
        """The rows of one file."""
        return [row for row in self.rows if row.attribute == attribute and row.metric == metric]

    def significant(self) -> list[Row]:
        """Every finding that either rule calls significant, the clearest first."""
        found = [row for row in self.rows if row.seed.significant or row.ours]
        return sorted(found, key=lambda row: (not row.ours, row.seed.p if row.seed.tested else 1.0))


def mirrored(finding: Finding) -> Finding:
    """The same comparison seen from the other group (an attribute with two values is compared once)."""
    return finding.model_copy(
        update={
            "group": finding.versus, "versus": finding.group,
            "n": finding.n_versus, "n_versus": finding.n,
            "clusters": finding.clusters_versus, "clusters_versus": finding.clusters,
            "estimate": finding.estimate_versus, "estimate_versus": finding.estimate,
            "low": finding.low_versus, "low_versus": finding.low,
            "high": finding.high_versus, "high_versus": finding.high,
            "deff": finding.deff_versus, "deff_versus": finding.deff,
            "difference": -finding.difference, "diff_low": -finding.diff_high, "diff_high": -finding.diff_low,
            "effect": -finding.effect, "effect_low": -finding.effect_high, "effect_high": -finding.effect_low,
            "z": -finding.z,
        }
    )  # fmt: skip


def _finding(findings: Sequence[Finding], metric: str, attribute: str, group: str) -> Finding | None:
    for finding in findings:
        if finding.metric == METRICS[metric] and finding.attribute == attribute and finding.depth == 1:
            if finding.group == group:
                return finding
            if finding.versus == group:
                return mirrored(finding)
    return None


def assess_run(run: Run, by: Sequence[str], **settings: Any) -> Assessment:
    """Apply both rules to a finished run. `settings` go to the audit (alpha, delta, min_n, adjust, cluster, …)."""
    from countenance.run import audit_run

    scores = run.scores()
    known = [name.removeprefix("attr.") for name in scores.column_names if name.startswith("attr.")]
    for name in by:
        if name not in known:
            raise InputError(f"{run.path}: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")
    absent = _absent(run, scores)
    if len(absent) == len(METRICS):
        raise InputError(f"{run.path}: no face was scored; see failures.parquet")
    audited = [column for metric, column in METRICS.items() if metric not in absent]
    return assessment_of(run, audit_run(run, list(by), audited, **({"depth": 1} | settings)))


def assessment_of(run: Run, found: Audit) -> Assessment:
    """Both rules side by side, the audit's findings as they are stored; attributes in bins are the audit's alone."""
    scores = run.scores()
    by = [name for name in found.settings["by"] if f"attr.{name}" in scores.column_names]
    absent = _absent(run, scores)
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
                    finding = _finding(found.findings, metric, attribute, seed.group)
                    cause, sentence = why(seed, finding)
                rows.append(Row(metric, attribute, seed, finding, cause, sentence))
    return Assessment(rows, absent, found, by)


def _absent(run: Run, scores: Any) -> dict[str, str]:
    """The metrics that no face has, each with the reason."""
    columns = {metric: scores.column(f"m.{column}") for metric, column in METRICS.items()}
    return {metric: _why_not(run, metric) for metric, column in columns.items() if column.null_count == len(column)}


def _why_not(run: Run, metric: str) -> str:
    """Why a metric has no units: nobody wears (or lacks) a mask, the detector does not judge, or nobody was found."""
    if metric == "localization":
        return "no face in the data"
    scores = run.scores()
    wanted = "yes" if metric == "true_positive" else "no"
    worn = scores.column("attr.masked").to_pylist() if "attr.masked" in scores.column_names else []
    if wanted not in worn:
        which = "masked" if wanted == "yes" else "unmasked"
        return f"not assessable: {run.dataset_name} has no {which} faces"
    boxes = [answer for answer in run.answers().values() if isinstance(answer, Boxes) and len(answer)]
    if boxes and all(answer.labels is None for answer in boxes):
        return f"not assessable: {run.model_name} finds faces and does not judge masks"
    return "not assessable: no such face was localised"


def csv_columns(row: Row) -> Mapping[str, Any]:
    """The published columns, then ours."""
    f = row.finding
    own = {
        "low": f.low if f else math.nan,
        "high": f.high if f else math.nan,
        "clusters": f.clusters if f else None,
        "low_other": f.low_versus if f else math.nan,
        "high_other": f.high_versus if f else math.nan,
        "design_effect": f.deff if f else math.nan,
        "difference": f.difference if f else math.nan,
        "difference_low": f.diff_low if f else math.nan,
        "difference_high": f.diff_high if f else math.nan,
        "h_low": f.effect_low if f else math.nan,
        "h_high": f.effect_high if f else math.nan,
        "test": f.test if f else None,
        "p_test": f.p if f else math.nan,
        "p_adjusted": f.p_adjusted if f else math.nan,
        "smallest_detectable_h": f.mde if f else math.nan,
        "n_needed": f.n_needed if f else None,
        "verdict": f.verdict if f else row.cause,
        "severity": f.severity if f else None,
        "reason": f.reason if f else row.sentence,
        "rules_differ_by": row.cause,
        "why": row.sentence,
    }
    return {**seed_columns(row.seed), **own}


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else value


def csv_text(rows: Sequence[Mapping[str, Any]], header: Sequence[str]) -> str:
    """A CSV; numbers keep every digit, what does not exist is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(row[name]) for name in header] for row in rows)
    return stream.getvalue()


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], header: Sequence[str]) -> None:
    """Write a CSV, whole or not at all."""
    write_text(path, csv_text(rows, header))


def tables_of(assessment: Assessment) -> dict[str, str]:
    """`assessment_<attribute>_<metric>.csv` for every attribute and metric, and `assessment_findings.csv`."""
    made = {}
    for attribute in assessment.by:
        for metric in METRICS:
            rows = [csv_columns(row) for row in assessment.table(attribute, metric)]
            made[f"assessment_{attribute}_{metric}.csv"] = csv_text(rows, list(rows[0]))
    rows = [dict(finding_columns(row)) for row in assessment.significant()]
    return made | {"assessment_findings.csv": csv_text(rows, FINDING_COLUMNS)}


def store_tables(run: Run, assessment: Assessment) -> list[str]:
    """Write the tables into the run and name them."""
    tables = tables_of(assessment)
    with run.store.replacing(*tables):
        for name, text in tables.items():
            run.store.storage.write(name, text.encode())
    return list(tables)


def tables_again(run: Run, names: Sequence[str]) -> list[str]:
    """The tables of a run whose scores have changed, where it had some and has an audit."""
    from countenance.run import read_audit

    had = any(name.startswith("assessment_") for name in names) and run.scores().num_rows
    return store_tables(run, assessment_of(run, read_audit(run))) if had and run.store.storage.entries(AUDIT) else []


FINDING_COLUMNS = (
    "metric", "attribute", "group", "n", "rate", "rate_other", "p", "h", "significant", "severe",
    "p_adjusted", "verdict", "severity", "rules_differ_by", "why",
)  # fmt: skip


def finding_columns(row: Row) -> Mapping[str, Any]:
    """A line of the table of findings that either rule calls significant."""
    columns = {"metric": row.metric, "attribute": row.attribute, **csv_columns(row)}
    return {name: columns[name] for name in FINDING_COLUMNS}
