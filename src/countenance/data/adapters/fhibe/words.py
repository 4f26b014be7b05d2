"""FHIBE's words: datasets, tasks, attributes with their meanings, age bins."""

import json
from pathlib import Path
from typing import NamedTuple

from countenance.data.card import AssignedBy

BODY_TASKS = (
    "person_localization",
    "person_parsing",
    "keypoint_estimation",
    "face_localization",
    "body_parts_detection",
)
FACE_TASKS = ("face_encoding", "face_verification", "face_parsing", "face_super_resolution")
TASKS = BODY_TASKS + FACE_TASKS
DATASETS = ("fhibe", "fhibe_face_crop", "fhibe_face_crop_align")


class FhibeAttribute(NamedTuple):
    """An attribute of a person or a picture."""

    meaning: str
    several: bool = False
    """Whether a person may have several values."""
    numbered: bool = True
    """Whether values carry a number ("0. She/her/hers"); others sort as words."""


YEARS = "age in years at the time of the picture"
_ATTRIBUTES: dict[str, FhibeAttribute] = {
    "pronoun": FhibeAttribute("pronouns the person uses, several possible", several=True),
    "age": FhibeAttribute(f"{YEARS}, in five bins", numbered=False),
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
    name: tuple(options)
    for name, options in json.loads((Path(__file__).parent / "options.json").read_text(encoding="utf-8")).items()
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
CARD = "card.json"
"""The file beside a dataset's table that describes the data, if there is one."""
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
