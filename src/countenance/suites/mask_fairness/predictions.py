"""Predictions made elsewhere, in the formats that the assessed algorithms write, as a model that answers by id.

with a header, image_name,image_path,class,confidence,x,y,w,h   class mask or nomask, x, y the top-left corner
without, image_id,class,confidence,x,y,x2,y2                    class 1 or 2 (badly worn) is mask, 3 is none
without, path,class,x,y,w,h                                     class 0 is no mask, 1 is mask (or as classes.txt says);
                                                                no confidence
a COCO results file (.json), or the stored answers of a run     bbox x, y, w, h in pixels
"""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import Boxes
from countenance.answers.formats.names import ImageNames
from countenance.data.tables import finite_number, read_text
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS, Form, Reading, Units, fitting, guessed_units
from countenance.models.model import Images, file_hash
from countenance.suites.mask_fairness.datasets.classes import BAFMD_CLASSES, Classes, classes_beside
from countenance.suites.mask_fairness.datasets.truth import MaskData, Say, fits_sentence, masked_word

NAMED = ("image_name", "image_path", "class", "confidence", "x", "y", "w", "h")
WITH_CORNERS = ("image_id", "class", "confidence", "x", "y", "x2", "y2")
WITHOUT_CONFIDENCE = ("path", "class", "x", "y", "w", "h")
HDC_CLASSES: Mapping[int, str] = {1: "mask", 2: "mask", 3: "no_mask"}


@dataclass(frozen=True)
class Predicted:
    """One predicted box as its file has it."""

    image: str
    label: str
    score: float
    box: tuple[float, float, float, float]
    place: str


class MaskPredictions:
    """Answers by sample id; a picture that no row names got no box."""

    needs_pixels = False
    finds = ("face", "mask")

    def __init__(
        self,
        answers: Mapping[str, Boxes],
        name: str,
        content: str,
        reading: Reading = CORNERS,
        classes: Mapping[int, str] | None = None,
    ) -> None:
        self.answers, self.name, self.content = answers, name, content
        self.reading = reading
        """What the four numbers of its boxes were in the file."""
        self.classes = classes
        """The class numbers of the file as mask and no_mask; None where it names its classes."""

    def __call__(self, images: Images) -> list[Any]:
        raise TypeError("predictions are asked by sample id")

    def by_id(self, sample: str) -> Boxes:
        """The boxes of a picture."""
        return self.answers.get(sample, Boxes(np.zeros((0, 4)), labels=()))


def read_predictions(
    path: Path,
    data: MaskData,
    *,
    units: Units | None = None,
    box_format: Form | None = None,
    classes: Mapping[int, str] | None = None,
    say: Say = lambda line: None,
) -> Any:
    """A model that repeats the predictions of a file; its format is recognised, and so are units unless given.

    `box_format` overrules what the format says about the four numbers. The format without confidence has been written
    in two ways: normalised numbers are read as centres (as WearMask's script writes them), pixels as top-left corners.
    `classes` overrules the class numbers of the format.
    """
    if path.is_dir() or path.suffix == ".parquet":
        from countenance.models.saved import SavedAnswers

        return SavedAnswers.of_run(path)
    form: str | None = "topleft"
    if path.suffix.lower() == ".json":
        known: Mapping[int, str] | None = classes or data.classes
        rows = _coco_rows(path, known)
    else:
        lines, columns, first = _csv_lines(path)
        known = _classes_of(columns, path, data, classes, say)
        rows = _csv_rows(path, lines, columns, first, known)
        form = {WITH_CORNERS: "corners", WITHOUT_CONFIDENCE: None}.get(columns, "topleft")
    units = units or guessed_units(np.array([row.box for row in rows]).reshape(-1, 4))
    chosen: Form = box_format or form or ("centre" if units == "normalised" else "topleft")  # type: ignore[assignment]
    reading = Reading(chosen, units)
    boxes = "1 box" if len(rows) == 1 else f"{len(rows)} boxes"
    say(f"{path.name}: {boxes}, read as {reading} ({reading.numbers_are})")
    answers = _by_sample(rows, reading, data, path, say)
    content = f"{file_hash(path)} {reading} {sorted((known or {}).items())}"
    return MaskPredictions(answers, f"predictions of {path.stem}", content, reading, known)


