"""One person put together: skin, eyes, hair, clothes and what is worn, as Mitsuba shapes with their truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance_people import palette
from countenance_people.clothes import (
    flaps,
    jacket,
    pattern,
    roll,
    shirt_and_collar,
    shirt_field,
    shoe_field,
    trouser_field,
    trousers_and_shoes,
)
from countenance_people.eyes import eye_centres, eyeball, gaze_direction, lashes, teeth, tongue
from countenance_people.faces import ageing
from countenance_people.facial_hair import BEARDS, beard, eyebrows
from countenance_people.glasses import make_glasses
from countenance_people.hair import head_hair, lengthen
from countenance_people.headwear import CLOTHS, HATS, Dome, chin_strap, fit_cloth, fit_hat, fit_hood, loose
from countenance_people.labels import CODE, IMAGE_SIDE, body_parts, head_labels, part
from countenance_people.mask import surgical_mask
from countenance_people.mesh import Array, noise, normalise, transform, vertex_normals
from countenance_people.scene import (
    MeshBuilder,
    ScenePart,
    bitmap,
    hair_fibre,
    make_curves,
    make_mesh,
    principled,
    rgb,
)
from countenance_people.shape import NOSE_TIP, Body, Template
from countenance_people.skin import roughness, skin_colour
from countenance_people.spec import Person
from countenance_people.wrinkles import crease_shade, face_folds, relief

# Skin under cloth deeper than this is dropped: it would only poke through.
COVERED = 0.012
EYE_CORNERS = ((0.0172, -0.128, 0.7345), (0.0462, -0.112, 0.7365))
"""Inner and outer corner of the left eye in canonical coordinates."""
SHADES = (0.68, 1.0, 1.45)
"""Melanin of the strands of one head, relative to its mean."""


@dataclass
class Figure:
    """A person in the scene: shapes by name, and the points the truth is read from."""

    parts: dict[str, ScenePart]
    lenses: tuple[Any, Array, palette.Colour] | None
    keypoints: Array
    keypoints_33: Array
    landmarks: Array
    face: Array
    face_front: Array
    face_normal: Array
    head_rotation: Array
    eye_middle: Array


@dataclass
class Workshop:
    """A figure under construction."""

    template: Template
    person: Person
    body: Body
    camera: Array
    folder: Path
    prefix: str
    density: float
    builder: MeshBuilder = field(default_factory=MeshBuilder)
    parts: dict[str, ScenePart] = field(default_factory=dict)
    lenses: tuple[Any, Array, palette.Colour] | None = None
    press: Callable[[Array], Array] | None = None
    strap_ends: Array | None = None

    def __post_init__(self) -> None:
        head, identity = self.template.head, self.person.identity
        face = head.operator @ self.body.posed
        self.folds = face_folds(identity, head)
        self.face = face + vertex_normals(face, head.triangles) * relief(identity, head, self.folds)[:, None]
        self.normal = vertex_normals(self.face, head.triangles)
        self.local = transform(np.linalg.inv(self.body.head_motion), self.face)
        self.eyes = eye_centres(self.body)
        self.rng = np.random.default_rng([identity.seed, 121])

    def carried(self, points: Array) -> Array:
        """Points of the resting head where the posed head takes them."""
        return transform(self.body.head_motion, points)

    def curves(
        self, key: str, strands: Array, radius: float, material: Any, label: Any, where: str, taper: float = 0.35
    ) -> None:
        """Add strands as one shape; `label` is a name, or a code for each strand."""
        name = f"{self.prefix}{key}"
        shape = make_curves(self.folder, name, strands, radius, material, taper)
        if isinstance(label, str):
            codes = np.full(1, CODE[label], np.uint8)
        else:  # one for each segment, and for those of the speck at the end
            codes = np.repeat(np.append(label, label[-1]), strands.shape[1] - 1).astype(np.uint8)
        self.parts[name] = ScenePart(shape, codes, np.full(1, part(where), np.uint8))

    def hairs(
        self, key: str, strands: Array, radius: float, melanin: tuple[float, float], label: str, where: str
    ) -> None:
        """Add strands of slightly different shades; some are grey from 40 years on."""
        old = ageing(self.person.identity.years)
        natural = self.person.identity.hair_colour not in ("grey", "white")
        if self.person.identity.hair_colour == "grey":  # white and dark hairs side by side
            self._mixed(key, strands, radius, label, where)
            return
        group = self.rng.integers(0, len(SHADES), len(strands))
        grey = self.rng.random(len(strands)) < (0.5 * np.clip(old - 0.25, 0, 1) if natural else 0.0)
        for number, shade in enumerate(SHADES):
            chosen = strands[(group == number) & ~grey]
            if len(chosen):
                fibre = hair_fibre(melanin[0] * shade, melanin[1] * shade)
                self.curves(f"{key}{number}", chosen, radius, fibre, label, where)
        if grey.any():
            self.curves(f"{key}_grey", strands[grey], radius, hair_fibre(0.05, 0.0), label, where)

    def _mixed(self, key: str, strands: Array, radius: float, label: str, where: str) -> None:
        white = self.rng.random(len(strands)) < 0.6
        self.curves(f"{key}_white", strands[white], radius, hair_fibre(0.045, 0.0), label, where)
        self.curves(f"{key}_dark", strands[~white], radius, hair_fibre(1.6, 0.0), label, where)


def build(
    template: Template, person: Person, body: Body, camera: Array, folder: Path, prefix: str, density: float = 1.0
) -> Figure:
    """Assemble a posed person; `density` below 1 thins the hair of far figures."""
    shop = Workshop(template, person, body, camera, folder, prefix, density)
    _skin_and_clothes(shop)
    _eyes_and_teeth(shop)
    _headwear(shop)
    _hair(shop)
    _worn(shop)
    shop.parts[prefix + "mesh"] = shop.builder.build(prefix + "mesh")
    return _figure(shop)


def _figure(shop: Workshop) -> Figure:
    template, head, rotation = shop.template, shop.template.head, shop.body.head_motion[:3, :3]
    corner = template.mouth_corner
    mirrored = template.nearest(head.canonical[corner] * np.array([-1, 1, 1]))
    ahead = rotation @ np.array([0, -1.0, 0])
    pupils = {side: centre + radius * normalise(ahead) for side, (centre, radius) in shop.eyes.items()}
    points = [pupils["r"], pupils["l"], shop.face[template.nearest(NOSE_TIP)], shop.face[mirrored], shop.face[corner]]
    # Fine vertices of the bare face, to measure how much of it is hidden.
    coco = template.keypoint_weights @ shop.body.posed
    step = max(2, int(2 / shop.density))
    front = (head.masks["face"] > 0.5)[::step]
    return Figure(
        parts=shop.parts,
        lenses=shop.lenses,
        keypoints=coco,
        keypoints_33=_keypoints_33(shop, coco, pupils),
        landmarks=np.stack(points),
        face=shop.body.posed[template.face_mask],
        face_front=shop.face[::step][front],
        face_normal=shop.normal[::step][front],
        head_rotation=rotation,
        eye_middle=(shop.eyes["l"][0] + shop.eyes["r"][0]) / 2,
    )


def _keypoints_33(shop: Workshop, coco: Array, pupils: dict[str, Array]) -> Array:
    """The 33 points of BlazePose and FHIBE: COCO's, corners of eyes and mouth, knuckles, heels and toes."""
    template, joints, body = shop.template, shop.body.joints, shop.body.posed
    face = []
    for side, sign in (("l", 1), ("r", -1)):
        inner, outer = (shop.face[template.nearest((sign * x, y, z))] for x, y, z in EYE_CORNERS)
        face += [inner, pupils[side], outer]
    corner = template.head.canonical[template.mouth_corner]
    mouth = [shop.face[template.nearest(corner * np.array([sign, 1, 1]))] for sign in (1, -1)]
    hands = [joints[f"{bone}.{side}"] for bone in ("finger5-1", "finger2-1", "finger1-2") for side in "LR"]
    feet = [body[index] for index in (*template.heels, *template.toes)]
    return np.stack([coco[0], *face, *coco[3:5], *mouth, *coco[5:11], *hands, *coco[11:17], *feet])


