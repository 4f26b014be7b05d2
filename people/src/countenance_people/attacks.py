"""Presentation attacks: a portrait shown on paper, on a phone, on a tablet with glare, or as a cut-out; and posters.

The portrait is photographed first; the truth is carried through the surface that shows it, pixel by pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter, zoom

from countenance_people import finish, photo
from countenance_people.backdrop import picture as backdrop_picture
from countenance_people.camera import Camera
from countenance_people.labels import CODE, FACE_PARTS
from countenance_people.light import Lamp, emitters, rig
from countenance_people.mesh import Array, clip, srgb_to_linear, triangulate, vertex_normals
from countenance_people.scene import bitmap, cast, make_mesh, principled, rgb
from countenance_people.shape import BODY_PARTS
from countenance_people.spec import PictureSpec
from countenance_people.studio import FIXED_LIGHT, OVERSAMPLING, Picture, Quality, larger, photograph, sample_row, trace
from countenance_people.truth import encode, luminance, mask_box

KINDS = ("print", "phone", "tablet", "cutout")
SIZE = {"print": 0.24, "phone": 0.075, "tablet": 0.17, "cutout": 0.26, "poster": 0.5}
"""Side of the shown picture in metres."""
GRID = 97


@dataclass
class Sheet:
    """What shows a picture: vertices, triangles, and the place of each vertex in the picture (across, down)."""

    vertices: Array
    triangles: Array
    place: Array


def attack(spec: PictureSpec, retry: int = 0, quality: Quality = Quality()) -> Picture:
    """A picture of a portrait that is shown to the camera, with the truth of what is shown."""
    live = photograph(replace(spec, part="portraits", light="even", background="plain"), retry, quality)
    rng = np.random.default_rng([spec.seed, 151])
    side = SIZE[spec.kind]
    surface = _surface(spec.kind, side, rng)
    shown = live.maps.person > 0 if spec.kind == "cutout" and live.maps is not None else None
    sheet = _sheet(surface, shown)
    shapes = _shapes(spec.kind, surface, sheet, live.image, side)
    camera = _camera(spec, surface, side, rng)
    around = rig(spec.light, np.random.default_rng([spec.seed, 101]))
    if spec.kind == "tablet":  # a lamp that the glass mirrors
        glare = Lamp(float(rng.uniform(-12, 12)), float(rng.uniform(8, 22)), 0.10, np.full(3, 40.0), 1.6)
        around = replace(around, lamps=(*around.lamps, glare))
    shapes |= emitters(around, np.zeros(3), camera.origin)
    scene, pixels = trace(camera, shapes, None, quality, int((spec.seed + 7919 * retry) % 2**31))
    layer, fine = finish.layers(pixels), larger(camera)
    behind = backdrop_picture(spec.background, spec.seed, fine.width, fine.height)
    behind = behind * around.background * around.background_tint * FIXED_LIGHT[spec.light]
    image = layer.radiance + (1 - layer.alpha)[..., None] * behind
    gain = finish.gain("scene", np.ones(3), 0.3, image, 1.0)
    picture = photo.develop(image * gain, spec.shot, OVERSAMPLING, spec.seed)
    rows = [] if spec.part == "lookalikes" else [_carry(live, scene, camera, surface, sheet, picture, spec)]
    return Picture(picture, sample_row(spec, camera, gain), rows)


def _surface(kind: str, side: float, rng: np.random.Generator) -> Array:
    """Points of the showing surface (rows from the top, columns from the left), facing -y; paper bends."""
    down, across = np.mgrid[0:GRID, 0:GRID] / (GRID - 1)
    x, z = (across - 0.5) * side, (0.5 - down) * side
    y = np.zeros_like(x)
    if kind in ("print", "cutout"):
        bend, slant = rng.uniform(0.4, 1.1), rng.uniform(-0.4, 0.4)
        y = bend * side * (across - 0.5) ** 2 * 0.5 + slant * side * (across - 0.5) * (down - 0.5) * 0.5
        y = y + 0.006 * np.sin(across * 9 + rng.uniform(0, 6)) * side
    points = np.stack([x, y, z], -1)
    turn, lean = np.radians(rng.uniform(-16, 16)), np.radians(rng.uniform(-10, 10))
    about_z = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, np.cos(lean), -np.sin(lean)], [0, np.sin(lean), np.cos(lean)]])
    return np.asarray(points @ (about_z @ about_x).T)


def _sheet(surface: Array, shown: Array | None) -> Sheet:
    """The surface as a mesh, cut out along the outline of what is shown."""
    first = np.arange(GRID - 1)[:, None] * GRID + np.arange(GRID - 1)[None]
    triangles = triangulate(np.stack([first, first + GRID, first + GRID + 1, first + 1], -1).reshape(-1, 4))
    down, across = np.mgrid[0:GRID, 0:GRID] / (GRID - 1)
    vertices, place = surface.reshape(-1, 3), np.stack([across.ravel(), down.ravel()], 1)
    if shown is not None:
        soft = gaussian_filter(shown.astype(float), 1.5)
        field = zoom(soft, (GRID / soft.shape[0], GRID / soft.shape[1]), order=1, grid_mode=True, mode="nearest") - 0.5
        triangles, [vertices, place] = clip(triangles, field.ravel(), [vertices, place])
    return Sheet(vertices, triangles, place)


def _shapes(kind: str, surface: Array, sheet: Sheet, image: Array, side: float) -> dict[str, Any]:
    """What shows the picture."""
    vertices, triangles = sheet.vertices, sheet.triangles
    texture = bitmap(srgb_to_linear(image / 255))
    normals = vertex_normals(vertices, triangles)
    screen = kind in ("phone", "tablet")
    paper = principled(texture, 0.08 if screen else 0.45, 0.5 if screen else 0.25, clearcoat=1.0 if screen else 0.0)
    mesh = make_mesh("shown", vertices, triangles, {"type": "twosided", "bsdf": paper}, normals, uv=sheet.place)
    shapes: dict[str, Any] = {"shown": mesh}
    if screen or kind == "poster":
        shapes["case"] = _case(surface, side, kind)
    return shapes


def _case(surface: Array, side: float, kind: str) -> Any:
    """A flat case or frame behind and around the picture."""
    top_left, top_right, bottom_left = surface[0, 0], surface[0, -1], surface[-1, 0]
    middle = (top_right + bottom_left) / 2
    across, up = (top_right - top_left) / side, (top_left - bottom_left) / side
    back = np.cross(across, up)
    wide, tall = {"phone": (0.54, 0.98), "tablet": (0.56, 0.72), "poster": (0.54, 0.54)}[kind]
    corners = [
        middle + back * -0.003 + side * (sx * wide * across + sz * tall * up)
        for sx, sz in ((-1, 1), (1, 1), (1, -1), (-1, -1))
    ]
    vertices, triangles = np.array(corners), np.array([[0, 1, 2], [0, 2, 3]])
    colour = rgb((0.012, 0.012, 0.014))
    material = {"type": "twosided", "bsdf": principled(colour, 0.15, 0.5)}
    return make_mesh("case", vertices, triangles, material, np.tile(-back, (4, 1)))


def _camera(spec: PictureSpec, surface: Array, side: float, rng: np.random.Generator) -> Camera:
    """A camera whose frame the shown picture fills to a share."""
    share = rng.uniform(0.55, 0.85) if spec.kind != "phone" else rng.uniform(0.42, 0.55)
    if spec.kind == "poster":
        share = rng.uniform(0.4, 0.7)
    distance = side * rng.uniform(2.6, 4.5)
    fov = 2 * np.degrees(np.arctan(side / share / 2 / distance))
    offset = np.array([rng.uniform(-0.06, 0.06), 0, rng.uniform(-0.06, 0.06)]) * side
    return Camera(
        np.array([0, -distance, 0.0]), surface.reshape(-1, 3).mean(0) + offset, float(fov), spec.width, spec.height
    )


def _carry(
    live: Picture, scene: Any, camera: Camera, surface: Array, sheet: Sheet, picture: Array, spec: PictureSpec
) -> dict[str, Any]:
    """The shown person's row with every place carried to the new picture."""
    hits = cast(scene, ["shown"], camera.origin, camera.directions())
    on = np.where(hits.shape == 0)[0]
    points = camera.origin + camera.directions()[on] * hits.distance[on][:, None]
    corner = sheet.triangles[hits.primitive[on]]
    weights = _barycentric(points, sheet.vertices[corner])
    uv = (sheet.place[corner] * weights[..., None]).sum(1)
    height, width = live.image.shape[:2]
    column, row = (np.clip((uv[:, k] * size).astype(int), 0, size - 1) for k, size in ((0, width), (1, height)))
    assert live.maps is not None
    label, person, body_part = (np.zeros(camera.width * camera.height, np.uint8) for _ in range(3))
    label[on], person[on] = live.maps.label[row, column], live.maps.person[row, column]
    body_part[on] = live.maps.body_part[row, column]
    shape = (camera.height, camera.width)
    mine = person.reshape(shape) > 0
    pixels = np.bincount(body_part[person > 0], minlength=len(BODY_PARTS))
    shown = np.where(label == CODE["teeth"], CODE["mouth"], label).reshape(shape)

    def carried(flat_points: list[float], step: int) -> list[float]:
        rows = np.array(flat_points, float).reshape(-1, step)
        at = camera.project(_at(surface, rows[:, 0] / width, rows[:, 1] / height))
        gone = (at < 0).any(1) | (at[:, 0] >= camera.width) | (at[:, 1] >= camera.height)
        if step == 3:
            gone |= rows[:, 2] == 0
            at = np.c_[at, rows[:, 2]]
            at[gone] = 0
        return [round(float(v), 2) for v in at.ravel()]

    (old,) = live.subjects
    x0, y0, x1, y1 = old["face_box"]
    corners = np.array(carried([x0, y0, x1, y0, x1, y1, x0, y1], 2)).reshape(-1, 2)
    low, high = corners.min(0), corners.max(0)
    limit = np.array([camera.width, camera.height])
    box = [round(float(v), 2) for v in (*np.clip(low, 0, limit), *np.clip(high, 0, limit))]
    eyes = np.array(old["landmarks"]).reshape(-1, 2)[:2].mean(0) / [width, height]
    (shown_eyes,) = _at(surface, eyes[:1], eyes[1:])
    return {
        **old,
        "sample": spec.sample,
        "face_box": box,
        "person_box": mask_box(mine),
        "keypoints": carried(old["keypoints"], 3),
        "keypoints_33": carried(old["keypoints_33"], 3),
        "landmarks": carried(old["landmarks"], 2),
        "mask": encode(mine),
        "face_parts": [
            {"label": name, "counts": encode(mine & (shown == CODE[name]))}
            for name in FACE_PARTS
            if (mine & (shown == CODE[name])).any()
        ],
        "body_parts": [name for name, count in zip(BODY_PARTS, pixels, strict=True) if count],
        "body_part_pixels": [int(count) for count in pixels if count],
        "distance": round(float(np.linalg.norm(shown_eyes - camera.origin)), 3),
        "face_size": round(box[3] - box[1], 2),
        "face_luminance": luminance(picture, mine & np.isin(shown, finish.FACE)),
    }


def _barycentric(points: Array, corners: Array) -> Array:
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    v0, v1, v2 = b - a, c - a, points - a
    d00, d01, d11 = (v0 * v0).sum(1), (v0 * v1).sum(1), (v1 * v1).sum(1)
    d20, d21 = (v2 * v0).sum(1), (v2 * v1).sum(1)
    total = d00 * d11 - d01 * d01
    v, w = (d11 * d20 - d01 * d21) / total, (d00 * d21 - d01 * d20) / total
    return np.stack([1 - v - w, v, w], 1)


def _at(surface: Array, across: Array, down: Array) -> Array:
    """Points of a surface at shares of its width and height."""
    from scipy.ndimage import map_coordinates

    where = [np.clip(down, 0, 1) * (GRID - 1), np.clip(across, 0, 1) * (GRID - 1)]
    return np.stack([map_coordinates(surface[..., axis], where, order=1) for axis in range(3)], -1)
