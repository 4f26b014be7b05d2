"""The exact truth of a rendered picture: label maps, boxes, keypoints, parts, angles. One ray per pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.data.people.render.camera import Camera, head_angles
from countenance.data.people.render.figure import Figure
from countenance.data.people.render.labels import CODE, FACE_PARTS
from countenance.data.people.render.mesh import Array
from countenance.data.people.render.sampling import PictureSpec
from countenance.data.people.render.scene import cast
from countenance.data.people.render.shape import BODY_PARTS

# How deep under the surface a keypoint may lie and still count as seen: joints sit inside the limb.
DEPTH = np.array([0.035] * 3 + [0.03] * 2 + [0.12] * 12)
FRONTAL = 15.0


@dataclass
class Maps:
    """Per pixel: label, person (1-based, 0 for none), body part, colour of the surface, distance."""

    label: Array
    person: Array
    body_part: Array
    albedo: Array
    distance: Array


def pixel_maps(scene: Any, figures: list[Figure], camera: Camera) -> Maps:
    """What each pixel centre shows."""
    names, parts, owner = [], [], []
    for number, figure in enumerate(figures, 1):
        for name, part in figure.parts.items():
            names.append(name)
            parts.append(part)
            owner.append(number)
    hits = cast(scene, names, camera.origin, camera.directions())
    size = camera.width * camera.height
    label, person = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    body_part, albedo = np.zeros(size, np.uint8), np.full((size, 3), 0.5, np.float32)
    for number, part in enumerate(parts):
        at = np.where(hits.shape == number)[0]
        if not len(at):
            continue
        primitive = hits.primitive[at]
        label[at] = part.label[primitive] if len(part.label) > 1 else part.label[0]
        body_part[at] = part.body_part[primitive] if len(part.body_part) > 1 else part.body_part[0]
        person[at] = owner[number]
        if part.colour is not None:
            albedo[at] = part.colour[primitive]
    shape = (camera.height, camera.width)
    return Maps(
        label.reshape(shape), person.reshape(shape), body_part.reshape(shape),
        albedo.reshape(*shape, 3), hits.distance.reshape(shape),
    )  # fmt: skip


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


def keypoints(scene: Any, figures: list[Figure], number: int, camera: Camera) -> list[float]:
    """17 COCO keypoints as x, y, v: 2 seen, 1 in the picture but hidden, 0 outside it (then x = y = 0)."""
    points = figures[number].keypoints
    place = camera.project(points)
    offset = points - camera.origin
    distance = np.linalg.norm(offset, axis=1)
    names = list(figures[number].parts)
    hits = cast(scene, names, camera.origin, offset / distance[:, None])
    seen = (hits.shape >= 0) & (hits.distance >= distance - DEPTH)
    inside = (place >= 0).all(1) & (place[:, 0] < camera.width) & (place[:, 1] < camera.height)
    flat: list[float] = []
    for (x, y), visible, within in zip(place, seen, inside, strict=True):
        flat += [round(float(x), 2), round(float(y), 2), 2.0 if visible else 1.0] if within else [0.0, 0.0, 0.0]
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


def describe(scene: Any, spec: PictureSpec, figures: list[Figure], camera: Camera, maps: Maps) -> list[dict[str, Any]]:
    """One row of truth per person of the picture."""
    rows = []
    for number, (person, figure) in enumerate(zip(spec.persons, figures, strict=True), 1):
        identity = person.identity
        mine = maps.person == number
        label = np.where(maps.label == CODE["teeth"], CODE["mouth"], maps.label)
        face_parts = [
            {"label": name, "counts": encode(mine & (label == CODE[name]))}
            for name in FACE_PARTS
            if (mine & (label == CODE[name])).any()
        ]
        pixels = np.bincount(maps.body_part[mine], minlength=len(BODY_PARTS))
        seen = [i for i in range(len(BODY_PARTS)) if pixels[i] > 0]
        box = tight_box(camera.project(figure.face), camera.width, camera.height)
        yaw, pitch, roll = head_angles(figure.head_rotation, camera, figure.eye_middle)
        rows.append(
            {
                "sample": spec.sample,
                "subject": f"{identity.name}",
                "identity": identity.name,
                "role": person.role,
                "face_box": box,
                "person_box": mask_box(mine),
                "keypoints": keypoints(scene, figures, number - 1, camera),
                "landmarks": [round(float(v), 2) for v in camera.project(figure.landmarks).ravel()],
                "mask": encode(mine),
                "face_parts": face_parts,
                "body_parts": [BODY_PARTS[i] for i in seen],
                "body_part_pixels": [int(pixels[i]) for i in seen],
                "skin_tone": f"monk_{identity.skin_tone}",
                "age": identity.years,
                "age_group": identity.age_group,
                "gender": identity.gender,
                "smile": "yes" if person.smile else "no",
                "mask_colour": person.mask,
                "glasses": person.glasses,
                "hair": identity.hair,
                "hair_colour": identity.hair_colour,
                "beard": "beard" if identity.beard else "stubble" if identity.stubble >= 0.25 else "none",
                "yaw": round(yaw, 2),
                "pitch": round(pitch, 2),
                "roll": round(roll, 2),
                "pose": "frontal" if abs(yaw) <= FRONTAL else "turned",
                "face_size": round(box[3] - box[1], 2),
                "visible": visible_share(figure, number, maps, camera),
            }
        )
    return rows
