"""model_outputs.json: a model's answers, written in the original's form, and read again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, Picture
from countenance.answers.formats import PredictionRequest, Predictions, read_predictions
from countenance.answers.formats.fhibe import MISSING, NOT_THERE
from countenance.data import Sample
from countenance.data.adapters.fhibe import FhibeDataset
from countenance.data.image import encode_png
from countenance.data.names import ImageNames
from countenance.data.reading.entries import write_entries
from countenance.data.run_lengths import rle_of
from countenance.data.vocabulary import KEYPOINTS
from countenance.errors import InputError
from countenance.files import write_atomically, write_text
from countenance.run.stages import Notes
from countenance.suites.fhibe.settings import ENCODINGS, FILE, FhibeSettings
from countenance.tasks import Context, Task
from countenance.tasks.box_notes import FACES, PEOPLE, Readings
from countenance.tasks.task import CONTEXT

REMEDY = "write detections as [x0, y0, x1, y1] in pixels"


def write_json(path: Path, value: Any) -> None:
    """Write one JSON file whole or not at all; NaN is written as the bare word NaN, as published."""
    write_text(path, json.dumps(value))


def read_outputs(settings: FhibeSettings, dataset: FhibeDataset, task: Task) -> Predictions:
    """The stored outputs of a model, for the images of the dataset."""
    folder = settings.outputs
    request = PredictionRequest(task.answer, ImageNames(dataset.images), people=_orders(settings, dataset))
    if settings.task == "face_encoding":
        if not (folder / ENCODINGS).is_dir():
            raise InputError(f"{folder / ENCODINGS}: no such folder; run the model first or put its pictures there")
        return read_predictions(folder / ENCODINGS, request, "pictures")
    if not (folder / FILE).is_file():
        raise InputError(f"{folder / FILE}: no such file; {MISSING}")
    options = {}
    if settings.task == "keypoint_estimation" and settings.options.get("custom_keypoints"):
        options["keypoints"] = ",".join(settings.scoring_options["custom_keypoints"])
    if settings.strict:
        options |= {"surplus": "yes", "turned": "kept"}
    if settings.task == "face_super_resolution":
        options["roots"] = f"{settings.data}\n{settings.results}"
    try:
        return read_predictions(folder / FILE, replace(request, options=options), "fhibe")
    except InputError as error:
        if task.answer is not Boxes or "has x1 < x0" not in str(error):
            raise
        as_they_are = read_predictions(folder / FILE, replace(request, options={"turned": "raw"}), "fhibe")
        notes = reading_notes(settings.task)
        hints = notes(list(dataset), as_they_are.by_id, CONTEXT) if notes is not None else []
        raise InputError("; ".join([str(error).partition("; ")[0], *(hints or [REMEDY])])) from None


def reading_notes(task: str) -> Notes | None:
    """A function for notes on boxes in another reading, with FHIBE's remedy; None for tasks without boxes."""
    if task not in ("person_localization", "face_localization"):
        return None
    target = PEOPLE if task == "person_localization" else FACES

    def notes(samples: Sequence[Sample], answers: Mapping[str, Any], context: Context) -> list[str]:
        return target.notes_on(samples, answers, Readings(context.reading, remedy=lambda trial: REMEDY))

    return notes


def _orders(settings: FhibeSettings, dataset: FhibeDataset) -> dict[str, tuple[list[str], ...]]:
    """The possible orders of outputs for an image's people: that of their draw, and the table's."""
    everyone = {sample.id: [subject.id for subject in sample.subjects] for sample in dataset}
    if settings.mini is None or settings.outputs != settings.folder:
        return {name: (people,) for name, people in everyone.items()}
    drawn: dict[str, list[str]] = {}
    for name, line in zip(dataset.table.text("filepath"), dataset.table.line, strict=True):
        drawn.setdefault(name, []).append(str(line))
    return {name: (drawn[name], people) for name, people in everyone.items()}


