"""From a submission to the leaderboard's pages with stand-ins for networks and clocks; what a training writes."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, predictions_text, read_predictions
from countenance.data.card import DatasetCard
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.suites.bias_bounty import board as boards
from countenance.suites.bias_bounty import counted_answers
from countenance.suites.bias_bounty.board import Rules, rank
from countenance.suites.bias_bounty.entry import EntryCard, EntryNetwork
from countenance.suites.bias_bounty.entry_runs import EntryRun
from countenance.suites.bias_bounty.page import write_pages
from countenance.suites.bias_bounty.scoring import Draws
from countenance.suites.bias_bounty.submissions import BountySubmission, Handed, hand_in, same_code
from countenance.suites.bias_bounty.timing import Timing

FEW = Rules(draws=Draws(replicates=100))
NAMES = [f"{k:02}.png" for k in range(24)]


def words(turn: int = 0, every: int = 1000) -> list[dict[str, str]]:
    """Classes in turn; those of every so many pictures are one further."""
    return [
        {name: CLASSES[name][(k + (turn if k % every == 0 else 0)) % len(CLASSES[name])] for name in ATTRIBUTES}
        for k in range(len(NAMES))
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for split in ("test", "holdout"):
        (tmp_path / "data" / split).mkdir(parents=True)
        (tmp_path / "data" / split / "labels.csv").write_text(predictions_text(NAMES, words()))
        for name in NAMES:
            (tmp_path / "data" / split / name).write_bytes(encode_png(np.zeros((4, 4, 3), np.uint8)))
    return tmp_path / "data"


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    """An entry of two files in a folder of their own."""
    (tmp_path / "entry" / "nets").mkdir(parents=True)
    networks = tuple(EntryNetwork(file=f"nets/{name}.onnx", size=8, outputs=(name,)) for name in ATTRIBUTES[:2])
    card = EntryCard(name="e", kind="semi-supervised", networks=networks)
    (tmp_path / "entry" / "entry.json").write_text(card.model_dump_json())
    for network in networks:
        (tmp_path / "entry" / network.file).write_bytes(b"\n\x01n")
    return tmp_path / "entry"


def answers(path: Path, every: int) -> Path:
    path.write_text(predictions_text(NAMES, words(1, every)))
    return path


def timing(milliseconds: float) -> Timing:
    seconds = milliseconds / 10
    return Timing(
        entry="e",
        entry_sha256="a",
        images_sha256="b",
        images=100,
        passes=(seconds,) * 3,
        cpu_passes=(seconds,) * 3,
        seconds=seconds,
        cpu_seconds=seconds,
        warm_up_images=32,
        images_per_second=100 / seconds,
        milliseconds_per_image=milliseconds,
        loading_seconds=0.1,
        opening_seconds=0.1,
        peak_memory_mb=90.0,
        threads=1,
        cores=2,
        machine="m",
        python="3.11",
    )


def test_a_submission_is_copied_whole_and_numbered(data: Path, entry: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    for number in (1, 2, 3):
        good = answers(tmp_path / "good.csv", 5 + number)
        given = BountySubmission("mine", "semi-supervised", good, good, entry)
        hand_in(board, data, given, replace=number > 1)
        about = json.loads((board / "mine" / "submission.json").read_text())
        assert about["number"] == number and about["code_sha256"] is None and about["kind"] == "semi-supervised"
    assert {path.name for path in (board / "mine" / "entry" / "nets").iterdir()} == {"skin_tone.onnx", "age.onnx"}
    assert [path.name for path in sorted((board / "mine" / "history").iterdir())] == ["0001", "0002"]
    with pytest.raises(InputError, match="an entry of this name is there"):
        hand_in(board, data, given)
    with pytest.raises(InputError, match="no submission recorded a hash of its code"):
        same_code(board, "mine", "0" * 64)
    assert (Handed(kind="supervised").number, Handed.read(board / "mine").number) == (1, 3)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a file; board= is a folder"):
        hand_in(tmp_path / "file", data, given)


@pytest.fixture
def ranked(data: Path, entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One has everything, two no entry, three no answers on the holdout, four no answers at all."""
    board, good, poor = tmp_path / "board", answers(tmp_path / "good.csv", 8), answers(tmp_path / "poor.csv", 3)
    hand_in(board, data, BountySubmission("one", "semi-supervised", good, good, entry))
    hand_in(board, data, BountySubmission("two", "unsupervised", poor, poor))
    hand_in(board, data, BountySubmission("three", "semi-supervised", poor, None, entry))
    hand_in(board, data, BountySubmission("four", "supervised", poor))
    (board / "four" / "test.csv").unlink()
    found = SimpleNamespace(calls=[], board=board, timings={})

    def run_entries(board: Path, entries: Any, images: Path, **how: Any) -> dict[str, EntryRun]:
        found.calls.append((sorted(entries), images.name, how.get("time", False), how.get("passes", 1)))
        table = read_predictions(good)
        classes = {name: codes.tolist() for name, codes in table.codes.items()}
        run = EntryRun(entry_sha256="a", images_sha256="b", names=table.names, classes=classes)
        return {"one": run} if "one" in entries else {}

    monkeypatch.setattr(counted_answers, "run_entries", run_entries)
    monkeypatch.setattr(boards, "counted_timings", lambda runs: (found.timings, ["stale"]))
    found.rank = lambda rules=FEW: rank(board, data, rules)
    return found


