"""The content that every tracker gets of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.report.exports.published import PublishedNumber, published, sentence, source_of
from countenance.report.source import ReportSource
from countenance.run import Run
from countenance.run.file_names import AUDIT, MANIFEST, REPORT, RESULTS
from countenance.run.licences import in_words, of_manifest
from countenance.storage import is_url

COLUMNS = ("metric", "attribute", "group", "value", "low", "high", "n")


@dataclass(frozen=True)
class LoggedRun:
    """The content of a run for a tracker."""

    name: str
    sentence: str
    parameters: dict[str, str]
    metrics: dict[str, float]
    rows: list[tuple[Any, ...]]
    """The same numbers as a table, with `COLUMNS`."""
    files: list[Path]


def logged(run: Run | Path | str, *, report: bool | None = None) -> LoggedRun:
    """The content to log of a run; `report` as in `log_run`."""
    source = source_of(run)
    numbers = published(source)
    card = source.run.manifest.dataset.card
    with_report = not card.real_people if report is None else report
    return LoggedRun(
        f"{source.run.model_label} on {source.run.dataset_name}",
        sentence(source),
        _parameters(source),
        {name: value for number in numbers for name, value in _metrics(number)} | _counts(source),
        [(n.metric, n.attribute or "", n.group or "", n.value, n.low, n.high, n.n) for n in numbers],
        _files(source.run, with_report),
    )


def metric_name(number: PublishedNumber) -> str:
    """A name that all trackers accept: letters, digits, and a few signs.

    >>> metric_name(PublishedNumber("recall@0.5", "", 1, 1, 1, 0.95, 9, "rows", "higher", "skin_tone", "monk_1"))
    'recall_at_0.5/skin_tone/monk_1'
    """
    parts = [number.metric] if number.attribute is None else [number.metric, number.attribute, str(number.group)]
    return "/".join(re.sub(r"[^\w. -]", "_", part.replace("@", "_at_"), flags=re.ASCII) for part in parts)


def _metrics(number: PublishedNumber) -> list[tuple[str, float]]:
    name = metric_name(number)
    ends = zip(("low", "high"), number.interval or (), strict=False)
    return [(name, number.value), *((f"{name} {end}", value) for end, value in ends)]


def _counts(source: ReportSource) -> dict[str, float]:
    manifest = source.run.manifest
    counts = {"images": manifest.dataset.images, "failed images": manifest.failed}
    speed = {} if not manifest.images_per_second else {"images per second": manifest.images_per_second}
    disparities = sum(finding.verdict == "disparity" for finding in source.audit.findings)
    return {name: float(value) for name, value in (counts | speed | {"disparities": disparities}).items()}


def _parameters(source: ReportSource) -> dict[str, str]:
    manifest = source.run.manifest
    return {
        "verdict": source.audit.verdict,
        "task": manifest.task,
        "model": source.run.model_name,
        "model content": manifest.model.content,
        "dataset": source.run.dataset_name,
        "dataset fingerprint": manifest.dataset.fingerprint,
        "audited by": ", ".join(source.names.by),
        "alpha": f"{float(source.audit.settings.get('alpha', 0.05)):g}",
        "seed": str(manifest.seed),
        "licences": in_words(of_manifest(manifest)),
        "countenance": manifest.countenance,
    }


def _files(run: Run, report: bool) -> list[Path]:
    """Files of the run that name no person; empty for a run in an object store."""
    if is_url(run.place):
        return []
    names = [MANIFEST, RESULTS, AUDIT, *([REPORT] if report else [])]
    return [run.path / name for name in names if (run.path / name).is_file()]