def placed_points(people: Sequence[Any], chosen: Sequence[str] | None, place: str) -> NDArray[np.float64]:
    """People × 17 × (x, y), from the keypoints chosen (None: all 17); other keypoints are placed far outside."""
    places = list(range(17)) if chosen is None else [KEYPOINTS.index(name) for name in chosen]
    points = np.full((len(people), 17, 2), NOT_THERE)
    for row, person in zip(points, people, strict=True):
        if len(person) != len(places):
            raise InputError(f"{place}: a person with {len(person)} keypoints, expected {len(places)}")
        row[places] = np.asarray(person, dtype=np.float64)[:, :2]
    return points


def entry_of(
    answer: Any, sample: Sample | None = None, *, chosen: Sequence[str] = KEYPOINTS, by_person: bool = False
) -> Any:
    """One image's answer as an entry of model_outputs.json.

    `chosen` are the keypoints that are written; with `by_person` the model answered once for each person, in their
    order.

    >>> entry_of(Embedding(None))
    {'detections': None}
    """
    if isinstance(answer, Boxes):
        return {"detections": answer.xyxy.tolist() or None, "scores": answer.scores.tolist() or None}
    if isinstance(answer, Masks):
        return {"detections": [*map(rle_of, answer.masks)] or None, "scores": answer.scores.tolist() or None}
    if isinstance(answer, Keypoints):
        points = answer.points[:, [KEYPOINTS.index(name) for name in chosen]]
        entry = {"detections": points[:, :, :2].tolist(), "scores": points[:, :, 2].tolist()}
        return entry | (_rows(sample, len(points)) if by_person else {})
    if isinstance(answer, Parts):
        return {"detections": [dict(person) for person in answer.probabilities]} | _rows(
            sample, len(answer.probabilities)
        )
    if isinstance(answer, LabelMap):
        labels = np.unique(answer.classes).tolist()
        return {"detections_rle": {str(value): rle_of(answer.classes == value) for value in labels}}
    return {"detections": None if answer.vector is None else answer.vector.tolist()}


def _rows(sample: Sample | None, answers: int) -> dict[str, list[int]]:
    """The rows of the table that the answers are about, if there is one for each person."""
    people = [] if sample is None else [int(subject.id) for subject in sample.subjects]
    return {"rows": people} if people and len(people) == answers else {}


def write_outputs(
    settings: FhibeSettings, dataset: FhibeDataset, answers: Iterator[tuple[str, Any]], *, by_person: bool
) -> None:
    """Write a model's answers where the original writes them; pictures that a wrapper saved are not changed."""
    samples = {sample.id: sample for sample in dataset}
    root, folder = settings.data, settings.folder
    chosen = settings.scoring_options.get("custom_keypoints") or KEYPOINTS

    def entries() -> Iterator[tuple[str, Any]]:
        for name, answer in answers:
            path = f"{root}/{name}"
            if isinstance(answer, Picture):
                place = picture_place(settings, name)
                if not place.is_file():
                    content = encode_png(answer.pixels)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(place, lambda part, content=content: part.write_bytes(content))  # type: ignore[misc]
                yield path, {"super_res_filename": str(place)}
            elif isinstance(answer, Embedding):
                yield f"{root}/data/processed/{name}", entry_of(answer, samples[name]) | {"img_filepath": path}
            else:
                yield path, entry_of(answer, samples[name], chosen=chosen, by_person=by_person)

    folder.mkdir(parents=True, exist_ok=True)
    if settings.task == "face_encoding":  # it has no list
        for _ in entries():
            pass
        return
    write_entries(folder / FILE, entries())


def picture_place(settings: FhibeSettings, name: str) -> Path:
    """The place of the picture that a model made from an image."""
    if settings.task == "face_encoding":
        return settings.folder / ENCODINGS / Path(name).name
    return settings.folder / f"super_{Path(name).name}"