def _skin_and_clothes(shop: Workshop) -> None:
    template, person, builder = shop.template, shop.person, shop.builder
    head, trunk, identity = template.head, template.body, person.identity
    hair_rgb = np.array(palette.HAIR_RGB[identity.hair_colour])
    skin = trunk.operator @ shop.body.posed
    covered = shirt_field(trunk.canonical, person)
    _dress(shop, skin)
    if person.full_body:
        covered = np.maximum(np.maximum(covered, trouser_field(trunk.canonical)), shoe_field(trunk.canonical))
    shown = shirt_field(head.canonical, person)[head.triangles].min(1) < COVERED
    labels = head_labels(head)
    where = np.where(labels == CODE["neck"], part("Neck"), part("Face"))
    if person.headwear in CLOTHS:  # ears would only poke through
        shown &= ~np.isin(labels, (CODE["l_ear"], CODE["r_ear"]))
    colour = skin_colour(identity, head, hair_rgb) * crease_shade(shop.folds)
    rough = roughness(identity, head)
    builder.add(shop.face, head.triangles[shown], colour, labels[shown], where[shown], rough, 0.05, shop.normal)
    centre = trunk.canonical[trunk.triangles].mean(1)
    shown = (covered[trunk.triangles].min(1) < COVERED) & ((centre[:, 2] < 0.535) | (np.abs(centre[:, 0]) > 0.155))
    if not person.full_body:
        shown &= centre[:, 2] > -0.2
    triangles = trunk.triangles[shown]
    where = body_parts(template, trunk.canonical, triangles)
    colour = skin_colour(identity, trunk, hair_rgb)
    builder.add(skin, triangles, colour, CODE["limb"], where, 0.5, 0.03, vertex_normals(skin, trunk.triangles))


