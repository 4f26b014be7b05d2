"""An evaluation stored as a run: the same score table, results, manifest and predictions as every other run."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from countenance.errors import InputError
from countenance.files import to_json
from countenance.models import ModelCard
from countenance.models.model import file_hash
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord, Place
from countenance.run.record import record
from countenance.run.store import RunStore
from countenance.suites.fhibe.cards import dataset_card
from countenance.suites.fhibe.evaluate import FhibeEvaluation
from countenance.suites.fhibe.outputs import FILE
from countenance.suites.fhibe.rundir import DERIVED, FOLDERS, MODEL_CARD, VERIFICATION, FhibeRun
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.vocabulary import MULTIPLE, OWN_METRICS
from countenance.tasks import load_task


@dataclass(frozen=True)
class Origin:
    """What the manifest says of how a run came about."""

    model: ModelCard | None = None
    """None: the outputs were stored before."""
    command: str = ""
    dataset_version: str | None = None
    seconds: float = 0.0


def write_run(evaluation: FhibeEvaluation, origin: Origin, out: Path | str | None = None) -> FhibeRun:
    """Store an evaluation as a run; an earlier one of the same mode is replaced, never mixed with."""
    settings, scored = evaluation.settings, evaluation.scored
    place = settings.folder / FOLDERS[settings.compat] if out is None else Path(out)
    card, table = origin.model or stored_card(settings), score_table(evaluation)
    outputs = settings.outputs
    content = file_hash(outputs / FILE) if (outputs / FILE).is_file() else ""
    images = len(set(evaluation.table.text("filepath")))
    version = {} if origin.dataset_version is None else {"version": origin.dataset_version}
    asked = f"{content}{settings.task}{settings.compat}{settings.attributes}{settings.mini}"
    manifest = Manifest(
        key=hashlib.sha256(asked.encode()).hexdigest(),
        suite="fhibe",
        task=settings.task,
        question=load_task(settings.task).question,
        metrics=metric_records(table.column_names, evaluation.computed, settings.task),
        model=card.model_copy(update={"content": card.content or content}),
        dataset=DatasetRecord(
            card=dataset_card(settings.data, settings.dataset, settings.attributes).model_copy(update=version),
            source=source_of(settings),
            fingerprint=file_hash(evaluation.table.path),
            images=images,
        ),
        command=origin.command or "evaluate_task(…)",
        seconds=round(origin.seconds, 3),
        images_per_second=round(images / origin.seconds, 2) if origin.seconds > 0 else None,
        about=about(evaluation),
    )
    store = RunStore(place)
    replaced = _take_over(store, manifest.key)
    samples = evaluation.table.text("filepath")
    record(
        place,
        manifest,
        table,
        results=scored.results,
        failures=failures(evaluation),
        answers=((samples[row], answer) for row, answer in scored.answers()),
        kind=load_task(settings.task).answer,
    )
    paths = {"data": settings.data, "results": settings.results, "outputs": outputs}
    there = store.local().model_copy(update={"paths": {k: os.path.abspath(v) for k, v in paths.items()}})  # noqa: PTH100
    store.write_local(Place.model_validate(there.model_dump()))
    write_rates(store, evaluation)
    run = FhibeRun(place)
    run.replaced = replaced
    return run


def _take_over(store: RunStore, key: str) -> tuple[str, ...]:
    """Make room for new scores: what rests on the old ones goes, and is named; the rest is written again."""
    if not store.exists():
        return ()
    with store.storage.hold():
        names = [entry.name for entry in store.storage.entries()]
        replaced = tuple(name for name in DERIVED if name in names)
        for name in replaced:
            store.storage.delete(name)
        old = store.manifest().model_copy(update={"key": key, "status": "running", "withdrawn": [], "format": 2})
        store.write_manifest(old)
    return replaced


def write_rates(store: RunStore, evaluation: FhibeEvaluation) -> None:
    """The validation rate of each group, where the task has one, as a file of the run."""
    if evaluation.scored.of_group and not evaluation.settings.strict:
        rates = to_json(evaluation.results("VAL", evaluation.settings.depth or 2))
        with store.replacing(VERIFICATION):
            store.storage.write(VERIFICATION, rates.encode())


def source_of(settings: FhibeSettings) -> str:
    """What `load_dataset` reads the same data from: `fhibe:ROOT?dataset=…&task=…&attributes=…`."""
    asked = {"dataset": settings.dataset, "task": settings.task, "attributes": ",".join(settings.attributes)}
    return f"fhibe:{settings.data}?{urlencode(asked, safe=',')}"


def stored_card(settings: FhibeSettings) -> ModelCard:
    """The card beside stored outputs where there is one, else one that says that they were stored."""
    path = settings.outputs / MODEL_CARD
    if path.is_file():
        try:
            return ModelCard.model_validate_json(path.read_bytes())
        except ValueError as error:
            raise InputError(f"{path}: not a model card ({str(error).splitlines()[0]})") from error
    return ModelCard(name=settings.model_name, description="stored model outputs")


def about(evaluation: FhibeEvaluation) -> dict[str, Any]:
    """What the manifest says of FHIBE's protocol; no path of this machine is in it."""
    settings = evaluation.settings
    problems = evaluation.problems
    for root in (f"{settings.outputs}/", f"{settings.data}/"):
        problems = [line.replace(root, "") for line in problems]
    plain = (str, int, float, bool, list, tuple, type(None))
    return {
        "dataset": settings.dataset,
        "task": settings.task,
        "compat": settings.compat,
        "attributes": list(settings.attributes),
        "metrics": evaluation.computed,
        "thresholds": settings.levels,
        "skipped": evaluation.scored.skipped,
        "problems": problems,
        "depth": settings.depth,
        "mini": settings.mini,
        "layout": settings.layout,
        "options": {
            name: value if isinstance(value, plain) else str(value) for name, value in settings.options.items()
        },
        "model_name": settings.model_name,
    }


