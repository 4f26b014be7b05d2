"""An evaluation as a run: the same score table, results, manifest and findings as every other run."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np

from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.files import to_json
from countenance.models import ModelCard
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord, Place
from countenance.run.record import record
from countenance.run.run import Run
from countenance.run.store import AUDIT, FINDINGS, MANIFEST, REPORT, RunStore
from countenance.suites.fhibe import descriptions
from countenance.suites.fhibe.cards import dataset_card
from countenance.suites.fhibe.evaluate import Evaluation
from countenance.suites.fhibe.outputs import FILE
from countenance.suites.fhibe.places import LARGEST
from countenance.suites.fhibe.vocabulary import LOWER_IS_BETTER, MULTIPLE, UNKNOWN
from countenance.tasks.results import Axis, Curve, Line, Number, Result

VERIFICATION = "verification.json"
PDF = "report.pdf"
FOLDERS = {"default": "run", "strict": "run-strict"}
"""Where the run of each mode is unless another place is named, so that neither replaces the other."""
DERIVED = (FINDINGS, AUDIT, REPORT, PDF, VERIFICATION)
"""Files that rest on the scores: they go when the scores are replaced."""
MODEL_CARD = "model_card.json"
"""Beside model_outputs.json: what the model is, where somebody wrote it down."""
AXES = {
    "AR_IOU": ("overlap threshold", "share of people found"),
    "AR_MASK": ("overlap threshold", "share of people found"),
    "AR_OKS": ("similarity threshold", "share of people found"),
    "PCK": ("threshold × face diagonal", "share of keypoints"),
    "AR_DET": ("probability threshold", "share of parts found"),
    "ACC_DET": ("probability threshold", "share of parts answered correctly"),
    "ROC": ("false acceptance rate", "validation rate"),
}
FAR = 0.001
"""The false acceptance rate at which VAL is read; it is marked on the ROC."""
MEANINGS = {
    "AP@0.5": "COCO's average precision at overlap 0.5 (101 recalls), all images together",
    "FPPI": "boxes that hit nobody, or somebody already hit, for each image",
    "VAL": "share of same pairs accepted at the largest threshold with a false acceptance rate of at most 0.001",
    "EER": "where false acceptances and false rejections are equally frequent",
}
"""Numbers of the whole run that are not means of rows."""


class FhibeRun(Run):
    """A run of FHIBE's protocol: a run like any other, which also knows the groups of VAL and its own report."""

    replaced: tuple[str, ...] = ()
    """What `evaluate_task` removed of an earlier run of the same mode here, because it rests on other scores."""

    largest_regions: bool = False
    """Whether `scores()` names ancestry and nationality by continent alone, for a report."""

    def __init__(self, place: Any) -> None:
        super().__init__(place)
        if self.manifest.get("summaries") is None:  # runs of format 1 have them in the manifest
            self.manifest.summaries = [  # type: ignore[attr-defined]
                {"name": r.name, "meaning": r.meaning, "estimate": r.value, "low": r.low, "high": r.high, "n": r.n}
                for r in self.results()
                if isinstance(r, Number)
            ]

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
        found = self.manifest.about
        if self.manifest.suite != "fhibe" or not found:
            raise InputError(f"{self.path}: not a run of `countenance fhibe evaluate`")
        return found

    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the bias report and return its path."""
        from countenance.suites.fhibe.report import write_bias_report

        return write_bias_report(self, out, **options)

    def amend(self, version: str | None = None, **about: Any) -> None:
        """Write facts of the protocol, and the dataset's version, into the manifest."""
        with self.store.replacing(MANIFEST):
            manifest = self.store.manifest()
            manifest.about |= about
            manifest.dataset.card = manifest.dataset.card.model_copy(
                update={} if version is None else {"version": version}
            )
            self.store.write_manifest(manifest)
        self.manifest = FhibeRun(self.place).manifest

    def folders(self) -> tuple[Path, Path, Path]:
        """Where the data root, the results root and the model's outputs are on this machine."""
        paths = self.store.local().paths
        if paths:
            return Path(paths["data"]), Path(paths["results"]), Path(paths["outputs"])
        if "data_rootdir" not in self.fhibe:
            raise InputError(f"{self.path}: made on another machine; where its data and outputs are is not known here")
        outputs = self.path.parent  # a run of format 1 is always beside its outputs
        in_mini = outputs.parents[2].name == "mini"
        return Path(self.fhibe["data_rootdir"]), outputs.parents[3 if in_mini else 2], outputs


