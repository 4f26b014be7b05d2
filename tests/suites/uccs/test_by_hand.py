"""Small numbers that can be checked by hand: targets, operating points, groups, baseline steps, the dataset."""

from pathlib import Path

import numpy as np
import pytest
from challenge_files import write_truth, write_v2, write_v3

from countenance.answers import Boxes, Embedding, Identifications
from countenance.answers.formats.uccs import detects
from countenance.data import ArrayImage, Sample, Subject
from countenance.data.adapters.uccs import Face, load, read_dataset
from countenance.data.adapters.uccs_protocol import LANDMARKS, read_gallery
from countenance.errors import InputError
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.baseline.recognition import box_of_landmarks, named
from countenance.suites.uccs.baseline.score import Templates, enroll
from countenance.suites.uccs.baseline.steps import detect_step, embed_step, embedding, enlarged
from countenance.suites.uccs.comparison import compare, write_comparison
from countenance.suites.uccs.errors import missed_faces
from countenance.suites.uccs.operating import default_targets, group_curves, middle, operating_points, table_lines
from countenance.suites.uccs.task import _results, merge, partial
from countenance.tasks import Shard

FACE, INSIDE, AWAY = (0.0, 0.0, 10.0, 10.0), (1.0, 1.0, 8.0, 8.0), (80.0, 80.0, 9.0, 9.0)


@pytest.fixture(params=[2, 3])
def crowd(request, tmp_path):
    """Fifty images with a known face each; every second face is found (.50 to .74), 25 false alarms (.01 to .25)."""
    names = [f"{k:02d}.jpg" for k in range(50)]
    data = write_truth(tmp_path / "data", [(name, 1 + k % 5, FACE) for k, name in enumerate(names)])
    hits = [(name, FACE, 0.5 + k / 100, [1.0]) for k, name in enumerate(names[::2])]
    alarms = [(name, AWAY, (k + 1) / 100, [1.0]) for k, name in enumerate(names[:25])]
    if request.param == 2:
        path = write_v2(tmp_path / "s.txt", [(*row[:3], []) for row in hits + alarms])
    else:
        path = write_v3(tmp_path / "s.txt", hits + alarms)
    return data, path, evaluate_detector(data, [path], version=request.param)[0]


def test_targets_are_powers_of_ten_up_to_all_false_alarms(crowd):
    *_, found = crowd
    per_image = found.version == 3
    assert default_targets(found) == ([0.1, 0.5] if per_image else [1.0, 10.0, 25.0])
    assert (found.scale, found.images, found.total, found.hits) == (50 if per_image else 1, 50, 50, 25)
    assert middle(found) == 2.0, "a tenth of 25"
    assert found.summary() == {
        "label": "s.txt",
        "images": 50,
        "faces": 50,
        "found": 25,
        "false_alarms": 25,
        "detections": 50,
        "warnings": [],
    }


def test_ten_is_a_target_of_eleven_false_alarms(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE)])
    for n, targets in ((0, [0.0]), (1, [1.0]), (10, [1.0, 10.0]), (11, [1.0, 10.0, 11.0])):
        rows = [("a.jpg", FACE, 0.9, []), *(("a.jpg", AWAY, 0.1 + k / 100, []) for k in range(n))]
        found = evaluate_detector(data, [write_v2(tmp_path / "s.txt", rows)])[0]
        assert default_targets(found) == targets and middle(found) == 1.0


def test_an_operating_point_lets_pass_what_was_asked_for(crowd):
    *_, found = crowd
    scale = found.scale
    for wanted, threshold, hits in ((1, 0.25, 25), (10, 0.16, 25), (25, 0.01, 25)):
        (point,) = operating_points(found, (), [wanted / scale])
        assert (point.attribute, point.group, point.n, point.hits) == ("all", "all", 50, hits)
        assert point.threshold == pytest.approx(threshold) and point.false_alarms == pytest.approx(wanted / scale)
        assert point.rate == 0.5 and point.low < 0.25 and point.high > 0.75, "of five people in ten images each"
        everybody_else = np.array([f"{k}" for k in range(50)])
        (alone,) = operating_points(found, (), [wanted / scale], everybody_else)
        assert 0.36 < alone.low < 0.38 and 0.62 < alone.high < 0.64, "of fifty people"
    assert found.hit(0.74).sum() == 1 and found.hit(0.7401).sum() == 0


