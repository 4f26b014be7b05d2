"""Made data row by row: tones, keypoints, outlines, boxes and pictures, each with the numbers that FHIBE gives them."""

import ast
import csv

import numpy as np
import pytest
from PIL import Image

from countenance.data import ArrayImage, Dataset, Rle, Sample, Subject
from countenance.data.adapters.fhibe.truth import visible_parts
from countenance.data.vocabulary import KEYPOINTS
from countenance.errors import InputError
from countenance.suites.fhibe.demo import DARK_FACTOR, _strength, baseline
from countenance.suites.fhibe.made_data import ATTRIBUTES, BODY, FACE, TONES, make_data

from .people import CARD, portrait
from .test_rules import table_of

WIDTH, HEIGHT = 120, 100
# BlazePose's numbers, which FHIBE's keypoints have.
NUMBERS = {
    "Nose": 0,
    "Right eye": 2,
    "Left eye": 5,
    "Right ear": 7,
    "Left ear": 8,
    "Right shoulder": 11,
    "Left shoulder": 12,
    "Right elbow": 13,
    "Left elbow": 14,
    "Right wrist": 15,
    "Left wrist": 16,
    "Right index knuckle": 19,
    "Left index knuckle": 20,
    "Right hip": 23,
    "Left hip": 24,
    "Right knee": 25,
    "Left knee": 26,
    "Right ankle": 27,
    "Left ankle": 28,
}


def body(name="b", *, without="", parts=("Left hand", "Torso", "Right foot"), identity="who", about=None, **sample):
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[20:80, 30:60] = True
    truth = {
        "person_box": np.array([30.12345, 20, 60, 80]),
        "face_box": np.array([35.0, 20, 55, 40]),
        "keypoints": np.column_stack([np.arange(17) + 31.0, np.arange(17) + 21.0, np.arange(17) % 3]),
        "mask": Rle.encode(mask),
    }
    parameters = {field: value for field, value in truth.items() if field != without}
    subject = Subject(name, identity=identity, body_parts=parts, attributes=about or {}, **parameters)
    pixels = np.random.default_rng(1).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return Sample(name, ArrayImage(pixels), WIDTH, HEIGHT, (subject,), sample)


@pytest.fixture
def rows(tmp_path):
    """The rows of tables made from bodies and portraits, as text."""

    def make(bodies, portraits=(portrait(0),), **options):
        out = tmp_path / "made"
        counts = make_data(out, Dataset(CARD, bodies), Dataset(CARD, portraits), **options)
        tables = {}
        for name in (BODY, FACE):
            with (out / "data" / "processed" / name / f"{name}.csv").open(newline="") as stream:
                tables[name] = list(csv.DictReader(stream))
        assert counts == {name: len(actual) for name, actual in tables.items()}
        return tables[BODY], tables[FACE]

    return make


def test_every_tone_of_monk_s_scale_has_the_nearest_of_fhibe_s_six(rows):
    rendered, _ = rows([body(f"b{k}", about={"skin_tone": f"monk_{k}"}) for k in range(1, 11)])
    expected = [f"{tone}. {TONES[tone]}" for tone in (5, 5, 4, 4, 3, 2, 1, 1, 0, 0)]
    assert (
        [row["apparent_skin_color"] for row in rendered] == expected == [row["natural_skin_color"] for row in rendered]
    )
    red = [int(tone[1:].split(",")[0]) for tone in TONES]
    assert red == [102, 136, 164, 175, 189, 198], "from dark to light"


def test_what_is_known_of_people_and_pictures(rows):
    about = [
        {"yaw": 30, "pitch": 0, "age": 33.26, "gender": "female"},
        {"yaw": 30.1, "gender": "male"},
        {"pitch": -31.0, "gender": "other"},
        {"skin_tone": "unknown"},
    ]
    lights = [
        {"light": "dim", "background": "plain"},
        {"light": "bright", "background": "outdoor"},
        {"light": "back", "background": "moon"},
        {"light": "side"},
    ]
    rendered, _ = rows(
        [body(f"b{k}", about=item, **light) for k, (item, light) in enumerate(zip(about, lights, strict=True))]
    )
    assert [row["head_pose"] for row in rendered] == ["0. Typical", "1. Atypical", "1. Atypical", "0. Typical"]
    assert [row["pronoun"] for row in rendered] == ["['0. She/her/hers']", "['1. He/him/his']", "[]", "[]"]
    assert [row["age"] for row in rendered] == ["33.3", "", "", ""] and rendered[3]["apparent_skin_color"] == ""
    assert [row["lighting"][2:3] for row in rendered] == ["0", "2", "3", "4"]
    assert [row["scene"] for row in rendered] == ["0. plain", "4. outdoor", "", ""]
    first = rendered[0]
    assert (first["image_height"], first["image_width"]) == ("100", "120") and first["subject_id"] == "who"
    assert first["person_bbox"] == "[30.123, 20.0, 29.877, 60.0]" and first["face_bbox"] == "[35.0, 20.0, 20.0, 20.0]"
    assert first["filepath"].startswith(f"data/raw/{BODY}/") and first["json_path"] == f"data/raw/{BODY}/none.json"
    assert (first["ancestry"], first["nationality"], first["location_country"]) == ("[]", "[]", "")
    assert set(ATTRIBUTES) <= set(first)