def write_run(
    evaluation: Evaluation,
    *,
    model: ModelCard | None,
    depth: int | None,
    seconds: float,
    out: Path | str | None = None,
    results_rootdir: Path | str | None = None,
    command: str = "",
    dataset_version: str | None = None,
    layout: bool = False,
) -> FhibeRun:
    """Store an evaluation as a run; an earlier one of the same mode is replaced, never mixed with."""
    place = evaluation.folder / FOLDERS[evaluation.compat] if out is None else Path(out)
    card, table = model or stored_card(evaluation), score_table(evaluation)
    content, images = _outputs_hash(evaluation), len(set(evaluation.table.text("filepath")))
    version = {} if dataset_version is None else {"version": dataset_version}
    manifest = Manifest(
        key=hashlib.sha256(
            f"{content}{evaluation.task}{evaluation.compat}{evaluation.attributes}{evaluation.mini}".encode()
        ).hexdigest(),
        suite="fhibe",
        task=evaluation.task,
        question=descriptions.QUESTIONS[evaluation.task],
        metrics=metric_records(table.column_names, _computed(evaluation)),
        model=card.model_copy(update={"content": card.content or content}),
        dataset=DatasetRecord(
            card=_card(evaluation).model_copy(update=version),
            source=source_of(evaluation),
            fingerprint=_hash(evaluation.table.path),
            images=images,
        ),
        command=command or "evaluate_task(…)",
        seconds=round(seconds, 3),
        images_per_second=round(images / seconds, 2) if seconds > 0 else None,
        about=about(evaluation, depth, layout),
    )
    store = RunStore(place)
    replaced = _take_over(store, manifest.key)
    found = results(evaluation)
    made = record(place, manifest, table, results=found, failures=failures(evaluation))
    paths = {"data": evaluation.table.root, "results": results_rootdir or "results", "outputs": evaluation.outputs}
    there = store.local().model_copy(update={"paths": {k: os.path.abspath(v) for k, v in paths.items()}})  # noqa: PTH100
    store.write_local(Place.model_validate(there.model_dump()))
    write_rates(made, evaluation, depth)
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


def write_rates(run: Run, evaluation: Evaluation, depth: int | None) -> None:
    """The validation rate of each group, where the task has one, as a file of the run."""
    if evaluation.scored.of_group and evaluation.compat == "default":
        rates = to_json(evaluation.results("VAL", depth or 2))
        with run.store.replacing(VERIFICATION):
            run.store.storage.write(VERIFICATION, rates.encode())


def source_of(evaluation: Evaluation) -> str:
    """What `load_dataset` reads the same data from: `fhibe:ROOT?dataset=…&task=…&attributes=…`."""
    asked = {"dataset": evaluation.dataset, "task": evaluation.task, "attributes": ",".join(evaluation.attributes)}
    return f"fhibe:{evaluation.table.root}?{urlencode(asked, safe=',')}"


def load(part: str | None) -> Any:
    """The dataset of such a source, without its scheme."""
    from countenance.suites.fhibe.dataset import read_dataset

    root, _, query = (part or "").partition("?")
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    if not root or {"dataset", "task", "attributes"} - set(asked):
        raise InputError(f"fhibe:{part}: expected fhibe:ROOT?dataset=fhibe_downsampled&task=…&attributes=pronoun,age")
    return read_dataset(root, asked["dataset"], asked["task"], tuple(asked["attributes"].split(",")))


def stored_card(evaluation: Evaluation) -> ModelCard:
    """The card beside stored outputs where there is one, else one that says that they were stored."""
    path = evaluation.outputs / MODEL_CARD
    if path.is_file():
        try:
            return ModelCard.model_validate_json(path.read_bytes())
        except ValueError as error:
            raise InputError(f"{path}: not a model card ({str(error).splitlines()[0]})") from error
    return ModelCard(name=evaluation.model_name, description="stored model outputs")


def _computed(evaluation: Evaluation) -> list[str]:
    return [metric for metric in evaluation.metrics if metric not in evaluation.scored.skipped]