def test_a_band_lies_around_its_curve_in_the_curve_s_own_unit(crowd):
    data, path, plain = crowd
    for numbers in (False, True):
        settings = CurveSettings(bootstrap=60, numbers=numbers)
        found = evaluate_detector(data, [path], version=plain.version, settings=settings)[0]
        low, y, high = found.band.low, found.curve.y, found.band.high
        assert (low <= y + 1e-9).all() and (y <= high + 1e-9).all()
        assert y[-1] == (25 if numbers else 0.5) and high[-1] - low[-1] == pytest.approx(0.27 * y[-1] * 2, rel=0.4)
        assert found.band.x.tolist() == found.curve.x.tolist()
        assert found.to_dict()["low"] == low.tolist() and "low" not in plain.to_dict()


@pytest.mark.parametrize("version", [2, 3])
def test_the_band_is_read_at_the_curve_s_own_numbers_of_false_alarms(tmp_path, version):
    """Faces and false alarms have the same scores: at few false alarms few faces are found, with or without a band."""
    names = [f"{k:02d}.jpg" for k in range(60)]
    data = write_truth(tmp_path / "data", [(name, 1, FACE) for name in names])
    scores = [0.1 + (7 * k % 60) / 100 for k in range(60)]
    rows = [
        (name, box, score + shift, [1.0])
        for name, score in zip(names, scores, strict=True)
        for box, shift in ((FACE, 0.0), (AWAY, 0.003))
    ]
    rows = [(*row[:3], []) for row in rows] if version == 2 else rows
    path = (write_v2 if version == 2 else write_v3)(tmp_path / "s.txt", rows)
    found = evaluate_detector(data, [path], version=version, settings=CurveSettings(bootstrap=80))[0]
    low, y, high = found.band.low, found.curve.y, found.band.high
    inside = (y > 0.1) & (y < 0.9)
    assert inside.any() or version == 2
    assert (low[inside] < y[inside]).all() and (y[inside] < high[inside]).all()
    end = found.curve.x.argmax()
    assert low[end] > 0.9 and y[end] > 0.9 and high[end] == 1.0


def test_faces_of_another_dataset_are_counted_by_their_boxes_and_numbers():
    subjects = (
        Subject("a", identity="3", face_box=np.array([1.0, 2, 11, 22])),
        Subject("b"),
        Subject("c", identity="x"),
    )
    samples = [Sample(name, ArrayImage(np.zeros((9, 9, 3), np.uint8)), 9, 9, subjects) for name in ("one", "two")]
    said = {name: Identifications(np.array([[0.0, 0, 5, 5]]), np.array([0.5])) for name in ("one", "two")}
    state = merge(partial(Shard(samples[:1], said, None)), partial(Shard(samples[1:], said, None)))
    assert state["face_box"][:2].tolist() == [[1, 2, 10, 20], [0, 0, 0, 0]] and len(state["face_box"]) == 6
    assert state["face_subject"].tolist() == [3, -1, -1] * 2 and not state["face_excluded"].any()
    assert state["version"].tolist() == [3] * 6 and state["images"].tolist() == ["one", "two"]
    assert state["face_image"].tolist() == [0, 0, 0, 1, 1, 1] and state["image"].tolist() == [0, 1]


def test_a_score_file_is_known_by_its_columns(crowd, tmp_path):
    _, path, _ = crowd
    assert detects(path)
    lines = path.read_text().splitlines()
    short = tmp_path / "short.txt"
    short.write_text("\n".join(line.rsplit(",", 1)[0] for line in lines[-3:]))
    assert not detects(short), "five fields are too few, and they have no header"
    short.write_text("a.jpg,1,2,3,4,high\n")
    assert not detects(short) and not detects(tmp_path) and not detects(path.with_name("none.txt"))
    copy = path.with_suffix(".dat")
    copy.write_bytes(path.read_bytes())
    assert not detects(copy)


