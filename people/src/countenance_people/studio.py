"""One specification to one picture with its truth."""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from countenance_people import backdrop, finish, photo, place
from countenance_people._backend import load_mitsuba
from countenance_people.camera import Camera, level, orbit
from countenance_people.eyes import eye_centres
from countenance_people.figure import Figure, build
from countenance_people.light import Rig, emitters, rig
from countenance_people.mesh import Array, vertex_normals
from countenance_people.postures import SEATED
from countenance_people.scene import make_mesh, rgb, workspace
from countenance_people.shape import BODY_VERTICES, Body, load_template, move, pose_body
from countenance_people.spec import Person, PictureSpec
from countenance_people.truth import Maps, describe, pixel_maps

WIDE = ("bodies", "groups")
"""Parts whose people stand in a place; all others are portraits before a backdrop."""
PORTRAITS = ("portraits", "scene", "natural", "twins")
OVERSAMPLING = 2
"""Pictures are rendered this many times too large: noise, hair and lashes are finer than a pixel."""
FIXED_LIGHT = {
    "even": 1.41,
    "indoor": 1.01,
    "window": 0.88,
    "sun": 1.50,
    "dusk": 0.39,
    "flash": 0.49,
    "coloured": 0.81,
    "backlight": 0.60,
}
"""Mean light on a face of each kind of set-up: what the fixed exposure assumes."""


@dataclass(frozen=True)
class Quality:
    """Samples per rendered pixel, and the longest path."""

    samples: int = 6
    depth: int = 5


@dataclass
class Picture:
    """A finished picture: 8-bit RGB, what is true of it and of its people, and its maps."""

    image: Array
    sample: dict[str, Any]
    subjects: list[dict[str, Any]]
    maps: Maps | None = None


def _eyes(body: Body) -> Array:
    centres = eye_centres(body)
    return np.asarray((centres["l"][0] + centres["r"][0]) / 2)


def _stand(body: Body, person: Person) -> Body:
    """Put a figure on the floor at its place, turned by its angle."""
    x, y, degrees = person.place
    turn = math.radians(degrees)
    matrix = np.eye(4)
    matrix[:2, :2] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
    middle = matrix[:2, :2] @ body.posed[:BODY_VERTICES, :2].mean(0)
    matrix[:3, 3] = [x - middle[0], y - middle[1], -body.posed[:BODY_VERTICES, 2].min()]
    return move(body, matrix)


def _seat(body: Body) -> Body:
    """Put the middle of the eyes at the origin, so a twin of another age looks out of the same place."""
    matrix = np.eye(4)
    matrix[:3, 3] = -_eyes(body)
    return move(body, matrix)


def arrange(spec: PictureSpec) -> tuple[list[Body], Camera]:
    """Posed bodies where they belong, and the camera."""
    template, shot = load_template(), spec.shot
    bodies = [pose_body(template, person) for person in spec.persons]
    if spec.part not in WIDE:
        bodies = [_seat(body) for body in bodies]
        person, framed = spec.persons[0], bodies[0]
        if person.framing is not None and person.framing != person.identity:
            framed = pose_body(template, replace(person, identity=person.framing))
        # Every twin shares its base's camera to the last digit: the base's head frames it, at rest, without expression.
        head = framed.rest[:BODY_VERTICES][template.canonical[:BODY_VERTICES, 2] > 0.6]
        height = float(np.ptp(head[:, 2]))
        centre, drop = np.array([0.0, 0.0, -0.10 * height]), 0.10 * height * shot.zoom / 1.8
        frame = height * shot.zoom
        return bodies, orbit(centre, shot.distance, shot.azimuth, shot.elevation, frame, spec.width, spec.height, drop)
    bodies = [_stand(body, person) for body, person in zip(bodies, spec.persons, strict=True)]
    if spec.part == "groups":
        extra = spec.extra
        return bodies, level(extra["camera_height"], extra["tilt"], extra["half_angle"], spec.width, spec.height)
    low, high = (np.array([f(body.posed[:BODY_VERTICES], 0) for body in bodies]) for f in (np.min, np.max))
    low, high = low.min(0), high.max(0)
    frame = max(high[2] * shot.zoom + 0.12, (high[0] - low[0] + 0.2) * shot.zoom * spec.height / spec.width)
    centre = np.array([(low[0] + high[0]) / 2, 0, high[2] / 2 + 0.03])
    camera = orbit(centre, shot.distance * frame / 2, shot.azimuth, shot.elevation, frame, spec.width, spec.height)
    return bodies, camera


