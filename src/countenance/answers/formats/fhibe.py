"""FHIBE's model_outputs.json: an object with an entry for each image.

| kind | entry |
|---|---|
| boxes | `detections`: [x0, y0, x1, y1] for each, or null; optionally `scores` |
| masks | `detections`: COCO run lengths, or null; optionally `scores` |
| keypoints | `detections`: 17 × [x, y] for each person, or null |
| parts | `detections`: a probability by part for each person |
| label map | `detections_rle`: COCO run lengths by label |
| embedding | `detections`: numbers, or null where no face was found |
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers.formats.base import EMPTY, Format, Predictions, Wanted, absence, by_image
from countenance.answers.types import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, Picture
from countenance.data.reading.columns import is_number
from countenance.data.reading.entries import field, read_entries
from countenance.data.run_lengths import read_masks
from countenance.errors import InputError
from countenance.metrics.masks import Ints, fill
from countenance.metrics.parsing import painted
from countenance.metrics.readings import CORNERS

CLASSES = 19
"""Of a label map."""
_HEAD = re.compile(
    rb'(\xef\xbb\xbf)?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*(null|\{\s*(\}|"(detections|detections_rle|scores|rows)"))'
)


class EntryField(NamedTuple):
    """The field of an entry that holds the answer."""

    expected: str
    name: str = "detections"
    kind: type[Any] = list
    null: Literal["answer", "missing", "wrong"] = "answer"
    """What a field without a value is: an answer of nothing, no answer, or an error."""

    def read(self, entry: Any, place: str) -> Any:
        """The field's value; None where it has none and may."""
        value = field(entry, self.name, place)
        if not isinstance(value, self.kind) and (value is not None or self.null == "wrong"):
            nothing = "" if self.null == "wrong" else " or null"
            raise InputError(f"{place}: {self.name} is {type(value).__name__}, expected {self.expected}{nothing}")
        return value


FIELDS: dict[type[Any], EntryField] = {
    Boxes: EntryField("a list of boxes"),
    Masks: EntryField("a list of masks"),
    Keypoints: EntryField("a list of people"),
    Parts: EntryField("the parts of each person", null="missing"),
    LabelMap: EntryField("masks by label", "detections_rle", dict, "wrong"),
    Embedding: EntryField("a list of numbers"),
    Picture: EntryField("a file's name", "super_res_filename", str, "wrong"),
}


def boxes_of(boxes: list[Any], entry: Mapping[str, Any], place: str) -> Boxes:
    """The boxes of an entry; what follows the four numbers of a box is not read.

    >>> boxes_of([[0, 0, 2, 3, 9]], {"scores": [0.5]}, "a.png").to_row()
    {'boxes': [[0.0, 0.0, 2.0, 3.0]], 'scores': [0.5], 'labels': None}
    """
    for box in boxes:
        if not isinstance(box, list) or len(box) < 4 or not all(map(is_number, box[:4])):
            raise InputError(f"{place}: {box!r:.60} is not a box, expected [x0, y0, x1, y1]")
    scores = entry.get("scores") or [1.0] * len(boxes)
    if not isinstance(scores, list) or len(scores) != len(boxes):
        raise InputError(f"{place}: {np.size(scores)} scores for {len(boxes)} boxes")
    if any(not isinstance(score, (int, float)) or abs(score) > 1e300 for score in scores):
        raise InputError(f"{place}: scores must be numbers")
    return Boxes([box[:4] for box in boxes], scores)


def mask_runs_of(
    masks: list[Any], entry: Mapping[str, Any], place: str, size: tuple[int, int] | None = None
) -> tuple[list[Ints], list[float]]:
    """The run lengths of an entry's masks and their scores; 1 for each where it has none."""
    scores = entry.get("scores")
    known = isinstance(scores, list) and len(scores) == len(masks)
    runs = read_masks(masks, [f"{place}: mask {k}" for k in range(len(masks))], size)
    return runs, scores if known and scores is not None else [1.0] * len(masks)


