"""A run knows whether it is intact, and the same command repairs it."""

import json
import shutil
from pathlib import Path

import pytest

from countenance.errors import InputError
from countenance.run import Run, audit_run, evaluate, store_audit
from countenance.run.purge import purge
from countenance.run.store import RunStore
from countenance.run.verification import verify
from countenance.testing import DiscDetector, small_dataset

TASK = "face_localization"


@pytest.fixture
def run(tmp_path: Path, discs: Path) -> Run:
    made = evaluate("countenance.testing:DiscDetector", TASK, discs, out=tmp_path / "run", batch=8, shard=16)
    store_audit(made, audit_run(made, by=["gender"]))
    return made


def files(run: Run) -> list[Path]:
    return sorted(p for p in run.path.rglob("*") if p.is_file() and p.name not in (".lock", "local.json"))


def test_a_finished_run_is_intact(run: Run) -> None:
    found = verify(run.store)
    assert found.problems == []
    assert found.files == len(files(run)) - 1  # all but the list itself


def test_every_file_is_watched(run: Run) -> None:
    for path in files(run):
        kept = path.read_bytes()
        path.write_bytes(kept[: len(kept) // 2])
        name = path.relative_to(run.path).as_posix()
        try:
            problems = verify(RunStore(run.path)).problems
        except InputError as error:
            problems = [str(error)]
        assert any(name in problem for problem in problems), name
        path.write_bytes(kept)
    assert verify(run.store).problems == []


@pytest.mark.parametrize(
    "name", ["failures.parquet", "answers/00001.parquet", pytest.param("shards/00000.json", marks=pytest.mark.slow)]
)
def test_a_file_that_was_removed_is_missed_after_another_audit_too(run: Run, discs: Path, name: str) -> None:
    (run.path / name).unlink()
    again = Run(run.path)
    store_audit(again, audit_run(again, by=["gender"]))
    assert any(name in problem for problem in verify(RunStore(run.path)).problems)
    repaired = evaluate("countenance.testing:DiscDetector", TASK, discs, out=run.path, batch=8, shard=16)
    assert verify(repaired.store).problems == [] and (run.path / name).is_file()


def test_a_table_that_is_not_on_the_list_is_named(run: Run) -> None:
    listed = RunStore(run.path).sealed()
    RunStore(run.path).hashes.write({name: value for name, value in listed.items() if name != "scores.parquet"})
    assert verify(RunStore(run.path)).problems == [
        "scores.parquet: not on the list of hashes; whatever wrote it was interrupted"
    ]


EVERY_FILE = [pytest.param(how, True, marks=pytest.mark.slow) for how in ("truncated", "missing", "empty", "garbage")]


@pytest.mark.parametrize(("how", "every"), [("truncated", False), *EVERY_FILE])
def test_the_same_command_repairs_any_damage(tmp_path: Path, discs: Path, how: str, every: bool) -> None:
    def make() -> Run:
        return evaluate("countenance.testing:DiscDetector", TASK, discs, out=tmp_path / "run", batch=8, shard=32)

    run = make()
    scores = (run.path / "scores.parquet").read_bytes()
    damaged = [path for path in files(run) if path.name != "run.json"]
    for path in damaged if every else {(path.parent, path.suffix): path for path in damaged}.values():
        if how == "missing":
            path.unlink()
        else:
            content = path.read_bytes()
            path.write_bytes({"truncated": content[:-7], "empty": b"", "garbage": b"\x00" * len(content)}[how])
        again = make()
        assert verify(again.store).problems == [], path
        assert (again.path / "scores.parquet").read_bytes() == scores, path


def test_intact_predictions_are_not_made_again(tmp_path: Path, discs: Path) -> None:
    calls: list[int] = []

    class Counted(DiscDetector):
        def __call__(self, images):  # type: ignore[no-untyped-def]
            calls.append(len(images))
            return super().__call__(images)

    run = evaluate(Counted(), TASK, discs, out=tmp_path / "run", batch=8, shard=32)
    (run.path / "scores.parquet").unlink()
    (run.path / "answers" / "00001.parquet").unlink()
    before = sum(calls)
    evaluate(Counted(), TASK, discs, out=tmp_path / "run", batch=8, shard=32)
    assert 32 + 8 <= sum(calls) - before <= 32 + 12  # the lost shard, and the few that show that the model is the same


def test_an_interrupted_audit_is_seen(run: Run) -> None:
    with pytest.raises(RuntimeError), run.store.replacing("audit.json", "findings.parquet"):
        run.store.storage.write("audit.json", b"{}")
        raise RuntimeError
    assert any("interrupted" in problem for problem in verify(run.store).problems)
    store_audit(run, audit_run(run, by=["gender"]))
    assert verify(run.store).problems == []


def test_an_unfinished_run_is_not_intact(run: Run) -> None:
    manifest = json.loads((run.path / "run.json").read_text()) | {"status": "running"}
    (run.path / "run.json").write_text(json.dumps(manifest))
    assert "did not finish" in verify(RunStore(run.path)).problems[0]


def test_a_run_of_a_newer_version_is_refused_by_name(run: Run) -> None:
    manifest = json.loads((run.path / "run.json").read_text()) | {"format": 9}
    (run.path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="made by a newer version \\(format 9"):
        Run(run.path)


def test_what_is_published_names_no_folder_of_this_machine(run: Run, tmp_path: Path) -> None:
    for path in files(run):
        assert str(tmp_path).encode() not in path.read_bytes(), path
    assert str(tmp_path.parent) in str(run.local.source)
    assert run.dataset().name == "discs"


def test_a_marker_of_another_version_is_read() -> None:
    from countenance.run.marker import Marker

    old = b'{"number": 3, "answered": 1, "failures": [], "files": {"answers/00003.parquet": "a"}, "extra": {}}'
    found = Marker.read(old)
    assert found is not None and found.number == 3 and found.file("answers/") == "answers/00003.parquet"
    wrong = [old.replace(b"[]", value) for value in (b"null", b"[7]", b"[{}]", b'"text"')]
    for damaged in (b"", b"[]", b"{}", b"7", b"[" * 9999, old.replace(b'"a"', b"7"), *wrong):
        assert Marker.read(damaged) is None


def test_a_metric_that_is_not_a_number_is_refused_with_its_place(run: Run) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from countenance.errors import InputError

    name = run.store.score_files()[0]
    table = pq.read_table(run.path / name)
    column = table.column_names.index("m.best_iou")
    pq.write_table(table.set_column(column, "m.best_iou", pa.array(["x"] * table.num_rows)), run.path / name)
    with pytest.raises(InputError, match="its content is not what was written"):
        Run(run.path).scores()
    with pytest.raises(InputError, match=r"m.best_iou holds string, expected numbers"):
        Run(run.path, verified=False).scores()


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"model": 5}'])
def test_a_run_whose_manifest_is_damaged_is_kept_and_a_new_one_is_made(tmp_path: Path, content: bytes | None) -> None:
    data, lines = small_dataset(12), []
    first = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    wanted = first.scores()
    if content is None:
        (tmp_path / "run" / "run.json").unlink()
    else:
        (tmp_path / "run" / "run.json").write_bytes(content)
    again = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", say=lines.append)
    assert again.scores().equals(wanted) and verify(again.store).problems == []
    assert f"it is kept as {tmp_path / 'run-unknown'}" in lines[0] and (tmp_path / "run-unknown" / "answers").is_dir()
    with pytest.raises(InputError, match=r"run-unknown: files of a run .*; delete them, then purge again"):
        purge(tmp_path / "run", ["id0000"])
    shutil.rmtree(tmp_path / "run-unknown")
    assert purge(tmp_path / "run", ["id0000"]).images == 2
