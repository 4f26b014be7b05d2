"""What is measured on a picture: outside of people, cheap, and where the pixels are."""

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from countenance.data import Subject, load_dataset
from countenance.data import conditions as module
from countenance.data.conditions import COLUMNS, OF_PICTURE, Conditions
from countenance.data.points import jpeg_quality, point_pixels

PERSON = Subject("ann", person_box=np.array([60.0, 20, 140, 200]), face_box=np.array([80.0, 30, 120, 80]))


def measured(pixels, subjects=(), about=None, content=b""):
    """The columns of a row about a person, or about a picture; None where a value is not known."""
    conditions = Conditions()
    conditions.add("a", subjects, point_pixels(pixels, content))
    return values_of(conditions, "a", about)


def values_of(conditions, sample, about):
    columns = conditions.columns([sample], [about])
    return {name: None if np.isnan(column[0]) else float(column[0]) for name, column in columns.items()}


def scene(surroundings, person, noise=0.0):
    r = np.random.default_rng(0)
    pixels = np.full((200, 200, 3), surroundings, dtype=float)
    pixels[20:200, 60:140] = person
    return np.clip(pixels + r.normal(0, noise, pixels.shape), 0, 255).astype(np.uint8)


def test_light_is_that_of_the_surroundings_and_not_of_the_person():
    dark, light = (measured(scene(120, tone), [PERSON]) for tone in (30, 220))
    for name in ("img.brightness", "img.contrast", "img.cast", "img.noise"):
        assert dark[name] == pytest.approx(light[name], abs=1e-3)
    assert dark["img.brightness"] == pytest.approx(120, abs=0.5)
    faces = [measured(scene(120, tone), [PERSON])["img.face.brightness"] for tone in (30, 220)]
    assert faces == pytest.approx([30, 220], abs=1)


def test_each_condition_moves_what_it_is_called_after():
    usual = measured(scene(120, 90, 3), [PERSON])
    assert measured(scene(200, 90, 3), [PERSON])["img.brightness"] > usual["img.brightness"] + 60
    assert measured(scene((180, 120, 90), 90), [PERSON])["img.cast"] > 0.3
    assert measured(scene(120, 90, 20), [PERSON])["img.noise"] > 3 * usual["img.noise"]
    sharp = scene(120, 20, 12)
    soft = np.asarray(Image.fromarray(sharp).resize((12, 12)).resize((200, 200), Image.Resampling.BICUBIC))
    assert measured(soft, [PERSON])["img.sharpness"] < measured(sharp, [PERSON])["img.sharpness"]
    assert (usual["img.size_px"], usual["img.size_share"], usual["img.x"]) == (50, 0.25, 0.0)
    assert usual["img.people"] == 1 and usual["img.turn"] is None


def test_every_column_is_documented_and_every_documented_one_is_there():
    landmarks = np.array([[90.0, 50], [110, 50], [100, 60], [92, 70], [108, 70]])
    person = Subject("ann", face_box=PERSON.face_box, landmarks=landmarks)
    found = measured(scene(120, 90), [person], "ann")
    assert set(found) == set(COLUMNS) and found["img.turn"] == 0


def test_a_picture_filled_by_a_person_has_no_surroundings():
    whole = Subject("ann", person_box=np.array([0.0, 0, 200, 200]))
    found = measured(scene(120, 90), [whole])
    assert found["img.brightness"] is None and found["img.sharpness"] is None and found["img.size_px"] == 200
    tiny = measured(np.zeros((2, 2, 3), np.uint8), [whole])
    assert {name for name, value in tiny.items() if value is not None} == {"img.people"} and set(tiny) == set(
        OF_PICTURE
    )


@pytest.mark.parametrize("quality", [30, 75, 95])
def test_the_quality_of_a_jpeg_is_read_from_its_table(quality):
    buffer = io.BytesIO()
    Image.fromarray(scene(120, 90, 9)).save(buffer, "JPEG", quality=quality)
    assert jpeg_quality(buffer.getvalue()) == pytest.approx(quality, abs=1)
    assert jpeg_quality(b"\xff\xd8\xff\xdb") is None


