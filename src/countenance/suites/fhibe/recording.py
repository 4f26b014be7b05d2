"""An evaluation stored as a run: the same score table, results, manifest and predictions as every other run."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from countenance.data.record import read_record
from countenance.models import ModelCard
from countenance.models.model import file_hash
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.record import prepare_place, record
from countenance.run.store import RunStore
from countenance.suites.fhibe.dataset import dataset_card
from countenance.suites.fhibe.evaluation import FhibeEvaluation, Step
from countenance.suites.fhibe.outputs import FILE
from countenance.suites.fhibe.rundir import DERIVED, FOLDERS, KEPT, MODEL_CARD, FhibeRun
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.vocabulary import MULTIPLE, OWN_METRICS
from countenance.tasks import Task, load_task
from countenance.tasks.thresholds import EXACT


@dataclass(frozen=True)
class Recording:
    """Where an evaluation is recorded, and what its manifest says of it."""

    out: Path | str | None = None
    """The run (None: `run` or `run-strict` beside the model's outputs)."""
    command: str = ""
    dataset_version: str | None = None
    step: Step = lambda n: None
    """Called as images are done, for a progress bar."""


def write_run(job: FhibeEvaluation, recording: Recording, model: ModelCard | None, seconds: float) -> FhibeRun:
    """Store an evaluation as a run; an earlier one of the same mode is replaced, never mixed with.

    `model` is None when the outputs were stored before.
    """
    settings, table = job.settings, score_table(job)
    place = Path(recording.out or settings.folder / FOLDERS[settings.compat])
    content = file_hash(job.folder / FILE) if (job.folder / FILE).is_file() else ""
    card = model or stored_card(settings)
    data = dataset_card(settings.data, settings.dataset, settings.attributes)
    source = {"dataset": settings.dataset, "task": settings.task, "attributes": ",".join(settings.attributes)}
    samples = job.table.text("filepath")
    images = len(set(samples))
    asked = f"{content}{settings.task}{settings.compat}{settings.attributes}{settings.mini}"
    manifest = Manifest(
        key=hashlib.sha256(asked.encode()).hexdigest(),
        suite="fhibe",
        task=settings.task,
        question=load_task(settings.task).question,
        metrics=metric_records(table.column_names, job.computed, settings.task, settings.scoring_task),
        model=card.model_copy(update={"content": card.content or content}),
        dataset=DatasetRecord(
            card=data.model_copy(update={"version": recording.dataset_version or data.version}),
            source=f"fhibe:{settings.data}?{urlencode(source, safe=',')}",
            fingerprint=file_hash(job.table.path),
            images=images,
        ),
        command=recording.command or "evaluate_task(…)",
        seconds=round(seconds, 3),
        images_per_second=round(images / seconds, 2),
        about=about(job),
    )
    store = RunStore(place)
    prepare_place(store, manifest, replace=True)
    held = {entry.name for entry in store.storage.entries()} if store.exists() else set()
    replaced = tuple(name for name in DERIVED if name in held)
    for name in replaced:
        store.storage.delete(name)
    record(
        place,
        manifest,
        table,
        results=job.results,
        failures=failures(job),
        answers=((samples[row], answer) for row, answer in job.stored()),
        kind=load_task(settings.task).answer,
        replace=True,
    )
    paths = {"data": settings.data, "results": settings.results, "outputs": job.folder}
    run = FhibeRun(place)
    found = {name: os.path.abspath(path) for name, path in paths.items()}  # noqa: PTH100
    store.write_local(run.local.model_copy(update={"paths": found}), run.manifest)
    run = FhibeRun(place)
    run.replaced = replaced
    return run


def stored_card(settings: FhibeSettings) -> ModelCard:
    """The card beside stored outputs where there is one, else one that says that they were stored."""
    path = settings.outputs / MODEL_CARD
    if path.is_file():
        return read_record(ModelCard, path, missing="", wrong="; expected a model card")
    return ModelCard(name=settings.model_name, description="stored model outputs")


def about(job: FhibeEvaluation) -> dict[str, Any]:
    """What the manifest says of FHIBE's protocol; no path of this machine is in it."""
    settings, problems = job.settings, job.problems
    for root in (f"{job.folder}/", f"{settings.data}/"):
        problems = [line.replace(root, "") for line in problems]
    plain = (str, int, float, bool, list, tuple, type(None))
    return {name: getattr(settings, name) for name in KEPT} | {
        "attributes": list(settings.attributes),
        "metrics": job.computed,
        "thresholds": {name: settings.scoring.levels(name).tolist() for name in settings.metrics if name in EXACT},
        "skipped": job.skipped,
        "problems": problems,
        "options": {
            name: value if isinstance(value, plain) else str(value) for name, value in settings.options.items()
        },
    }


def metric_records(columns: Sequence[str], asked: Sequence[str], task: str, *scoring: Task) -> list[MetricRecord]:
    """The metrics of a score table with their meanings and which way is better; those that a report compares first.

    Compared are the task's own with their parts, or what verification has for each face. `scoring` is the task with its
    options: what it says of a metric counts.
    """
    names = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    own = [c for metric in asked for c in names if c == metric or (c.startswith(f"{metric} ") and metric != "F1")]
    first = own or [name for name in names if name == "genuine_accepted"] or names[:1]
    tasks = (load_task("person_localization"), load_task(task), *scoring)
    known = {metric.name: metric for metric in (*OWN_METRICS, *(metric for one in tasks for metric in one.metrics))}
    about = {name: known.get(name, known[name.split(" ")[0]]) for name in dict.fromkeys((*first, *names))}
    return [
        MetricRecord(name=name, meaning=metric.meaning, better=metric.better, headline=name in first)
        for name, metric in about.items()
    ] + [MetricRecord(**asdict(metric)) for metric in load_task(task).metrics if metric.of_groups]


def failures(job: FhibeEvaluation) -> list[dict[str, Any]]:
    """The images without an answer, and who is in them."""
    samples, people = (job.table.text(name) for name in ("filepath", "subject_id"))
    cells = {one.attribute: one.cells() for one in job.labels} if job.missing else {}
    return [
        {
            "sample": samples[rows[0]],
            "kind": "answer",
            "reason": f"no answer in {FILE}",
            "people": [people[i] for i in rows],
            "attributes": {
                name: [", ".join(of[i]) or None if isinstance(of[i], tuple) else of[i] for i in rows]
                for name, of in cells.items()
            },
        }
        for rows in job.missing
    ]


def score_table(job: FhibeEvaluation) -> Any:
    """The score table: a row for each person, the attributes as `attr.*`, the metrics as `m.*`."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        "sample": pa.array(job.table.text("filepath"), pa.string()),
        "subject": pa.array([str(line) for line in job.table.line], pa.string()),
        "identity": pa.array(job.table.text("subject_id"), pa.string()),
    }
    for labels in job.labels:
        kind = pa.list_(pa.string()) if labels.attribute in MULTIPLE else pa.string()
        columns[f"attr.{labels.attribute}"] = pa.array(labels.cells(), kind)
    job.finish()  # verification accepts at a threshold that the whole run gives
    parts = {f"{metric} {part}": values for metric, of in job.parts.items() for part, values in of.items()}
    for name, column in (job.rows | parts).items():
        columns[f"m.{name}"] = pa.array(column, pa.float64(), mask=np.isnan(column))
    return pa.table(columns)
