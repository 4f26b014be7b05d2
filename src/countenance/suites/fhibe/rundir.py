"""An evaluation as a run directory: the same score table, manifest and findings as every other run."""

import datetime
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np

import countenance
from countenance.data import Dataset
from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.files import write_atomically, write_json
from countenance.models import ModelCard
from countenance.run.plan import versions
from countenance.run.run import Run
from countenance.run.store import MANIFEST
from countenance.storage.local import LocalStorage
from countenance.suites.fhibe.cards import dataset_card
from countenance.suites.fhibe.descriptions import QUESTIONS
from countenance.suites.fhibe.evaluate import Evaluation
from countenance.suites.fhibe.outputs import FILE
from countenance.suites.fhibe.places import LARGEST
from countenance.suites.fhibe.vocabulary import MULTIPLE, UNKNOWN

VERIFICATION = "verification.json"
FOLDERS = {"default": "run", "strict": "run-strict"}
"""Where the run of each mode lies, so that neither replaces the other."""
DERIVED = ("findings.parquet", "audit.json", "report.html", "report.pdf", VERIFICATION)
"""Files that rest on the scores: they go when the scores are replaced."""
MODEL_CARD = "model_card.json"
"""Beside model_outputs.json: what the model is, where somebody wrote it down."""


class FhibeRun(Run):
    """A run of FHIBE's protocol: a run like any other, which also knows the groups of VAL and its own report."""

    replaced: tuple[str, ...] = ()
    """What `evaluate_task` removed of an earlier run of the same mode here, because it rests on other scores."""

    largest_regions: bool = False
    """Whether `scores()` names ancestry and nationality by continent alone, for a report."""

    def scores(self) -> Any:
        """The score table: one row per person."""
        table = super().scores()
        for attribute, kept in LARGEST.items():
            name = f"attr.{attribute}"
            if self.largest_regions and name in table.column_names:
                column = [
                    [v for v in row or () if v in (*kept, UNKNOWN)] or [UNKNOWN] for row in table[name].to_pylist()
                ]
                table = table.set_column(table.column_names.index(name), name, [column])
        return table

    @property
    def fhibe(self) -> dict[str, Any]:
        """What is FHIBE's alone: compat, attributes, metrics, thresholds, skipped metrics, problems."""
        found: dict[str, Any] = self.manifest.get("fhibe") or {}
        if not found:
            raise InputError(f"{self.path}: not a run of `countenance fhibe evaluate`")
        return found

    def dataset(self, source: str | None = None) -> Dataset:
        """The pictures and truths that were asked about, read again."""
        from countenance.suites.fhibe.dataset import read_dataset

        about = self.fhibe
        return read_dataset(about["data_rootdir"], about["dataset"], about["task"], tuple(about["attributes"]))

    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the bias report and return its path."""
        from countenance.suites.fhibe.report import write_bias_report

        return write_bias_report(self, out, **options)


def write_run(
    evaluation: Evaluation,
    *,
    model: ModelCard | None,
    depth: int | None,
    seconds: float,
    command: str = "",
    dataset_version: str | None = None,
    layout: bool = False,
) -> FhibeRun:
    """Write the run directory of an evaluation; an earlier run of the same mode is replaced, never mixed with."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = evaluation.folder / FOLDERS[evaluation.compat]
    evaluation.overall()
    table = score_table(evaluation)
    failures = [
        {"sample": name, "kind": "answer", "reason": f"no answer in {FILE}"} for name in evaluation.scored.missing
    ]
    schema = pa.schema([("sample", pa.string()), ("kind", pa.string()), ("reason", pa.string())])
    images = len(set(evaluation.table.text("filepath")))
    card = model or stored_card(evaluation)
    content = _outputs_hash(evaluation)
    manifest = {
        "countenance": countenance.__version__,
        "key": hashlib.sha256(
            f"{content}{evaluation.task}{evaluation.compat}{evaluation.attributes}".encode()
        ).hexdigest(),
        "suite": "fhibe",
        "task": evaluation.task,
        "question": QUESTIONS[evaluation.task],
        "model": card.model_copy(update={"content": card.content or content}).model_dump(),
        "dataset": {
            "card": _card(evaluation, dataset_version).model_dump(),
            "source": None,
            "fingerprint": _hash(evaluation.table.path),
            "images": images,
            "skipped": 0,
        },
        "batch": None,
        "seed": 0,
        "limit": None,
        "versions": versions(),
        "engine": {},
        "command": command or "evaluate_task(…)",
        "status": "complete",
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "failed": len(failures),
        "max_failures": 0.05,
        "seconds": round(seconds, 3),
        "images_per_second": round(images / seconds, 2) if seconds > 0 else None,
        "cores": os.cpu_count(),
        "summaries": summaries(evaluation, images),
        "fhibe": about(evaluation, depth, layout),
    }
    with LocalStorage(folder).hold():
        replaced = tuple(name for name in DERIVED if (folder / name).exists())
        for name in replaced:
            (folder / name).unlink()
        write_atomically(folder / "scores.parquet", lambda part: pq.write_table(table, part, compression="zstd"))
        rows = pa.Table.from_pylist(failures, schema=schema)
        write_atomically(folder / "failures.parquet", lambda part: pq.write_table(rows, part))
        if evaluation.scored.of_group and evaluation.compat == "default":
            write_json(folder / VERIFICATION, evaluation.results("VAL", depth or 2))
        write_json(folder / MANIFEST, manifest)
    run = FhibeRun(folder)
    run.replaced = replaced
    return run


