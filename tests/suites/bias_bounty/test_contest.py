"""A contest: dates, crews, entries that the organiser runs, bundles, and participants who are not honest."""

import datetime
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.suites.bias_bounty.written_entries import write_entry, write_predictions

from countenance.cli import app
from countenance.cli.app import run as run_command
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, read_predictions
from countenance.errors import InputError
from countenance.suites.bias_bounty.board import BoardEntry, Rules, of_crews, rank
from countenance.suites.bias_bounty.bundles import hand_in_bundle, write_bundle
from countenance.suites.bias_bounty.contest import Contest, open_contest
from countenance.suites.bias_bounty.entry_runs import RUNS, EntryLimits
from countenance.suites.bias_bounty.printing import table_lines
from countenance.suites.bias_bounty.scoring import Draws
from countenance.suites.bias_bounty.submissions import BountySubmission, Handed, hand_in
from countenance.tasks.results import Number

onnx = pytest.importorskip("onnx")
FEW = Rules(draws=Draws(replicates=100))


@pytest.fixture(scope="module")
def entries(challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Path]]]:
    """Three honest entries with their predictions."""
    root = tmp_path_factory.mktemp("contest")
    made = {name: write_entry(root / name, shift) for name, shift in (("a", 0.0), ("b", 20.0), ("c", 60.0))}
    return {name: (entry, write_predictions(root / "answers", entry, challenge)) for name, entry in made.items()}


