"""Any model of ours with the methods of the original's wrapper, so that one piece of code runs both."""

from collections.abc import Callable
from typing import Any

import numpy as np

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts
from countenance.errors import InputError
from countenance.models.by_path import PicturesByPath, save_picture

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


class OwnModel(PicturesByPath):
    """A model that takes a list of pictures and returns one answer for each."""

    map_ears_to_skin = False
    save_array = save_encoding = staticmethod(save_picture)

    def __init__(self, task: str, model: Callable[[Any], Any]) -> None:
        def form(answer: Any) -> Any:
            if not isinstance(answer, KINDS.get(task, object)):
                raise InputError(f"the model returned {type(answer).__name__}, expected {KINDS[task].__name__}")
            return FORMS[task](answer)

        super().__init__(model, form)

    def align_faces(self, img_filepaths: list[str], **keywords: Any) -> list[bool]:
        """Nothing is aligned: the model finds the face, or says that there is none."""
        return [True] * len(img_filepaths)
