"""Boxes as other libraries return them. The object says where it comes from; no library is imported for it."""

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Self

from countenance.data.categories import kind_of, says_masked

Names = Mapping[int, str] | Sequence[str]
Keep = str | Iterable[str] | None

LIBRARIES = (
    "ultralytics",
    "supervision",
    "transformers",
    "torchvision",
    "timm",
    "open_clip",
    "insightface",
    "deepface",
    "mlflow",
)
"""The libraries whose objects are recognised."""


def library_of(value: Any) -> str | None:
    """The library that an object comes from, by its class, its base classes, or the module itself.

    >>> library_of("text") is None
    True
    """
    modules = [base.__module__ for base in type(value).__mro__]
    if isinstance(value, ModuleType):
        modules = [value.__name__]
    packages = (name.partition(".")[0] for name in modules)
    return next((package for package in packages if package in LIBRARIES), None)


def shown_by(label: str) -> str | None:
    """What a box with this label shows: `person`, `face` (with or without a mask), or None.

    >>> shown_by("pedestrian"), shown_by("with_mask"), shown_by("car")
    ('person', 'face', None)
    """
    masked = "mask" in label.lower() and says_masked(label) is not None
    return kind_of(label) or ("face" if masked else None)


class LibraryBoxes(NamedTuple):
    """The arguments from which `Boxes` is built."""

    xyxy: Any
    scores: Any
    labels: Sequence[str] | None

    def only(self, keep: Keep) -> "LibraryBoxes":
        """The boxes with one of these labels; `person` and `face` also keep synonyms (pedestrian, head).

        Boxes without labels are kept. A class number says nothing about people, so it is refused.

        >>> LibraryBoxes([[0, 0, 1, 1], [0, 0, 2, 2]], [0.9, 0.8], ["Pedestrian", "car"]).only("person").xyxy
        [[0, 0, 1, 1]]
        """
        if keep is None or self.labels is None:
            return self
        words = {keep} if isinstance(keep, str) else set(keep)
        numbers = sorted({label for label in self.labels if label.isdecimal() and label not in words})
        if numbers:
            raise ValueError(
                f"boxes of class {', '.join(numbers)}, which has no name; say it with names={{0: 'person'}}"
            )
        chosen = [i for i, label in enumerate(self.labels) if label in words or shown_by(label) in words]
        scores = None if self.scores is None else [self.scores[i] for i in chosen]
        return LibraryBoxes([self.xyxy[i] for i in chosen], scores, [self.labels[i] for i in chosen])


def labels(numbers: Any, names: Names | None) -> list[str]:
    """The name of each class number; a number without a name stays a number.

    >>> labels([0, 2], {0: "person"})
    ['person', '2']
    """
    known = dict(names) if isinstance(names, Mapping) else dict(enumerate(names or ()))
    return [known.get(number, str(number)) for number in map(int, _plain(numbers))]


def _plain(values: Any) -> Any:
    """Lists of plain numbers, from an array or a tensor of any device."""
    return values.tolist() if hasattr(values, "tolist") else values


def ultralytics_detections(result: Any) -> LibraryBoxes:
    """The boxes of ultralytics' `Results` of one picture, labelled with the model's class names."""
    boxes = result.boxes if result.boxes is not None else getattr(result, "obb", None)
    if boxes is None:
        raise ValueError("a result of ultralytics without boxes; only a detector gives some")
    return LibraryBoxes(_plain(boxes.xyxy), _plain(boxes.conf), labels(boxes.cls, result.names))


def supervision_detections(detections: Any, names: Names | None = None) -> LibraryBoxes:
    """The boxes of supervision's `Detections`, labelled with their class names, or with their class numbers."""
    words = (detections.data or {}).get("class_name")
    if words is None and detections.class_id is not None:
        words = labels(detections.class_id, names)
    return LibraryBoxes(_plain(detections.xyxy), _plain(detections.confidence), None if words is None else list(words))


def torchvision_detections(output: Mapping[str, Any], names: Names | None = None) -> LibraryBoxes:
    """The boxes that a detector of torchvision returns for one picture: `boxes`, `labels`, `scores`."""
    return LibraryBoxes(_plain(output["boxes"]), _plain(output.get("scores")), labels(output["labels"], names))


def transformers_detections(rows: Sequence[Mapping[str, Any]]) -> LibraryBoxes:
    """The boxes that a pipeline of transformers returns for one picture: `score`, `label` and `box` for each."""
    corners = [[row["box"][name] for name in ("xmin", "ymin", "xmax", "ymax")] for row in rows]
    return LibraryBoxes(corners, [row["score"] for row in rows], [str(row["label"]) for row in rows])


def library_detections(raw: Any) -> LibraryBoxes | None:
    """The boxes in an object of another library; None for anything else."""
    if isinstance(raw, list | tuple):
        rows = raw and all(isinstance(row, Mapping) and {"box", "label", "score"} <= set(row) for row in raw)
        return transformers_detections(raw) if rows else None
    library = library_of(raw)
    if library == "ultralytics" and hasattr(raw, "boxes") and hasattr(raw, "names"):
        return ultralytics_detections(raw)
    return supervision_detections(raw) if library == "supervision" and hasattr(raw, "class_id") else None


class FromLibraries:
    """The ways from another library's detections to `Boxes`.

    `keep` names the labels that stay; `person` and `face` also keep synonyms (pedestrian, head). `names` are the names
    of class numbers, where the library's object has none.
    """

    @classmethod
    def _of(cls, detections: LibraryBoxes) -> Self:
        return cls(*detections)  # type: ignore[call-arg]  # `Boxes` takes them

    @classmethod
    def from_ultralytics(cls, result: Any, keep: Keep = None) -> Self:
        """Boxes from ultralytics' `Results` of one picture: `YOLO("mine.pt")(picture)[0]`."""
        return cls._of(ultralytics_detections(result).only(keep))

    @classmethod
    def from_supervision(cls, detections: Any, names: Names | None = None, keep: Keep = None) -> Self:
        """Boxes from supervision's `Detections`."""
        return cls._of(supervision_detections(detections, names).only(keep))

    @classmethod
    def from_torchvision(cls, output: Mapping[str, Any], names: Names | None = None, keep: Keep = None) -> Self:
        """Boxes from what a detector of torchvision returns for one picture.

        >>> from countenance import Boxes
        >>> Boxes.from_torchvision({"boxes": [[0, 0, 4, 4]], "labels": [1], "scores": [0.9]}, {1: "person"}).labels
        ('person',)
        """
        return cls._of(torchvision_detections(output, names).only(keep))

    @classmethod
    def from_transformers(cls, rows: Sequence[Mapping[str, Any]], keep: Keep = None) -> Self:
        """Boxes from what a pipeline of transformers (object detection) returns for one picture.

        >>> from countenance import Boxes
        >>> box = {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}
        >>> Boxes.from_transformers([{"score": 0.9, "label": "person", "box": box}], keep="person").xyxy
        array([[1., 2., 3., 4.]])
        """
        return cls._of(transformers_detections(rows).only(keep))
