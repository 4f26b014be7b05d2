"""Models that raise, print, die or take too long: one line each, soon, and nothing else is lost."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.run.early_stop import Watch
from countenance.run.engine.local import _Shards, _Work
from countenance.run.engine.processes import Death
from countenance.run.limits import TooSlow, limited_time
from countenance.run.plan import Piece
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

TASK = "face_localization"


@pytest.fixture(scope="module")
def discs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_dataset(tmp_path_factory.mktemp("troublesome") / "set", n=24, size=16)


@pytest.fixture(autouse=True)
def found_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield
    sys.modules.pop("troublesome", None)


def ran(model: str, data: Path, out: Path, *more: str) -> int:
    words = ["run", TASK, "--model", f"troublesome:{model}", "--data", str(data), "--out", str(out), "--adjust", "holm"]
    return command([*words, "-q", "--batch", "4", *more])


def test_a_model_that_dies_on_its_second_call_is_found_out(tmp_path: Path, discs: Path, capfd) -> None:
    assert ran("dies_on_its_second_call", discs, tmp_path / "run") == 2
    said = capfd.readouterr().err
    assert "the model does not survive its calls; its process ended 2 times on an image that it answers" in said
    assert "killed by signal 6" in said and "Traceback" not in said and len(said.splitlines()) < 5


@pytest.mark.slow
def test_a_model_that_hangs_on_its_second_call_is_found_out(tmp_path: Path, discs: Path, capfd) -> None:
    assert ran("hangs_on_its_second_call", discs, tmp_path / "run", "--time-limit", "2") == 2
    assert "the model does not survive its calls" in capfd.readouterr().err


@pytest.mark.parametrize("model", ["raises_generator_exit", "raises_keyboard_interrupt", "Interrupted"])
def test_what_is_no_error_of_python_costs_one_line(tmp_path: Path, discs: Path, capfd, model: str) -> None:
    assert ran(model, discs, tmp_path / "run") == 2
    said = capfd.readouterr().err
    assert len(said.splitlines()) <= 2 and "Traceback" not in said
    assert ("GeneratorExit" if "generator" in model else "KeyboardInterrupt") in said


def test_what_a_model_prints_is_prefixed_cut_off_and_without_secrets(
    tmp_path: Path, discs: Path, capfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # with it every Python writes at once
    assert ran("prints", discs, tmp_path / "run") == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("model| ")]
    assert len(lines) == 41 and lines[-1].startswith("model| … (what else is printed is left out)")
    assert lines[0] == "model| loading s3://…@bucket/x\\x1b[31m"
    assert all(len(line) <= 520 for line in lines)


def test_what_a_model_printed_before_it_died_is_shown(
    tmp_path: Path, discs: Path, capfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    assert ran("prints_and_dies", discs, tmp_path / "run") == 2
    assert "model| the last words" in capfd.readouterr().err.splitlines()


def test_ctrl_c_in_the_users_program_still_stops_it(tmp_path: Path) -> None:
    def stopped(images: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(stopped, TASK, small_dataset(8, 16), out=tmp_path / "run")

    def left(images: Any) -> Any:
        raise SystemExit(3)

    with pytest.raises(InputError, match="SystemExit: 3"):
        evaluate(left, TASK, small_dataset(8, 16), out=tmp_path / "other")


def test_scoring_in_the_users_program_has_a_time_limit(tmp_path: Path) -> None:
    task = load_task(TASK)
    data = small_dataset(12, 16)
    slow = next(iter(data)).id

    def score(sample: Any, answer: Any) -> Any:
        while sample.id == slow:
            pass
        return task.score(sample, answer)

    run = evaluate(
        DiscDetector(), replace(task, score=score), data, out=tmp_path / "run", time_limit=0.2, max_failures=1
    )
    assert [row["reason"] for row in run.failures().to_pylist()] == ["scoring took longer than 0.2 s"]
    assert run.scores().num_rows > 10 and run.complete


def test_a_limit_leaves_the_timer_of_the_program_alone() -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        with limited_time(0.001):
            sum(range(10**5))
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    with pytest.raises(TooSlow), limited_time(0.01):
        while True:
            pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def shards(max_failures: float = 0.05) -> tuple[_Shards, _Work]:
    from collections import deque

    work = _Work(Piece(0, 0, 0, 8), careful=True)
    return _Shards(deque([work]), Watch(max_failures), lambda n: None), work


def asked(supervisor: _Shards, name: str, answered: int) -> Any:
    order = supervisor.next()
    if "alone" not in order:
        supervisor.heard(order, {"shard": 0, "answered": answered, "failures": []})
    supervisor.heard(order, {"shard": 0, "asking": [name]})
    return order


def test_an_image_is_tried_alone_before_it_is_blamed_for_a_death_after_others() -> None:
    supervisor, work = shards()
    supervisor.died(asked(supervisor, "b", 1), Death("killed", 6))
    order = asked(supervisor, "b", 0)
    assert order["alone"] == "b" and not work.known_failures
    supervisor.died(order, Death("killed", 6))
    assert work.known_failures == {"b": "killed"} and work.suspect is None
    supervisor.died(asked(supervisor, "a", 0), Death("killed", 6))
    assert set(work.known_failures) == {"a", "b"}, "the first call of a process needs no second look"
    goes_on, blamed = shards(max_failures=1)
    goes_on.died(asked(goes_on, "b", 1), Death("killed", 6))
    assert blamed.known_failures == {"b": "killed"}, "whoever allows every failure is not stopped"
