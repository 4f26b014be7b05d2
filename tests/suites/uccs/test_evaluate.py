"""Curves equal the original's, and the rules that a participant should be able to rely on."""

import json
from pathlib import Path

import numpy as np
import pytest
from challenge_files import write_truth, write_v2, write_v3

from countenance.errors import InputError
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer

FIXTURES = Path(__file__).parent / "fixtures"
FACE = (0.0, 0.0, 10.0, 10.0)
INSIDE = (1.0, 1.0, 8.0, 8.0)
AWAY = (80.0, 80.0, 9.0, 9.0)

CASES = [
    ("ref-v2-froc-lin.json", "v2-detection.txt", CurveSettings()),
    ("ref-v2-froc-log.json", "v2-detection.txt", CurveSettings(log=True)),
    ("ref-v2-froc-log.json", "v2-recognition.txt", CurveSettings(log=True)),
    ("ref-v2-froc-log-only-present.json", "v2-detection.txt", CurveSettings(log=True, only_present=True)),
    ("ref-v2-dir-lin-rank1.json", "v2-recognition.txt", CurveSettings()),
    ("ref-v2-dir-lin-rank3.json", "v2-recognition.txt", CurveSettings(rank=3)),
    ("ref-v2-dir-log-rank1.json", "v2-recognition.txt", CurveSettings(log=True)),
    ("ref-v2-dir-log-rank3.json", "v2-recognition.txt", CurveSettings(log=True, rank=3)),
    ("ref-v3-froc.json", "v3-detection.txt", CurveSettings()),
    ("ref-v3-oroc.json", "v3-scoring.txt.gz", CurveSettings()),
]


