"""People who withdraw leave a run, its failed images, its older versions and its leftovers; a kill changes nothing."""

import json
import shutil
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run, audit_run, evaluate, read_audit, store_audit
from countenance.run.purge import purge
from countenance.run.store import RunStore
from countenance.run.subjects import read_subjects
from countenance.run.verification import verify
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
    changing = {"rows", "comparisons", "unit", "nouns"} | {"adjust", "permutations", "answered"}  # they follow the data
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
    [
        ("", "names nobody"),
        ("# only words\n", "names nobody"),
        ("a,b\n1,2\n", "none of identity,"),
        ('"a\n', "CSV"),
    ],
)
def test_what_is_no_list_of_people_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_subjects(tmp_path / "list.csv")


def test_what_lies_around_a_run_forgets_people_too(tmp_path: Path, data: Path) -> None:
    run = evaluate(DiscDetector(), TASK, data, out=tmp_path / "run")
    left = tmp_path / "run.samples" / "part-00000.parquet"
    left.parent.mkdir()
    left.write_bytes(b"pictures")
    (left.parent / "countenance.json").write_text("{}")
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


# what is not ours, and who is remembered


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", ["edited", "removed"])
def test_a_purge_does_not_make_a_changed_table_trusted(tmp_path: Path, data: Path, how: str, capsys) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    run = make(data, tmp_path / "run")
    name = "scores.parquet" if how == "edited" else "answers/00001.parquet"
    path = run.path / name
    if how == "edited":
        table = pq.read_table(path)
        place = table.column_names.index("m.recall@0.5")
        pq.write_table(table.set_column(place, "m.recall@0.5", pa.array([0.0] * table.num_rows)), path)
    else:
        path.unlink()
    done = purge(run.path, ["id0003"])
    assert {"results.json", "audit.json", "findings.parquet"} <= set(done.removed)
    assert traces(run.path, "id0003", "s00006", "s00007") == []
    assert command(["verify", str(run.path)]) == 2 and name in capsys.readouterr().out
    assert any(name in note for note in Run(run.path, verified=False).notes)
    if how == "edited":
        assert command(["audit", str(run.path), "--by", "gender"]) == 2
        assert "scores.parquet: its content is not what was written" in capsys.readouterr().err
    repaired = evaluate(DiscDetector(), TASK, data, out=run.path, shard=16)
    assert verify(repaired.store).problems == [] and traces(run.path, "id0003", "s00006", "s00007") == []
    assert repaired.results()[0].n == 58 and 0.0 not in repaired.scores()["m.recall@0.5"].to_pylist()
    assert not any(name in note for note in repaired.notes)


