"""Which pictures exist: the full set, and the core set that the package carries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from countenance_people.portraits import OFTEN, PEOPLE, SHOTS, natural, portraits, scene_exposed
from countenance_people.scenes import attacks, bodies, groups, lookalikes, objects
from countenance_people.spec import PictureSpec
from countenance_people.twins import twins

SEED = 24
PARTS = ("portraits", "twins", "bodies", "groups", "objects", "natural", "scene", "lookalikes", "attacks")
CORE = {
    "portraits": 600,
    "twins": 40,
    "bodies": 84,
    "groups": 60,
    "objects": 120,
    "natural": 80,
    "scene": 80,
    "lookalikes": 40,
    "attacks": 40,
}
"""How many of each part the core set takes from the front (of portraits: people, of twins: bases with every change)."""
CORE_TONES = 160
"""Bases of twins whose skin tones the core set takes; of those after the first 40 it takes nothing else."""


@lru_cache(maxsize=2)
def full_set(seed: int = SEED) -> tuple[PictureSpec, ...]:
    """Every picture, part by part."""
    return (
        *portraits(seed),
        *twins(seed),
        *bodies(seed),
        *groups(seed),
        *objects(seed),
        *natural(seed),
        *scene_exposed(seed),
        *lookalikes(seed),
        *attacks(seed),
    )


def in_core(spec: PictureSpec, number: int) -> bool:
    """Whether the core set has a picture, which is number `number` of its part."""
    if spec.part == "portraits":
        shot, index = divmod(number, PEOPLE)
        return index < CORE["portraits"] and (shot < 2 or index < OFTEN)
    if spec.part == "twins":
        base = int(spec.sample[7:10])
        return base < CORE["twins"] or (base < CORE_TONES and spec.change in (None, "skin_tone"))
    return number < CORE[spec.part]


def core_set(seed: int = SEED) -> list[PictureSpec]:
    """The pictures that the package carries."""
    chosen, number = [], dict.fromkeys(PARTS, 0)
    for spec in full_set(seed):
        if in_core(spec, number[spec.part]):
            chosen.append(spec)
        number[spec.part] += 1
    return chosen


def small_set(seed: int, portrait_count: int, scene_count: int) -> list[PictureSpec]:
    """Portraits of new people, and as many pictures of every other part (of twins: bases) as asked."""
    people = -(-portrait_count // SHOTS)
    # Every picture of a person follows the one before: a prefix holds whole people.
    faces = sorted(portraits(seed, people), key=lambda spec: spec.sample) if people else []
    chosen = faces[:portrait_count]
    if scene_count:
        for part in (bodies, groups, objects, lookalikes, attacks):
            chosen += islice(part(seed), scene_count)
        chosen += twins(seed, scene_count)
    return chosen


def shard(specs: list[PictureSpec], index: int, count: int) -> Iterator[PictureSpec]:
    """Every `count`-th picture from `index`: each shard gets its share of every part."""
    yield from specs[index::count]
