"""Targets, thresholds, groups, errors and comparisons at their limits, with numbers that can be counted by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from challenge_files import write_truth, write_v2, write_v3

from countenance.data import ArrayImage, Sample
from countenance.errors import InputError
from countenance.metrics.curves import ImageScores, band_of, resampled_rates
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.calibration import ScoreCalibration, calibrate
from countenance.suites.uccs.comparison import ROUNDS, compare, names_of
from countenance.suites.uccs.errors import missed_faces, picture, worst_false_alarms
from countenance.suites.uccs.evaluation import Submission
from countenance.suites.uccs.operating import default_targets, group_curves, middle
from countenance.suites.uccs.readings import _localises

FACE, INSIDE, AWAY = (0.0, 0.0, 10.0, 10.0), (1.0, 1.0, 8.0, 8.0), (80.0, 80.0, 9.0, 9.0)


def so_many(negatives: int, scale: int = 1):
    return SimpleNamespace(negatives=range(negatives), scale=scale)


def test_targets_lie_between_a_thousandth_and_a_million():
    assert default_targets(so_many(10**8)) == [10.0**k for k in range(7)] + [1e8]
    assert default_targets(so_many(10**9, 20_000)) == [10.0**k for k in range(-3, 5)] + [50_000]
    assert default_targets(so_many(3, 10)) == [0.1, 0.3]
    assert [middle(so_many(n)) for n in (0, 4, 9, 16, 106, 114)] == [1.0, 1.0, 1.0, 2.0, 11.0, 11.0]


def test_the_settings_of_a_curve_are_the_challenge_s():
    assert vars(CurveSettings()) == {
        "log": False,
        "only_present": False,
        "overlap": 0.5,
        "rank": 1,
        "numbers": False,
        "bootstrap": 0,
        "seed": 0,
        "exclude": None,
    }
    assert Submission("", SimpleNamespace(version=2), None, None, CurveSettings()).version == 2


def crowd(tmp_path, alarms=20, faces=30):
    """Faces of which every third is found, each with its own score, and false alarms with theirs."""
    names = [f"{k:02d}.jpg" for k in range(faces)]
    data = write_truth(tmp_path / "data", [(name, 1 + k % 3, FACE) for k, name in enumerate(names)])
    rows = [(name, FACE, 0.5 + k / 100, [(1 + k % 3, 0.5)]) for k, name in enumerate(names) if k % 3 == 0]
    rows += [(names[k], AWAY, 0.4 + k / 100, [(1, 0.4)]) for k in range(alarms)]
    return data, write_v2(tmp_path / "s.txt", rows)


def test_at_most_twelve_errors_are_shown_the_costliest_first(tmp_path):
    data, path = crowd(tmp_path)
    (found,) = evaluate_detector(data, [path])
    alarms, misses = worst_false_alarms(found), missed_faces(found)
    assert (len(alarms), len(misses)) == (12, 12) and len(missed_faces(found, 3)) == 3
    assert [round(one.score, 2) for one in alarms] == [round(0.59 - k / 100, 2) for k in range(12)]
    # Found faces score .50, .53, .56, .59 … .77: ten of them, of which four do not exceed .59.
    assert alarms[0].cost == "To keep it out, the threshold must exceed 0.59; that loses 4 of 10 found faces."
    assert alarms[1].cost.endswith("must exceed 0.58; that loses 3 of 10 found faces.")
    assert (alarms[0].kind, alarms[0].name, alarms[0].image, alarms[0].reason) == (
        "false alarm",
        "19.jpg",
        19,
        "taken for a face",
    )
    assert alarms[0].box.tolist() == list(AWAY) and misses[0].cost == "Costs 1 of 30, at every threshold."


def test_a_false_identification_is_named_by_its_best_subject(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, FACE)])
    rows = [("a.jpg", AWAY, 0.9, [(-1, 0.8), (4, 0.1), (1, 0.6), (3, 0.2)]), ("a.jpg", AWAY, 0.8, [(2, 0.3)])]
    (found,) = evaluate_recognizer(data, [write_v2(tmp_path / "s.txt", rows)])
    assert [one.reason for one in worst_false_alarms(found)] == ["named subject 1", "named subject 2"]


def test_misses_are_told_by_how_little_they_were_lost(tmp_path):
    names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    data = write_truth(tmp_path / "data", [(name, k + 1, FACE) for k, name in enumerate(names)])
    rows = [
        ("a.jpg", INSIDE, 0.9, [(1, 0.1), (7, 0.9), (8, 0.3)]),
        ("b.jpg", INSIDE, 0.9, [(2, 0.6), (7, 0.2), (8, 0.7)]),
        ("c.jpg", INSIDE, 0.9, [(7, 0.5)]),
    ]
    (found,) = evaluate_recognizer(data, [write_v2(tmp_path / "s.txt", rows)])
    assert [one.reason for one in missed_faces(found)] == [
        "subject 2 scored 0.6, subject 8 scored 0.7",
        "subject 1 scored 0.1, subject 7 scored 0.9",
        "subject 3 is not among the names given",
        "no detection on it",
    ]


def test_the_picture_of_an_error_is_a_window_three_boxes_wide(tmp_path):
    data = write_truth(tmp_path / "data", [("a.jpg", 1, (10.0, 20.0, 30.0, 40.0)), ("b.jpg", 1, FACE)])
    (found,) = evaluate_detector(data, [write_v2(tmp_path / "s.txt", [("a.jpg", (150.0, 90.0, 20.0, 10.0), 0.9, [])])])
    (mistake,) = worst_false_alarms(found)
    sample = Sample("a.jpg", ArrayImage(np.zeros((200, 400, 3), np.uint8)), 400, 200)
    shown, drawn = picture(sample, found, mistake, "full")
    assert 'viewBox="130 65 60 60"' in drawn and "false alarm in a.jpg: taken for a face" in drawn
    assert '<rect class="truth" x="10.0" y="20.0" width="30.0" height="40.0"/>' in drawn
    assert '<rect class="answer" x="150.0" y="90.0" width="20.0" height="10.0"/>' in drawn and drawn.count("<rect") == 4
    low = [("a.jpg", (380.0, 185.0, 12.0, 14.0), 0.9, [])]  # 42 pixels wide, moved into the picture
    (other,) = worst_false_alarms(evaluate_detector(data, [write_v2(tmp_path / "t.txt", low)])[0])
    assert 'viewBox="358 158 42 42"' in picture(sample, found, other, "full")[1]
    noise = np.random.default_rng(0).integers(0, 255, (200, 400, 3), dtype=np.uint8)
    sharp, blurred = (
        picture(replace(sample, image=ArrayImage(noise)), found, mistake, mode)[0] for mode in ("full", "blurred")
    )
    assert len(blurred) < len(sharp) / 2 and shown.startswith("data:image/jpeg")


@pytest.mark.parametrize(("wanted", "good"), [(0, False), (1, True), (20, True), (20.5, False)])
def test_a_threshold_is_for_one_false_alarm_at_least_and_all_of_them_at_most(tmp_path, wanted, good):
    data, path = crowd(tmp_path)
    (found,) = evaluate_recognizer(data, [path])
    if not good:
        with pytest.raises(InputError, match="requested, expected more than 0 and at most 20"):
            calibrate(found, wanted, rounds=2)
        return
    made = calibrate(found, wanted, rounds=20)
    assert made.to_dict() == calibrate(found, wanted, rounds=20, seed=0).to_dict() | {"stable": made.stable}
    assert (made.total, made.allowed) == (30, wanted) and (wanted < 20 or made.hits == 10)


def test_without_false_alarms_there_is_no_threshold(tmp_path):
    data, path = crowd(tmp_path, alarms=0)
    (found,) = evaluate_detector(data, [path])
    with pytest.raises(InputError, match=r"s\.txt: no false alarm at all"):
        calibrate(found, 1)
    with pytest.raises(InputError, match=r"2 false identifications requested, expected more than 0 and at most 0"):
        calibrate(found, 2)


def test_a_calibration_in_words():
    fields = {
        "threshold": 0.5,
        "false_alarms": 9,
        "threshold_low": 0.4,
        "threshold_high": 0.6,
        "elsewhere_low": 0.8,
        "elsewhere_high": 1.2,
        "allowed": 10.0,
        "hits": 3,
        "total": 4,
        "rate_low": 0.3,
        "rate_high": 0.95,
    }
    known = {name: fields.get(name, 0.1) for name in ScoreCalibration.__dataclass_fields__}
    told = ScoreCalibration(**known).sentences("false alarms")
    assert told[0] == (
        "Threshold 0.5: 9 false alarms here (10 were allowed), 3 of 4 found (0.750; 95 % interval 0.300 to 0.950)."
    )
    assert told[1:3] == [
        "Drawing the images again moves the threshold between 0.4 and 0.6.",
        "On images that did not choose it, a threshold gives 0.80 to 1.20 times the requested false alarms "
        "(95 % of random halves).",
    ]


@pytest.mark.parametrize(
    ("version", "overlap", "hits"), [(2, 1.0, [True, False]), (3, 0.64, [True, False]), (3, 0.65, [False, False])]
)
def test_a_face_is_found_by_its_version_s_own_overlap(version, overlap, hits):
    """A box inside of a face covers it wholly by version 2's measure, and .64 of it by version 3's."""
    truth = np.array([[0.0, 0, 10, 10], [50, 50, 60, 60]])
    said = np.array([[1.0, 1, 9, 9], [90, 90, 99, 99]])
    assert _localises(version, overlap)(truth, said).tolist() == hits


def test_a_band_of_detections_is_strict_in_version_two_alone(tmp_path):
    """Where even the highest false alarm is too many, version 2's FROC is 0, and other curves are not."""
    names = [f"{k:02d}.jpg" for k in range(12)]
    data = write_truth(tmp_path / "data", [(name, 1, FACE) for name in names])
    rows = [
        (name, box, score, [1.0])
        for k, name in enumerate(names)
        for box, score in ((FACE, 0.9 + k / 1000), (AWAY, 0.1 + k / 1000), (AWAY, 0.5))
    ]
    v2 = write_v2(tmp_path / "2.txt", [(*row[:3], [(1, row[2])]) for row in rows])
    v3 = write_v3(tmp_path / "3.txt", [(*row[:3], [row[2]]) for row in rows], 1)
    settings = CurveSettings(bootstrap=30, seed=4)
    for evaluate, path, strict in (
        (evaluate_detector, v2, True),
        (evaluate_recognizer, v2, False),
        (evaluate_detector, v3, False),
        (evaluate_recognizer, v3, False),
    ):
        (found,) = evaluate(data, [path], settings=settings)
        few = np.array([1.0])
        bands = {
            way: band_of(
                resampled_rates(
                    ImageScores(found.units, found.unit_image),
                    ImageScores(found.negatives, found.negative_image),
                    images=12,
                    targets=few,
                    rounds=30,
                    seed=4,
                    strict=way,
                ),
                few,
            )
            for way in (True, False)
        }
        assert bands[True].high[0] == 0 and bands[False].high[0] == 1
        at = np.searchsorted(found.curve.x * found.scale, 1.0 + 1e-9) - 1
        assert found.band.high[at] == (0 if strict else 1), (found.kind, found.version)


