"""By group: curves, operating points, calibration, and the page that shows the errors."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from challenge_files import write_v2

from countenance.errors import InputError
from countenance.run import Run
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.calibration import calibrate
from countenance.suites.uccs.errors import missed_faces, worst_false_alarms
from countenance.suites.uccs.operating import group_curves, middle, operating_points
from countenance.suites.uccs.run import write_runs

INSIDE = (1.0, 1.0, 8.0, 8.0)
AWAY = (80.0, 80.0, 9.0, 9.0)


@pytest.fixture
def crowd(tmp_path):
    """Two hundred images with a face each; masked ones are found half as often. One stranger every fourth image."""
    random = np.random.default_rng(0)
    header = "FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT,MASKED,AGE_GROUP\n"
    lines, rows = [], []
    for k in range(200):
        masked = k % 2 == 1
        subject = -1 if k % 4 == 3 else 1 + k % 7
        lines.append(
            f"{k + 1},{k:03d}.jpg,{subject},0,0,10,10,{'yes' if masked else 'no'},{'child' if k < 3 else 'adult'}\n"
        )
        if random.random() < (0.45 if masked else 0.9):
            name = subject if subject > 0 else 5
            rows.append(
                (f"{k:03d}.jpg", INSIDE, round(random.uniform(0.4, 1), 3), [(name, round(random.uniform(0.3, 1), 3))])
            )
        rows.append((f"{k:03d}.jpg", AWAY, round(random.uniform(0, 0.8), 3), [(3, round(random.uniform(0, 0.6), 3))]))
    data = tmp_path / "crowd"
    (data / "protocol").mkdir(parents=True)
    (data / "protocol" / "validation.csv").write_text(header + "".join(lines))
    return data, write_v2(tmp_path / "scores.txt", rows)


def test_group_curves_mix_to_the_whole_curve(crowd):
    data, path = crowd
    for evaluate in (evaluate_detector, evaluate_recognizer):
        whole = evaluate(data, [path], settings=CurveSettings(log=True), attributes=True)[0]
        groups = group_curves(whole, ["masked"])
        assert [one.group for one in groups] == ["no", "yes"]
        mixed = sum(one.n * one.curve.y for one in groups) / sum(one.n for one in groups)
        np.testing.assert_allclose(mixed, whole.curve.y, atol=1e-12)


def test_a_group_of_a_few_faces_has_no_curve(crowd):
    data, path = crowd
    whole = evaluate_detector(data, [path], attributes=True)[0]
    assert [one.group for one in group_curves(whole, ["AGE_GROUP"])] == ["adult"]


def test_operating_points_count_and_hold_their_rates(crowd):
    data, path = crowd
    whole = evaluate_recognizer(data, [path], attributes=True)[0]
    for point in operating_points(whole, ["masked"], [1, 10, 50]):
        assert point.low <= point.rate <= point.high
        assert point.rate == point.hits / point.n
        assert point.false_alarms == (whole.negatives >= point.threshold).sum() <= point.target
    everybody = [p for p in operating_points(whole, ["masked"]) if p.attribute == "all"]
    assert everybody[-1].false_alarms == len(whole.negatives)


@pytest.mark.parametrize("evaluate", [evaluate_detector, evaluate_recognizer])
def test_a_rate_has_one_interval_in_the_table_the_results_and_the_audit(crowd, tmp_path, evaluate):
    data, path = crowd
    whole = evaluate(data, [path], attributes=True)[0]
    (run,) = write_runs([whole], data, [tmp_path / "run"], ["masked"])
    metric = "found" if whole.kind == "FROC" else "identified"
    audit = run.audit(by=["masked"], metrics=[metric, f"{metric}_at_all"])
    point, lowest = [(e.estimate, e.low, e.high) for e in audit.overall]
    rates = [(r.value, r.low, r.high) for r in run.results() if "rate at" in r.name]
    assert rates == [pytest.approx(point), pytest.approx(lowest)]
    target = [middle(whole) / whole.scale]
    table = {p.group: (p.rate, p.low, p.high) for p in operating_points(whole, ["masked"], target)}
    groups = {e.group: (e.estimate, e.low, e.high) for e in audit.groups if e.metric == metric}
    for name, numbers in (groups | {"all": point}).items():
        assert table[name] == pytest.approx(numbers), name
    sentence = calibrate(whole, middle(whole))
    assert (sentence.rate_low, sentence.rate_high) == pytest.approx(point[1:])


def test_an_unknown_column_is_named_with_those_there_are(crowd):
    data, path = crowd
    whole = evaluate_detector(data, [path], attributes=True)[0]
    with pytest.raises(InputError, match=r"no column 'maskd' \(did you mean masked\?\)"):
        operating_points(whole, ["maskd"])


def test_a_threshold_from_many_false_identifications_is_stable_and_from_one_is_not(crowd):
    data, path = crowd
    whole = evaluate_recognizer(data, [path])[0]
    many, one = calibrate(whole, 120, rounds=200), calibrate(whole, 1, rounds=200)
    assert many.stable
    assert not one.stable
    assert many.false_alarms <= 120
    assert many.threshold_low <= many.threshold <= many.threshold_high
    assert "stable" in many.sentences()[-1]
    with pytest.raises(InputError, match="expected more than 0 and at most"):
        calibrate(whole, 100_000)


def test_the_costliest_false_alarm_comes_first_with_its_cost(crowd):
    data, path = crowd
    whole = evaluate_recognizer(data, [path])[0]
    mistakes = worst_false_alarms(whole)
    assert mistakes[0].score == whole.negatives.max()
    lost = int((whole.units[np.isfinite(whole.units)] <= mistakes[0].score).sum())
    assert f"loses {lost} of {whole.hits} found faces" in mistakes[0].cost
    assert mistakes[0].reason.startswith("named subject ")


def test_a_missed_face_says_why(small, tmp_path):
    rows = [("a.jpg", INSIDE, 0.9, [(3, 0.2), (4, 0.7)]), ("a.jpg", AWAY, 0.9, [(3, 0.5)])]
    path = write_v2(tmp_path / "s.txt", rows)
    mistakes = missed_faces(evaluate_recognizer(small, [path])[0])
    assert [one.reason for one in mistakes] == ["subject 3 scored 0.2, subject 4 scored 0.7", "no detection on it"]


def test_by_report_and_json_from_the_command_line(command, crowd):
    data, path = crowd
    options = ("-d", data, "-r", path, "--by", "masked", "--report", "page.html", "--json", "o.json", "-w", "p.svg")
    code, out, _ = command("evaluate-detector", *options, "--out", "run")
    assert code == 0
    assert "masked yes" in out
    from pathlib import Path

    content = json.loads(Path("o.json").read_text())
    assert {group["label"] for group in content["groups"]} == {"yes", "no"}
    assert content["operating_points"][0]["attribute"] == "all"
    assert Path("p-by-masked.svg").is_file()
    page = Path("page.html").read_text()
    assert "What the errors cost" in page
    assert "real people, so none is shown" in page
    assert "<img" not in page
    assert not re.search(r"""(src|href)=["']https?:""", page), "the page needs no network"
    for said in ("Choosing a threshold", "Operating points", "masked: masked", "Faces missed, the closest first"):
        assert said in page
    assert [path.name for path in Path("run").glob("*.html")] == [], "the page is where it was asked for"
    # The same people recur, so the default audit has few of them; images are what was drawn here.
    assert Run("run").audit(by=["masked"], cluster="sample").verdict == "disparity"


