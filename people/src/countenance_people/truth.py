"""The exact truth of a rendered picture: label maps, boxes, keypoints, parts, angles, depth. One ray per pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance_people.camera import Camera, head_angles
from countenance_people.expressions import SMILES
from countenance_people.figure import Figure
from countenance_people.labels import CODE, FACE_PARTS
from countenance_people.mesh import Array, srgb_to_linear
from countenance_people.palette import DARK_LENS
from countenance_people.scene import cast
from countenance_people.shape import BODY_PARTS
from countenance_people.spec import Person, PictureSpec

# How deep under the surface a keypoint may lie and still count as seen: joints sit inside the limb.
DEPTH_33 = np.array(
    [0.035] * 7 + [0.03] * 2 + [0.02] * 2 + [0.12] * 6 + [0.05] * 6 + [0.16] * 2 + [0.12] * 4 + [0.06] * 4
)
COCO = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""The 17 points of COCO among the 33; the eyes are pupils there and lie beside the points of COCO."""
DEPTH = DEPTH_33[list(COCO)]
# What hides a point of the face that lies under it, by point of the 33. A mask, a lens or hair before a point is nearer
# to it than the depth at which it may lie, so the picture's labels decide.
NOSE_AND_MOUTH, EYES, EARS = (0, 9, 10), range(1, 7), (7, 8)
HIDING = {
    **dict.fromkeys(NOSE_AND_MOUTH, ("face_mask", "hat", "hair")),
    **dict.fromkeys(EYES, ("eye_g", "face_mask", "hat", "hair")),
    **dict.fromkeys(EARS, ("hat", "hair")),
}
FRONTAL = 15.0
FACE = tuple(CODE[name] for name in ("skin", "nose", "u_lip", "l_lip", "l_eye", "r_eye", "l_brow", "r_brow", "mouth"))
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@dataclass
class Maps:
    """Per pixel: label, person (1-based, 0 for none), body part, distance from the camera (infinite: nothing)."""

    label: Array
    person: Array
    body_part: Array
    distance: Array


def pixel_maps(scene: Any, figures: list[Figure], camera: Camera, lenses: Any = None) -> Maps:
    """What each pixel centre shows; lenses that hide the eyes are shown, clear ones are looked through."""
    names, parts, owner = [], [], []
    for number, figure in enumerate(figures, 1):
        for name, part in figure.parts.items():
            names.append(name)
            parts.append(part)
            owner.append(number)
    directions = camera.directions()
    hits = cast(scene, names, camera.origin, directions)
    size = camera.width * camera.height
    label, person, body_part = (np.zeros(size, np.uint8) for _ in range(3))
    for number, part in enumerate(parts):
        at = np.where(hits.shape == number)[0]
        if not len(at):
            continue
        primitive = hits.primitive[at]
        label[at] = part.label[primitive] if len(part.label) > 1 else part.label[0]
        body_part[at] = part.body_part[primitive] if len(part.body_part) > 1 else part.body_part[0]
        person[at] = owner[number]
    if lenses is not None:
        dark = [
            f"lens{number}"
            for number, figure in enumerate(figures)
            if figure.lenses and max(figure.lenses[2]) < DARK_LENS
        ]
        worn = cast(lenses, dark, camera.origin, directions)
        at = np.where((worn.shape >= 0) & (worn.distance < hits.distance))[0]
        label[at], body_part[at] = CODE["eye_g"], BODY_PARTS.index("Face")
        person[at] = np.array([int(name.removeprefix("lens")) + 1 for name in dark] or [0])[worn.shape[at]]
    shape = (camera.height, camera.width)
    return Maps(*(values.reshape(shape) for values in (label, person, body_part, hits.distance)))


def encode(mask: Array) -> str:
    """COCO's compressed run lengths of a boolean mask."""
    from pycocotools import mask as coco

    return str(coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode("ascii"))


def tight_box(points: Array, width: int, height: int) -> list[float]:
    """Bounds [x0, y0, x1, y1] of points, clipped to the image."""
    low, high = points.min(0), points.max(0)
    limit = np.array([width, height])
    return [round(float(v), 2) for v in (*np.clip(low, 0, limit), *np.clip(high, 0, limit))]


def mask_box(mask: Array) -> list[float] | None:
    """Tight box of a mask, or None when nothing is visible."""
    rows, columns = np.where(mask)
    if not len(rows):
        return None
    return [float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)]


def keypoints(scene: Any, figure: Figure, points: Array, slack: Array, camera: Camera) -> list[float]:
    """Keypoints as x, y, v: 2 seen, 1 in the picture but hidden, 0 outside it (then x = y = 0)."""
    place = camera.project(points)
    offset = points - camera.origin
    distance = np.linalg.norm(offset, axis=1)
    hits = cast(scene, list(figure.parts), camera.origin, offset / distance[:, None])
    seen = (hits.shape >= 0) & (hits.distance >= distance - slack)
    inside = (place >= 0).all(1) & (place[:, 0] < camera.width) & (place[:, 1] < camera.height)
    flat: list[float] = []
    # Rounded, a point on the last row or column stays in the picture.
    place = np.minimum(np.round(place, 2), np.array([camera.width, camera.height]) - 0.01)
    for (x, y), visible, within in zip(place, seen, inside, strict=True):
        flat += [round(float(x), 2), round(float(y), 2), 2.0 if visible else 1.0] if within else [0.0, 0.0, 0.0]
    return flat