def test_every_entry_is_run_on_the_holdout_and_timed_where_that_is_asked_for(ranked: Any) -> None:
    plain = ranked.rank()
    assert ranked.calls == [(["one", "three"], "holdout", False, 5), (["one"], "test", False, 1)]
    assert plain.notes[0] == "stale" and set(plain.rejected) == {"four"}
    assert "no entry was timed by this leaderboard" in plain.notes[1]
    assert {one.name: one.efficiency for one in plain.standings} == {"one": 1.0, "two": 1.0, "three": 1.0}
    ranked.timings = {"one": timing(2.0)}
    timed = ranked.rank(Rules(draws=FEW.draws, time=True, passes=7))
    assert ranked.calls[2] == (["one", "three"], "holdout", True, 7)
    told = "\n".join(timed.notes)
    assert "1 timed entry: with fewer than 10" in told and "without a timing of ours, efficiency ×1: two" in told
    assert "no answers on the holdout, not in the private tables: three" in told
    assert {which: [row.standing.name for row in timed.places("private", which)] for which in boards.GROUPS} == {
        "all": ["one", "two"],
        "supervised": ["one"],
        "unsupervised": ["two"],
    }
    assert [row.standing.name for row in timed.places("public", "supervised")] == ["one", "three"]
    claims = replace(timed.standings[1], claimed=timing(3.0)).to_json()
    assert claims["timing"]["milliseconds_per_image"] == 3.0 and claims["timing_measured"] is False
    assert timed.standings[0].to_json()["timing"]["milliseconds_per_image"] == 2.0
    assert timed.strict_rubric is False and ranked.rank(Rules(draws=FEW.draws, strict_rubric=True)).strict_rubric


def test_the_factor_an_entry_earned_ranks_it_on_the_private_table_alone(
    ranked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked.timings = {"two": timing(2.0)}
    asked = []
    monkeypatch.setattr(
        boards, "efficiency", lambda times, strict_rubric: asked.append((times, strict_rubric)) or [100.0]
    )
    found = ranked.rank()
    assert asked == [([2.0], False)] and [row.standing.name for row in found.places("private")] == ["two", "one"]
    assert found.places("public")[0].standing.name == "one"
    first, second = found.places("private")
    assert (
        first.behind is None
        and second.behind is not None
        and first.score.value
        == pytest.approx(
            100 * found.places("public")[[row.standing.name for row in found.places("public")].index("two")].score.value
        )
    )
    assert found.standings[0].private is not None and found.standings[0].efficiency == 1.0


def test_pages_are_numbered_from_one_and_show_pictures_of_nobody(ranked: Any, data: Path, tmp_path: Path) -> None:
    found = ranked.rank()
    index = write_pages(found, data, tmp_path / "pages" / "l.html")
    pages = sorted((tmp_path / "pages" / "l-entries").iterdir())
    assert [page.name for page in pages] == ["01-one.html", "02-three.html", "03-two.html"]
    assert not any("data:image" in page.read_text() for page in pages), "no card says that nobody is real"
    card = DatasetCard(name="drawn", real_people=False)
    (data / "card.json").write_text(card.model_dump_json())
    write_pages(found, data, index)
    assert "data:image" in pages[0].read_text()
    text = pages[0].read_text()
    assert "Public test" in text and "Private holdout" in text and "Private holdout" not in pages[1].read_text()
    assert text.count("3 of 3\u202fpictures") + text.count("3 of 3 pictures") == 2 and text.count("<figure>") == 6


def test_a_training_is_written_with_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    from countenance.suites.bias_bounty import training
    from countenance.suites.bias_bounty.training import images

    asked, exported, bars = [], [], []
    network = EntryNetwork(file="a.onnx", size=9, outputs=("age",))
    card = EntryCard(name="e", kind="supervised", networks=(network,), training={"more": 1})

    def train(pictures: Any, how: Any, step: Any) -> Any:
        asked.append((how.epochs, how.seed, how.device, torch.initial_seed(), torch.get_num_threads()))
        step()
        return card, ["net"]

    monkeypatch.setattr(training, "import_module", lambda name: SimpleNamespace(train=train))
    monkeypatch.setattr(images, "read_train", lambda data: SimpleNamespace(names=("a", "b")))
    monkeypatch.setattr(training, "export_onnx", lambda net, path, form: exported.append((net, path.name, form)))

    class Progress:
        def __init__(self, *given: Any) -> None:
            bars.append(given)

        def __enter__(self) -> Any:
            return lambda n=1: bars.append(n)

        def __exit__(self, *_: Any) -> None:
            pass

    wall, used = iter([100.0, 101.0, 110.0, 113.5] * 2), iter([50.0, 52.0] * 2)
    monkeypatch.setattr(training, "time", SimpleNamespace(perf_counter=wall.__next__, process_time=used.__next__))
    how = training.EntryTraining(threads=1, seed=5)
    made = training.train_entry("baseline", tmp_path, tmp_path / "made", how, Progress)  # type: ignore[arg-type]
    assert asked == [(14, 5, "cpu", 5, 1)] and bars == [("training baseline", 14), 1]
    assert exported[0][:2] == ("net", "a.onnx") and (exported[0][2].size, exported[0][2].outputs) == (9, ("age",))
    written = json.loads((tmp_path / "made" / "entry.json").read_text())
    assert (
        written["training"] | {"epochs": 14, "seed": 5, "images": 2, "more": 1, "device": "CPU"} == written["training"]
    )
    took = json.loads((tmp_path / "made" / "training.json").read_text())
    assert took == made["took"] == {"seconds": 3.5, "cpu_seconds": 2.0, "loading_seconds": 1.0}
    training.train_entry("better", tmp_path, tmp_path / "more", training.EntryTraining(epochs=2))
    assert asked[1][:2] == (2, 0)
    for name, out, told in (("best", "x", "entry 'best' is not known"), ("better", "more", "exists already")):
        with pytest.raises(InputError, match=told):
            training.train_entry(name, tmp_path, tmp_path / out)
