"""Outputs of a few people scored without storing a run: what is found, what is missing, and what is said of it."""

import numpy as np
import pytest

from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.suites.fhibe.evaluate import score
from countenance.suites.fhibe.groups import label
from countenance.suites.fhibe.published import grouped_results
from countenance.suites.fhibe.settings import FhibeSettings

from . import small
from .test_rules import table_of

FACES = ("face_parsing", "face_verification", "face_encoding", "face_super_resolution")


def scored(root, task, entries=None, **given):
    if entries is not None:
        small.outputs(root, task, entries)
    dataset = "fhibe_face_crop_align" if task in FACES else "fhibe"
    settings = {"attributes": ("pronoun",), "results": root / "results"} | given
    return score(FhibeSettings(root, dataset, "m", task, **settings))


@pytest.mark.parametrize("cell", ["{'a': 1}", "[1]", "['a', 2]", "'a'", "3"])
def test_a_cell_of_several_values_is_a_list_of_texts(cell):
    with pytest.raises(InputError, match=r"row 2: pronoun: .* is not a list of texts"):
        label(table_of(pronoun=["['a']", cell]), "pronoun")


def test_faces_without_an_embedding_are_counted_apart_from_those_without_an_answer(tmp_path):
    rows = small.faces(tmp_path, people=3, each=3)
    names = [row["filepath"] for row in rows]
    entries = {name: {"detections": [float(i // 3), 1.0, 0.1 * i]} for i, name in enumerate(names)}
    entries[names[1]] = entries[names[4]] = {"detections": None}
    del entries[names[8]]
    job = scored(tmp_path, "face_verification", entries)
    absent, failed = job.problems
    assert "no answer for 1 of 9 images, the first" in absent and names[8] in absent
    assert failed.endswith("2 images without an embedding (no face was aligned)")
    assert job.rows["enrolled"].tolist() == [1, 0, 1, 1, 0, 1, 1, 1, 0]
    assert [row for row, _ in job.stored()] == list(range(8)) and job.missing == [[8]]
    assert [answer.vector is None for _, answer in job.stored()].count(True) == 2
    job.finish()
    (rates,) = [part for part in job.results if getattr(part, "rows", None) and part.rows[0][0] == "pronoun"]
    assert [row[:2] for row in rates.rows] == [["pronoun", "1. He/him/his"]]
    entries[names[0]] = {"detections": [1.0]}
    with pytest.raises(InputError, match="an embedding of 3 numbers, the first has 1"):
        scored(tmp_path, "face_verification", entries)
    with pytest.raises(InputError, match="no embedding of any image"):
        scored(tmp_path, "face_verification", {name: {"detections": None} for name in names})


def test_a_face_without_a_label_map_has_0_for_each_of_its_labels(tmp_path):
    rows = small.faces(tmp_path, people=1, each=3)
    classes = np.zeros((small.SIDE, small.SIDE), np.uint8)
    classes[10:50, 10:50] = 1
    good = {str(v): small.rle(classes == v) for v in (0, 1)}
    entries = {rows[0]["filepath"]: {"detections_rle": good}, rows[1]["filepath"]: {"detections_rle": {}}}
    job = scored(tmp_path, "face_parsing", entries, layout=True)
    found = 2 * 1500 / (1500 + 1600)  # the nose was taken for skin
    nothing = 2 * 2496 / (2496 + 4096)  # no label: all is background
    assert job.rows["F1"] == pytest.approx([(1 + found + 0) / 3, nothing / 3, 0])
    assert job.rows["F1 background"] == pytest.approx([1, nothing, 0]) and job.rows["F1 nose"].tolist() == [0, 0, 0]
    assert list(job.files["F1_scores.json"][f"{tmp_path}/{rows[2]['filepath']}"]) == ["background", "skin", "nose"]
    assert [row for row, _ in job.stored()] == [0]
    assert len(job.missing) == len(job.problems) == 1  # said once, though the outputs were read twice
    published = scored(tmp_path, "face_parsing", compat="strict")
    assert list(published.rows) == ["F1"] and published.rows["F1"] == pytest.approx(job.rows["F1"])
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
    job = scored(tmp_path, "person_localization", entries)
    assert job.rows["AR_IOU"].tolist() == [1, 1, 1, 0, 0, 0]
    assert job.rows["false_positives"].tolist() == [1, 1, 0, 0, 0, 0]
    assert job.missing == [[4, 5]]
    assert job.results[0].lines[0].y == [0.5] * 10
    job.finish()
    everybody, fppi, curve, *groups = job.results
    assert everybody.name == "AP@0.5" and fppi.value == pytest.approx(1 / 3) and fppi.n == 3
    assert curve.name == "AR_IOU" and {one.group for one in groups} == {"0. She/her/hers", "1. He/him/his"}
    job.finish()  # only once
    assert len(job.results) == 3 + len(groups)
    found = grouped_results(job, "AR_IOU")["['pronoun']"]
    assert found["['0. She/her/hers']"] == {"scores": [1, 0, 0], "AR_IOU": pytest.approx(1 / 3), "Class_Size": 3}


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
    job = scored(tmp_path, "person_parsing", entries)
    assert job.rows["best_iou"] == pytest.approx([1, 21 / 41, 0]) and job.rows["AR_MASK"].tolist() == [1, 0.1, 0]
    stored = dict(job.stored())
    assert [stored[row].to_row()["scores"] for row in (0, 1)] == [[0.3, 0.8], [1.0]]
    assert job.problems == [] and 2 not in stored
    del entries[names[2]]
    absent = scored(tmp_path, "person_parsing", entries)
    assert len(list(absent.stored())) == 2 and absent.missing == [[2]] and len(absent.problems) == 1


def parts(*people):
    return {"detections": list(people)}


def test_parts_pair_with_people_by_rows_or_by_order(tmp_path):
    rows = small.body(tmp_path, people=4, per_image=2)
    first, second = dict.fromkeys(row["filepath"] for row in rows)
    one, two = {"Face": 0.9, "Hand": 0.2}, {"Face": 0.6, "Hand": 0.7}
    entries = {first: parts(one, two), second: parts(one, two) | {"rows": [4, 3]}}
    job = scored(tmp_path, "body_parts_detection", entries)
    assert job.parts["AR_DET"]["Face"].tolist() == pytest.approx([0.9, 0.3, 0.3, 0.9])
    assert job.parts["ACC_DET"]["Hand"].tolist() == [1, 0, 0, 1]
    assert np.isnan(job.parts["AR_DET"]["Hand"]).all()  # no hand is there to be found
    assert job.rows["ACC_DET"].tolist() == [1, 0.5, 0.5, 1]
    assert [answer.probabilities for _, answer in job.stored()] == [(one, two), (two, one)]
    entry = grouped_results(job, "ACC_DET")["['pronoun']"]["['1. He/him/his']"]
    assert list(entry) == ["Face", "Hand", "All"] and entry["All"]["ACC_DET"] == 0.75
    for wrong, words in [
        (parts(one), "1 answers for 2 people; parts pair with people by order"),
        (parts(one, two, two), "3 answers for 2 people"),
        (parts(one, two) | {"rows": [3]}, r"rows \[3\] do not name the rows \[3, 4\] of its 2 answers"),
        (parts(one, two) | {"rows": [3, 5]}, "do not name the rows"),
        (parts(one, {"Face": 0.6}), "part 'Hand' is missing, other people have it"),
    ]:
        with pytest.raises(InputError, match=words):
            scored(tmp_path, "body_parts_detection", entries | {second: wrong})
    three = scored(tmp_path, "body_parts_detection", entries | {second: parts(two, one, one)}, compat="strict")
    assert three.parts["ACC_DET"]["Hand"].tolist() == [1, 0, 0, 1] and three.rows == {}


def test_keypoints_of_people_whom_nobody_sees_have_no_score(tmp_path):
    rows = small.body(tmp_path, people=3, keypoints=lambda i: {"0. Nose": [10, 12, int(i < 2)]})
    places = [[10.0, 12.0]] + [[0.0, 0.0]] * 16
    entries = {rows[0]["filepath"]: {"detections": [places]}, rows[1]["filepath"]: {"detections": None}}
    job = scored(tmp_path, "keypoint_estimation", entries)
    assert job.rows["PCK"][:2].tolist() == [1, 0] and job.rows["AR_OKS"][:2].tolist() == [1, 0]
    assert np.isnan(job.rows["PCK"][2]) and np.isnan(job.rows["AR_OKS"][2])
    assert [curve.lines[0].y for curve in job.results] == [[0.5] * 10, [0.5] * 9]
    assert grouped_results(job, "PCK")["['pronoun']"]["['1. He/him/his']"]["Class_Size"] == 1


def test_pictures_are_compared_where_they_are_there(tmp_path):
    rows = small.faces(tmp_path, people=1, each=3)
    folder = tmp_path / "results" / "face_encoding" / "fhibe_face_crop_align" / "m" / "face_encodings"
    folder.mkdir(parents=True)
    original = (tmp_path / rows[0]["filepath"]).read_bytes()
    (folder / "0_0.png").write_bytes(original)
    (folder / "0_1.png").write_bytes(encode_png(np.zeros((32, 48, 3), np.uint8)))
    job = scored(tmp_path, "face_encoding", metrics=["PSNR"], layout=True)
    assert job.rows["PSNR"][0] == 80 and job.rows["PSNR"][1] < 10 and np.isnan(job.rows["PSNR"][2])
    absent, size = job.problems
    assert "no answer for 1 of 3 images" in absent
    assert "0_1.png: a picture of 48×32, the original is 64×64; 1 of 3 pictures differ" in size
    assert [row for row, _ in job.stored()] == [0, 1] and list(job.files) == ["psnr_scores.json"]
    restored = {row["filepath"]: {"super_res_filename": str(folder / "0_1.png")} for row in rows}
    with pytest.raises(InputError, match="a picture of 48×32, the original is 64×64"):
        scored(tmp_path, "face_super_resolution", restored, metrics=["PSNR"])
    beside = small.outputs(tmp_path, "face_super_resolution", {}).parent / "super_0.png"
    beside.write_bytes(original)
    moved = {rows[0]["filepath"]: {"super_res_filename": "/elsewhere/super_0.png"}}
    assert scored(tmp_path, "face_super_resolution", moved, metrics=["PSNR"]).rows["PSNR"][0] == 80
    inside = {rows[0]["filepath"]: {"super_res_filename": str(tmp_path / "lost" / "super_0.png")}}
    assert scored(tmp_path, "face_super_resolution", inside, metrics=["PSNR"]).rows["PSNR"][0] == 80
    gone = {rows[0]["filepath"]: {"super_res_filename": "lost.png"}}
    with pytest.raises(InputError, match="no answer for any of 3 images"):
        scored(tmp_path, "face_super_resolution", gone, metrics=["PSNR"])
    outside = {rows[0]["filepath"]: {"super_res_filename": "../../../../../../elsewhere.png"}}
    with pytest.raises(InputError, match="leads out of the results and the dataset"):
        scored(tmp_path, "face_super_resolution", outside, metrics=["PSNR"])
