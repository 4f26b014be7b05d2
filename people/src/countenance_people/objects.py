"""Pictures without people: still lifes, toy animals, blocks, patterns, landscapes, textures.

Nothing here resembles a face: toy animals are seen from the side and have no eyes or mouths.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from countenance_people import backdrop, finish, photo
from countenance_people._backend import load_mitsuba
from countenance_people.camera import Camera, orbit
from countenance_people.light import emitters, rig
from countenance_people.mesh import Array, normalise, triangulate
from countenance_people.scene import bitmap, make_mesh, principled, rgb
from countenance_people.spec import PictureSpec
from countenance_people.studio import FIXED_LIGHT, OVERSAMPLING, Picture, Quality, larger, sample_row, trace

Shapes = dict[str, Any]


def _paint(rng: np.random.Generator, low: float = 0.05, high: float = 0.6) -> Array:
    hue = rng.uniform(0, 1, 3)
    return np.asarray(low + (high - low) * hue)


def _material(rng: np.random.Generator, colour: Array | None = None) -> dict[str, Any]:
    paint = _paint(rng) if colour is None else colour
    return {"type": "twosided", "bsdf": principled(rgb(paint), float(rng.uniform(0.15, 0.8)), 0.5)}


def _ball(centre: Any, size: Any, bsdf: dict[str, Any], tilt: float = 0.0) -> Any:
    """An ellipsoid as a mesh (Mitsuba's own sphere stays round); `tilt` turns it about y, in degrees."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, 33), np.linspace(0, 2 * np.pi, 49), indexing="ij")
    unit = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1)
    half = np.broadcast_to(np.asarray(size, float), 3)
    cos, sin = math.cos(math.radians(tilt)), math.sin(math.radians(tilt))
    turn = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    points = (unit.reshape(-1, 3) * half) @ turn.T + np.asarray(centre, float)
    normals = normalise((unit.reshape(-1, 3) / half) @ turn.T)
    first = np.arange(32)[:, None] * 49 + np.arange(48)[None]
    quads = np.stack([first, first + 49, first + 50, first + 1], -1).reshape(-1, 4)
    return make_mesh("ball", points, triangulate(quads), bsdf, normals)


def _rod(start: Any, end: Any, radius: float, bsdf: dict[str, Any]) -> dict[str, Any]:
    ends = {"p0": [float(v) for v in start], "p1": [float(v) for v in end]}
    return {"type": "cylinder", **ends, "radius": float(radius), "bsdf": bsdf}


def _box(mi: Any, centre: Any, size: Any, bsdf: dict[str, Any], turn: float) -> dict[str, Any]:
    place = mi.ScalarTransform4f().translate([float(v) for v in centre]).rotate([0, 0, 1], turn)
    return {"type": "cube", "to_world": place.scale([float(v) for v in size]), "bsdf": bsdf}


def still_life(rng: np.random.Generator) -> Shapes:
    """Balls, boxes, bottles and bowls on a table."""
    mi, _ = load_mitsuba()
    shapes: Shapes = {}
    spots = rng.permutation([(x, y) for x in (-0.28, 0.0, 0.28) for y in (-0.18, 0.16)])
    for number, (x, y) in enumerate(spots[: int(rng.integers(2, 6))]):
        kind = int(rng.integers(4))
        size = float(rng.uniform(0.06, 0.11))
        bsdf = _material(rng)
        name = f"thing{number}"
        if kind == 0:
            shapes[name] = _ball((x, y, size), size, bsdf)
        elif kind == 1:
            shapes[name] = _box(mi, (x, y, size), (size, size * rng.uniform(0.5, 1), size), bsdf, rng.uniform(0, 90))
        elif kind == 2:
            height = size * rng.uniform(2, 3)
            shapes[name] = _rod((x, y, 0), (x, y, height), size * 0.55, bsdf)
            shapes[name + "neck"] = _rod((x, y, height), (x, y, height * 1.35), size * 0.2, bsdf)
            shapes[name + "shoulder"] = _ball((x, y, height), (size * 0.55, size * 0.55, size * 0.35), bsdf)
        else:
            shapes[name] = _ball((x, y, size * 0.5), (size * 1.3, size * 1.3, size * 0.5), bsdf)
    return shapes


