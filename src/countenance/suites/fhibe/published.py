"""The published results layout: grouped results of each metric, and one file for each person's scores.

Everything comes from a run: its score table, its stored predictions, and its annotation table.
"""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding
from countenance.data.adapters.fhibe import FhibeDataset
from countenance.data.adapters.fhibe.attributes import AttributeLabels, label
from countenance.data.adapters.fhibe.places import number
from countenance.data.adapters.fhibe.table import FhibeTable
from countenance.data.adapters.fhibe.words import UNKNOWN, UNNUMBERED
from countenance.data.names import ImageNames
from countenance.data.reading.entries import read_entries
from countenance.data.vocabulary import FACE_LABELS
from countenance.run.run import Run
from countenance.suites.fhibe.outputs import write_json
from countenance.suites.fhibe.settings import FILE, FhibeSettings
from countenance.tasks.body_parts_detection import FORMULAS, part_scores
from countenance.tasks.keypoint_estimation import at_threshold
from countenance.tasks.validation_rate import Pictures

Array = NDArray[np.float64]
Names = Mapping[str, float]
"""Thresholds by the names that results give them."""
PICTURES = {
    "PSNR": "psnr_scores.json",
    "LPIPS": "lpips_scores.json",
    "SSIM": "ssim_scores.json",
    "CURRICULAR_FACE": "curricular_face_scores.json",
}
OVERLAPS = {
    "AR_IOU": ("best_iou", "gt_bbox_iou_scores.json", "iou"),
    "AR_MASK": ("best_iou", "gt_mask_iou_scores.json", "iou"),
    "AR_OKS": ("OKS", "oks_scores.json", "oks"),
}
"""For a metric that counts thresholds: the column compared with them, the file of its values, and their name."""
SINGLE = (
    *PICTURES.values(),
    *(file for _, file, _ in OVERLAPS.values()),
    "F1_scores.json",
    "pck_scores_threshold.json",
)
PARTS = "body_part_detections.json"
_RESULTS = re.compile(r"(?:intersectional|detailed)_results_.+\.json|results_.+_threshold\.json")


@dataclass
class PublishedScores:
    """The scores of a run in the order of its rows, in the form of the published files; NaN where missing."""

    settings: FhibeSettings
    table: FhibeTable
    labels: Sequence[AttributeLabels]
    rows: dict[str, Array] = field(default_factory=dict)
    parts: dict[str, dict[str, Array]] = field(default_factory=dict)
    """For body parts: metric, part, scores."""
    files: dict[str, Any] = field(default_factory=dict)
    """The published files of each row's scores."""
    of_group: dict[str, Callable[[NDArray[np.intp]], dict[str, Any] | None]] = field(default_factory=dict)
    """Metrics of whole groups (VAL): functions from a group's rows to its entry, or None for no entry."""

    @property
    def strict(self) -> bool:
        return self.settings.strict

    @property
    def metrics(self) -> list[str]:
        """The metrics that were requested and computed."""
        return list({**self.of_group, **self.parts, **self.rows})


def published_scores(run: Run, dataset: FhibeDataset, settings: FhibeSettings) -> PublishedScores:
    """The scores of a run as published; without people who withdrew."""
    scores = run.scores()
    lines = scores["subject"].to_pylist()
    here = set(scores["sample"].to_pylist()) | {*run.failures()["sample"].to_pylist()}
    table = dataset.table
    if not here >= set(table.text("filepath")):
        table = table.take([i for i, name in enumerate(table.text("filepath")) if name in here])
    place = {line: i for i, line in enumerate(lines) if line is not None}
    order = [place.get(str(line), -1) for line in table.line]
    scored = PublishedScores(settings, table, [label(table, name, settings.compat) for name in settings.attributes])

    def column(name: str) -> Array:
        if f"m.{name}" not in scores.column_names:
            return np.full(len(table), np.nan)
        values = np.append(np.asarray(scores[f"m.{name}"].to_numpy(zero_copy_only=False), dtype=np.float64), np.nan)
        return np.asarray(values[order])

    aliases = {record.published: record.name for record in run.manifest.metrics or () if record.published}
    MAKERS[settings.task](scored, run, dataset, lambda name: column(aliases.get(name, name)))
    return scored


Column = Callable[[str], Array]


