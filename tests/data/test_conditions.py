"""What is measured on a picture: outside of people, cheap, and where the pixels are."""

import io

import numpy as np
import pytest
from PIL import Image

from countenance.data import Subject, load_dataset
from countenance.data.conditions import COLUMNS, OF_PICTURE, Conditions, jpeg_quality, measured, stored_conditions

PERSON = Subject("ann", person_box=np.array([60.0, 20, 140, 200]), face_box=np.array([80.0, 30, 120, 80]))


def scene(surroundings, person, noise=0.0):
    r = np.random.default_rng(0)
    pixels = np.full((200, 200, 3), surroundings, dtype=float)
    pixels[20:200, 60:140] = person
    return np.clip(pixels + r.normal(0, noise, pixels.shape), 0, 255).astype(np.uint8)


def test_light_is_that_of_the_surroundings_and_not_of_the_person():
    dark, light = (measured(scene(120, tone), [PERSON]).picture for tone in (30, 220))
    for name in ("img.brightness", "img.contrast", "img.cast", "img.noise"):
        assert dark[name] == pytest.approx(light[name], abs=1e-3)
    assert dark["img.brightness"] == pytest.approx(120, abs=0.5)
    faces = [measured(scene(120, tone), [PERSON]).people["ann"]["img.face.brightness"] for tone in (30, 220)]
    assert faces == pytest.approx([30, 220], abs=1)


def test_each_condition_moves_what_it_is_called_after():
    usual = measured(scene(120, 90, 3), [PERSON])
    assert measured(scene(200, 90, 3), [PERSON]).picture["img.brightness"] > usual.picture["img.brightness"] + 60
    assert measured(scene((180, 120, 90), 90), [PERSON]).picture["img.cast"] > 0.3
    assert measured(scene(120, 90, 20), [PERSON]).picture["img.noise"] > 3 * usual.picture["img.noise"]
    sharp = scene(120, 20, 12)
    soft = np.asarray(Image.fromarray(sharp).resize((12, 12)).resize((200, 200), Image.Resampling.BICUBIC))
    assert measured(soft, [PERSON]).picture["img.sharpness"] < measured(sharp, [PERSON]).picture["img.sharpness"]
    own = usual.people["ann"]
    assert (own["img.size_px"], own["img.size_share"], own["img.x"]) == (50, 0.25, 0.0) and own["img.turn"] is None
    assert usual.picture["img.people"] == 1


def test_every_column_is_documented_and_every_documented_one_is_there():
    landmarks = np.array([[90.0, 50], [110, 50], [100, 60], [92, 70], [108, 70]])
    person = Subject("ann", face_box=PERSON.face_box, landmarks=landmarks)
    found = measured(scene(120, 90), [person], b"").columns("ann")
    assert set(found) == set(COLUMNS) and found["img.turn"] == 0


def test_a_picture_filled_by_a_person_has_no_surroundings():
    whole = Subject("ann", person_box=np.array([0.0, 0, 200, 200]))
    found = measured(scene(120, 90), [whole]).picture
    assert found["img.brightness"] is None and found["img.sharpness"] is None
    assert measured(np.zeros((2, 2, 3), np.uint8)).picture.keys() == {"img.jpeg_quality", "img.people"}


@pytest.mark.parametrize("quality", [30, 75, 95])
def test_the_quality_of_a_jpeg_is_read_from_its_table(quality):
    buffer = io.BytesIO()
    Image.fromarray(scene(120, 90, 9)).save(buffer, "JPEG", quality=quality)
    assert jpeg_quality(buffer.getvalue()) == pytest.approx(quality, abs=1)
    assert jpeg_quality(b"\xff\xd8\xff\xdb") is None


