"""COCO results: a JSON list of objects with `image_id`, `category_id`, `bbox` (x, y, width, height) and `score`."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.base import Answer
from countenance.answers.boxes import Boxes
from countenance.answers.formats.base import EMPTY, Format, PredictionRequest, Predictions, absence, by_image
from countenance.answers.formats.fhibe import is_outputs
from countenance.answers.formats.records import is_records
from countenance.answers.notes import unlabelled_note
from countenance.answers.shapes import Keypoints, Masks
from countenance.data.categories import LABELS, MOST_NAMED, classes_in_words, parse_classes
from countenance.data.run_lengths import read_masks, rle_of
from countenance.data.tables import finite_number, read_text
from countenance.errors import InputError, ModelError
from countenance.files import write_text
from countenance.metrics.masks import fill

PEOPLE = ("person", "face", *LABELS.values())
"""What a category of people can show."""


def _entries(path: Path) -> list[Any]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, list):
        result = f"found {type(content).__name__} that is not FHIBE's model outputs either"
        raise ModelError(f"{path}: expected a list of results, {result} (`countenance docs answers`)")
    return content


def read_coco_results(path: Path, request: PredictionRequest) -> Predictions:
    """Results by image; an image without a result counts as one in which nothing was found."""
    entries, notes = _of_people(_entries(path), request, path)
    classes = _classes(request, entries)
    rows, unknown = by_image(((str(entry["image_id"]), entry) for entry in entries), request, str(path))
    if unknown and not rows:
        raise ModelError(f"{unknown}; image_id is the id of the image in the annotations, or its file name")
    labelled = {name: [row | {"category": _label(row, classes)} for row in own] for name, own in rows.items()}
    reader = {Boxes: _boxes, Masks: _masks, Keypoints: _keypoints}[request.kind]
    answers = {name: reader(own) for name, own in labelled.items()}
    notes += (unknown,) if unknown else ()
    words = any(row["category"] is not None for own in labelled.values() for row in own)
    notes += unlabelled_note(answers, str(path)) if words else ()
    absent = absence(answers, request, str(path), "no result and count as images where nothing was found")
    reading = request.reading("xywh")
    return Predictions(str(path), "coco", answers, absent, EMPTY[request.kind], notes, reading, classes)


def _of_people(
    entries: list[Any], request: PredictionRequest, path: Path
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The results of people and faces by the dataset's categories, with their places, and notes.

    Where that would leave none, all are kept.
    """
    remaining: list[dict[str, Any]] = []
    others: Counter[str] = Counter()
    for i, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or "image_id" not in entry:
            raise ModelError(f"{path}[{i}]: expected an object with image_id, bbox and score, found {entry!r:.60}")
        category = entry.get("category_id")
        shown = request.categories.get(category, "person") if isinstance(category, int | str) else "person"
        others[shown] += 1
        remaining.append({**entry, "place": f"{path}[{i}]", "shown": shown})
    for kind in PEOPLE:
        others.pop(kind, None)
    ids = Counter(_number(entry) for entry in remaining if "category" not in entry and _number(entry) is not None)
    if len(ids) > 1 and not request.categories and "classes" not in request.options:
        listed = ", ".join(f"{n:,} of {name}" for name, n in ids.most_common(MOST_NAMED))
        note = f"results of {len(ids)} categories ({listed}) count alike: the dataset names no categories"
        return remaining, (f"{path}: {note}",)
    if not others or others.total() == len(remaining):  # with one class, its number does not matter
        return remaining, ()
    named = ", ".join(f"{n:,} {name}" for name, n in others.most_common(MOST_NAMED))
    results = "1 result is" if others.total() == 1 else f"{others.total():,} results are"
    note = f"{path}: {results} of no person and no face and left out ({named})"
    return [entry for entry in remaining if entry["shown"] in PEOPLE], (note,)


def _classes(request: PredictionRequest, entries: list[dict[str, Any]]) -> Mapping[int, str]:
    """The category numbers that say mask or no mask: as the user says, else as the dataset's own file does.

    Empty if no result has one of the dataset's numbers for them: the detector does not judge masks.
    """
    if "classes" in request.options:
        return parse_classes(request.options["classes"])
    known = {key: word for key, word in request.categories.items() if word in LABELS.values()}
    return known if any(_number(entry) in known for entry in entries) else {}


def _number(entry: Mapping[str, Any]) -> int | None:
    number = entry.get("category_id")
    return number if isinstance(number, int) else None