def _dress(shop: Workshop, skin: Array) -> None:
    template, person, builder = shop.template, shop.person, shop.builder
    first, second = (np.array(palette.CLOTH[i]) for i in (person.cloth, person.cloth_second))
    (vertices, triangles, normals, canonical), band = shirt_and_collar(template, person, skin)
    texture = bitmap(pattern(person.pattern, first, second, person.identity.seed), 9.0)
    cloth = {"type": "twosided", "bsdf": principled(texture, 0.9, 0.15, sheen=0.3)}
    name = shop.prefix + "shirt"
    shape = make_mesh(name, vertices, triangles, cloth, normals, uv=canonical[:, [0, 2]])
    shop.parts[name] = ScenePart(shape, np.full(1, CODE["cloth"], np.uint8), body_parts(template, canonical, triangles))

    def add(garment: tuple[Array, Array, Array, Array], colour: Array) -> None:
        vertices, triangles, normals, canonical = garment
        where = body_parts(template, canonical, triangles)
        weave = 1 + 0.05 * noise(canonical, 420, person.identity.seed)[:, None]
        builder.add(vertices, triangles, colour * weave, CODE["cloth"], where, 0.9, 0.0, normals)

    if person.neckline == "collar":
        add(flaps(template, person, skin), first * 0.96)
    else:
        add(band, first * 0.86)
    if person.layer == "jacket":
        for garment in jacket(template, person, skin):
            add(garment, second)
    if person.layer == "hoodie":
        add(roll(template, person, skin), first * 0.95)
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


def _eyes_and_teeth(shop: Workshop) -> None:
    identity, builder, where = shop.person.identity, shop.builder, part("Face")
    eyeballs = MeshBuilder(specular=0.22)
    strands, codes = [], []
    lash = 0.85 if identity.gender == "male" or identity.years < 14 else 1.1
    for side, (centre, radius) in shop.eyes.items():
        code = CODE[f"{IMAGE_SIDE[side]}_eye"]
        gaze = gaze_direction(shop.body, centre, shop.camera)
        iris = palette.IRIS[identity.iris]
        vertices, triangles, normals, colour = eyeball(centre, radius * 0.985, gaze, iris, identity.seed)
        eyeballs.add(vertices, triangles, colour, code, where, 0.08, 0.4, normals)
        strands.append(lashes(shop.template, shop.body, side, lash, shop.rng))
        codes.append(np.full(len(strands[-1]), code))
    shop.curves("lash", np.concatenate(strands), 0.00007, hair_fibre(6.5, 0.1), np.concatenate(codes), "Face", 0.2)
    shop.parts[shop.prefix + "eyes"] = eyeballs.build(shop.prefix + "eyes")
    for vertices, triangles, normals, colour in teeth(shop.template, shop.body, identity.years):
        builder.add(vertices, triangles, colour, CODE["teeth"], where, 0.25, 0.2, normals)
    vertices, triangles, normals = tongue(shop.template, shop.body)
    builder.add(vertices, triangles, np.array([0.42, 0.13, 0.12]), CODE["mouth"], where, 0.4, 0.1, normals)


