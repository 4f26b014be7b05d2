"""One person put together: skin, eyes, hair, clothes, mask and glasses as Mitsuba shapes with their truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countenance.data.people.render import palette
from countenance.data.people.render.clothes import (
    pattern,
    shirt_and_collar,
    shirt_field,
    shoe_field,
    trouser_field,
    trousers_and_shoes,
)
from countenance.data.people.render.eyes import eye_centres, eyeball, gaze_direction, lashes, teeth, tongue
from countenance.data.people.render.faces import ageing
from countenance.data.people.render.facial_hair import beard, eyebrows
from countenance.data.people.render.glasses import glasses_frame
from countenance.data.people.render.hair import head_hair
from countenance.data.people.render.labels import CODE, IMAGE_SIDE, body_parts, head_labels, part
from countenance.data.people.render.mask import surgical_mask
from countenance.data.people.render.mesh import Array, normalise, transform, vertex_normals
from countenance.data.people.render.sampling import Person
from countenance.data.people.render.scene import (
    MeshBuilder,
    ScenePart,
    bitmap,
    make_curves,
    make_mesh,
    principled,
    rgb,
)
from countenance.data.people.render.shape import NOSE_TIP, Body, Template
from countenance.data.people.render.skin import base_colour, relief, skin_colour

GREY = np.array([0.46, 0.45, 0.44])
# Skin under cloth deeper than this is dropped: it would only poke through.
COVERED = 0.012


@dataclass
class Figure:
    """A person in the scene: shapes by name, and the points the truth is read from."""

    parts: dict[str, ScenePart]
    keypoints: Array
    landmarks: Array
    face: Array
    face_front: Array
    face_normal: Array
    head_rotation: Array
    eye_middle: Array


def build(
    template: Template,
    person: Person,
    body: Body,
    camera: Array,
    folder: Path,
    prefix: str,
    density: float = 1.0,
) -> Figure:
    """Assemble a posed person; `density` below 1 thins the hair of far figures."""
    identity, builder = person.identity, MeshBuilder()
    parts: dict[str, ScenePart] = {}
    head, trunk = template.head, template.body
    hair_rgb = np.array(palette.HAIR[identity.hair_colour])
    face = head.operator @ body.posed
    face = face + vertex_normals(face, head.triangles) * relief(identity, head)[:, None]
    normal = vertex_normals(face, head.triangles)
    skin = trunk.operator @ body.posed
    local = transform(np.linalg.inv(body.head_motion), face)

    covered = shirt_field(trunk.canonical, person)
    _dress(template, person, skin, builder, parts, prefix)
    if person.full_body:
        covered = np.maximum(np.maximum(covered, trouser_field(trunk.canonical)), shoe_field(trunk.canonical))
    shown = shirt_field(head.canonical, person)[head.triangles].min(1) < COVERED
    labels = head_labels(head)
    part_of_head = np.where(labels == CODE["neck"], part("Neck"), part("Face"))
    colour = skin_colour(identity, head, hair_rgb)
    builder.add(face, head.triangles[shown], colour, labels[shown], part_of_head[shown], 0.46, 0.05, normal)
    centre = trunk.canonical[trunk.triangles].mean(1)
    shown = (covered[trunk.triangles].min(1) < COVERED) & ((centre[:, 2] < 0.535) | (np.abs(centre[:, 0]) > 0.155))
    if not person.full_body:
        shown &= centre[:, 2] > -0.2
    triangles = trunk.triangles[shown]
    builder.add(
        skin, triangles, skin_colour(identity, trunk, hair_rgb), CODE["limb"],
        body_parts(template, trunk.canonical, triangles), 0.5, 0.03, vertex_normals(skin, trunk.triangles),
    )  # fmt: skip
    eyes = _face_details(template, person, body, camera, builder)
    _strands(template, person, body, FaceSurface(face, normal, local, eyes), folder, prefix, density, builder, parts)
    parts[prefix + "mesh"] = builder.build(prefix + "mesh")

    rotation = body.head_motion[:3, :3]
    corner = template.mouth_corner
    mirrored = template.nearest(head.canonical[corner] * np.array([-1, 1, 1]))
    ahead = rotation @ np.array([0, -1.0, 0])
    pupils = {side: centre + radius * normalise(ahead) for side, (centre, radius) in eyes.items()}
    points = [pupils["r"], pupils["l"], face[template.nearest(NOSE_TIP)], face[mirrored], face[corner]]
    # Fine vertices of the bare face, to measure how much of it is hidden.
    front = (head.masks["face"] > 0.5)[:: max(1, int(1 / density))]
    step = max(1, int(1 / density))
    return Figure(
        parts=parts,
        keypoints=template.keypoint_weights @ body.posed,
        landmarks=np.stack(points),
        face=body.posed[template.face_mask],
        face_front=face[::step][front],
        face_normal=normal[::step][front],
        head_rotation=rotation,
        eye_middle=(eyes["l"][0] + eyes["r"][0]) / 2,
    )


def _dress(
    template: Template, person: Person, skin: Array, builder: MeshBuilder, parts: dict[str, ScenePart], prefix: str
) -> None:
    first, second = (np.array(palette.CLOTH[i]) for i in (person.cloth, person.cloth_second))
    (vertices, triangles, normals, canonical), band = shirt_and_collar(template, person, skin)
    kind = "plain" if person.pattern == "plain" else person.pattern
    texture = bitmap(pattern(kind, first, second, person.identity.seed), 9.0)
    cloth = {"type": "twosided", "bsdf": principled(texture, 0.9, 0.15, sheen=0.3)}
    shape = make_mesh(prefix + "shirt", vertices, triangles, cloth, normals, uv=canonical[:, [0, 2]])
    label = np.full(1, CODE["cloth"], np.uint8)
    parts[prefix + "shirt"] = ScenePart(shape, label, body_parts(template, canonical, triangles))

    def add(garment: tuple[Array, Array, Array, Array], colour: Array) -> None:
        vertices, triangles, normals, canonical = garment
        where = body_parts(template, canonical, triangles)
        builder.add(vertices, triangles, colour, CODE["cloth"], where, 0.9, 0.0, normals)

    add(band, first * 0.86)
    if not person.full_body:
        return
    trousers, shoes = trousers_and_shoes(template, person, skin)
    add(trousers, np.array(palette.TROUSERS[person.trousers]))
    colour = np.array(palette.SHOES[person.shoes])
    for vertices, triangles, normals in shoes:
        left = _is_left(vertices[triangles].mean(1), skin, template)
        where = np.where(left, part("Left foot"), part("Right foot"))
        builder.add(vertices, triangles, colour, CODE["cloth"], where, 0.5, 0.1, normals)


def _is_left(points: Array, skin: Array, template: Template) -> Array:
    """Which points lie on the person's left, told by the two feet."""
    canonical = template.body.canonical
    low = canonical[:, 2] < -0.9
    left, right = skin[low & (canonical[:, 0] > 0)].mean(0), skin[low & (canonical[:, 0] < 0)].mean(0)
    return np.asarray((points - (left + right) / 2) @ (left - right) > 0)


