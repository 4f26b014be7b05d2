"""A contest of twenty entries, most of them dishonest, and an organiser who makes mistakes."""

import dataclasses
import datetime
import json
import shutil
from pathlib import Path

import pytest
from tests.suites.bias_bounty.written_entries import write_entry, write_predictions

from countenance.cli import app
from countenance.errors import InputError
from countenance.suites.bias_bounty import entry_runs
from countenance.suites.bias_bounty.board import Board, Rules, rank
from countenance.suites.bias_bounty.contest import Contest, folded, open_contest
from countenance.suites.bias_bounty.entry import entry_files
from countenance.suites.bias_bounty.entry_runs import RUNS, TEST_RUNS, EntryLimits
from countenance.suites.bias_bounty.scoring import Draws
from countenance.suites.bias_bounty.submissions import BountySubmission, Handed, hand_in

onnx = pytest.importorskip("onnx")
FEW = Rules(draws=Draws(replicates=100))
OPENS, CLOSES = "2026-11-01", "2026-11-15"
IN_TIME, LATE = (datetime.datetime(2026, 11, day, tzinfo=datetime.UTC) for day in (3, 20))
HONEST = {"north": 0.0, "east": 20.0, "south": 40.0, "west": 60.0, "centre": -30.0}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dishonest")


@pytest.fixture(scope="module")
def honest(work: Path, challenge: Path) -> dict[str, tuple[Path, dict[str, Path]]]:
    """Five honest entries with their predictions."""
    entries = {name: write_entry(work / name, shift) for name, shift in HONEST.items()}
    return {name: (entry, write_predictions(work / "answers", entry, challenge)) for name, entry in entries.items()}


def labels_as_predictions(challenge: Path, split: str, out: Path) -> Path:
    """The labels themselves, every cell filled."""
    return Path(shutil.copyfile(challenge / split / "labels.csv", out))


@pytest.fixture(scope="module")
def contest(work: Path, challenge: Path, honest) -> tuple[Path, Board]:
    """Twenty entries of nine crews; five are honest."""
    board = work / "board"
    open_contest(board, Contest(title="Winter", opens=OPENS, closes=CLOSES))

    def give(name: str, crew: str, test: Path, entry: Path | None = None, holdout: Path | None = None, **how) -> None:
        hand_in(board, challenge, BountySubmission(name, "supervised", test, holdout, entry, crew=crew), **how)

    for hour, (name, (entry, files)) in enumerate(honest.items()):
        give(name, name, files["test"], entry, files["holdout"], now=IN_TIME + datetime.timedelta(hours=hour))
    later = {"now": IN_TIME + datetime.timedelta(days=1)}
    entry, files = honest["north"]
    truth = {
        split: labels_as_predictions(challenge, split, work / f"{split}-truth.csv") for split in ("test", "holdout")
    }
    give("labels of the test", "cheat", truth["test"], entry, **later)
    give("labels of the holdout", "cheat", files["test"], entry, truth["holdout"], **later)
    give("labels alone", "cheat 2", files["test"], None, truth["holdout"], **later)
    give("no entry", "quiet", honest["south"][1]["test"], None, honest["south"][1]["holdout"], **later)
    give("only the test", "quiet", honest["west"][1]["test"], **later)
    for number in range(3):  # other crews hand in the same entry again
        give(f"copy {number}", f"pirates {number}", files["test"], entry, files["holdout"], **later)
    for number in range(5):  # one crew floods the board
        give(f"flood {number}", "west", honest["west"][1]["test"], honest["west"][0], **later)
    endless = write_entry(work / "endless", endless=True)
    give("endless", "stuck", honest["east"][1]["test"], endless, **later)
    greedy = write_entry(work / "greedy", floats=10**10)
    give("greedy", "stuck", honest["east"][1]["test"], greedy, **later)
    rules = Rules(draws=FEW.draws, limits=EntryLimits(seconds=6, memory_gb=2))
    return board, rank(board, challenge, rules)


@pytest.mark.slow
def test_twenty_entries_five_places(contest) -> None:
    _, ranked = contest
    assert len(ranked.standings) + len(ranked.rejected) == 20
    names = [row.standing.name for row in ranked.places("private")]
    assert set(names) == set(HONEST)
    scores = [row.score.value for row in ranked.places("private")]
    assert scores == sorted(scores, reverse=True)
    winners = [name for prize in ranked.prizes for name in prize.winners]
    assert set(winners) <= set(HONEST) and len(ranked.rankings["private", "all"].pairs) == len(names) - 1