def _density(camera: Camera, body: Body) -> float:
    """Share of hair strands worth drawing: all for a portrait, fewer the smaller the head."""
    pixels = camera.focal * 0.24 / float(np.linalg.norm(_eyes(body) - camera.origin))
    return float(np.clip(pixels / 110, 0.2, 1.0))


def _lens_scene(figures: list[Figure]) -> Any | None:
    mi, _ = load_mitsuba()
    shapes = {}
    for number, figure in enumerate(figures):
        if figure.lenses is not None:
            name, (vertices, triangles, tint) = f"lens{number}", figure.lenses
            glass = {"type": "diffuse", "reflectance": rgb(tint)}
            shapes[name] = make_mesh(name, vertices, triangles, glass, vertex_normals(vertices, triangles))
    return mi.load_dict({"type": "scene", **shapes}, optimize=False) if shapes else None


def larger(camera: Camera) -> Camera:
    """The camera with `OVERSAMPLING` times as many pixels on a side."""
    return replace(camera, width=camera.width * OVERSAMPLING, height=camera.height * OVERSAMPLING)


def trace(camera: Camera, shapes: dict[str, Any], lenses: Any, quality: Quality, seed: int) -> tuple[Any, Array]:
    """The scene, and its pixels at `OVERSAMPLING` times the camera's size."""
    mi, _ = load_mitsuba()
    from countenance_people.integrator import make_integrator

    scene = mi.load_dict({"type": "scene", "sensor": larger(camera).sensor(quality.samples), **shapes}, optimize=False)
    return scene, np.array(mi.render(scene, integrator=make_integrator(quality.depth, lenses), seed=seed))


def _scenery(spec: PictureSpec, around: Rig, bodies: list[Body], camera: Array) -> dict[str, Any]:
    """Lamps, and for whole figures the place they stand in."""
    if spec.part not in WIDE:
        return emitters(around, np.array([0, 0.02, -0.05]), camera)
    rng = np.random.default_rng([spec.seed, 112])
    group = spec.part == "groups"
    target = np.array([0, 3.2, 1.3]) if group else np.array([0, 0, 1.1])
    wall = (7.2 if group else 2.4) if spec.background == "room" else None
    shapes = emitters(around, target, camera, 2.6 if group else 2.0, wall)
    shapes |= place.ground(rng) if wall is None else place.room(rng, wall)
    for number, (person, body) in enumerate(zip(spec.persons, bodies, strict=True)):
        if person.posture in SEATED:
            hips = body.posed[:BODY_VERTICES][np.abs(load_template().canonical[:BODY_VERTICES, 2] + 0.04) < 0.05]
            colour = np.array([0.22, 0.14, 0.09]) * rng.uniform(0.4, 1.6)
            name = f"room_stool{number}"
            shapes[name] = place.stool(name, hips.mean(0), float(hips[:, 2].min()) - 0.02, person.place[2], colour)
    return shapes


