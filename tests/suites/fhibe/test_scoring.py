"""Outputs of a few people: what is found, missing and said, in the run and in the published files."""

import json

import numpy as np
import pytest

from countenance.data.adapters.fhibe.attributes import label
from countenance.data.image import encode_png
from countenance.errors import InputError

from . import small
from .helpers import people
from .test_bad_input import run
from .test_rules import table_of


def scored(root, task, entries=None, **options):
    """The run of some outputs, with the published files."""
    if entries is not None:
        small.outputs(root, task, entries)
    return run(root, task, attributes=["pronoun"], fhibe_layout=True, **options)


def column(finished, metric):
    return [row.get(f"m.{metric}") for row in people(finished)]


def published(finished, name):
    return json.loads((finished.path.parent / name).read_text())


@pytest.mark.parametrize("cell", ["{'a': 1}", "[1]", "['a', 2]", "'a'", "3"])
def test_a_cell_of_several_values_is_a_list_of_texts(cell):
    with pytest.raises(InputError, match=r"row 2: pronoun: .* is not a list of texts"):
        label(table_of(pronoun=["['a']", cell]), "pronoun")


def test_faces_without_an_embedding_are_not_enrolled(tmp_path):
    rows = small.faces(tmp_path, people=3, each=3)
    names = [row["filepath"] for row in rows]
    entries = {name: {"detections": [float(i // 3), 1.0, 0.1 * i]} for i, name in enumerate(names)}
    entries[names[1]] = entries[names[4]] = {"detections": None}
    del entries[names[8]]
    finished = scored(tmp_path, "face_verification", entries)
    assert any("1 of 9 images have no answer" in line for line in finished.notes)
    assert column(finished, "enrolled") == [1, 0, 1, 1, 0, 1, 1, 1, 0]
    assert published(finished, "intersectional_results_VAL.json")["['pronoun']"]["['1. He/him/his']"]["Class_Size"] == 4
    entries[names[0]] = {"detections": [1.0]}
    with pytest.raises(InputError, match="an embedding of 3 numbers, the first has 1"):
        scored(tmp_path, "face_verification", entries)


def test_a_face_without_a_label_map_has_failed_and_is_0_as_published(tmp_path):
    rows = small.faces(tmp_path, people=1, each=3)
    classes = np.zeros((small.SIDE, small.SIDE), np.uint8)
    classes[10:50, 10:50] = 1
    good = {str(v): small.rle(classes == v) for v in (0, 1)}
    entries = {row["filepath"]: {"detections_rle": good} for row in rows[:2]}
    finished = scored(tmp_path, "face_parsing", entries)
    skin = 2 * 1500 / (1500 + 1600)  # the nose was taken for skin
    assert column(finished, "F1") == pytest.approx([(1 + skin + 0) / 3] * 2)
    assert [row["sample"] for row in finished.failures().to_pylist()] == [rows[2]["filepath"]]
    assert list(published(finished, "F1_scores.json")[f"{tmp_path}/{rows[0]['filepath']}"]) == [
        "background",
        "skin",
        "nose",
    ]
    strict = scored(tmp_path, "face_parsing", compat="strict")
    assert published(strict, "F1_scores.json")[f"{tmp_path}/{rows[2]['filepath']}"] == dict.fromkeys(
        ["background", "skin", "nose"], 0.0
    )
    small.write(tmp_path, "fhibe_face_crop_align", [row | {"image_height": 65} for row in rows])
    with pytest.raises(InputError, match="row 1: CelebA: a mask of 64×64, the picture is 64×65"):
        scored(tmp_path, "face_parsing")


def test_boxes_that_hit_nobody_are_counted_by_image(tmp_path):
    rows = small.body(tmp_path, people=6, per_image=2)
    entries = small.perfect_boxes(rows)
    first, second, third = entries
    entries[first]["detections"].append([50, 50, 60, 60])
    entries[first]["scores"].append(0.2)
    entries[second] = {"detections": entries[second]["detections"][:1], "scores": [0.9]}
    del entries[third]
    finished = scored(tmp_path, "person_localization", entries)
    assert column(finished, "average_recall") == [1, 1, 1, 0, 0, 0]
    images = [row["m.false_positives"] for row in finished.scores().to_pylist() if row["subject"] is None]
    assert images == [1, 0, 0]
    entry = published(finished, "intersectional_results_AR_IOU.json")["['pronoun']"]["['0. She/her/hers']"]
    assert entry == {"scores": [1, 0, 0], "AR_IOU": pytest.approx(1 / 3), "Class_Size": 3}


def test_scores_outside_0_to_1_count_by_their_order(tmp_path):
    rows = small.body(tmp_path, people=4)
    entries = small.perfect_boxes(rows)
    for i, entry in enumerate(entries.values()):
        entry["scores"] = [10.0 * i - 5]
    finished = scored(tmp_path, "person_localization", entries)
    assert column(finished, "average_recall") == [1] * 4
    assert any("only their order counts" in line for line in finished.notes)
    assert [answer.scores.tolist() for answer in finished.answers().values()] == [[0.25], [0.5], [0.75], [1.0]]


def test_masks_have_the_scores_of_their_entry_where_these_fit(tmp_path):
    rows = small.body(tmp_path, people=3)
    mask = np.zeros((small.SIDE, small.SIDE), bool)
    mask[10:51, 4:20] = True
    half = mask & (np.arange(small.SIDE) < 31)[:, None]  # 21 of 41 lines
    names = [row["filepath"] for row in rows]
    entries = {
        names[0]: {"detections": [small.rle(half), small.rle(mask)], "scores": [0.3, 0.8]},
        names[1]: {"detections": [small.rle(half)], "scores": [0.3, 0.8]},
        names[2]: {"detections": None},
    }
    finished = scored(tmp_path, "person_parsing", entries)
    assert column(finished, "best_iou") == pytest.approx([1, 21 / 41, 0])
    assert column(finished, "AR_MASK") == [1, 0.1, 0]
    assert [finished.answers()[name].scores.tolist() for name in names] == [[0.3, 0.8], [1.0], []]


def parts(*chances):
    return {"detections": list(chances)}


def test_parts_pair_with_people_by_rows_or_by_order(tmp_path):
    rows = small.body(tmp_path, people=4, per_image=2)
    first, second = dict.fromkeys(row["filepath"] for row in rows)
    item, two = {"Face": 0.9, "Hand": 0.2}, {"Face": 0.6, "Hand": 0.7}
    entries = {first: parts(item, two), second: parts(item, two) | {"rows": [4, 3]}}
    finished = scored(tmp_path, "body_parts_detection", entries)
    assert column(finished, "AR_DET Face") == pytest.approx([0.9, 0.3, 0.3, 0.9])
    assert column(finished, "ACC_DET Hand") == [1, 0, 0, 1]
    assert column(finished, "AR_DET Hand") == [None] * 4  # no hand is there to be found
    assert column(finished, "ACC_DET") == [1, 0.5, 0.5, 1]
    assert [answer.probabilities for answer in finished.answers().values()] == [(item, two), (two, item)]
    entry = published(finished, "intersectional_results_ACC_DET.json")["['pronoun']"]["['1. He/him/his']"]
    assert list(entry) == ["Face", "Hand", "All"] and entry["All"]["ACC_DET"] == 0.75
    for wrong, words in [
        (parts(item), "1 answers for 2 people; parts pair with people by order"),
        (parts(item, two, two), "3 answers for 2 people"),
        (parts(item, two) | {"rows": [3]}, r"rows \[3\] do not name the rows \[3, 4\] of its 2 answers"),
        (parts(item, two) | {"rows": [3, 5]}, "do not name the rows"),
        (parts(item, {"Face": 0.6}), "part 'Hand' is missing, other people have it"),
    ]:
        with pytest.raises(InputError, match=words):
            scored(tmp_path, "body_parts_detection", entries | {second: wrong})
    three = scored(tmp_path, "body_parts_detection", entries | {second: parts(two, item, item)}, compat="strict")
    assert published(three, "body_part_detections.json") == [item, two, two, item]


@pytest.mark.parametrize("compat", ["default", "strict"])
def test_a_person_without_an_answer_is_right_about_no_part(tmp_path, compat):
    first, second = (row["filepath"] for row in small.body(tmp_path, people=2))
    entries = {first: parts({"Face": 0.9, "Hand": 0.2}), second: {"detections": None}}  # no hand is there
    finished = scored(tmp_path, "body_parts_detection", entries, compat=compat)
    answered, unanswered = published(finished, "intersectional_results_ACC_DET.json")["['pronoun']"].values()
    if answered["Face"]["scores"] == [0]:
        answered, unanswered = unanswered, answered
    assert [answered[part]["scores"] for part in ("Face", "Hand")] == [[1], [1]]
    assert all(entry == {"scores": [0], "ACC_DET": 0, "Class_Size": 1} for entry in unanswered.values())
    assert [row["sample"] for row in finished.failures().to_pylist()] == [second]


def test_keypoints_of_people_whom_nobody_sees_have_no_score(tmp_path):
    rows = small.body(tmp_path, people=3, keypoints=lambda i: {"0. Nose": [10, 12, int(i < 2)]})
    places = [[10.0, 12.0]] + [[0.0, 0.0]] * 16
    entries = {rows[0]["filepath"]: {"detections": [places]}, rows[1]["filepath"]: {"detections": None}}
    finished = scored(tmp_path, "keypoint_estimation", entries)
    assert column(finished, "PCK") == [1, 0, None] and column(finished, "AR_OKS") == [1, 0, None]
    assert {curve.name: curve.lines[0].y for curve in finished.results()} == {"PCK": [0.5] * 9, "AR_OKS": [0.5] * 10}
    entry = published(finished, "intersectional_results_PCK.json")["['pronoun']"]["['1. He/him/his']"]
    assert entry["Class_Size"] == 1


def test_pictures_are_compared_where_they_are_there(tmp_path):
    rows = small.faces(tmp_path, people=1, each=3)
    folder = tmp_path / "results" / "face_encoding" / "fhibe_face_crop_align" / "m" / "face_encodings"
    folder.mkdir(parents=True)
    original = (tmp_path / rows[0]["filepath"]).read_bytes()
    (folder / "0_0.png").write_bytes(original)
    (folder / "0_1.png").write_bytes(encode_png(np.zeros((32, 48, 3), np.uint8)))
    finished = scored(tmp_path, "face_encoding", metrics=["PSNR"])
    first, second = column(finished, "PSNR")
    assert first == 80 and second < 10
    assert any("1 of 2 pictures differ from their original in size" in line for line in finished.notes)
    assert [row["sample"] for row in finished.failures().to_pylist()] == [rows[2]["filepath"]]
    restored = {row["filepath"]: {"super_res_filename": str(folder / "0_1.png")} for row in rows}
    with pytest.raises(InputError, match="a picture of 48×32, the original is 64×64"):
        scored(tmp_path, "face_super_resolution", restored, metrics=["PSNR"])
    beside = small.outputs(tmp_path, "face_super_resolution", {}).parent / "pictures" / "super_0.png"
    beside.parent.mkdir()
    beside.write_bytes(original)
    for place in ("/elsewhere/super_0.png", "/elsewhere/pictures/super_0.png", str(tmp_path / "lost" / "super_0.png")):
        moved = {rows[0]["filepath"]: {"super_res_filename": place}}
        assert column(scored(tmp_path, "face_super_resolution", moved, metrics=["PSNR"]), "PSNR") == [80]
    gone = {rows[0]["filepath"]: {"super_res_filename": "lost.png"}}
    with pytest.raises(InputError, match="no answer for any of 3 images"):
        scored(tmp_path, "face_super_resolution", gone, metrics=["PSNR"])
    outside = {rows[0]["filepath"]: {"super_res_filename": "../../../../../../elsewhere.png"}}
    with pytest.raises(InputError, match="leads out of the results and the dataset"):
        scored(tmp_path, "face_super_resolution", outside, metrics=["PSNR"])