def _classes_of(
    columns: tuple[str, ...], path: Path, data: MaskData, told: Mapping[int, str] | None, say: Say
) -> Mapping[int, str] | None:
    """The class numbers of a CSV: as the user says, else as its format does; None where it names its classes.

    The format without confidence holds the numbers of a YOLO network: a classes.txt beside the file decides, else that
    of the dataset, else the order of BAFMD.
    """
    if "image_name" in columns:
        return None
    if told is not None or columns == WITH_CORNERS:
        return told or HDC_CLASSES
    named = classes_beside(path.resolve().parent) or data.yolo_classes
    found = named or Classes(BAFMD_CLASSES, "as the published files; --classes says otherwise")
    if not found.labels():
        raise InputError(f"{found.source}: names no class mask or no_mask; say --classes 0=no_mask,1=mask")
    say(f"{path.name}: classes {found}")
    return found.labels()


def _csv_lines(path: Path) -> tuple[list[list[str]], tuple[str, ...], int]:
    """The fields of each line below the header, the columns, and the number of the first such line."""
    try:
        lines = [row for row in csv.reader(io.StringIO(read_text(path)), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"{path}: {error}") from error
    if not lines:
        raise InputError(f"{path}: empty; a file without predictions has at least its header")
    header = [name.strip() for name in lines[0]]
    if set(NAMED) <= set(header):
        return lines[1:], tuple(header), 2
    if set(WITH_CORNERS) <= set(header) or header == ["image_id", "class", "confidence", "x", "y", "w", "h"]:
        # the second form is what the script that normalises them writes: its w and h are x2 and y2
        return lines[1:], WITH_CORNERS, 2
    if len(header) == len(WITH_CORNERS):
        return lines, WITH_CORNERS, 1
    if len(header) == len(WITHOUT_CONFIDENCE):
        return (
            (lines[1:], WITHOUT_CONFIDENCE, 2) if header == list(WITHOUT_CONFIDENCE) else (lines, WITHOUT_CONFIDENCE, 1)
        )
    raise InputError(
        f"{path} line 1: {len(header)} fields; expected {','.join(NAMED)} as a header, or 7 fields "
        f"({','.join(WITH_CORNERS)}) or 6 ({','.join(WITHOUT_CONFIDENCE)}) without one"
    )


def _csv_rows(
    path: Path, lines: list[list[str]], columns: tuple[str, ...], first: int, classes: Mapping[int, str] | None
) -> list[Predicted]:
    rows = []
    for number, fields in enumerate(lines, first):
        place = f"{path} line {number}"
        if len(fields) != len(columns):
            raise InputError(f"{place}: {len(fields)} fields, expected {len(columns)} ({','.join(columns)})")
        rows.append(_predicted(dict(zip(columns, fields, strict=True)), classes, place))
    return rows


def _predicted(row: dict[str, str], classes: Mapping[int, str] | None, place: str) -> Predicted:
    names = ("x", "y", "x2", "y2") if "x2" in row else ("x", "y", "w", "h")
    x, y, a, b = (_number(row[name], name, place) for name in names)
    score = _number(row["confidence"], "confidence", place) if "confidence" in row else 1.0
    if "image_name" in row:
        label = "mask" if masked_word(row["class"], place) == "yes" else "no_mask"
        if not row["class"].strip():
            raise InputError(f"{place}: no class, expected mask or nomask")
    else:
        label = _class(row["class"], classes or {}, place)
    image = row.get("image_name") or row.get("image_id") or row.get("path") or ""
    return Predicted(image.strip(), label, score, (x, y, a, b), place)


def _number(text: str, name: str, place: str) -> float:
    plain = text.strip().removeprefix("tensor(").removesuffix(")")  # as published scripts print them
    return finite_number(plain, name, place)


def _class(text: str, classes: Mapping[int, str], place: str) -> str:
    value = _number(text, "class", place)
    if value not in classes:
        known = ", ".join(f"{number} = {label}" for number, label in classes.items())
        raise InputError(f"{place}: class {text.strip()}, expected {known}")
    return classes[int(value)]


def _coco_rows(path: Path, classes: Mapping[int, str] | None) -> list[Predicted]:
    classes = classes or {}
    try:
        content: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, list):
        raise InputError(f"{path}: expected a COCO results file, a list of objects with image_id, category_id, bbox")
    rows = []
    for i, item in enumerate(content):
        place = f"{path} [{i}]"
        box = item.get("bbox") if isinstance(item, dict) else None
        if not isinstance(box, list) or len(box) != 4:
            raise InputError(f"{place}: expected an object with bbox [x, y, width, height]")
        category = item.get("category_id")
        if isinstance(category, str):
            label = "mask" if masked_word(category, place) == "yes" else "no_mask"
        elif category in classes:
            label = classes[category]
        else:
            known = ", ".join(f"{number}={label}" for number, label in classes.items()) or "none are known"
            raise InputError(f"{place}: category_id {category!r} ({known}); say --classes 1=mask,2=no_mask")
        x, y, w, h = (_number(str(value), "bbox", place) for value in box)
        score = _number(str(item.get("score", 1.0)), "score", place)
        rows.append(Predicted(str(item.get("image_id")), label, score, (x, y, w, h), place))
    return rows


