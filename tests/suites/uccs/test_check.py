"""The check of a submission in full: its summary, problems and notices, word by word."""

import pytest
from challenge_files import write_truth, write_v2, write_v3

from countenance.suites.uccs import check_file
from countenance.suites.uccs.submission_problems import MOST_PROBLEMS

FACE, AWAY = (0.0, 0.0, 10.0, 10.0), (80.0, 80.0, 9.0, 12.5)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "s.txt"


def test_a_recognition_file_is_summed_up(file):
    rows = [
        ("a.jpg", FACE, 0.5, [(3, 0.7), (-1, 0.2)]),
        ("a.jpg", AWAY, 0.25, [(3, 0.6)]),
        ("b.jpg", FACE, 0.5, [(1, 0.9)]),
    ]
    found = check_file(write_v2(file, rows))
    assert found.good and found.notices == [] and found.version == 2
    assert found.summary == {
        "version": "2 (recognition)",
        "images": "2",
        "detections": "3 (1.5 an image, at most 2)",
        "detection scores": "0.25 to 0.5, 2 different",
        "box sides": "9 to 12.5 pixels",
        "labels": "4 (1.3 a detection, at most 2), 1 of them -1, 2 subjects",
        "recognition scores": "0.2 to 0.9",
    }


def test_a_scoring_file_and_a_detection_file_are_summed_up(file):
    rows = [("a.jpg", FACE, 0.5, [0.1, 0.8, 0.3]), ("b.jpg", AWAY, 0.25, [0.6, 0.2, 0.1])]
    found = check_file(write_v3(file, rows, 3))
    assert found.notices == [] and found.summary["version"] == "3 (recognition)"
    assert (found.summary["gallery subjects"], found.summary["largest similarities"]) == ("3", "0.6 to 0.8")
    plain = check_file(write_v2(file, [(*row[:3], []) for row in rows]))
    assert plain.summary["version"] == "2 (detection)" and "labels" not in plain.summary and plain.notices == []


def test_lines_that_repeat_and_numbers_that_nobody_has_are_noticed(file):
    rows = [
        ("a.jpg", FACE, 0.5, [(3, 0.5), (-1, 0.1)]),
        ("a.jpg", AWAY, 0.4, [(3, 0.5), (-2, 0.4), (0, 0.1)]),
        ("b.jpg", FACE, 0.5, []),
        ("a.jpg", FACE, 0.5, []),
        ("b.jpg", FACE, 0.5, []),
        ("b.jpg", FACE, 0.5, []),
    ]
    repeated, odd = check_file(write_v2(file, rows)).notices
    assert repeated.endswith(
        "line 6: the same box and score as an earlier line (3 such lines); all but one of each are false alarms"
    )
    assert odd.endswith("line 4: SUBJECT_ID -2 (2 such labels); subjects are numbered from 1, and -1 is the unknown")
    assert check_file(write_v2(file, rows[:1])).notices == []


def test_scores_that_are_all_the_same_and_labels_without_the_unknown_are_noticed(file):
    one = [("a.jpg", FACE, 0.5, [(3, 0.5)]), ("a.jpg", AWAY, 0.5, [(4, 0.5)])]
    (same,) = check_file(write_v2(file, one)).notices
    assert same.endswith("every detection score is 0.5; the curve will be a single step")
    several = [("a.jpg", FACE, 0.5, [(3, 0.5), (1, 0.2)]), ("a.jpg", AWAY, 0.4, [(4, 0.5)])]
    (unmarked,) = check_file(write_v2(file, several)).notices
    assert "no label is -1; every label on a background region is a false identification" in unmarked
    marked = [*several, ("a.jpg", FACE, 0.1, [(-1, 0.5)])]
    assert check_file(write_v2(file, marked)).notices == []
    odd_version_three = write_v3(file, [("a.jpg", FACE, 0.5, [0.1, 0.2]), ("a.jpg", AWAY, 0.4, [0.1, 0.2])], 2)
    assert check_file(odd_version_three).notices == []


@pytest.mark.parametrize("wrong", [MOST_PROBLEMS - 1, MOST_PROBLEMS, MOST_PROBLEMS + 1, 50])
def test_twenty_problems_are_shown_and_more_are_said_to_be_there(file, wrong):
    file.write_text("a.jpg,1,1,8,8,.5\n" + "a.jpg,1\n" * wrong)
    found = check_file(file)
    assert (len(found.problems), found.more_problems) == (min(wrong, 20), wrong > 20)
    assert found.problems[0].endswith(
        "line 2: 2 fields, expected at least 6 (FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE)"
    )
    assert found.problems[-1].split(" line ")[1].startswith(f"{min(wrong, 20) + 1}:") and not found.good


def test_a_file_against_its_protocol(file, tmp_path):
    data = write_truth(tmp_path / "data", [(name, 1, FACE) for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg")])
    rows = [("b.jpg", FACE, 0.5, []), ("d.jpg", FACE, 0.4, []), ("x.jpg", FACE, 0.3, []), ("b.jpg", AWAY, 0.2, [])]
    found = check_file(write_v2(file, rows), data=data)
    assert found.summary["protocol"] == f"2 of the 4 images of {data / 'protocol' / 'validation.csv'}"
    strange, absent = found.notices
    assert "image 'x.jpg' is not in validation.csv; 1 detections" in strange
    assert absent.endswith(
        "2 images of the protocol have no detection ('a.jpg' is the first); their faces count as missed"
    )
    whole = [(name, FACE, 0.5 + k / 10, []) for k, name in enumerate(("a.jpg", "b.jpg", "c.jpg", "d.jpg"))]
    assert check_file(write_v2(file, whole), data=data).notices == []
    (problem,) = check_file(write_v2(file, [("x.jpg", FACE, 0.5, [])]), data=data).problems
    assert "nor is any other image of this file" in problem
    (data / "protocol" / "validation.csv").unlink()
    (problem,) = check_file(file, data=data).problems
    assert problem.endswith(f"is a version 2 file, but {data} holds a version 3 protocol only")


def test_a_gallery_wants_its_columns(file, tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE)])
    landmarks = ",".join(f"{p}_{a}" for p in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for a in "XY")
    rows = "".join(f"{s}.png,{s},{','.join('1' * 10)}\n" for s in (1, 9, 4))
    (data / "gallery.csv").write_text(f"FILE,SUBJECT_ID,{landmarks}\n{rows}")
    found = check_file(write_v3(file, [("a.jpg", FACE, 0.5, [0.1, 0.2])], 2), data=data)
    (problem,) = found.problems
    assert problem.endswith(
        "line 1: no similarity column for gallery subject 4 (2 missing); write one column S_0004 "
        "for each subject of gallery.csv"
    )
    assert check_file(write_v3(file, [("a.jpg", FACE, 0.5, [0.1] * 9)], 9), data=data).good
    assert check_file(write_v3(file, [("a.jpg", FACE, 0.5, [])]), data=data).good, "a detection file names nobody"
