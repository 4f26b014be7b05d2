"""The plan of the twins: a base, and pictures that differ from it in one thing only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countenance_people import palette
from countenance_people.draw import draw_identity, draw_person, draw_shot, pick
from countenance_people.expressions import EXPRESSIONS, SMILES
from countenance_people.faces import FEMALE, LIMIT
from countenance_people.portraits import SIZE, SPLITS
from countenance_people.spec import Identity, Person, PictureSpec, hash_seed

BASES = 200
TONES = (1, 3, 6, 8, 10)
OFTEN = ("skin_tone", "age", "gender", "mask", "light", "glasses")
"""Changes that every base has; the others every second one."""
SELDOM = (
    "expression",
    "sunglasses",
    "headwear",
    "hair",
    "background",
    "pose",
    "distance",
    "blur",
    "compression",
)
HAIR = tuple(style for style in palette.HAIR_STYLES if style != "bald")


def base_of(seed: int, index: int) -> PictureSpec:
    """The picture that the others differ from: even light, fixed exposure, nothing worn."""
    rng = np.random.default_rng([seed, 5, index])
    gender, old = palette.GENDERS[index // 5 % 2], index // 10 % 2 == 1
    identity = draw_identity(
        f"twin{index:03d}",
        hash_seed(seed, 6, index),
        gender,
        "61_100" if old else "18_30",
        TONES[index % 5],
        pick(rng, HAIR),
        pick(rng, ("black", "dark_brown", "brown")),
        iris=pick(rng, ("brown", "dark", "hazel")),
        freckles=0.0,
        recede=0.0,
        beard="none",
        lipstick=False,
    )
    person = draw_person(
        identity,
        rng,
        expression="neutral" if index // 20 % 2 else "smile",
        yaw=float(rng.uniform(-9, 9)),
        framing=identity,
    )
    return PictureSpec(
        sample=f"twins/t{index:03d}_base",
        part="twins",
        width=SIZE,
        height=SIZE,
        split=SPLITS[index % 5],
        seed=hash_seed(seed, 7, index),
        light="even",
        background=pick(rng, ("plain", "studio", "blur", "room")),
        exposure="fixed",
        persons=(person,),
        shot=draw_shot(rng, distance=1.6, zoom=float(rng.uniform(1.45, 1.75)), noise=0.004),
    )


def other_gender(identity: Identity) -> Identity:
    """The person with the other gender expression: the body model's axis, jaw and lips, brows, stubble or lipstick."""
    body = {**identity.phenotype, "gender": 1 - identity.phenotype["gender"]}
    male = identity.gender == "female"
    face = dict(identity.face_shape)
    for key, shift in FEMALE.items():
        for name in (key, f"l-{key}", f"r-{key}"):
            if name in face:
                face[name] = float(np.clip(face[name] + (-shift if male else shift), -LIMIT, LIMIT))
    return replace(
        identity,
        gender="male" if male else "female",
        phenotype=body,
        face_shape=face,
        brow=identity.brow * (1.35 if male else 1 / 1.35),
        beard="stubble" if male else "none",
        lipstick=not male,
    )


def other_headwear(person: Person, index: int) -> str:
    """A headwear that fits: a hood or a headscarf does not lie over the collar of a jacket or pullover."""
    options = [name for name in palette.HEADWEAR[1:] if person.layer == "none" or name not in ("hood", "headscarf")]
    planned = palette.HEADWEAR[1 + index % 7]
    return planned if planned in options else options[index % len(options)]


def changed(base: PictureSpec, change: str, index: int, rng: np.random.Generator) -> dict[str, PictureSpec]:
    """Pictures that differ from a base in one thing, by the end of their name."""
    (person,) = base.persons
    identity = person.identity

    def who(**fields: Any) -> PictureSpec:
        return replace(base, persons=(replace(person, identity=replace(identity, **fields)),))

    def worn(**fields: Any) -> PictureSpec:
        return replace(base, persons=(replace(person, **fields),))

    young = identity.years < 45
    years = float(round(rng.uniform(70, 85) if young else rng.uniform(22, 29), 1))
    turn = float(np.sign(person.yaw or 1) * rng.uniform(28, 38))
    smiling = person.expression in SMILES
    looks = [name for name in EXPRESSIONS if (name in SMILES) != smiling and name != person.expression]
    colours = tuple(palette.MASK)
    lights = palette.LIGHTS[1:]
    plans = {
        "age": lambda: {"age": who(years=years)},
        "gender": lambda: {"gender": replace(base, persons=(replace(person, identity=other_gender(identity)),))},
        "mask": lambda: {"mask": worn(mask=colours[index % 4])},
        "light": lambda: {"light": replace(base, light=lights[index % len(lights)])},
        "glasses": lambda: {"glasses": worn(glasses="clear")},
        "expression": lambda: {
            "expression": worn(expression="smile" if index % 2 and not smiling else pick(rng, looks))
        },
        "sunglasses": lambda: {"sunglasses": worn(glasses="sunglasses")},
        "headwear": lambda: {"headwear": worn(headwear=other_headwear(person, index))},
        "hair": lambda: {"hair": who(hair_style=pick(rng, [style for style in HAIR if style != identity.hair_style]))},
        "background": lambda: {"background": replace(base, background="outdoor")},
        "pose": lambda: {"pose": worn(yaw=turn)},
        "distance": lambda: {"distance": _shot(base, zoom=base.shot.zoom * 3.2, distance=base.shot.distance * 3.2)},
        "blur": lambda: {"blur": _shot(base, defocus=3.0)},
        "compression": lambda: {"compression": _shot(base, jpeg=10)},
    }
    if change == "skin_tone":
        return {f"tone{tone:02d}": who(skin_tone=tone) for tone in TONES if tone != identity.skin_tone}
    return plans[change]()


def _shot(base: PictureSpec, **fields: Any) -> PictureSpec:
    return replace(base, shot=replace(base.shot, **fields))


def twins(seed: int, bases: int = BASES) -> list[PictureSpec]:
    """Every base with its pictures; half of the bases have the seldom changes too."""
    specs = []
    for index in range(bases):
        base = base_of(seed, index)
        rng = np.random.default_rng([seed, 12, index])
        specs.append(base)
        # The core set takes the first bases, which have every change.
        seldom = SELDOM if index < BASES // 2 else ()
        for change in (*OFTEN, *seldom):
            for name, spec in changed(base, change, index, rng).items():
                sample = base.sample.removesuffix("base") + name
                specs.append(replace(spec, sample=sample, base=base.sample, change=change))
    return specs