def test_a_purge_without_the_score_table_does_not_say_that_nobody_is_there(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    (run.path / "scores.parquet").unlink()
    with pytest.raises(InputError, match=r"scores\.parquet: missing; the same `countenance run` command"):
        purge(run.path, ["id0003"])


def test_a_purge_makes_no_list_of_hashes_where_it_was_removed(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    (run.path / "files.json").unlink()
    purge(run.path, ["id0003"])
    assert traces(run.path, "id0003", "s00006", "s00007") == []
    with pytest.raises(InputError, match=r"the list of hashes \(files.json\) is missing"):
        Run(run.path)


def test_what_is_not_ours_is_named_and_left(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make(data, tmp_path / "run")
    shutil.copytree(run.path, run.path / "inner")
    (run.path / "notes.txt").write_text("id0003 called")
    (run.path / "answers" / "mine.parquet").write_bytes((run.path / "scores.parquet").read_bytes())
    for name in (".notes.part", "shards/notes.json", "work/mine.state", "shards/notes.txt"):
        (run.path / name).parent.mkdir(exist_ok=True)
        (run.path / name).write_text("mine")
    own = tmp_path / "run.samples"
    own.mkdir()
    (own / "part-00000.parquet").write_text("mine")
    (own / "dataset.json").write_text("mine")
    left = tree(run.path / "inner") | {"notes.txt": b"id0003 called"}
    (tmp_path / "gone.txt").write_text("id0003\n")
    before = tree(tmp_path)
    assert command(["purge", run.place, "--subjects", str(tmp_path / "gone.txt"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert tree(tmp_path) == before, "a dry run changes nothing"
    assert "would remove 1 person, 2 images" in said
    for name in ("scores.parquet", "run.json", "audit.json"):
        assert f"changes  {run.path}/{name}\n" in said
    for name in ("notes.txt", "inner/scores.parquet", "answers/mine.parquet", "shards/notes.txt", ".notes.part"):
        assert f"left     {run.path}/{name} (not ours" in said and f"changes  {run.path}/{name}" not in said
    assert command(["purge", run.place, "--subjects", str(tmp_path / "gone.txt")]) == 0
    said = capsys.readouterr().out
    assert f"left     {run.path}/notes.txt (not ours; check whether it shows somebody)" in said
    assert tree(run.path / "inner") | {"notes.txt": (run.path / "notes.txt").read_bytes()} == left
    for name in (".notes.part", "shards/notes.json", "work/mine.state", "shards/notes.txt"):
        assert (run.path / name).read_text() == "mine"
    assert tree(own) == {"part-00000.parquet": b"mine", "dataset.json": b"mine"}
    assert (run.path / "answers" / "mine.parquet").read_bytes() == before["run/answers/mine.parquet"]
    assert verify(run.store).problems == []


def test_a_journal_or_a_marker_that_leaves_the_run_deletes_nothing(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    (tmp_path / "victim.txt").write_text("theirs")
    (run.path / "notes.txt").write_text("theirs")
    journal = {"samples": ["s00001.png"], "files": ["../victim.txt", "notes.txt", "/etc/hostname"]}
    (run.path / "purge.json").write_text(json.dumps(journal))
    done = purge(run.path, ["id0003"])
    assert (tmp_path / "victim.txt").read_text() == (run.path / "notes.txt").read_text() == "theirs"
    assert not {"../victim.txt", "notes.txt", "/etc/hostname"} & {*done.removed, *done.made_again}  # nor is it claimed
    assert done.left == (f"{run.path}/notes.txt",) and done.runs == (str(run.path),)
    path = run.path / "shards" / "00000.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"files": {"../victim.txt": "0"}}))
    purge(run.path, ["id0004"])
    assert (tmp_path / "victim.txt").read_text() == "theirs"


def test_who_left_is_not_named_by_the_run(tmp_path: Path, data: Path) -> None:
    import hashlib
    import hmac

    run = make(data, tmp_path / "run")
    purge(run.path, ["id0003"])
    (run.path / "local.json").rename(tmp_path / "local.json")
    told = "".join(tree(run.path)["run.json"].decode())
    names = [f"s{k:05d}.png" for k in range(60)]
    guesses = [name for name in names for name in (name, name.removesuffix(".png"))]
    for guess in guesses:
        for hashed in (hashlib.sha256(guess.encode()), hmac.new(b"", guess.encode(), "sha256")):
            assert hashed.hexdigest()[:32] not in told
    assert len(Run(run.path).manifest.withdrawn) == 2


def test_a_resume_elsewhere_asks_who_left(tmp_path: Path, data: Path) -> None:
    run = make(data, tmp_path / "run")
    purge(run.path, ["id0003", "id0005"])
    (run.path / "answers" / "00000.parquet").unlink()
    shutil.copytree(run.path, tmp_path / "same machine")
    (run.path / "local.json").unlink()

    def again(out: Path, **given: object) -> Run:
        return evaluate(DiscDetector(), TASK, data, out=out, shard=16, **given)

    assert len(again(tmp_path / "same machine").answers()) == 56
    before = tree(run.path)
    with pytest.raises(InputError, match="4 images were withdrawn from this run, and the secret that says which"):
        again(run.path)
    with pytest.raises(InputError, match="in 2 of the 4 images that were withdrawn; name all who left"):
        again(run.path, withdrawn=["id0003"])
    with pytest.raises(InputError, match="people on the list of withdrawn= are still in this run"):
        again(run.path, withdrawn=["id0003", "id0005", "id0020"])
    assert tree(run.path) == before, "nobody was evaluated"
    (tmp_path / "gone.txt").write_text("id0003\nid0005\n")
    finished = again(run.path, withdrawn=tmp_path / "gone.txt")
    assert traces(finished.path, "id0003", "s00006", "s00007", "id0005", "s00010") == []
    assert len(finished.answers()) == 56 and finished.manifest.purged == 4
    assert len(again(run.path).answers()) == 56, "from now on the secret is here"


def test_samples_of_a_killed_cluster_run_go_and_those_of_a_user_are_in_the_way(tmp_path: Path) -> None:
    from countenance.run.surroundings import prepare_samples, remove_samples, samples_beside

    place = str(tmp_path / "run")
    prepare_samples(place).write("part-00000.parquet", b"faces")
    (tmp_path / "run.samples" / "mine.txt").write_text("mine")
    assert remove_samples(samples_beside(place)) == ["mine.txt"]
    assert sorted(path.name for path in (tmp_path / "run.samples").iterdir()) == ["mine.txt"]
    with pytest.raises(InputError, match="is in the way and is not ours"):
        prepare_samples(place)
    (tmp_path / "run.samples" / "mine.txt").unlink()
    prepare_samples(place)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "run.samples" / "theirs").symlink_to(tmp_path / "theirs")
    assert remove_samples(samples_beside(place)) == []
    assert (tmp_path / "run.samples" / "theirs").is_symlink(), "a link of somebody else stays"


def test_samples_behind_a_link_are_left(tmp_path: Path) -> None:
    from countenance.run.surroundings import prepare_samples, remove_samples, samples_beside

    prepare_samples(str(tmp_path / "other")).write("part-00000.parquet", b"faces")
    (tmp_path / "run.samples").symlink_to(tmp_path / "other.samples")
    remove_samples(samples_beside(str(tmp_path / "run")))
    assert (tmp_path / "other.samples" / "part-00000.parquet").read_bytes() == b"faces"