def _face_details(
    template: Template, person: Person, body: Body, camera: Array, builder: MeshBuilder
) -> dict[str, tuple[Array, float]]:
    identity, eyes = person.identity, eye_centres(body)
    where = part("Face")
    lash = 1.0 if identity.gender == "male" or identity.years < 14 else 1.35
    for side, (centre, radius) in eyes.items():
        code = CODE[f"{IMAGE_SIDE[side]}_eye"]
        gaze = gaze_direction(body, centre, camera)
        vertices, triangles, normals, colour = eyeball(
            centre, radius * 0.985, gaze, palette.IRIS[identity.iris], identity.seed
        )
        builder.add(vertices, triangles, colour, code, where, 0.12, 1.0, normals)
        for vertices, triangles in lashes(template, body, side, lash):
            builder.add(vertices, triangles, np.array([0.012, 0.009, 0.008]), code, where, 0.8)
    for vertices, triangles, normals, colour in teeth(template, body, identity.years):
        builder.add(vertices, triangles, colour, CODE["teeth"], where, 0.25, 0.2, normals)
    vertices, triangles, normals = tongue(template, body)
    builder.add(vertices, triangles, np.array([0.42, 0.13, 0.12]), CODE["mouth"], where, 0.4, 0.1, normals)
    return eyes


