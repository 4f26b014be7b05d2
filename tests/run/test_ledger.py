"""The ledger of a run: how many different questions its scores were asked."""

import json
from pathlib import Path

import pyarrow.parquet as pq
from tests.gating.conftest import write_run

import countenance as ct
from countenance.cli.app import run as run_command
from countenance.report.exports.published import source_of
from countenance.run import Run, audit_run
from countenance.run.ledger import noted

COLUMNS = {"attr.g": ["a", "b"] * 100, "attr.h": ["x", "x", "y", "y"] * 50, "m.correct": [1.0, 1.0, 0.0, 1.0] * 50}


def asked(run: Run, **question: object) -> str:
    audit = noted(run, audit_run(run, adjust="holm", **question))
    return next((note for note in audit.notes if "different questions" in note), "")


def test_a_run_says_from_the_second_question_on_how_often_it_was_asked(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", COLUMNS)
    assert asked(run, by=["g"]) == ""
    assert asked(run, by=["g"], seed=3) == "", "another seed is the same question"
    assert asked(run, by=["h"]).startswith("this run was asked 2 different questions, 2 comparisons in all")
    assert "3 different questions" in asked(run, by=["h"], delta=0.1)
    assert run_command(["verify", str(tmp_path / "run")]) == 0, "the ledger is no part of the sealed run"


def test_a_damaged_ledger_does_not_stop_an_audit(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", COLUMNS)
    (tmp_path / "run" / "questions.json").write_text('{"questions": [1]}')
    assert asked(run, by=["g"]) == ""
    assert len(json.loads((tmp_path / "run" / "questions.json").read_text())["questions"]) == 1


def test_every_audit_that_is_stored_is_a_question(tmp_path: Path) -> None:
    """That of a suite, of `report` and of an export, too."""
    suite = ct.Suite("plain", "Is every face detected?", tasks=(ct.SuiteTask("face_localization"),))
    (of_suite,) = suite.run(data="people:portraits", model="haar", out=tmp_path / "suite", limit=4)
    reported = write_run(tmp_path / "reported", COLUMNS)
    assert run_command(["report", reported.place, "--out", str(tmp_path / "page.html")]) == 0
    exported = source_of(write_run(tmp_path / "exported", COLUMNS)).run
    for run in (of_suite, reported, exported):
        questions = json.loads((run.path / "questions.json").read_text())["questions"]
        assert len(questions) == 1, run.place


def test_a_stored_audit_answers_the_same_question_about_the_same_files_only(tmp_path: Path) -> None:
    write_run(tmp_path / "run", COLUMNS)
    run = Run(tmp_path / "run")
    for name in ("g", "h"):  # two iterators may have the same address, and so the same text
        assert run.audit(by=iter([name]), adjust="holm").settings["by"] == [name]
    whole = run.audit(by=["g"], adjust="holm").findings[0].difference
    scores = tmp_path / "run" / "scores.parquet"
    content = scores.read_bytes()
    edited = pq.read_table(scores)
    edited = edited.set_column(edited.column_names.index("m.correct"), "m.correct", [[1.0] * len(edited)])
    pq.write_table(edited, scores)
    assert Run(run.place, verified=False).audit(by=["g"], adjust="holm").findings[0].difference == 0 != whole
    scores.write_bytes(content)
    assert Run(run.place).audit(by=["g"], adjust="holm").findings[0].difference == whole


def test_an_audit_with_facts_of_before_the_run_changed_is_not_taken(tmp_path: Path) -> None:
    earlier = write_run(tmp_path / "run", COLUMNS)
    write_run(tmp_path / "run", COLUMNS, better={"correct": "lower"})
    assert earlier.audit(by=["g"], adjust="holm").settings["better"] == {"correct": "higher"}
    assert Run(earlier.place).audit(by=["g"], adjust="holm").settings["better"] == {"correct": "lower"}
