"""Tables of a run from somebody else: columns of other kinds, or twice, cost one line in every command."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.hostile.making import make_good, resealed

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run

PURGE = ["purge", "run", "--subjects", "gone.txt"]
EXPORT = ["export", "run", "--what", "coco", "--out", "coco.json"]
VIEW = ["view", "run", "--bundle", "out", "--no-browser"]


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_good(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(name: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """Puts one value into every row of a column."""
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array([value] * table.num_rows))


def doubled(name: str) -> Callable[[pa.Table], pa.Table]:
    """Adds a column of a name that there is."""
    return lambda table: table.append_column(name, pa.array([True] * table.num_rows))


def without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


def changed(run: Path, file: str, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(run / file)), run / file)
    resealed(run)


CASES = [
    ("answers/00000.parquet", filled("sample", b"x"), EXPORT),
    ("answers/00000.parquet", doubled("boxes"), EXPORT),
    ("failures.parquet", without("people"), PURGE),
    ("failures.parquet", doubled("sample"), PURGE),
    ("failures.parquet", doubled("sample"), VIEW),
    ("scores.parquet", filled("subject", [["a"]]), PURGE),
    ("scores.parquet", filled("identity", [["a"]]), PURGE),
    ("scores.parquet", doubled("sample"), PURGE),
]


@pytest.mark.parametrize(("file", "change", "words"), CASES)
def test_columns_of_another_kind_cost_one_line(good: Path, file: str, change, words: list[str], capsys) -> None:
    changed(good / "run", file, change)
    assert command(words) in (0, 2)
    text = "".join(capsys.readouterr())
    assert file in text and "Traceback" not in text


@pytest.mark.parametrize("change", [without("sample"), filled("sample", [["a"]])])
def test_predictions_that_do_not_say_whose_they_are_are_refused(good: Path, change) -> None:
    changed(good / "run", "answers/00000.parquet", change)
    with pytest.raises(InputError, match=r"answers/00000\.parquet: no column sample with names"):
        Run(good / "run").evaluated()


def test_a_run_without_rows_is_compared_or_refused_in_one_line(good: Path, capsys) -> None:
    changed(good / "run", "scores.parquet", lambda table: table.slice(0, 0))
    for words in (["compare", "other", "run"], ["compare", "run", "other"], ["leaderboard", "run", "other"]):
        assert command([*words, *(["--adjust", "holm", "-q"] if words[0] == "compare" else [])]) in (0, 2)
        assert "Traceback" not in "".join(capsys.readouterr())


def test_a_list_of_hashes_with_half_a_character_is_damaged(good: Path, capsys) -> None:
    (good / "run" / "files.json").write_text('{"files": {"scores.parquet": "\\ud800"}}')
    for words in (PURGE, ["verify", "run"], ["report", "run"]):
        assert command(words) == 2
        assert "files.json: damaged" in "".join(capsys.readouterr())


def test_scores_without_a_column_of_people_are_shown(good: Path, capsys) -> None:
    changed(good / "run", "scores.parquet", without("subject"))
    assert command(VIEW) == 0 and command(["report", "run"]) == 0
    assert "Traceback" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("file", ["run.json", "audit.json"])
def test_half_a_character_in_a_file_of_the_run_is_damage(good: Path, file: str, capsys) -> None:
    """JSON can say it, no file can hold it: every page and table that repeats it could not be written."""
    path = good / "run" / file
    path.write_text(
        path.read_text().replace('"face_localization"', '"\\ud800"').replace('"verdict": "', '"verdict": "\\ud800')
    )
    resealed(good / "run") if file != "run.json" else None
    for words in (["report", "run"], ["card", "run", "--out", "card.md"], PURGE, EXPORT):
        assert command(words) in (0, 2)
        assert "Traceback" not in "".join(capsys.readouterr())
