"""Protocols, galleries and score files, number by number: what is read, written, kept and left out."""

import sys
from pathlib import Path

import numpy as np
import pytest
from challenge_files import HEADER, write_truth, write_v2, write_v3

from countenance.answers import Identifications
from countenance.answers.formats import PredictionRequest
from countenance.answers.formats.uccs import detects, read
from countenance.answers.formats.uccs_scores import layout_of, on_protocol, read_scores
from countenance.data import load_dataset
from countenance.data.adapters.uccs import Face, load, read_dataset, source_of
from countenance.data.adapters.uccs_protocol import LANDMARKS, Protocol, detect_version, read_gallery, read_protocol
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.suites.uccs import evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.config import Config
from countenance.suites.uccs.score_writer import write_detections, write_scoring
from countenance.suites.uccs.score_writer import write_v2 as write_submission

FACE, AWAY = (0.0, 0.0, 10.0, 10.0), (80.0, 80.0, 9.0, 9.0)
V3 = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"


def wanted(ids, **options) -> PredictionRequest:
    return PredictionRequest(Identifications, ImageNames(ids), options)


def test_detections_come_by_image_each_with_its_own_labels(tmp_path):
    """Lines of three images (one of them strange) in turn, with 2, 0, 1, 3, 1 and 1 labels."""
    rows = [
        ("b.jpg", FACE, 0.9, [(3, 0.7), (4, 0.6)]),
        ("x.jpg", FACE, 0.8, [(9, 0.5)]),
        ("a.jpg", AWAY, 0.7, []),
        ("b.jpg", AWAY, 0.6, [(5, 0.4)]),
        ("a.jpg", FACE, 0.5, [(6, 0.3), (7, 0.2), (8, 0.1)]),
        ("b.jpg", FACE, 0.4, [(2, 0.05)]),
    ]
    found = read(write_v2(tmp_path / "s.txt", rows), wanted(["a.jpg", "b.jpg", "c.jpg"]))
    assert list(found.by_id) == ["a.jpg", "b.jpg"]
    one, two = found.by_id.values()
    assert (one.scores.tolist(), one.count.tolist(), one.identity.tolist()) == ([0.7, 0.5], [0, 3], [6, 7, 8])
    assert two.scores.tolist() == [0.9, 0.6, 0.4] and two.count.tolist() == [2, 1, 1]
    assert two.identity.tolist() == [3, 4, 5, 2] and two.similarity.tolist() == [0.7, 0.6, 0.4, 0.05]
    assert one.xywh.tolist() == [list(AWAY), list(FACE)]
    assert found.absent.endswith("1 of 3 images have no detection; their faces count as missed")
    assert len(found.notes) == 1 and "'x.jpg' is not in the dataset; 1 detections" in found.notes[0]
    assert read(tmp_path / "s.txt", wanted(["a.jpg", "b.jpg"])).absent is None


def test_eleven_similarities_are_kept_unless_another_number_is_asked_for(tmp_path):
    path = write_v3(tmp_path / "s.txt", [("a.jpg", FACE, 0.9, [k / 20 for k in range(13)])], 13)
    kept = {
        name: read(path, wanted(["a.jpg"], **given)).by_id["a.jpg"].count.tolist()
        for name, given in (
            ("none", {}),
            ("three", {"top": "3"}),
            ("all", {"top": "40", "version": "3"}),
            ("zero", {"top": "0"}),
        )
    }
    assert kept == {"none": [11], "three": [3], "all": [13], "zero": [0]}
    assert read(path, wanted(["a.jpg"], version="none")).by_id["a.jpg"].identity.tolist() == [*range(13, 2, -1)]
    for wrong in ("-1", "ten"):
        with pytest.raises(InputError, match=f"top is '{wrong}', expected a whole number"):
            read(path, wanted(["a.jpg"], top=wrong))
    assert read_scores(path).labels.count.tolist() == [0] and layout_of(path, 3)[0].top == 0
    assert read_scores(path).subjects.tolist() == [*range(1, 14)] and read_scores(path).kind == "recognition"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a.jpg,1,2,3,4,.5", True),
        ("a.jpg,1,2,3,4,.5,three,.5", True),
        ("a.jpg,x,2,3,4,.5", False),
        ("a.jpg,1,2,3,4,x", False),
        ("a.jpg,1,2,3,4", False),
        ("", False),
        (f"{V3}\n", True),
        ("# only this\n", False),
    ],
)
def test_the_first_line_says_whether_it_is_a_score_file(tmp_path, text, good):
    for ending in ("txt", "csv"):
        (tmp_path / f"s.{ending}").write_text(text)
        assert detects(tmp_path / f"s.{ending}") is good


