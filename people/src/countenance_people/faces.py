"""Identity in numbers: body phenotype and face shape of a person, in the body model's own parameters."""

from __future__ import annotations

import numpy as np

# Face changes that exist once.
MIDDLE = (
    "chin-height-incr",
    "chin-prominent-incr",
    "chin-width-incr",
    "chin-bones-incr",
    "chin-jaw-drop-incr",
    "chin-prognathism-incr",
    "eyebrows-angle-up",
    "eyebrows-trans-up",
    "eyebrows-trans-forward",
    "forehead-temple-incr",
    "forehead-scale-vert-incr",
    "forehead-nubian-incr",
    "forehead-trans-forward",
    "head-fat-incr",
    "head-scale-horiz-incr",
    "head-back-scale-depth-incr",
    "mouth-scale-horiz-incr",
    "mouth-lowerlip-height-incr",
    "mouth-upperlip-height-incr",
    "mouth-cupidsbow-incr",
    "mouth-trans-up",
    "mouth-lowerlip-volume-incr",
    "mouth-upperlip-volume-incr",
    "mouth-angles-up",
    "mouth-laugh-lines-out",
    "mouth-philtrum-volume-incr",
    "neck-scale-horiz-incr",
    "nose-scale-vert-incr",
    "nose-scale-horiz-incr",
    "nose-scale-depth-incr",
    "nose-hump-incr",
    "nose-curve-convex",
    "nose-point-width-incr",
    "nose-point-up",
    "nose-width1-incr",
    "nose-width2-incr",
    "nose-width3-incr",
    "nose-flaring-incr",
    "nose-trans-up",
    "nose-volume-incr",
    "nose-greek-incr",
    "nose-base-up",
    "nose-compression-uncompress",
    "nose-septumangle-incr",
)
# Face changes that exist left and right.
PAIRED = (
    "cheek-volume-incr",
    "cheek-bones-incr",
    "cheek-inner-incr",
    "cheek-trans-up",
    "eye-scale-incr",
    "eye-corner1-up",
    "eye-corner2-up",
    "eye-height2-incr",
    "eye-height1-incr",
    "eye-height3-incr",
    "eye-bag-incr",
    "eye-eyefold-up",
    "eye-epicanthus-out",
    "ear-scale-incr",
    "ear-wing-incr",
    "ear-lobe-incr",
    "eye-trans-out",
    "eye-trans-up",
    "ear-rot-forward",
    "eye-push1-out",
)
# How much of the full spread a change gets. The skull's own changes are small: more makes eggs and boxes of it.
GENTLE = {
    "head-scale-horiz-incr": 0.45,
    "forehead-scale-vert-incr": 0.2,
    "forehead-temple-incr": 0.5,
    "forehead-nubian-incr": 0.35,
    "forehead-trans-forward": 0.4,
    "head-back-scale-depth-incr": 0.4,
    "neck-scale-horiz-incr": 0.5,
    "mouth-angles-up": 0.45,
    "mouth-philtrum-volume-incr": 0.5,
    "mouth-trans-up": 0.5,
    "chin-prognathism-incr": 0.4,
    "chin-jaw-drop-incr": 0.5,
    "chin-height-incr": 0.7,
    "nose-hump-incr": 0.7,
    "nose-trans-up": 0.5,
    "nose-compression-uncompress": 0.6,
    "nose-point-up": 0.7,
    "eye-trans-out": 0.55,
    "eye-trans-up": 0.5,
    "eye-push1-out": 0.5,
    "eye-epicanthus-out": 0.6,
    "cheek-trans-up": 0.6,
    "eye-scale-incr": 0.6,
    "ear-wing-incr": 0.7,
}
# Shifts of the mean: MakeHuman's women are heavy in the jaw.
FEMALE = {
    "chin-jaw-drop-incr": -0.12,
    "chin-width-incr": -0.25,
    "chin-bones-incr": -0.15,
    "chin-height-incr": -0.12,
    "nose-scale-horiz-incr": -0.08,
    "nose-volume-incr": -0.12,
    "neck-scale-horiz-incr": -0.15,
    "eyebrows-trans-forward": -0.2,
    "eye-scale-incr": 0.12,
    "mouth-lowerlip-volume-incr": 0.15,
    "mouth-upperlip-volume-incr": 0.12,
}
SPREAD, CHILD_SPREAD, LIMIT = 0.34, 0.18, 0.75


def draw_face_shape(rng: np.random.Generator, gender: str, years: float) -> dict[str, float]:
    """Local changes of the face: what makes two people of one age and gender look different."""
    spread = float(np.interp(years, [8, 17], [CHILD_SPREAD, SPREAD]))
    grown = float(np.interp(years, [13, 18], [0, 1]))
    shift = {key: value * grown for key, value in FEMALE.items()} if gender == "female" else {}

    def draw(key: str) -> float:
        return float(np.clip(rng.normal(shift.get(key, 0.0), spread * GENTLE.get(key, 1.0)), -LIMIT, LIMIT))

    shape = {key: draw(key) for key in MIDDLE}
    for key in PAIRED:
        value = draw(key)
        for side in ("l-", "r-"):
            shape[side + key] = value + 0.04 * float(rng.normal())
    return shape


def draw_phenotype(rng: np.random.Generator, gender: str, years: float) -> dict[str, float]:
    """Body proportions; ancestry weights are independent of skin tone by design."""
    ancestry = rng.dirichlet([0.6, 0.6, 0.6])
    male = gender == "male"
    return {
        "gender": float(rng.uniform(0, 0.12) if male else rng.uniform(0.90, 1)),
        "muscle": float(rng.uniform(0.4, 0.65) if male else rng.uniform(0.35, 0.52)),
        "weight": float(np.clip(rng.normal(0.5, 0.15), 0.25, 0.85)),
        "height": float(np.clip(rng.normal(0.5, 0.12), 0.25, 0.75)),
        "proportions": float(rng.uniform(0.35, 0.6)),
        "cupsize": float(rng.uniform(0.25, 0.5)),
        "firmness": 0.6,
        "african": float(ancestry[0]),
        "asian": float(ancestry[1]),
        "caucasian": float(ancestry[2]),
    }


def model_age(years: float) -> float:
    """Years on the body model's age axis (its anchors: 1 year, 11, 25 and 90); it ages slowly before 60."""
    return float(np.interp(years, [1, 11, 25, 45, 62, 85], [0, 1 / 3, 2 / 3, 0.74, 0.86, 1.0]))


def ageing(years: float) -> float:
    """0 for the young, 1 for the very old."""
    return float(np.clip((years - 34) / 44, 0, 1))
