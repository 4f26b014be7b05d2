"""`compare`: two detectors on the same faces, paired, over all and in every group."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.audit import Audit, Finding, audit, paired_tables
from countenance.data.tables import near
from countenance.data.vocabulary import UNKNOWN, in_order
from countenance.errors import InputError
from countenance.run import Run
from countenance.suites.mask_fairness.assessment import METRICS, mirrored

PAIR = ("sample", "subject")


@dataclass(frozen=True)
class Difference:
    """How two detectors fare on the same faces of one group."""

    metric: str
    attribute: str
    group: str
    finding: Finding


@dataclass(frozen=True)
class Comparison:
    """Two detectors: their names, and every paired difference."""

    names: tuple[str, str]
    differences: list[Difference]
    skipped: dict[str, str]


def open_run(path: Path) -> Run:
    """A run, or the run of an assessment's folder."""
    return Run(path / "run") if (path / "run" / "run.json").is_file() else Run(path)


def compare(first: Path, second: Path, by: Sequence[str] = (), **settings: Any) -> Comparison:
    """Compare two runs face by face: McNemar's exact test on the faces that both metrics have, over all and by group.

    The pictures and the rule must be the same; a face that only one of them localised has no true rate to pair.
    """
    one, two = open_run(first), open_run(second)
    for key in ("task",):
        if one.manifest[key] != two.manifest[key]:
            raise InputError(f"{first} answers {one.manifest[key]}, {second} {two.manifest[key]}: not comparable")
    if one.manifest["dataset"]["fingerprint"] != two.manifest["dataset"]["fingerprint"]:
        raise InputError(f"{first} and {second} are of different pictures; assess both detectors on the same ones")
    names = (one.model_name, two.model_name)
    if names[0] == names[1]:
        names = (f"{names[0]} ({first.name})", f"{names[1]} ({second.name})")
    table = paired_tables(one.scores(), two.scores(), list(PAIR), names=names, condition="detector")
    known = [name.removeprefix("attr.") for name in table.column_names if name.startswith("attr.")]
    for name in by:
        if name not in known:
            raise InputError(f"{first}: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    for metric, column in METRICS.items():
        sides = [run.scores().column(f"m.{column}") for run in (one, two)]
        if any(side.null_count == len(side) for side in sides):
            skipped[metric] = "one of the two has no such rate"
            continue
        jobs: list[tuple[str, str, Any]] = [("all", "all", table)]
        for attribute in by:
            values = table.column(f"attr.{attribute}").to_pylist()
            for group in in_order(attribute, [str(value) for value in values if value is not None]):
                if group != UNKNOWN:
                    keep = [value is not None and str(value) == group for value in values]
                    jobs.append((attribute, group, table.filter(keep)))
        for attribute, group, rows in jobs:
            found = _paired(rows, column, settings)
            if found.findings:
                first_named = found.findings[0]
                if first_named.group != names[0]:  # the audit names conditions in alphabetical order
                    first_named = mirrored(first_named)
                differences.append(Difference(metric, attribute, group, first_named))
    return Comparison(names, _adjusted(differences), skipped)


def _paired(rows: Any, column: str, settings: dict[str, Any]) -> Audit:
    return audit(rows, by=["detector"], metrics=[column], comparison="paired", pair=list(PAIR), **settings)


def _adjusted(differences: list[Difference]) -> list[Difference]:
    """Holm over every comparison made here (each audit above knew of its own only), and the verdict that follows."""
    import math

    import numpy as np

    from countenance.audit.multiplicity import holm

    p = holm(np.array([item.finding.p for item in differences]))
    changed = []
    for item, adjusted in zip(differences, p, strict=True):
        finding = item.finding
        if not math.isnan(finding.p):
            update: dict[str, Any] = {"p_adjusted": float(adjusted), "family_size": len(differences)}
            if finding.verdict == "disparity" and adjusted >= 0.05:
                update |= {
                    "verdict": "insufficient evidence", "severity": None,
                    "reason": f"p {finding.p:.2g} alone, adjusted for {len(differences)} comparisons {adjusted:.2g}",
                }  # fmt: skip
            finding = finding.model_copy(update=update)
        changed.append(Difference(item.metric, item.attribute, item.group, finding))
    return changed


def table_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The comparison as rows of a table."""
    return [
        {
            "metric": item.metric,
            "attribute": item.attribute,
            "group": item.group,
            "n": item.finding.n,
            "first": item.finding.estimate,
            "second": item.finding.estimate_versus,
            "difference": item.finding.difference,
            "difference_low": item.finding.diff_low,
            "difference_high": item.finding.diff_high,
            "p": item.finding.p,
            "p_adjusted": item.finding.p_adjusted,
            "verdict": item.finding.verdict,
            "reason": item.finding.reason,
        }
        for item in comparison.differences
    ]
