"""FHIBE's rules at their limits, on tables of a few rows: regions, groups, truth, thresholds, disparities."""

from pathlib import Path

import numpy as np
import pytest

from countenance.data.adapters.fhibe.attributes import AttributeLabels, check_attributes, label
from countenance.data.adapters.fhibe.places import ANCESTRIES, CONTINENTS, continents, is_largest, number, regions
from countenance.data.adapters.fhibe.table import FhibeTable, dataset_folder, everyone_in, mini, processed, read_table
from countenance.data.adapters.fhibe.truth import (
    FAR,
    coco_keypoints,
    face_diagonals,
    person_runs,
    usable,
    visible_parts,
)
from countenance.data.adapters.fhibe.words import ATTRIBUTES, MULTIPLE, TASKS, UNNUMBERED
from countenance.errors import InputError
from countenance.suites.fhibe.disparity import calculate_disparity, significant_pairs
from countenance.suites.fhibe.published import all_groups
from countenance.suites.fhibe.settings import FhibeSettings, check_options, model_folder


def table_of(**columns: list[str]) -> FhibeTable:
    rows = len(next(iter(columns.values())))
    return FhibeTable(Path("t.csv"), Path("root"), columns, list(range(1, rows + 1)))


NUMBERS = ["0. Africa"] * 6 + ["6. Americas"] * 5 + ["11. Asia"] * 6 + ["17. Europe"] * 5 + ["22. Oceania"] * 5


def test_every_ancestry_is_of_one_region():
    ordered = sorted(ANCESTRIES, key=lambda ancestry: number(ancestry))
    assert [number(ancestry) for ancestry in ordered] == list(range(27))
    assert [regions([ancestry]) for ancestry in ordered] == [[region] for region in NUMBERS]


def test_other_words_are_of_no_region():
    assert regions(["27. Nowhere"]) == regions(["nowhere"]) == regions(["5. Somewhere"]) == []
    assert number("6. Americas") == 6 and number("six. Americas") is None and number("146.5. x") == 146


def test_continents_are_the_published_numbers():
    assert {39, 40, 44, 45, 46} <= CONTINENTS["227. African"] and 41 not in CONTINENTS["227. African"]
    assert CONTINENTS["232. Other"] == {191, 225, 226}
    assert continents(["2. x", "39. x", "40. x", "0. x"]) == ["227. African", "229. Asian"]
    assert continents(["41. x"]) == ["228. North or South American"] and continents(["106. Kittitian"]) == []


def test_a_crossed_group_is_largest_where_all_its_places_are():
    assert is_largest(["ancestry", "nationality"], ["0. Africa", "227. African"])
    assert not is_largest(["ancestry", "nationality"], ["0. Africa", "146. Nigerian"])
    assert not is_largest(["nationality"], ["0. Africa"]) and is_largest(["pronoun"], ["anything"])


def test_the_attributes_are_those_published():
    assert len(ATTRIBUTES) == 31 and len(MULTIPLE) == 17 and len(TASKS) == 9
    assert sorted(UNNUMBERED) == ["age", "apparent_skin_color_hue_lum", "location_country", "user_hour_captured"]
    assert check_attributes(ATTRIBUTES, face=False) == ATTRIBUTES
    with pytest.raises(InputError, match="attribute 'action_subject_subject_interaction' is not one of"):
        check_attributes(["action_subject_subject_interaction"], face=True)
    with pytest.raises(InputError, match="no attributes given"):
        check_attributes([], face=False)
    with pytest.raises(InputError, match="attributes is the text 'age', expected a list"):
        check_attributes("age", face=False)