def test_a_test_set_has_images_and_no_faces(tmp_path):
    (tmp_path / "protocol").mkdir()
    path = tmp_path / "protocol" / "test.csv"
    path.write_text("file\nb.jpg\na.jpg\n")
    found = read_protocol(tmp_path, "test", 2)
    assert (found.images, found.truth, found.attributes, found.warnings) == (("b.jpg", "a.jpg"), False, {}, ())
    arrays = (found.image, found.face_id, found.subject, found.excluded)
    assert [len(array) for array in arrays] == [0, 0, 0, 0] and found.box.shape == (0, 4)
    assert Protocol(path, 2, ()).truth is True
    for text, said in (
        ("NAME\na.jpg\n", "line 1: the only column is 'NAME', expected FILE"),
        ("FILE\na.jpg,5\n", "line 2: 2 fields, expected 1"),
        ("FILE\n", "no image below the header"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_protocol(tmp_path, "test", 2)


def test_columns_of_version_three_may_be_anywhere_and_further_ones_are_attributes(tmp_path):
    text = "FACE_HEIGHT,AGE,SUBJECT_ID,,FILE,FACE_WIDTH,FACE_X,FACE_Y,FACE_ID\n40,old,7,-,a.jpg,30,10,20,5\n"
    (tmp_path / "validation.csv").write_text(
        text + "0,,0,-,a.jpg,3,1,2,6\n1,new,-1,-,b.jpg,0,1,2,8\n1,,2,-,c.jpg,1,0,0,9\n"
    )
    found = read_protocol(tmp_path, "validation", 3, attributes=True)
    assert found.box.tolist() == [[10, 20, 30, 40], [1, 2, 3, 0], [1, 2, 0, 1], [0, 0, 1, 1]]
    assert (found.face_id.tolist(), found.subject.tolist()) == ([5, 6, 8, 9], [7, 0, -1, 2])
    assert (
        found.attributes == {"AGE": ["old", "", "new", ""]}
        and found.image.tolist() == [0, 0, 1, 2]
        and not found.excluded.any()
        and found.truth
    )
    assert "2 faces have no area" in found.warnings[0]
    assert found.warnings[1] == "exclude_gallery_validation.txt is not beside the protocol: no face is excluded"
    assert read_protocol(tmp_path, "validation", 3).attributes == {}
    (tmp_path / "list.txt").write_text("8\n5\n")
    listed = read_protocol(tmp_path, "validation", 3, exclude=tmp_path / "list.txt")
    assert listed.excluded.tolist() == [True, False, True, False] and len(listed.warnings) == 1
    (tmp_path / "list.txt").write_text("5,1\n")
    with pytest.raises(InputError, match=r"line 1: 2 fields, expected 1 \(FACE_ID\)"):
        read_protocol(tmp_path, "validation", 3, exclude=tmp_path / "list.txt")


def test_version_two_never_reads_the_number_of_a_face_and_needs_seven_columns(tmp_path):
    (tmp_path / "protocol").mkdir()
    path = tmp_path / "protocol" / "validation.csv"
    path.write_text(HEADER + "first,a.jpg,3,0,0,10,10\n")
    found = read_protocol(tmp_path, "validation", 2)
    assert found.face_id.tolist() == [0] and not found.excluded.any() and found.warnings == ()
    path.write_text("-1.5,a.jpg,3,0,0,10,10\n")
    with pytest.raises(InputError, match="line 1: no header line; put FACE_ID,FILE"):
        read_protocol(tmp_path, "validation", 2)
    assert detect_version(tmp_path, "validation") == 2
    places = f"neither {tmp_path}/protocol/test.csv nor {tmp_path}/test.csv"
    with pytest.raises(InputError, match=places):
        detect_version(tmp_path, "test")
    (tmp_path / "test.csv").write_text("FILE\n")
    assert detect_version(tmp_path, "test") == 3


def test_a_gallery_has_as_many_fields_as_its_header_in_any_order(tmp_path):
    columns = ["LMOUTH_Y", "FILE", *[name for name in LANDMARKS if name != "LMOUTH_Y"], "SUBJECT_ID", "NOTE"]
    cells = ["9.5", "a.png", *[f"{k}.5" for k in range(9)], "12", "mine"]
    path = tmp_path / "gallery.csv"
    path.write_text(",".join(columns) + "\n\n" + ",".join(cells) + "\n")
    (face,) = read_gallery(tmp_path)
    assert (face.file, face.subject, face.landmarks.tolist(), face.line) == (
        "a.png",
        12,
        [k + 0.5 for k in range(10)],
        3,
    )
    for wrong in ([*cells, "more"], cells[:-1]):
        path.write_text(",".join(columns) + "\n" + ",".join(wrong) + "\n")
        with pytest.raises(InputError, match=f"line 2: {len(wrong)} fields, expected 13 as in the header"):
            read_gallery(tmp_path)


def test_a_set_with_pictures_opens_them_and_one_that_is_missing_has_no_size(tmp_path):
    from PIL import Image

    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE), ("b.jpg", -1, FACE)])
    text = (data / "validation.csv").read_text().splitlines()
    (data / "validation.csv").write_text("\n".join([text[0] + ",AGE", text[1] + ",old", text[2] + ","]) + "\n")
    (data / "validation_images").mkdir()
    Image.new("RGB", (30, 20)).save(data / "validation_images" / "a.jpg")
    for name in ("?set=validation&version=3", "?version=3&pictures=yes"):
        made = load(f"{data}{name}")
        assert [(one.width, one.height) for one in made] == [(30, 20), (0, 0)] and made.card.real_people is True
        assert [face.attributes for one in made for face in one.subjects] == [
            {"known": "known", "age": "old"},
            {"known": "unknown", "age": None},
        ]
    assert [face.identity for one in made for face in one.subjects] == ["1", None]
    assert {(one.width, one.height) for one in load(f"{data}?version=3&pictures=no")} == {(0, 0)}
    assert read_dataset(data).card.version == "2", "both are there, and pictures are opened unless told otherwise"
    (data / "mine.txt").write_text("2\n")
    again = load_dataset(source_of(data, "validation", 3, data / "mine.txt"))
    assert [face.excluded for one in again for face in one.subjects] == [False, True]
    (data / "countenance.json").write_text('{"real_people": false}')
    assert load(f"{data}?version=3&set=validation").card.real_people is False
    face = Face("x")
    assert (face.published.tolist(), face.number, face.excluded, face.version) == ([0, 0, 0, 0], 0, False, 3)


