"""FHIBE's model_outputs.json: an object with an entry for each image.

| kind | entry |
|---|---|
| boxes | `detections`: [x0, y0, x1, y1] for each, or null; optionally `scores` |
| masks | `detections`: COCO run lengths, or null; optionally `scores` |
| keypoints | `detections`: 17 × [x, y] for each person, or null |
| parts | `detections`: a probability by part for each person |
| label map | `detections_rle`: COCO run lengths by label |
| embedding | `detections`: numbers, or null where no face was found |
| picture | `super_res_filename`: a picture's file |

Pictures may also come as a folder (FHIBE's `face_encodings`), without any list.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers.boxes import Boxes
from countenance.answers.formats.base import EMPTY, Format, PredictionRequest, Predictions
from countenance.answers.shapes import Keypoints, LabelMap, Masks, Picture
from countenance.answers.values import Embedding, Parts
from countenance.data.image import LazyImage
from countenance.data.reading.columns import is_number
from countenance.data.reading.entries import field, read_entries
from countenance.data.run_lengths import read_masks
from countenance.data.vocabulary import KEYPOINTS
from countenance.errors import ModelError
from countenance.metrics.masks import Ints, fill
from countenance.metrics.parsing import painted
from countenance.metrics.readings import CORNERS

CLASSES = 19
"""The classes of a label map."""
NOT_THERE = -999.0
"""The coordinates of a keypoint that is not in the picture."""
MOST_TURNED = 0.05
"""If more than this share of boxes have their corners the wrong way round, the reading is wrong."""
MISSING = "run the model first (reuse_model_outputs=False) or put its outputs there"
_HEAD = re.compile(
    rb'(\xef\xbb\xbf)?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*(null|\{\s*(\}|"(detections|detections_rle|scores|rows|super_res_filename|img_filepath)"))'
)


class EntryField(NamedTuple):
    """The field of an entry that holds the answer."""

    expected: str
    name: str = "detections"
    kind: type[Any] = list
    null: Literal["answer", "missing", "wrong"] = "answer"
    """What an empty field means: an empty answer, no answer, or an error."""

    def read(self, entry: Any, place: str) -> Any:
        """The field's value; None where it is null and may be."""
        value = field(entry, self.name, place)
        if not isinstance(value, self.kind) and (value is not None or self.null == "wrong"):
            nothing = "" if self.null == "wrong" else " or null"
            raise ModelError(f"{place}: {self.name} is {type(value).__name__}, expected {self.expected}{nothing}")
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
    """The boxes of an entry; further numbers of a box are ignored.

    >>> boxes_of([[0, 0, 2, 3, 9]], {"scores": [0.5]}, "a.png").to_row()
    {'boxes': [[0.0, 0.0, 2.0, 3.0]], 'scores': [0.5], 'labels': None}
    """
    for box in boxes:
        if not isinstance(box, list) or len(box) < 4 or not all(map(is_number, box[:4])):
            raise ModelError(f"{place}: {box!r:.60} is not a box, expected [x0, y0, x1, y1]")
    scores = entry.get("scores") or [1.0] * len(boxes)
    if not isinstance(scores, list) or len(scores) != len(boxes):
        raise ModelError(f"{place}: {np.size(scores)} scores for {len(boxes)} boxes")
    if any(not isinstance(score, (int, float)) or abs(score) > 1e300 for score in scores):
        raise ModelError(f"{place}: scores must be numbers")
    return Boxes([box[:4] for box in boxes], scores)


def mask_runs_of(
    masks: list[Any], entry: Mapping[str, Any], place: str, size: tuple[int, int] | None = None
) -> tuple[list[Ints], list[float]]:
    """The run lengths of an entry's masks and their scores; each score is 1 where the entry has no scores."""
    scores = entry.get("scores")
    known = isinstance(scores, list) and len(scores) == len(masks)
    runs = read_masks(masks, [f"{place}: mask {k}" for k in range(len(masks))], size)
    return runs, scores if known and scores is not None else [1.0] * len(masks)


def points_of(people: list[Any], count: int, place: str) -> NDArray[np.float64]:
    """The predicted people of an entry: people × keypoints × (x, y)."""
    for points in people:
        if not isinstance(points, list) or len(points) != count:
            size = len(points) if isinstance(points, list) else type(points).__name__
            raise ModelError(f"{place}: a person with {size} keypoints, expected {count}")
    try:
        array = np.array(people, dtype=np.float64).reshape(len(people), count, -1 if people else 2)[:, :, [0, 1]]
    except (ValueError, TypeError, OverflowError, IndexError):
        raise ModelError(f"{place}: keypoints must be [x, y] pairs of numbers") from None
    if not np.isfinite(array).all():
        raise ModelError(f"{place}: a keypoint that is not finite; write {NOT_THERE} for one that is not there")
    return array


