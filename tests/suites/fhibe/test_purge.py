"""Withdrawn people leave no trace in a run, and what rested on them is made again."""

import json
import re
from pathlib import Path

import pytest

from countenance import Run
from countenance.errors import InputError
from countenance.report import rewrite_pages
from countenance.run.purge import purge as purge_run
from countenance.run.subjects import read_subjects
from countenance.suites.fhibe import published, write_bias_report
from countenance.suites.fhibe.published import is_published
from countenance.suites.fhibe.purge import _delete_picture

from . import small
from .helpers import call, people
from .test_bad_input import run
from .test_default import embeddings


def purge(place, subjects):
    return purge_run(place, subjects, rewrite_pages)


def traces(folder, *words):
    """The files in which any of the words occurs."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(word.encode() in path.read_bytes() or word in path.name for word in words)
    ]


def test_a_withdrawn_person_leaves_a_run(tmp_path):
    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path, fhibe_layout=True)
    write_bias_report(finished, pdf=True)
    folder = finished.path.parent
    lost = rows[7]["filepath"]
    assert traces(folder, lost)
    done = purge(finished.path, {"s7", "nobody"})
    assert (done.people, done.images, done.rows, done.unknown) == (1, 1, 2, ("nobody",))
    assert traces(folder, lost, '"s7"') == []
    again = Run(finished.path)
    assert len(people(again)) == 59
    assert again.manifest["purged"] == 1
    assert (again.path / "report.html").exists()
    assert (again.path / "report.pdf").exists()
    table = json.loads((folder / "intersectional_results_AR_IOU.json").read_text())
    assert sum(entry["Class_Size"] for entry in table["['pronoun']"].values()) == 59


def test_the_strict_run_of_the_same_outputs_is_purged_too(tmp_path):
    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    strict = run(tmp_path, compat="strict", fhibe_layout=True)
    default = run(tmp_path)
    write_bias_report(default, pdf=True)
    write_bias_report(default, default.path.parent / "bias_report.pdf")
    mine = default.path.parent / "mine.pdf"
    mine.write_bytes(b"a file of the user")
    done = purge(default.path, {"s7"})
    assert (done.people, done.images, done.rows, len(done.runs)) == (1, 2, 4, 2)  # an image of each run
    assert traces(default.path.parent, rows[7]["filepath"], '"s7"') == []
    assert [len(people(Run(item.path))) for item in (default, strict)] == [59, 59]
    assert Run(strict.path).manifest.about["compat"] == "strict"
    assert not (default.path.parent / "bias_report.pdf").exists()
    assert mine.exists()
    table = json.loads((default.path.parent / "intersectional_results_AR_IOU.json").read_text())
    assert sum(entry["Class_Size"] for entry in table["['pronoun']"].values()) == 59


def test_whoever_was_removed_before_does_not_come_back(tmp_path):
    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    for options, size in (({}, 60), ({"use_mini_dataset": True, "mini_dataset_size": 30}, 30)):
        finished = run(tmp_path, dataset_version="v1", **options)
        first, second = (row["identity"] for row in people(finished)[:2])
        purge(finished.path, {first})
        purge(finished.path, {second})
        again = Run(finished.path)
        rows = people(again)
        assert len(rows) == size - 2
        assert not {first, second} & {row["identity"] for row in again.scores().to_pylist()}
        assert {row["m.average_recall"] for row in rows} == {1.0}
        assert again.manifest["dataset"]["card"]["version"] == "v1"


def test_the_command_counts_in_plain_words(tmp_path):
    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    (tmp_path / "gone.txt").write_text("s1\nnobody\n")
    (finished.path / "note.txt").write_text("of the user")
    _, text = call("purge", finished.path, "--subjects", tmp_path / "gone.txt")
    assert f"left     {finished.path}/note.txt (not ours" in text and (finished.path / "note.txt").exists()
    assert text.startswith("removed 1 person, 1 image and 2 rows from ")
    assert "not in this run: 1 id" in text


def test_an_image_of_two_goes_whole(tmp_path):
    rows = small.body(tmp_path, people=8, per_image=2)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    done = purge(finished.path, {"s0"})
    assert (done.images, done.rows) == (1, 3)
    assert len(people(Run(finished.path))) == 6


def rates(finished):
    (table,) = (item for item in finished.results() if item.name == "Validation rate of each group")
    return [row for row in table.rows if row[0] == "pronoun"]


def test_pictures_and_embeddings_go_too(tmp_path):
    rows = small.faces(tmp_path, people=5, each=3)
    small.outputs(tmp_path, "face_verification", embeddings(rows))
    finished = run(tmp_path, "face_verification")
    before = rates(finished)
    purge(finished.path, {"s1"})
    assert len(before) == 2 and rates(Run(finished.path)) == before[1:]  # one person alone makes no pairs
    outputs = json.loads((finished.path.parent / "model_outputs.json").read_text())
    assert len(outputs) == 12

    folder = tmp_path / "results" / "face_encoding" / "fhibe_face_crop_align" / "m" / "face_encodings"
    folder.mkdir(parents=True)
    for row in rows:
        source = tmp_path / row["filepath"]
        (folder / source.name).write_bytes(source.read_bytes())
    finished = run(tmp_path, "face_encoding", metrics=["PSNR"])
    purge(finished.path, {"s1"})
    assert len(list(folder.iterdir())) == 12


def test_restored_pictures_of_a_withdrawn_person_are_deleted(tmp_path):
    rows = small.faces(tmp_path, people=5, each=3)
    task = "face_super_resolution"
    folder = tmp_path / "results" / task / "fhibe_face_crop_align" / "m"
    folder.mkdir(parents=True)
    entries = {}
    for i, row in enumerate(rows):
        (folder / f"super_{i}.png").write_bytes((tmp_path / row["filepath"]).read_bytes())
        entries[row["filepath"]] = {"super_res_filename": str(folder / f"super_{i}.png")}
    small.outputs(tmp_path, task, entries)
    (folder / "notes.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    finished = run(tmp_path, task, metrics=["PSNR"])
    purge(finished.path, {"s1"})
    assert (folder / "notes.json").exists() and (folder / "notes.txt").exists(), "what is not ours stays"
    theirs = {f"super_{i}.png" for i, row in enumerate(rows) if row["subject_id"] == "s1"}
    assert len(theirs) == 3
    assert {path.name for path in folder.glob("*.png")} == {f"super_{i}.png" for i in range(15)} - theirs


@pytest.mark.parametrize("name", ["*", "**", "*.png", "?", "..", "/", "model_outputs.json", "scores.parquet", "[a-z]*"])
def test_a_picture_whose_name_is_a_pattern_deletes_nothing_else(tmp_path, name):
    (tmp_path / "run").mkdir()
    for file in ("a.png", "b.png", "notes.txt", "model_outputs.json", "run/scores.parquet"):
        (tmp_path / file).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    _delete_picture(tmp_path, Path(name).name)
    assert sorted(tmp_path.rglob("*")) == before
    _delete_picture(tmp_path, "b.png")
    assert not (tmp_path / "b.png").exists()


def test_every_published_name_is_known():
    text = Path(published.__file__).read_text(encoding="utf-8")
    written = {re.sub(r"\{\w+\}", "x", name) for name in re.findall(r'"([\w{}]+\.json)"', text)} - {"notes.json"}
    assert len(written) >= 12 and [name for name in written if not is_published(name)] == []


def test_any_other_run_is_purged_as_well(tmp_path):
    import numpy as np

    import countenance as ct

    people = [
        ct.Sample(
            f"i{i}",
            ct.ArrayImage(np.full((8, 8, 3), i, np.uint8)),
            8,
            8,
            (
                ct.Subject(
                    f"p{i}", f"p{i}", face_box=np.array([1.0, 1, 6, 6]), attributes={"gender": "f" if i % 2 else "m"}
                ),
            ),
        )
        for i in range(50)
    ]
    data = ct.Dataset(ct.DatasetCard(name="tiny"), people)
    finished = ct.evaluate(
        lambda images: [ct.Boxes([[1, 1, 6, 6]]) for _ in images], "face_localization", data, out=tmp_path / "run"
    )
    from countenance.run import audit_run, store_audit

    store_audit(finished, audit_run(finished, ["gender"]))
    done = purge(tmp_path / "run", {"p3"})
    assert done.images == 1
    again = ct.Run(tmp_path / "run")
    assert "i3" not in again.scores().column("sample").to_pylist()
    assert "i3" not in again.answers()
    assert "findings.parquet" in done.made_again


def test_a_copy_without_its_outputs_is_purged_as_far_as_it_goes(tmp_path):
    import shutil

    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    write_bias_report(finished)
    copy = tmp_path / "elsewhere"
    shutil.copytree(finished.path, copy)
    (copy / "local.json").unlink()
    assert purge(copy, ["s7"]).images == 1
    assert traces(copy, rows[7]["filepath"], '"s7"') == []
    again = Run(copy)
    assert len(people(again)) == 59 and again.results() == []
    assert "was not made here" in again.manifest.notes[-1] and (copy / "report.html").exists()


def test_a_purge_that_was_killed_while_it_scored_goes_on(tmp_path, monkeypatch):
    from countenance.suites.fhibe import purge as module

    rows = small.body(tmp_path, people=60)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module, "reduce_again", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            purge(finished.path, ["s7"])
    assert (finished.path / "purge.json").exists()
    purge(finished.path, ["s7"])
    assert not (finished.path / "purge.json").exists()
    assert len(people(Run(finished.path))) == 59 and Run(finished.path).results()[0].n == 59


def test_nobody_known_changes_nothing(tmp_path):
    rows = small.body(tmp_path)
    small.outputs(tmp_path, "person_localization", small.perfect_boxes(rows))
    finished = run(tmp_path)
    before = (finished.path / "run.json").read_bytes()
    with pytest.raises(InputError, match=r"nobody on the list is in this run \(x\)"):
        purge(finished.path, {"x"})
    assert (finished.path / "run.json").read_bytes() == before


def test_the_list_is_plain_lines_or_a_csv(tmp_path):
    (tmp_path / "a.txt").write_text("s1 # moved\n\ns2\n")
    (tmp_path / "b.csv").write_text("date,subject_id\n2026,s1\n2026,s2\n")
    (tmp_path / "c.txt").write_text("# nobody\n")
    assert read_subjects(tmp_path / "a.txt") == read_subjects(tmp_path / "b.csv") == ["s1", "s2"]
    with pytest.raises(InputError, match="names nobody"):
        read_subjects(tmp_path / "c.txt")
