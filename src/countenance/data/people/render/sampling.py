"""The specification: which pictures exist, with every parameter drawn up front. Pure numpy.

Nothing downstream draws a choice of its own: a picture is a function of its `PictureSpec`, so a twin is
its base with one field replaced. Attributes are crossed, not drawn independently, so that no two correlate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countenance.data.people.render import palette
from countenance.data.people.render.faces import draw_face_shape, draw_phenotype

SHIPPED_SEED = 20
PARTS = ("portraits", "twins", "bodies", "groups", "objects")
TWIN_TONES = (1, 3, 6, 8, 10)
AGE_RANGES = {"0_17": (5.0, 15.0), "18_30": (20.0, 30.0), "31_60": (34.0, 58.0), "61_100": (64.0, 88.0)}
SAMPLES_PER_PIXEL = {"portraits": 64, "twins": 64, "bodies": 64, "groups": 64, "objects": 64}


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
    hair: str
    hair_colour: str
    parting: float
    hair_length: float
    recede: float
    beard: float
    stubble: float
    freckles: float
    blush: float
    lipstick: bool
    seed: int

    @property
    def age_group(self) -> str:
        bounds = (18, 31, 61, np.inf)
        return palette.AGE_GROUPS[int(np.searchsorted(bounds, self.years, side="right"))]


@dataclass(frozen=True)
class Person:
    """One identity in one picture: expression, pose, what is worn, and where it stands."""

    identity: Identity
    smile: bool = False
    smile_strength: float = 0.9
    teeth: float = 0.7
    brow_raise: float = 0.1
    mask: str = "none"
    glasses: str = "none"
    frame: int = 0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    neckline: str = "crew"
    sleeve: str = "short"
    pattern: str = "plain"
    cloth: int = 0
    cloth_second: int = 1
    trousers: int = 0
    shoes: int = 0
    arm_lift: float = 28.0
    arm_swing: float = 0.0
    leg_swing: float = 0.0
    full_body: bool = False
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame_years: float | None = None
    role: str | None = None


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
    persons: tuple[Person, ...] = ()
    base: str | None = None
    change: str | None = None
    distance: float = 1.6
    azimuth: float = 0.0
    elevation: float = 2.0
    zoom: float = 1.8
    spp: int = 36
    object_kind: str = ""
    extra: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(list(key))


def _pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def draw_identity(name: str, seed: int, gender: str, age_group: str, tone: int) -> Identity:
    """A new person with the three balanced attributes given and all else drawn."""
    rng = _rng(seed, 11)
    years = float(rng.uniform(*AGE_RANGES[age_group]))
    child, old = years < 16, years > 60
    if gender == "male":
        styles = ("short", "short", "crop", "buzz", "afro", "curly", "slick", "short") + (
            () if child else ("bald", "long")
        )
    else:
        styles = ("long", "long", "bob", "wavy", "bun", "afro", "curly", "bob", "wavy", "short")
    dark = ("black", "black", "dark_brown")
    colours = dark if tone >= 7 else (*dark, "brown", "brown", "auburn", "ginger", "dark_blond", "blond")
    colour = _pick(rng, ("grey", "white", "grey", "white", colours[0])) if old else _pick(rng, colours)
    grown_man = gender == "male" and years > 19
    return Identity(
        name=name,
        gender=gender,
        years=round(years, 1),
        skin_tone=tone,
        phenotype=draw_phenotype(rng, gender, years),
        face_shape=draw_face_shape(rng, gender, years),
        iris=_pick(rng, ("brown", "dark", "dark") if tone >= 6 else tuple(palette.IRIS)),
        hair=_pick(rng, styles),
        hair_colour=colour,
        parting=float(_pick(rng, (-1, 1)) * rng.uniform(0.004, 0.03)),
        hair_length=float(rng.uniform(0, 1)),
        recede=float(rng.uniform(0, 0.028)) if gender == "male" and years > 45 else 0.0,
        beard=float(_pick(rng, (0, 0, 0, 0.3, 0.7))) if grown_man else 0.0,
        stubble=float(_pick(rng, (0.1, 0.25, 0.6))) if grown_man else 0.0,
        freckles=float(_pick(rng, (0, 0, 0.7))) if tone <= 4 else 0.0,
        blush=float(rng.uniform(0.4, 0.8)),
        lipstick=bool(gender == "female" and years > 18 and rng.random() < 0.4),
        seed=int(rng.integers(1, 2**31 - 100)),
    )


def draw_person(identity: Identity, rng: np.random.Generator, **fixed: Any) -> Person:
    """The identity in fresh clothes with a fresh expression; `fixed` overrides any field."""
    necks = ("crew", "crew", "v", "scoop") if identity.gender == "female" else ("crew", "crew", "v", "turtle")
    drawn: dict[str, Any] = {
        "smile": bool(rng.random() < 0.5),
        "smile_strength": float(rng.uniform(0.85, 1.0)),
        "teeth": float(_pick(rng, (0.5, 0.8, 1.0))),
        "brow_raise": float(rng.uniform(0, 0.3)),
        "frame": int(rng.integers(len(palette.FRAMES))),
        "yaw": float(rng.uniform(-12, 12)),
        "pitch": float(np.clip(rng.normal(0, 4), -9, 9)),
        "roll": float(np.clip(rng.normal(0, 3), -7, 7)),
        "neckline": _pick(rng, necks),
        "sleeve": _pick(rng, ("short", "long")),
        "pattern": _pick(rng, ("plain", "plain", "plain", "stripes", "check", "dots")),
        "cloth": int(rng.integers(len(palette.CLOTH))),
        "trousers": int(rng.integers(len(palette.TROUSERS))),
        "shoes": int(rng.integers(len(palette.SHOES))),
    }
    drawn["cloth_second"] = int((drawn["cloth"] + rng.integers(1, len(palette.CLOTH))) % len(palette.CLOTH))
    return Person(identity=identity, **{**drawn, **fixed})


def _portrait_frame(rng: np.random.Generator) -> dict[str, float]:
    return {
        "distance": float(rng.uniform(1.1, 2.2)),
        "azimuth": float(rng.normal(0, 2.5)),
        "elevation": float(np.clip(rng.normal(2, 4), -6, 10)),
        "zoom": float(rng.uniform(1.45, 1.95)),
    }


def identities(seed: int, count: int = 200) -> list[tuple[Identity, str]]:
    """Identities with their split, crossed over tone x age group x gender; 60/20/20 by identity.

    Of five persons of one tone and age group three train, one validates, one tests.
    """
    result = []
    for index in range(count):
        tone, rest = index % 10, index // 10
        age, repeat = rest % 4, rest // 4
        # The last two of five differ in gender; which comes first alternates over tone and age.
        female = (tone + age + repeat) % 2 == 0
        split = ("train", "train", "train", "validation", "test")[repeat % 5]
        gender = "female" if female else "male"
        name = f"id{index:03d}"
        group = palette.AGE_GROUPS[age]
        result.append((draw_identity(name, hash_seed(seed, 1, index), gender, group, tone + 1), split))
    return result


def hash_seed(*key: int) -> int:
    """One 31-bit number from several, the same on every platform."""
    return int(np.random.SeedSequence(list(key)).generate_state(1)[0] >> 1)


def _shot_plans(seed: int, count: int) -> list[tuple[int, tuple[int, int], int, int]]:
    """(masked shot, smiling shots, shot with glasses, turned shot) per identity: the full crossing, shuffled.

    Each identity gets each light once, one mask, one pair of glasses and two smiles, so nothing shot-level
    can correlate with anything identity-level; the crossing keeps the shot-level ones apart.
    """
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    plans = [(mask, pair, glasses) for mask in range(4) for pair in pairs for glasses in range(4)]
    rng = _rng(seed, 2)
    result: list[tuple[int, tuple[int, int], int, int]] = []
    while len(result) < count:
        for index in rng.permutation(len(plans)):
            mask, pair, glasses = plans[index]
            result.append((mask, pair, glasses, int(rng.integers(4))))
    return result[:count]


def portraits(seed: int, count: int = 800, first: int = 0) -> list[PictureSpec]:
    """Portraits: four shots of each identity, one per light."""
    people = identities(seed, -(-count // 4))
    plans = _shot_plans(seed, len(people))
    specs = []
    colours = tuple(palette.MASK)
    for index, ((identity, split), (mask, smiles, glasses, turned)) in enumerate(zip(people, plans, strict=True)):
        tone, cycle = index % 10, index // 10
        for shot, light in enumerate(palette.LIGHTS):
            rng = _rng(seed, 3, index, shot)
            yaw = rng.choice([-1, 1]) * (rng.uniform(18, 36) if shot == turned else rng.uniform(0, 11))
            person = draw_person(
                identity,
                rng,
                smile=shot in smiles,
                mask=colours[(tone + cycle) % 4] if shot == mask else "none",
                glasses=("round", "square")[(index // 2 + cycle) % 2] if shot == glasses else "none",
                yaw=float(yaw),
            )
            specs.append(
                PictureSpec(
                    sample=f"portraits/{identity.name}_{shot}",
                    part="portraits",
                    width=256,
                    height=256,
                    split=split,
                    seed=hash_seed(seed, 4, index, shot),
                    light=light,
                    background=_pick(rng, palette.BACKGROUNDS),
                    persons=(person,),
                    spp=SAMPLES_PER_PIXEL["portraits"],
                    **_portrait_frame(rng),  # type: ignore[arg-type]
                )
            )
    return specs[first:count]


def twins(seed: int, bases: int = 40) -> list[PictureSpec]:
    """Nine pictures per base; each differs from the base in one thing only."""
    specs = []
    for index in range(bases):
        rng = _rng(seed, 5, index)
        tone = TWIN_TONES[index % 5]
        gender = ("female", "male")[(index // 5) % 2]
        old = (index // 10) % 2 == 1
        group = "61_100" if old else "18_30"
        # Hair must suit every tone and age it will be paired with; it turns grey by age alone.
        identity = replace(
            draw_identity(f"twin{index:02d}", hash_seed(seed, 6, index), gender, group, tone),
            hair_colour=_pick(rng, ("black", "dark_brown", "brown")),
            iris=_pick(rng, ("brown", "dark", "hazel")),
            freckles=0.0,
            recede=0.0,
        )
        person = draw_person(
            identity,
            rng,
            smile=bool((index // 20) % 2),
            yaw=float(rng.uniform(-11, 11)),
            frame_years=identity.years,
        )
        base = PictureSpec(
            sample=f"twins/t{index:02d}_base",
            part="twins",
            width=256,
            height=256,
            split=("train", "train", "train", "validation", "test")[index % 5],
            seed=hash_seed(seed, 7, index),
            light=palette.LIGHTS[(index // 2) % 4],
            background=_pick(rng, palette.BACKGROUNDS),
            persons=(person,),
            spp=SAMPLES_PER_PIXEL["twins"],
            **_portrait_frame(rng),  # type: ignore[arg-type]
        )
        specs.append(base)

        def twin(
            suffix: str, change: str, changed: Person, base: PictureSpec = base, index: int = index
        ) -> PictureSpec:
            name = f"twins/t{index:02d}_{suffix}"
            return replace(base, sample=name, base=base.sample, change=change, persons=(changed,))

        for other in TWIN_TONES:
            if other != tone:
                changed = replace(person, identity=replace(identity, skin_tone=other))
                specs.append(twin(f"tone{other:02d}", "skin_tone", changed))
        specs.append(twin("smile", "smile", replace(person, smile=not person.smile)))
        specs.append(twin("maskblue", "mask", replace(person, mask="blue")))
        specs.append(twin("maskblack", "mask", replace(person, mask="black")))
        years = float(round(rng.uniform(22, 29), 1)) if old else float(round(rng.uniform(70, 85), 1))
        specs.append(twin("age", "age", replace(person, identity=replace(identity, years=years))))
    return specs


def shipped_set(seed: int = SHIPPED_SEED) -> list[PictureSpec]:
    """The whole embedded population, in a fixed order."""
    from countenance.data.people.render.scenes import bodies, groups, objects, roles

    role_of = roles(seed)
    faces = []
    for spec in portraits(seed):
        person = spec.persons[0]
        faces.append(replace(spec, persons=(replace(person, role=role_of.get(person.identity.name)),)))
    return [*faces, *twins(seed), *bodies(seed), *groups(seed), *objects(seed)]


def shard(specs: list[PictureSpec], index: int, count: int) -> Iterator[PictureSpec]:
    """Every `count`-th picture from `index`: each shard gets its share of every part."""
    yield from specs[index::count]