def checked_parts(person: dict[str, float], place: str) -> dict[str, float]:
    """One person's probabilities by part."""
    for name, value in person.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ModelError(f"{place}: part {name!r} has probability {value!r:.30}, expected 0 to 1")
    return person


def parts_of(people: list[Any], place: str) -> list[dict[str, float]]:
    """The parts of each person; their probabilities are not checked."""
    if not all(isinstance(person, dict) for person in people):
        raise ModelError(f"{place}: expected a list with the parts of each person")
    return people


def label_runs_of(labels: Mapping[str, Any], place: str, size: tuple[int, int] | None = None) -> dict[int, Ints]:
    """Run lengths by label."""
    for key in labels:
        if not str(key).isdecimal() or int(key) >= 256:
            raise ModelError(f"{place}: label {key!r}, expected 0 to {CLASSES - 1}")
    runs = read_masks(list(labels.values()), [f"{place}: label {key}" for key in labels], size)
    return {int(key): lengths for key, lengths in zip(labels, runs, strict=True)}


def vector_of(value: list[Any], place: str) -> NDArray[np.float64]:
    """The embedding of an entry."""
    try:
        vector = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        vector = np.zeros(0)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise ModelError(f"{place}: detections is not an embedding (a list of finite numbers)")
    return vector


class Lazy(Mapping[str, Any]):
    """Answers that are built on access, because all masks and pictures together do not fit into memory."""

    def __init__(self, make: Mapping[str, Callable[[], Any]]) -> None:
        self.make = make

    def __getitem__(self, name: str) -> Any:
        return self.make[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.make)

    def __len__(self) -> int:
        return len(self.make)


