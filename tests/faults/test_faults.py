"""Faults of the machine and the cluster that no other test covers; the whole table is docs/faults.md."""

import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from countenance.data import Dataset, load_dataset
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.run import evaluate
from countenance.run.early_stop import Watch
from countenance.run.engine import ray as engine
from countenance.run.engine.local import _Probes
from countenance.run.engine.processes import Death
from countenance.run.plan import Piece
from countenance.testing import DiscDetector, face_picture, small_dataset, write_small_dataset

HERE = Path(__file__).parent
KILLER = """
import os, signal
from pathlib import Path
from countenance.testing import DiscDetector

def model(images):
    mark = Path(os.environ["MARK"])
    if not mark.exists():
        mark.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return DiscDetector()(images)
"""


def test_a_worker_killed_for_memory_is_tried_again_before_an_image_is_blamed(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "killer.py").write_text(KILLER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    data = write_small_dataset(tmp_path / "set", n=20, size=16)
    found = evaluate("killer:model", "face_localization", data, out=tmp_path / "run", batch=4)
    sys.modules.pop("killer", None)
    assert (tmp_path / "mark").exists() and found.manifest.failed == 0 and len(found.answers()) == 20


def test_a_picture_that_changes_during_the_run_is_a_failed_image(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    last = sorted((folder / "images").iterdir())[-1]
    plain = load_dataset(folder)
    data = Dataset(plain.card, [replace(sample, sha256=sample.content_hash()) for sample in plain])

    class Changing(DiscDetector):
        def __call__(self, images: Any) -> Any:
            last.write_bytes(encode_png(face_picture(999, 16)[0]))
            return super().__call__(images)

    found = evaluate(Changing(), "face_localization", data, out=tmp_path / "run", batch=4)
    (row,) = found.failures().to_pylist()
    assert row["sample"].startswith("s00039") and "has changed since the dataset was made" in row["reason"]


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter(range(10_000))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400 * (-1) ** next(jumps) * 365)
    found = evaluate(DiscDetector(), "face_localization", small_dataset(40, 16), out=tmp_path / "run", batch=4)
    assert found.complete and found.manifest.failed == 0


def test_a_probe_lost_with_its_worker_does_not_make_the_model_another_one(monkeypatch) -> None:
    """Otherwise a node killed at that moment would set a whole run aside."""
    order = {"probe": ["s1"]}
    for death, again in ((Death("killed", 9), True), (Death("ended", 11), False), (Death("late", 9, True), False)):
        probes = _Probes([order])
        given = probes.next()
        probes.died(given, death)
        assert (probes.difference is None, probes.next()) == ((True, order) if again else (False, None))
    probes = _Probes([order])
    for _ in range(2):
        probes.died(probes.next(), Death("killed", 9))
    assert probes.difference is not None and probes.difference.repeatable
    for lost, differs in ((engine.PROBE_TRIES - 1, False), (engine.PROBE_TRIES, True)):
        replies = iter([None] * lost + [{"difference": None}])
        cluster = object.__new__(engine.RayEngine)
        monkeypatch.setattr(engine.RayEngine, "_once", lambda self, order, replies=replies: next(replies))
        assert (cluster.probe([Piece(0, 0, 0, 8)], {0: ["s1"]}) is not None) == differs


class FakeRay:
    """Ray as far as giving out shards needs it."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self) -> None:
        self.killed: list[object] = []

    def kill(self, handle: object) -> None:
        self.killed.append(handle)


def given_out(pieces: int) -> engine._RayShards:
    made: list[Any] = []

    def start() -> engine._Actor:
        made.append(object())
        return engine._Actor(made[-1], object())

    parts = SimpleNamespace(workers=1, start=start, watch=Watch(0.05), threads=1, gpus_per_worker=0.0)
    work = deque(engine._RayWork(Piece(k, 0, 0, 8)) for k in range(pieces))
    return engine._RayShards(parts, FakeRay(), work, lambda n: None)  # type: ignore[arg-type]


def test_trouble_of_a_node_sends_its_shards_elsewhere() -> None:
    shards = given_out(1)
    for turn in range(engine.MOST_TROUBLE + 1):
        actor = shards.engine.start()
        shards.actors = [actor]
        receipt = {"trouble": "answers/00000.parquet: No space left on device"}
        if turn < engine.MOST_TROUBLE:
            shards._done(actor, shards.waiting.popleft(), receipt)
            assert [work.piece.number for work in shards.waiting] == [0] and shards.left == 1
            assert actor not in shards.actors and len(shards.actors) == 1
        else:
            with pytest.raises(
                InputError, match="6 workers in a row failed for reasons of their nodes; the last: answers"
            ):
                shards._done(actor, shards.waiting.popleft(), receipt)


def test_a_node_that_does_not_see_the_run_is_told() -> None:
    shards = given_out(1)
    pytest.importorskip("ray", reason="the extra ray is not installed")
    from countenance.run.engine.actor import software

    told = {"host": "n7", "node": "x", "software": software(), "refused": "node n7 does not see the run /data/run"}
    with pytest.raises(InputError, match="node n7 does not see the run /data/run"):
        shards._greeted(shards.engine.start(), told)


def test_a_run_without_any_node_ends_but_not_because_its_only_worker_is_being_replaced(monkeypatch) -> None:
    shards = given_out(1)
    clock = [1000.0]
    monkeypatch.setattr(engine.time, "monotonic", lambda: clock[0])
    shards.ray.wait = lambda refs, num_returns, timeout: ([], refs)
    shards.ray.cluster_resources = dict
    shards.actors, shards.ready = [shards.engine.start()], clock[0]
    shards._give = lambda: None  # type: ignore[method-assign]
    shards.actors[0].ready = True
    clock[0] += 10 * engine.STARTING
    shards._step()  # a long run
    shards.actors[0].ready = False
    clock[0] += 5
    shards._step()  # its worker is being replaced
    clock[0] += engine.STARTING
    with pytest.raises(InputError, match="no node of the cluster could start a worker in 600 s"):
        shards._step()