def points_of(people: list[Any], count: int, place: str) -> NDArray[np.float64]:
    """The predicted people of an entry: people × keypoints × (x, y)."""
    for points in people:
        if not isinstance(points, list) or len(points) != count:
            size = len(points) if isinstance(points, list) else type(points).__name__
            raise InputError(f"{place}: a person with {size} keypoints, expected {count}")
    try:
        array = np.array(people, dtype=np.float64).reshape(len(people), count, -1 if people else 2)[:, :, [0, 1]]
    except (ValueError, TypeError, OverflowError, IndexError):
        raise InputError(f"{place}: keypoints must be [x, y] pairs of numbers") from None
    if not np.isfinite(array).all():
        raise InputError(f"{place}: a keypoint that is not finite; write -999 for one that is not there")
    return array


def checked_parts(person: dict[str, float], place: str) -> dict[str, float]:
    """One person's probabilities by part."""
    for name, value in person.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
            raise InputError(f"{place}: part {name!r} has probability {value!r:.30}, expected 0 to 1")
    return person


def parts_of(people: list[Any], place: str) -> list[dict[str, float]]:
    """The parts of each person; their probabilities are not looked at."""
    if not all(isinstance(person, dict) for person in people):
        raise InputError(f"{place}: expected a list with the parts of each person")
    return people


def label_runs_of(labels: Mapping[str, Any], place: str, size: tuple[int, int] | None = None) -> dict[int, Ints]:
    """Run lengths by label."""
    for key in labels:
        if not str(key).isdecimal() or int(key) >= 256:
            raise InputError(f"{place}: label {key!r}, expected 0 to {CLASSES - 1}")
    runs = read_masks(list(labels.values()), [f"{place}: label {key}" for key in labels], size)
    return {int(key): lengths for key, lengths in zip(labels, runs, strict=True)}


def label_map_of(labels: Mapping[str, Any], place: str) -> LabelMap:
    """The label map of an entry that has labels."""
    return LabelMap(painted(label_runs_of(labels, place), next(iter(labels.values()))["size"]))


def vector_of(value: list[Any], place: str) -> NDArray[np.float64]:
    """The embedding of an entry."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        vector = np.zeros(0)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise InputError(f"{place}: detections is not an embedding (a list of finite numbers)")
    return vector


def _masks(masks: list[Any], entry: Mapping[str, Any], place: str) -> Masks:
    runs, scores = mask_runs_of(masks, entry, place)
    return Masks([fill(item, *mask["size"]) for item, mask in zip(runs, masks, strict=True)], scores)


READERS: dict[type[Any], Callable[[Any, Mapping[str, Any], str], Any]] = {
    Boxes: boxes_of,
    Masks: _masks,
    Keypoints: lambda people, entry, place: Keypoints(points_of(people, 17, place)),
    Parts: lambda people, entry, place: Parts(tuple(checked_parts(one, place) for one in parts_of(people, place))),
    LabelMap: lambda labels, entry, place: label_map_of(labels, place),
    Embedding: lambda value, entry, place: Embedding(vector_of(value, place)),
}


def read_outputs(path: Path, request: Wanted) -> Predictions:
    """The outputs of each image; one without an answer counts as an image in which nothing was found."""
    entries = ((key, (f"{path}: {key}", entry)) for key, entry in read_entries(path))
    result, unknown = by_image(entries, request, str(path))
    about, answers = FIELDS[request.kind], {}
    for name, [(place, entry), *more] in result.items():
        if more:
            raise InputError(f"{more[0][0]}: a second answer for {name}; expected one for each image")
        value = about.read(entry, place)
        if value is not None and value != {}:
            answers[name] = READERS[request.kind](value, entry, place)
        elif about.null == "answer":
            answers[name] = EMPTY[request.kind]()
    if not answers:
        raise InputError(unknown or f"{path}: holds no predictions")
    absent = absence(answers, request, str(path), "no answer and count as images where nothing was found")
    reading = request.reading("xyxy") if request.kind is Boxes else CORNERS
    notes = (unknown,) if unknown else ()
    return Predictions(str(path), "fhibe", answers, absent, EMPTY.get(request.kind), notes, reading)


def is_outputs(path: Path) -> bool:
    """Whether a file is a JSON object whose first entry holds an answer."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        return _HEAD.match(stream.read(1 << 16)) is not None


OUTPUTS = Format(
    name="fhibe",
    meaning="FHIBE's model_outputs.json, an entry for each image",
    kinds=tuple(READERS),
    detects=is_outputs,
    read=read_outputs,
)
