"""Timings: measured in an own process, refused when they contradict themselves, never believed by the leaderboard."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from countenance.cli import app as root
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, predictions_text
from countenance.errors import InputError
from countenance.suites.bias_bounty import timing
from countenance.suites.bias_bounty.board import Rules, rank
from countenance.suites.bias_bounty.entry import BountyEntry, entry_hash, image_files, predict_files
from countenance.suites.bias_bounty.entry_runs import RUNS
from countenance.suites.bias_bounty.scoring import Draws
from countenance.suites.bias_bounty.submissions import BountySubmission, hand_in
from countenance.suites.bias_bounty.timing import Timing, measure, read_timing

QUICK = Rules(draws=Draws(replicates=200), time=True, passes=2)


@pytest.fixture(scope="module")
def honest(unsupervised: Path, challenge: Path) -> dict[str, Any]:
    return measure(unsupervised, challenge / "test", passes=3)[0].model_dump()


@pytest.fixture(scope="module")
def predictions(unsupervised: Path, challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the entry answers on test and holdout."""
    folder = tmp_path_factory.mktemp("answers")
    entry = BountyEntry(unsupervised, threads=1)
    for split in ("test", "holdout"):
        files = image_files(challenge / split)
        (folder / f"{split}.csv").write_text(predictions_text(list(files), predict_files(entry, files)))
    return folder


