"""The plan of bodies, group scenes, pictures without people, things that look like faces, and presentation attacks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from countenance_people import palette
from countenance_people.attacks import KINDS as ATTACKS
from countenance_people.draw import draw_identity, draw_person, draw_shot, pick
from countenance_people.expressions import EXPRESSIONS, SMILES
from countenance_people.portraits import SIZE, SPLITS, identities, portraits, roles
from countenance_people.postures import POSTURES, STANDING
from countenance_people.spec import Identity, Person, PictureSpec, Shot, hash_seed

OBJECT_KINDS = ("still_life", "toy_animal", "blocks", "pattern", "landscape", "texture")
LOOKALIKES = ("statue", "doll", "animal", "poster")
BODY_POSTURES = tuple(name for name in POSTURES if name != "portrait")


def _stranger(name: str, seed: int, rng: np.random.Generator) -> Identity:
    return draw_identity(
        name,
        seed,
        pick(rng, palette.GENDERS),
        pick(rng, palette.AGE_GROUPS),
        int(rng.integers(1, 11)),
        pick(rng, palette.HAIR_STYLES),
        pick(rng, tuple(palette.HAIR)),
    )


def _figure(identity: Identity, rng: np.random.Generator, posture: str, place: tuple[float, float, float]) -> Person:
    person = draw_person(
        identity,
        rng,
        full_body=True,
        posture=posture,
        expression=pick(rng, ("neutral", *SMILES)) if rng.random() < 0.7 else pick(rng, tuple(EXPRESSIONS)),
        yaw=float(rng.uniform(-16, 16)),
        mask=str(rng.choice(list(palette.MASK))) if rng.random() < 0.2 else "none",
        glasses=pick(rng, palette.GLASSES[1:]) if rng.random() < 0.25 else "none",
        headwear=pick(rng, palette.HEADWEAR[1:]) if rng.random() < 0.25 else "none",
        place=place,
    )
    # A jacket hangs badly on a whole body.
    return replace(person, layer="none" if person.layer == "jacket" else person.layer)


def bodies(seed: int, count: int = 252) -> list[PictureSpec]:
    """Full figures in every posture: two thirds alone (portrait format), one third in pairs (landscape format)."""
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 31, index])
        pair = index % 3 == 2
        persons = []
        for slot in range(2 if pair else 1):
            identity = draw_identity(
                f"body{index:03d}{'ab'[slot]}",
                hash_seed(seed, 32, index, slot),
                palette.GENDERS[(index // 2 + slot) % 2],
                palette.AGE_GROUPS[(index + 2 * slot) % 4],
                1 + (index + 5 * slot) % 10,
                pick(rng, palette.HAIR_STYLES),
                pick(rng, tuple(palette.HAIR)),
            )
            posture = BODY_POSTURES[(index + 7 * slot) % len(BODY_POSTURES)]
            across = (slot - 0.5) * float(rng.uniform(0.75, 1.0)) if pair else 0.0
            turn = float(rng.uniform(-35, 35))
            persons.append(_figure(identity, rng, posture, (across, float(rng.uniform(-0.12, 0.12)), turn)))
        specs.append(
            PictureSpec(
                sample=f"bodies/b{index:03d}",
                part="bodies",
                width=448 if pair else 288,
                height=384 if pair else 448,
                split=SPLITS[index // 2 % 5],
                seed=hash_seed(seed, 33, index),
                light=palette.LIGHTS[index // 3 % 8],
                background=pick(rng, ("room", "outdoor")),
                persons=tuple(persons),
                shot=Shot(
                    distance=float(rng.uniform(4.4, 5.6)),
                    azimuth=float(rng.uniform(-12, 12)),
                    elevation=float(rng.uniform(0, 6)),
                    zoom=float(rng.uniform(1.06, 1.2)),
                    noise=0.008,
                ),
            )
        )
    return specs


def _places(rng: np.random.Generator, count: int, half_angle: float) -> list[tuple[float, float]]:
    """Positions (x, y) seen from a camera at (0, 0) that looks along +y: faces stay apart or overlap a little."""
    best: list[tuple[float, float]] = []
    best_gap = -math.inf
    for _ in range(120):
        depth = np.exp(rng.uniform(math.log(1.9), math.log(6.6), count))
        angle = (np.arange(count) + 0.5 + rng.uniform(-0.45, 0.45, count)) / count * 2 - 1
        angle = rng.permutation(angle) * half_angle * (1 - 0.14 / depth)
        gap = math.inf
        for i in range(count):
            for j in range(i):
                near, far = min(depth[i], depth[j]), max(depth[i], depth[j])
                gap = min(gap, abs(angle[i] - angle[j]) - 0.17 / near - 0.08 / far)
                if abs(near * math.tan(angle[i]) - far * math.tan(angle[j])) < 0.5 and far - near < 0.45:
                    gap -= 0.3  # two bodies in one spot
        if gap > best_gap:
            best_gap = gap
            best = [(float(d * math.tan(a)), float(d)) for d, a in zip(depth, angle, strict=True)]
    return best


def groups(seed: int, count: int = 100) -> list[PictureSpec]:
    """Group scenes: known, known-unknown and never-seen people, near and far, some turned away or half hidden."""
    people = {identity.name: identity for identity, _ in identities(seed)}
    role_of = roles(seed)
    order = np.random.default_rng([seed, 41])
    pools = {role: [n for n, r in role_of.items() if r == role] for role in ("known", "known_unknown")}
    queues: dict[str, list[str]] = {role: [] for role in pools}
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 42, index])
        size = 3 + index % 6
        half_angle = math.radians(float(rng.uniform(24, 29)))
        persons: list[Person] = []
        for slot, (x, y) in enumerate(_places(rng, size, half_angle * 0.88)):
            role = str(rng.choice(["known", "known_unknown", "unknown"], p=[0.5, 0.2, 0.3]))
            if role == "unknown":
                identity = _stranger(f"new{index:02d}{slot}", hash_seed(seed, 43, index, slot), rng)
            else:
                present = {person.identity.name for person in persons}
                if not any(n not in present for n in queues[role]):
                    queues[role] += [str(n) for n in order.permutation(pools[role])]
                name = next(n for n in queues[role] if n not in present)
                queues[role].remove(name)
                identity = people[name]
            # Most look towards the camera, which stands at the origin; one in seven is turned far away.
            away = float(rng.choice([-1, 1]) * rng.uniform(40, 75)) if rng.random() < 0.15 else float(rng.normal(0, 12))
            turn = math.degrees(math.atan2(x, y)) * -1 + away
            person = _figure(identity, rng, pick(rng, STANDING), (x, y, turn))
            persons.append(replace(person, role=role))
        specs.append(
            PictureSpec(
                sample=f"groups/g{index:02d}",
                part="groups",
                width=1024,
                height=768,
                split=SPLITS[index % 5],
                seed=hash_seed(seed, 44, index),
                light=palette.LIGHTS[index // 6 % 8],
                background=pick(rng, ("room", "outdoor")),
                persons=tuple(persons),
                shot=Shot(noise=0.008),
                extra={
                    "half_angle": half_angle,
                    "camera_height": float(rng.uniform(1.35, 1.75)),
                    "tilt": float(rng.uniform(-9, -4)),
                },
            )
        )
    return specs


def objects(seed: int, count: int = 150) -> list[PictureSpec]:
    """Pictures with nobody in them, for false alarms."""
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 51, index])
        shot = Shot(
            distance=float(rng.uniform(1.6, 2.2)),
            azimuth=float(rng.uniform(-40, 40)),
            elevation=float(rng.uniform(12, 35)),
        )
        kind = OBJECT_KINDS[index % len(OBJECT_KINDS)]
        specs.append(_still("objects", f"o{index:03d}", index, kind, hash_seed(seed, 52, index), rng, shot))
    return specs


def lookalikes(seed: int, count: int = 120) -> list[PictureSpec]:
    """Things that look like faces and are none: statues, dolls, animals, posters."""
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 61, index])
        kind = LOOKALIKES[index % len(LOOKALIKES)]
        identity = replace(_stranger(f"none{index:03d}", hash_seed(seed, 62, index), rng), beard="none")
        person = draw_person(identity, rng, expression=pick(rng, ("neutral", "slight_smile", "smile")))
        spec = _still("lookalikes", f"l{index:03d}", index, kind, hash_seed(seed, 63, index), rng, draw_shot(rng))
        specs.append(replace(spec, persons=(person,) if kind != "animal" else ()))
    return specs


def _still(part: str, name: str, index: int, kind: str, seed: int, rng: np.random.Generator, shot: Shot) -> PictureSpec:
    return PictureSpec(
        sample=f"{part}/{name}",
        part=part,
        width=SIZE,
        height=SIZE,
        split=SPLITS[index // 6 % 5],
        seed=seed,
        light=palette.LIGHTS[index // 6 % 8],
        background=pick(rng, palette.BACKGROUNDS),
        shot=shot,
        kind=kind,
    )


def attacks(seed: int, count: int = 240) -> list[PictureSpec]:
    """Portrait identities shown on paper, a phone, a tablet or as a cut-out; their portraits are the live pictures."""
    specs = []
    for index, source in zip(range(count), portraits(seed)[:count], strict=True):
        rng = np.random.default_rng([seed, 64, index])
        person = replace(source.persons[0], mask="none", headwear="none", expression=pick(rng, ("neutral", *SMILES)))
        specs.append(
            replace(
                source,
                sample=f"attacks/{person.identity.name}_{ATTACKS[(index + index // 10) % 4]}",
                part="attacks",
                seed=hash_seed(seed, 65, index),
                light=("indoor", "window", "even", "flash")[index // 4 % 4],
                persons=(replace(person, yaw=float(rng.uniform(-8, 8))),),
                shot=draw_shot(rng, zoom=1.45, distance=1.5),
                kind=ATTACKS[(index + index // 10) % 4],
                exposure="face",
            )
        )
    return specs
