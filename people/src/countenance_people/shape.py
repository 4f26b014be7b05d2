"""The body: anny's parametric human as subdivision operators, canonical coordinates and posed vertices.

Canonical coordinates are the vertices of one default adult. Every region (lips, hairline, neckline, wrinkles)
is a function of them, so it sticks to the anatomy of every person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from countenance_people._backend import load_anny
from countenance_people.expressions import facial_actions
from countenance_people.faces import ageing, model_age
from countenance_people.mesh import (
    Array,
    NoiseBank,
    catmull_clark,
    compact,
    refine,
    smoothstep,
    transform,
    triangulate,
)
from countenance_people.postures import POSTURES
from countenance_people.spec import Person

VERTICES, BODY_VERTICES = 19158, 13380
EYE_VERTICES = {"l": (14598, 14670), "r": (14670, 14742)}
FINEST = 0.0019
"""Longest edge of the face in metres: about a pixel of a portrait that is rendered at twice its size."""
MASKS = ("lips", "face", "ears", "inside-mouth", "fingernails", "toenails")
CHIN, NOSE_TIP, EAR = (0, -0.142, 0.612), (0, -0.162, 0.697), (0.0855, -0.015, 0.715)
BODY_PARTS = (
    "Face",
    "Head hair",
    "Neck",
    "Torso",
    "Left arm",
    "Right arm",
    "Left hand",
    "Right hand",
    "Left leg",
    "Right leg",
    "Left foot",
    "Right foot",
)


@dataclass
class Surface:
    """A subdivided patch: operator from coarse vertices, triangles, canonical points, masks and fields."""

    operator: sparse.csr_matrix
    triangles: Array
    canonical: Array
    masks: dict[str, Array]
    fields: dict[str, Array]
    noise: NoiseBank


@dataclass
class Template:
    """Everything shared by all persons."""

    model: Any
    bones: list[str]
    groups: dict[str, Array]
    canonical: Array
    head: Surface
    body: Surface
    helpers: dict[str, tuple[sparse.csr_matrix, Array, Array]]
    face_mask: Array
    keypoint_weights: Array
    body_part: Array
    mouth_corner: int
    heels: tuple[int, int]
    toes: tuple[int, int]

    def nearest(self, point: Any) -> int:
        """Fine head vertex nearest to a canonical point."""
        return int(np.argmin(((self.head.canonical - np.asarray(point)) ** 2).sum(1)))


@dataclass
class Body:
    """One person's coarse vertices: posed, at rest, and the head's rigid motion between the two."""

    posed: Array
    rest: Array
    head_motion: Array
    joints: dict[str, Array]


def _read_obj(path: Path) -> tuple[Array, dict[str, Array]]:
    texture: list[list[float]] = []
    groups: dict[str, list[list[list[int]]]] = {}
    name = ""
    for line in path.read_text().splitlines():
        if line.startswith("g "):
            name = line.split()[1]
        elif line.startswith("vt "):
            texture.append([float(value) for value in line.split()[1:3]])
        elif line.startswith("f "):
            corners = [[int(v) - 1 for v in corner.split("/")[:2]] for corner in line.split()[1:]]
            groups.setdefault(name, []).append(corners if len(corners) == 4 else [*corners, corners[-1]])
    return np.array(texture), {key: np.array(faces) for key, faces in groups.items()}


def hairline(canonical: Array, recede: float = 0.0) -> Array:
    """Height above the hairline in metres: positive on the scalp. `recede` lifts forehead and temples."""
    y = np.array([-0.20, -0.125, -0.105, -0.085, -0.068, -0.055, -0.045, -0.030, -0.010, 0.005, 0.02, 0.06, 0.12])
    z = np.array([0.805, 0.800, 0.795, 0.772, 0.740, 0.722, 0.742, 0.752, 0.742, 0.715, 0.672, 0.648, 0.645])
    z = z + np.interp(y, [-0.13, -0.06, -0.05], [recede, recede * 0.6, 0])
    across = np.abs(canonical[:, 0])
    line = np.interp(canonical[:, 1], y, z)
    peak = 0.004 * np.cos(across / 0.05 * np.pi) * (across < 0.05)
    line = np.where(canonical[:, 1] < -0.10, line + peak, line)
    return np.asarray(canonical[:, 2] - line)


def _fields(canonical: Array, masks: dict[str, Array]) -> dict[str, Array]:
    x, y, z = np.abs(canonical[:, 0]), canonical[:, 1], canonical[:, 2]

    def spot(px: float, py: float, pz: float, size: float) -> Array:
        return np.asarray(np.exp(-((x - px) ** 2 + (y - py) ** 2 + (z - pz) ** 2) / (2 * size * size)))

    fields = {
        "lips": smoothstep(0.30, 1.0, masks["lips"]),
        "cheek": spot(0.045, -0.125, 0.698, 0.020),
        "nose": spot(0, -0.160, 0.697, 0.012) + 0.5 * spot(0.012, -0.15, 0.688, 0.008),
        "ear": smoothstep(0.2, 0.8, masks["ears"]),
        "lid": spot(0.032, -0.13, 0.747, 0.009) + 0.6 * spot(0.03, -0.13, 0.724, 0.007),
        "under": spot(0.026, -0.130, 0.719, 0.007),
        "rim": np.exp(-(((np.hypot((x - 0.0314) / 1.25, z - 0.7362) - 0.0125) / 0.003) ** 2)) * (y < -0.10),
        "temple": np.exp(-(((x - 0.062) / 0.018) ** 2 + ((z - 0.760) / 0.025) ** 2)) * (y < 0.0),
        "forehead": np.exp(-((x / 0.04) ** 2 + ((z - 0.778) / 0.016) ** 2)) * (y < -0.08),
        "mouth": smoothstep(0.3, 0.8, masks["inside-mouth"]),
        "chin": spot(0, -0.14, 0.625, 0.015),
        "nail": smoothstep(0.3, 0.7, masks["fingernails"] + masks["toenails"]),
    }
    jaw = np.interp(y, [-0.16, -0.13, -0.10, -0.07, -0.05], [0.678, 0.676, 0.672, 0.690, 0.735])
    beard = smoothstep(0, 0.012, jaw - z) * smoothstep(0.585, 0.606, z) * smoothstep(0.02, -0.02, y + 0.045)
    around_mouth = np.exp(-(((z - 0.667) / 0.012) ** 2)) * (x < 0.026) * (y < -0.12)
    moustache = np.exp(-(((z - 0.6815) / 0.0055) ** 2)) * smoothstep(0.034, 0.024, x) * (y < -0.13)
    beard = np.clip(np.maximum(beard * (1 - 0.9 * around_mouth), moustache), 0, 1)
    fields["beard"] = beard * (1 - fields["lips"]) * (1 - fields["ear"])
    return fields


def _part_of_bone(bone: str) -> int:
    side = "Left " if bone.endswith(".L") else "Right "
    stem = bone.split(".")[0]
    if stem in ("head", "eye"):
        return BODY_PARTS.index("Face")
    if stem.startswith("neck"):
        return BODY_PARTS.index("Neck")
    if stem.startswith(("wrist", "finger", "metacarpal")):
        return BODY_PARTS.index(side + "hand")
    if stem.startswith(("upperarm", "lowerarm")):
        return BODY_PARTS.index(side + "arm")
    if stem.startswith(("upperleg", "lowerleg")):
        return BODY_PARTS.index(side + "leg")
    if stem.startswith(("foot", "toe")):
        return BODY_PARTS.index(side + "foot")
    return BODY_PARTS.index("Torso")


@lru_cache(maxsize=1)
def load_template() -> Template:
    """Build the template (once per process; anny keeps its own cache on disk)."""
    anny, torch = load_anny()
    from anny.models.model_data import TopologyConfig
    from PIL import Image

    topology = TopologyConfig("makehuman", nudity_edits=True, remove_unattached_vertices=False, triangulate_faces=False)
    options = {"local_changes": "all", "facial_actions": "all", "phenotypes": "all"}
    # The compacted blend shapes are the same up to rounding, and take minutes and a gigabyte to prepare.
    model = anny.Anny(topology=topology, phenotype_blendshapes="original", **options)
    model.set_skinning_method("lbs")  # the same with and without warp-lang, and nothing to compile
    data = Path(str(anny.paths.get_anny_root_dir())) / "data"
    texture, corners = _read_obj(data / "mpfb2" / "3dobjs" / "base.obj")
    vertex_uv = np.zeros((VERTICES, 2))
    for faces in corners.values():
        vertex_uv[faces[:, :, 0].ravel()] = texture[faces[:, :, 1].ravel()]

    def mask(name: str) -> Array:
        image = Image.open(data / "mpfb2" / "textures" / f"mpfb_{name}.jpg").convert("L")
        grey = np.asarray(image) / 255.0
        height, width = grey.shape
        row = np.clip(((1 - vertex_uv[:, 1]) * height).astype(int), 0, height - 1)
        column = np.clip((vertex_uv[:, 0] * width).astype(int), 0, width - 1)
        return np.asarray(grey[row, column] * (np.arange(VERTICES) < BODY_VERTICES))

    coarse_masks = {name: mask(name) for name in MASKS}
    canonical = model(phenotype_kwargs={"age": 0.67})["vertices"][0].numpy().astype(float)
    quads = np.asarray(model.faces)
    quads = quads[(quads < BODY_VERTICES).all(1)]
    once, once_quads = catmull_clark(quads, VERTICES)
    centre = (once @ canonical)[once_quads].mean(1)
    # The head and neck get a second level: 1-2 mm, about a pixel, so vertex colours suffice for skin.
    on_head = (centre[:, 2] > 0.52) & (np.abs(centre[:, 0]) < 0.16)
    twice, head_quads = catmull_clark(once_quads[on_head], once.shape[0])

    def surface(operator: sparse.csr_matrix, patch: Array, fine: bool = False) -> Surface:
        operator, patch = compact(operator, patch)
        triangles = triangulate(patch)
        for _ in range(2 if fine else 0):
            points = operator @ canonical
            centre = points[triangles].mean(1)
            front = (centre[:, 1] < -0.02) & (centre[:, 2] > 0.585) & (hairline(centre) < 0.01)
            front &= (operator @ coarse_masks["inside-mouth"])[triangles].mean(1) < 0.5
            operator, triangles = refine(operator, triangles, points, np.where(front, FINEST, np.inf))
        points = operator @ canonical
        masks = {name: operator @ values for name, values in coarse_masks.items()}
        return Surface(operator.tocsr(), triangles, points, masks, _fields(points, masks), NoiseBank(points))

    helpers = {}
    for name in ("upper-teeth", "lower-teeth", "tongue"):
        first, faces = catmull_clark(corners["helper-" + name][:, :, 0], VERTICES)
        second, faces = catmull_clark(faces, first.shape[0])
        operator, faces = compact(second @ first, faces)
        helpers[name] = (operator.tocsr(), triangulate(faces), operator @ canonical)
    regressor = torch.load(data / "keypoints" / "coco.pth", weights_only=True)
    strongest = model.vertex_bone_weights.argmax(1, keepdim=True)
    dominant = model.vertex_bone_indices.gather(1, strongest)[:, 0].numpy()
    part_of_bone = np.array([_part_of_bone(bone) for bone in model.bone_labels])
    head = surface(twice @ once, head_quads, fine=True)
    lip = np.where((head.masks["lips"] > 0.5) & (head.masks["inside-mouth"] < 0.3))[0]
    return Template(
        model=model,
        bones=list(model.bone_labels),
        groups={name: faces[:, :, 0] for name, faces in corners.items()},
        canonical=canonical,
        head=head,
        body=surface(once, once_quads),
        helpers=helpers,
        face_mask=np.where(coarse_masks["face"] > 0.5)[0],
        keypoint_weights=np.stack([weights.numpy() for weights in regressor.values()])[:17].astype(float),
        body_part=part_of_bone[dominant[:BODY_VERTICES]],
        mouth_corner=int(lip[np.argmax(head.canonical[lip, 0])]),
        heels=_ends(canonical, 1),
        toes=_ends(canonical, -1),
    )


def _ends(canonical: Array, way: int) -> tuple[int, int]:
    """Vertices at the back (1) or front (-1) end of the left and right foot."""
    ends = []
    for side in (1, -1):
        foot = np.where((canonical[:BODY_VERTICES, 2] < -0.93) & (canonical[:BODY_VERTICES, 0] * side > 0))[0]
        ends.append(int(foot[np.argmax(way * canonical[foot, 1])]))
    return ends[0], ends[1]


def _rotation(torch: Any, turns: list[tuple[str, float]]) -> Any:
    total = torch.eye(4)
    for axis, degrees in turns:
        angle = math.radians(degrees)
        i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
        turn = torch.eye(4)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[i, j], turn[j, i] = -math.sin(angle), math.sin(angle)
        total = total @ turn
    return total


def _pose(person: Person) -> dict[str, list[tuple[str, float]]]:
    turns = dict(POSTURES[person.posture])
    turns["head"] = [("z", person.yaw * 0.6), ("x", person.pitch * 0.6), ("y", person.roll * 0.6)]
    turns["neck02"] = [("z", person.yaw * 0.4), ("x", person.pitch * 0.4), ("y", person.roll * 0.4)]
    return turns


def pose_body(template: Template, person: Person) -> Body:
    """Run the body model."""
    _, torch = load_anny()
    identity = person.identity
    phenotype = {**identity.phenotype, "age": model_age(identity.years)}
    face = dict(identity.face_shape)
    # The age axis alone leaves the very old too smooth.
    face["head-age-incr"] = 0.7 * ageing(identity.years)
    pose = torch.eye(4)[None, None].repeat(1, template.model.bone_count, 1, 1)
    for bone, turns in _pose(person).items():
        pose[0, template.bones.index(bone)] = _rotation(torch, turns)
    with torch.no_grad():
        shape = {"phenotype_kwargs": phenotype, "local_changes_kwargs": face}
        posed = template.model(
            pose_parameters=pose,
            facial_actions=facial_actions(person.expression, person.strength, identity.years),
            **shape,
        )
        rest = template.model(**shape)
    head = template.bones.index("head")
    matrices = [result["bone_poses"][0, head].numpy().astype(float) for result in (posed, rest)]
    vertices = [result["vertices"][0].numpy().astype(float) for result in (posed, rest)]
    heads = posed["bone_poses"][0, :, :3, 3].numpy().astype(float)
    joints = dict(zip(template.bones, heads, strict=True))
    return Body(vertices[0], vertices[1], matrices[0] @ np.linalg.inv(matrices[1]), joints)


def move(body: Body, matrix: Array) -> Body:
    """The body carried by a rigid motion (its rest copy stays where it is)."""
    joints = {bone: transform(matrix, point) for bone, point in body.joints.items()}
    return Body(transform(matrix, body.posed), body.rest, matrix @ body.head_motion, joints)