@pytest.mark.slow
def test_answers_that_an_entry_does_not_give_are_rejected(contest) -> None:
    _, ranked = contest
    assert "of the test otherwise than the predictions" in ranked.rejected["labels of the test"]
    assert "of the holdout otherwise than the predictions" in ranked.rejected["labels of the holdout"]
    assert "drawn at random" in ranked.rejected["labels alone"]
    public = {row.standing.name: row.score.value for row in ranked.places("public")}
    assert max(public.values()) < 16 and not {"labels of the test", "labels alone"} & set(public)


@pytest.mark.slow
def test_copies_of_an_entry_take_no_place(contest) -> None:
    _, ranked = contest
    copies = [standing for standing in ranked.standings if standing.copy_of]
    assert {copy.name: copy.copy_of for copy in copies} == {
        "copy 0": "north",
        "copy 1": "north",
        "copy 2": "north",
        "no entry": "south",
    }
    assert all(copy.to_json()["copy_of"] for copy in copies)
    assert any("copy 0 answers the holdout as north of another crew" in note for note in ranked.notes)
    assert not {copy.name for copy in copies} & {name for prize in ranked.prizes for name in prize.winners}


@pytest.mark.slow
def test_an_endless_entry_costs_its_limit_once(contest) -> None:
    board, ranked = contest
    assert "no answer within 6 s" in ranked.rejected["endless"] and "greedy" in ranked.rejected
    assert "endless" in json.loads((board / RUNS).read_text())
    assert not {"endless", "greedy"} & set(json.loads((board / TEST_RUNS).read_text()))


@pytest.mark.parametrize("place", ["weights.bin", "../../../data/holdout/labels.csv"])
def test_an_entry_may_not_read_another_file(honest, challenge: Path, tmp_path: Path, place: str) -> None:
    entry = write_entry(tmp_path / "reader")
    network = onnx.load(str(entry / "net.onnx"))
    tensor = network.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    pair = tensor.external_data.add()
    pair.key, pair.value = "location", place
    (entry / "net.onnx").write_bytes(network.SerializeToString())
    (entry / "weights.bin").write_bytes(tensor.raw_data)
    files = honest["north"][1]
    submission = BountySubmission("reader", "supervised", files["test"], files["holdout"], entry)
    with pytest.raises(InputError, match="its weights are in another file") as caught:
        hand_in(tmp_path / "board", challenge, submission)
    assert place in str(caught.value) and "external_data=False" in str(caught.value)
    assert not (tmp_path / "board" / "reader").exists()
    # Exchanged on the board, it is not opened either.
    hand_in(tmp_path / "board", challenge, dataclasses.replace(submission, entry=honest["north"][0]))
    shutil.copyfile(entry / "net.onnx", tmp_path / "board" / "reader" / "entry" / "net.onnx")
    ranked = rank(tmp_path / "board", challenge, FEW)
    assert any("reader" in name for name, _ in ranked.rejected.items())


@pytest.mark.parametrize("name", ["net.ort", "net.tflite"])
def test_a_network_is_an_onnx_file(tmp_path: Path, name: str) -> None:
    entry = write_entry(tmp_path / "other")
    (entry / "net.onnx").rename(entry / name)
    (entry / "entry.json").write_text((entry / "entry.json").read_text().replace("net.onnx", name))
    with pytest.raises(InputError, match=r"ends with \.onnx"):
        entry_files(entry)
    (entry / name).rename(entry / "net.onnx").write_bytes(b"\x0b nothing")
    (entry / "entry.json").write_text((entry / "entry.json").read_text().replace(name, "net.onnx"))
    with pytest.raises(InputError, match="not an ONNX file"):
        entry_files(entry)


