"""The attributes task: words without regard to case, near misses named, unknown heads refused."""

import html

import numpy as np
import pytest

from countenance.answers import Labels
from countenance.cli.app import run as run_command
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.tasks import Context, load_task
from countenance.testing import write_small_dataset

TASK = load_task("attributes")
BLANK = ArrayImage(np.zeros((8, 8, 3), np.uint8))


def portrait(name: str = "p", **attributes) -> Sample:
    return Sample(name, BLANK, 8, 8, (Subject("0", name, attributes=attributes),))


def scored(sample: Sample, **answer: str):
    context = Context.of([sample])
    (row,) = TASK.score(sample, TASK.check(answer, sample, context))
    return row


def test_case_and_space_do_not_matter():
    row = scored(portrait(gender="male", race="Latino_Hispanic"), Gender=" Male", race="latino_hispanic")
    assert row["m.correct.gender"] == 1 and row["m.correct.race"] == 1 and row["m.correct"] == 1


def test_a_truth_of_several_words_is_met_by_any_of_them():
    assert scored(portrait(ancestry=("Asia", "Africa")), ancestry="africa")["m.correct"] == 1


def test_a_number_is_compared_as_a_number():
    assert scored(portrait(age=31.0), age="31")["m.correct"] == 1
    assert scored(portrait(age=31.0), age="32")["m.correct"] == 0


def test_an_attribute_that_nobody_has_is_refused_with_a_near_miss():
    with pytest.raises(ValueError, match=r"names 'Gendr' \(did you mean gender\?\), which is not an attribute"):
        scored(portrait(gender="male", smile="yes"), Gendr="male")


def test_an_attribute_that_only_others_have_is_skipped_not_refused():
    known, unknown = portrait("a", gender="male", hair="grey"), portrait("b", gender="male")
    context = Context.of([known, unknown])
    answer = TASK.check({"gender": "male", "hair": "grey"}, unknown, context)
    assert TASK.score(unknown, answer)[0]["m.correct"] == 1


def test_one_attribute_named_twice_is_refused():
    with pytest.raises(ValueError, match="names 'gender' twice"):
        scored(portrait(gender="male"), gender="male", Gender="female")


def test_a_word_that_the_dataset_never_uses_is_named_once_with_a_near_miss():
    samples = [portrait(f"p{i}", race=("White", "Latino_Hispanic")[i % 2], gender="male") for i in range(6)]
    answers = {s.id: Labels({"race": "Latino Hispanic", "gender": "female"}) for s in samples}
    (note,) = TASK.notes(samples, answers, Context.of(samples))
    assert "'Latino Hispanic' was answered 6 times" in note and "did you mean Latino_Hispanic" in note


def test_a_number_that_is_answered_exactly_gets_one_note():
    samples = [portrait(f"p{i}", age=20.5 + i) for i in range(3)]
    (note,) = TASK.notes(samples, {s.id: Labels({"age": "30"}) for s in samples}, Context.of(samples))
    assert note.startswith("age is a number")


def test_a_run_says_what_was_misspelt_and_stops_at_an_unknown_head(tmp_path):
    samples = [portrait(f"p{i}", gender=("female", "male")[i % 2]) for i in range(30)]
    dataset = Dataset(DatasetCard(name="faces", real_people=False), samples)

    def answers(word, head="gender"):
        def model(images):
            return [{head: word} for _ in images]

        return model

    right = evaluate(answers("Male"), "attributes", dataset, out=tmp_path / "male")
    assert np.mean(right.scores()["m.correct"].to_pylist()) == 0.5 and right.notes == []
    wrong = evaluate(answers("mal"), "attributes", dataset, out=tmp_path / "mal")
    assert "'mal' was answered 30 times" in wrong.notes[0] and "did you mean male" in wrong.notes[0]
    with pytest.raises(InputError, match=r"the first 16 images all failed; .*names 'sex'.*not an attribute"):
        evaluate(answers("male", "sex"), "attributes", dataset, out=tmp_path / "sex")


def test_the_command_prints_the_note_and_the_report_holds_it(tmp_path, capsys, monkeypatch):
    (tmp_path / "words.py").write_text("def model(images):\n    return [{'gender': 'femal'} for _ in images]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    discs = write_small_dataset(tmp_path / "discs", n=12)
    command = ["run", "attributes", "--model", "words:model", "--data", discs, "--out", tmp_path / "run", "--quiet"]
    assert run_command([str(part) for part in command]) == 0
    assert "note     gender: 'femal' was answered 12 times" in capsys.readouterr().out
    page = html.unescape((tmp_path / "run" / "report.html").read_text())
    assert "ender: 'femal' was answered 12 times" in page