def hidden_under(points: list[float], numbers: Sequence[int], label: Array, dark: bool) -> list[float]:
    """The keypoints x, y, v with those hidden (1) that lie under a mask, a dark lens, a hat or hair.

    `numbers` are the points' numbers among the 33, `label` is the person's label map; most of the nine pixels around a
    point decide. A frame of clear glasses (not `dark`) hides nothing.
    """
    flat = list(points)
    for place, number in enumerate(numbers):
        x, y, seen = points[3 * place : 3 * place + 3]
        names = [name for name in HIDING.get(number, ()) if dark or name != "eye_g"]
        if seen < 2 or not names:
            continue
        row, column = int(y), int(x)
        around = label[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
        if np.isin(around, [CODE[name] for name in names]).mean() > 0.5:
            flat[3 * place + 2] = 1.0
    return flat


def visible_share(figure: Figure, number: int, maps: Maps, camera: Camera) -> float:
    """Share of the face turned to the camera that neither the frame nor another person hides."""
    towards = camera.origin - figure.face_front
    facing = (figure.face_normal * towards).sum(1) > 0
    place = np.floor(camera.project(figure.face_front[facing])).astype(int)
    inside = (place >= 0).all(1) & (place[:, 0] < camera.width) & (place[:, 1] < camera.height)
    owner = maps.person[place[inside, 1], place[inside, 0]]
    clear = (owner == number) | (owner == 0)
    return round(float(clear.sum() / max(len(place), 1)), 4)


def no_mouth_outside(label: Array, box: list[float]) -> Array:
    """Labels where the mouth outside the face box is skin: the inside of a cheek, seen through it from the side."""
    rows, columns = np.mgrid[0 : label.shape[0], 0 : label.shape[1]] + 0.5
    inside = (columns > box[0]) & (columns < box[2]) & (rows > box[1]) & (rows < box[3])
    return np.asarray(np.where((label == CODE["mouth"]) & ~inside, CODE["skin"], label))


def luminance(picture: Array, where: Array) -> float | None:
    """Mean relative luminance (linear, 0 to 1) of an 8-bit picture where a mask holds."""
    if not where.any():
        return None
    return round(float((srgb_to_linear(picture[where] / 255) @ LUMINANCE).mean()), 5)


def describe(
    scene: Any, spec: PictureSpec, figures: list[Figure], camera: Camera, maps: Maps, picture: Array
) -> list[dict[str, Any]]:
    """One row of truth per person of the picture."""
    rows = []
    for number, (person, figure) in enumerate(zip(spec.persons, figures, strict=True), 1):
        mine = maps.person == number
        label = np.where(maps.label == CODE["teeth"], CODE["mouth"], maps.label)
        pixels = np.bincount(maps.body_part[mine], minlength=len(BODY_PARTS))
        seen = [i for i in range(len(BODY_PARTS)) if pixels[i] > 0]
        box = tight_box(camera.project(figure.face), camera.width, camera.height)
        label = no_mouth_outside(label, box)
        yaw, pitch, roll = head_angles(figure.head_rotation, camera, figure.eye_middle)
        head = mine & np.isin(label, (*FACE, CODE["hair"], CODE["hat"]))
        own, dark = np.where(mine, label, 0), person.glasses == "sunglasses"
        coco = keypoints(scene, figure, figure.keypoints, DEPTH, camera)
        every = keypoints(scene, figure, figure.keypoints_33, DEPTH_33, camera)
        rows.append(
            {
                "sample": spec.sample,
                "subject": person.identity.name,
                "identity": person.identity.name,
                "face_box": box,
                "person_box": mask_box(mine),
                "keypoints": hidden_under(coco, COCO, own, dark),
                "keypoints_33": hidden_under(every, range(33), own, dark),
                "landmarks": [round(float(v), 2) for v in camera.project(figure.landmarks).ravel()],
                "mask": encode(mine),
                "face_parts": [
                    {"label": name, "counts": encode(mine & (label == CODE[name]))}
                    for name in FACE_PARTS
                    if (mine & (label == CODE[name])).any()
                ],
                "body_parts": [BODY_PARTS[i] for i in seen],
                "body_part_pixels": [int(pixels[i]) for i in seen],
                **about(person),
                "yaw": round(yaw, 2),
                "pitch": round(pitch, 2),
                "roll": round(roll, 2),
                "pose": "frontal" if abs(yaw) <= FRONTAL else "turned",
                "distance": round(float(np.linalg.norm(figure.eye_middle - camera.origin)), 3),
                "face_size": round(box[3] - box[1], 2),
                "visible": visible_share(figure, number, maps, camera),
                "hair_visible": round(float((head & (label == CODE["hair"])).sum() / max(head.sum(), 1)), 4),
                "face_luminance": luminance(picture, mine & np.isin(label, FACE)),
            }
        )
    return rows


def about(person: Person) -> dict[str, Any]:
    """What the specification says of a person."""
    identity = person.identity
    return {
        "role": person.role,
        "skin_tone": f"monk_{identity.skin_tone}",
        "age": identity.years,
        "age_group": identity.age_group,
        "gender": identity.gender,
        "expression": person.expression,
        "smile": "yes" if person.expression in SMILES else "no",
        "mask_colour": person.mask,
        "glasses": person.glasses,
        "headwear": person.headwear,
        "hair_style": identity.hair_style,
        "hair_colour": identity.hair_colour,
        "beard": identity.beard,
        "posture": person.posture,
    }
