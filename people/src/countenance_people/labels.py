"""Names of what a pixel can show, and the part each face of a person's mesh belongs to.

`l_` and `r_` follow CelebAMask-HQ: as seen in the image of a person who faces the camera, so `l_eye` is the
person's own right eye. Keypoints and landmarks keep COCO's convention: the person's own left and right.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from countenance_people.mesh import Array
from countenance_people.shape import BODY_PARTS, BODY_VERTICES, Surface, Template

LABELS = (
    "none",
    "skin",
    "nose",
    "u_lip",
    "l_lip",
    "l_ear",
    "r_ear",
    "neck",
    "mouth",
    "teeth",
    "l_eye",
    "r_eye",
    "l_brow",
    "r_brow",
    "hair",
    "beard",
    "face_mask",
    "eye_g",
    "cloth",
    "limb",
    "hat",
)
CODE = {name: number for number, name in enumerate(LABELS)}
# Teeth are told apart only while rendering; limbs have no name in a face-part map.
FACE_PARTS = tuple(name for name in LABELS if name not in ("none", "teeth", "limb"))
IMAGE_SIDE = {"l": "r", "r": "l"}  # the person's own side -> the image's side
_trees: dict[int, cKDTree] = {}


def head_labels(surface: Surface) -> Array:
    """Label of every triangle of the fine head."""
    triangles = surface.triangles
    centre = surface.canonical[triangles].mean(1)
    across, depth, height = centre[:, 0], centre[:, 1], centre[:, 2]
    jaw = np.interp(depth, [-0.14, -0.11, -0.06, -0.03, 0.0, 0.03], [0.606, 0.612, 0.632, 0.652, 0.675, 0.700])
    code = np.where(height < jaw, CODE["neck"], CODE["skin"])
    half = np.interp(height, [0.681, 0.686, 0.698, 0.715, 0.738], [0.012, 0.019, 0.019, 0.012, 0.008])
    nose = (np.abs(across) < half) & (height > 0.681) & (height < 0.738) & (depth < -0.125)
    code[nose] = CODE["nose"]

    def mean(values: Array) -> Array:
        return np.asarray(values[triangles].mean(1))

    lips = mean(surface.masks["lips"]) > 0.5
    code[lips] = np.where(height > 0.667, CODE["u_lip"], CODE["l_lip"])[lips]
    code[mean(surface.fields["mouth"]) > 0.5] = CODE["mouth"]
    ears = mean(surface.fields["ear"]) > 0.5
    code[ears] = np.where(across < 0, CODE["l_ear"], CODE["r_ear"])[ears]
    return np.asarray(code.astype(np.uint8))


def body_parts(template: Template, canonical: Array, triangles: Array) -> Array:
    """Body part (index into BODY_PARTS) of triangles, from the nearest vertex of the body."""
    key = id(template)
    if key not in _trees:
        _trees[key] = cKDTree(template.canonical[:BODY_VERTICES])
    nearest = _trees[key].query(canonical[triangles].mean(1))[1]
    return np.asarray(template.body_part[nearest].astype(np.uint8))


def part(name: str) -> int:
    """Number of a body part."""
    return BODY_PARTS.index(name)
