"""People who withdraw leave a run, its failed images, its older versions and its leftovers; a kill changes nothing."""

import json
import shutil
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.run import Run, audit_run, evaluate, read_audit, store_audit
from countenance.run.purge import purge
from countenance.run.store import RunStore
from countenance.run.subjects import read_subjects
from countenance.run.verify import verify
from countenance.storage.local import LocalStorage
from countenance.testing import DiscDetector, write_small_dataset

TASK = "face_localization"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = write_small_dataset(tmp_path / "set", n=60)
    (folder / "images" / "s00006.png").write_bytes(b"")  # a failed image of id0003
    return folder


def make(data: Path, out: Path) -> Run:
    run = evaluate(DiscDetector(), TASK, data, out=out, shard=16)
    store_audit(run, audit_run(run, by=["gender"], metrics=["recall@0.5"], min_n=10, delta=0.1, alpha=0.01))
    return run


def traces(folder: Path, *words: str) -> list[str]:
    """The files in which any of the words occurs, as text or inside a table."""
    import pyarrow.parquet as pq

    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            text = str(pq.read_table(path).to_pylist()) if path.suffix == ".parquet" else path.read_text("utf-8")
            found += [path.name] if any(word in text or word in path.name for word in words) else []
    return found


def test_a_person_leaves_with_every_image_of_theirs(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    before = read_audit(run).settings
    assert traces(run.path, "id0003", "s00006", "s00007")
    done = purge(run.path, ["id0003", "nobody"])
    assert (done.people, done.images, done.unknown) == (1, 2, ("nobody",))
    assert traces(run.path, "id0003", "s00006", "s00007") == []
    again = Run(run.path)
    assert again.manifest.purged == 2 and again.manifest.failed == 0 and again.manifest.dataset.images == 58
    assert len(again.answers()) == 58 and again.results()[0].n == 58
    assert verify(again.store).problems == []
    after = read_audit(again).settings
    changing = {"rows", "comparisons", "unit"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }


def test_a_purged_run_stays_purged_when_it_is_repaired(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    purge(run.path, ["id0003"])
    (run.path / "answers" / "00000.parquet").unlink()
    again = evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=16)
    assert traces(again.path, "id0003", "s00006", "s00007") == []
    assert again.manifest.purged == 2 and len(again.answers()) == 58


def test_older_versions_beside_the_run_are_purged_too(tmp_path: Path, data: Path) -> None:
    make(data, tmp_path / "run")
    evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=32)
    assert len(list(tmp_path.glob("run-*"))) == 1
    done = purge(tmp_path / "run", ["id0004"])
    assert len(done.runs) == 2
    assert all(traces(folder, "id0004", "s00008") == [] for folder in tmp_path.glob("run*"))


def test_runs_below_a_folder_are_all_purged(tmp_path: Path, data: Path) -> None:
    for name in ("a", "b"):
        make(data, tmp_path / "sweep" / name)
    assert len(purge(tmp_path / "sweep", ["id0004"]).runs) == 2
    assert traces(tmp_path / "sweep", "id0004", "s00008") == []


def test_an_unfinished_run_is_purged(tmp_path: Path, data: Path) -> None:
    calls = []

    class Stops(DiscDetector):
        def __call__(self, images):  # type: ignore[no-untyped-def]
            calls.append(1)
            if len(calls) > 5:
                raise KeyboardInterrupt
            return super().__call__(images)

    with pytest.raises(KeyboardInterrupt):
        evaluate(Stops(), TASK, data, out=tmp_path / "run", shard=16)
    assert Run(tmp_path / "run").manifest.status == "running"
    purge(tmp_path / "run", ["id0004"])
    assert traces(tmp_path / "run", "id0004", "s00008") == []
    calls.clear()
    Stops.__call__ = DiscDetector.__call__  # type: ignore[method-assign]
    finished = evaluate(Stops(), TASK, data, out=tmp_path / "run", shard=16)
    assert traces(finished.path, "id0004", "s00008") == []


