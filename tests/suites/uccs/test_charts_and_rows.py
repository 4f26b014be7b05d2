"""Charts, rows of a run and sections of its page, with every number that they are made of."""

from dataclasses import replace

import numpy as np
import pytest
from challenge_files import write_truth, write_v2, write_v3

from countenance.answers import Boxes, Identifications
from countenance.data.adapters.uccs import read_dataset
from countenance.errors import InputError
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.plot import GREY, HEIGHT, chart_of, group_charts
from countenance.suites.uccs.run import check_places, places, write_runs
from countenance.suites.uccs.sections import _divides, evaluation_again
from countenance.suites.uccs.task import DETECTION, RECOGNITION, CurveOptions, to_identifications

FACE, AWAY = (0.0, 0.0, 10.0, 10.0), (80.0, 80.0, 9.0, 9.0)
NAMES = [f"{k:02d}.jpg" for k in range(12)]


@pytest.fixture
def files(tmp_path):
    """Twelve known faces in two groups, ten found (.50 to .59); 16 false alarms (.30 to .45); the same in version 3."""
    data = write_truth(tmp_path / "data", [(name, 1 + k % 2, FACE) for k, name in enumerate(NAMES)])
    for path in (data / "protocol" / "validation.csv", data / "validation.csv"):
        head, *lines = path.read_text().splitlines()
        path.write_text(
            "\n".join([f"{head},WHO,SAME", *(f"{line},{'ab'[k % 2]},x" for k, line in enumerate(lines))]) + "\n"
        )
    rows = [(name, FACE, 0.5 + k / 100, 1 + k % 2) for k, name in enumerate(NAMES[:10])]
    rows += [(NAMES[k % 12], AWAY, 0.3 + k / 100, 1) for k in range(16)]
    two = write_v2(tmp_path / "2.txt", [(name, box, score, [(who, score)]) for name, box, score, who in rows])
    three = write_v3(
        tmp_path / "3.txt", [(*row[:3], [row[2] * (row[3] == 1), row[2] * (row[3] == 2)]) for row in rows], 2
    )
    return data, two, three


def chart(files, version, recognition=False, **settings):
    data, *paths = files
    evaluate = evaluate_recognizer if recognition else evaluate_detector
    (found,) = evaluate(data, [paths[version - 2]], settings=CurveSettings(**settings), attributes=True)
    return found, chart_of([found], band=True)


WORDS = [
    (2, False, {}, "False Accepts", "Detection Rate", ""),
    (2, False, {"numbers": True}, "False Accepts", "Number of Detections", ""),
    (2, True, {}, "False Identifications", "Detection & Identification Rate", ""),
    (2, True, {"numbers": True, "rank": 2}, "False Identifications", "Detected and Identified", "Rank 2 DIR curve"),
    (3, False, {}, "False Detection Per Image", "Detection Rate", ""),
    (3, True, {}, "FPI Per Image", "TPIR Per Face", "Rank 1 O-ROC curve"),
    (3, True, {"numbers": True}, "FPI Per Image", "TPI", "Rank 1 O-ROC curve"),
]


@pytest.mark.parametrize(("version", "recognition", "settings", "across", "up", "title"), WORDS)
def test_axes_and_titles_are_the_challenge_s(files, version, recognition, settings, across, up, title):
    found, made = chart(files, version, recognition, **settings)
    numbers = "numbers" in settings
    assert (made.axes, made.title) == ((across, up), title) and HEIGHT == 4.5
    assert made.limits == ((0.0, 16.0 / found.scale), (0.0, 12.0 if numbers else 1.0)) and made.log == (False, False)
    line, *chance = made.lines
    assert (line.n, line.x, line.y) == (0, found.curve.x.tolist(), found.curve.y.tolist())
    assert (line.low, line.high, line.strong) == ((), (), False)
    assert line.thresholds == found.curve.thresholds.tolist() and len(chance) == (version == 2)
    if chance:  # a straight line: as many false alarms as faces, up to all 12 faces
        (dotted,) = chance
        assert (dotted.x, dotted.y) == ([0.0, 12.0], [0.0, 12.0 if numbers else 1.0])
        assert (dotted.n, dotted.colour, dotted.dash) == (0, GREY, "1.5 3") and GREY == "c7"


