"""FHIBE's words: datasets, tasks with their metrics, attributes, age bins."""

import json
from pathlib import Path
from typing import NamedTuple

from countenance.data.card import AssignedBy
from countenance.tasks import Metric


class FhibeTask(NamedTuple):
    """A task: its metrics and what the model does."""

    metrics: tuple[str, ...]
    explained: str


class FhibeAttribute(NamedTuple):
    """An attribute of a person or a picture."""

    meaning: str
    several: bool = False
    """Whether a person may have several values."""
    numbered: bool = True
    """Whether values carry a number ("0. She/her/hers"); others sort as words."""


_BODY = {
    "person_localization": FhibeTask(
        ("AR_IOU",), "The model draws boxes around people. Each person's best box is compared with the true one."
    ),
    "person_parsing": FhibeTask(
        ("AR_MASK",), "The model marks each person's pixels; the truth is the union of the person's polygons."
    ),
    "keypoint_estimation": FhibeTask(
        ("PCK", "AR_OKS"), "The model places COCO's keypoints on each person; only visible ones are scored."
    ),
    "face_localization": FhibeTask(
        ("AR_IOU",), "The model draws a box around each face. Each face's best box is compared with the true one."
    ),
    "body_parts_detection": FhibeTask(
        ("AR_DET", "ACC_DET"),
        "For each person the model says how probable it is that each body part is in the picture.",
    ),
}
_FACE = {
    "face_encoding": FhibeTask(
        ("CURRICULAR_FACE", "LPIPS", "PSNR", "SSIM"),
        "The model encodes and restores a face picture, which is compared with the original.",
    ),
    "face_verification": FhibeTask(
        ("VAL",), "The model turns faces into vectors; pictures of one person should lie closer than others."
    ),
    "face_parsing": FhibeTask(
        ("F1",), "The model labels each pixel of a face picture with one of 19 CelebAMask-HQ classes."
    ),
    "face_super_resolution": FhibeTask(
        ("LPIPS", "PSNR", "SSIM"),
        "The model restores a face from a small picture, which is compared with the original.",
    ),
}
BODY_TASKS, FACE_TASKS = tuple(_BODY), tuple(_FACE)
TASKS = BODY_TASKS + FACE_TASKS
METRICS: dict[str, tuple[str, ...]] = {name: task.metrics for name, task in (_BODY | _FACE).items()}
EXPLAINED: dict[str, str] = {name: task.explained for name, task in (_BODY | _FACE).items()}
DATASET_TEXTS = {
    "fhibe": "About 10,000 pictures at full size (3,000 to 10,000 pixels a side), each of one or two people.",
    "fhibe_downsampled": "About 10,000 pictures of one or two people, the longer side 2,048 pixels.",
    "fhibe_face_crop_align": "About 10,000 pictures of one face each, aligned, 512 × 512 pixels.",
    "fhibe_face_crop": "About 10,000 pictures of one face each, cut out and not aligned.",
}
"""What each dataset holds, for a report."""
DATASETS = ("fhibe", "fhibe_face_crop", "fhibe_face_crop_align")

OWN_METRICS = (
    Metric("VAL", "validation rate: same pairs accepted at a false acceptance rate of at most 0.001", "higher"),
    Metric("LPIPS", "learned perceptual distance (AlexNet) at 256 × 256; lower is better", better="lower"),
    Metric("CURRICULAR_FACE", "cosine of the face embeddings of the original and the restored picture", "higher"),
)
"""Metrics that the tasks themselves do not have."""