def test_values_of_people_by_default_and_as_published():
    cells = ["['12. Central Asia', '5. Western Africa']", "[]", "['2. Eastern Africa']"]
    table = table_of(ancestry=cells)
    assert label(table, "ancestry").rows == [
        ("0. Africa", "11. Asia", "5. Western Africa", "12. Central Asia"),
        ("(unknown)",),
        ("0. Africa", "2. Eastern Africa"),
    ]
    # Published: an option counts when its text occurs in the cell.
    assert label(table, "ancestry", "strict").rows == [
        ("2. Eastern Africa", "5. Western Africa", "12. Central Asia")[1:],
        (),
        ("2. Eastern Africa",),
    ]
    nations = table_of(nationality=["['146. Nigerian']", "['46. Other']", ""])
    assert label(nations, "nationality").rows == [
        ("227. African", "146. Nigerian"),
        ("227. African", "46. Other"),
        ("(unknown)",),
    ]
    inside = table_of(pronoun=["['10. Me']", "['0. Me']"])
    assert label(inside, "pronoun", "strict").rows == [("0. Me", "10. Me"), ("0. Me",)]
    assert label(inside, "pronoun").rows == [("10. Me",), ("0. Me",)]


def test_single_values_and_what_is_unknown():
    ages = table_of(age=["29.9", "", "nan", "60"])
    assert [row[0] for row in label(ages, "age").rows] == ["[18, 30)", "(unknown)", "(unknown)", "[60, +]"]
    places = table_of(location_country=["I Go", "usa", ""])
    assert [row[0] for row in label(places, "location_country").rows] == [
        "(unknown)",
        "United States of America",
        "(unknown)",
    ]
    assert label(places, "location_country", "strict").rows[0] == (None,)
    labels = AttributeLabels("age", [("a",), (None,), ("(unknown)",), ("a",)])
    assert labels.cells() == ["a", None, "(unknown)", "a"]
    assert {name: rows.tolist() for name, rows in labels.members().items()} == {"a": [True, False, False, True]}
    assert AttributeLabels("pronoun", [("a", "b"), (None,)]).cells() == [("a", "b"), ()]


def test_groups_come_in_the_order_of_their_numbers():
    scene = AttributeLabels("scene", [("10. x",), ("2. y",), ("(unknown)",), ("word",), ("2. y",)])
    age = AttributeLabels("age", [("[30, 40)",), ("[18, 30)",), ("[18, 30)",), (None,), ("[30, 40)",)])
    actual = all_groups([scene, age], depth=1)
    assert [g.values[0] for g in actual] == ["2. y", "10. x", "word", "(unknown)", "[18, 30)", "[30, 40)", None]
    assert actual[0].rows.tolist() == [1, 4]
    both = [g for g in all_groups([scene, age]) if len(g.attributes) == 2]
    assert [g.values_key for g in both][:2] == ["['2. y', '[18, 30)']", "['2. y', '[30, 40)']"]
    assert both[0].attributes_key == "['scene', 'age']" and len(all_groups([scene, age], depth=2)) == 7 + len(both)
    several = AttributeLabels("pronoun", [("0. a", "1. b"), ("1. b",)])
    assert [(g.values, g.rows.tolist()) for g in all_groups([several])] == [(("0. a",), [0]), (("1. b",), [0, 1])]


def test_keypoints_are_visible_hidden_or_not_there():
    points = {"0. Nose": [1, 2, 1], "5. Left eye": [3, 4, 0], "2. Right eye": [5, 6, 2], "99. Tail": ["no point"]}
    assert coco_keypoints(points, ("Nose", "Left eye", "Right eye", "Left ear"), "here") == [
        [1, 2, 2],
        [3, 4, 0],
        [5, 6, 2],
        [0, 0, 0],
    ]
    for wrong in ({"0. Nose": [1, 2]}, {"0. Nose": None}, {"0. Nose": [1, 2, float("inf")]}):
        with pytest.raises(InputError, match=r"here: '0. Nose' is .*, expected \[x, y, visible\]"):
            coco_keypoints(wrong, ("Nose",), "here")
    with pytest.raises(InputError, match="here: list, expected keypoints by name"):
        coco_keypoints([], ("Nose",), "here")
    boxes = table_of(face_bbox=["[1, 1, 3, 4]", "[0, 0, 0, 2]"])
    assert face_diagonals(boxes).tolist() == [5, 2]