def test_names_in_files_are_text_on_the_page(command, small, tmp_path):
    from pathlib import Path

    path = tmp_path / "<script>alert(1)</script>.txt".replace("/", "_")
    write_v2(path, [("a.jpg", INSIDE, 0.9, [(3, 0.2)]), ("a.jpg", AWAY, 0.9, [(3, 0.5)])])
    assert command("evaluate-recognizer", "-d", small, "-r", path, "--report", "page.html", "-w", "p.svg")[0] == 0
    assert "<script>alert" not in Path("page.html").read_text()
    assert "<script>" not in Path("p.svg").read_text()


def test_calibrate_from_the_command_line(command, crowd):
    data, path = crowd
    code, out, _ = command("calibrate", "-d", data, "-r", path, "-n", 50, "--json", "c.json")
    assert code == 0
    assert "false identifications here (50 were allowed)" in out
    from pathlib import Path

    assert json.loads(Path("c.json").read_text())["wanted"] == 50


@pytest.fixture
def twice(tmp_path):
    """Thirty images, in each of which subject 3 is twice: masked first, then not."""
    header = "FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT,MASKED\n"
    lines, rows = [], []
    for k in range(30):
        lines += [f"{2 * k},{k:03d}.jpg,3,0,0,10,10,yes\n", f"{2 * k + 1},{k:03d}.jpg,3,50,0,10,10,no\n"]
        rows += [(f"{k:03d}.jpg", INSIDE, 0.9, [(3, 0.8)]), (f"{k:03d}.jpg", AWAY, 0.5, [(4, 0.1 + k / 100)])]
    data = tmp_path / "twice"
    (data / "protocol").mkdir(parents=True)
    (data / "protocol" / "validation.csv").write_text(header + "".join(lines))
    return data, write_v2(tmp_path / "scores.txt", rows)


def test_a_subject_twice_in_an_image_is_one_probe_of_the_first_group_and_that_is_said(twice, command):
    data, scores = twice
    given = ("-d", data, "-r", scores, "--by", "masked", "--report", "page.html", "--out", "run", "-w", "p.pdf")
    code, out, err = command("evaluate_recognizer.py", *given)
    assert code == 0, err
    assert "30 subjects are twice in an image, in two groups of masked: one probe, counted in the group of the" in err
    assert re.search(r"masked yes.* 30/30 ", out) and not re.search(r"masked no ", out)
    page = re.sub(r"\s+", " ", Path("page.html").read_text())
    assert "30 faces show a known subject who is in the image already" in page
    assert any("30 faces show a known subject" in note for note in Run("run").notes)
    code, _, err = command("evaluate_detector.py", "-d", data, "-r", scores, "--by", "masked", "-w", "p.pdf")
    assert code == 0 and "twice in an image" not in err  # detection counts faces


def test_no_p_is_smaller_than_the_draws_can_show(crowd, command):
    data, scores = crowd
    lines = [line for line in scores.read_text().splitlines() if line[0] == "#" or "80.00" in line or line[2] in "05"]
    Path("worse.txt").write_text("\n".join(lines) + "\n")
    given = ("-d", data, "-r", scores, "worse.txt", "--labels", "all", "fifth", "--report", "both.html", "-w", "p.pdf")
    code, out, err = command("evaluate_detector.py", *given, "--json", "both.json")
    assert code == 0, err
    assert "adjusted p < 0.002" in out and "e-" not in out
    assert "&lt; 0.002" in Path("both.html").read_text()
    pairs = [pair for one in json.loads(Path("both.json").read_text())["comparison"] for pair in one["pairs"]]
    assert min(pair["adjusted"] for pair in pairs) == pytest.approx(1 / 501)
