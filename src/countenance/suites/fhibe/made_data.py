"""The embedded people in FHIBE's layout, so that all nine tasks run without the dataset.

Nobody in these pictures exists. Attributes in FHIBE that rendered people do not have (ancestry, nationality) stay empty
and count as unknown; gender presentation stands in for pronouns, and the card says so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset, Sample, Subject
from countenance.data.card import AttributeCard
from countenance.data.layout import FolderWriter, copy_image, face_crop
from countenance.data.reading.label_maps import outlines
from countenance.data.vocabulary import KEYPOINTS
from countenance.errors import InputError
from countenance.tasks.face_parsing import true_classes, without_ears

BODY, FACE = "fhibe_downsampled", "fhibe_face_crop_align"
ATTRIBUTES = ("pronoun", "age", "apparent_skin_color", "lighting")
"""The attributes by which the generated data can be compared."""

TONES = ("[102, 78, 65]", "[136, 105, 81]", "[164, 131, 103]", "[175, 148, 120]", "[189, 163, 137]", "[198, 180, 157]")
_TONE_OF_MONK = {1: 5, 2: 5, 3: 4, 4: 4, 5: 3, 6: 2, 7: 1, 8: 1, 9: 0, 10: 0}
_PRONOUN = {"female": "0. She/her/hers", "male": "1. He/him/his"}
_LIGHT = {
    "dim": "0. Lighting from above the head/face",
    "bright": "2. Lighting from in front of the head/face",
    "back": "3. Lighting from behind the head/face",
    "side": "4. Lighting from the left of the head/face",
}
MADE_ATTRIBUTES = {
    name: AttributeCard(assigned_by="rendered", meaning=meaning)
    for name, meaning in {
        "pronoun": "gender presentation of the rendered person (no pronoun was asked of anybody)",
        "age": "age in years that the body model was asked for",
        "age_group": "age in years that the body model was asked for, in FHIBE's bins",
        "apparent_skin_color": "Monk Skin Tone of the rendered skin, as the nearest of FHIBE's six tones",
        "lighting": "lighting set-up of the rendering",
        "scene": "kind of background",
        "head_pose": "whether the head is turned or raised by more than 30 degrees",
    }.items()
}
"""The attributes on the card of the generated data."""
_SCENES = ("plain", "studio", "blur", "room", "outdoor")
_KEYPOINT_NUMBERS = (0, 5, 2, 8, 7, 12, 11, 14, 13, 16, 15, 24, 23, 26, 25, 28, 27)
_PARTS = {
    "Head hair": "6. Head hair",
    "Torso": "20. Upper body clothes",
    "Left arm": "2. Left arm skin",
    "Right arm": "3. Right arm skin",
    "Left leg": "4. Left leg skin",
    "Right leg": "5. Right leg skin",
    "Left foot": "15. Left shoe",
    "Right foot": "16. Right shoe",
}


def make_data(
    out: Path, bodies: Dataset, portraits: Dataset, *, side: int = 512, step: Callable[[], None] = lambda: None
) -> dict[str, int]:
    """Write `out/data/...` from full bodies and portraits; returns the number of rows of each dataset."""
    layout = FolderWriter(out)
    rows = {BODY: _bodies(layout, bodies, step), FACE: _faces(layout, portraits, side, step)}
    for name, table_rows in rows.items():
        if not table_rows:
            raise InputError(f"no picture with the truth that {name} needs")
        folder, source = f"data/processed/{name}", bodies if name == BODY else portraits
        layout.table(f"{folder}/{name}.csv", table_rows, line_end="\r\n")
        layout.card(source.card, folder, name=f"{source.card.name} as {name}", attributes=MADE_ATTRIBUTES)
    return {name: len(table_rows) for name, table_rows in rows.items()}


def _about(sample: Sample, subject: Subject, path: str) -> dict[str, Any]:
    """The columns that both tables share."""
    values = subject.attributes
    monk = str(values.get("skin_tone", "")).removeprefix("monk_")
    tone = f"{_TONE_OF_MONK[int(monk)]}. {TONES[_TONE_OF_MONK[int(monk)]]}" if monk.isdecimal() else ""
    pronoun = _PRONOUN.get(str(values.get("gender")))
    light = _LIGHT.get(str(sample.attributes.get("light")))
    angles = [abs(float(str(values.get(name) or 0))) for name in ("yaw", "pitch")]
    background = str(sample.attributes.get("background", ""))
    return {
        "filepath": path,
        "json_path": f"{'/'.join(path.split('/')[:3])}/none.json",
        "image_id": sample.id,
        "subject_id": subject.identity or subject.id,
        "age": "" if values.get("age") is None else round(float(str(values["age"])), 1),
        "pronoun": [pronoun] if pronoun else [],
        "ancestry": [],
        "nationality": [],
        "natural_skin_color": tone,
        "apparent_skin_color": tone,
        "lighting": [light] if light else [],
        "scene": f"{_SCENES.index(background)}. {background}" if background in _SCENES else "",
        "head_pose": "1. Atypical" if max(angles) > 30 else "0. Typical",
        "location_country": "",
    }


def _bodies(layout: FolderWriter, dataset: Dataset, step: Callable[[], None]) -> list[dict[str, Any]]:
    rows = []
    for sample in dataset:
        step()
        people = [
            (subject, subject.person_box, subject.face_box)
            for subject in sample.subjects
            if subject.person_box is not None and subject.face_box is not None
            if subject.mask is not None and subject.keypoints is not None
        ]
        path = f"data/raw/{BODY}/{copy_image(sample, layout.root / 'data' / 'raw' / BODY)}" if people else ""
        rows += [
            _about(sample, subject, path)
            | {
                "image_height": sample.height,
                "image_width": sample.width,
                "person_bbox": _xywh(person),
                "face_bbox": _xywh(face),
                "keypoints": _keypoints(subject),
                "segments": _segments(subject),
            }
            for subject, person, face in people
        ]
    return rows


def _xywh(box: NDArray[np.float64]) -> list[float]:
    x0, y0, x1, y1 = (round(float(value), 3) for value in box)
    return [x0, y0, round(x1 - x0, 3), round(y1 - y0, 3)]


def _keypoints(subject: Subject) -> dict[str, list[float]]:
    assert subject.keypoints is not None
    points: dict[str, list[float]] = {}
    for number, name, (x, y, seen) in zip(_KEYPOINT_NUMBERS, KEYPOINTS, subject.keypoints.tolist(), strict=True):
        points[f"{number}. {name}"] = [x, y, int(seen == 2)]
    for side, number, wrist in (("Left", 20, 9), ("Right", 19, 10)):
        x, y = subject.keypoints[wrist, :2].tolist()
        points[f"{number}. {side} index knuckle"] = [x, y, int(f"{side} hand" in subject.body_parts)]
    return points


def _segments(subject: Subject) -> list[dict[str, Any]]:
    """The person's outline as polygons; each visible part adds its class with one corner inside the outline."""
    assert subject.mask is not None
    mask = subject.mask.decode()
    inside = np.argwhere(mask)[mask.sum() // 2] if mask.any() else np.zeros(2, int)
    dot = [{"x": int(inside[1]), "y": int(inside[0])}]
    outline = [
        {"class_name": "0. Face skin", "num": 1, "polygon": [{"x": int(x), "y": int(y)} for x, y in corners]}
        for corners in outlines(mask, "making data of FHIBE's form")
    ]
    return outline + [
        {"class_name": name, "num": 1, "polygon": dot} for part, name in _PARTS.items() if part in subject.body_parts
    ]


def _faces(layout: FolderWriter, dataset: Dataset, side: int, step: Callable[[], None]) -> list[dict[str, Any]]:
    rows = []
    for sample in dataset:
        step()
        if len(sample.subjects) != 1:
            continue
        (subject,) = sample.subjects
        if subject.face_box is None or not subject.face_parts:
            continue
        crop = face_crop(subject.face_box, sample.width, sample.height)
        who, image = subject.identity or subject.id, sample.id.replace("/", "_")
        name = f"faces_crop_and_align_{sample.id}_{who}.png".replace("/", "_")
        path, mask = f"data/raw/{FACE}/{who}/{image}/{name}", f"data/processed/{FACE}/masks/{image}/combined.png"
        classes = without_ears(true_classes(subject, sample.height, sample.width))
        layout.picture(path, sample.load(), crop=crop, side=side, how="BICUBIC")
        layout.picture(mask, classes, crop=crop, side=side, how="NEAREST")
        about = {"image_height": side, "image_width": side, "multiple_subjects": False, "CelebA": [mask]}
        rows.append(_about(sample, subject, path) | about)
    return rows