SEEN, HIDDEN = [1, 1, 1], [1, 1, 0]


@pytest.mark.parametrize(
    ("points", "classes", "default", "strict"),
    [
        ({"1. Left pinky knuckle": SEEN}, [], ["Left hand", "Hand"], ["Left hand", "Hand"]),
        ({"1. Right thumb knuckle": SEEN}, [], ["Right hand", "Hand"], ["Right hand", "Hand"]),
        ({"1. Right index knuckle": HIDDEN}, [], [], []),
        ({}, ["17. Glove"], ["Glove", "Hand"], ["Glove", "Hand"]),
        ({"Left thumb knuckle": SEEN}, ["Glove"], ["Glove", "Left hand", "Hand"], ["Glove", "Left hand", "Hand"]),
        ({}, ["15. Left shoe"], ["Left shoe", "Left leg", "Leg"], ["Left shoe", "Left leg", "Leg"]),
        ({"1. Right ankle": SEEN}, [], ["Right leg", "Leg"], []),
        ({"1. Right knee": SEEN}, [], ["Right leg", "Leg"], []),
        ({"1. Left foot index": SEEN}, [], ["Left leg", "Leg"], ["Left leg", "Leg"]),
        ({}, ["6. Head hair", "6. Head hair"], ["Head hair"], ["Head hair"]),
    ],
)
def test_parts_that_can_be_seen(points, classes, default, strict):
    assert visible_parts(points, classes) == ["Face", *default]
    assert visible_parts(points, classes, "strict") == ["Face", *strict]


def test_corners_are_cut_to_whole_pixels_and_not_too_far_away():
    corner = {"x": FAR, "y": -FAR}
    assert FAR == 16_777_216
    segment = {"polygon": [{"x": 0, "y": 0}, {"x": 1.9, "y": 0.9}]}
    assert person_runs([segment], 1, 3, "here").tolist() == [0, 2, 1]
    assert person_runs([], 2, 2, "here").sum() == 4
    person_runs([{"polygon": [{"x": 0, "y": 0}, corner]}], 2, 2, "here")
    with pytest.raises(InputError, match=f"here: a corner is {FAR + 1} pixels away, too far to draw"):
        person_runs([{"polygon": [{"x": 0, "y": 0}, corner | {"x": FAR + 1}]}], 2, 2, "here")
    with pytest.raises(InputError, match="here: dict, expected a list of segments"):
        person_runs({}, 2, 2, "here")


def test_verification_uses_people_with_two_pictures_alone():
    cells = ["False", "0", " true ", "1.0", "", "false", "0.0"]
    table = table_of(multiple_subjects=cells, subject_id=["a", "a", "b", "b", "c", "b", "d"])
    assert usable(table).line == [1, 2]
    more = table_of(multiple_subjects=["False"] * 3, subject_id=["a", "b", "b"])
    assert usable(more).line == [2, 3]
    last = table_of(multiple_subjects=["False", "False", "True"], subject_id=["a", "a", "z"])
    assert usable(last).line == [1, 2]
    with pytest.raises(InputError, match="row 1: multiple_subjects: 'maybe', expected True or False"):
        usable(table_of(multiple_subjects=["maybe"], subject_id=["a"]))


def test_the_size_of_a_picture_has_limits():
    def sizes(cell):
        return table_of(image_height=[cell], image_width=["3"]).sizes()

    assert sizes("1") == [(1, 3)] and sizes("65536.0") == [(65536, 3)]
    for wrong in ("0", "65537", "", "nan"):
        with pytest.raises(InputError, match=r"row 1: image_height: .*, expected 1 to 65536 pixels"):
            sizes(wrong)