@dataclass
class Reader:
    """Turns the entries of a file into answers, and collects notes on them."""

    path: Path
    request: PredictionRequest
    answers: dict[str, Any] = dataclass_field(default_factory=dict)
    lazy: dict[str, Callable[[], Any]] = dataclass_field(default_factory=dict)
    files: dict[Path, None] = dataclass_field(default_factory=dict)
    turned: list[str] = dataclass_field(default_factory=list)
    """Boxes whose corners are the wrong way round, each with its place."""
    boxes: int = 0
    first: tuple[str, Any] | None = None
    """The place of the first embedding and its length, or of the first person with parts and the names of these; all
    later ones must have the same."""

    def read(self, name: str, value: Any, entry: Mapping[str, Any], place: str) -> None:
        """Store one image's answer."""
        READERS[self.request.kind](self, name, value, entry, place)

    def read_boxes(self, name: str, boxes: list[Any], entry: Mapping[str, Any], place: str) -> None:
        """Reads boxes; one with its corners the wrong way round overlaps nobody: it becomes a point, and is noted."""
        answer = boxes_of(boxes, entry, place)
        wrong = np.asarray((answer.xyxy[:, 2:] < answer.xyxy[:, :2]).any(axis=1))
        if self.request.reading("xyxy") == CORNERS and wrong.any() and self.request.options.get("turned") != "raw":
            box = ", ".join(f"{number:g}" for number in answer.xyxy[wrong][0])
            self.turned += [f"{place}: box [{box}]"] * int(wrong.sum())
            flat = np.where(wrong[:, None], answer.xyxy[:, [0, 1, 0, 1]], answer.xyxy)
            answer = Boxes(flat, answer.scores)
        self.boxes += len(answer)
        self.answers[name] = answer

    def read_masks(self, name: str, masks: list[Any], entry: Mapping[str, Any], place: str) -> None:
        runs, scores = mask_runs_of(masks, entry, place)
        shapes = [mask["size"] for mask in masks]
        if any(shape != shapes[0] for shape in shapes):
            raise ModelError(f"{place}: masks of several sizes; expected one size, the picture's")
        self.lazy[name] = lambda: Masks(
            [fill(lengths, *shape) for lengths, shape in zip(runs, shapes, strict=True)], scores
        )

    def read_keypoints(self, name: str, people: list[Any], entry: Mapping[str, Any], place: str) -> None:
        """Reads keypoints; those that the file leaves out are placed far outside the picture.

        People are put in the image's order by their `rows`; those whose row is not one of the image's are dropped.
        """
        chosen = self.request.options.get("keypoints")
        places = [KEYPOINTS.index(keypoint) for keypoint in chosen.split(",")] if chosen else list(range(17))
        rows = entry.get("rows")
        if isinstance(rows, list) and len(rows) == len(people) and name in self.request.people:
            order = list(self.request.people[name][-1])
            named = [(order.index(str(row)), i) for i, row in enumerate(rows) if str(row) in order]
            people = [people[i] for _, i in sorted(named)]
        points = np.full((len(people), 17, 2), NOT_THERE)
        points[:, places] = points_of(people, len(places), place)
        self.answers[name] = Keypoints(points)

    def read_parts(self, name: str, people: list[Any], entry: Mapping[str, Any], place: str) -> None:
        """Each person's parts in the order of the image's people; {} for people whom the file leaves out."""
        answers = [checked_parts(person, place) for person in parts_of(people, place)]
        for person in answers:
            self.first = self.first or ((place, list(person)) if person else None)
            lost = [part for part in self.first[1] if part not in person] if self.first and person else []
            if lost:
                raise ModelError(f"{place}: part {lost[0]!r} is missing, other people have it")
        orders = self.request.people.get(name, ([str(i) for i in range(len(answers))],))
        of_person = dict(zip(self._order(orders, entry.get("rows"), len(answers), place), answers, strict=False))
        self.answers[name] = Parts(tuple(of_person.get(name_of, {}) for name_of in orders[-1]))

    def _order(self, orders: Sequence[Sequence[str]], rows: Any, answers: int, place: str) -> Sequence[str]:
        """Which person each answer is about: by the entry's own `rows`, else in the order that fits their number."""
        everyone = orders[-1]
        surplus = self.request.options.get("surplus") == "yes"
        named = [str(row) for row in rows] if isinstance(rows, list) else []
        if len(named) == answers and all(person in named for person in orders[0]):
            return named
        if surplus and answers >= len(everyone):  # published: answer i is for person i; later answers are ignored
            return everyone
        if rows is not None and not surplus:
            numbers = [int(person) if person.isdecimal() else person for person in orders[0]]
            raise ModelError(f"{place}: rows {rows!r:.60} do not name the rows {numbers} of its {answers} answers")
        for order in orders if not surplus else ():
            if len(order) == answers:
                return order
        raise ModelError(
            f"{place}: {answers} answers for {len(everyone)} people; parts pair with people by order, "
            "so there must be one for each"
        )

    def read_labels(self, name: str, labels: dict[str, Any], entry: Mapping[str, Any], place: str) -> None:
        runs = label_runs_of(labels, place)
        shapes = [mask["size"] for mask in labels.values()]
        if shapes and any(shape != shapes[0] for shape in shapes):
            raise ModelError(f"{place}: masks of several sizes; expected one size, the picture's")
        if shapes:
            self.lazy[name] = lambda: LabelMap(painted(runs, shapes[0]))

    def read_embedding(self, name: str, value: list[Any], entry: Mapping[str, Any], place: str) -> None:
        vector = vector_of(value, place)
        self.first = self.first or (place, len(vector))
        if len(vector) != self.first[1]:
            raise ModelError(f"{place}: an embedding of {len(vector)} numbers, the first has {self.first[1]}")
        self.answers[name] = Embedding(vector)

    def read_picture(self, name: str, file: str, entry: Mapping[str, Any], place: str) -> None:
        """Reads a picture: beside the file, in a subfolder, or at the entry's path if that lies inside `roots`."""
        if (path := self._picture(file, place)) is not None:
            self.files[path] = None
            self.lazy[name] = lambda: Picture(LazyImage(path).load())

    def _picture(self, file: str, place: str) -> Path | None:
        folder = self.path.parent
        named = Path(file) if Path(file).is_absolute() else folder / file
        roots = [folder, *(Path(root) for root in self.request.options.get("roots", "").split("\n") if root)]
        inside = any(named.resolve().is_relative_to(root.resolve()) for root in roots)
        if inside and named.is_file():
            return named
        parts = Path(file.replace("\\", "/")).parts
        moved = [folder.joinpath(*parts[-depth:]) for depth in (2, 1) if len(parts) >= depth]
        picture = next((path for path in moved if path.is_file()), None)
        if picture is None:
            below = sorted(folder.rglob(Path(file).name)) if Path(file).name else []
            picture = below[0] if len(below) == 1 and below[0].is_file() else None
        if picture is None and not inside:
            raise ModelError(
                f"{place}: {file!r} leads out of the results and the dataset; keep the pictures beside {self.path.name}"
            )
        return picture if picture is not None and not picture.is_symlink() else None

    def predictions(self, absent: Sequence[str], notes: list[str]) -> Predictions:
        """The predictions that were read, with a sentence on the images without a prediction."""
        kind, answers = self.request.kind, self.answers
        notes += self.notes()
        if kind is Boxes and (answers := ranked(self.answers)) is not self.answers:
            notes.append(f"{self.path}: scores are not all between 0 and 1; only their order counts")
        images = len(self.request.people or self.request.names.ids)
        means = "have no answer and count as images where nothing was found"
        caution = f"{self.path}: {len(absent)} of {images} images {means}" if absent and kind in EMPTY else None
        return Predictions(
            str(self.path),
            "fhibe",
            Lazy(self.lazy | {name: partial(_same, answer) for name, answer in answers.items()})
            if self.lazy
            else answers,
            caution,
            EMPTY.get(kind),
            tuple(notes),
            self.request.reading("xyxy") if kind is Boxes else CORNERS,
            files=tuple(sorted(self.files)),
        )

    def notes(self) -> list[str]:
        """Notes on boxes with their corners the wrong way round; InputError if there are too many to be an accident."""
        if not self.turned:
            return []
        count = f"{len(self.turned):,} of {self.boxes:,} boxes"
        has = "has" if len(self.turned) == 1 else "have"
        sentence = f"{self.turned[0]} has x1 < x0 or y1 < y0, as {has} {count}"
        if len(self.turned) > MOST_TURNED * self.boxes and self.request.options.get("turned") != "kept":
            raise ModelError(f"{sentence}{self._fitting()}")
        return [f"{sentence}; such a box overlaps nobody"]

    def _fitting(self) -> str:
        return '; write detections as [x0, y0, x1, y1] in pixels, or say what the numbers are (box_format="xywh", …)'


