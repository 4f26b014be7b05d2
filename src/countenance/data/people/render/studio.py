"""One specification to one picture with its truth."""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.people.render import background, finish, objects
from countenance.data.people.render._backend import load_mitsuba
from countenance.data.people.render.camera import Camera, level, orbit
from countenance.data.people.render.eyes import eye_centres
from countenance.data.people.render.figure import Figure, build
from countenance.data.people.render.light import lights
from countenance.data.people.render.mesh import Array
from countenance.data.people.render.sampling import Person, PictureSpec
from countenance.data.people.render.scene import workspace
from countenance.data.people.render.shape import BODY_VERTICES, Body, load_template, move, pose_body
from countenance.data.people.render.truth import Maps, describe, pixel_maps


def _eyes(body: Body) -> Array:
    centres = eye_centres(body)
    return np.asarray((centres["l"][0] + centres["r"][0]) / 2)


def _stand(body: Body, person: Person) -> Body:
    """Put a figure on the floor at its place, turned by its angle."""
    x, y, degrees = person.place
    turn = math.radians(degrees)
    matrix = np.eye(4)
    matrix[:2, :2] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
    matrix[:3, 3] = [x, y, -body.posed[:BODY_VERTICES, 2].min()]
    return move(body, matrix)


def _seat(body: Body) -> Body:
    """Put the middle of the eyes at the origin, so a twin of another age looks out of the same place."""
    matrix = np.eye(4)
    matrix[:3, 3] = -_eyes(body)
    return move(body, matrix)


def _arrange(spec: PictureSpec) -> tuple[list[Body], Camera]:
    template = load_template()
    bodies = [pose_body(template, person) for person in spec.persons]
    if spec.part in ("portraits", "twins"):
        bodies = [_seat(body) for body in bodies]
        person = spec.persons[0]
        framed = bodies[0]
        if person.frame_years is not None and person.frame_years != person.identity.years:
            framed = _seat(pose_body(template, person, person.frame_years))
        # The resting head has no expression, so a smiling twin shares its base's camera to the last digit.
        head = framed.rest[:BODY_VERTICES][template.canonical[:BODY_VERTICES, 2] > 0.6]
        height = float(np.ptp(head[:, 2]))
        centre = np.array([0.0, 0.0, -0.10 * height])
        drop = 0.10 * height * spec.zoom / 1.8
        frame = height * spec.zoom
        return bodies, orbit(centre, spec.distance, spec.azimuth, spec.elevation, frame, spec.width, spec.height, drop)
    bodies = [_stand(body, person) for body, person in zip(bodies, spec.persons, strict=True)]
    if spec.part == "groups":
        extra = spec.extra
        camera = level(extra["camera_height"], extra["tilt"], extra["half_angle"], spec.width, spec.height)
        return bodies, camera
    tallest = max(float(body.posed[:BODY_VERTICES, 2].max()) for body in bodies)
    frame = tallest * spec.zoom + 0.12
    if len(bodies) > 1:
        frame = max(frame, 1.9 * spec.height / spec.width)
    centre = np.array([0, 0, tallest / 2 + 0.03])
    camera = orbit(centre, spec.distance * frame / 2.0, spec.azimuth, spec.elevation, frame, spec.width, spec.height)
    return bodies, camera


def _density(camera: Camera, body: Body) -> float:
    """Share of hair strands worth drawing: all for a portrait, fewer the smaller the head."""
    pixels = camera.focal * 0.24 / float(np.linalg.norm(_eyes(body) - camera.origin))
    return float(np.clip(pixels / 110, 0.25, 1.0))


def _trace(spec: PictureSpec, camera: Camera, shapes: dict[str, Any], retry: int, depth: int) -> tuple[Any, Array]:
    mi, _ = load_mitsuba()
    integrator = {"type": "path", "max_depth": depth, "rr_depth": 9, "hide_emitters": True}
    scene = mi.load_dict(
        {"type": "scene", "integrator": integrator, "sensor": camera.sensor(spec.spp), **shapes},
        optimize=False,
    )
    pixels = np.array(mi.render(scene, seed=int((spec.seed + 7919 * retry) % 2**31)))
    return scene, pixels


def photograph(spec: PictureSpec, retry: int = 0) -> tuple[Array, list[dict[str, Any]], Maps | None]:
    """Render one picture: 8-bit RGB, truth rows, and the pixel maps (None without persons).

    `retry` changes the sampler's seed only: rarely a ray makes the JIT compiler's code crash.
    """
    if not spec.persons:
        return objects.photograph(spec, retry), [], None
    template = load_template()
    bodies, camera = _arrange(spec)
    close = spec.part in ("portraits", "twins")
    with workspace() as folder:
        figures: list[Figure] = []
        for number, (person, body) in enumerate(zip(spec.persons, bodies, strict=True)):
            density = _density(camera, body)
            figures.append(build(template, person, body, camera.origin, Path(folder), f"p{number}_", density))
        shapes: dict[str, Any] = {name: part.shape for figure in figures for name, part in figure.parts.items()}
        backdrop: Array | None = None
        if close:
            shapes |= lights(spec.light, spec.seed, np.array([0, 0.02, -0.05]))
            backdrop = background.picture(spec.background, spec.seed, spec.width, spec.height)
        else:
            indoors = spec.background == "room"
            group = spec.part == "groups"
            middle = np.array([0, 3.2, 1.3]) if group else np.array([0, 0, 1.2])
            shapes |= lights(spec.light, spec.seed, middle, 2.6 if group else 2.0, indoors)
            shapes |= background.surroundings(spec.background, spec.seed, 7.2 if group else 2.3)
            if not indoors:
                backdrop = background.picture("outdoor", spec.seed, spec.width, spec.height, camera.horizon())
        gc.collect()
        scene, pixels = _trace(spec, camera, shapes, retry, 3 if close else 4)
        maps = pixel_maps(scene, figures, camera)
        rows = describe(scene, spec, figures, camera, maps)
    scales = {
        number: camera.focal / float(np.linalg.norm(figure.eye_middle - camera.origin))
        for number, figure in enumerate(figures, 1)
    }
    radiance = pixels[..., :3] if close else finish.calm(pixels[..., :3], maps.label)
    radiance = finish.bleed_light(radiance, maps.label, maps.person, maps.albedo, scales)
    image = finish.develop(radiance, pixels[..., 3], maps.label, backdrop, spec.seed)
    # Dr.Jit compiles code for every live instance: stale scenes would slow the next picture.
    del scene, shapes, figures
    gc.collect()
    return image, rows, maps