def toy_animal(rng: np.random.Generator) -> Shapes:
    """A four-legged animal from ellipsoids and rods, side on; it has no eyes."""
    bsdf = _material(rng, np.array([1.0, 0.8, 0.6]) * rng.uniform(0.05, 0.5))
    long, tall, leg = rng.uniform(0.15, 0.22), rng.uniform(0.06, 0.10), rng.uniform(0.06, 0.16)
    neck, way = rng.uniform(0.02, 0.14), float(rng.choice([-1, 1]))
    middle = leg + tall * 0.8
    head = np.array([way * (long + 0.05 + neck * 0.3), 0, middle + tall * 0.5 + neck])
    shapes: Shapes = {
        "trunk": _ball((0, 0, middle), (long, tall * 0.8, tall), bsdf),
        "head": _ball(head, (0.085, 0.05, 0.055), bsdf, way * 15),
        "throat": _rod((way * long * 0.75, 0, middle + tall * 0.3), head, 0.04, bsdf),
        "tail": _rod(
            (-way * long * 0.95, 0, middle),
            (-way * (long + 0.12), 0, middle + rng.uniform(-0.1, 0.15)),
            0.012,
            bsdf,
        ),
    }
    for number, (x, y) in enumerate((a, b) for a in (-0.65, 0.65) for b in (-0.5, 0.5)):
        foot = np.array([x * long, y * tall, 0])
        shapes[f"leg{number}"] = _rod(foot, foot + np.array([0, 0, middle]), 0.022, bsdf)
    for side in (-1, 1):
        shapes[f"ear{side}"] = _ball(head + np.array([-way * 0.04, side * 0.035, 0.06]), (0.012, 0.015, 0.035), bsdf)
    return shapes


def blocks(rng: np.random.Generator) -> Shapes:
    """A pile of toy blocks."""
    mi, _ = load_mitsuba()
    shapes: Shapes = {}
    for number in range(int(rng.integers(4, 10))):
        size = rng.uniform(0.04, 0.10, 3)
        x, y = rng.uniform(-0.32, 0.32), rng.uniform(-0.2, 0.25)
        floor = float(rng.choice([0, 0, 0.12]))
        shapes[f"block{number}"] = _box(mi, (x, y, floor + size[2]), size, _material(rng), rng.uniform(0, 90))
    return shapes


def pattern(rng: np.random.Generator, size: int) -> Array:
    """Stripes, checks, rings, tiles or waves."""
    y, x = np.mgrid[0:size, 0:size] / size
    turn, frequency = rng.uniform(0, math.pi), rng.uniform(3, 14)
    u, v = x * math.cos(turn) + y * math.sin(turn), -x * math.sin(turn) + y * math.cos(turn)
    kind = int(rng.integers(5))
    wave = {
        0: np.sin(2 * np.pi * frequency * u),
        1: np.sin(2 * np.pi * frequency * u) * np.sin(2 * np.pi * frequency * v),
        2: np.sin(2 * np.pi * frequency * np.hypot(x - 0.2, y - 1.1)),
        3: np.maximum(np.cos(2 * np.pi * frequency * u), np.cos(2 * np.pi * frequency * v)),
        4: np.sin(2 * np.pi * frequency * (u + 0.08 * np.sin(2 * np.pi * 2 * v))),
    }[kind]
    share = np.clip(0.5 + wave * rng.uniform(0.5, 5), 0, 1)[..., None]
    return np.asarray(_paint(rng, 0.02, 0.9) * share + _paint(rng, 0.02, 0.7) * (1 - share))


def texture(rng: np.random.Generator, size: int) -> Array:
    """Cloudy, woody or grainy matter."""
    stretch = rng.choice([1.0, 6.0])
    field = np.zeros((size, size))
    for octave in range(5):
        sigma = size * 0.12 / 2**octave
        layer = gaussian_filter(rng.normal(size=(size, size)), (sigma, sigma * stretch), mode="wrap")
        field += layer / layer.std() / 1.6**octave
    share = np.clip(0.5 + 0.22 * field, 0, 1)[..., None]
    return np.asarray(_paint(rng, 0.02, 0.5) * share + _paint(rng, 0.1, 0.8) * (1 - share))