def _label(entry: Mapping[str, Any], classes: Mapping[int, str]) -> str | None:
    """The class of a result: its `category`, a `category_id` in words, or what its number means."""
    for word in (entry.get("category"), entry.get("category_id")):
        if isinstance(word, str):
            return word
    number = _number(entry)
    if classes and number not in classes:
        raise ModelError(
            f"{entry['place']}: category_id {entry.get('category_id')!r:.40}, expected {classes_in_words(classes)}"
        )
    return None if number is None else classes.get(number)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(row: Mapping[str, Any], name: str, size: int) -> list[float]:
    values = row.get(name)
    if not isinstance(values, list) or len(values) != size or not all(map(_is_number, values)):
        raise ModelError(f"{row['place']}: {name} is {values!r:.60}, expected {size} numbers")
    return [finite_number(v, name, row["place"]) for v in values]


def _score(row: Mapping[str, Any]) -> float:
    value = row.get("score", 1.0)
    if not _is_number(value):
        raise ModelError(f"{row['place']}: score is {value!r:.40}, expected a number")
    return finite_number(value, "score", row["place"])


def _boxes(rows: list[Mapping[str, Any]]) -> Boxes:
    labels = [str(row["category"]) for row in rows if row["category"] is not None]
    boxes = [_numbers(row, "bbox", 4) for row in rows]
    return Boxes(boxes, [_score(row) for row in rows], labels if len(labels) == len(rows) else None)


def _masks(rows: list[Mapping[str, Any]]) -> Masks:
    masks: list[Any] = [row.get("segmentation") for row in rows]
    runs = read_masks(masks, [f"{row['place']}: segmentation" for row in rows])
    for row, mask in zip(rows, masks, strict=True):
        if mask["size"] != masks[0]["size"]:
            raise ModelError(
                f"{row['place']}: segmentation of size {mask['size']}, and {masks[0]['size']} in the same image"
            )
    answers = [fill(lengths, *mask["size"]) for lengths, mask in zip(runs, masks, strict=True)]
    return Masks(np.array(answers), [_score(row) for row in rows])


def _keypoints(rows: list[Mapping[str, Any]]) -> Keypoints:
    points = [np.reshape(_numbers(row, "keypoints", 51), (17, 3)) for row in rows]
    return Keypoints(np.array(points), [_score(row) for row in rows])


def write_coco_results(path: Path, answers: Iterable[tuple[str, Answer]]) -> None:
    """Write boxes, masks or keypoints as COCO results; `image_id` is the sample's id."""
    rows: list[dict[str, Any]] = []
    for name, answer in answers:
        if isinstance(answer, Masks | Keypoints):
            rows += _shapes(name, answer)
            continue
        if not isinstance(answer, Boxes):
            kind = type(answer).__name__.lower()
            raise ModelError(f"{path}: COCO results are written from boxes, masks and keypoints, not from {kind}")
        for k, (box, score) in enumerate(zip(answer.xyxy.tolist(), answer.scores.tolist(), strict=True)):
            row = {
                "image_id": name,
                "category_id": 1,
                "bbox": [*box[:2], box[2] - box[0], box[3] - box[1]],
                "score": score,
            }
            rows.append(row | ({} if answer.labels is None else {"category": answer.labels[k]}))
    write_text(path, json.dumps(rows) + "\n")


def _shapes(name: str, answer: Masks | Keypoints) -> list[dict[str, Any]]:
    """The masks of one image as run lengths, or its skeletons as 17 × 3 numbers."""
    rows = []
    shapes = answer.masks if isinstance(answer, Masks) else answer.points
    for shape, score in zip(shapes, answer.scores.tolist(), strict=True):
        row: dict[str, Any] = {"image_id": name, "category_id": 1, "score": score}
        if isinstance(answer, Masks):
            row["segmentation"] = rle_of(shape)
        else:
            row["keypoints"] = np.asarray(shape, dtype=float).ravel().tolist()
        rows.append(row)
    return rows


def _is_results(path: Path) -> bool:
    """Whether a file is COCO results rather than another JSON format."""
    return path.suffix.lower() == ".json" and path.is_file() and not is_outputs(path) and not is_records(path)


COCO = Format(
    name="coco",
    meaning="COCO results JSON",
    kinds=(Boxes, Masks, Keypoints),
    detects=_is_results,
    read=read_coco_results,
    write=write_coco_results,
    options=("classes",),
)