def test_an_entry_is_run_and_its_own_answers_count(entries, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    for name, (entry, files) in entries.items():
        hand_in(board, challenge, BountySubmission(name, "supervised", files["test"], None, entry))
    ranked = rank(board, challenge, FEW)
    assert not ranked.rejected and all(standing.verified and standing.private for standing in ranked.standings)
    table = read_predictions(entries["a"][1]["holdout"])
    answers = {standing.name: standing for standing in ranked.standings}["a"].answers["private"]
    assert all((answers.rows(table.names)[name] == table.codes[name]).all() for name in ATTRIBUTES)
    scores = [row.score.value for row in ranked.places("private")]
    assert scores == sorted(scores, reverse=True) and [row.rank for row in ranked.places("private")] == [1, 2, 3]
    assert ranked.prizes[0].winners == (ranked.places("private")[0].standing.name,)
    assert len(ranked.rankings["private", "all"].pairs) == 2  # each against the best


def test_a_second_leaderboard_runs_only_what_has_changed(entries, challenge: Path, tmp_path: Path, monkeypatch) -> None:
    from countenance.suites.bias_bounty import entry_runs

    board = tmp_path / "board"
    for name in ("a", "b"):
        entry, files = entries[name]
        hand_in(board, challenge, BountySubmission(name, "supervised", files["test"], None, entry))
    first = rank(board, challenge, FEW)
    measured: list[str] = []
    measure = entry_runs.measure

    def counted(entry: Path, *rest, **how):
        measured.append(entry.parent.name)
        return measure(entry, *rest, **how)

    monkeypatch.setattr(entry_runs, "measure", counted)
    again = rank(board, challenge, FEW)
    assert table_lines(again) == table_lines(first) and measured == []
    card = board / "b" / "entry" / "entry.json"
    card.write_text(card.read_text().replace('"name": "b"', '"name": "other"'))
    rank(board, challenge, FEW)
    assert measured == ["b", "b"] and (board / RUNS).is_file()


@pytest.mark.parametrize(("trouble", "why"), [({"endless": True}, "no answer within 4 s"), ({"floats": 10**10}, "")])
def test_an_entry_costs_its_limit_and_not_more(challenge: Path, tmp_path: Path, entries, trouble, why: str) -> None:
    entry = write_entry(tmp_path / "greedy", **trouble)
    submission = BountySubmission("greedy", "supervised", entries["a"][1]["test"], None, entry)
    hand_in(tmp_path / "board", challenge, submission)
    rules = Rules(draws=FEW.draws, limits=EntryLimits(seconds=4 if "endless" in trouble else 60, memory_gb=2))
    ranked = rank(tmp_path / "board", challenge, rules)
    assert "its entry cannot be run on the holdout" in ranked.rejected["greedy"] and why in ranked.rejected["greedy"]


@pytest.mark.slow
def test_throw_away_entries_of_a_crew_change_nothing_for_others(entries, challenge: Path, tmp_path: Path) -> None:
    plain, flooded = tmp_path / "plain", tmp_path / "flooded"
    for board in (plain, flooded):
        for name, crew in (("a", "red"), ("b", "blue")):
            entry, files = entries[name]
            hand_in(board, challenge, BountySubmission(name, "supervised", files["test"], None, entry, crew=crew))
    for number in range(4):
        entry, files = entries["c"]
        name = f"flood {number}"
        hand_in(flooded, challenge, BountySubmission(name, "supervised", files["test"], None, entry, crew="red"))
    few, many = rank(plain, challenge, FEW), rank(flooded, challenge, FEW)
    assert len(many.standings) == 6
    assert [row.to_json() for row in many.places("private")] == [row.to_json() for row in few.places("private")]
    assert many.prizes == few.prizes


def standing(
    name: str, crew: str, public: float, private: float | None, *, verified: bool = True, copy_of: str = ""
) -> BoardEntry:
    """An entry on the board of which only its scores matter."""
    scores = [None if value is None else Number(name="Score₁", value=value) for value in (public, private)]
    first, second = (None if score is None else SimpleNamespace(first=score, multiplier=1.0) for score in scores)
    handed = Handed(kind="supervised", crew=crew, submitted=f"2026-11-03T{len(name):02d}")
    answers = {"public": None} | ({} if private is None else {"private": None})
    return BoardEntry(name, handed, first, second, answers=answers, verified=verified, copy_of=copy_of)  # type: ignore[arg-type]


def test_the_holdout_does_not_choose_among_the_entries_of_a_crew() -> None:
    """The luckiest of many entries on the holdout takes no place: the best on the public test does."""
    flood = [standing(f"flood{'x' * i}", "flood", 5.0 - i, 3.0 + i) for i in range(4)]
    others = [standing("honest", "honest", 4.0, 4.0), standing("late", "copy", 9.0, 9.0, copy_of="honest")]
    for which in ("public", "private"):
        assert {crew: entry.name for crew, entry in of_crews([*flood, *others], which).items()} == {
            "flood": "flood",
            "honest": "honest",
        }
    saved = [standing("answers", "both", 6.0, 6.0, verified=False), standing("entry", "both", 5.0, 5.0)]
    assert of_crews(saved, "public")["both"].name == "answers"
    assert of_crews(saved, "private")["both"].name == "entry"  # what was run here goes before what nobody could run
    equal = [standing("second", "c", 5.0, 7.0), standing("first", "c", 5.0, 6.0), standing("z", "c", float("nan"), 9.0)]
    assert of_crews(equal, "private")["c"].name == "first"  # handed in earlier
    assert of_crews([standing("test only", "d", 5.0, None)], "private") == {}


def test_dates_open_and_close_a_contest(entries, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    open_contest(board, Contest(title="Autumn", opens="2026-11-01", closes="2026-11-15T12:00"))
    entry, files = entries["a"]
    submission = BountySubmission("a", "supervised", files["test"])

    def day(number: int, hour: int = 0) -> datetime.datetime:
        return datetime.datetime(2026, 11, number, hour, tzinfo=datetime.UTC)

    with pytest.raises(InputError, match="the contest opens at 2026-11-01"):
        hand_in(board, challenge, submission, now=day(1) - datetime.timedelta(seconds=1))
    hand_in(board, challenge, submission, now=day(3))
    with pytest.raises(InputError, match="the contest closed at 2026-11-15T12:00"):
        other = BountySubmission("a", "supervised", entries["b"][1]["test"])
        hand_in(board, challenge, other, replace=True, now=day(15, 12))
    # The organiser adds the entry afterwards: the time at which the participant submitted stays.
    with_entry = BountySubmission("a", "supervised", files["test"], None, entry)
    hand_in(board, challenge, with_entry, replace=True, now=day(20))
    handed = Handed.read(board / "a")
    assert handed.submitted.startswith("2026-11-03") and handed.number == 1 and not (board / "a" / "history").exists()
    ranked = rank(board, challenge, FEW)
    assert ranked.contest.title == "Autumn" and ranked.standings[0].verified


def test_a_contest_that_closes_on_a_day_takes_entries_on_that_day() -> None:
    def why(closes: str, *when: int) -> str:
        return Contest(closes=closes).checked().why_closed(datetime.datetime(*when, tzinfo=datetime.UTC))

    assert why("2026-11-15", 2026, 11, 15, 23, 59) == ""
    assert why("2026-11-15", 2026, 11, 16) == "the contest closed at the end of 2026-11-15"
    assert why("2026-11-15T00:00", 2026, 11, 15) == "the contest closed at 2026-11-15T00:00"
    assert why("9999-12-31", 2026, 11, 15) == ""
    assert Contest(opens="2026-11-15", closes="2026-11-15").checked().why_not("a", 0) == "", "a contest of one day"


def test_what_is_not_named_again_stays_and_wrong_settings_are_refused(tmp_path: Path, capsys) -> None:
    board = tmp_path / "board"

    def command(*words: str) -> int:
        return run_command(["bias-bounty", "open", str(board), *words])

    assert command("--closes", "2026-11-30", "--admit", "red", "--admit", "blue", "--title", "Autumn") == 0
    assert command("--opens", "2026-11-01", "--entries-per-crew", "1") == 0
    assert "open from 2026-11-01 until 2026-11-30, for red and blue, at most 1 entry each" in capsys.readouterr().out
    expected = Contest(
        title="Autumn", opens="2026-11-01", closes="2026-11-30", crews=("red", "blue"), entries_per_crew=1
    )
    assert Contest.read(board) == expected
    for words, message in (
        (("--admit", ""), "crew ''"),
        (("--admit", "red", "--admit", "red"), "crew 'red' is named 2 times"),
        (("--opens", "2026-12-24"), "closes after it opens"),
        (("--opens", "2026-02-30"), "expected a date or time"),
        (("--entries-per-crew", "0"), "greater than or equal to 1"),
    ):
        assert command(*words) == 2 and message in capsys.readouterr().err
        assert Contest.read(board) == expected, "nothing is half-written"
    assert command("--closes", "") == 0 and Contest.read(board).closes is None
    (tmp_path / "file").write_text("")
    assert run_command(["bias-bounty", "open", str(tmp_path / "file")]) == 2
    assert "a file; name a folder" in capsys.readouterr().err


def test_what_was_handed_in_too_late_does_not_count(entries, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    early, late = (datetime.datetime(2026, 11, day, tzinfo=datetime.UTC) for day in (3, 20))
    hand_in(board, challenge, BountySubmission("x", "supervised", entries["a"][1]["test"]), now=early)
    hand_in(board, challenge, BountySubmission("x", "supervised", entries["c"][1]["test"]), now=late, replace=True)
    hand_in(board, challenge, BountySubmission("y", "supervised", entries["b"][1]["test"]), now=late)
    open_contest(board, Contest(closes="2026-11-15"))
    ranked = rank(board, challenge, FEW)
    assert [standing.handed.submitted[:10] for standing in ranked.standings] == ["2026-11-03"]
    assert "the contest closed" in ranked.rejected["y"] and any(
        "x: what was handed in after" in n for n in ranked.notes
    )


def test_a_bundle_carries_everything_and_nothing_else(entries, challenge: Path, tmp_path: Path) -> None:
    entry, files = entries["a"]
    (tmp_path / "main.py").write_text("print(1)\n")
    bundle = write_bundle(tmp_path / "a.zip", entry, files["test"], files["holdout"], tmp_path / "main.py", "red")
    name, score = hand_in_bundle(bundle, tmp_path / "board", challenge)
    handed = Handed.read(tmp_path / "board" / "a")
    assert name == "a" and handed.crew == "red" and len(handed.code_sha256) == 64 and score.score1 == handed.score
    assert rank(tmp_path / "board", challenge, FEW).standings[0].verified
    with zipfile.ZipFile(bundle, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("test.csv", "name,skin_tone,gender,age\n")
    with pytest.raises(InputError, match=r"a.zip: 'test.csv' is in it 2 times, expected once"):
        hand_in_bundle(bundle, tmp_path / "twice", challenge)
    for member in ("../x", "entry/../../x", "other.txt", "/etc/x"):
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            archive.writestr(member, "x")
        with pytest.raises(InputError, match="is not a part of a bundle"):
            hand_in_bundle(tmp_path / "bad.zip", tmp_path / "board", challenge)
    (tmp_path / "bad.zip").write_bytes(b"PK no zip")
    with pytest.raises(InputError):
        hand_in_bundle(tmp_path / "bad.zip", tmp_path / "board", challenge)


def test_an_error_in_a_bundle_names_the_bundle(entries, challenge: Path, tmp_path: Path, capsys) -> None:
    """The folder into which it was unpacked is gone when somebody reads the message."""
    entry, files = entries["a"]
    wrong, bundle = tmp_path / "wrong.csv", tmp_path / "a.zip"
    wrong.write_text(files["test"].read_text().replace("monk_", "monk_9"))
    write_bundle(bundle, entry, wrong, None, None)
    give = ["bias-bounty", "submit-bundle", str(bundle), "--data", str(challenge), "--board", str(tmp_path / "board")]
    assert app.run(give) == 2
    assert capsys.readouterr().err.startswith(f"error: {bundle}: test.csv: unknown classes of skin_tone")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("bundle.json", "{}")
        archive.writestr("entry/entry.json", '{"name": 1}')
    with pytest.raises(InputError, match=r"bad\.zip: entry/entry\.json: ") as caught:
        hand_in_bundle(tmp_path / "bad.zip", tmp_path / "board", challenge)
    assert "/bundle-" not in str(caught.value)


def test_from_the_command_line(entries, challenge: Path, tmp_path: Path, capsys) -> None:
    board, data = str(tmp_path / "board"), str(challenge)
    entry, files = entries["a"]
    assert app.run(["bias-bounty", "open", board, "--opens", "2020-01-01", "--closes", "2099-01-01"]) == 0
    assert app.run(["bias-bounty", "open", board, "--opens", "soon"]) == 2
    bundle = str(tmp_path / "a.zip")
    assert app.run(["bias-bounty", "bundle", bundle, "--entry", str(entry), "--test", str(files["test"])]) == 0
    assert app.run(["bias-bounty", "submit-bundle", bundle, "--data", data, "--board", board]) == 0
    code = ["bias-bounty", "check-code", board, "a", "--code", "0" * 64]
    assert app.run(code) == 2 and "gate" not in capsys.readouterr().err
    assert app.run(["bias-bounty", "leaderboard", board, "--data", data, "--replicates", "100", "-q"]) == 0
    printed = capsys.readouterr().out
    assert "prize    first: a" in printed
    assert "efficiency ×1 for all: --time measures them here" in printed
    assert np.isfinite(json.loads((tmp_path / "board" / RUNS).read_text())["a"]["classes"]["age"]).all()