_ATTRIBUTES: dict[str, FhibeAttribute] = {
    "pronoun": FhibeAttribute("pronouns the person uses, several possible", several=True),
    "age": FhibeAttribute("age in years at the time of the picture, in five bins", numbered=False),
    "ancestry": FhibeAttribute("regions the person's ancestors come from, several possible", several=True),
    "scene": FhibeAttribute("where the picture was taken"),
    "camera_position": FhibeAttribute("camera at, above or below eye level"),
    "camera_distance": FhibeAttribute("height of the face in pixels, in five classes"),
    "natural_skin_color": FhibeAttribute("natural skin colour, chosen from six tones"),
    "apparent_skin_color": FhibeAttribute("skin colour at the time of the picture, chosen from six tones"),
    "apparent_skin_color_hue_lum": FhibeAttribute(
        "skin colour measured in the picture: light or dark, red or yellow", numbered=False
    ),
    "hairstyle": FhibeAttribute("length and style of the hair"),
    "natural_hair_type": FhibeAttribute("natural hair, straight to coily"),
    "apparent_hair_type": FhibeAttribute("hair in the picture, straight to coily"),
    "head_pose": FhibeAttribute("whether the head is turned or tilted by more than 30 degrees"),
    "action_body_pose": FhibeAttribute("what the body does: standing, sitting, walking"),
    "nationality": FhibeAttribute("nationalities, several possible, with their continents", several=True),
    "lighting": FhibeAttribute("where the light comes from, several possible", several=True),
    "weather": FhibeAttribute("weather, several possible", several=True),
    "natural_hair_color": FhibeAttribute("natural hair colours", several=True),
    "apparent_hair_color": FhibeAttribute("hair colours in the picture", several=True),
    "facial_hairstyle": FhibeAttribute("beard, moustache, goatee or none", several=True),
    "natural_facial_haircolor": FhibeAttribute("natural colours of facial hair", several=True),
    "apparent_facial_haircolor": FhibeAttribute("colours of facial hair in the picture", several=True),
    "natural_left_eye_color": FhibeAttribute("natural colours of the left eye", several=True),
    "apparent_left_eye_color": FhibeAttribute("colours of the left eye in the picture", several=True),
    "natural_right_eye_color": FhibeAttribute("natural colours of the right eye", several=True),
    "apparent_right_eye_color": FhibeAttribute("colours of the right eye in the picture", several=True),
    "facial_marks": FhibeAttribute("tattoos, scars, birthmarks, make-up", several=True),
    "action_subject_object_interaction": FhibeAttribute("what the person does with things", several=True),
    "action_subject_subject_interaction": FhibeAttribute("what the person does with others", several=True),
    "user_hour_captured": FhibeAttribute("time of day, in four windows", numbered=False),
    "location_country": FhibeAttribute("country where the picture was taken, as written by the person", numbered=False),
}
"""The 31 attributes in the order in which results name them; 17 may have several values."""
ATTRIBUTES = tuple(_ATTRIBUTES)
MEANINGS: dict[str, str] = {name: about.meaning for name, about in _ATTRIBUTES.items()}
OPTIONS: dict[str, tuple[str, ...]] = {
    name: tuple(offered)
    for name, offered in json.loads((Path(__file__).parent / "options.json").read_text(encoding="utf-8")).items()
}
"""What FHIBE's people could choose, in the words of its questionnaire and in its order, without the numbers. Ancestries
are in places.json; nationality is one of 225 countries, and the country of a picture is free text."""
MULTIPLE = frozenset(name for name, about in _ATTRIBUTES.items() if about.several)
UNNUMBERED = frozenset(name for name, about in _ATTRIBUTES.items() if not about.numbered)
ASSIGNED: dict[str, AssignedBy] = {
    "head_pose": "annotated",
    "camera_distance": "predicted",
    "apparent_skin_color_hue_lum": "predicted",
    "user_hour_captured": "predicted",
}
"""Who assigned an attribute, where the people did not do so themselves."""
MODEL_CARD = "model_card.json"
"""Beside model_outputs.json: what the model is, where somebody wrote it down."""
CARD = "card.json"
"""Beside a dataset's table: what the data is, where somebody wrote it down."""
NOT_ON_FACES = ("action_subject_subject_interaction",)
"""Attributes that the face datasets lack."""
DEFAULT_ATTRIBUTES = ("pronoun", "age", "apparent_skin_color", "ancestry")
UNKNOWN = "(unknown)"
AGE_BINS = ("[18, 30)", "[30, 40)", "[40, 50)", "[50, 60)", "[60, +]")


def age_bin(age: float) -> str:
    """The bin of an age; below 18 joins the first.

    >>> age_bin(29.9), age_bin(30), age_bin(9), age_bin(130)
    ('[18, 30)', '[30, 40)', '[18, 30)', '[60, +]')
    """
    return AGE_BINS[min(max(int(age // 10) - 2, 0), 4)]
