"""The specification of the shipped population."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("scipy")

from countenance.data.people.checks import correlation
from countenance.data.people.render.engine import spec_from_dict
from countenance.data.people.render.sampling import PictureSpec, portraits, shard, shipped_set
from countenance.data.people.render.scenes import roles


@pytest.fixture(scope="module")
def plan() -> list[PictureSpec]:
    return shipped_set()


def test_the_plan_holds_exactly_the_shipped_parts(plan: list[PictureSpec]) -> None:
    assert Counter(spec.part for spec in plan) == {
        "portraits": 800, "twins": 360, "bodies": 90, "groups": 64, "objects": 120,
    }  # fmt: skip
    assert len({spec.sample for spec in plan}) == len(plan)


def test_one_seed_gives_one_plan(plan: list[PictureSpec]) -> None:
    assert shipped_set() == plan
    assert portraits(1, 8) != portraits(2, 8)


def test_portrait_attributes_do_not_correlate(plan: list[PictureSpec]) -> None:
    rows = [(spec, spec.persons[0]) for spec in plan if spec.part == "portraits"]
    worst, pair = correlation(
        {
            "skin_tone": [str(p.identity.skin_tone) for _, p in rows],
            "gender": [p.identity.gender for _, p in rows],
            "age_group": [p.identity.age_group for _, p in rows],
            "smile": [str(p.smile) for _, p in rows],
            "mask": [str(p.mask != "none") for _, p in rows],
            "glasses": [str(p.glasses != "none") for _, p in rows],
            "light": [spec.light for spec, _ in rows],
            "split": [spec.split for spec, _ in rows],
        }
    )
    assert worst < 0.1, pair


def test_splits_share_no_identity(plan: list[PictureSpec]) -> None:
    split_of: dict[str, set[str]] = {}
    for spec in plan:
        if spec.part == "portraits":
            split_of.setdefault(spec.persons[0].identity.name, set()).add(spec.split)
    assert len(split_of) == 200
    assert all(len(splits) == 1 for splits in split_of.values())
    assert Counter(next(iter(s)) for s in split_of.values()) == {"train": 120, "validation": 40, "test": 40}


def test_a_quarter_of_the_portraits_is_masked_in_four_colours(plan: list[PictureSpec]) -> None:
    masks = Counter(spec.persons[0].mask for spec in plan if spec.part == "portraits")
    assert masks == {"none": 600, "blue": 50, "white": 50, "black": 50, "pink": 50}


def test_a_twin_is_its_base_with_one_thing_changed(plan: list[PictureSpec]) -> None:
    base_of = {spec.sample: spec for spec in plan if spec.part == "twins" and spec.base is None}
    assert len(base_of) == 40
    assert Counter(spec.persons[0].identity.gender for spec in base_of.values()) == {"female": 20, "male": 20}
    for spec in plan:
        if spec.base is None:
            continue
        base = base_of[spec.base]
        mine, theirs = spec.persons[0], base.persons[0]
        undone = {
            "skin_tone": replace(mine, identity=replace(mine.identity, skin_tone=theirs.identity.skin_tone)),
            "age": replace(mine, identity=replace(mine.identity, years=theirs.identity.years)),
            "smile": replace(mine, smile=theirs.smile),
            "mask": replace(mine, mask=theirs.mask),
        }[str(spec.change)]
        assert mine != theirs
        assert undone == theirs
        assert replace(spec, sample=base.sample, base=None, change=None, persons=base.persons) == base


def test_groups_mix_known_and_unknown_people(plan: list[PictureSpec]) -> None:
    named = Counter(roles(20).values())
    assert named == {"known": 40, "known_unknown": 25}
    groups = [spec for spec in plan if spec.part == "groups"]
    assert all(3 <= len(spec.persons) <= 8 for spec in groups)
    people = {spec.persons[0].identity.name: spec.persons[0].identity for spec in plan if spec.part == "portraits"}
    for spec in groups:
        names = [person.identity.name for person in spec.persons]
        assert len(set(names)) == len(names)
        for person in spec.persons:
            if person.role == "unknown":
                assert person.identity.name not in people
            else:
                assert people[person.identity.name] == person.identity


def test_shards_cover_every_picture_once(plan: list[PictureSpec]) -> None:
    found = [spec.sample for index in range(16) for spec in shard(plan, index, 16)]
    assert sorted(found) == sorted(spec.sample for spec in plan)


def test_a_specification_survives_the_way_to_a_child_process(plan: list[PictureSpec]) -> None:
    for spec in (plan[0], plan[900], plan[1200], plan[-100], plan[-1]):
        assert spec_from_dict(spec.to_dict()) == spec