def test_results_are_the_curve_and_the_operating_point(crowd):
    *_, found = crowd
    (point,) = operating_points(found, (), [10 / found.scale])
    rate, lowest, threshold, curve = _results(found, point, 10.0)
    per_image = " per image" if found.version == 3 else ""
    assert (curve.name, curve.x.label, curve.y.label) == ("FROC", f"false alarms{per_image}", "share of faces")
    assert curve.meaning == f"share of faces found over false alarms{per_image}" and curve.x.log is (found.version == 3)
    assert curve.marks == [10 / found.scale] and curve.lines[0].y == found.curve.y.tolist()
    assert (rate.value, rate.n, rate.low, rate.high) == (0.5, 50, point.low, point.high)
    assert (lowest.value, lowest.n, lowest.meaning) == (0.5, 50, "with 25 false alarms")
    assert (threshold.value, threshold.n) == (0.16, 25)


def test_a_gallery_has_whole_subjects_from_one_and_landmarks_anywhere(tmp_path):
    head = ",".join(("FILE", "SUBJECT_ID", *LANDMARKS))
    path = tmp_path / "gallery.csv"
    path.write_text(f"{head}\na.png,3,{','.join(f'{k}.5' for k in range(10))}\n")
    (face,) = read_gallery(tmp_path)
    assert (face.file, face.subject, face.line, face.landmarks.tolist()) == (
        "a.png",
        3,
        2,
        [k + 0.5 for k in range(10)],
    )
    for wrong, said in (("3.5", "expected a whole number"), ("0", "SUBJECT_ID is 0"), ("-1", "SUBJECT_ID is -1")):
        path.write_text(f"{head}\na.png,{wrong},{','.join('1' * 10)}\n")
        with pytest.raises(InputError, match=f"line 2: .*{said}"):
            read_gallery(tmp_path)


def test_submissions_are_compared_at_what_all_of_them_reach(tmp_path):
    data = write_truth(tmp_path / "data", [(f"{k}.jpg", 1, FACE) for k in range(20)])
    files = []
    for n in (40, 11):
        hits = [(f"{k}.jpg", FACE, 0.9 - k / 100, []) for k in range(20)]
        rows = hits + [(f"{k % 20}.jpg", AWAY, 0.5 - k / 100, []) for k in range(n)]
        files.append(write_v2(tmp_path / f"{n}.txt", rows))
    found = evaluate_detector(data, files, settings=CurveSettings(bootstrap=20))
    compared = compare(found, rounds=20)
    assert [one.target for one in compared] == [1.0, 10.0, 11.0]
    assert [one.what for one in compared[:2]] == ["1 false alarm", "10 false alarms"]
    write_comparison(found, compared, [tmp_path / "a.html", tmp_path / "b.html"], data, tmp_path / "page.html")
    plain = evaluate_detector(data, files)
    write_comparison(plain, compared, [tmp_path / "a.html", tmp_path / "b.html"], data, tmp_path / "plain.html")
    bands = [(tmp_path / name).read_text().count('<polygon class="band') for name in ("page.html", "plain.html")]
    assert bands == [2, 0]


def test_a_face_that_is_covered_too_little_is_missed_for_its_version_s_reason(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE), ("b.jpg", 2, FACE)])
    beside = (6.0, 0.0, 10.0, 10.0)
    rows = [("a.jpg", beside, 0.9, [1.0]), ("b.jpg", FACE, 0.8, [1.0])]
    for version, said in ((2, "no detection covers it well enough"), (3, "no detection on it")):
        given = [(*row[:3], []) for row in rows] if version == 2 else rows
        path = (write_v2 if version == 2 else write_v3)(tmp_path / f"{version}.txt", given)
        (mistake,) = missed_faces(evaluate_detector(data, [path], version=version)[0])
        assert (mistake.kind, mistake.name, mistake.reason, mistake.score) == ("miss", "a.jpg", said, None)
        assert mistake.cost == "Costs 1 of 2, at every threshold." and mistake.box.tolist() == list(FACE)


def test_the_table_has_a_line_for_each_point(crowd):
    *_, found = crowd
    head, line = table_lines(operating_points(found, (), [10 / found.scale]))
    wanted = "      0.2" if found.version == 3 else "       10"
    assert line.startswith(f"{'all':28} {wanted}       0.16 {wanted}        25/50   0.500  0.2")
    assert len(head.split("95 %")[0].rstrip()) == len(line.split(" to ")[0].rsplit("  ", 1)[0])