@dataclass(frozen=True)
class FaceSurface:
    """The fine face of a posed person: its points, their normals, the points in the head's own frame, and the eyes."""

    points: Array
    normal: Array
    local: Array
    eyes: dict[str, tuple[Array, float]]


def _strands(
    template: Template, person: Person, body: Body, surface: FaceSurface, folder: Path, prefix: str, density: float,
    builder: MeshBuilder, parts: dict[str, ScenePart],
) -> None:  # fmt: skip
    face, normal, local, identity = surface.points, surface.normal, surface.local, person.identity
    rng = np.random.default_rng([identity.seed, 121])
    hair_rgb = np.array(palette.HAIR[identity.hair_colour])
    grey = 0.0 if identity.hair_colour in ("white", "grey") else min(0.8, ageing(identity.years) * 0.9)

    def add(key: str, strands: Array, radius: float, colour: Array, label: str, where: str, tones: int = 1,
            share_grey: float = 0.0, taper: float = 0.35) -> None:  # fmt: skip
        group = rng.integers(0, tones, len(strands))
        for tone in range(tones):
            chosen = strands[group == tone]
            if not len(chosen):
                continue
            shade = colour * (1 + 0.18 * (tone - (tones - 1) / 2))
            if share_grey and (tone + 0.5) / tones < share_grey:
                shade = GREY * (0.8 + 0.3 * tone / tones)
            name = f"{prefix}{key}{tone}"
            material = principled(rgb(np.clip(shade, 0, 1)), 0.40, 0.5)
            shape = make_curves(folder, name, chosen, radius, material, taper)
            code, place = np.full(1, CODE[label], np.uint8), np.full(1, part(where), np.uint8)
            parts[name] = ScenePart(shape, code, place)

    def carried(points: Array) -> Array:
        return transform(body.head_motion, points)

    if identity.hair != "bald":
        strands, radius = head_hair(template, identity, body.rest, density)
        add("hair", carried(strands), radius, hair_rgb, "hair", "Head hair", 4, grey)
    # Brows lighter than the skin would vanish on it.
    brow = np.minimum(hair_rgb * 0.7, base_colour(identity.skin_tone) * 0.35)
    for side, strands in eyebrows(template, identity, face, normal).items():
        add(f"brow_{side}", strands, 0.00027, brow * (1 + grey), f"{IMAGE_SIDE[side]}_brow", "Face")
    if identity.beard and person.mask == "none":
        add("beard", beard(template, identity, face, normal), 0.00035, hair_rgb, "beard", "Face", 3, grey)
    if person.mask != "none":
        vertices, triangles, loops = surgical_mask(template, local)
        colour = np.array(palette.MASK[person.mask])
        builder.add(carried(vertices), triangles, colour, CODE["face_mask"], part("Face"), 0.85)
        cord = np.array([0.03, 0.03, 0.03]) if person.mask == "black" else np.array([0.78, 0.78, 0.78])
        add("loop", carried(loops), 0.0011, cord, "face_mask", "Face", taper=1.0)
    if person.glasses != "none":
        back = np.linalg.inv(body.head_motion)
        centres = {side: transform(back, centre[None])[0] for side, (centre, _) in surface.eyes.items()}
        frame = carried(glasses_frame(template, local, centres, person.glasses))
        add("glasses", frame, 0.0014, np.array(palette.FRAMES[person.frame]), "eye_g", "Face", taper=1.0)
