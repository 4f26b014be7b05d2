"""The embedded people in FHIBE's layout, so that all nine tasks run without the dataset.

Nobody in these pictures exists. What FHIBE asks of people and rendered people do not have (ancestry, nationality)
stays empty and reads as unknown; gender presentation stands in for pronouns, and the card says so.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset, Sample, Subject
from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.folder import copy_image
from countenance.data.image import encode_png
from countenance.errors import InputError, opencv
from countenance.suites.fhibe.vocabulary import CARD
from countenance.tasks.face_parsing import EARS_TO_SKIN, true_classes
from countenance.tasks.keypoint_estimation import KEYPOINTS

BODY, FACE = "fhibe_downsampled", "fhibe_face_crop_align"
ATTRIBUTES = ("pronoun", "age", "apparent_skin_color", "lighting")
"""What the made data can be compared by."""

TONES = ("[102, 78, 65]", "[136, 105, 81]", "[164, 131, 103]", "[175, 148, 120]", "[189, 163, 137]", "[198, 180, 157]")
_TONE_OF_MONK = {1: 5, 2: 5, 3: 4, 4: 4, 5: 3, 6: 2, 7: 1, 8: 1, 9: 0, 10: 0}
_PRONOUN = {"female": "0. She/her/hers", "male": "1. He/him/his"}
_LIGHT = {
    "dim": "0. Lighting from above the head/face",
    "bright": "2. Lighting from in front of the head/face",
    "back": "3. Lighting from behind the head/face",
    "side": "4. Lighting from the left of the head/face",
}
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
    out: Path, bodies: Dataset, portraits: Dataset, *, side: int = 256, step: Callable[[], None] = lambda: None
) -> dict[str, int]:
    """Write `out/data/...` from full bodies and portraits; returns how many rows each dataset has."""
    rows = {BODY: _bodies(out, bodies, step), FACE: _faces(out, portraits, side, step)}
    for name, found in rows.items():
        if not found:
            raise InputError(f"no picture with the truth that {name} needs")
        folder = out / "data" / "processed" / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(found[0]))
            writer.writeheader()
            writer.writerows(found)
        source = bodies if name == BODY else portraits
        (folder / CARD).write_text(made_card(source.card, name).model_dump_json(indent=2) + "\n", encoding="utf-8")
    return {name: len(found) for name, found in rows.items()}


def some_people(dataset: Dataset, pictures: int) -> Dataset:
    """About so many pictures: all those of people chosen evenly over the dataset, so that nobody is cut in half."""
    by_person: dict[str, list[Sample]] = {}
    for sample in dataset:
        if len(sample.subjects) == 1:
            by_person.setdefault(sample.subjects[0].identity or sample.id, []).append(sample)
    names = list(by_person)
    each = max(1, round(len(dataset) / max(len(names), 1)))
    wanted = min(len(names), max(2, round(pictures / each)))
    chosen = [names[int(i * len(names) / wanted)] for i in range(wanted)] if names else []
    return Dataset(dataset.card, [sample for name in chosen for sample in by_person[name]])


def made_card(card: DatasetCard, name: str) -> DatasetCard:
    """The card of made data: that of the people, under the dataset's name."""
    meanings = {
        "pronoun": "gender presentation of the rendered person (no pronoun was asked of anybody)",
        "age": "age in years that the body model was asked for, in FHIBE's bins",
        "apparent_skin_color": "Monk Skin Tone of the rendered skin, as the nearest of FHIBE's six tones",
        "lighting": "lighting set-up of the rendering",
        "scene": "kind of background",
        "head_pose": "whether the head is turned or raised by more than 30 degrees",
    }
    attributes = {key: AttributeCard(assigned_by="rendered", meaning=text) for key, text in meanings.items()}
    return card.model_copy(update={"name": f"{card.name} as {name}", "attributes": attributes})


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


def _bodies(out: Path, dataset: Dataset, step: Callable[[], None]) -> list[dict[str, Any]]:
    rows = []
    for sample in dataset:
        step()
        people = [
            (subject, subject.person_box, subject.face_box)
            for subject in sample.subjects
            if subject.person_box is not None and subject.face_box is not None
            if subject.mask is not None and subject.keypoints is not None
        ]
        path = f"data/raw/{BODY}/{copy_image(sample, out / 'data' / 'raw' / BODY)}" if people else ""
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
    cv2 = opencv("making data of FHIBE's form")

    assert subject.mask is not None
    mask = subject.mask.decode().astype(np.uint8)
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    inside = np.argwhere(mask)[mask.sum() // 2] if mask.any() else np.zeros(2, int)
    dot = [{"x": int(inside[1]), "y": int(inside[0])}]
    outline = [
        {"class_name": "0. Face skin", "num": 1, "polygon": [{"x": int(x), "y": int(y)} for x, y in c[:, 0]]}
        for c in contours
    ]
    return outline + [
        {"class_name": name, "num": 1, "polygon": dot} for part, name in _PARTS.items() if part in subject.body_parts
    ]


def _faces(out: Path, dataset: Dataset, side: int, step: Callable[[], None]) -> list[dict[str, Any]]:
    from PIL import Image

    def save(path: str, pixels: NDArray[np.uint8], crop: tuple[int, int, int, int], how: Image.Resampling) -> None:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        made = Image.fromarray(pixels).crop(crop).resize((side, side), how)
        (out / path).write_bytes(encode_png(np.asarray(made)))

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
        save(path, sample.load(), crop, Image.Resampling.BICUBIC)
        save(mask, label_map(subject, sample.height, sample.width), crop, Image.Resampling.NEAREST)
        about = {"image_height": side, "image_width": side, "multiple_subjects": False, "CelebA": [mask]}
        rows.append(_about(sample, subject, path) | about)
    return rows


def face_crop(box: NDArray[np.float64], width: int, height: int) -> tuple[int, int, int, int]:
    """A square around the face, 1.6 times its larger side, kept inside the picture where it fits.

    >>> face_crop(np.array([40.0, 40, 60, 60]), 100, 100)
    (34, 34, 66, 66)
    """
    x0, y0, x1, y1 = (float(v) for v in box)
    half = min(0.8 * max(x1 - x0, y1 - y0), width / 2, height / 2)
    x = min(max((x0 + x1) / 2, half), width - half)
    y = min(max((y0 + y1) / 2, half), height - half)
    return round(x - half), round(y - half), round(x + half), round(y + half)


def label_map(subject: Subject, height: int, width: int) -> NDArray[np.uint8]:
    """The 19-class label map of a rendered face; FHIBE draws no ears."""
    classes = true_classes(subject, height, width)
    for ear, skin in EARS_TO_SKIN.items():
        classes[classes == ear] = skin
    return classes
