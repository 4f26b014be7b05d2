"""A file of a run that somebody exchanges between its check and its use: what is read is what was compared."""

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run, audit_run, evaluate, stages, store_audit
from countenance.run.store import RunStore
from countenance.storage import Missing, descriptors
from countenance.storage.local import LocalStorage
from countenance.testing import DiscDetector, write_small_dataset


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose score table is a folder of files, and one with a single file."""
    folder = tmp_path_factory.mktemp("exchanged")
    data = write_small_dataset(folder / "set", n=24, size=16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "MOST_ROWS", 10)
        patch.setattr(stages, "BLOCK", 5)
        many = evaluate(DiscDetector(), "face_localization", data, out=folder / "many", shard=8)
    store_audit(many, audit_run(many, by=["gender"], adjust="holm"))
    single = evaluate(DiscDetector(), "face_localization", data, out=folder / "single", shard=8)
    store_audit(single, audit_run(single, by=["gender"], adjust="holm"))
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Iterator[Path]:
    import shutil

    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


def edited(path: Path) -> bytes:
    """The content of a score file with other scores."""
    table = pq.read_table(path)
    place = table.column_names.index("m.recall@0.5")
    sink = pa.BufferOutputStream()
    pq.write_table(table.set_column(place, "m.recall@0.5", pa.array([0.0] * table.num_rows)), sink)
    return bytes(sink.getvalue())


class Exchanging(LocalStorage):
    """A disk on which a score file has other content from the moment that it was opened once, within the same file."""

    opened: dict[str, int] = {}  # noqa: RUF012 - of the whole test

    def _opened(self, name: str) -> int:
        handle = super()._opened(name)
        if name.startswith("scores"):
            self.opened[name] = self.opened.get(name, 0) + 1
            self._exchange_when_read(name, handle)
        return handle

    def _exchange_when_read(self, name: str, handle: int) -> None:
        path = self.folder / name
        other = edited(path)
        reading = os.dup(handle)  # what is read now is the first content: from memory, as a slow reader would have it
        with os.fdopen(reading, "rb") as stream:
            content = stream.read()
        part = self.folder / ".exchanged"
        part.write_bytes(content)
        first = os.open(part, os.O_RDONLY)
        os.dup2(first, handle)
        os.close(first)
        part.unlink()
        path.write_bytes(other)


@pytest.mark.parametrize("name", ["many", "single"])
@pytest.mark.parametrize(
    "words",
    [
        ["audit", "{run}", "--by", "gender", "--adjust", "holm", "-q", "--json", "{out}"],
        ["gate", "{run}", "--policy", "{policy}", "--json", "{out}"],
        ["compare", "{other}", "{run}", "--adjust", "holm", "-q", "--json", "{out}"],
    ],
    ids=lambda words: words[0],
)
def test_what_was_compared_is_what_is_read(
    name: str, words: list[str], runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    (tmp_path / "gate.yaml").write_text("insufficient: warn\nrules:\n- estimate: {metric: recall@0.5, at_least: 0.9}\n")
    other = runs / ("single" if name == "many" else "many")
    places = {"run": runs / name, "other": other, "policy": tmp_path / "gate.yaml"}
    answers = []
    Exchanging.opened.clear()
    for storage in (LocalStorage, Exchanging):
        monkeypatch.setattr("countenance.storage.LocalStorage", storage)
        out = tmp_path / f"{storage.__name__}.json"
        code = command([word.format(out=out, **places) for word in words])
        text = capsys.readouterr()
        answers.append((code, json.loads(out.read_text()) if out.exists() else text.err))
    plain, exchanged = answers
    assert plain[0] == 0, plain
    # Either the first content, every number of it, or a refusal; never a number of what was not compared.
    assert exchanged == plain or (exchanged[0] == 2 and "its content is not what was written" in str(exchanged[1]))
    assert any(file.startswith("scores") for file in Exchanging.opened)


@pytest.mark.parametrize("name", ["many", "single"])
def test_the_viewer_shows_what_it_compared(name: str, runs: Path) -> None:
    """The table is opened again for each column that somebody asks for; other content in the same file is not shown."""
    from countenance.view.library import Library

    library = Library([runs / name])
    opened = library.open(next(iter(library.runs())))
    expected = Run(runs / name).scores()
    assert opened.columns.total == expected.num_rows and opened.columns.names
    files = [runs / name / file for file in opened.run.store.score_files()]
    for file in files:
        file.write_bytes(edited(file))
    numbers = opened.columns.numbers("recall@0.5")
    assert numbers[~np.isnan(numbers)].tolist() == expected["m.recall@0.5"].drop_null().to_pylist()
    rows = opened.rows_at(range(expected.num_rows))
    assert [row["m.recall@0.5"] for row in rows] == expected["m.recall@0.5"].to_pylist()
    private = opened.columns.files[0].parent
    assert not private.is_relative_to(runs) and not private.stat().st_mode & 0o077
    with pytest.raises(InputError, match="its content is not what was written"):
        _ = Library([runs / name]).open(opened.id).columns
    del opened, library
    gc.collect()
    assert not private.exists()


def test_a_large_table_is_read_from_a_copy_that_nobody_else_can_reach(runs: Path) -> None:
    run = Run(runs / "many", verified=True)
    with run.store.score_paths() as paths:
        assert paths is not None and len(paths) > 1
        for path in paths:
            assert not path.is_relative_to(runs) and not path.parent.stat().st_mode & 0o077
        file = runs / "many" / "scores" / "00000.parquet"
        before = paths[0].read_bytes()
        file.write_bytes(edited(file))
        assert paths[0].read_bytes() == before
        folder = paths[0].parent
    assert not folder.exists()
    with pytest.raises(InputError, match=r"scores/00000.parquet: its content is not what was written"):
        audit_run(Run(runs / "many", verified=True), by=["gender"])
    audit_run(Run(runs / "many", verified=False), by=["gender"], adjust="holm")  # --unverified reads the file itself


def test_columns_of_a_large_table_are_of_the_kinds_that_runs_have(runs: Path) -> None:
    file = runs / "many" / "scores" / "00001.parquet"
    for name, column, found in (
        ("m.recall@0.5", pa.array(["x"] * 10), "m.recall@0.5 holds string, expected numbers"),
        ("img.people", pa.array(["x"] * 10, pa.string_view()), "img.people holds string_view"),
    ):
        table = pq.read_table(file).slice(0, 10)
        pq.write_table(table.set_column(table.column_names.index(name), name, column.slice(0, table.num_rows)), file)
        RunStore(runs / "many").seal()
        for verified in (True, False):
            with pytest.raises(InputError, match=rf"many/scores/00001.parquet: {found}"):
                audit_run(Run(runs / "many", verified=verified), by=["gender"])
        pq.write_table(table, file)


def test_a_large_table_of_a_run_without_hashes_is_not_read(runs: Path) -> None:
    place = runs / "many" / "run.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"status": "running"}))
    with pytest.raises(InputError, match="the run did not finish, so nothing says that scores/"):
        audit_run(Run(runs / "many", verified=True), by=["gender"])


def test_a_damaged_large_table_is_named_as_the_user_knows_it(runs: Path, tmp_path: Path) -> None:
    (runs / "many" / "scores" / "00001.parquet").write_bytes(b"PAR1 not a table PAR1")
    RunStore(runs / "many").seal()
    with pytest.raises(InputError) as caught:
        audit_run(Run(runs / "many", verified=True), by=["gender"])
    assert f"{runs / 'many'}/scores/00001.parquet" in str(caught.value) and "countenance-" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("many/scores/00001.parquet", ["audit", "--by", "gender", "--adjust", "holm", "-q"]),
        ("many/scores/00001.parquet", ["gate", "--policy", "gate.yaml"]),
        ("many/scores/00001.parquet", ["report", "--out", "page.html"]),
        ("many/results.json", ["report", "--out", "page.html"]),
        ("single/answers/00001.parquet", ["export", "--what", "coco", "--out", "boxes.json"]),
    ],
)
@pytest.mark.parametrize("how", ["removed", "folder"])
def test_a_file_that_was_removed_is_refused_like_an_edited_one(
    runs: Path, name: str, words: list[str], how: str, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(runs)
    Path("gate.yaml").write_text("insufficient: warn\nrules:\n- estimate: {metric: recall@0.5, at_least: 0.1}\n")
    place, _, file = name.partition("/")
    words = [words[0], place, *words[1:]]
    assert command(words) == 0
    Path(name).unlink()
    if how == "folder":
        Path(name).mkdir()
    assert command(words) == 2
    assert f"{place}/{file}: missing; the same `countenance run` command makes it again" in capsys.readouterr().err
    assert command([*words, "--unverified"]) == 0


def test_predictions_of_a_run_that_did_not_finish_are_not_exported(runs: Path, capsys) -> None:
    place = runs / "single" / "run.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"status": "running"}))
    (runs / "single" / "answers" / "00001.parquet").unlink()
    assert command(["export", str(runs / "single"), "--what", "coco", "--out", str(runs / "boxes.json")]) == 2
    assert "the run did not finish" in capsys.readouterr().err and not (runs / "boxes.json").exists()


class Linking(LocalStorage):
    """A disk on which a link is put in place of a file, or of the folder that it is in, right after the look at it."""

    def path(self, name: str) -> Path:
        path = super().path(name)
        part = self.folder / name.partition("/")[0]
        if not part.is_symlink():
            part.rename(self.folder.parent / f"aside-{part.name}")
            part.symlink_to(self.folder.parent / "outside" / ("a.txt" if part == path else ""))
        return path


@pytest.mark.parametrize("name", ["a.txt", "folder/a.txt"])
@pytest.mark.parametrize("use", ["read", "open", "delete"])
def test_a_link_that_comes_between_the_look_and_the_use_is_not_followed(tmp_path: Path, name: str, use: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("secret")
    LocalStorage(tmp_path / "run").write(name, b"own")
    storage = Linking(tmp_path / "run")
    if use == "delete":
        storage.delete(name)
    else:
        with pytest.raises(Missing):
            getattr(storage, use)(name)
    assert (tmp_path / "outside" / "a.txt").read_text() == "secret"
    assert (tmp_path / "aside-folder" / "a.txt").exists() or (tmp_path / "aside-a.txt").exists()


@pytest.mark.skipif(not descriptors.DESCRIPTORS, reason="this system opens files by their paths alone")
@pytest.mark.parametrize("name", ["a.txt", "folder/a.txt", "folder/below/a.txt"])
@pytest.mark.parametrize("use", ["write", "create", "write_stream"])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_link_that_comes_before_a_write_is_not_followed(
    tmp_path: Path, name: str, use: str, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each look of the storage at a part of the name, a link is put there, or in place of its folder."""
    outside, looks = tmp_path / "outside", []
    outside.mkdir()
    (outside / "a.txt").write_text("secret")
    clear = descriptors._clear

    def exchanged(path: Path, parent: int | None, expected: object) -> None:
        clear(path, parent, expected)  # type: ignore[arg-type]
        looks.append(path)
        if len(looks) == moment:
            for place in (path, path.parent):
                if place != tmp_path / "run" and not place.is_symlink():
                    if place.exists():
                        place.rename(tmp_path / f"aside-{place.name}")
                    if place.parent.is_dir():
                        place.symlink_to(outside / "a.txt" if place.suffix else outside)

    monkeypatch.setattr(descriptors, "_clear", exchanged)
    content = {"write_stream": lambda stream: stream.write(b"own")}.get(use, b"own")
    getattr(LocalStorage(tmp_path / "run"), use)(name, content)
    assert [path.name for path in outside.iterdir()] == ["a.txt"] and (outside / "a.txt").read_text() == "secret"
    assert len(looks) >= min(moment, name.count("/") + 1)


def test_a_pipe_or_a_folder_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    place = LocalStorage(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "pipe/x", "nothing"):
        with pytest.raises(Missing):
            place.read(name)
        place.delete("folder")