def _headwear(shop: Workshop) -> None:
    person, template, where = shop.person, shop.template, part("Head hair")
    if person.headwear == "none":
        return
    colour = np.array(palette.CLOTH[person.headwear_colour])
    if person.headwear in CLOTHS:
        skin = template.body.operator @ shop.body.posed
        if person.headwear == "hood":
            colour = np.array(palette.CLOTH[person.cloth])
        vertices, triangles, normals, canonical = fit_cloth(template, skin, person.headwear, person.identity.seed)
        shade = 1 + 0.05 * noise(canonical, 300, person.identity.seed)[:, None]
        shop.builder.add(vertices, triangles, colour * shade, CODE["hat"], where, 0.9, 0.0, normals)
    skull = template.head.operator @ shop.body.rest
    dome = Dome(template, skull, float(np.ptp(skull[template.head.canonical[:, 2] > 0.612][:, 2])) / 0.24)
    if person.headwear in CLOTHS:
        shop.press = loose(dome)
        if person.headwear == "hood":
            (vertices, triangles), hem = fit_hood(dome, person.identity.seed)
            shade = 1 + 0.05 * noise(vertices, 300, person.identity.seed)[:, None]
            shop.builder.add(shop.carried(vertices), triangles, colour * shade, CODE["hat"], where, 0.9)
            shop.curves("hem", shop.carried(hem), 0.0045, principled(rgb(colour), 0.9), "hat", "Head hair", 1.0)
        return
    hat = fit_hat(dome, person.headwear, person.identity.seed)
    shop.press = hat.press
    for vertices, triangles in hat.meshes:
        shade = 1 + 0.06 * noise(vertices, 350, person.identity.seed)[:, None]
        rough = HATS[person.headwear].gloss
        shop.builder.add(
            shop.carried(vertices), triangles, colour * shade, CODE["hat"], where, rough, 0.4 * (rough < 0.5)
        )
    shop.strap_ends = hat.ends


def _hair(shop: Workshop) -> None:
    template, identity, person = shop.template, shop.person.identity, shop.person
    melanin = palette.HAIR[identity.hair_colour]
    if identity.hair_style != "bald" and person.headwear != "headscarf":
        bundles, radius = head_hair(template, identity, shop.body.rest, shop.density)
        pressed = [strands if shop.press is None else shop.press(strands) for strands in bundles]
        longest = max(strands.shape[1] for strands in pressed)
        strands = np.concatenate([lengthen(strands, longest) for strands in pressed])
        shop.hairs("hair", shop.carried(strands), radius, melanin, "hair", "Head hair")
    # Brows are darker than the hair of fair heads, and never lighter than the skin.
    least = (
        0.30 + 0.30 * identity.skin_tone
        if identity.hair_colour not in ("grey", "white")
        else 0.10 * identity.skin_tone - 0.06
    )
    brow = (max(melanin[0] * 1.4, least), melanin[1] + 0.01)
    brows = eyebrows(template, identity, shop.face, shop.normal)
    codes = np.concatenate([np.full(len(strands), CODE[f"{IMAGE_SIDE[side]}_brow"]) for side, strands in brows.items()])
    shop.curves("brow", np.concatenate(list(brows.values())), 0.00010, hair_fibre(*brow), codes, "Face")
    if identity.beard in BEARDS and person.mask == "none":
        strands = beard(template, identity, shop.face, shop.normal)
        shop.hairs("beard", strands, 0.00010, (melanin[0] * 1.1, melanin[1] * 1.3), "beard", "Face")


def _worn(shop: Workshop) -> None:
    person, template, vertices = shop.person, shop.template, None
    if person.mask != "none":
        vertices, triangles, loops = surgical_mask(template, shop.local)
        colour = np.array(palette.MASK[person.mask])
        shop.builder.add(shop.carried(vertices), triangles, colour, CODE["face_mask"], part("Face"), 0.85)
        cord = np.array([0.03, 0.03, 0.03]) if person.mask == "black" else np.array([0.78, 0.78, 0.78])
        shop.curves("loop", shop.carried(loops), 0.0011, principled(rgb(cord), 0.7), "face_mask", "Face", 1.0)
    if shop.strap_ends is not None:
        strap = chin_strap(template, shop.local, shop.strap_ends, vertices)
        shop.curves("strap", shop.carried(strap), 0.004, principled(rgb((0.02, 0.02, 0.02)), 0.8), "hat", "Face", 1.0)
    if person.glasses != "none":
        back = np.linalg.inv(shop.body.head_motion)
        centres = {side: transform(back, centre[None])[0] for side, (centre, _) in shop.eyes.items()}
        glasses = make_glasses(template, shop.local, centres, person.rim, person.glasses == "sunglasses")
        frame = principled(rgb(palette.FRAMES[person.frame]), 0.25, 0.5)
        thick = 0.0017 if person.frame == 0 or person.glasses == "sunglasses" else 0.0010
        shop.curves("glasses", shop.carried(glasses.frame), thick, frame, "eye_g", "Face", 1.0)
        tints = palette.LENSES[person.glasses]
        shop.lenses = (shop.carried(glasses.vertices), glasses.triangles, tints[person.lens % len(tints)])
