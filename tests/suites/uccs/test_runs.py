"""The run of a score file: the published curves, and rows that say who was found."""

import gzip
import hashlib
import json
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from countenance.answers.formats import uccs as score_format
from countenance.answers.formats.uccs_scores import read_scores
from countenance.cli.app import run as countenance
from countenance.data.adapters import uccs as adapter
from countenance.data.adapters.uccs import load
from countenance.errors import InputError
from countenance.metrics.curves.open_set import RULES, Outcomes
from countenance.models import saved_predictions
from countenance.run import Run
from countenance.suites.uccs import rules, score_curves
from countenance.suites.uccs.run import evaluation_again, places

FIXTURES = Path(__file__).parent / "fixtures" / "ties"
SHARED = Path(__file__).parents[4] / "shared" / "vectors" / "uccs" / "plain"
CURVES = [
    ("detector", "v2-detection.txt", "v2-froc-lin", ()),
    ("detector", "v2-detection.txt", "v2-froc-log-only-present", ("--log-x", "--only-present")),
    ("recognizer", "v2-recognition.txt", "v2-dir-lin-rank3", ("--rank", "3")),
    ("recognizer", "v2-recognition.txt", "v2-dir-log-rank1", ("--log-x",)),
    ("detector", "v3-detection.txt", "v3-froc", ()),
    ("recognizer", "v3-scoring.txt.gz", "v3-oroc", ()),
]


@pytest.mark.parametrize(("kind", "file", "reference", "options"), CURVES, ids=[curve[2] for curve in CURVES])
@pytest.mark.parametrize("data", [FIXTURES, SHARED], ids=["ties", "plain"])
def test_the_curve_in_the_run_is_the_published_one(command, data, kind, file, reference, options):
    if not (data / file).exists():
        pytest.skip(f"no {file} here; it lies beside the project")
    assert command(f"evaluate-{kind}", "-d", data, "-r", data / file, *options, "--out", "run")[0] == 0
    curve = next(result for result in Run("run").results() if result.name in ("FROC", "DIR", "O-ROC"))
    (expected,) = json.loads((data / f"ref-{reference}.json").read_text())["curves"]
    np.testing.assert_allclose(curve.lines[0].x, expected["x"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve.lines[0].y, expected["y"], rtol=0, atol=1e-12)


@pytest.fixture
def mine(tmp_path, good_lines):
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines) + "\n")
    return path


def column(run, name):
    return dict(zip(run.scores()["subject"].to_pylist(), run.scores()[f"m.{name}"].to_pylist(), strict=True))


def test_rows_say_who_was_identified_and_who_was_rejected(command, small, mine):
    assert command("evaluate-recognizer", "-d", small, "-r", mine, "--protocol-version", 2, "--out", "run")[0] == 0
    run = Run("run")  # the operating point is 1 false identification: the background at .4, so the threshold is .4
    assert column(run, "identified") == {"a.jpg#0": 1.0, "a.jpg#1": None, "b.jpg#0": 1.0, None: None}
    assert column(run, "rejected") == {"a.jpg#0": None, "a.jpg#1": 1.0, "b.jpg#0": None, None: None}
    alarms = run.scores().filter(run.scores()["subject"].is_null())
    assert dict(zip(alarms["sample"].to_pylist(), alarms["m.false_identifications"].to_pylist(), strict=True)) == {
        "a.jpg": 0.0,
        "b.jpg": 1.0,
    }
    assert run.scores()["identity"].to_pylist() == ["3", None, None, "5", None]
    assert run.scores()["attr.known"].to_pylist() == ["known", "unknown", None, "known", None]


def test_a_file_without_any_false_alarm_has_a_run(command, small, tmp_path):
    (tmp_path / "good.txt").write_text("a.jpg,0,0,10,10,0.9\nb.jpg,0,0,10,10,0.9\n")
    assert command("evaluate-detector", "-d", small, "-r", tmp_path / "good.txt", "--out", "run")[0] == 0
    assert column(Run("run"), "found") == {"a.jpg#0": 1.0, "a.jpg#1": 0.0, "b.jpg#0": 1.0, None: None}


def test_the_same_command_again_finds_its_run(command, small, mine):
    options = ("evaluate-detector", "-d", small, "-r", mine, "--out", "run")
    assert command(*options)[0] == 0
    code, _, err = command(*options)
    assert code == 0 and "already complete" in err
    mine.write_text(mine.read_text() + "b.jpg,1,1,2,2,0.01\n")
    code, _, err = command(*options)
    assert code == 0 and "it is kept as" in err