def test_names_without_their_ending_are_found_and_strange_ones_are_minus_one(tmp_path):
    images = ("a.b.jpg", "c.jpg")
    rows = [(name, FACE, 0.5, []) for name in ("c", "a.b", "a", "c.jpg", "d", "d")]
    scores = read_scores(write_v3(tmp_path / "s.txt", rows))
    found, (warning,) = on_protocol(scores, images, "p.csv")
    assert found.tolist() == [1, 0, -1, 1, -1, -1]
    assert warning.endswith("line 4: image 'a' is not in p.csv (and 1 more); 3 detections on such images are left out")
    two = read_scores(write_v2(tmp_path / "t.txt", [("a.b.jpg", FACE, 0.5, []), ("c", FACE, 0.4, [])]))
    found, (warning,) = on_protocol(two, images, "p.csv")
    assert found.tolist() == [0, -1] and "is not in p.csv; 1 detections" in warning


def test_labels_and_columns_at_their_limits(tmp_path):
    for count in (10, 11):
        labels = [(k + 1, 0.1) for k in range(count)]
        scores = read_scores(write_v2(tmp_path / "s.txt", [("a.jpg", FACE, -0.5, labels), ("a.jpg", FACE, 0.1, [])]))
        assert [f"{count} labels" in one for one in scores.warnings] == [True] * (count - 10)
        assert scores.listed(0)[0].tolist() == [*range(1, count + 1)] and scores.listed(1)[0].size == 0
        assert scores.score.tolist() == [-0.5, 0.1] and scores.subjects.size == 0
    (tmp_path / "s.txt").write_text(f"{V3},BB_X\na,.5,1,1,8,8,2\n")
    with pytest.raises(InputError, match="line 1: column BB_X occurs twice"):
        read_scores(tmp_path / "s.txt")
    (tmp_path / "s.txt").write_text(f"{V3},{','.join(LANDMARKS)},S_7\na,.5,1,2,8,9,{','.join('0123456789')},.3\n")
    scores = read_scores(tmp_path / "s.txt", top=2)
    assert scores.box.tolist() == [[1, 2, 8, 9]] and scores.labels.identity.tolist() == [7]