READERS: dict[type[Any], Callable[[Reader, str, Any, Mapping[str, Any], str], None]] = {
    Boxes: Reader.read_boxes,
    Masks: Reader.read_masks,
    Keypoints: Reader.read_keypoints,
    Parts: Reader.read_parts,
    LabelMap: Reader.read_labels,
    Embedding: Reader.read_embedding,
    Picture: Reader.read_picture,
}


def read_outputs(path: Path, request: PredictionRequest) -> Predictions:
    """The outputs of each image; one without an answer counts as an image in which nothing was found.

    Entries are read one after the other. Entries of images that are not evaluated are skipped.
    """
    about, reader = FIELDS[request.kind], Reader(path, request)
    seen: set[str] = set()
    unknown = []
    for key, entry in read_entries(path, MISSING):
        place = f"{path}: {key}"
        if (name := request.names.find(key)) is None:
            unknown.append(key)
            continue
        if name in seen:
            raise ModelError(f"{place}: a second answer for {name}; expected one for each image")
        seen.add(name)
        if request.people and name not in request.people:
            continue
        value = about.read(entry, place)
        if value is not None:
            reader.read(name, value, entry, place)
        elif about.null == "answer":
            reader.answers[name] = EMPTY[request.kind]()
    images = list(request.people or request.names.ids)
    others = request.names.unmatched(unknown, str(path))
    if not seen:
        raise ModelError(f"{others or f'{path}: holds no predictions'}; expected names such as {images[0]}")
    answered = {*reader.answers, *reader.lazy}
    if not answered:
        raise ModelError(
            f"{path}: holds no predictions: no answer for any of {len(images):,} images, the first {images[0]}"
        )
    return reader.predictions([name for name in images if name not in answered], [others] if others else [])


def _same(answer: Any) -> Any:
    return answer


def ranked(answers: dict[str, Boxes]) -> dict[str, Boxes]:
    """Boxes with scores from 0 to 1: unchanged, or as ranks in the file if any score is outside.

    >>> ranked({"a": Boxes([[0, 0, 1, 1]], [7.5]), "b": Boxes([[0, 0, 1, 1]], [-2])})["b"].scores
    array([0.5])
    """
    scores = np.concatenate([np.zeros(0), *(answer.scores for answer in answers.values())])
    if not len(scores) or (scores.min() >= 0 and scores.max() <= 1):
        return answers
    levels, place = np.unique(scores, return_inverse=True)
    ranks = np.split((place + 1) / len(levels), np.cumsum([len(answer) for answer in answers.values()])[:-1])
    return {name: Boxes(answer.xyxy, new) for (name, answer), new in zip(answers.items(), ranks, strict=True)}


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
    options=("keypoints", "surplus", "turned", "roots"),
)


def read_pictures(folder: Path, request: PredictionRequest) -> Predictions:
    """The pictures of a folder and its subfolders, each under the name of its original image."""
    files: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = request.names.find(path.relative_to(folder).as_posix()) if path.is_file() else None
        if name is not None and not path.is_symlink():
            files.setdefault(name, path)
    if not files:
        first = next(iter(request.names.ids), "")
        raise ModelError(f"{folder}: no picture of an image of the dataset; expected names such as {Path(first).name}")
    request.names.by_file_name.clear()  # outputs and pictures usually lie in different folders
    pictures = {name: partial(_picture_at, path) for name, path in files.items()}
    return Predictions(str(folder), "pictures", Lazy(pictures), files=tuple(files.values()))


def _picture_at(path: Path) -> Picture:
    return Picture(LazyImage(path).load())


PICTURES = Format(
    name="pictures",
    meaning="a folder of pictures, each named after the image that it was made from",
    kinds=(Picture,),
    detects=lambda path: path.is_dir(),
    read=read_pictures,
)