def test_a_logarithmic_axis_begins_at_one_false_alarm(files):
    found, made = chart(files, 2, log=True, bootstrap=9)
    assert made.log == (True, False) and made.limits[0] == (1.0, 16.0)
    line, dotted = made.lines
    assert (line.low, line.high) == (found.band.low.tolist(), found.band.high.tolist())
    assert (
        len(dotted.x) == 60 and dotted.x == pytest.approx(np.geomspace(1, 12, 60)) and dotted.y[-1] == pytest.approx(1)
    )
    assert chart_of([found], band=False).lines[0].low == ()
    empty = chart_of([replace(found, total=0, settings=CurveSettings(numbers=True))], band=False)
    assert empty.limits[1] == (0.0, 1.0) and empty.lines[1].y[-1] == 1.0
    assert chart(files, 3, log=True)[1].limits[0] == pytest.approx((1 / 12, 16 / 12))


def test_groups_are_drawn_after_everybody(files):
    found, _ = chart(files, 2)
    (made,) = group_charts(found, ["who"]).values()
    assert [line.label for line in made.lines] == ["all (12)", "a (6)", "b (6)", "as many false alarms as faces"]
    assert [line.n for line in made.lines] == [0] * 4 and made.title == "2.txt"
    one = made.lines[1]
    assert one.y[-1] == pytest.approx(5 / 6) and one.x == found.curve.x.tolist() and one.thresholds
    assert _divides(found, "WHO") and not _divides(found, "SAME") and not _divides(found, "none")


def test_boxes_of_any_detector_are_corners_and_become_sizes():
    made = to_identifications(Boxes([[1, 2, 11, 32]], [0.5]))
    assert made.xywh.tolist() == [[1, 2, 10, 30]] and made.scores.tolist() == [0.5]
    given = Identifications(np.zeros((0, 4)), np.zeros(0))
    assert to_identifications(given) is given


def test_the_tasks_have_the_challenge_s_options_and_say_what_they_measure():
    assert CurveOptions().model_dump() == {
        "version": None,
        "overlap": 0.5,
        "rank": 1,
        "log": False,
        "only_present": False,
        "bootstrap": 0,
        "seed": 0,
        "false_alarms": None,
    }
    assert CurveOptions().settings() == CurveSettings()
    for wrong in ({"overlap": 0}, {"overlap": 1.01}, {"rank": 0}, {"bootstrap": -1}, {"false_alarms": 0}):
        with pytest.raises(ValueError):
            CurveOptions(**wrong)
    for good in ({"overlap": 1}, {"overlap": 0.01}, {"rank": 1}, {"bootstrap": 0}, {"false_alarms": 0.5}):
        CurveOptions(**good)
    about = {m.name: (m.headline, m.better) for task in (DETECTION, RECOGNITION) for m in task.metrics}
    assert about == {
        "found": (True, "higher"),
        "found_at_all": (False, "higher"),
        "false_alarms": (False, "lower"),
        "identified": (True, "higher"),
        "rejected": (True, "higher"),
        "identified_at_all": (False, "higher"),
        "false_identifications": (False, "lower"),
    }
    assert (DETECTION.name, RECOGNITION.name, DETECTION.needs) == ("uccs_detection", "uccs_recognition", ("face",))


def metric(run, name):
    return [value for value in run.scores()[f"m.{name}"].to_pylist() if value is not None]