def about(evaluation: Evaluation, depth: int | None, layout: bool) -> dict[str, Any]:
    """What the manifest says of FHIBE's protocol; no path of this machine is in it."""
    roots = (f"{evaluation.outputs}/", f"{evaluation.table.root}/")
    problems = evaluation.problems
    for root in roots:
        problems = [line.replace(root, "") for line in problems]
    return {
        "dataset": evaluation.dataset,
        "task": evaluation.task,
        "compat": evaluation.compat,
        "attributes": list(evaluation.attributes),
        "metrics": _computed(evaluation),
        "thresholds": {name: np.asarray(levels).tolist() for name, levels in evaluation.thresholds.items()},
        "skipped": evaluation.scored.skipped,
        "problems": problems,
        "depth": depth,
        "mini": evaluation.mini,
        "layout": layout,
        "options": {name: value if _is_plain(value) else str(value) for name, value in evaluation.options.items()},
        "model_name": evaluation.model_name,
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float, bool, list, tuple))


def audited(columns: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The metrics that a report compares: the task's own with their parts, or what verification has for each face."""
    names = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    own = [c for metric in asked for c in names if c == metric or (c.startswith(f"{metric} ") and metric != "F1")]
    return own or [name for name in names if name in ("genuine_accepted", "impostor_accepted")] or names[:1]


def metric_records(columns: Sequence[str], asked: Sequence[str]) -> list[MetricRecord]:
    """The metrics of a score table with their meanings and which way is better; those that are audited first."""
    first = audited(columns, asked)
    rest = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    lower = (*LOWER_IS_BETTER, "false_positives", "impostor_accepted")
    return [
        MetricRecord(
            name=name,
            meaning=descriptions.METRICS.get(name, descriptions.METRICS.get(name.split(" ")[0], "")).rstrip("."),
            better="lower" if name in lower else "higher",
            headline=name in first,
        )
        for name in dict.fromkeys((*first, *rest))
    ]


def results(evaluation: Evaluation) -> list[Result]:
    """Average precision, error rates and curves: what belongs to the whole run."""
    images = len(set(evaluation.table.text("filepath")))
    found: list[Result] = [
        Number(
            name=name,
            meaning=MEANINGS.get(name, ""),
            value=value["value"],
            low=value.get("low", np.nan),
            high=value.get("high", np.nan),
            n=images,
            unit="images",
            better="lower" if name in ("FPPI", "EER") else "higher",
        )
        for name, value in evaluation.overall().items()
    ]
    known = {name: points for name, points in evaluation.scored.curves.items() if points[0] and points[1]}
    for name, points in known.items():
        if ", " in name:  # an end of another curve's band
            continue
        x, y = AXES.get(name, ("threshold", "share"))
        low, high = (list(known.get(f"{name}, {end}", ((), ()))[1]) for end in ("lower", "upper"))
        line = Line(label="everyone", x=list(points[0]), y=list(points[1]), low=low, high=high)
        marks = [FAR] if name == "ROC" else []
        found.append(Curve(name=name, x=Axis(label=x, log=bool(marks)), y=Axis(label=y), lines=[line], marks=marks))
    return found


def failures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The images without an answer, and who is in them."""
    table = evaluation.table
    rows: dict[str, list[int]] = {}
    for i, key in enumerate(table.keys()):
        rows.setdefault(key, []).append(i)
    labels = {one.attribute: one.of_rows() for one in evaluation.labels} if evaluation.scored.missing else {}
    found = []
    for name in evaluation.scored.missing:
        here = rows.get(name, [])
        values = {
            attribute: [", ".join(str(v) for v in of[i] if v is not None) or None for i in here]
            for attribute, of in labels.items()
        }
        found.append(
            {
                "sample": table.text("filepath")[here[0]] if here else name,
                "kind": "answer",
                "reason": f"no answer in {FILE}",
                "people": [table.text("subject_id")[i] for i in here],
                "attributes": values,
            }
        )
    return found


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
    evaluation.overall()  # verification accepts at a threshold that the whole run gives
    metrics = dict(evaluation.scored.rows)
    for metric, parts in evaluation.scored.parts.items():
        metrics.update({f"{metric} {part}": values for part, values in parts.items()})
    for name, column in metrics.items():
        columns[f"m.{name}"] = pa.array(column, pa.float64(), mask=np.isnan(column))
    return pa.table(columns)


def _card(evaluation: Evaluation) -> DatasetCard:
    return dataset_card(evaluation.table.root, evaluation.dataset, evaluation.attributes)


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _outputs_hash(evaluation: Evaluation) -> str:
    path = evaluation.outputs / FILE
    return _hash(path) if path.is_file() else ""
