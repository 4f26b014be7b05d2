"""What a picture is made of: an identity, a person in one picture, a picture. Every choice is a field.

Nothing downstream draws a choice of its own: a picture is a function of its `PictureSpec`, so a twin is its base with
one field replaced.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countenance_people import palette


@dataclass(frozen=True)
class Identity:
    """What stays with a person over every picture."""

    name: str
    gender: str
    years: float
    skin_tone: int
    phenotype: dict[str, float]
    face_shape: dict[str, float]
    iris: str
    hair_style: str
    hair_colour: str
    parting: float
    hair_length: float
    recede: float
    brow: float
    beard: str
    freckles: float
    moles: int
    blush: float
    lipstick: bool
    seed: int

    @property
    def age_group(self) -> str:
        """The group of the age in years."""
        bounds = (18, 31, 61, np.inf)
        return palette.AGE_GROUPS[int(np.searchsorted(bounds, self.years, side="right"))]


@dataclass(frozen=True)
class Person:
    """One identity in one picture: expression, pose, what is worn, and where it stands."""

    identity: Identity
    expression: str = "neutral"
    strength: float = 1.0
    mask: str = "none"
    glasses: str = "none"
    rim: str = "round"
    frame: int = 0
    lens: int = 0
    headwear: str = "none"
    headwear_colour: int = 0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    neckline: str = "crew"
    layer: str = "none"
    sleeve: str = "short"
    pattern: str = "plain"
    cloth: int = 0
    cloth_second: int = 1
    trousers: int = 0
    shoes: int = 0
    posture: str = "portrait"
    full_body: bool = False
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    framing: Identity | None = None  # whose head the camera frames, where it is not this one's
    role: str | None = None


@dataclass(frozen=True)
class Shot:
    """The camera: where it stands and what it does to the picture."""

    distance: float = 1.6
    azimuth: float = 0.0
    elevation: float = 2.0
    zoom: float = 1.8
    defocus: float = 0.0  # radius of the blur in pixels
    motion: float = 0.0  # length of the smear in pixels
    noise: float = 0.004  # standard deviation at mid grey, of 1
    reduce: float = 1.0  # the picture is taken this many times smaller and enlarged again
    jpeg: int = 100  # quality it was once stored with; 100 is not compressed


@dataclass(frozen=True)
class PictureSpec:
    """Everything that makes one picture."""

    sample: str
    part: str
    width: int
    height: int
    split: str
    seed: int
    light: str
    background: str
    exposure: str = "face"
    persons: tuple[Person, ...] = ()
    base: str | None = None
    change: str | None = None
    shot: Shot = Shot()
    kind: str = ""
    extra: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a child process."""
        return dataclasses.asdict(self)


def from_dict(plan: dict[str, Any]) -> PictureSpec:
    """The inverse of `PictureSpec.to_dict`."""
    persons = []
    for person in plan["persons"]:
        framing = person["framing"]
        parts = {
            "identity": Identity(**person["identity"]),
            "framing": None if framing is None else Identity(**framing),
            "place": tuple(person["place"]),
        }
        persons.append(Person(**{**person, **parts}))
    return PictureSpec(**{**plan, "persons": tuple(persons), "shot": Shot(**plan["shot"])})


def hash_seed(*key: int) -> int:
    """One 31-bit number from several, the same on every platform."""
    return int(np.random.SeedSequence(list(key)).generate_state(1)[0] >> 1)