def test_a_row_about_a_picture_has_its_only_person_and_stored_rows_give_conditions_back():
    import pyarrow as pa

    one = Conditions({"img.people": 1.0}, {"ann": {"img.x": 0.1}})
    assert one.columns(None) == one.columns("ann") == {"img.people": 1.0, "img.x": 0.1}
    rows = pa.table({"sample": ["a", "a"], "subject": ["ann", "bob"], "img.people": [2.0, 2.0], "img.x": [0.1, 0.2]})
    assert stored_conditions(rows)["a"].columns("bob") == {"img.people": 2.0, "img.x": 0.2}
    assert stored_conditions(pa.table({"sample": ["a"], "subject": ["x"]})) == {}


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
        first, second = one.picture[name], two.picture[name]
        same = first is second if second is None else first == pytest.approx(second, rel=0.1, abs=0.02)
        assert same, name  # None: not measured in either
    faces = [next(iter(m.people.values()))["img.face.brightness"] for m in (one, two)]
    assert abs(faces[0] - faces[1]) > 20


def slow_conditions(pixels, person, face):
    """Each value by its definition, point after point, for a picture with one person."""
    height, width = pixels.shape[:2]
    step, reach = -(-max(height, width) // 24), max(round(max(height, width) / 128), 1)
    green, outside, inside = pixels[:, :, 1].astype(float), [], []
    for y in range(reach, height - reach, step):
        for x in range(reach, width - reach, step):
            red, own, blue = (float(value) for value in pixels[y, x])
            edge = green[y - reach, x] + green[y + reach, x] + green[y, x - reach] + green[y, x + reach] - 4 * own
            grain = abs(green[y, x - 1] + green[y, x + 1] - 2 * own)
            point = ((306 * red + 601 * own + 117 * blue) / 1024, red - blue, edge, grain)
            if not (person[0] <= x <= person[2] and person[1] <= y <= person[3]):
                outside.append(point)
            if face[0] <= x <= face[2] and face[1] <= y <= face[3]:
                inside.append(point)
    light, warm, edges, grain = np.array(outside).T
    own_light, _, own_edges, _ = np.array(inside).T
    return {
        "img.brightness": light.mean(),
        "img.contrast": light.std(),
        "img.cast": warm.mean() / light.mean(),
        "img.sharpness": edges.var(),
        "img.noise": grain.mean(),
        "img.face.brightness": own_light.mean(),
        "img.face.contrast": own_light.std(),
        "img.face.sharpness": own_edges.var(),
    }


@pytest.mark.parametrize("size", [(50, 70), (256, 256), (300, 190), (611, 1200)])
def test_against_the_definitions_point_by_point(size):
    r = np.random.default_rng(size[0])
    pixels = r.integers(0, 256, (*size, 3)).astype(np.uint8)
    height, width = size
    person = np.array([0.3 * width, 0.2 * height, 0.8 * width, height])
    face = np.array([0.4 * width, 0.25 * height, 0.6 * width, 0.5 * height])
    result = measured(pixels, [Subject("ann", person_box=person, face_box=face)]).columns("ann")
    expected = slow_conditions(pixels, person, face)
    assert {name: result[name] for name in expected} == pytest.approx(expected, rel=1e-9)


def test_equal_pixels_have_no_contrast():
    plain = measured(np.full((300, 200, 3), (13, 200, 77), np.uint8), [PERSON])
    values = plain.columns("ann")
    assert values["img.contrast"] == values["img.sharpness"] == values["img.face.contrast"] == values["img.noise"] == 0


def test_sums_are_exact_so_they_are_the_same_on_every_machine():
    pixels = np.random.default_rng(5).integers(0, 256, (256, 256, 3)).astype(np.uint8)
    red, green, blue = (int(pixels[2:-2:11, 2:-2:11, k].sum()) for k in range(3))
    points = pixels[2:-2:11, 2:-2:11, 0].size
    result = measured(pixels).picture
    assert result["img.brightness"] == (306 * red + 601 * green + 117 * blue) / (1024 * points)
    wide = pixels[:, :, 1].astype(int)
    grain = np.abs(wide[2:-2:11, 1:-3:11] + wide[2:-2:11, 3:-1:11] - 2 * wide[2:-2:11, 2:-2:11])
    assert result["img.noise"] == int(grain.sum()) / points
