"""Identity in numbers: body phenotype and face shape of a person, in the body model's own parameters."""

from __future__ import annotations

import numpy as np

# Face changes that exist once.
MIDDLE = (
    "chin-height-incr", "chin-prominent-incr", "chin-width-incr", "chin-bones-incr", "chin-jaw-drop-incr",
    "chin-prognathism-incr", "eyebrows-angle-up", "eyebrows-trans-up", "eyebrows-trans-forward",
    "forehead-temple-incr", "forehead-scale-vert-incr", "forehead-nubian-incr", "forehead-trans-forward",
    "head-fat-incr", "head-scale-vert-incr", "head-scale-horiz-incr", "head-angle-out",
    "head-back-scale-depth-incr", "mouth-scale-horiz-incr", "mouth-lowerlip-height-incr",
    "mouth-upperlip-height-incr", "mouth-cupidsbow-incr", "mouth-trans-up", "mouth-lowerlip-volume-incr",
    "mouth-upperlip-volume-incr", "mouth-angles-up", "mouth-laugh-lines-out", "mouth-philtrum-volume-incr",
    "neck-scale-horiz-incr", "nose-scale-vert-incr", "nose-scale-horiz-incr", "nose-scale-depth-incr",
    "nose-hump-incr", "nose-curve-convex", "nose-point-width-incr", "nose-point-up", "nose-width1-incr",
    "nose-width2-incr", "nose-width3-incr", "nose-flaring-incr", "nose-trans-up", "nose-volume-incr",
    "nose-greek-incr", "nose-base-up", "nose-compression-uncompress", "nose-septumangle-incr",
)  # fmt: skip
# Face changes that exist left and right.
PAIRED = (
    "cheek-volume-incr", "cheek-bones-incr", "cheek-inner-incr", "cheek-trans-up", "eye-scale-incr",
    "eye-corner1-up", "eye-corner2-up", "eye-height2-incr", "eye-height1-incr", "eye-height3-incr",
    "eye-bag-incr", "eye-eyefold-up", "eye-epicanthus-out", "ear-scale-incr", "ear-wing-incr",
    "ear-lobe-incr", "eye-trans-out", "eye-trans-up", "ear-rot-forward", "eye-push1-out",
)  # fmt: skip
# Shifts of the mean: MakeHuman's women are heavy in the jaw and its children carry adult eyes and noses.
FEMALE = {
    "chin-jaw-drop-incr": -0.15, "chin-width-incr": -0.3, "chin-bones-incr": -0.2, "chin-height-incr": -0.2,
    "chin-prominent-incr": -0.15, "nose-scale-horiz-incr": -0.12, "nose-scale-vert-incr": -0.12,
    "nose-volume-incr": -0.15, "neck-scale-horiz-incr": -0.2, "eyebrows-trans-up": 0.15, "eyebrows-trans-forward": -0.2,
    "eye-scale-incr": 0.18, "mouth-lowerlip-volume-incr": 0.2, "mouth-upperlip-volume-incr": 0.2,
    "cheek-bones-incr": 0.1,
}  # fmt: skip
CHILD = {
    "eye-scale-incr": 0.45, "nose-scale-vert-incr": -0.30, "nose-scale-horiz-incr": -0.15,
    "nose-scale-depth-incr": -0.25, "nose-volume-incr": -0.2, "chin-height-incr": -0.2, "nose-point-up": 0.25,
    "chin-width-incr": -0.15, "cheek-volume-incr": 0.25, "chin-prominent-incr": -0.15, "nose-hump-incr": -0.2,
}  # fmt: skip
ADULT_SPREAD, CHILD_SPREAD = 0.40, 0.20


def draw_face_shape(rng: np.random.Generator, gender: str, years: float) -> dict[str, float]:
    """Local changes of the face: what makes two people of one age and gender look different."""
    child = years < 16
    spread = CHILD_SPREAD if child else ADULT_SPREAD
    shift: dict[str, float] = dict(FEMALE) if gender == "female" and not child else {}
    if child:
        weight = min(1.0, (17 - years) / 8)
        shift = {key: value * weight for key, value in CHILD.items()}
    shape: dict[str, float] = {}
    for key in MIDDLE:
        gentle = 0.6 if key.startswith(("head", "neck", "mouth-angles", "chin-prog", "mouth-phil")) else 1.0
        shape[key] = float(np.clip(rng.normal(shift.get(key, 0.0), spread * gentle), -0.9, 0.9))
    for key in PAIRED:
        gentle = 0.55 if "trans" in key or "push" in key or "epi" in key else 0.9
        value = float(np.clip(rng.normal(shift.get(key, 0.0), spread * gentle), -0.85, 0.85))
        for side in ("l-", "r-"):
            shape[side + key] = value + 0.05 * float(rng.normal())
    return shape


def draw_phenotype(rng: np.random.Generator, gender: str, years: float) -> dict[str, float]:
    """Body proportions; ancestry weights are independent of skin tone by design."""
    ancestry = rng.dirichlet([0.6, 0.6, 0.6])
    return {
        "gender": float(rng.uniform(0, 0.1) if gender == "male" else rng.uniform(0.92, 1)),
        "muscle": float(rng.uniform(0.35, 0.65) if gender == "male" else rng.uniform(0.3, 0.5)),
        "weight": float(np.clip(rng.normal(0.5, 0.16), 0.2, 0.9)),
        "height": float(np.clip(rng.normal(0.5, 0.12), 0.25, 0.75)),
        "proportions": float(rng.uniform(0.3, 0.6)),
        "cupsize": float(rng.uniform(0.25, 0.5)),
        "firmness": 0.6,
        "african": float(ancestry[0]),
        "asian": float(ancestry[1]),
        "caucasian": float(ancestry[2]),
    }


def model_age(years: float) -> float:
    """Years on the body model's age axis (its anchors: 1 year, 11, 25 and 90)."""
    return float(np.interp(years, [1, 11, 25, 90], [0, 1 / 3, 2 / 3, 1]))


def ageing(years: float) -> float:
    """0 for the young, 1 for the very old."""
    return float(np.clip((years - 38) / 42, 0, 1))