def test_group_curves_end_with_all_that_were_found(tmp_path):
    data, path = crowd(tmp_path)
    protocol = data / "protocol" / "validation.csv"
    head, *lines = protocol.read_text().splitlines()
    protocol.write_text("\n".join([f"{head},WHO", *(f"{line},{'ab'[k % 2]}" for k, line in enumerate(lines))]) + "\n")
    (found,) = evaluate_recognizer(data, [path], attributes=True)
    one, two = group_curves(found, ["who"])
    assert (one.n, two.n) == (15, 15) and (one.curve.y[-1], two.curve.y[-1]) == (5 / 15, 5 / 15)


def test_submissions_are_drawn_again_five_hundred_times_from_seed_zero(tmp_path):
    data, path = crowd(tmp_path)
    found = evaluate_detector(data, [path, path])
    assert ROUNDS == 500 and names_of(found) == ["s.txt (1)", "s.txt (2)"]
    worse = replace(found[1], units=np.where(np.arange(30) < 12, found[1].units, -np.inf), label="other")
    pair = [replace(found[0], label="one"), worse]
    for given in ({}, {"rounds": 500}, {"seed": 0}):
        (made,) = compare(pair, [20], **given)
        (told,) = made.lines()
        assert told.startswith("one − other at 20 false alarms: +0.200 [")
        assert made.ranking.pairs == compare(pair, [20], rounds=500, seed=0)[0].ranking.pairs
    assert made.to_dict()["rates"] == {"one": pytest.approx(1 / 3), "other": pytest.approx(4 / 30)}
    assert made.to_dict()["false_alarms"] == 20 and compare(pair, [1], rounds=9)[0].what == "1 false alarm"
    assert [one.target for one in compare(pair, rounds=3)] == [1.0, 10.0, 20.0]
