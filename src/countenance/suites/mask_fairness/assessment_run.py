"""`assess`: from a detector (or its predictions) and a dataset to tables, run and report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.data.adapters.mask_fairness import MaskData
from countenance.errors import InputError
from countenance.run import Run, read_audit
from countenance.run.file_names import MANIFEST
from countenance.settings.engine import Say
from countenance.suites.mask_fairness.assessment import (
    METRICS,
    TITLES,
    Assessment,
    Row,
    assessment_of,
)
from countenance.suites.mask_fairness.notes import assessment_notes
from countenance.suites.mask_fairness.suite import MASK_FAIRNESS


def assess(
    data: MaskData,
    model: Any,
    out: Path,
    *,
    by: Sequence[str] = (),
    weights: Path | None = None,
    say: Say = lambda line: None,
    audit: dict[str, Any] | None = None,
    **engine: Any,
) -> tuple[Run, Assessment]:
    """Evaluate the detector on every picture (or take its predictions), apply both rules, write everything to `out`.

    `out` is the run; the tables in it are called `assessment_<attribute>_<metric>.csv`. `engine` goes to `evaluate`
    (workers, threads, batch, limit, seed, device, box_format, units, progress), `audit` to the audit.
    """
    attributes = list(by) or list(data.attributes)
    if not attributes:
        raise InputError(
            f"nothing to compare by; name attributes with by= ({', '.join(data.dataset.attribute_names())})"
        )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; out= names a folder")
    if (out / "run" / MANIFEST).is_file() and not (out / MANIFEST).is_file():
        raise InputError(
            f"{out}: holds an assessment of an earlier version, whose run is {out / 'run'}; name another folder"
        )
    (run,) = MASK_FAIRNESS.run(
        data.source or data.dataset,
        model,
        out,
        task=data.task,
        by=attributes,
        source=data.source or data.origin,
        weights=weights,
        notes=assessment_notes(data, model),
        say=say,
        **(audit or {}),
        **engine,
    )
    return run, assessment_of(run, read_audit(run))


def summary_lines(run: Run, assessment: Assessment) -> list[str]:
    """A summary of an assessment in a few lines."""
    lines = [
        f"evaluated           {run.model_label} on {run.manifest['dataset']['images']} pictures of {run.dataset_name}"
    ]
    if run.manifest["failed"]:
        lines[0] += f", {run.manifest['failed']} without an answer"
    lines += [f"note                {note}" for note in run.notes]
    scores = run.scores()
    for metric, column in METRICS.items():
        values = [value for value in scores.column(f"m.{column}").to_pylist() if value is not None]
        if metric in assessment.not_assessable:
            lines.append(f"{TITLES[metric]:19} {assessment.not_assessable[metric]}")
        else:
            k, n = int(sum(values)), len(values)
            lines.append(f"{TITLES[metric]:19} {k} of {n} ({k / n:.4f})")
    tally = assessment.tally()
    published = f"{tally['published']} significant, {tally['severe']} of them severe"
    lines.append(f"published rule      {published}, in {tally['tested']} tests")
    twice = " (an attribute with two values counts from both sides)" if _two(assessment.rows) else ""
    further = assessment.beyond_the_tables()
    beyond = f", {len(further)} beyond the published tables" if further else ""
    lines.append(f"audit               {tally['ours']} significant{twice}{beyond}: {assessment.audit.reason}")
    for row in assessment.significant()[:12]:
        rules = "both" if row.seed.significant and row.ours else "published" if row.seed.significant else "audit"
        lines.append(
            f"  {rules:9} {row.metric} of {row.attribute} = {row.seed.group}: {row.seed.rate:.3f} against "
            f"{row.seed.rate_other:.3f} (n {row.seed.n}, p {row.seed.p:.2g}, Cohen's h {row.seed.h:+.3f}); "
            f"{row.sentence}"
        )
    if len(assessment.significant()) > 12:
        lines.append(f"  and {len(assessment.significant()) - 12} more in assessment_findings.csv")
    return lines + [f"  beyond    {f.metric} of {f.attribute} = {f.group}: {f.reason}" for f in further[:12]]


def _two(rows: list[Row]) -> bool:
    """Whether one disparity is listed twice, once for each of two groups."""
    disparities = [(row.metric, {row.finding.group, row.finding.versus}) for row in rows if row.ours and row.finding]
    return any(disparities.count(disparity) > 1 for disparity in disparities)