def compare_with_original(folder, reference, file, settings):
    if not (folder / reference).exists():
        pytest.skip(f"{folder.name} has no {reference}: its ties have no defined order in the original")
    evaluate = evaluate_detector if "froc" in reference else evaluate_recognizer
    evaluation = evaluate(folder, [folder / file], settings=settings)[0]
    expected = json.loads((folder / reference).read_text())["curves"][0]
    np.testing.assert_allclose(evaluation.curve.x, expected["x"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(evaluation.curve.y, expected["y"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("reference", "file", "settings"), CASES[:-1])
def test_the_shipped_vector_equals_the_original(reference, file, settings):
    compare_with_original(FIXTURES / "ties", reference, file, settings)


@pytest.mark.parametrize("which", ["plain", "ties"])
@pytest.mark.parametrize(("reference", "file", "settings"), CASES)
def test_every_vector_equals_the_original(shared, which, reference, file, settings):
    compare_with_original(shared / "vectors" / "uccs" / which, reference, file, settings)


def one_image(tmp_path, rows, faces=(("a.jpg", 3, FACE),)):
    data = write_truth(tmp_path, faces)
    return data, write_v2(tmp_path / "scores.txt", rows)


def froc(tmp_path, rows, **settings):
    data, path = one_image(tmp_path, rows)
    return evaluate_detector(data, [path], settings=CurveSettings(**settings))[0]


def test_a_duplicate_box_is_a_false_alarm(tmp_path):
    found = froc(tmp_path, [("a.jpg", INSIDE, 0.9, []), ("a.jpg", INSIDE, 0.8, [])])
    assert found.units.tolist() == [0.8], "of equal boxes the last one is the hit"
    assert found.negatives.tolist() == [0.9]


def test_a_box_inside_the_face_that_covers_a_quarter_is_a_full_hit(tmp_path):
    assert froc(tmp_path, [("a.jpg", (5.0, 5.0, 5.0, 5.0), 0.9, [])], overlap=1.0).hits == 1


def test_without_false_alarms_the_curve_is_the_one_point_at_zero(tmp_path):
    for log in (False, True):
        curve = froc(tmp_path, [("a.jpg", INSIDE, 0.9, [])], log=log).curve
        assert (curve.x.tolist(), curve.y.tolist()) == ([0.0], [1.0])


def test_an_image_outside_the_protocol_is_left_out_and_reported_once(tmp_path):
    found = froc(tmp_path, [("a.jpg", INSIDE, 0.9, []), ("x.jpg", INSIDE, 1, []), ("x.jpg", AWAY, 1, [])])
    assert found.negatives.size == 0
    assert len(found.warnings) == 1
    assert "line 4: image 'x.jpg' is not in validation.csv; 2 detections" in found.warnings[0]


def test_only_unknown_images_is_an_error(tmp_path):
    with pytest.raises(InputError, match="nor is any other image"):
        froc(tmp_path, [("x.jpg", INSIDE, 0.9, [])])


def test_only_present_counts_the_faces_of_images_with_detections(tmp_path):
    faces = [("a.jpg", 3, FACE), ("b.jpg", 4, FACE), ("b.jpg", 5, AWAY)]
    data, path = one_image(tmp_path, [("a.jpg", INSIDE, 0.9, [])], faces)
    assert evaluate_detector(data, [path])[0].total == 3
    assert evaluate_detector(data, [path], settings=CurveSettings(only_present=True))[0].total == 1


def recognised(tmp_path, rows, faces=(("a.jpg", 3, FACE),), rank=1):
    data, path = one_image(tmp_path, rows, faces)
    return evaluate_recognizer(data, [path], settings=CurveSettings(rank=rank))[0]


def test_a_tie_with_another_identity_is_no_recognition(tmp_path):
    rows = [("a.jpg", INSIDE, 1.0, [(3, 0.5), (4, 0.5)])]
    assert recognised(tmp_path, rows).hits == 0
    assert recognised(tmp_path, rows, rank=2).hits == 1


def test_the_score_of_minus_one_competes_with_the_own_identity(tmp_path):
    assert recognised(tmp_path, [("a.jpg", INSIDE, 1.0, [(3, 0.5), (-1, 0.6)])]).hits == 0


def test_a_repeated_identity_counts_with_its_last_score(tmp_path):
    rows = [("a.jpg", INSIDE, 1.0, [(3, 0.9), (4, 0.5), (3, 0.1)])]
    assert recognised(tmp_path, rows).hits == 0


def test_wrong_names_on_a_known_face_are_no_false_identifications(tmp_path):
    assert recognised(tmp_path, [("a.jpg", INSIDE, 1.0, [(4, 0.9)])]).negatives.size == 0


def test_an_unknown_face_named_minus_one_or_not_at_all_costs_nothing(tmp_path):
    faces = [("a.jpg", -1, FACE), ("a.jpg", 3, (40.0, 0.0, 10.0, 10.0))]
    for labels in ([(-1, 0.9)], []):
        rows = [("a.jpg", INSIDE, 1.0, labels), ("a.jpg", (41.0, 1.0, 8.0, 8.0), 1.0, [(3, 0.4)])]
        assert recognised(tmp_path, rows, faces).negatives.size == 0
    rows = [("a.jpg", INSIDE, 1.0, [(7, 0.2), (9, 0.3)])]
    assert recognised(tmp_path, rows, faces).negatives.tolist() == [0.3]


def test_a_face_of_subject_zero_is_neither_probe_nor_negative(tmp_path):
    faces = [("a.jpg", 0, FACE), ("a.jpg", 3, (40.0, 0.0, 10.0, 10.0))]
    found = recognised(tmp_path, [("a.jpg", INSIDE, 1.0, [(7, 0.2)])], faces)
    assert (found.total, found.negatives.size) == (1, 0)


def test_a_subject_twice_in_an_image_is_one_probe_with_all_competitors(tmp_path):
    faces = [("a.jpg", 3, FACE), ("a.jpg", 3, (40.0, 0.0, 10.0, 10.0))]
    second = ("a.jpg", (41.0, 1.0, 8.0, 8.0), 1.0, [(3, 0.9), (8, 0.55)])
    found = recognised(tmp_path, [("a.jpg", INSIDE, 1.0, [(3, 0.5)]), second], faces)
    assert (found.total, found.hits) == (1, 0), "the first positive, .5, loses against the other face's .55"


def test_one_detection_may_serve_two_faces(tmp_path):
    faces = [("a.jpg", 3, FACE), ("a.jpg", 4, (2.0, 0.0, 10.0, 10.0))]
    found = recognised(tmp_path, [("a.jpg", INSIDE, 1.0, [(3, 0.9), (4, 0.8)])], faces, rank=2)
    assert found.hits == 2


def test_version_three_leaves_out_detections_of_excluded_faces(tmp_path):
    data = write_truth(tmp_path, [("a.jpg", 3, FACE), ("a.jpg", 4, AWAY)], excluded=[1])
    path = write_v3(tmp_path / "v3.txt", [("a.jpg", FACE, 0.9, []), ("a.jpg", AWAY, 0.8, [])])
    found = evaluate_detector(data, [path])[0]
    assert (found.version, found.total, found.hits, found.negatives.size) == (3, 1, 1, 0)


def test_a_version_three_detection_serves_one_face_only(tmp_path):
    near = (1.0, 0.0, 10.0, 10.0)
    data = write_truth(tmp_path, [("a.jpg", 3, FACE), ("a.jpg", 4, near)])
    path = write_v3(tmp_path / "v3.txt", [("a.jpg", near, 0.9, [])])
    assert evaluate_detector(data, [path])[0].units.tolist() == [-np.inf, 0.9]


def test_a_scoring_file_is_a_valid_detection_file(tmp_path):
    data = write_truth(tmp_path, [("a.jpg", 1, FACE)])
    path = write_v3(tmp_path / "v3.txt", [("a.jpg", FACE, 0.9, [0.1, 0.2])], 2)
    assert evaluate_detector(data, [path])[0].hits == 1


def test_the_overriding_version_is_taken_at_its_word(tmp_path):
    data, path = one_image(tmp_path, [("a.jpg", INSIDE, 0.9, [])])
    with pytest.raises(InputError, match="no column FILE"):
        evaluate_detector(data, [path], version=3)


def test_files_of_two_versions_do_not_share_a_plot(tmp_path):
    data, path = one_image(tmp_path, [("a.jpg", INSIDE, 0.9, [])])
    other = write_v3(tmp_path / "v3.txt", [("a.jpg", FACE, 0.9, [])])
    with pytest.raises(InputError, match="evaluate them separately"):
        evaluate_detector(data, [path, other])


def test_numbers_instead_of_rates(tmp_path):
    assert froc(tmp_path, [("a.jpg", INSIDE, 0.9, [])], numbers=True).curve.y.tolist() == [1.0]


def test_the_band_holds_the_curve_and_more_images_make_it_narrower(tmp_path):
    random = np.random.default_rng(0)

    def width(images):
        faces, rows = [], []
        for k in range(images):
            faces.append((f"{k}.jpg", 1, FACE))
            hit = random.random() < 0.7
            rows.append((f"{k}.jpg", INSIDE if hit else AWAY, round(random.random(), 3), []))
        folder = tmp_path / str(images)
        data = write_truth(folder, faces)
        path = write_v2(folder / "s.txt", rows)
        found = evaluate_detector(data, [path], settings=CurveSettings(log=True, bootstrap=200))[0]
        assert (found.band.low <= found.curve.y).all()
        assert (found.band.high >= found.curve.y).all()
        return (found.band.high - found.band.low)[-1]

    assert width(400) < width(40) / 2
