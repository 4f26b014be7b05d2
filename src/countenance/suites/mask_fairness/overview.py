"""One page for several detectors on several datasets: every group under every metric, by both rules side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.report import numbers, render
from countenance.run import Run, read_audit
from countenance.run.store import AUDIT
from countenance.suites.mask_fairness.assessment import METRICS, TITLES, Assessment, Row, assessment_of
from countenance.suites.mask_fairness.compare import open_run
from countenance.suites.mask_fairness.report import TEMPLATES
from countenance.suites.mask_fairness.seed_rule import ALPHA


@dataclass(frozen=True)
class Assessed:
    """A run of an assessment with both rules applied."""

    run: Run
    found: Assessment


def read_assessed(path: Path) -> Assessed:
    """An assessed run; one that was not audited, or is of another suite, is refused by name."""
    run = open_run(path)
    scores = run.scores().column_names
    if any(f"m.{column}" not in scores for column in METRICS.values()):
        raise InputError(f"{path}: not a run of `countenance mask-fairness assess`")
    if not run.store.storage.entries(AUDIT):
        raise InputError(f"{path}: was not audited; `countenance mask-fairness assess` does it")
    return Assessed(run, assessment_of(run, read_audit(run)))


def write_overview(paths: Sequence[Path], out: Path) -> Path:
    """Write the page of several assessments, a section for each dataset and a column for each detector."""
    datasets: dict[tuple[str, str], list[Assessed]] = {}
    for path in paths:
        one = read_assessed(path)
        key = (one.run.dataset_name, one.run.manifest.dataset.fingerprint)
        datasets.setdefault(key, []).append(one)
    sections = [_dataset(name, runs, i) for i, ((name, _), runs) in enumerate(datasets.items())]
    return render.write(
        out, render.page(render.template(TEMPLATES, "overview.html.j2"), datasets=sections, alpha=ALPHA)
    )


def _dataset(name: str, assessed: list[Assessed], place: int) -> dict[str, Any]:
    real = assessed[0].run.manifest.dataset.card.real_people
    tables = [table for metric in METRICS if (table := _table(metric, assessed))["rows"]]
    return {
        "key": f"data-{place}",
        "name": name,
        "images": max(one.run.manifest.dataset.images for one in assessed),
        "people": "photographs of real people" if real else "rendered people, nobody real",
        "detectors": [_detector(one) for one in assessed],
        "names": [one.run.model_name for one in assessed],
        "tables": tables,
    }


def _detector(one: Assessed) -> dict[str, Any]:
    tested = sum(row.seed.tested for row in one.found.rows)
    return {
        "name": one.run.model_name,
        "failed": one.run.manifest.failed,
        "tested": tested,
        "chance": f"{tested * ALPHA:.1f}",
        "published": sum(row.seed.significant for row in one.found.rows),
        "severe": sum(row.seed.severe for row in one.found.rows),
        "audit": sum(row.ours for row in one.found.rows),
        "not_assessable": [f"{TITLES[metric]}: {why}" for metric, why in one.found.not_assessable.items()],
        "verdict": one.found.audit.verdict,
    }


def _table(metric: str, assessed: list[Assessed]) -> dict[str, Any]:
    """The groups of one metric: of each the cell of every detector, empty where it has none."""
    rows: dict[tuple[str, str], dict[int, Row]] = {}
    for i, one in enumerate(assessed):
        for row in one.found.rows:
            if row.metric == metric and metric not in one.found.not_assessable:
                rows.setdefault((row.attribute, row.seed.group), {})[i] = row
    cells = [
        {"attribute": attribute, "group": group, "cells": [_cell(of.get(i)) for i in range(len(assessed))]}
        for (attribute, group), of in rows.items()
    ]
    return {"title": TITLES[metric], "rows": cells}


def _cell(row: Row | None) -> dict[str, str]:
    if row is None:
        return dict.fromkeys(("n", "rate", "p", "h", "published", "audit"), "–")
    seed, finding = row.seed, row.finding
    published = "severe" if seed.severe else "significant" if seed.significant else "no" if seed.tested else "–"
    own = f"{finding.severity} disparity" if finding and row.ours else (finding.verdict if finding else row.cause)
    return {
        "n": numbers.count(seed.n),
        "rate": numbers.value(seed.rate, "rate"),
        "p": numbers.probability(seed.p),
        "h": numbers.effect(seed.h),
        "published": published,
        "audit": own,
    }