def test_a_row_about_a_picture_has_its_only_person_and_stored_rows_give_conditions_back():
    import pyarrow as pa

    bob = Subject("bob", person_box=np.array([0.0, 0, 40, 100]))
    conditions = Conditions()
    conditions.add("a", [PERSON], point_pixels(scene(120, 90)))
    conditions.add("b", [PERSON, bob], point_pixels(scene(120, 90)))
    assert values_of(conditions, "a", None) == values_of(conditions, "a", "ann")
    assert values_of(conditions, "b", "bob")["img.size_px"] == 100
    assert set(values_of(conditions, "b", None)) == set(values_of(conditions, "b", "carl")) == set(OF_PICTURE)
    assert conditions.columns(["c"], [None]) == conditions.columns([], []) == Conditions().columns(["a"], [None]) == {}
    keys = ["a", "b", "b", "c"], [None, "ann", "bob", None]
    columns = conditions.columns(*keys)
    rows = pa.table(
        {"sample": keys[0], "subject": keys[1]} | {n: pa.array(c, from_pandas=True) for n, c in columns.items()}
    )
    again = Conditions.stored(rows).columns(*keys)
    assert set(again) == set(columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(again[name], column)
    assert not Conditions.stored(pa.table({"sample": ["a"], "subject": ["x"]}))


def test_only_the_face_changes_where_only_the_tone_does():
    """The reason why what is measured on the face is apart."""
    twins = {sample.id: sample for sample in load_dataset("people:twins")}
    sample = next(
        s
        for s in twins.values()
        if s.attributes["change"] == "skin_tone" and s.subjects[0].attributes["skin_tone"] == "monk_10"
    )
    base = twins[str(sample.attributes["base"])]
    one, two = (measured(s.load(), s.subjects) for s in (base, sample))
    for name in set(OF_PICTURE) - {"img.jpeg_quality"}:
        first, second = one[name], two[name]
        same = first is second if second is None else first == pytest.approx(second, rel=0.1, abs=0.02)
        assert same, name  # None: not measured in either
    faces = [values["img.face.brightness"] for values in (one, two)]
    assert abs(faces[0] - faces[1]) > 20


def slow_conditions(pixels, subjects):
    """Each value by its definition, point after point: of the picture, and of each person."""
    height, width = pixels.shape[:2]
    step, reach = -(-max(height, width) // 24), max(round(max(height, width) / 128), 1)
    green, outside, inside = pixels[:, :, 1].astype(float), [], [[] for _ in subjects]
    bodies, faces = [], []
    for subject in subjects:
        x0, y0, x1, y1 = subject.face_box if subject.face_box is not None else [math.nan] * 4
        faces.append((x0, y0, x1, y1))
        wide, high = (x1 - x0) / 2, (y1 - y0) / 2
        bodies.append((x0 - wide, y0 - high, x1 + wide, math.inf) if subject.person_box is None else subject.person_box)
    for y in range(reach, height - reach, step):
        for x in range(reach, width - reach, step):
            red, own, blue = (float(value) for value in pixels[y, x])
            edge = green[y - reach, x] + green[y + reach, x] + green[y, x - reach] + green[y, x + reach] - 4 * own
            grain = abs(green[y, x - 1] + green[y, x + 1] - 2 * own)
            point = ((306 * red + 601 * own + 117 * blue) / 1024, red - blue, edge, grain)
            if not any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in bodies):
                outside.append(point)
            for (x0, y0, x1, y1), points in zip(faces, inside, strict=True):
                if x0 <= x <= x1 and y0 <= y <= y1:
                    points.append(point)
    picture = {}
    if len(outside) >= 24:
        light, warm, edges, grain = np.array(outside).T
        picture = {
            "img.brightness": light.mean(),
            "img.contrast": light.std(),
            "img.cast": warm.mean() / max(light.mean(), 1),
            "img.sharpness": edges.var(),
            "img.noise": grain.mean(),
        }
    people = []
    for subject, points in zip(subjects, inside, strict=True):
        own = {}
        box = subject.person_box if subject.face_box is None else subject.face_box
        if box is not None:
            x0, y0, x1, y1 = box
            own = {"img.size_px": y1 - y0, "img.size_share": (y1 - y0) / height}
            own |= {"img.x": abs((x0 + x1) / 2 / width - 0.5), "img.y": (y0 + y1) / 2 / height}
        if points:
            light, _, edges, _ = np.array(points).T
            own["img.face.brightness"], own["img.face.contrast"] = light.mean(), light.std()
            own["img.face.sharpness"] = edges.var()
        people.append(own)
    return picture, people


@given(seed=st.integers(0, 2**32 - 1), at_once=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_many_pictures_at_once_against_the_definitions_point_by_point(seed, at_once):
    r = np.random.default_rng(seed)
    sizes = [(50, 70), (70, 50), (64, 64), (33, 160), (140, 96)]
    conditions, expected = Conditions(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        for k in range(8):
            height, width = sizes[r.integers(len(sizes))]
            pixels = r.integers(0, r.integers(2, 257), (height, width, 3)).astype(np.uint8)
            subjects = []
            for name in "abc"[: r.integers(0, 4)]:
                x0, x1 = np.sort(r.uniform(-5, width + 5, 2))
                y0, y1 = np.sort(r.uniform(-5, height + 5, 2))
                face = np.array([x0, y0, x1, y1]) if r.random() < 0.8 else None
                body = np.array([x0, y0, (x0 + x1) / 2, y1]) if r.random() < 0.7 else None
                subjects.append(Subject(name, person_box=body, face_box=face))
            conditions.add(str(k), subjects, point_pixels(pixels))
            picture, people = slow_conditions(pixels, subjects)
            expected[str(k), None] = picture | (people[0] if len(people) == 1 else {})
            expected |= {(str(k), s.id): picture | own for s, own in zip(subjects, people, strict=True)}
        columns = conditions.columns(*zip(*expected, strict=True))
    for row, (key, values) in enumerate(expected.items()):
        result = {name: column[row] for name, column in columns.items() if not np.isnan(column[row])}
        assert {n: v for n, v in result.items() if n != "img.people"} == pytest.approx(values, rel=1e-9, abs=1e-9), key


@pytest.mark.parametrize("size", [(256, 256), (300, 190), (611, 1200)])
def test_large_pictures_against_the_definitions_point_by_point(size):
    pixels = np.random.default_rng(size[0]).integers(0, 256, (*size, 3)).astype(np.uint8)
    height, width = size
    person = np.array([0.3 * width, 0.2 * height, 0.8 * width, height])
    subject = Subject("ann", person_box=person, face_box=person * [1.25, 1.25, 0.75, 0.5])
    picture, people = slow_conditions(pixels, [subject])
    result = measured(pixels, [subject], "ann")
    assert {name: result[name] for name in (*picture, *people[0])} == pytest.approx(picture | people[0], rel=1e-9)


def test_equal_pixels_have_no_contrast():
    values = measured(np.full((300, 200, 3), (13, 200, 77), np.uint8), [PERSON])
    assert values["img.contrast"] == values["img.sharpness"] == values["img.face.contrast"] == values["img.noise"] == 0


def test_sums_are_exact_so_they_are_the_same_on_every_machine():
    pixels = np.random.default_rng(5).integers(0, 256, (256, 256, 3)).astype(np.uint8)
    red, green, blue = (int(pixels[2:-2:11, 2:-2:11, k].sum()) for k in range(3))
    points = pixels[2:-2:11, 2:-2:11, 0].size
    result = measured(pixels)
    assert result["img.brightness"] == (306 * red + 601 * green + 117 * blue) / (1024 * points)
    wide = pixels[:, :, 1].astype(int)
    grain = np.abs(wide[2:-2:11, 1:-3:11] + wide[2:-2:11, 3:-1:11] - 2 * wide[2:-2:11, 2:-2:11])
    assert result["img.noise"] == int(grain.sum()) / points
