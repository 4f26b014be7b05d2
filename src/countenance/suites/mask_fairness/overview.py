"""One page for several detectors on several datasets: every group under every metric, by both rules side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.report import render
from countenance.run import Run, read_audit
from countenance.run.store import AUDIT
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Assessment, Row, assessment_of
from countenance.suites.mask_fairness.compare import open_run
from countenance.suites.mask_fairness.report import TEMPLATES, cells
from countenance.suites.mask_fairness.seed_rule import ALPHA


def read_assessed(path: Path) -> tuple[Run, Assessment]:
    """An assessed run; one that was not audited, or is of another suite, is refused by name."""
    run = open_run(path)
    scores = run.scores().column_names
    if any(f"m.{column}" not in scores for column in METRICS.values()):
        raise InputError(f"{path}: not a run of `countenance mask-fairness assess`")
    if not run.store.storage.entries(AUDIT):
        raise InputError(f"{path}: was not audited; `countenance mask-fairness assess` does it")
    return run, assessment_of(run, read_audit(run))


def write_overview(paths: Sequence[Path], out: Path) -> Path:
    """Write the page of several assessments, a section for each dataset and a column for each detector."""
    datasets: dict[tuple[str, str], list[tuple[Run, Assessment]]] = {}
    for path in paths:
        run, found = read_assessed(path)
        datasets.setdefault((run.dataset_name, run.manifest.dataset.fingerprint), []).append((run, found))
    sections = [
        {
            "name": name,
            "images": max(run.manifest.dataset.images for run, _ in assessed),
            "real": assessed[0][0].manifest.dataset.card.real_people,
            "detectors": [_detector(run, found) for run, found in assessed],
            "tables": [_table(metric, [found for _, found in assessed]) for metric in METRICS],
        }
        for (name, _), assessed in datasets.items()
    ]  # fmt: skip
    text = render.page(render.template(TEMPLATES, "overview.html.j2"), datasets=sections, alpha=ALPHA)
    return render.write(out, text)


def _detector(run: Run, found: Assessment) -> dict[str, Any]:
    tested = sum(row.seed.tested for row in found.rows)
    return {
        "name": run.model_name,
        "failed": run.manifest.failed,
        "tested": tested,
        "chance": f"{tested * ALPHA:.1f}",
        "published": sum(row.seed.significant for row in found.rows),
        "severe": sum(row.seed.severe for row in found.rows),
        "audit": sum(row.ours for row in found.rows),
        "not_assessable": [f"{TITLES[metric]}: {why}" for metric, why in found.not_assessable.items()],
        "verdict": found.audit.verdict,
    }


def _table(metric: str, assessed: Sequence[Assessment]) -> dict[str, Any]:
    """The groups of one metric: of each the cells of every detector, dashes where it has none."""
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    for i, found in enumerate(assessed):
        for row in found.rows:
            if row.metric == metric and metric not in found.not_assessable:
                rows.setdefault((row.attribute, row.seed.group), {})[i] = row
    shown = [
        (attribute, group, [cells(of.get(i)) for i in range(len(assessed))]) for (attribute, group), of in rows.items()
    ]
    return {"title": TITLES[metric], "rows": shown}
