"""A run whose model fails on everything stops after a handful of images; one that only starts badly does not."""

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.cli.app import run as run_command
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.run.early_stop import FIRST, LOST, Watch, hopeless
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

TASK = "face_localization"
CALLS: list[int] = []


def failing(images):
    CALLS.append(len(images))
    raise RuntimeError("no such\nlayer")


def failure(number: int, kind: str = "model", reason: str = "broken") -> dict[str, str]:
    return {"sample": f"s{number}", "kind": kind, "reason": reason}


@given(st.integers(0, 5), st.integers(0, 30), st.integers(0, 5))
def test_the_rule(answered, failed, lost):
    assert hopeless(answered, failed, lost) == (answered == 0 and (failed >= FIRST or lost >= LOST))


@given(st.lists(st.sampled_from(["ok", "image", "model", "answer"]), max_size=60), st.integers(1, 9))
def test_the_watch_stops_exactly_when_the_first_readable_images_all_failed(outcomes, batch):
    """The slow reference: look at everything seen so far, again after every batch."""
    watch, stopped = Watch(0.05), None
    for start in range(0, len(outcomes), batch):
        part = outcomes[start : start + batch]
        rows = [failure(start + i, kind) for i, kind in enumerate(part) if kind != "ok"]
        try:
            watch.saw(part.count("ok"), rows)
        except InputError:
            stopped = start + len(part)
            break
    expected = None
    for end in range(batch, len(outcomes) + batch, batch):
        seen = outcomes[:end]
        if "ok" not in seen and len([kind for kind in seen if kind != "image"]) >= FIRST:
            expected = min(end, len(outcomes))
            break
    assert stopped == expected


def test_whoever_allows_every_image_to_fail_goes_on():
    watch = Watch(1.0)
    watch.saw(0, [failure(i) for i in range(50)])
    watch.finished([failure(i) for i in range(50)], 50)
    with pytest.raises(InputError, match="images all failed"):  # the same failures stop whoever allows fewer
        Watch(0.99).saw(0, [failure(i) for i in range(50)])


def test_a_failure_that_is_told_twice_counts_once():
    watch = Watch(0.05)
    for _ in range(3):
        watch.saw(0, [failure(i) for i in range(FIRST - 1)])
    with pytest.raises(InputError, match=f"the first {FIRST} images all failed; the first, s0: broken"):
        watch.saw(0, [failure(FIRST)])


def test_a_model_that_always_fails_here_stops_after_two_batches_in_one_line(tmp_path):
    CALLS.clear()
    with pytest.raises(
        InputError, match=r"the first 16 images all failed; the first, s00000: RuntimeError: no such lay"
    ):
        evaluate(failing, TASK, small_dataset(200), out=tmp_path / "run")
    assert sum(CALLS) <= 2 * (8 + 8)  # each batch at once, then image by image


@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_in_worker_processes(tmp_path, discs, workers):
    with pytest.raises(InputError, match=r"images all failed; .*a score of 1.5.*max_failures=1 continues") as caught:
        evaluate("fakes:large_scores", TASK, discs, out=tmp_path / "run", workers=workers, batch=4)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run" / "scores.parquet").exists()


def test_a_model_that_kills_its_worker_every_time_stops_after_three(tmp_path, discs, monkeypatch):
    (tmp_path / "deadly.py").write_text("import os\ndef model(images):\n    os._exit(7)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"the first 3 images all failed; .*ended with code 7"):
        evaluate("deadly:model", TASK, discs, out=tmp_path / "run")


def test_unreadable_images_at_the_start_do_not_stop_a_good_model(tmp_path):
    folder = write_small_dataset(tmp_path / "set", n=60)
    for i in range(40):
        (folder / "images" / f"s{i:05d}.png").write_bytes(b"")
    run = evaluate(DiscDetector(), TASK, folder, out=tmp_path / "run", batch=4)
    assert run.manifest["failed"] == 40 and len(run.answers()) == 20


def test_every_image_unreadable_is_said_at_the_end(tmp_path):
    folder = write_small_dataset(tmp_path / "set", n=12)
    for path in (folder / "images").iterdir():
        path.write_bytes(b"")
    with pytest.raises(InputError, match=r"all 12 images failed; the first, s00000: .*the file is empty"):
        evaluate(DiscDetector(), TASK, folder, out=tmp_path / "run")


def test_fewer_images_than_the_handful_still_fail_when_all_do(tmp_path):
    with pytest.raises(InputError, match=r"all 4 images failed; the first, s00000: RuntimeError"):
        evaluate(failing, TASK, small_dataset(4), out=tmp_path / "run")


def test_the_same_command_tries_again_once_the_cause_is_removed(tmp_path):
    works = False

    class Model(DiscDetector):
        def __call__(self, images):
            if not works:
                raise RuntimeError("weights are missing")
            return super().__call__(images)

    for n in (4, 40):
        works = False
        with pytest.raises(InputError, match="weights are missing"):
            evaluate(Model(), TASK, small_dataset(n), out=tmp_path / f"run{n}")
        works = True
        assert evaluate(Model(), TASK, small_dataset(n), out=tmp_path / f"run{n}").manifest["failed"] == 0


def test_one_answer_among_the_first_is_enough_to_go_on(tmp_path):
    calls = 0

    def mostly(images):
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("tired")
        return DiscDetector()(images)

    run = evaluate(mostly, TASK, small_dataset(40), out=tmp_path / "run", batch=1)
    assert run.manifest["failed"] == 39


def test_a_resumed_run_with_answers_is_not_stopped(tmp_path):
    dataset, interrupted = small_dataset(130), True

    class Model(DiscDetector):
        """Answers what it has answered before: its stored predictions are made again and compared."""

        seen: ClassVar[set[bytes]] = set()

        def __call__(self, images):
            new = {image.tobytes() for image in images} - Model.seen
            if interrupted and len(Model.seen) > 100:
                raise KeyboardInterrupt
            if new and not interrupted:
                raise RuntimeError("fails from here on")
            Model.seen |= new
            return super().__call__(images)

    with pytest.raises(KeyboardInterrupt):
        evaluate(Model(), TASK, dataset, out=tmp_path / "run")
    interrupted = False
    run = evaluate(Model(), TASK, dataset, out=tmp_path / "run")
    assert run.manifest.failed == 130 - len(Model.seen)


def test_the_command_ends_with_2_and_goes_on_when_told(tmp_path, discs, capsys):
    command = ["run", TASK, "--model", "fakes:turned_boxes", "--data", discs, "--limit", 24, "--quiet"]
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "a"]]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: stopped: the first 16 images all failed") and shown.err.count("\n") == 1
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "b", "--max-failures", 1]]) == 0
    assert "24 without a prediction" in capsys.readouterr().out


def test_pictures_given_by_a_program_stop_as_well(tmp_path):
    with pytest.raises(InputError, match="expected boxes"):
        evaluate(lambda images: [None] * len(images), TASK, small_dataset(40), out=tmp_path / "run")