def test_an_entry_cannot_be_exchanged_after_the_close(honest, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    open_contest(board, Contest(opens=OPENS, closes=CLOSES))
    entry, files = honest["east"]
    hand_in(board, challenge, BountySubmission("x", "supervised", files["test"], None, entry), now=IN_TIME)
    other = BountySubmission("x", "supervised", files["test"], None, honest["north"][0])
    with pytest.raises(
        InputError, match="the contest closed at the end of 2026-11-15, and another entry was handed in"
    ):
        hand_in(board, challenge, other, replace=True, now=LATE)
    with pytest.raises(InputError, match="handed in as supervised, not as unsupervised"):
        hand_in(board, challenge, BountySubmission("x", "unsupervised", files["test"]), replace=True, now=LATE)
    again = BountySubmission("x", "supervised", files["test"], files["holdout"], entry)
    hand_in(board, challenge, again, replace=True, now=LATE)
    assert Handed.read(board / "x").submitted.startswith("2026-11-03") and not Handed.read(board / "x").entry_added
    assert not rank(board, challenge, FEW).rejected


def test_an_entry_that_was_added_late_is_named(honest, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    open_contest(board, Contest(opens=OPENS, closes=CLOSES))
    files = honest["east"][1]
    for name, added in (("x", "east"), ("y", "north")):
        hand_in(board, challenge, BountySubmission(name, "supervised", files["test"]), now=IN_TIME)
        late = BountySubmission(name, "supervised", files["test"], None, honest[added][0])
        hand_in(board, challenge, late, replace=True, now=LATE)
    ranked = rank(board, challenge, FEW)
    assert "x: its entry was added at 2026-11-20T00:00:00+00:00, after the contest closed" in ranked.notes
    assert "images of the test otherwise" in ranked.rejected["y"]  # another network than the one that predicted


def test_an_entry_stays_with_its_crew(honest, challenge: Path, tmp_path: Path) -> None:
    board, (entry, files) = tmp_path / "board", honest["east"]
    hand_in(board, challenge, BountySubmission("x", "supervised", files["test"], None, entry, crew="red"))
    taken = BountySubmission("x", "supervised", honest["west"][1]["test"], crew="blue")
    with pytest.raises(InputError, match="the entry of this name belongs to crew 'red', not to 'blue'"):
        hand_in(board, challenge, taken, replace=True)
    hand_in(board, challenge, BountySubmission("x", "supervised", honest["west"][1]["test"]), replace=True)
    assert Handed.read(board / "x").crew == "red" and Handed.read(board / "x").number == 2


def test_crews_register_and_have_so_many_entries(honest, challenge: Path, tmp_path: Path, capsys) -> None:
    board = str(tmp_path / "board")
    crews = ["--admit", "red", "--admit", "blue", "--entries-per-crew", "2"]
    assert app.run(["bias-bounty", "open", board, *crews]) == 0
    submit = ["bias-bounty", "submit", "--kind", "supervised", "--data", str(challenge), "--board", board]
    submit += ["--test", str(honest["east"][1]["test"])]
    assert app.run([*submit, "--name", "a", "--crew", "rde"]) == 2
    assert "crew 'rde' is not registered; there are red, blue (did you mean red?)" in capsys.readouterr().err
    assert app.run([*submit, "--name", "a"]) == 2
    assert [app.run([*submit, "--name", name, "--crew", "red"]) for name in ("a", "b", "c")] == [0, 0, 2]
    assert "crew 'red' has 2 of 2 entries on the board" in capsys.readouterr().err
    assert app.run([*submit, "--name", "b", "--crew", "red", "--replace"]) == 0
    # Who gets into the folder another way is rejected by the leaderboard.
    shutil.copytree(tmp_path / "board" / "a", tmp_path / "board" / "z")
    about = tmp_path / "board" / "z" / "submission.json"
    about.write_text(about.read_text().replace('"red"', '"strangers"'))
    assert "'strangers' is not registered" in rank(tmp_path / "board", challenge, FEW).rejected["z"]


def test_an_entry_with_classes_that_do_not_exist_is_rejected(honest, challenge: Path, tmp_path: Path) -> None:
    """Its network names twelve tones: the board of the others must not break."""
    entry, files = write_entry(tmp_path / "wide"), honest["east"][1]
    model = onnx.load(entry / "net.onnx")
    for value in model.graph.initializer:
        if value.name == "c_skin_tone":
            wide = onnx.helper.make_tensor("c_skin_tone", onnx.TensorProto.FLOAT, [1, 12], [-1e3] * 11 + [100.0])
            value.CopyFrom(wide)
    for output in model.graph.output:
        if output.name == "skin_tone":
            output.type.tensor_type.shape.dim[1].dim_value = 12
    (entry / "net.onnx").write_bytes(model.SerializeToString())
    board = tmp_path / "board"
    hand_in(board, challenge, BountySubmission("wide", "supervised", files["test"], None, entry))
    hand_in(board, challenge, BountySubmission("east", "supervised", files["test"], None, honest["east"][0]))
    ranked = rank(board, challenge, FEW)
    assert "output 'skin_tone' has the shape (32, 12), expected (32, 10)" in ranked.rejected["wide"]
    assert [row.standing.name for row in ranked.places("private")] == ["east"]


def test_spellings_that_look_alike_are_one_crew_and_one_name(honest, challenge: Path, tmp_path: Path, capsys) -> None:
    board = tmp_path / "board"
    submit = ["bias-bounty", "submit", "--kind", "supervised", "--data", str(challenge), "--board", str(board)]
    submit += ["--test", str(honest["east"][1]["test"])]
    spellings = ["Red", "red", "RED", "\uff32ed", "re\u200dd", "R\u0435d", "R\u0395D", "Re\ufe0fd", "Re\u115fd"]
    spellings += ["Zo\u00eb", "Zoe\u0308", "reed"]
    for number, crew in enumerate(spellings):
        assert app.run([*submit, "--name", f"n{number}", "--crew", crew]) == 0
    crews = [Handed.read(board / f"n{number}").crew for number in range(len(spellings))]
    assert crews == ["Red"] * 9 + ["Zo\u00eb"] * 2 + ["reed"]
    pairs = [("НОВА", "нова"), ("НОВА", "HOBA"), ("ΝΙΚΟΣ", "νικος"), ("ΝΟΤΑ", "nota"), ("raνen", "raven")]
    assert all(folded(first) == folded(second) for first, second in pairs)
    assert folded("van") != folded("nan") and folded("нова") != folded("нора")
    capsys.readouterr()
    for name in ("N0", "\uff4e0", "n\u200d0", "n\ufe0f0", "\u039d0"):
        assert app.run([*submit, "--name", name, "--crew", "blue"]) == 2
        assert "the entry 'n0' is on the board and looks the same" in capsys.readouterr().err
    registered = str(tmp_path / "registered")
    assert app.run(["bias-bounty", "open", registered, "--admit", "Red", "--admit", "red"]) == 2
    assert "crew 'Red' is named 2 times ('Red', 'red'); name each once" in capsys.readouterr().err
    assert app.run(["bias-bounty", "open", registered, "--admit", "Red", "--entries-per-crew", "1"]) == 0
    submit[submit.index(str(board))] = registered
    assert [app.run([*submit, "--name", name, "--crew", crew]) for name, crew in (("a", "RED"), ("b", "red"))] == [0, 2]
    assert "crew 'Red' has 1 of 1 entries on the board" in capsys.readouterr().err


def test_a_bundle_speaks_for_who_sent_it_alone(honest, challenge: Path, tmp_path: Path, capsys) -> None:
    """Otherwise a crew could hand in an entry for another one, of which only the best on the public test counts."""
    entry, files = honest["west"]
    bundle, board = str(tmp_path / "b.zip"), tmp_path / "board"
    pack = ["bias-bounty", "bundle", bundle, "--entry", str(entry), "--test", str(files["test"])]
    assert app.run([*pack, "--crew", "red"]) == 0
    give = ["bias-bounty", "submit-bundle", bundle, "--data", str(challenge), "--board", str(board)]
    assert app.run([*give, "--crew", "blue"]) == 2
    assert "names the crew 'red', but was sent by 'blue'" in capsys.readouterr().err
    assert app.run([*give, "--crew", "Red"]) == 0 and Handed.read(board / "west").crew == "Red"
    assert app.run(pack) == 0
    assert app.run([*give, "--name", "other", "--crew", "blue"]) == 0 and Handed.read(board / "other").crew == "blue"


def test_a_clock_that_went_back_takes_no_entries(honest, challenge: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    open_contest(board, Contest(closes="2026-11-15T12:00"))
    close = datetime.datetime(2026, 11, 15, 12, tzinfo=datetime.UTC)

    def give(name: str, seconds: float) -> None:
        submission = BountySubmission(name, "supervised", honest["east"][1]["test"])
        hand_in(board, challenge, submission, now=close + datetime.timedelta(seconds=seconds))

    give("last", -0.1)
    for seconds in (0, 0.5):
        with pytest.raises(InputError, match="the contest closed at 2026-11-15T12:00"):
            give("late", seconds)
    give("adjusted", -30)  # as a time server does
    with pytest.raises(InputError, match=r"the clock of this machine says 2026-11-15T11:00:00.*set the clock"):
        give("after the clock was put back", -3600)
    assert rank(board, challenge, FEW).rejected == {}


def test_an_entry_that_failed_is_run_again_with_other_limits(
    honest, challenge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, files = honest["north"]
    measured, measure = [], entry_runs.measure

    def limited(*place, seconds: float, **options):
        measured.append(seconds)
        if seconds < 10:
            raise InputError(f"no answer within {seconds:g} s")
        return measure(*place, seconds=seconds, **options)

    monkeypatch.setattr(entry_runs, "measure", limited)
    hand_in(tmp_path, challenge, BountySubmission("x", "supervised", files["test"], None, entry))
    short, long = (Rules(draws=FEW.draws, limits=EntryLimits(seconds=seconds)) for seconds in (5, 60))
    for _ in range(2):
        assert "no answer within 5 s" in rank(tmp_path, challenge, short).rejected["x"]
    assert measured == [5], "the same limits give the same failure"
    assert rank(tmp_path, challenge, long).rejected == {} and measured == [5, 60, 60]
    assert rank(tmp_path, challenge, short).rejected == {} and measured == [5, 60, 60]