def stored_card(evaluation: Evaluation) -> ModelCard:
    """The card beside stored outputs where there is one, else one that says that they were stored."""
    path = evaluation.outputs / MODEL_CARD
    if path.is_file():
        try:
            return ModelCard.model_validate_json(path.read_bytes())
        except ValueError as error:
            raise InputError(f"{path}: not a model card ({str(error).splitlines()[0]})") from error
    return ModelCard(name=evaluation.model_name, description="stored model outputs")


def about(evaluation: Evaluation, depth: int | None, layout: bool) -> dict[str, Any]:
    """What the manifest says of FHIBE's protocol."""
    return {
        "data_rootdir": str(evaluation.table.root),
        "dataset": evaluation.dataset,
        "task": evaluation.task,
        "compat": evaluation.compat,
        "attributes": list(evaluation.attributes),
        "metrics": [metric for metric in evaluation.metrics if metric not in evaluation.scored.skipped],
        "thresholds": {name: np.asarray(levels).tolist() for name, levels in evaluation.thresholds.items()},
        "curves": {name: [list(x), list(y)] for name, (x, y) in evaluation.scored.curves.items()},
        "skipped": evaluation.scored.skipped,
        "problems": evaluation.problems,
        "depth": depth,
        "mini": evaluation.mini,
        "layout": layout,
        "options": {name: value if _is_plain(value) else str(value) for name, value in evaluation.options.items()},
        "model_name": evaluation.model_name,
        "table": str(evaluation.table.path),
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, tuple))


def summaries(evaluation: Evaluation, images: int) -> list[dict[str, Any]]:
    """Numbers of the whole run that are not means of rows."""
    meanings = {
        "AP@0.5": "COCO's average precision at overlap 0.5 (101 recalls), all images together",
        "FPPI": "boxes that hit nobody, or somebody already hit, for each image",
        "VAL": "share of same pairs accepted at the largest threshold with a false acceptance rate of at most 0.001",
        "EER": "where false acceptances and false rejections are equally frequent",
    }
    nan = float("nan")
    return [
        {
            "name": name,
            "meaning": meanings.get(name, ""),
            "estimate": found["value"],
            "low": found.get("low", nan),
            "high": found.get("high", nan),
            "n": images,
        }
        for name, found in evaluation.overall().items()
    ]


def score_table(evaluation: Evaluation) -> Any:
    """The score table: a row for each person, the attributes as `attr.*`, the metrics as `m.*`."""
    import pyarrow as pa

    table = evaluation.table
    columns: dict[str, Any] = {
        "sample": pa.array(table.text("filepath"), pa.string()),
        "subject": pa.array([str(line) for line in table.line], pa.string()),
        "identity": pa.array(table.text("subject_id"), pa.string()),
    }
    for labels in evaluation.labels:
        values: list[tuple[str, ...]] = [tuple(v for v in row if v is not None) for row in labels.of_rows()]
        if labels.attribute in MULTIPLE:
            columns[f"attr.{labels.attribute}"] = pa.array([list(v) for v in values], pa.list_(pa.string()))
        else:
            columns[f"attr.{labels.attribute}"] = pa.array([v[0] if v else None for v in values], pa.string())
    metrics = dict(evaluation.scored.rows)
    for metric, parts in evaluation.scored.parts.items():
        metrics.update({f"{metric} {part}": values for part, values in parts.items()})
    for name, column in metrics.items():
        columns[f"m.{name}"] = pa.array(column, pa.float64(), mask=np.isnan(column))
    return pa.table(columns)


def _card(evaluation: Evaluation, version: str | None) -> DatasetCard:
    card = dataset_card(evaluation.table.root, evaluation.dataset, evaluation.attributes)
    return card if version is None else card.model_copy(update={"version": version})


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _outputs_hash(evaluation: Evaluation) -> str:
    path = evaluation.outputs / FILE
    return _hash(path) if path.is_file() else ""