def _by_sample(rows: list[Predicted], reading: Reading, data: MaskData, path: Path, say: Say) -> dict[str, Boxes]:
    names = ImageNames([sample.id for sample in data.dataset], data.image_ids)
    found: dict[str, list[Predicted]] = {}
    strangers = []
    for row in rows:
        sample_id = names.find(row.image)
        if sample_id is None:
            strangers.append(row)
        else:
            found.setdefault(sample_id, []).append(row)
    if rows and not found:
        known = next(iter(data.dataset)).id
        raise InputError(f"{path}: names no picture of the dataset ({rows[0].image!r}; the dataset has {known!r})")
    if strangers:
        are = "1 box is of a picture" if len(strangers) == 1 else f"{len(strangers)} boxes are of pictures"
        say(f"{path.name}: {are} that the dataset does not have and left out")
    percent = max((row.score for row in rows), default=0.0) > 1  # some of the algorithms write percent
    answers = {}
    for sample in data.dataset:
        own = found.get(sample.id, [])
        if not own:
            continue
        boxes = np.array([row.box for row in own], dtype=np.float64)
        sizes = np.tile([float(sample.width), float(sample.height)], (len(own), 1))
        xyxy = reading.corners(boxes, sizes)
        bad = np.flatnonzero((xyxy[:, 2:] < xyxy[:, :2]).any(axis=1))
        if len(bad):
            _refuse_negative(own[bad[0]], found, reading, data)
        scores = np.array([row.score for row in own]) / (100 if percent else 1)
        answers[sample.id] = Boxes(xyxy, scores, [row.label for row in own])
    empty = len(data.dataset) - len(answers)
    say(f"{path.name}: {empty} of {len(data.dataset)} pictures have no predicted box")
    return answers


def _refuse_negative(row: Predicted, found: Mapping[str, list[Predicted]], reading: Reading, data: MaskData) -> None:
    """Raise for a box with a negative side, and name every reading in which the boxes of the file fit."""
    samples = {sample.id: sample for sample in data.dataset}
    placed = [(name, own.box) for name, boxes in found.items() for own in boxes]
    sizes = np.array([[samples[name].width, samples[name].height] for name, _ in placed], dtype=np.float64)
    others = [other for other in fitting(np.array([box for _, box in placed]), sizes) if other != reading]
    fits = f"; {fits_sentence(others, 'prediction-')}" if others else ""
    raise InputError(f"{row.place}: read as {reading}, box {row.box} has a negative width or height{fits}")