def test_the_folder_of_a_dataset():
    assert dataset_folder("fhibe", "person_parsing", downsampled=False) == "fhibe"
    assert dataset_folder("fhibe_downsampled", "person_parsing", downsampled=False) == "fhibe_downsampled"
    assert dataset_folder("fhibe_face_crop", "face_parsing") == "fhibe_face_crop"
    for dataset, task, words in [
        ("fhibe", "face_parsing", "task face_parsing does not run on dataset fhibe; use fhibe_face_crop_align"),
        ("fhibe_face_crop", "person_parsing", "does not run on dataset fhibe_face_crop; use fhibe$"),
        ("fhib", "person_parsing", r"dataset 'fhib' is not one of .* \(did you mean fhibe"),
        ("fhibe", "person_parsin", r"task 'person_parsin' is not one of .* \(did you mean person_parsing"),
    ]:
        with pytest.raises(InputError, match=words):
            dataset_folder(dataset, task)


def test_a_draw_has_as_many_rows_as_asked_for_and_their_neighbours():
    table = table_of(filepath=[f"{i // 2}.png" for i in range(10)])
    drawn = mini(table, 4)
    assert drawn.line == [9, 2, 6, 1]  # numpy's RandomState(42), as published
    assert everyone_in(table, drawn).line == [9, 2, 6, 1, 5, 10]
    assert len(mini(table, 10)) == 10 and len(mini(table, 1)) == 1
    for size in (0, 11):
        with pytest.raises(InputError, match=f"mini dataset of {size} rows requested, t.csv has 10"):
            mini(table, size)
    for size in (2.0, True, "3"):
        with pytest.raises(InputError, match="expected a whole number"):
            mini(table, size)


def test_folders_options_and_names_of_models(tmp_path):
    assert model_folder("R", "t", "d", "m") == Path("R/t/d/m")
    for name in ("", "a/b", ".", ".."):
        with pytest.raises(InputError, match="it names a folder, so it may hold no slash"):
            model_folder("R", "t", "d", name)
    assert check_options("face_parsing", {"cuda": True, "batch_size": 3, "map_ears_to_skin": True}) == {
        "map_ears_to_skin": True
    }
    assert check_options("face_parsing", {"custom_keypoints": None}) == {"custom_keypoints": None}
    with pytest.raises(InputError, match="option 'custom_keypoints' belongs to keypoint_estimation, not to face_"):
        check_options("face_parsing", {"custom_keypoints": ["Nose"]})
    with pytest.raises(InputError, match=r"option 'dept' is not one of .* \(did you mean depth"):
        check_options("face_parsing", {"dept": 3})
    with pytest.raises(InputError, match="compat 'loose' is neither default nor strict"):
        FhibeSettings(tmp_path, "fhibe", "m", "person_parsing", compat="loose")
    usual = FhibeSettings(tmp_path, "fhibe", "m", "person_parsing")
    assert not usual.layout and not usual.strict and usual.mini is None and usual.depth is None


def test_the_table_of_a_dataset_is_below_data_or_not(tmp_path):
    with pytest.raises(InputError, match=r"data/processed/fhibe/fhibe.csv: no such file; expected FHIBE's annotation"):
        read_table(tmp_path, "fhibe", "face_encoding", ())
    folder = tmp_path / "processed" / "fhibe"
    folder.mkdir(parents=True)
    (folder / "fhibe.csv").write_text("filepath,image_id,subject_id\na.png,1,s\n")
    assert processed(tmp_path, "fhibe") == folder and len(read_table(tmp_path, "fhibe", "face_encoding", ())) == 1
    for name in ("/a.png", "../a.png", "a/../../b.png", "C:/a.png", "", "a\\..\\b.png", "..\\b.png"):
        (folder / "fhibe.csv").write_text(f'filepath,image_id,subject_id\na.png,1,s\n"{name}",1,s\n')
        with pytest.raises(InputError, match="row 2: filepath"):
            read_table(tmp_path, "fhibe", "face_encoding", ())
    (folder / "fhibe.csv").write_text("filepath,image_id,subject_id\n")
    with pytest.raises(InputError, match="no rows below the header"):
        read_table(tmp_path, "fhibe", "face_encoding", ())


