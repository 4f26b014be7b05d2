"""Any model of ours with the methods of the original's wrapper, so that one piece of code runs both."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, Picture
from countenance.data.image import LazyImage, encode_png
from countenance.errors import InputError
from countenance.files import write_atomically

BATCH = 8
PEOPLE = ("0", "person", "face")
"""Labels of boxes that count; boxes without labels do."""
KINDS = {
    "person_parsing": Masks, "keypoint_estimation": Keypoints, "body_parts_detection": Parts, "face_parsing": LabelMap,
}  # fmt: skip
"""What a model must return; boxes, vectors and pictures may be arrays too."""


def people_boxes(answer: Any) -> dict[str, Any]:
    """Boxes as the original's detectors give them; label 0 is a person.

    >>> people_boxes(Boxes([[0, 0, 2, 3]], [0.5]))
    {'bboxes': array([[0., 0., 2., 3.]]), 'scores': array([0.5]), 'labels': [0]}
    """
    found = answer if isinstance(answer, Boxes) else Boxes(answer)
    labels = [0] * len(found) if found.labels is None else [int(label not in PEOPLE) for label in found.labels]
    return {"bboxes": found.xyxy, "scores": found.scores, "labels": labels}


def face_boxes(answer: Any) -> dict[str, Any]:
    """Boxes as the original's face detectors give them."""
    found = people_boxes(answer)
    kept = np.array(found["labels"], dtype=np.int64) == 0
    return {"detections": found["bboxes"][kept], "scores": found["scores"][kept]}


FORMS: dict[str, Callable[[Any], Any]] = {
    "person_localization": people_boxes,
    "face_localization": face_boxes,
    "person_parsing": lambda a: {"masks": list(a.masks), "scores": a.scores, "labels": [0] * len(a.masks)},
    "keypoint_estimation": lambda a: {"keypoints": a.points[:, :, :2], "scores": a.points[:, :, 2]},
    "body_parts_detection": lambda a: list(a.probabilities),
    "face_parsing": lambda a: {"detections": a.classes},
    "face_verification": lambda a: {"embeddings": a.vector if isinstance(a, Embedding) else a},
    "face_encoding": lambda a: {"encoding": a},
    "face_super_resolution": lambda a: a,
}


class OwnModel:
    """A model that takes a list of pictures and returns one answer for each."""

    map_ears_to_skin = False

    def __init__(self, task: str, model: Callable[[Any], Any]) -> None:
        self.task, self.model = task, model

    def align_faces(self, img_filepaths: list[str], **keywords: Any) -> list[bool]:
        """Nothing is aligned: the model finds the face, or says that there is none."""
        return [True] * len(img_filepaths)

    def data_preprocessor(self, img_filepaths: list[str], **keywords: Any) -> Iterator[list[str]]:
        """The paths, some at a time."""
        for a in range(0, len(img_filepaths), BATCH):
            yield img_filepaths[a : a + BATCH]

    def __call__(self, batch: list[str]) -> list[Any]:
        answers = list(self.model([LazyImage(Path(path)).load() for path in batch]))
        if len(answers) != len(batch):
            raise InputError(f"the model returned {len(answers)} answers for {len(batch)} images")
        for answer in answers:
            if not isinstance(answer, KINDS.get(self.task, object)):
                found, expected = type(answer).__name__, KINDS[self.task].__name__
                raise InputError(f"the model returned {found}, expected {expected}")
        return [FORMS[self.task](answer) for answer in answers]

    def save_array(self, answer: Any, filename: str) -> None:
        """Write a picture as PNG, whole or not at all."""
        pixels = answer.pixels if isinstance(answer, Picture) else np.asarray(answer)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            found = f"a picture of shape {pixels.shape} and type {pixels.dtype}"
            raise InputError(f"{Path(filename).name}: {found}, expected 8-bit RGB")
        content = encode_png(pixels)
        write_atomically(Path(filename), lambda part: part.write_bytes(content))

    save_encoding = save_array