def test_rows_of_a_run_are_read_at_a_tenth_of_the_false_alarms(files, tmp_path):
    """A tenth of 16 is 2: the threshold lies at the second highest, .44; half of them would be 8, .38."""
    data, two, three = files
    for path, scale, kind in ((two, 1, "FROC"), (three, 12, "FROC")):
        (found,) = evaluate_detector(data, [path])
        (run,) = write_runs([found], data, [tmp_path / path.stem], ["WHO"])
        results = {one.name: one for one in run.results()}
        rate, lowest = results[f"{kind}: rate at the operating point"], results[f"{kind}: rate at the lowest threshold"]
        assert (results["threshold"].value, results["threshold"].n) == (pytest.approx(0.44), 16)
        assert rate.value == pytest.approx(10 / 12) == lowest.value and rate.n == lowest.n == 12
        assert (lowest.low, lowest.high) == (pytest.approx(rate.low), pytest.approx(rate.high))
        (audited,) = run.audit(by=["who"], metrics=["found"]).overall
        assert (rate.value, rate.low, rate.high) == pytest.approx((audited.estimate, audited.low, audited.high))
        assert results[kind].marks == pytest.approx([2 / scale]) and results[kind].x.log is (scale == 12)
        assert metric(run, "found") == metric(run, "found_at_all") == [1.0] * 10 + [0.0] * 2
        assert metric(run, "false_alarms") == [0, 0, 1, 1] + [0] * 8 and sum(metric(run, "false_alarms")) == 2
        assert run.manifest.about == {"kind": kind, "protocol_version": found.version, "which_set": "validation"}
        unread = read_dataset(data, "validation", found.version, pictures=False)
        assert run.manifest.suite == "uccs" and run.manifest.dataset.fingerprint == unread.fingerprint()
    half = evaluate_detector(data, [two], settings=CurveSettings(rank=4))[0]
    (run,) = write_runs([half], data, [tmp_path / "half"])
    assert evaluation_again(run)[0].settings.rank == 4 and evaluation_again(run)[1].name.startswith("uccs ")


def test_a_run_of_a_recognition_says_who_was_turned_away(tmp_path):
    faces = [("a.jpg", 1, FACE), ("a.jpg", -1, AWAY), ("b.jpg", 0, FACE), ("b.jpg", -1, AWAY), ("c.jpg", 2, FACE)]
    data = write_truth(tmp_path / "data", faces)
    rows = [
        ("a.jpg", FACE, 0.9, [(1, 0.7)]),
        ("a.jpg", AWAY, 0.9, [(1, 0.6)]),
        ("b.jpg", FACE, 0.9, [(1, 0.5)]),
        ("b.jpg", AWAY, 0.9, [(2, 0.3)]),
        ("c.jpg", FACE, 0.9, [(2, 0.55)]),
        ("c.jpg", (40.0, 40.0, 5.0, 5.0), 0.9, [(2, 0.2)]),
    ]
    (found,) = evaluate_recognizer(data, [write_v2(tmp_path / "s.txt", rows)], settings=CurveSettings())
    assert sorted(found.negatives.tolist()) == [0.2, 0.3, 0.6] and (found.total, found.hits) == (2, 2)
    (run,) = write_runs([found], data, [tmp_path / "run"])  # one false identification: the threshold is .6
    columns = {name: run.scores()[f"m.{name}"].to_pylist() for name in ("identified", "identified_at_all", "rejected")}
    assert columns["identified"] == [1.0, None, None, None, None, None, 0.0, None]
    assert columns["identified_at_all"] == [1.0, None, None, None, None, None, 1.0, None]
    assert columns["rejected"] == [None, 0.0, None, None, 1.0, None, None, None]
    assert run.scores()["m.false_identifications"].to_pylist() == [None, None, 1, None, None, 0, None, 0]


def test_a_place_is_for_runs_alone(tmp_path):
    assert places(tmp_path, ["one"]) == [tmp_path] and [p.name for p in places(tmp_path, [" .. ", "a\\b"])] == [
        "run",
        "a_b",
    ]
    check_places(tmp_path / "new", ["one"])
    check_places(tmp_path, ["one"])
    (tmp_path / "file").touch()
    for wrong in (tmp_path, tmp_path / "file"):
        with pytest.raises(InputError, match="exists and holds no run"):
            check_places(wrong, ["one"])