def test_what_is_kept_of_similarities_is_one_more_than_the_rank(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE)])
    path = write_v3(tmp_path / "s.txt", [("a.jpg", FACE, 0.9, [0.5, 0.4, 0.3, 0.2])], 4)
    (found,) = evaluate_recognizer(data, [path])
    assert found.scores.labels.count.tolist() == [2] and found.protocol.attributes == {}
    assert evaluate_detector(data, [path])[0].scores.labels.count.tolist() == [0]


def test_score_files_are_written_by_name_with_their_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["python", "uccs", "detect"])
    out = tmp_path / "s.txt"
    rows = [("b.jpg", [((1, 2, 3, 4.126), 0.5, [(7, 0.25)])]), ("a.jpg", [((5, 6, 7, 8), 0.4, [])])]
    write_submission(out, rows, recognition=True)
    assert out.read_text().splitlines() == [
        "# Created using command line: countenance uccs detect",
        "# FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE,SUBJECT_ID_1,SCORE_1,...",
        "a.jpg,5.00,6.00,7.00,8.00,0.40",
        "b.jpg,1.00,2.00,3.00,4.13,0.50,7,0.250000",
    ]
    found = [("b.jpg", [[0.5, 1, 2, 3, 4]]), ("a.jpg", [[0.4, 5, 6, 7, 8]])]
    write_detections(out, found)
    assert out.read_text().splitlines() == [V3, "a.jpg,0.40,5.00,6.00,7.00,8.00", "b.jpg,0.50,1.00,2.00,3.00,4.00"]
    write_detections(out, [(name, [[*row, *range(10)] for row in some]) for name, some in found])
    assert out.read_text().splitlines()[0] == ",".join((V3, *LANDMARKS))
    write_scoring(out, [3, 12], [("x.y.jpg", [([0.5, 1, 2, 3, 4], np.array([0.25, 1]))])])
    assert out.read_text().splitlines() == [f"{V3},S_0003,S_0012", "x.y,0.50,1.00,2.00,3.00,4.00,0.250000,1.000000"]


def test_the_settings_of_the_scripts_have_the_original_s_defaults():
    made = Config.from_values({}, {})
    assert (made["gpu"], made["which_set"], made["recognition.arch"]) == (-1, "validation", "dlib")
    found = {key: made[f"detection.{key}"] for key in ("thresholds", "max_detections", "parallel")}
    assert found == {"thresholds": [0.2, 0.2, 0.2], "max_detections": 50, "parallel": 0}
    sizes = [made[f"recognition.{key}"] for key in ("workers", "batch_size_perImg", "embedding_size")]
    assert sizes == [1, 1, 512]
    assert (made["eval.iou"], made["eval.linear"], made["eval.recognition.rank"]) == (0.5, False, 1)
    assert [made[f"eval.{what}.plot_numbers"] for what in ("detection", "recognition")] == [False, False]
    assert Config.least == {"gpu": -1, "detection.max_detections": 1, "eval.recognition.rank": 1}
    assert Path(made["eval.exclude_gallery"]) == Path("data/exclude_gallery_validation.txt")
