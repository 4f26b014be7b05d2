"""Things that look like faces: statues and dolls from the body model, animals with fur, posters on a wall."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from countenance_people import palette
from countenance_people.attacks import attack
from countenance_people.camera import orbit
from countenance_people.eyes import eye_centres, eyeball
from countenance_people.hair import head_hair
from countenance_people.mesh import Array, noise, normalise, transform, triangulate, vertex_normals
from countenance_people.objects import still
from countenance_people.scene import hair_fibre, make_curves, make_mesh, principled, rgb, workspace
from countenance_people.shape import load_template
from countenance_people.spec import PictureSpec
from countenance_people.studio import Picture, Quality, arrange

STONES = ((0.72, 0.70, 0.66), (0.16, 0.09, 0.045), (0.30, 0.29, 0.27), (0.12, 0.16, 0.13), (0.55, 0.42, 0.30))
Shapes = dict[str, Any]


def lookalike(spec: PictureSpec, retry: int = 0, quality: Quality = Quality()) -> Picture:
    """A picture of something that looks like a face; it has no subjects."""
    if spec.kind == "poster":
        return attack(spec, retry, quality)
    with workspace() as folder:
        if spec.kind == "animal":
            return _animal(spec, Path(folder), retry, quality)
        return _bust(spec, Path(folder), retry, quality)


def _bust(spec: PictureSpec, folder: Path, retry: int, quality: Quality) -> Picture:
    """A statue of one material, or a doll with large eyes and flat colours."""
    template, doll = load_template(), spec.kind == "doll"
    if doll:
        spec = _as_doll(spec)
    (body,), camera = arrange(spec)
    rng = np.random.default_rng([spec.seed, 161])
    head, trunk = template.head, template.body
    face, torso = head.operator @ body.posed, trunk.operator @ body.posed
    centre = trunk.canonical[trunk.triangles].mean(1)
    low = trunk.triangles[
        ((centre[:, 2] < 0.535) | (np.abs(centre[:, 0]) > 0.155))
        & (centre[:, 2] > 0.30)
        & (np.abs(centre[:, 0]) < 0.20)
    ]
    stone = np.array(STONES[int(rng.integers(len(STONES)))])
    base = np.array([0.62, 0.40, 0.30]) * rng.uniform(0.25, 1.1) if doll else stone
    shade = 1 + (0.02 if doll else 0.10) * (
        noise(head.canonical, 30, spec.seed) + noise(head.canonical, 120, spec.seed + 1)
    )
    colour = base * shade[:, None]
    if doll:
        lips, cheek = head.fields["lips"][:, None], head.fields["cheek"][:, None]
        colour = colour * (1 - 0.35 * cheek * np.array([0, 0.7, 0.6])) * (1 - lips) + np.array([0.5, 0.05, 0.08]) * lips
    shapes: Shapes = {
        "face": _painted("face", face, head.triangles, colour, 0.25 if doll else rng.uniform(0.3, 0.7)),
        "torso": _painted(
            "torso", torso, low, base if not doll else np.array(palette.CLOTH[int(rng.integers(10))]), 0.6
        ),
    }
    for side, (middle, radius) in eye_centres(body).items():
        gaze = body.head_motion[:3, :3] @ np.array([0, -1.0, 0])
        points, triangles, _, iris = eyeball(middle, radius * 0.985, gaze, (0.02, 0.05, 0.12), spec.seed)
        shapes[f"eye_{side}"] = _painted(
            f"eye_{side}", points, triangles, iris * 1.4 if doll else base, 0.15 if doll else 0.5
        )
    if doll:
        identity = spec.persons[0].identity
        if identity.hair_style != "bald":
            bundles, radius = head_hair(template, identity, body.rest, 0.25)
            strands = transform(body.head_motion, bundles[0])
            yarn = principled(rgb(palette.HAIR_RGB[identity.hair_colour]), 0.6)
            shapes["yarn"] = make_curves(folder, "yarn", strands, radius * 4, yarn, 1.0)
    return still(replace(spec, persons=()), shapes, camera, np.array([0, 0.02, -0.05]), retry, quality)


def _as_doll(spec: PictureSpec) -> PictureSpec:
    (person,) = spec.persons
    shape = dict(person.identity.face_shape)
    for side in ("l-", "r-"):
        shape[f"{side}eye-scale-incr"] = 1.0
        shape[f"{side}cheek-volume-incr"] = 0.6
    shape |= {"nose-scale-vert-incr": -0.8, "nose-scale-horiz-incr": -0.6, "mouth-scale-horiz-incr": -0.7}
    identity = replace(person.identity, face_shape=shape, years=6.0)
    return replace(spec, persons=(replace(person, identity=identity),))


def _painted(name: str, vertices: Array, triangles: Array, colour: Array, rough: float) -> Any:
    paint = np.broadcast_to(np.clip(colour, 0.003, 0.95), vertices.shape)
    material = principled({"type": "mesh_attribute", "name": "vertex_color"}, float(rough), 0.5)
    normals = vertex_normals(vertices, triangles)
    return make_mesh(
        name, vertices, triangles, {"type": "twosided", "bsdf": material}, normals, {"vertex_color": paint}
    )


def _ball(centre: Array, half: Array) -> tuple[Array, Array, Array]:
    polar, around = np.meshgrid(np.linspace(0, np.pi, 40), np.linspace(0, 2 * np.pi, 64), indexing="ij")
    unit = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1).reshape(-1, 3)
    first = np.arange(39)[:, None] * 64 + np.arange(63)[None]
    quads = np.stack([first, first + 64, first + 65, first + 1], -1).reshape(-1, 4)
    return centre + unit * half, triangulate(quads), normalise(unit / half)


def _animal(spec: PictureSpec, folder: Path, retry: int, quality: Quality) -> Picture:
    """The head of a furry animal: skull, muzzle, ears, nose and eyes, seen from the front."""
    rng = np.random.default_rng([spec.seed, 162])
    muzzle, ear, wide = rng.uniform(0.02, 0.07), rng.uniform(0.03, 0.075), rng.uniform(0.075, 0.10)
    melanin = (float(np.exp(rng.uniform(np.log(0.06), np.log(5.0)))), float(rng.uniform(0.02, 0.5)))
    coat = np.exp(-np.array([0.6, 1.0, 1.6]) * melanin[0]) * 0.4 + 0.01
    balls = [
        (np.array([0, 0, 0.0]), np.array([wide, 0.09, 0.085])),
        (np.array([0, -0.08 - muzzle / 2, -0.03]), np.array([0.042, 0.03 + muzzle, 0.035])),
        (np.array([0, 0.10, -0.12]), np.array([0.10, 0.10, 0.12])),
    ]
    droop = rng.random() < 0.5
    for sign in (-1, 1):
        place = np.array([sign * wide * (0.95 if droop else 0.7), 0.01, 0.02 if droop else 0.085])
        balls.append((place, np.array([0.018, 0.022, ear])))
    shapes: Shapes = {}
    roots, normals = [], []
    for number, (centre, half) in enumerate(balls):
        points, triangles, normal = _ball(centre, half)
        shapes[f"skin{number}"] = _painted(f"skin{number}", points, triangles, coat, 0.8)
        chosen = rng.choice(len(points), int(2.6e6 * np.prod(half) ** (2 / 3)), replace=True)
        roots.append(points[chosen] + rng.normal(0, 0.0012, (len(chosen), 3)))
        normals.append(normal[chosen])
    root, out = np.concatenate(roots), np.concatenate(normals)
    clear = np.all([np.hypot(root[:, 0] - s * wide * 0.45, root[:, 2] - 0.02) > 0.017 for s in (-1, 1)], 0) | (
        root[:, 1] > 0
    )
    root, out = root[clear], out[clear]
    length = rng.uniform(0.006, 0.014) * rng.uniform(0.7, 1.2, (len(root), 1))
    lean = normalise(out + np.array([0, 0.35, -0.55]) + 0.25 * rng.normal(size=root.shape))
    fur = np.stack(
        [root, root + out * length * 0.3 + lean * length * 0.2, root + lean * length * 0.7, root + lean * length], 1
    )
    shapes["fur"] = make_curves(folder, "fur", fur, 0.00016, hair_fibre(*melanin))
    for sign in (-1, 1):
        eye, triangles, _ = _ball(np.array([sign * wide * 0.45, -0.078, 0.02]), np.full(3, 0.0125))
        dark = np.where((eye[:, 1] < -0.087)[:, None], np.array([0.01, 0.008, 0.006]), np.array([0.10, 0.05, 0.01]))
        shapes[f"eye{sign}"] = _painted(f"eye{sign}", eye, triangles, dark, 0.05)
    nose, triangles, _ = _ball(np.array([0, -0.11 - 1.4 * muzzle, -0.015]), np.array([0.014, 0.01, 0.011]))
    shapes["nose"] = _painted("nose", nose, triangles, np.array([0.012, 0.010, 0.010]), 0.2)
    camera = orbit(
        np.zeros(3), 1.4, float(rng.uniform(-25, 25)), float(rng.uniform(-5, 12)), 0.42, spec.width, spec.height
    )
    return still(spec, shapes, camera, np.zeros(3), retry, quality)