def _add_overlaps(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    for metric in (name for name in scored.settings.metrics if name in OVERLAPS):
        compared, file, what = OVERLAPS[metric]
        values, named = column(compared), scored.settings.scoring.named(metric)
        scored.rows[metric] = column(metric)
        if metric != "AR_OKS" and scored.strict:  # published: an image without an answer is a miss
            values = np.nan_to_num(values)
            scored.rows[metric] = np.nan_to_num(scored.rows[metric])
        scored.files[file] = values.tolist()
        scored.files.update(threshold_files(scored.table, values, named, what))


def _add_keypoints(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    _add_overlaps(scored, run, dataset, column)
    if "PCK" in scored.settings.metrics:
        levels = scored.settings.scoring.levels("PCK")
        shares = np.stack([column(at_threshold(level)) for level in levels], axis=1)
        scored.rows["PCK"] = column("PCK")
        scored.files.update(keypoint_file(scored.table, levels, shares, scored.rows["PCK"]))


def _add_parts(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    """AR_DET and ACC_DET of each part, from the stored probabilities; a person without an answer is right nowhere."""
    chances: dict[str, Mapping[str, float]] = {}
    present: dict[str, tuple[str, ...]] = {}
    answers: Mapping[str, Any] = run.answers()
    for sample in dataset:
        people = answers[sample.id].probabilities if sample.id in answers else ()
        chances.update(zip((subject.id for subject in sample.subjects), people, strict=False))
        present.update({subject.id: subject.body_parts for subject in sample.subjects})
    table, options = scored.table, scored.settings.scoring
    order = parts_in_order(scored.settings)
    people = [_in_order(chances.get(str(line), {}), order) for line in table.line]
    # Published: the parts are those of the first row. By default: those of the first row that has any.
    names = list(people[0] if scored.strict else next((person for person in people if person), {}))
    values = np.array([[person.get(name, math.nan) for name in names] for person in people]).reshape(
        len(people), len(names)
    )
    there = np.array([[name in present[str(line)] for name in names] for line in table.line], dtype=bool)
    for metric in (name for name in FORMULAS if name in scored.settings.metrics):
        each = part_scores(metric, values, there.reshape(values.shape), options)
        scored.parts[metric] = {name: each.each[:, j] for j, name in enumerate(names)}
        if not scored.strict:
            scored.rows[metric] = each.mean
        scored.files.update(part_files(table, people, names, options.named(metric), metric))


def parts_in_order(settings: FhibeSettings) -> list[str]:
    """The body parts in the order of the first person in the model's outputs, which the published files keep."""
    for _, entry in read_entries(settings.outputs / FILE):
        answers = entry.get("detections") if isinstance(entry, dict) else None
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):
            return list(answers[0])
    return []


def _in_order(person: Mapping[str, float], order: Sequence[str]) -> dict[str, float]:
    return {name: person[name] for name in (*order, *(part for part in person if part not in order)) if name in person}


def _add_parsing(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    labels = {name: column(f"F1 {name}") for name in FACE_LABELS}
    by_label = [
        {name: float(values[i]) for name, values in labels.items() if not np.isnan(values[i])}
        for i in range(len(scored.table))
    ]
    scored.rows["F1"] = column("F1")
    if scored.strict:  # published: an image without an answer has a score of 0
        truth = {subject.id: subject.face_parts for sample in dataset for subject in sample.subjects}
        for i in np.flatnonzero(np.isnan(scored.rows["F1"])).tolist():
            parts = truth[str(scored.table.line[i])]
            by_label[i] = {name: 0.0 for name in FACE_LABELS if name in parts or name == FACE_LABELS[0]}
            scored.rows["F1"][i] = 0.0
    scored.files["F1_scores.json"] = dict(zip(scored.table.keys(), by_label, strict=True))


def _add_pictures(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    computed = [
        name
        for name in run.manifest.about.get("metrics", scored.settings.metrics)
        if f"m.{name}" in run.scores().column_names
    ]
    for name in computed:
        scored.rows[name] = column(name)
        scored.files[PICTURES[name]] = dict(zip(scored.table.keys(), scored.rows[name].tolist(), strict=True))


def _add_verification(scored: PublishedScores, run: Run, dataset: FhibeDataset, column: Column) -> None:
    """VAL of any group of rows, from the stored embeddings; NaN if the face could not be aligned."""
    table = scored.table
    answers: Mapping[str, Any] = run.answers()
    answered = [answers.get(name, Embedding(None)).vector for name in table.text("filepath")]
    length = next((len(vector) for vector in answered if vector is not None), 1)
    vectors = np.array([np.full(length, np.nan) if vector is None else vector for vector in answered])
    pictures = Pictures(vectors, np.array(table.text("subject_id")))
    if not scored.strict:
        scored.of_group["VAL"] = pictures.entry
        return
    keys, named = table.output_keys("face_verification"), outputs_named(scored.settings, dataset, table)
    scored.of_group["VAL"] = lambda rows: pictures.published(rows[named[rows]], keys)


def outputs_named(settings: FhibeSettings, dataset: FhibeDataset, table: FhibeTable) -> NDArray[np.bool_]:
    """The rows that the model's outputs name: as published, an unaligned face counts, a missing one does not."""
    names = ImageNames(dataset.images)
    there = {names.find(key) for key, _ in read_entries(settings.outputs / FILE)}
    return np.array([name in there for name in table.text("filepath")], dtype=bool)


MAKERS: dict[str, Callable[[PublishedScores, Run, FhibeDataset, Column], None]] = {
    "person_localization": _add_overlaps,
    "face_localization": _add_overlaps,
    "person_parsing": _add_overlaps,
    "keypoint_estimation": _add_keypoints,
    "body_parts_detection": _add_parts,
    "face_parsing": _add_parsing,
    "face_verification": _add_verification,
    "face_encoding": _add_pictures,
    "face_super_resolution": _add_pictures,
}


def grouped_results(scored: PublishedScores, metric: str, depth: int | None = None) -> dict[str, dict[str, Any]]:
    """`str(attributes)` → `str(values)` → {scores, METRIC, Class_Size}; a group without any score is left out."""
    out: dict[str, dict[str, Any]] = {}
    for group in all_groups(scored.labels, depth):
        entries = out.setdefault(group.attributes_key, {})
        entry = _entry(scored, metric, group.rows)
        if entry is not None:
            entries[group.values_key] = entry
    return out


def _entry(scored: PublishedScores, metric: str, rows: NDArray[np.intp]) -> dict[str, Any] | None:
    if metric in scored.of_group:
        return scored.of_group[metric](rows)
    if metric in scored.parts:
        parts = {name: _summary(values[rows], metric) for name, values in scored.parts[metric].items()}
        return parts if scored.strict else parts | {"All": _summary(scored.rows[metric][rows], metric)}
    summary = _summary(scored.rows[metric][rows], metric)
    return summary if summary["Class_Size"] else None


def _summary(values: Array, metric: str) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if known.size else float("nan")
    return {"scores": known.tolist(), metric: mean, "Class_Size": int(known.size)}


def is_published(name: str) -> bool:
    """Whether a file in a model's folder has a name that `write_published` gives.

    >>> is_published("intersectional_results_AR_IOU.json"), is_published("oks_scores.json"), is_published("notes.json")
    (True, True, False)
    """
    return name in (*SINGLE, PARTS) or _RESULTS.fullmatch(name) is not None


def write_published(run: Run, dataset: FhibeDataset, settings: FhibeSettings) -> list[Path]:
    """Write the published files into a model's folder: grouped results by metric, and one for each person's scores."""
    scored = published_scores(run, dataset, settings)
    folder, custom_keypoints = settings.folder, settings.options.get("custom_keypoints")
    folder.mkdir(parents=True, exist_ok=True)
    contents: dict[str, Any] = {}
    for metric in scored.metrics:
        results: dict[str, Any] = grouped_results(scored, metric, settings.depth)
        unrounded = _take_unrounded(results)
        if unrounded:
            contents[f"detailed_results_{metric}.json"] = unrounded
        if custom_keypoints:
            results["custom_keypoints"] = list(custom_keypoints)
        contents[f"intersectional_results_{metric}.json"] = results
    contents |= {name: content for name, content in scored.files.items() if content}
    for name, content in contents.items():
        write_json(folder / name, content)
    return [folder / name for name in contents]


def _take_unrounded(grouped: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Strict VAL is published with two decimals; its full numbers go into a second file."""
    out: dict[str, dict[str, Any]] = {}
    for attributes, entries in grouped.items():
        for values, entry in entries.items():
            if "_unrounded" in entry:
                out.setdefault(attributes, {})[values] = entry.pop("_unrounded")
    return out


def _ids(table: FhibeTable) -> list[dict[str, str]]:
    """The identifying columns of every published row."""
    columns = zip(table.text("image_id"), table.text("subject_id"), table.keys(), strict=True)
    return [{"image_id": image, "subject_id": subject, "filepath": path} for image, subject, path in columns]


def threshold_files(table: FhibeTable, values: Array, names: Names, what: str) -> dict[str, Any]:
    """The per-row files of a metric with thresholds."""
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    ids, numbers = _ids(table), values.tolist()
    for name, threshold in names.items():
        accept = (values >= threshold).astype(int).tolist()
        results[name] = {str(i): passed for i, passed in enumerate(accept)}
        rows = enumerate(zip(numbers, accept, ids, strict=True))
        detailed[name] = {
            "summary": f"{sum(accept) / len(accept):.2f}",
            "individual_results": [{"idx": i, "val": v, "accept": a} | about for i, (v, a, about) in rows],
        }
    return {f"results_{what}_threshold.json": results, f"detailed_results_{what}_threshold.json": detailed}


def keypoint_file(table: FhibeTable, thresholds: Array, shares: Array, means: Array) -> dict[str, Any]:
    """The per-row file of PCK."""
    rows = enumerate(zip(means.tolist(), shares.tolist(), _ids(table), strict=True))
    results = {
        str(i): {"mean_percentage_correct_keypoints": mean, "pcks@thresholds": each} | about
        for i, (mean, each, about) in rows
    }
    return {"pck_scores_threshold.json": {"thresholds": thresholds.tolist(), "results": results}}


def part_files(
    table: FhibeTable, people: Sequence[Mapping[str, float]], parts: Sequence[str], names: Names, metric: str
) -> dict[str, Any]:
    """The per-row files of a metric of body parts."""
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    ids = _ids(table)
    for name, threshold in names.items():
        accepts = [{part: int(value >= threshold) for part, value in person.items()} for person in people]
        results[name] = {str(i): accept for i, accept in enumerate(accepts)}
        rows = [
            {"idx": i, **{part: {"val": person[part], f"accept_{part}": accept[part]} for part in person}, **about}
            for i, (person, accept, about) in enumerate(zip(people, accepts, ids, strict=True))
        ]
        shares = {part: sum(accept.get(part, 0) for accept in accepts) / len(table) for part in parts}
        summary = {part: f"{share:.2f}" for part, share in shares.items()}
        detailed[name] = {"summary": summary, "individual_results": rows}
    return {
        PARTS: list(people),
        f"results_body_parts_{metric}_threshold.json": results,
        f"detailed_results_body_parts_{metric}_threshold.json": detailed,
    }


@dataclass(frozen=True)
class Group:
    """The rows with the same values of some attributes, in file order."""

    attributes: tuple[str, ...]
    values: tuple[str | None, ...]
    rows: NDArray[np.intp]

    @property
    def attributes_key(self) -> str:
        return str(list(self.attributes))

    @property
    def values_key(self) -> str:
        return str(list(self.values))


def all_groups(labels: Sequence[AttributeLabels], depth: int | None = None) -> list[Group]:
    """Every group of every combination of up to `depth` attributes (None: all), each combination sorted."""
    out: list[Group] = []
    for size in range(1, min(depth or len(labels), len(labels)) + 1):
        for combination in itertools.combinations(labels, size):
            attributes = tuple(labelled.attribute for labelled in combination)
            rows: dict[tuple[str | None, ...], list[int]] = {}
            for row, values in enumerate(zip(*(labelled.rows for labelled in combination), strict=True)):
                for group in itertools.product(*values):
                    rows.setdefault(group, []).append(row)
            order = sorted(rows, key=lambda group: [*map(_sort_key, attributes, group)])
            out += [Group(attributes, group, np.array(rows[group], dtype=np.intp)) for group in order]
    return out


def _sort_key(attribute: str, value: str | None) -> tuple[bool, float, str]:
    """Numbered values by their number, others as words, the unknown last."""
    if value is None or value == UNKNOWN:
        return True, math.inf, ""
    n = None if attribute in UNNUMBERED else number(value)
    return (False, math.inf, value) if n is None else (False, n, "")