def test_images_without_a_detection_and_strange_ones_are_told(command, small, tmp_path):
    (tmp_path / "some.txt").write_text("a.jpg,0,0,10,10,0.9\nx.jpg,0,0,10,10,0.9\n")
    assert command("evaluate-detector", "-d", small, "-r", tmp_path / "some.txt", "--out", "run")[0] == 0
    notes = " ".join(Run("run").notes)
    assert "'x.jpg' is not in the dataset" in notes and "1 of 2 images have no detection" in notes
    assert Run("run").manifest.failed == 0


def test_the_core_reads_data_and_score_files_by_itself(small, mine, tmp_path):
    arguments = ["run", "uccs_detection", "--model", f"predictions:{mine}", "--data", f"uccs:{small}?version=2"]
    assert countenance([*arguments, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    curve = next(result for result in Run(tmp_path / "run").results() if result.name == "FROC")
    assert curve.x.label == "false alarms"  # of version 2, as the data is


def test_a_place_that_holds_something_else_is_refused_before_anything_is_written(command, small, mine):
    Path("run").mkdir()
    Path("run/notes.txt").write_text("mine")
    code, _, err = command("evaluate-detector", "-d", small, "-r", mine, "--out", "run", "--json", "o.json")
    assert code == 2 and "run: exists and holds no run" in err
    assert sorted(path.name for path in Path().iterdir()) == ["run"]


@pytest.mark.parametrize("other", ["a", "A", "a."])
def test_two_files_of_one_label_are_refused(other):
    with pytest.raises(InputError, match="two result files are labelled 'a'"):
        places(Path("runs"), ["a", other])
    assert [place.name for place in places(Path("runs"), ["a\nb", "x" * 300])] == ["a_b", "x" * 80]


@pytest.mark.parametrize("part", ["x?set=all", "x?version=4", "x?colour=red", "x?pictures=maybe"])
def test_a_strange_source_is_refused(part):
    with pytest.raises(InputError, match=r"expected FOLDER\?set="):
        load(part)


@pytest.fixture
def counts(monkeypatch):
    """How often protocols and score files are read, outcomes and curves computed, and files hashed, from now on."""
    counts = Counter()

    def counted(place, name):
        function = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *a, **k: counts.update([name]) or function(*a, **k))

    for place, name in (
        (adapter, "read_protocol"),
        (score_curves, "read_protocol"),
        (score_curves, "read_scores"),
        (score_format, "read_scores"),
        (saved_predictions, "file_hash"),
        *((rules, name) for name in ("froc_curve", "dir_curve", "per_image_curve", "resampled_rates")),
    ):
        counted(place, name)
    for key, rule in RULES.items():
        monkeypatch.setitem(RULES, key, lambda faces, rule=rule: counts.update(["outcomes"]) or rule(faces))
    return counts


READ = {"read_protocol": 1, "read_scores": 1}
ONCE = {**READ, "outcomes": 1, "dir_curve": 1, "resampled_rates": 1}


@pytest.mark.parametrize(
    "options",
    [(), ("--out", "run"), ("--report", "page.html"), ("--out", "run", "--report", "page.html", "--by", "known_as")],
    ids=["terminal", "run", "report", "both"],
)
def test_each_file_is_read_once_and_each_curve_computed_once(command, small, mine, counts, options):
    protocol = small / "protocol" / "validation.csv"
    header, *faces = protocol.read_text().splitlines()
    named = [f"{face},{name}" for face, name in zip(faces, "xyx", strict=True)]
    protocol.write_text("\n".join([f"{header},known_as", *named]) + "\n")
    line = (
        "evaluate-recognizer",
        "-d",
        small,
        "-r",
        mine,
        "--protocol-version",
        2,
        "--json",
        "o.json",
        "--bootstrap",
        20,
        *options,
    )
    assert command(*line)[0] == 0
    assert counts == ONCE
    counts.clear()
    assert command(*line)[0] == 0  # a run that is there already holds its outcomes and curves
    assert counts == (READ if "--out" in options else ONCE)


@pytest.mark.parametrize("extra", [(), ("--only-present",), ("-p",), ("--log-x", "--bootstrap", "20")], ids=str)
@pytest.mark.parametrize(
    ("kind", "file"),
    [("detector", "v2-detection.txt"), ("recognizer", "v2-recognition.txt"), ("detector", "v3-detection.txt")],
)
def test_a_run_changes_nothing_that_is_printed_or_tabulated(command, kind, file, extra):
    line = (f"evaluate-{kind}", "-d", FIXTURES, "-r", FIXTURES / file, "-vv", "-w", "p.svg", "--json", "o.json", *extra)
    contents = []
    for more in ((), ("--out", "run"), ("--out", "run")):  # without, with a new run, with one that is there already
        code, out, _ = command(*line, *more)
        lines = [text for text in out.splitlines() if " written: " not in text]
        contents.append((code, lines, Path("o.json").read_text(), Path("p.svg").read_text()))
    assert contents[0] == contents[1] == contents[2] and contents[0][0] == 0


def test_detections_on_strange_images_are_counted_with_a_run_too(command, small, mine):
    mine.write_text(mine.read_text() + "strange.jpg,1,1,8,8,.5,3,.5\n")
    summaries = []
    for more in ((), ("--out", "run")):
        assert command("evaluate-detector", "-d", small, "-r", mine, "--json", "o.json", *more)[0] == 0
        summaries.append(json.loads(Path("o.json").read_text())["summaries"])
    assert summaries[0] == summaries[1] and summaries[0][0]["detections"] == 5


@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_the_hash_of_a_score_file_is_that_of_its_bytes(tmp_path, mine, ending):
    path = tmp_path / f"scores.{ending}"
    path.write_bytes(gzip.compress(mine.read_bytes()) if ending.endswith("gz") else mine.read_bytes())
    assert read_scores(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("options", [("--by", "colour"), ("--only-present",)], ids=["column", "nobody known"])
def test_what_is_wrong_is_said_before_a_run_is_written(command, small, tmp_path, options):
    (tmp_path / "none.txt").write_text("b.jpg,1,1,8,8,.9,3,.8\n")
    protocol = small / "protocol" / "validation.csv"
    protocol.write_text(protocol.read_text().replace(",5,", ",-1,"))  # b.jpg has nobody whom the challenge knows
    code, _, err = command("evaluate-recognizer", "-d", small, "-r", tmp_path / "none.txt", *options, "--out", "run")
    assert code == 2 and f"error: {protocol}: no " in err and not Path("run").exists()


def test_a_report_of_a_run_computes_no_outcome(command, small, mine, counts):
    assert command("evaluate-recognizer", "-d", small, "-r", mine, "--protocol-version", 2, "--out", "run")[0] == 0
    counts.clear()
    assert countenance(["report", "run", "--out", "page.html"]) == 0
    assert "Operating points" in Path("page.html").read_text()
    assert counts == {"read_protocol": 1}  # the truth, of the dataset
    content = Path("run/evidence.state").read_bytes()
    Path("run/evidence.state").write_bytes(content[:-8] + bytes(8))
    with pytest.raises(InputError, match=r"^run/evidence\.state: (?!damaged).*the same `countenance run` command"):
        evaluation_again(Run("run"))


def test_outcomes_of_a_truth_that_was_edited_since_are_not_shown_with_the_new_one(command, small, mine):
    line = ("evaluate-detector", "-d", small, "-r", mine, "--protocol-version", 2, "--out", "run")
    assert command(*line)[0] == 0
    before, _ = evaluation_again(Run("run"))
    protocol = small / "protocol" / "validation.csv"
    lines = protocol.read_text().splitlines(keepends=True)
    protocol.write_text("".join(lines[:1] + lines[2:]))  # a.jpg has one face fewer
    after, _ = evaluation_again(Run("run"))
    assert (len(before.units), len(after.units)) == (3, 2) and after.unit_face.max() == 1
    assert countenance(["report", "run", "--out", "page.html"]) == 0


def test_after_a_purge_the_outcomes_are_those_of_the_people_left(command, small, mine):
    line = ("evaluate-recognizer", "-d", small, "-r", mine, "--protocol-version", 2, "--bootstrap", 9, "--out", "run")
    assert command(*line)[0] == 0
    Path("who.txt").write_text("5\n")  # the person of b.jpg
    assert countenance(["purge", "run", "--subjects", "who.txt"]) == 0
    run = Run("run")
    after, _ = evaluation_again(run)
    assert after.protocol.images == ("a.jpg",) and len(after.units) == 1
    assert len(Run("run").evidence(dict)["units"]) == 1
    run.store.storage.delete("evidence.state")  # made again from the predictions, as in a run of an earlier version
    again, _ = evaluation_again(Run("run", verified=False))
    for part in fields(Outcomes):
        np.testing.assert_array_equal(getattr(after, part.name), getattr(again, part.name))
    np.testing.assert_array_equal(after.curve.y, again.curve.y)
    np.testing.assert_array_equal(after.band.low, again.band.low)


def test_each_function_gets_what_it_made_and_makes_it_once(command, small, mine):
    assert command("evaluate-detector", "-d", small, "-r", mine, "--protocol-version", 2, "--out", "run")[0] == 0
    for stored in (True, False):  # a run of an earlier version has no arrays
        run, calls = Run("run", verified=False), []
        if not stored:
            run.store.storage.delete("evidence.state")

        def names(arrays, calls=calls):
            calls.append(len(arrays))
            return sorted(arrays)

        first = run.evidence(names)
        assert run.evidence(len) == len(first) and bool(first) == stored
        assert run.evidence(names) is first and len(calls) == 1