def landscape(rng: np.random.Generator, size: int) -> Array:
    """Hills in the haze under a sky, or dunes, or a sea."""
    y, x = np.mgrid[0:size, 0:size] / size
    sky = np.array([0.30, 0.50, 0.85]) * rng.uniform(0.6, 1.1)
    low = np.array([0.85, 0.80, 0.75]) * rng.uniform(0.6, 1.0)
    image = sky * (1 - y[..., None]) + low * y[..., None]
    cloud = gaussian_filter(rng.normal(size=(size, size)), (size * 0.02, size * 0.07), mode="wrap")
    image = image + 0.25 * np.clip(cloud / cloud.std() - 0.6, 0, 1)[..., None]
    near = np.array([0.05, 0.10, 0.03]) + rng.uniform(0, 0.12, 3)
    count = int(rng.integers(3, 6))
    for layer in range(count):
        share = (layer + 1) / count
        ridge = sum(
            rng.normal(0, 0.05 / k) * np.sin(2 * np.pi * k * x[0] * rng.uniform(0.6, 1.4) + rng.uniform(0, 6))
            for k in (1, 2, 4, 8, 16)
        )
        top = 0.42 + 0.42 * share * rng.uniform(0.8, 1.0) + ridge
        grain = 1 + 0.15 * gaussian_filter(rng.normal(size=(size, size)), 1.5) * 3
        colour = (near * share + low * 0.6 * (1 - share)) * grain[..., None]
        image = np.where((y > top[None])[..., None], colour, image)
    return np.asarray(np.clip(image, 0.002, 1))


def photograph(spec: PictureSpec, retry: int = 0, quality: Quality = Quality()) -> Picture:
    """One picture without people."""
    rng = np.random.default_rng([spec.seed, 141])
    painted = {"pattern": pattern, "texture": texture, "landscape": landscape}
    if spec.kind in painted:
        image = painted[spec.kind](rng, spec.width * OVERSAMPLING)
        return Picture(photo.develop(image, spec.shot, OVERSAMPLING, spec.seed), sample_row(spec), [])
    mi, _ = load_mitsuba()
    makers = {"still_life": still_life, "toy_animal": toy_animal, "blocks": blocks}
    shapes = makers[spec.kind](rng)
    board = np.ones((32, 32, 3)) * _paint(rng, 0.15, 0.5) * (1 + 0.05 * rng.normal(size=(32, 32, 1)))
    table = {"type": "diffuse", "reflectance": bitmap(np.clip(board, 0, 1), 8.0)}
    shapes["table"] = {"type": "rectangle", "to_world": mi.ScalarTransform4f().scale(6), "bsdf": table}
    shot = spec.shot
    camera = orbit(np.array([0, 0, 0.13]), shot.distance, shot.azimuth, shot.elevation, 0.9, spec.width, spec.height)
    return still(spec, shapes, camera, np.array([0, 0, 0.12]), retry, quality)


def still(
    spec: PictureSpec, shapes: Shapes, camera: Camera, target: Array, retry: int = 0, quality: Quality = Quality()
) -> Picture:
    """A picture of shapes before the backdrop of a specification, exposed for the whole scene."""
    around = rig(spec.light, np.random.default_rng([spec.seed, 101]))
    shapes = {**shapes, **emitters(around, target, camera.origin, 1.2)}
    _, pixels = trace(camera, shapes, None, quality, int((spec.seed + 7919 * retry) % 2**31))
    layer = finish.layers(pixels)
    fine = larger(camera)
    behind = backdrop.picture(spec.background, spec.seed, fine.width, fine.height)
    behind = behind * around.background * around.background_tint * FIXED_LIGHT[spec.light]
    image = layer.radiance + (1 - layer.alpha)[..., None] * behind
    gain = 0.22 / max(float((image @ finish.LUMINANCE).mean()), 1e-4)
    picture = photo.develop(image * gain, spec.shot, OVERSAMPLING, spec.seed)
    return Picture(picture, sample_row(spec, camera, gain), [])
