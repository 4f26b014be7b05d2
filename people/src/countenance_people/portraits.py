"""The plan of the portraits: 800 people, four pictures each, no attribute tied to another; and the natural ones."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from countenance_people import palette
from countenance_people.design import Balance, equal
from countenance_people.draw import AGE_RANGES, draw_identity, draw_person, draw_shot, pick
from countenance_people.expressions import EXPRESSIONS, SMILES
from countenance_people.spec import Identity, PictureSpec, Shot, hash_seed

PEOPLE, SHOTS, SIZE = 800, 4, 256
OFTEN = 200
"""The first people have all their pictures in the core set too, the others two."""
SPLITS = ("train", "train", "train", "validation", "test")
REST = tuple(name for name in EXPRESSIONS if name not in SMILES and name != "neutral")
CAMERAS = ("clear", "defocused", "moved", "noisy", "compressed", "small")
SHARES = {
    "light": equal(palette.LIGHTS),
    "headwear": {"none": 0.58, **dict.fromkeys(palette.HEADWEAR[1:], 0.06)},
    "glasses": {"none": 0.58, "clear": 0.18, "tinted": 0.10, "sunglasses": 0.14},
    "expression": {"neutral": 0.18, **dict.fromkeys(SMILES, 0.1125), **dict.fromkeys(REST, 0.37 / len(REST))},
    "pose": {"frontal": 0.74, "turned": 0.26},
    "background": equal(palette.BACKGROUNDS),
    "camera": {"clear": 0.75, **dict.fromkeys(CAMERAS[1:], 0.05)},
}
ROLES = {"known": 40, "known_unknown": 25}


@lru_cache(maxsize=4)
def identities(seed: int, count: int = PEOPLE) -> tuple[tuple[Identity, str], ...]:
    """Identities with their split: tone, age group and gender are crossed, hair is balanced against all three.

    Of five people of one tone and age group three train, one validates, one tests.
    """
    balance = Balance({"hair_style": equal(palette.HAIR_STYLES), "hair_colour": equal(tuple(palette.HAIR))}, seed)
    result = []
    for index in range(count):
        tone, age, repeat = index % 10, index // 10 % 4, index // 40
        row = {
            "skin_tone": str(tone + 1),
            "age_group": palette.AGE_GROUPS[age],
            "gender": palette.GENDERS[(tone + age + repeat) % 2],
            "split": SPLITS[repeat % 5],
        }
        full = balance.complete(row)
        identity = draw_identity(
            f"id{index:03d}",
            hash_seed(seed, 1, index),
            row["gender"],
            row["age_group"],
            tone + 1,
            full["hair_style"],
            full["hair_colour"],
        )
        result.append((identity, row["split"]))
    return tuple(result)


def roles(seed: int) -> dict[str, str]:
    """Role of portrait identities in the open-set task: 40 on the watch list, 25 known as unknown, over all tones."""
    drawn = np.random.default_rng([seed, 21]).permutation(OFTEN).tolist()
    order = sorted(drawn, key=lambda i: [k for k in drawn if k % 10 == i % 10].index(i))
    named = {f"id{i:03d}": "known" for i in order[: ROLES["known"]]}
    rest = order[ROLES["known"] : sum(ROLES.values())]
    return named | {f"id{i:03d}": "known_unknown" for i in rest}


def camera_shot(kind: str, rng: np.random.Generator) -> Shot:
    """A camera of a kind: what it does to the picture is recorded in numbers."""
    shot = draw_shot(rng)
    changes: dict[str, dict[str, Any]] = {
        "clear": {},
        "defocused": {"defocus": round(float(rng.uniform(0.8, 1.6)), 2)},
        "moved": {"motion": round(float(rng.uniform(2.0, 5.0)), 2)},
        "noisy": {"noise": round(float(rng.uniform(0.03, 0.06)), 4)},
        "compressed": {"jpeg": int(rng.integers(18, 36))},
        "small": {"reduce": round(float(rng.uniform(1.6, 2.4)), 2)},
    }
    return replace(shot, **changes[kind])


@lru_cache(maxsize=4)
def portraits(seed: int, count: int = PEOPLE) -> tuple[PictureSpec, ...]:
    """Portraits exposed for the face: first every person's first picture, then every second, and so on."""
    balance = Balance(SHARES, seed + 1)
    role_of = roles(seed) if count >= OFTEN else {}
    colours = tuple(palette.MASK)
    specs = []
    for shot in range(SHOTS):
        for index, (identity, split) in enumerate(identities(seed, count)):
            rng = np.random.default_rng([seed, 3, index, shot])
            repeat, age = index // 40, index // 10 % 4
            masked = shot == (repeat + age) % 4
            row = {
                "skin_tone": str(identity.skin_tone),
                "age_group": identity.age_group,
                "gender": identity.gender,
                "hair_style": identity.hair_style,
                "hair_colour": identity.hair_colour,
                "masked": str(masked),
            }
            full = balance.complete(row)
            turned = full["pose"] == "turned"
            yaw = float(rng.choice([-1, 1]) * (rng.uniform(19, 38) if turned else rng.uniform(0, 10)))
            person = draw_person(
                identity,
                rng,
                expression=full["expression"],
                mask=colours[(index + repeat // 4) % 4] if masked else "none",
                glasses=full["glasses"],
                headwear=full["headwear"],
                yaw=yaw,
                role=role_of.get(identity.name),
            )
            specs.append(
                PictureSpec(
                    sample=f"portraits/{identity.name}_{shot}",
                    part="portraits",
                    width=SIZE,
                    height=SIZE,
                    split=split,
                    seed=hash_seed(seed, 4, index, shot),
                    light=full["light"],
                    background=full["background"],
                    persons=(person,),
                    shot=camera_shot(full["camera"], rng),
                    kind=full["camera"],
                )
            )
    return tuple(specs)


def scene_exposed(seed: int, count: int = 400) -> list[PictureSpec]:
    """First pictures of portrait identities once more, exposed for the whole scene instead of the face."""
    return [
        replace(spec, sample=spec.sample.replace("portraits/", "scene/"), part="scene", exposure="scene")
        for spec in portraits(seed)[:count]
    ]


def natural_hair(rng: np.random.Generator, gender: str, years: float, tone: int) -> tuple[str, str]:
    """Hair as it goes with gender, age and tone in life."""
    if gender == "male":
        styles = ("short", "short", "crop", "buzz", "slick", "curly", *(("bald",) if years > 25 else ()))
        styles += ("afro", "locs", "buzz") if tone >= 7 else ()
    else:
        styles = ("long", "wavy", "bob", "fringe", "ponytail", "bun", "curly", "short")
        styles += ("afro", "braids", "locs") if tone >= 7 else ()
    if years > 58:
        return pick(rng, styles), pick(rng, ("grey", "white", "grey"))
    dark = ("black", "black", "dark_brown")
    return pick(rng, styles), pick(
        rng, dark if tone >= 6 else (*dark[1:], "brown", "brown", "auburn", "ginger", "blond")
    )


def natural(seed: int, people: int = 200) -> list[PictureSpec]:
    """Two pictures each of people whose hair, glasses and headwear go with who they are."""
    specs = []
    for index in range(people):
        rng = np.random.default_rng([seed, 8, index])
        tone, age = index % 10 + 1, palette.AGE_GROUPS[index // 10 % 4]
        gender = palette.GENDERS[(index + index // 10 + index // 40) % 2]
        style, colour = natural_hair(rng, gender, float(np.mean(AGE_RANGES[age])), tone)
        identity = draw_identity(f"nat{index:03d}", hash_seed(seed, 9, index), gender, age, tone, style, colour)
        old = identity.years > 45
        for shot in range(2):
            headwear = pick(rng, ("cap", "beanie", "hat") if gender == "male" else ("headscarf", "hat", "beanie"))
            person = draw_person(
                identity,
                rng,
                expression=pick(rng, ("neutral", *SMILES)),
                glasses="clear" if rng.random() < (0.5 if old else 0.15) else "none",
                headwear=headwear if rng.random() < 0.15 else "none",
            )
            specs.append(
                PictureSpec(
                    sample=f"natural/{identity.name}_{shot}",
                    part="natural",
                    width=SIZE,
                    height=SIZE,
                    split=SPLITS[index // 40 % 5],
                    seed=hash_seed(seed, 10, index, shot),
                    light=pick(rng, ("indoor", "window", "sun", "even", "flash")),
                    background=pick(rng, palette.BACKGROUNDS),
                    persons=(person,),
                    shot=camera_shot("clear", rng),
                )
            )
    return specs