def test_outputs_of_the_whole_dataset_serve_a_draw(tmp_path):
    settings = FhibeSettings(tmp_path, "fhibe", "m", "person_parsing", mini=3, results=tmp_path)
    whole = tmp_path / "person_parsing" / "fhibe_downsampled" / "m"
    assert settings.folder == tmp_path / "mini" / "person_parsing" / "fhibe_downsampled" / "m" == settings.outputs
    whole.mkdir(parents=True)
    (whole / "model_outputs.json").write_text("{}")
    assert settings.outputs == whole
    settings.folder.mkdir(parents=True)
    (settings.folder / "model_outputs.json").write_text("{}")
    assert settings.outputs == settings.folder


LOW, HIGH = list(np.linspace(0.1, 0.4, 20)), list(np.linspace(0.5, 0.9, 20))


def entries(**groups):
    return {f"['{name}']": {"scores": scores} for name, scores in groups.items()}


def test_pairs_are_significant_below_alpha_over_their_number():
    from scipy.stats import mannwhitneyu

    data = {"a": [1.0, 2, 3, 4, 5], "b": [4.0, 5, 6, 7, 8], "c": [1.0, 2, 3, 4, 6]}
    p = mannwhitneyu(data["a"], data["b"], alternative="two-sided")[1]
    assert significant_pairs(data, alpha=3 * p * 1.001)[0][:4] == ["a", 5, "b", 5]
    assert significant_pairs(data, alpha=3 * p * 0.999) is None
    assert significant_pairs({"a": data["a"], "b": data["b"]}, alpha=p) is None  # below, not at


def test_groups_that_are_too_small_have_no_disparity():
    results = {"['pronoun']": entries(low=LOW, high=HIGH, few=HIGH[:19])}
    (row,) = calculate_disparity(results, ["pronoun"])
    assert row[:5] == ["['pronoun']", "['low']", 20, "['high']", 20] and row[5] == pytest.approx(1 - 0.25 / 0.7)
    assert len(calculate_disparity(results, ["pronoun"], min_group_size=19)) == 2
    assert calculate_disparity(results, ["pronoun"], min_group_size=21) == []
    assert len(calculate_disparity(results, ["pronoun"], min_group_size=None)) == 2


def test_disparities_of_some_attributes_at_a_time_and_of_continents():
    low, high = {"scores": LOW}, {"scores": HIGH}
    results = {
        "['pronoun']": entries(low=LOW, high=HIGH),
        "['ancestry']": {"['0. Africa']": low, "['11. Asia']": high, "['1. x']": high},
        "['pronoun', 'ancestry']": {"['a', '0. Africa']": low, "['b', '0. Africa']": high, "['b', '1. x']": low},
    }
    names = ["pronoun", "ancestry"]
    assert [row[0] for row in calculate_disparity(results, names)] == list(results)
    assert [row[0] for row in calculate_disparity(results, names, k=2)] == ["['pronoun', 'ancestry']"]
    assert [row[0] for row in calculate_disparity(results, names, k=1)] == ["['pronoun']", "['ancestry']"]
    assert len(calculate_disparity(results, names, group_largest_regions=False)) == 1 + 2 + 2


def test_disparities_of_body_parts():
    def parts(scores):
        return {"Face": {"scores": scores}, "Hand": {"scores": []}}

    results = {"['pronoun']": {"['a']": parts(LOW), "['b']": parts(HIGH)}}
    (row,) = calculate_disparity(results, ["pronoun"], parts=["Face", "Hand"])
    assert row[:4] == ["['pronoun']", "Face", "['a']", 20]
    assert calculate_disparity(results, ["pronoun"], parts=["Hand"], min_group_size=0) == []
