"""The specification of bodies, group scenes and pictures without people."""

from __future__ import annotations

import math

import numpy as np

from countenance.data.people.render import palette
from countenance.data.people.render.sampling import (
    SAMPLES_PER_PIXEL,
    Identity,
    Person,
    PictureSpec,
    draw_identity,
    draw_person,
    hash_seed,
    identities,
)

WATCHLIST, KNOWN_UNKNOWNS = 40, 25
SPLITS = ("train", "train", "train", "validation", "test")
OBJECT_KINDS = ("still_life", "animal", "blocks", "pattern", "landscape", "texture")


def roles(seed: int) -> dict[str, str]:
    """Role of portrait identities in the open-set task: 40 on the watchlist, 25 known as unknown."""
    order = np.random.default_rng([seed, 21]).permutation(200)
    # Ten tones in turn, so the watchlist is balanced too.
    order = np.array(sorted(order.tolist(), key=lambda i: [k for k in order if k % 10 == i % 10].index(i)))
    named = {f"id{i:03d}": "known" for i in order[:WATCHLIST]}
    named.update({f"id{i:03d}": "known_unknown" for i in order[WATCHLIST : WATCHLIST + KNOWN_UNKNOWNS]})
    return named


def _stranger(name: str, seed: int, rng: np.random.Generator) -> Identity:
    gender = ("female", "male")[int(rng.integers(2))]
    group = palette.AGE_GROUPS[int(rng.integers(4))]
    return draw_identity(name, seed, gender, group, int(rng.integers(1, 11)))


def _standing(identity: Identity, rng: np.random.Generator, place: tuple[float, float, float]) -> Person:
    return draw_person(
        identity,
        rng,
        full_body=True,
        yaw=float(rng.uniform(-14, 14)),
        mask=str(rng.choice(list(palette.MASK))) if rng.random() < 0.2 else "none",
        glasses=str(rng.choice(["round", "square"])) if rng.random() < 0.2 else "none",
        arm_lift=float(rng.uniform(32, 42)),
        arm_swing=float(rng.uniform(-16, 16)),
        leg_swing=float(rng.uniform(-10, 10)),
        place=place,
    )


def bodies(seed: int, count: int = 90) -> list[PictureSpec]:
    """Full figures: two thirds alone (portrait format), one third in pairs (landscape format)."""
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 31, index])
        pair = index % 3 == 2
        persons = []
        for slot in range(2 if pair else 1):
            number = 2 * index + slot
            identity = draw_identity(
                f"body{index:02d}{'ab'[slot]}",
                hash_seed(seed, 32, index, slot),
                ("female", "male")[number % 2 if pair else (index // 3 * 2 + index % 3) % 2],
                palette.AGE_GROUPS[(index + 2 * slot) % 4],
                1 + (index + 5 * slot) % 10,
            )
            across = (slot - 0.5) * float(rng.uniform(0.6, 0.85)) if pair else float(rng.uniform(-0.08, 0.08))
            turn = float(rng.uniform(-25, 25))
            persons.append(_standing(identity, rng, (across, float(rng.uniform(-0.12, 0.12)), turn)))
        specs.append(
            PictureSpec(
                sample=f"bodies/b{index:02d}",
                part="bodies",
                width=448 if pair else 288,
                height=384 if pair else 448,
                split=SPLITS[index // 2 % 5],
                seed=hash_seed(seed, 33, index),
                light=palette.LIGHTS[(index // 3) % 4],
                background=("room", "outdoor")[int(rng.integers(2))],
                persons=tuple(persons),
                distance=float(rng.uniform(4.4, 5.6)),
                azimuth=float(rng.uniform(-12, 12)),
                elevation=float(rng.uniform(0, 6)),
                zoom=float(rng.uniform(1.06, 1.2)),
                spp=SAMPLES_PER_PIXEL["bodies"],
            )
        )
    return specs


def _places(rng: np.random.Generator, count: int, half_angle: float) -> list[tuple[float, float]]:
    """Positions (x, y) seen from a camera at (0, 0) that looks along +y, spread so that faces stay apart."""
    best: list[tuple[float, float]] = []
    best_gap = -math.inf
    for _ in range(300):
        depth = np.exp(rng.uniform(math.log(1.9), math.log(6.0), count))
        angle = (np.arange(count) + 0.5 + rng.uniform(-0.35, 0.35, count)) / count * 2 - 1
        angle = rng.permutation(angle) * half_angle * (1 - 0.14 / depth)
        gap = math.inf
        for i in range(count):
            for j in range(i):
                near, far = min(depth[i], depth[j]), max(depth[i], depth[j])
                gap = min(gap, abs(angle[i] - angle[j]) - 0.24 / near - 0.10 / far)
                if abs(near * math.tan(angle[i]) - far * math.tan(angle[j])) < 0.5 and far - near < 0.45:
                    gap -= 0.3  # two bodies in one spot
        if gap > best_gap:
            best_gap = gap
            best = [(float(d * math.tan(a)), float(d)) for d, a in zip(depth, angle, strict=True)]
    return best


def groups(seed: int, count: int = 64) -> list[PictureSpec]:
    """Group scenes: known, known-unknown and never-seen persons at several distances."""
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
            # Most look towards the camera, which stands at the origin.
            turn = math.degrees(math.atan2(x, y)) * -1 + float(rng.normal(0, 12))
            person = _standing(identity, rng, (x, y, turn))
            persons.append(Person(**{**person.__dict__, "role": role}))
        specs.append(
            PictureSpec(
                sample=f"groups/g{index:02d}",
                part="groups",
                width=1024,
                height=768,
                split=SPLITS[index % 5],
                seed=hash_seed(seed, 44, index),
                light=palette.LIGHTS[(index // 6) % 4],
                background=("room", "outdoor")[int(rng.integers(2))],
                persons=tuple(persons),
                spp=SAMPLES_PER_PIXEL["groups"],
                extra={
                    "half_angle": half_angle,
                    "camera_height": float(rng.uniform(1.35, 1.75)),
                    "tilt": float(rng.uniform(-9, -4)),
                },
            )
        )
    return specs


def objects(seed: int, count: int = 120) -> list[PictureSpec]:
    """Pictures with nobody in them, for false alarms."""
    specs = []
    for index in range(count):
        rng = np.random.default_rng([seed, 51, index])
        kind = OBJECT_KINDS[index % len(OBJECT_KINDS)]
        specs.append(
            PictureSpec(
                sample=f"objects/o{index:03d}",
                part="objects",
                width=256,
                height=256,
                split=SPLITS[index // 6 % 5],
                seed=hash_seed(seed, 52, index),
                light=palette.LIGHTS[(index // 6) % 4],
                background=palette.BACKGROUNDS[int(rng.integers(5))],
                azimuth=float(rng.uniform(-40, 40)),
                elevation=float(rng.uniform(12, 35)),
                distance=float(rng.uniform(1.6, 2.2)),
                spp=SAMPLES_PER_PIXEL["objects"],
                object_kind=kind,
            )
        )
    return specs
