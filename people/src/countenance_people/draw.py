"""Drawing what the design leaves open: face, eyes, brows, clothes, camera."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countenance_people import palette
from countenance_people.faces import draw_face_shape, draw_phenotype
from countenance_people.spec import Identity, Person, Shot

AGE_RANGES = {"0_17": (5.0, 16.0), "18_30": (19.0, 30.0), "31_60": (34.0, 59.0), "61_100": (64.0, 88.0)}


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of several, with equal chance."""
    return options[int(rng.integers(len(options)))]


def draw_identity(
    name: str, seed: int, gender: str, age_group: str, tone: int, hair_style: str, hair_colour: str, **fixed: Any
) -> Identity:
    """A new person with the balanced attributes given and all else drawn; `fixed` overrides any field."""
    rng = np.random.default_rng([seed, 11])
    years = float(rng.uniform(*AGE_RANGES[age_group]))
    man = gender == "male"
    grown_man = man and years > 19
    drawn: dict[str, Any] = {
        "phenotype": draw_phenotype(rng, gender, years),
        "face_shape": draw_face_shape(rng, gender, years),
        "iris": pick(rng, ("brown", "dark", "dark") if tone >= 7 else tuple(palette.IRIS)),
        "parting": float(pick(rng, (-1, 1)) * rng.uniform(0.002, 0.034)),
        "hair_length": float(rng.uniform(0, 1)),
        "recede": float(rng.uniform(0, 0.03)) if man and years > 40 else 0.0,
        "brow": float(rng.uniform(0.95, 1.45) if man else rng.uniform(0.7, 1.1)),
        "beard": str(rng.choice(palette.BEARDS, p=(0.46, 0.20, 0.06, 0.06, 0.11, 0.11))) if grown_man else "none",
        "freckles": float(pick(rng, (0, 0, 0, 0.5, 0.9))) if tone <= 5 else 0.0,
        "moles": int(rng.integers(0, 4)),
        "blush": float(rng.uniform(0.2, 0.8)),
        "lipstick": bool(not man and years > 17 and rng.random() < 0.35),
        "seed": int(rng.integers(1, 2**31 - 100)),
    }
    return Identity(
        name=name,
        gender=gender,
        years=round(years, 1),
        skin_tone=tone,
        hair_style=hair_style,
        hair_colour=hair_colour,
        **{**drawn, **fixed},
    )


def draw_person(identity: Identity, rng: np.random.Generator, **fixed: Any) -> Person:
    """The identity in fresh clothes; `fixed` overrides any field."""
    drawn: dict[str, Any] = {
        "strength": float(rng.uniform(0.8, 1.0)),
        "rim": pick(rng, ("round", "square", "oval")),
        "frame": int(rng.integers(len(palette.FRAMES))),
        "lens": int(rng.integers(6)),
        "headwear_colour": int(rng.integers(len(palette.CLOTH))),
        "yaw": float(rng.uniform(-12, 12)),
        "pitch": float(np.clip(rng.normal(0, 4), -9, 9)),
        "roll": float(np.clip(rng.normal(0, 3), -7, 7)),
        "neckline": pick(rng, ("crew", "crew", "v", "scoop", "turtle", "collar", "collar")),
        "layer": pick(rng, ("none", "none", "none", "jacket", "hoodie")),
        "sleeve": pick(rng, ("short", "long")),
        "pattern": pick(rng, ("plain", "plain", "plain", "stripes", "check", "dots")),
        "cloth": int(rng.integers(len(palette.CLOTH))),
        "trousers": int(rng.integers(len(palette.TROUSERS))),
        "shoes": int(rng.integers(len(palette.SHOES))),
    }
    drawn["cloth_second"] = int((drawn["cloth"] + rng.integers(1, len(palette.CLOTH))) % len(palette.CLOTH))
    person = Person(identity=identity, **{**drawn, **fixed})
    if person.headwear == "hood":
        return replace(person, layer="none", neckline="crew", pattern="plain")
    return replace(person, layer="none") if person.headwear == "headscarf" else person


def draw_shot(rng: np.random.Generator, **fixed: Any) -> Shot:
    """A camera in front of a portrait, from the length of an arm to across a room."""
    drawn: dict[str, Any] = {
        "distance": float(np.exp(rng.uniform(np.log(0.75), np.log(2.6)))),
        "azimuth": float(rng.normal(0, 2.5)),
        "elevation": float(np.clip(rng.normal(2, 4), -6, 10)),
        "zoom": float(rng.uniform(1.4, 1.9)),
        "noise": float(np.exp(rng.uniform(np.log(0.004), np.log(0.02)))),
    }
    return Shot(**{**drawn, **fixed})