def test_groups_of_five_have_a_curve_and_smaller_ones_or_unknown_ones_have_none(tmp_path):
    names = [f"{k:02d}.jpg" for k in range(14)]
    data = write_truth(tmp_path / "data", [(name, 1, FACE) for name in names])
    path = data / "protocol" / "validation.csv"
    head, *lines = path.read_text().splitlines()
    groups = ["five"] * 5 + ["four"] * 4 + [""] * 5
    path.write_text("\n".join([f"{head},WHO", *map(",".join, zip(lines, groups, strict=True))]) + "\n")
    rows = [(name, FACE, 0.5 + k / 100, []) for k, name in enumerate(names)] + [(names[0], AWAY, 0.52, [])]
    found = evaluate_detector(data, [write_v2(tmp_path / "s.txt", rows)], attributes=True)[0]
    (one,) = group_curves(found, ["who"])
    assert (one.attribute, one.group, one.n) == ("who", "five", 5)
    assert [two.group for two in group_curves(found, ["WHO"], least=4)] == ["five", "four"]
    assert one.curve.x.tolist() == found.curve.x.tolist()
    expected = [
        0.0 if y == 0 else np.mean(np.arange(0.5, 0.545, 0.01) >= t)
        for t, y in zip(found.curve.thresholds, found.curve.y, strict=True)
    ]
    assert one.curve.y == pytest.approx(expected)
    points = {p.group: (p.hits, p.n) for p in operating_points(found, ["who"], [1])}
    assert points == {"all": (12, 14), "five": (3, 5), "four": (4, 4), "": (5, 5)}


def test_a_probe_is_found_by_its_own_name_alone(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 3, FACE), ("b.jpg", 4, FACE)])
    rows = [("a.jpg", INSIDE, 0.9, [(3, 0.7), (4, 0.2)]), ("b.jpg", INSIDE, 0.8, [(3, 0.6), (4, 0.5)])]
    found = evaluate_recognizer(data, [write_v2(tmp_path / "s.txt", rows)])[0]
    assert (found.kind, found.unit, found.alarms) == ("DIR", "probes", "false identifications")
    assert found.units.tolist() == [0.7, -np.inf] and found.total == 2


class Fixed:
    def __init__(self, answer):
        self.answer = answer

    def __call__(self, images):
        self.seen = images
        return [self.answer]


def test_detections_are_rounded_best_first_and_without_empty_boxes():
    points = np.arange(30.0).reshape(3, 5, 2) / 7
    boxes = Boxes([[1.234, 2, 5, 8.5], [0, 0, 0.001, 4], [3, 4, 9, 9]], [0.204, 0.9, 0.806], landmarks=points)
    made = detect_step(Fixed(boxes), np.zeros((20, 20, 3), np.uint8), None)
    assert made["box"].tolist() == [[3, 4, 6, 5], [1.23, 2, 3.77, 6.5]]
    assert made["score"].tolist() == [0.81, 0.2]
    assert made["landmarks"].tolist() == points[[2, 0]].reshape(2, 10).round(2).tolist()
    plain = detect_step(Fixed(Boxes([[1, 2, 5, 8]], [0.5])), np.zeros((20, 20, 3), np.uint8), None)
    assert plain["landmarks"].shape == (1, 0)
    with pytest.raises(ValueError, match="x1 < x0"):
        detect_step(Fixed(Boxes([[5, 2, 1, 8]], [0.5])), np.zeros((20, 20, 3), np.uint8), None)


