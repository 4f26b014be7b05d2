"""The plan of the sets: sizes, balance, twins, and what the issue of the second edition asks for."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from countenance_people.design import largest_v
from countenance_people.expressions import EXPRESSIONS
from countenance_people.plan import CORE, CORE_TONES, PARTS, SEED, core_set, full_set, shard, small_set
from countenance_people.portraits import portraits, roles
from countenance_people.postures import POSTURES, SEATED
from countenance_people.spec import PictureSpec, from_dict
from countenance_people.twins import OFTEN, SELDOM

Plan = list[PictureSpec]
INDEPENDENT = ("skin_tone", "age_group", "gender", "hair_style", "hair_colour", "headwear", "glasses")


@pytest.fixture(scope="module")
def full() -> Plan:
    return list(full_set())


@pytest.fixture(scope="module")
def core() -> Plan:
    return core_set()


def of(plan: Plan, part: str) -> Plan:
    return [spec for spec in plan if spec.part == part]


def columns(specs: Plan) -> dict[str, list[str]]:
    """What the design keeps apart, a list per attribute."""
    result = defaultdict(list)
    for spec in specs:
        (person,) = spec.persons
        for name in INDEPENDENT:
            value = getattr(person if name in ("headwear", "glasses") else person.identity, name)
            result[name].append(str(value))
        result["mask"].append(str(person.mask != "none"))
        result["light"].append(spec.light)
        result["split"].append(spec.split)
    return result


def test_no_two_attributes_of_the_main_part_go_together(full: Plan, core: Plan) -> None:
    for plan in (full, core):
        worst, pair = largest_v(columns(of(plan, "portraits")))
        assert worst <= 0.1, pair


def test_in_the_natural_part_they_do(full: Plan) -> None:
    named = columns(of(full, "natural"))
    assert largest_v({"age": named["age_group"], "colour": named["hair_colour"]})[0] > 0.3
    assert largest_v({"gender": named["gender"], "style": named["hair_style"]})[0] > 0.3


def test_every_tone_has_sixty_people_with_four_pictures(full: Plan, core: Plan) -> None:
    pictures = Counter(spec.persons[0].identity.name for spec in of(full, "portraits"))
    assert min(pictures.values()) >= 4
    people = {spec.persons[0].identity.name: spec.persons[0].identity.skin_tone for spec in of(full, "portraits")}
    assert min(Counter(people.values()).values()) >= 60
    carried = {spec.persons[0].identity.name: spec.persons[0].identity.skin_tone for spec in of(core, "portraits")}
    assert min(Counter(carried.values()).values()) >= 60
    assert len(Counter(people.values())) == 10


def test_the_core_set_has_every_part(core: Plan) -> None:
    counts = Counter(spec.part for spec in core)
    assert set(counts) == set(PARTS)
    single = [part for part in CORE if part not in ("portraits", "twins")]
    assert [counts[part] for part in single] == [CORE[part] for part in single]
    assert len({spec.sample for spec in core}) == len(core)


def test_one_seed_gives_one_plan(core: Plan) -> None:
    full_set.cache_clear()
    portraits.cache_clear()
    assert core_set(SEED) == core
    assert portraits(1, 2) != portraits(2, 2)


def test_splits_share_no_identity(full: Plan) -> None:
    split_of = defaultdict(set)
    for spec in (*of(full, "portraits"), *of(full, "scene"), *of(full, "attacks")):
        split_of[spec.persons[0].identity.name].add(spec.split)
    assert all(len(splits) == 1 for splits in split_of.values())
    shares = Counter(next(iter(s)) for s in split_of.values())
    assert shares == {"train": 480, "validation": 160, "test": 160}


def test_a_quarter_of_the_portraits_is_masked_in_four_colours(full: Plan) -> None:
    masks = Counter(spec.persons[0].mask for spec in of(full, "portraits"))
    assert masks == {"none": 2400, "blue": 200, "white": 200, "black": 200, "pink": 200}


def undo(change: str, spec: PictureSpec, base: PictureSpec) -> PictureSpec:
    """The twin with its one change taken back."""
    mine, theirs = spec.persons[0], base.persons[0]

    def who(*fields: str) -> PictureSpec:
        back = {name: getattr(theirs.identity, name) for name in fields}
        return replace(spec, persons=(replace(mine, identity=replace(mine.identity, **back)),))

    def worn(*fields: str) -> PictureSpec:
        return replace(spec, persons=(replace(mine, **{name: getattr(theirs, name) for name in fields}),))

    def shot(*fields: str) -> PictureSpec:
        return replace(spec, shot=replace(spec.shot, **{name: getattr(base.shot, name) for name in fields}))

    return {
        "skin_tone": lambda: who("skin_tone"),
        "age": lambda: who("years"),
        "gender": lambda: who("gender", "phenotype", "face_shape", "brow", "beard", "lipstick"),
        "hair": lambda: who("hair_style"),
        "mask": lambda: worn("mask"),
        "glasses": lambda: worn("glasses"),
        "sunglasses": lambda: worn("glasses"),
        "headwear": lambda: worn("headwear"),
        "expression": lambda: worn("expression"),
        "pose": lambda: worn("yaw"),
        "light": lambda: replace(spec, light=base.light),
        "background": lambda: replace(spec, background=base.background),
        "distance": lambda: shot("distance", "zoom"),
        "blur": lambda: shot("defocus"),
        "compression": lambda: shot("jpeg"),
    }[change]()


def test_a_twin_is_its_base_with_one_thing_changed(full: Plan) -> None:
    bases = {spec.sample: spec for spec in of(full, "twins") if spec.base is None}
    for spec in of(full, "twins"):
        if spec.base is None:
            assert spec.light == "even"
            continue
        base = bases[spec.base]
        back = replace(undo(str(spec.change), spec, base), sample=base.sample, base=None, change=None)
        assert back == base
        assert replace(spec, sample=base.sample, base=None, change=None) != base


def test_every_twin_is_framed_as_its_base_is(full: Plan) -> None:
    """The camera frames a head: without this a twin of the other gender had another focal length."""
    bases = {spec.sample: spec.persons[0].identity for spec in of(full, "twins") if spec.base is None}
    assert all(spec.persons[0].framing == bases[spec.base or spec.sample] for spec in of(full, "twins"))


def test_every_change_has_enough_bases(full: Plan) -> None:
    bases = defaultdict(set)
    tones = defaultdict(set)
    for spec in of(full, "twins"):
        bases[spec.change].add(spec.base)
        if spec.change in (None, "skin_tone"):
            tones[spec.base or spec.sample].add(spec.persons[0].identity.skin_tone)
    assert min(len(bases[change]) for change in OFTEN) >= 200
    assert min(len(bases[change]) for change in SELDOM) >= 100
    assert set(map(len, tones.values())) == {5}


def test_the_core_set_has_the_skin_tones_of_more_bases(core: Plan) -> None:
    changes = Counter(spec.change for spec in of(core, "twins"))
    assert changes[None] == CORE_TONES and changes["skin_tone"] == 4 * CORE_TONES
    assert {changes[change] for change in (*OFTEN[1:], *SELDOM)} == {CORE["twins"]}


def test_bodies_take_twenty_poses_seated_and_walking(full: Plan) -> None:
    shown = {person.posture for spec in of(full, "bodies") for person in spec.persons}
    assert len(shown) >= 20 and shown <= set(POSTURES)
    assert shown & set(SEATED) and any("walk" in name for name in shown)


def test_there_are_twenty_expressions(full: Plan) -> None:
    assert len(EXPRESSIONS) >= 20
    assert {spec.persons[0].expression for spec in of(full, "portraits")} == set(EXPRESSIONS)


def test_groups_mix_known_and_unknown_people(full: Plan) -> None:
    assert Counter(roles(SEED).values()) == {"known": 40, "known_unknown": 25}
    people = {spec.persons[0].identity.name: spec.persons[0].identity for spec in of(full, "portraits")}
    for spec in of(full, "groups"):
        names = [person.identity.name for person in spec.persons]
        assert 3 <= len(names) <= 8 and len(set(names)) == len(names)
        for person in spec.persons:
            assert people.get(person.identity.name) == (None if person.role == "unknown" else person.identity)


def test_an_attack_shows_somebody_who_is_in_a_live_picture(full: Plan) -> None:
    live = {spec.persons[0].identity.name for spec in of(full, "portraits")}
    shown = of(full, "attacks")
    assert {spec.persons[0].identity.name for spec in shown} <= live
    assert set(Counter(spec.kind for spec in shown)) == {"print", "phone", "tablet", "cutout"}


def test_one_part_is_exposed_for_the_scene(full: Plan) -> None:
    by_sample = {spec.sample: spec for spec in full}
    for spec in of(full, "scene"):
        face = by_sample[spec.sample.replace("scene/", "portraits/")]
        assert (face.exposure, spec.exposure) == ("face", "scene")
        assert replace(spec, sample=face.sample, part=face.part, exposure="face") == face


def test_shards_cover_every_picture_once(core: Plan) -> None:
    names = [spec.sample for index in range(16) for spec in shard(core, index, 16)]
    assert sorted(names) == sorted(spec.sample for spec in core)


def test_a_specification_survives_the_way_to_a_child_process(full: Plan) -> None:
    for part in PARTS:
        spec = of(full, part)[-1]
        assert from_dict(spec.to_dict()) == spec


def test_a_small_set_holds_whole_people_and_every_part() -> None:
    specs = small_set(3, 8, 1)
    assert Counter(spec.part for spec in specs) == {
        "portraits": 8,
        "twins": 1 + 4 + 5 + len(SELDOM),
        **dict.fromkeys(("bodies", "groups", "objects", "lookalikes", "attacks"), 1),
    }
    assert len({spec.persons[0].identity.name for spec in of(specs, "portraits")}) == 2


def test_a_mouth_outside_the_face_box_is_skin() -> None:
    from countenance_people.labels import CODE
    from countenance_people.truth import no_mouth_outside

    label = np.zeros((8, 8), np.uint8)
    label[2, 2] = label[6, 6] = CODE["mouth"]
    label[6, 5] = CODE["nose"]
    fixed = no_mouth_outside(label, [1.0, 1.0, 4.0, 4.0])
    assert (fixed[2, 2], fixed[6, 6], fixed[6, 5]) == (CODE["mouth"], CODE["skin"], CODE["nose"])


def test_a_hood_or_headscarf_never_lies_over_a_collar(full: Plan) -> None:
    worn = [spec.persons[0] for spec in full if spec.change == "headwear"]
    assert {person.headwear for person in worn} >= {"hood", "headscarf"}
    assert all(person.layer == "none" for person in worn if person.headwear in ("hood", "headscarf"))


def test_a_twin_of_the_other_gender_differs_in_jaw_brows_and_stubble_or_lipstick(core: Plan) -> None:
    bases = {spec.sample: spec.persons[0].identity for spec in core if spec.part == "twins" and spec.base is None}
    for spec in (spec for spec in core if spec.change == "gender"):
        before, after = bases[str(spec.base)], spec.persons[0].identity
        assert after.gender != before.gender and after.seed == before.seed
        assert (after.beard == "stubble") == (after.gender == "male") and after.lipstick == (after.gender == "female")
        wider = after.face_shape["chin-width-incr"] > before.face_shape["chin-width-incr"]
        assert wider == (after.gender == "male") or abs(before.face_shape["chin-width-incr"]) > 0.5