def photograph(spec: PictureSpec, retry: int = 0, quality: Quality = Quality()) -> Picture:
    """Render one picture of people with its truth.

    `retry` changes the sampler's seed only: rarely a ray makes the JIT compiler's code crash.
    """
    template = load_template()
    bodies, camera = arrange(spec)
    around = rig(spec.light, np.random.default_rng([spec.seed, 101]))
    with workspace() as folder:
        figures: list[Figure] = []
        for number, (person, body) in enumerate(zip(spec.persons, bodies, strict=True)):
            density = _density(camera, body)
            figures.append(build(template, person, body, camera.origin, Path(folder), f"p{number}_", density))
        shapes: dict[str, Any] = {name: part.shape for figure in figures for name, part in figure.parts.items()}
        shapes |= _scenery(spec, around, bodies, camera.origin)
        lenses = _lens_scene(figures)
        gc.collect()
        scene, pixels = trace(camera, shapes, lenses, quality, int((spec.seed + 7919 * retry) % 2**31))
        fine = pixel_maps(scene, figures, larger(camera), lenses)
        image, gain = _finish(spec, around, pixels, fine, figures, larger(camera))
        maps = pixel_maps(scene, figures, camera, lenses)
        rows = describe(scene, spec, figures, camera, maps, image)
    # Dr.Jit compiles code for every live instance: stale scenes would slow the next picture.
    del scene, shapes, figures, lenses
    gc.collect()
    return Picture(image, sample_row(spec, camera, gain), rows, maps)


def _finish(
    spec: PictureSpec, around: Rig, pixels: Array, maps: Maps, figures: list[Figure], camera: Camera
) -> tuple[Array, float]:
    layer = finish.layers(pixels)
    scales = {
        number: camera.focal / float(np.linalg.norm(figure.eye_middle - camera.origin))
        for number, figure in enumerate(figures, 1)
    }
    radiance = finish.under_skin(layer, maps.label, maps.person, scales)
    light, albedo = finish.incident(layer, maps.label, maps.person)
    level_of_light = FIXED_LIGHT[spec.light]
    image = radiance
    if spec.part not in WIDE or spec.background != "room":
        kind, horizon = ("outdoor", camera.horizon() / camera.height) if spec.part in WIDE else (spec.background, None)
        behind = backdrop.picture(kind, spec.seed, camera.width, camera.height, horizon)
        behind = behind * around.background * around.background_tint * level_of_light
        if spec.light != "backlight" and spec.exposure != "scene":
            behind = finish.held(behind, finish.gain(spec.exposure, light, albedo, radiance, 1 / level_of_light))
        image = radiance + (1 - layer.alpha)[..., None] * behind
    gain = finish.gain(spec.exposure, light, albedo, image, 1 / level_of_light)
    if spec.exposure == "face":
        gain = min(gain, finish.spared(radiance, maps.label, maps.person))
    image = image * gain * finish.balance(light, 0.25 if spec.light == "coloured" else 0.6)
    return photo.develop(image, spec.shot, OVERSAMPLING, spec.seed), gain * level_of_light


def _attack(spec: PictureSpec) -> str | None:
    """How a person is shown who is not there; `none` for a live picture, and nothing for one without people."""
    if spec.part == "attacks":
        return spec.kind
    return "none" if spec.persons and spec.part != "lookalikes" else None


def sample_row(spec: PictureSpec, camera: Camera | None = None, gain: float = 1.0) -> dict[str, Any]:
    """What is true of the whole picture."""
    shot = spec.shot
    return {
        "sample": spec.sample,
        "part": spec.part,
        "width": spec.width,
        "height": spec.height,
        "split": spec.split,
        "base": spec.base,
        "change": spec.change,
        "kind": spec.kind if spec.part in ("objects", "lookalikes") else None,
        "camera": (spec.kind or "clear") if spec.part in PORTRAITS else None,
        "attack": _attack(spec),
        "background": spec.background,
        "light": spec.light,
        "exposure": spec.exposure,
        "stops": round(math.log2(max(gain, 1e-6)), 3),
        "focal_length": round(36 * camera.focal / max(camera.width, camera.height), 1) if camera else None,
        "defocus": shot.defocus,
        "motion": shot.motion,
        "noise": round(shot.noise, 4),
        "reduce": shot.reduce,
        "jpeg": shot.jpeg,
        "seed": spec.seed,
    }