def test_keypoints_have_their_numbers_and_hands_are_at_the_wrists(rows):
    (row,), _ = rows([body()])
    points = ast.literal_eval(row["keypoints"])
    assert {name.split(". ")[1]: int(name.split(". ")[0]) for name in points} == NUMBERS
    assert [points[f"{NUMBERS[name]}. {name}"] for name in KEYPOINTS] == [
        [31.0 + k, 21.0 + k, int(k % 3 == 2)] for k in range(17)
    ]
    left, right = KEYPOINTS.index("Left wrist"), KEYPOINTS.index("Right wrist")
    assert points["20. Left index knuckle"] == [31.0 + left, 21.0 + left, 1]
    assert points["19. Right index knuckle"] == [31.0 + right, 21.0 + right, 0]


def test_a_person_is_an_outline_and_each_part_a_corner_in_the_middle(rows):
    (row,), _ = rows([body()])
    outline, *parts = ast.literal_eval(row["segments"])
    corners = {(corner["x"], corner["y"]) for corner in outline["polygon"]}
    assert {(30, 20), (59, 20), (59, 79), (30, 79)} <= corners and outline["class_name"] == "0. Face skin"
    # Of 60 rows with 30 pixels the middle pixel is the first of row 20 + 30.
    assert parts == [
        {"class_name": name, "num": 1, "polygon": [{"x": 30, "y": 50}]}
        for name in ("20. Upper body clothes", "16. Right shoe")
    ]
    assert outline["num"] == 1
    every = ("Head hair", "Torso", "Left arm", "Right arm", "Left leg", "Right leg", "Left foot", "Right foot")
    (row,), _ = rows([body("c", parts=every)])
    names = [segment["class_name"] for segment in ast.literal_eval(row["segments"])]
    assert names[1:] == [
        "6. Head hair",
        "20. Upper body clothes",
        "2. Left arm skin",
        "3. Right arm skin",
        "4. Left leg skin",
        "5. Right leg skin",
        "15. Left shoe",
        "16. Right shoe",
    ]
    assert "Leg" in visible_parts({}, names)


@pytest.mark.parametrize("without", ["person_box", "face_box", "mask", "keypoints"])
def test_a_body_without_a_part_of_its_truth_is_left_out(rows, without):
    rendered, _ = rows([body("a", without=without), body("b")])
    assert [row["image_id"] for row in rendered] == ["b"]


def test_faces_are_cut_out_at_512_pixels_with_their_labels(rows, tmp_path):
    alone = portrait(3)
    two = Sample("two", alone.image, alone.width, alone.height, alone.subjects * 2)
    empty = Sample("none", alone.image, alone.width, alone.height, (Subject("x", face_box=np.array([1.0, 2, 3, 4])),))
    steps = []
    _, rendered = rows([body()], [alone, two, empty], step=lambda: steps.append(1))
    (row,) = rendered
    assert len(steps) == 4 and (row["image_height"], row["image_width"]) == ("512", "512")
    assert row["multiple_subjects"] == "False" and row["subject_id"] == "q1"
    with Image.open(tmp_path / "made" / row["filepath"]) as picture:
        assert picture.size == (512, 512)
    mask = row["CelebA"].strip("[]'")
    with Image.open(tmp_path / "made" / mask) as labels:
        assert labels.size == (512, 512) and set(np.unique(np.asarray(labels))) == {0, 1, 2}, "ears are skin"
    _, small = rows([body("d")], [portrait(6)], side=64)
    with Image.open(tmp_path / "made" / small[0]["filepath"]) as picture:
        assert picture.size == (64, 64) and small[0]["image_height"] == "64"
    for bodies, faces, name in (([], [alone], BODY), ([body()], [], FACE)):
        with pytest.raises(InputError, match=f"no picture with the truth that {name} needs"):
            make_data(tmp_path / "other", Dataset(CARD, bodies), Dataset(CARD, faces))


def test_the_demo_s_noise_is_twice_as_strong_for_the_two_darkest_tones():
    cells = [f"{tone}. {TONES[tone]}" for tone in range(6)] + ["10. x", ""]
    assert (
        _strength(table_of(apparent_skin_color=cells)) == [2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] and DARK_FACTOR == 2
    )
    assert [baseline(task) for task in ("face_encoding", "face_super_resolution")] == ["jpeg-q20", "bicubic-x4"]