def test_nobody_on_the_list_is_an_error_that_names_them(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    with pytest.raises(InputError, match=r"nobody on the list is in this run \(x, y\)"):
        purge(run.path, ["x", "y"])
    with pytest.raises(InputError, match="no run here"):
        purge(tmp_path / "elsewhere", ["x"])


def test_results_that_cannot_be_computed_again_are_gone_and_it_is_said(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    shutil.rmtree(data)
    purge(run.path, ["id0004"])
    again = Run(run.path)
    assert again.results() == [] and "could not be computed again" in again.manifest.notes[-1]
    assert read_audit(again).findings


class Killed(BaseException):
    pass


def test_a_purge_that_is_killed_anywhere_goes_on(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(data, tmp_path / "original")
    shutil.copytree(tmp_path / "original", tmp_path / "whole")
    purge(tmp_path / "whole", ["id0003"])
    expected = Run(tmp_path / "whole").scores()
    write, delete = LocalStorage.write, LocalStorage.delete
    steps = 0
    for stop in range(1, 200):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(tmp_path / "original", tmp_path / "run")
        steps = 0

        def counted(name: str, stop: int = stop) -> None:
            nonlocal steps
            steps += 1
            if steps == stop:
                raise Killed

        def killing_write(self: LocalStorage, name: str, content: bytes) -> None:
            counted(name)
            write(self, name, content)

        def killing_delete(self: LocalStorage, name: str) -> None:
            counted(name)
            delete(self, name)

        with monkeypatch.context() as patch:
            patch.setattr(LocalStorage, "write", killing_write)
            patch.setattr(LocalStorage, "delete", killing_delete)
            try:
                purge(tmp_path / "run", ["id0003"])
                break  # so many steps are more than a purge has
            except Killed:
                pass
        store = RunStore(tmp_path / "run")
        if any(entry.name == "purge.json" for entry in store.storage.entries()):
            assert verify(store).problems
            with pytest.raises(InputError, match="a purge was interrupted"):
                evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=16)
        try:
            purge(tmp_path / "run", ["id0003"])
        except InputError as error:
            assert "nobody on the list" in str(error)
        assert traces(tmp_path / "run", "id0003", "s00006", "s00007") == [], stop
        again = Run(tmp_path / "run")
        assert verify(again.store).problems == [] and again.scores().equals(expected), stop
        assert read_audit(again).settings["alpha"] == 0.01 and again.manifest.purged == 2, stop
    assert steps > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a # left in May\n\n# nobody\nb", ["a", "b"]),
        ("subject_id,date\na,2026\nb,2026\n", ["a", "b"]),
        ('date,identity\n2026,"a, the first"\n', ["a, the first"]),
        ("identity\na\na\n", ["a"]),
        ("person#3\nb#\n#c\nd\t# left\n", ["person#3", "b#", "d"]),
        ("subject_id;date\na;2026\n", ["a"]),
        ("date\tSubject_ID\n2026\ta,b\n", ["a,b"]),
        ("id,identity\n1,ann\n2\n,bob\n", ["ann", "bob"]),
    ],
)
def test_lists_of_people_are_read(tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "list.csv").write_text(text)
    assert read_subjects(tmp_path / "list.csv") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "names nobody"), ("# only words\n", "names nobody"), ("a,b\n1,2\n", "none of subject_id"), ('"a\n', "CSV")],
)
def test_what_is_no_list_of_people_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_subjects(tmp_path / "list.csv")


def test_what_lies_around_a_run_forgets_people_too(tmp_path: Path, data: Path) -> None:
    run = evaluate(DiscDetector(), TASK, data, out=tmp_path / "run")
    left = tmp_path / "run.samples" / "part-0.parquet"
    left.parent.mkdir()
    left.write_bytes(b"pictures")
    (run.path / ".scores.parquet.00ff00ff.part").write_bytes(b"half a table")
    views = [
        {"name": "all", "address": "/runs/run/rows?skin_tone=monk_2"},
        {"name": "one", "address": "/runs/run/rows?identity=id0003"},
        {"name": "what id0003 looks like", "address": "/runs/run"},
        {"name": "picture", "address": "/runs/run/samples?sample=s00006"},
        {"name": "another", "address": "/runs/run/rows?identity=id00031"},
    ]
    for folder in (tmp_path, run.path):
        (folder / "views.json").write_text(json.dumps({"views": views}))
    purge(run.path, ["id0003"])
    assert not left.parent.exists() and not list(run.path.glob(".*.part"))
    for folder in (tmp_path, run.path):
        assert [one["name"] for one in json.loads((folder / "views.json").read_text())["views"]] == ["all", "another"]


def test_the_journal_is_gone_after_a_purge(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    purge(run.path, ["id0004"])
    names = [entry.name for entry in run.store.storage.entries()]
    assert "purge.json" not in names and json.loads((run.path / "files.json").read_text())["files"]


def test_a_damaged_run_is_refused_in_one_line_or_purged_without_what_is_gone(tmp_path: Path, data: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = make(data, tmp_path / "run")
    for file in (run.path / "answers").glob("*.parquet"):
        file.unlink()
    assert purge(run.path, ["id0003"]).people == 1 and not traces(run.path, "id0003")
    run = make(data, tmp_path / "other")
    first = min((run.path / "answers").glob("*.parquet"))
    whole = pq.read_table(first)
    for damage in (lambda t: t.drop_columns(["sample"]), lambda t: t.set_column(0, "sample", pa.nulls(len(t)))):
        pq.write_table(damage(whole), first)
        with pytest.raises(InputError, match="no column sample with names, so it cannot be told whose rows these are"):
            purge(run.path, ["id0003"])
        with pytest.raises(InputError, match="no column sample with names"):
            dict(RunStore(run.path).answers({"s00001"}))