def written(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(json.dumps(content))
    return path


def submit(board: Path, name: str, entry: Path, predictions: Path, challenge: Path, **more: Any) -> None:
    files = [predictions / f"{split}.csv" for split in ("test", "holdout")]
    hand_in(board, challenge, BountySubmission(name, "unsupervised", *files, entry, **more))


def test_an_honest_timing_is_read_back(honest: dict[str, Any], unsupervised: Path, tmp_path: Path) -> None:
    found = read_timing(written(tmp_path / "t.json", honest), unsupervised)
    assert found.seconds == sorted(found.passes)[1]
    assert found.images_per_second == pytest.approx(36 / found.seconds)
    assert found.loading_seconds > 0 and found.peak_memory_mb > 10 and found.cores >= 1 and found.machine
    assert found.entry_sha256 == entry_hash(unsupervised)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seconds": 1e-6}, "seconds is 1e-06, its passes give"),
        ({"images_per_second": 9e9}, "images_per_second is 9e"),
        ({"milliseconds_per_image": 1e-9}, "milliseconds_per_image is 1e-09"),
        ({"cpu_seconds": 1e-9}, "cpu_seconds is 1e-09"),
        ({"passes": []}, "0 passes"),
        ({"passes": [0.0, 0.0, 0.0]}, "without a time above 0"),
        ({"machine": "a faster one, Linux"}, "machine is 'a faster one, Linux'"),
        ({"cores": 4096}, "cores is 4096"),
        ({"threads": 0}, "0 threads"),
        ({"entry_sha256": "0" * 64}, "of another entry"),
        ({"seconds": "soon"}, "seconds: Input should be a valid number"),
        ({"favourite": 1}, "favourite: Extra inputs"),
    ],
)
def test_a_timing_that_contradicts_its_passes_its_entry_or_the_machine_is_refused(
    honest: dict[str, Any], unsupervised: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read_timing(written(tmp_path / "t.json", honest | change), unsupervised)


def test_passes_shorter_than_their_cpu_time_are_refused(honest: dict[str, Any], tmp_path: Path) -> None:
    """All passes made a thousand times shorter, with everything that follows from them."""
    passes = [value / 1000 for value in honest["passes"]]
    seconds = sorted(passes)[1]
    forged = honest | {
        "passes": passes,
        "seconds": seconds,
        "images_per_second": 36 / seconds,
        "milliseconds_per_image": 1000 * seconds / 36,
        "cpu_passes": [1.0, 1.0, 1.0],
        "cpu_seconds": 1.0,
    }
    with pytest.raises(InputError, match="s of CPU with threads = 1"):
        read_timing(written(tmp_path / "t.json", forged))


def test_a_forged_timing_is_not_handed_in_and_not_believed_on_the_board(
    honest: dict[str, Any], unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    board = tmp_path / "board"
    forged = written(tmp_path / "forged.json", honest | {"seconds": 1e-6})
    with pytest.raises(InputError, match="the timing is refused"):
        submit(board, "mine", unsupervised, predictions, challenge, timing=forged)
    submit(board, "mine", unsupervised, predictions, challenge, timing=written(tmp_path / "t.json", honest))
    shutil.copy(forged, board / "mine" / "timing.json")  # behind our back
    found = rank(board, challenge, Rules(draws=Draws(replicates=200)))
    assert found.standings[0].efficiency == 1 and found.standings[0].claimed is None
    assert any("the timing is refused: seconds is 1e-06" in note for note in found.notes)


def test_a_claim_earns_nothing_even_where_it_agrees_with_itself(
    honest: dict[str, Any], unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    """A file that was made up as a whole cannot be told from a measured one: so no such file is used."""
    made_up = honest | {
        "passes": [1e-6] * 3,
        "cpu_passes": [1e-6] * 3,
        "seconds": 1e-6,
        "cpu_seconds": 1e-6,
        "images_per_second": 36e6,
        "milliseconds_per_image": 1e-3 / 36,
    }
    board = tmp_path / "board"
    for i in range(4):
        claim = {"timing": written(tmp_path / "t.json", made_up)} if i == 0 else {}
        submit(board, f"e{i}", unsupervised, predictions, challenge, **claim)
    found = rank(board, challenge, Rules(draws=Draws(replicates=200)))
    assert [s.efficiency for s in found.standings] == [1.0] * 4
    assert found.standings[0].claimed is not None
    assert any("no entry was timed by this leaderboard" in note for note in found.notes)
    timed = rank(board, challenge, QUICK)
    assert any("e0 claims 2.78e-05 ms an image" in note for note in timed.notes)


def test_the_leaderboard_times_every_entry_itself(
    unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    board = tmp_path / "board"
    submit(board, "one", unsupervised, predictions, challenge)
    submit(board, "two", unsupervised, predictions, challenge)
    files = [predictions / f"{split}.csv" for split in ("test", "holdout")]
    hand_in(board, challenge, BountySubmission("answers alone", "supervised", *files))
    stepped: list[int] = []
    found = rank(board, challenge, QUICK, lambda n=1: stepped.append(n))
    by_name = {s.name: s for s in found.standings}
    assert by_name["one"].timing is not None and by_name["two"].timing is not None
    assert by_name["one"].timing.images == 90 and len(by_name["one"].timing.passes) == 2
    assert by_name["answers alone"].timing is None
    assert any("without a timing of ours, efficiency ×1: answers alone" in note for note in found.notes)
    assert any("fewer than 10" in note for note in found.notes)
    assert by_name["one"].verified and not by_name["answers alone"].verified
    assert len(stepped) == 2

    kept = rank(board, challenge, Rules(draws=Draws(replicates=200)))  # without --time: what was measured still counts
    assert {s.name for s in kept.standings if s.timing} == {"one", "two"}
    card = board / "one" / "entry" / "entry.json"
    card.write_text(card.read_text().replace('"name": "unsupervised"', '"name": "other"'))
    stale = rank(board, challenge, Rules(draws=Draws(replicates=200)))
    assert {s.name for s in stale.standings if s.timing} == {"two"}
    (board / "one" / "entry" / "unsupervised.onnx").unlink()
    broken = rank(board, challenge, QUICK)
    assert {s.name for s in broken.standings if s.timing} == {"two"}
    assert "its entry cannot be run on the holdout" in broken.rejected["one"]


def test_an_entry_that_did_not_make_the_predictions_is_rejected(
    unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    """Fast networks handed in beside the answers of slow ones."""
    names = list(image_files(challenge / "holdout"))
    words = [{name: CLASSES[name][i % len(CLASSES[name])] for name in ATTRIBUTES} for i in range(len(names))]
    (tmp_path / "holdout.csv").write_text(predictions_text(names, words))
    shutil.copy(predictions / "test.csv", tmp_path / "test.csv")
    submit(tmp_path / "board", "mine", unsupervised, tmp_path, challenge)
    ranked = rank(tmp_path / "board", challenge, Rules(draws=Draws(replicates=200)))
    assert "of 90 images of the holdout otherwise than the predictions" in ranked.rejected["mine"]


def test_a_busy_machine_is_warned_of(honest: dict[str, Any]) -> None:
    calm = honest | {"passes": [1.0] * 3, "seconds": 1.0, "cpu_passes": [0.99] * 3, "cpu_seconds": 0.99}
    busy = calm | {"cpu_passes": [0.4] * 3, "cpu_seconds": 0.4}
    assert not any("busy" in line for line in Timing(**calm).lines("mine"))
    assert any("took 2.5 times its CPU time: the machine was busy" in line for line in Timing(**busy).lines("mine"))


def test_a_damaged_file_of_runs_is_refused(
    unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    submit(tmp_path / "board", "mine", unsupervised, predictions, challenge)
    (tmp_path / "board" / RUNS).write_text('{"mine": {"seconds": 1}}')
    with pytest.raises(InputError, match="not what `leaderboard` writes"):
        rank(tmp_path / "board", challenge, Rules(draws=Draws(replicates=200)))


def test_an_entry_is_handed_in_as_what_its_card_says(
    unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="says unsupervised; hand it in as what it is"):
        given = BountySubmission("mine", "supervised", predictions / "test.csv", entry=unsupervised)
        hand_in(tmp_path / "board", challenge, given)


def test_timing_of_another_machine_names_the_remedy(
    honest: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "t.json", honest)
    monkeypatch.setattr(timing, "machine_name", lambda: "another, Linux")
    with pytest.raises(InputError, match="times of two machines do not compare"):
        read_timing(path)


def test_leaderboard_time_from_the_command_line(
    unsupervised: Path, predictions: Path, challenge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(tmp_path / "board", "mine", unsupervised, predictions, challenge)
    board = str(tmp_path / "board")
    assert (
        root.run(["bias-bounty", "leaderboard", board, "--data", str(challenge), "--time", "--passes", "2", "-q"]) == 0
    )
    said = capsys.readouterr().out
    assert "prize    best unsupervised: mine" in said
    assert "labels: 8 labelled pictures of each class name the clusters" in said