def audited(columns: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The metrics that a report compares: the task's own with their parts, or what verification has for each face."""
    names = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    own = [c for metric in asked for c in names if c == metric or (c.startswith(f"{metric} ") and metric != "F1")]
    return own or [name for name in names if name in ("genuine_accepted", "impostor_accepted")] or names[:1]


def metric_records(columns: Sequence[str], asked: Sequence[str], task: str) -> list[MetricRecord]:
    """The metrics of a score table with their meanings and which way is better; those that are audited first."""
    first = audited(columns, asked)
    names = dict.fromkeys((*first, *(name.removeprefix("m.") for name in columns if name.startswith("m."))))
    tasks = (load_task("person_localization"), load_task(task))
    known = {metric.name: metric for metric in (*OWN_METRICS, *(metric for one in tasks for metric in one.metrics))}
    about = {name: known.get(name, known[name.split(" ")[0]]) for name in names}
    return [
        MetricRecord(name=name, meaning=metric.meaning, better=metric.better, headline=name in first)
        for name, metric in about.items()
    ]


def failures(evaluation: FhibeEvaluation) -> list[dict[str, Any]]:
    """The images without an answer, and who is in them."""
    samples, people = (evaluation.table.text(name) for name in ("filepath", "subject_id"))
    cells = {one.attribute: one.cells() for one in evaluation.labels} if evaluation.scored.missing else {}
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
        for rows in evaluation.scored.missing
    ]


def score_table(evaluation: FhibeEvaluation) -> Any:
    """The score table: a row for each person, the attributes as `attr.*`, the metrics as `m.*`."""
    import pyarrow as pa

    table = evaluation.table
    columns: dict[str, Any] = {
        "sample": pa.array(table.text("filepath"), pa.string()),
        "subject": pa.array([str(line) for line in table.line], pa.string()),
        "identity": pa.array(table.text("subject_id"), pa.string()),
    }
    for labels in evaluation.labels:
        kind = pa.list_(pa.string()) if labels.attribute in MULTIPLE else pa.string()
        columns[f"attr.{labels.attribute}"] = pa.array(labels.cells(), kind)
    evaluation.scored.finish()  # verification accepts at a threshold that the whole run gives
    metrics = dict(evaluation.scored.rows)
    for metric, parts in evaluation.scored.parts.items():
        metrics.update({f"{metric} {part}": values for part, values in parts.items()})
    for name, column in metrics.items():
        columns[f"m.{name}"] = pa.array(column, pa.float64(), mask=np.isnan(column))
    return pa.table(columns)
