"""Tables of a run from somebody else: columns of other kinds, or twice, cost one line in every command that reads them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.hostile.making import make_good, resealed

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run

PURGE = ["purge", "run", "--subjects", "gone.txt"]


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_good(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lists(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array([[["a"]]] * table.num_rows))


def doubled(table: pa.Table, name: str) -> pa.Table:
    return table.append_column(name, pa.array([True] * table.num_rows))


def as_bytes(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array([b"x"] * table.num_rows))


EXPORT = ["export", "run", "--what", "coco", "--out", "coco.json"]
CASES = [
    ("answers/00000.parquet", lambda table: as_bytes(table, "sample"), EXPORT),
    ("answers/00000.parquet", lambda table: doubled(table, "boxes"), EXPORT),
    ("failures.parquet", lambda table: table.drop_columns(["people"]), PURGE),
    ("scores.parquet", lambda table: lists(table, "subject"), PURGE),
    ("scores.parquet", lambda table: lists(table, "identity"), PURGE),
    ("scores.parquet", lambda table: doubled(table, "sample"), PURGE),
    ("failures.parquet", lambda table: doubled(table, "sample"), PURGE),
    ("failures.parquet", lambda table: doubled(table, "sample"), ["view", "run", "--bundle", "out", "--no-browser"]),
]


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_good(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lists(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array([[["a"]]] * table.num_rows))


def doubled(table: pa.Table, name: str) -> pa.Table:
    return table.append_column(name, pa.array([True] * table.num_rows))


CASES = [
    ("scores.parquet", lambda table: lists(table, "subject"), PURGE),
    ("scores.parquet", lambda table: lists(table, "identity"), PURGE),
    ("scores.parquet", lambda table: doubled(table, "sample"), PURGE),
    ("failures.parquet", lambda table: doubled(table, "sample"), PURGE),
    ("failures.parquet", lambda table: doubled(table, "sample"), ["view", "run", "--bundle", "out", "--no-browser"]),
]


@pytest.mark.parametrize(("file", "change", "words"), CASES)
def test_columns_of_another_kind_cost_one_line(good: Path, file: str, change, words: list[str], capsys) -> None:
    path = good / "run" / file
    pq.write_table(change(pq.read_table(path)), path)
    resealed(good / "run")
    assert command(words) in (0, 2)
    text = "".join(capsys.readouterr())
    assert file in text and "Traceback" not in text


@pytest.mark.parametrize("change", [lambda table: table.drop_columns(["sample"]), lambda table: lists(table, "sample")])
def test_predictions_that_do_not_say_whose_they_are_are_refused(good: Path, change) -> None:
    path = good / "run" / "answers" / "00000.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    resealed(good / "run")
    with pytest.raises(InputError, match=r"answers/00000\.parquet: no column sample with names"):
        Run(good / "run").evaluated()


def test_a_run_without_rows_is_compared_or_refused_in_one_line(good: Path, capsys) -> None:
    path = good / "run" / "scores.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    resealed(good / "run")
    for words in (["compare", "other", "run"], ["compare", "run", "other"], ["leaderboard", "run", "other"]):
        assert command([*words, *(["--adjust", "holm", "-q"] if words[0] == "compare" else [])]) in (0, 2)
        assert "Traceback" not in "".join(capsys.readouterr())