def test_a_box_is_enlarged_by_a_third_cut_out_and_embedded_with_length_one():
    assert enlarged(np.array([10.0, 20.0, 20.0, 10.0]), 100, 100) == (7, 18, 33, 32)
    image = np.arange(100 * 100 * 3, dtype=np.uint32).reshape(100, 100, 3).astype(np.uint8)
    model = Fixed(Embedding(np.array([3.0, 4.0])))
    assert embedding(model, image, np.array([10.0, 20.0, 20.0, 10.0])).tolist() == [0.6, 0.8]
    assert (model.seen[0] == image[18:32, 7:33]).all()
    assert embedding(Fixed(np.zeros(2)), image, np.array([10.0, 20.0, 20.0, 10.0])).tolist() == [0, 0]

    class Told:
        def embed(self, crop, box):
            self.box = box.tolist()
            return [2.0, 0.0]

    told = Told()
    made = embed_step(told, image, np.array([[10.0, 20.0, 20.0, 10.0]]))
    assert made["embedding"].tolist() == [[1.0, 0.0]] and told.box == [3, 2, 23, 12]
    with pytest.raises(InputError, match="gave no vector"):
        embedding(Fixed(Embedding(None)), image, np.array([1.0, 1, 5, 5]))


def test_a_face_around_landmarks_is_as_wide_as_eyes_or_mouth_ask_for():
    eyes = np.array([[10.0, 10], [30, 10], [20, 15], [15, 20], [25, 20]])
    assert box_of_landmarks(eyes).tolist() == [-2, -9, 44, 44], "2.2 times the 20 px between the eyes"
    high = np.array([[10.0, 10], [12, 10], [11, 15], [10, 50], [12, 50]])
    assert box_of_landmarks(high)[2] == 88, "2.2 times the 40 px between eyes and mouth"
    assert box_of_landmarks(np.zeros((5, 2)))[2] == 2


def test_names_end_with_the_unknown_and_templates_are_means_of_length_one():
    templates = Templates(np.array([-1, 4, 7]), np.array([[0, 1.0], [1, 0], [0.6, 0.8]], np.float32))
    probes = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)
    found = named(templates, probes)
    assert [[who for who, _ in row] for row in found] == [[4, 7, -1], [7, -1], [-1]]
    assert [[who for who, _ in row] for row in named(templates, probes, 1)] == [[4], [7], [-1]]
    assert found[0][1][1] == pytest.approx(0.6) and named(templates, probes[:0]) == []
    subjects, means = enroll(np.array([5, 2, 5]), np.array([[3, 0], [0, 2], [0, 3]], np.float32))
    assert subjects.tolist() == [2, 5] and means == pytest.approx(np.array([[0, 1], [0.5**0.5, 0.5**0.5]]))


def test_a_set_is_a_dataset_whose_faces_keep_the_protocol_s_numbers(tmp_path):
    faces = [("a.jpg", 3, (1.5, 2.0, 10.0, 20.0)), ("a.jpg", -1, FACE), ("b.jpg", 0, FACE)]
    data = write_truth(tmp_path / "data", faces, excluded=[1])
    made = read_dataset(data, version=3, pictures=False)
    first, second, third = (face for sample in made for face in sample.subjects)
    assert isinstance(first, Face) and [sample.id for sample in made] == ["a.jpg", "b.jpg"]
    assert first.face_box.tolist() == [1.5, 2.0, 11.5, 22.0] and first.published.tolist() == [1.5, 2, 10, 20]
    assert [(face.id, face.identity, face.number, face.excluded) for face in (first, second, third)] == [
        ("a.jpg#0", "3", 3, True),
        ("a.jpg#1", None, -1, False),
        ("b.jpg#0", None, 0, False),
    ]
    assert [face.attributes["known"] for face in (first, second, third)] == ["known", "unknown", "ignored"]
    assert {(sample.width, sample.height) for sample in made} == {(0, 0)}, "no picture was opened"
    again = read_dataset(data, version=3, pictures=False)
    assert [sample.sha256 for sample in again] == [sample.sha256 for sample in made]
    other = read_dataset(write_truth(tmp_path / "other", faces), version=3, pictures=False)
    assert other.samples[0].sha256 != made.samples[0].sha256 and other.samples[1].sha256 == made.samples[1].sha256


@pytest.mark.parametrize("wrong", ["?set=all", "?version=4", "?pictures=some", "?other=1"])
def test_a_wrong_option_of_the_dataset_is_refused(tmp_path, wrong):
    data = write_truth(tmp_path / "data", [("a.jpg", 3, FACE)])
    with pytest.raises(InputError, match=r"expected FOLDER\?set="):
        load(f"{data}{wrong}")
    assert load(f"{data}?pictures=no&version=2").card.version == "2"
    assert Path(data).is_dir()
