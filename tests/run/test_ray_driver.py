"""What the driver of a cluster decides, without a cluster: who gets which shard, what a death or a silence means."""

import copy
import importlib
import socket
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from countenance.errors import InputError, MissingExtra
from countenance.models import ModelSpec
from countenance.run.early_stop import Watch
from countenance.run.engine import cluster, ray
from countenance.run.engine.base import Job, Rate
from countenance.run.engine.search import Bisection
from countenance.run.marker import Committed
from countenance.run.plan import Piece
from countenance.run.staleness import Difference


class RayError(Exception):
    """Ray's own."""


class Ref:
    """A result that may come."""


class Method:
    """A method of a remote actor; its calls are kept."""

    def __init__(self, ray: "FakeRay") -> None:
        self.ray, self.calls = ray, []

    def remote(self, *given: Any) -> Ref:
        self.calls.append(given)
        return self.ray.called(given)


class Handle:
    def __init__(self, ray: "FakeRay") -> None:
        self.work, self.state, self.hello = Method(ray), Method(ray), Method(ray)


class FakeRay:
    """As much of Ray as the driver uses; `results` has what came, `now` is the clock."""

    exceptions = types.SimpleNamespace(RayError=RayError)

    def __init__(self) -> None:
        self.results: dict[Ref, Any] = {}
        self.killed: list[Any] = []
        self.waited: list[tuple[int, float]] = []
        self.got: list[Any] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.here = {"NodeManagerAddress": "127.0.0.1", "NodeManagerPort": self.server.getsockname()[1]}
        self.alive = [{"NodeID": "n", "Alive": True} | self.here]
        self.now = 1000.0
        self.answer: Any = None
        self.slept: list[float] = []

    def called(self, given: tuple[Any, ...]) -> Ref:
        ref = Ref()
        if self.answer is not None:
            self.results[ref] = self.answer(*given)
        return ref

    def wait(self, refs: list[Ref], num_returns: int, timeout: float) -> tuple[list[Ref], list[Ref]]:
        done = [ref for ref in refs if ref in self.results][:num_returns]
        self.waited.append((num_returns, timeout))
        self.now += 0.0 if done else timeout
        return done, [ref for ref in refs if ref not in done]

    def get(self, ref: Ref, timeout: float | None = None) -> Any:
        self.got.append(timeout)
        if ref not in self.results:
            raise RayError("not there")
        found = self.results[ref]
        if isinstance(found, Exception):
            raise found
        return found

    def kill(self, handle: Any) -> None:
        self.killed.append(handle)

    def nodes(self) -> list[dict[str, Any]]:
        return self.alive

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    made = FakeRay()

    def sleep(seconds: float) -> None:
        made.slept.append(seconds)

    clock = types.SimpleNamespace(monotonic=lambda: made.now, sleep=sleep)
    monkeypatch.setattr(ray, "time", clock)
    module = types.ModuleType("countenance.run.engine.actor")
    module.software = lambda: {"countenance": "1", "numpy": "2"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with made.server:
        yield made


def job(**given: Any) -> Job:
    return Job("face_localization", None, ModelSpec("m"), "manifest", "store", {}, 4, **given)


class Notes:
    """A watch that stops nothing and keeps what it is told."""

    def __init__(self) -> None:
        self.answered, self.lost = 0, 0
        self.failed: dict[str, str] = {}
        self.differed: set[int] = set()

    def saw(self, answered: int, failures: Any = (), *, lost: bool = False) -> None:
        self.answered += answered
        self.failed |= {row["sample"]: row["reason"] for row in failures if row["kind"] == "model"}
        self.lost += lost


class Engine:
    """The engine's part that starts actors."""

    def __init__(self, fake: FakeRay, workers: int = 2) -> None:
        self.fake, self.workers, self.threads, self.gpus_per_worker = fake, workers, 3, 0.5
        self.watch, self.job, self.started = Notes(), job(), []

    def start(self) -> ray._Actor:
        actor = ray._Actor(Handle(self.fake), Ref())
        self.started.append(actor)
        return actor


def driver(fake: FakeRay, pieces: int = 5, workers: int = 2) -> tuple[ray._RayShards, Engine, list[int]]:
    seen: list[int] = []
    engine = Engine(fake, workers)
    works = deque(ray._RayWork(Piece(k, 0, 10 * k, 10 * k + 10)) for k in range(pieces))
    return ray._RayShards(engine, fake, works, seen.append), engine, seen


def ready(shards: ray._RayShards, engine: Engine, count: int) -> list[ray._Actor]:
    for _ in range(count):
        actor = engine.start()
        actor.ready, actor.node = True, "n"
        shards.actors.append(actor)
    return shards.actors


def orders(actor: ray._Actor) -> list[int]:
    return [given[0]["piece"]["number"] for given in actor.handle.work.calls]


def state(order: int, answered: int = 0, failed: int = 0, **more: Any) -> dict[str, Any]:
    told = {"order": order, "answered": answered, "failed": failed, "failures": [], "limit": 10.0, "seconds": 0.0}
    return told | more


def test_the_limits_of_the_cluster() -> None:
    assert (ray.IN_FLIGHT, ray.BEAT, ray.SILENT, ray.STARTING) == (2, 1.0, 60.0, 600.0)
    assert (ray.DEATHS, ray.SEARCHED, ray.MOST_TROUBLE, ray.PROBE_TRIES) == (2, 24, 5, 3)
    assert cluster.REACHED == 5.0


def test_everybody_gets_a_first_shard_before_anybody_gets_a_second(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    one, two = ready(shards, engine, 2)
    shards.actors.append(engine.start())  # not ready
    shards._give()
    assert orders(one) == [0, 2] and orders(two) == [1, 3] and orders(shards.actors[2]) == []
    assert [given[0]["order"] for given in one.handle.work.calls] == [1, 3] and len(shards.waiting) == 1
    assert one.handle.work.calls[0][0] == {
        "order": 1,
        "careful": False,
        "known_failures": {},
        "piece": {"number": 0, "partition": 0, "start": 0, "stop": 10, "chosen": None},
    }
    assert one.heard == 1000.0
    fake.now = 2000.0
    one.flying.popitem()
    shards._give()
    assert orders(one) == [0, 2, 4] and one.heard == 1000.0  # it had another one under way


def test_progress_is_told_once_for_each_image(fake: FakeRay) -> None:
    shards, engine, seen = driver(fake)
    work = shards.waiting[0]
    shards.deaths = 3
    failures = [{"sample": "a", "kind": "model", "reason": "r"}, {"sample": "b", "kind": "image", "reason": "r"}]
    shards._report(work, state(1, 5, 2, failures=failures))
    assert seen == [5] and engine.watch.answered == 3 and engine.watch.failed == {"a": "r"} and shards.deaths == 0
    shards._report(work, state(1, 5, 2))
    shards._report(work, state(1, 3, 1))  # done again from the start
    assert seen == [5] and work.reported == 5
    shards._report(work, state(1, 7, 2))
    assert seen == [5, 2] and engine.watch.answered == 5 and work.good == 5
    shards._report(work, state(1, 8, 8))
    assert seen == [5, 2, 1] and engine.watch.answered == 5 and work.good == 5
    work.search = Bisection(4)
    shards._report(work, state(1, 20, 0))
    assert seen == [5, 2, 1]


def test_a_shard_that_is_done_is_counted(fake: FakeRay) -> None:
    shards, engine, seen = driver(fake)
    (actor,) = ready(shards, engine, 1)
    shards._give()
    shards._done(actor, actor.flying.popitem()[1][1], state(2, 10) | {"commit": Committed.FIRST})
    shards._done(actor, actor.flying.popitem()[1][1], state(1, 10) | {"commit": Committed.DIFFERENT})
    assert shards.left == 3 and seen == [10, 10] and engine.watch.differed == {0}
    with pytest.raises(InputError, match=r"stopped at the first failure \(strict\): a: r"):
        shards._done(actor, shards.waiting[0], {"stop": "a: r"})
    with pytest.raises(InputError, match="not yours"):
        shards._done(actor, shards.waiting[0], {"refused": "not yours"})
    with pytest.raises(RuntimeError, match="a bug"):
        shards._done(actor, shards.waiting[0], {"broken": "a bug"})


def test_the_trouble_of_a_node_gives_its_shards_back_and_is_bounded(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    for k in range(5):
        (actor,) = ready(shards, engine, 1) if not k else shards.actors
        actor.ready, actor.node = True, "n"
        shards._give()
        first = next(iter(actor.flying))
        shards._done(actor, actor.flying.pop(first)[1], {"trouble": "disk full"})
        assert shards.trouble == k + 1 and len(shards.waiting) == 5 and fake.killed[-1] is actor.handle
        assert len(shards.actors) == 1 and shards.actors[0] is not actor and actor.flying == {}
    assert {work.piece.number for work in shards.waiting} == set(range(5))
    with pytest.raises(InputError, match="6 workers in a row failed for reasons of their nodes; the last: disk full"):
        shards._retire(shards.actors[0], "disk full")


def test_nodes_that_are_lost_while_workers_start_do_not_end_a_run_that_goes_on(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    shards.actors += [engine.start() for _ in range(3)]
    for _ in range(15):
        shards._retire(shards.actors[0], "node lost")
    shards._report(shards.waiting[0], {"answered": 1, "failed": 0, "failures": []})
    assert shards.trouble == 0
    for _ in range(15):
        shards._retire(shards.actors[0], "node lost")
    with pytest.raises(InputError, match="16 workers in a row failed"):
        shards._retire(shards.actors[0], "node lost")


def test_a_hello_makes_an_actor_ready_and_other_software_is_refused(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    actor = engine.start()
    shards.actors.append(actor)
    told = {"host": "h", "node": "n7", "software": {"countenance": "1", "numpy": "2"}}
    fake.now = 1234.0
    shards._greeted(actor, told)
    assert actor.ready and actor.node == "n7" and actor.heard == 1234.0
    with pytest.raises(InputError, match="node h has numpy None, this machine has 2"):
        shards._greeted(actor, told | {"software": {"countenance": "1"}})
    with pytest.raises(InputError, match="does not see"):
        shards._greeted(actor, told | {"refused": "does not see"})
    shards._greeted(actor, told | {"trouble": "no memory"})
    assert shards.trouble == 1 and actor not in shards.actors and len(shards.actors) == 1


def test_silence_is_a_loss_after_a_minute_and_states_are_asked_for_each_second(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    (actor,) = ready(shards, engine, 1)
    shards._check(actor, 5000.0)  # nothing under way
    assert actor.handle.state.calls == []
    shards._give()
    actor.polled_at, actor.heard = 1000.0, 1000.0
    shards._check(actor, 1000.5)
    assert actor.state is None
    shards._check(actor, 1001.0)
    assert actor.state is not None and actor.polled_at == 1001.0
    shards._check(actor, 1003.0)
    assert len(actor.handle.state.calls) == 1  # one question at a time
    shards._check(actor, 1060.0)
    assert shards.actors == [actor]
    actor.ready = False
    shards._check(actor, 1061.0)
    assert shards.actors == [actor]
    actor.ready = True
    shards._check(actor, 1060.5)
    assert actor not in shards.actors and shards.deaths == 1
    assert shards.waiting[0].piece.number == 0 and shards.waiting[0].careful  # it hung: image by image from now on
    assert [work.piece.number for work in shards.waiting] == [0, 1, 2, 3, 4]


def test_a_shard_of_a_node_that_is_gone_is_not_to_blame(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    (actor,) = ready(shards, engine, 1)
    shards._give()
    fake.alive = [{"NodeID": "n", "Alive": False} | fake.here, {"NodeID": "m", "Alive": True} | fake.here]
    shards._died(actor, RayError("gone"))
    assert shards.deaths == 0 and shards.waiting[0].deaths == 0 and fake.slept == []
    fake.alive = [{"NodeID": "n", "Alive": True} | fake.here]
    assert shards._alive("n") and fake.slept == [0.5] * 4
    assert not shards._alive("m")
    fake.server.close()
    assert not shards._alive("n")  # Ray has not noticed yet


def test_an_actor_that_dies_before_its_hello_is_trouble(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    actor = engine.start()
    shards.actors.append(actor)
    fake.results[actor.hello] = RayError("no  such\nimage " + "x" * 400)
    shards.trouble = 5
    with pytest.raises(InputError, match=r"the last: no such image x+$") as told:
        shards._arrived(actor, actor.hello)
    assert len(str(told.value).partition("the last: ")[2]) == 300


def test_receipts_that_came_before_the_end_count(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake, pieces=2)
    (actor,) = ready(shards, engine, 1)
    shards._give()
    first, second = list(actor.flying)
    fake.results[first] = state(1, 10) | {"commit": Committed.FIRST}
    shards._lost(actor, ray.DIED)
    assert shards.left == 1 and [work.piece.number for work in shards.waiting] == [1]
    assert shards.waiting[0].deaths == 1 and fake.got == [0, 0] and second not in fake.results


def test_the_shard_that_was_under_way_is_blamed_not_the_first(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake, pieces=3)
    (actor,) = ready(shards, engine, 1)
    shards._give()
    actor.last = state(2)
    shards._lost(actor, ray.DIED)
    assert [(work.piece.number, work.deaths) for work in shards.waiting] == [(1, 1), (0, 0), (2, 0)]


def test_a_shard_is_searched_after_two_deaths_and_careful_after_one_hang(fake: FakeRay) -> None:
    shards, _, _ = driver(fake)
    died, hung = shards.waiting[0], shards.waiting[1]
    shards._blame(died, ray.DIED)
    assert not died.careful and died.search is None and died.deaths == 1
    shards._blame(died, ray.DIED)
    assert died.careful and died.search == Bisection(10) and died.order(7)["only"] == [0, 5]
    shards._blame(died, ray.DIED)
    assert died.search is not None and died.search.high == 5 and died.order(8)["only"] == [0, 2]
    shards._blame(hung, "no answer within 3 s")
    assert hung.careful and hung.search is None and "only" not in hung.order(9)
    shards.deaths = 33
    shards._blame(hung, "no answer within 3 s")
    with pytest.raises(InputError, match="35 workers in a row ended without a prediction; the last: x"):
        shards._blame(hung, "x")


def test_a_search_ends_with_the_image_or_without(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, engine, _ = driver(fake)
    (actor,) = ready(shards, engine, 1)
    monkeypatch.setattr(ray._RayShards, "_name", lambda self, work, row: f"image {row}")
    work = shards.waiting.popleft()
    work.search, work.deaths, work.careful = Bisection(10), 2, True
    tries = 0
    while work.search is not None:
        low, high = work.order(1)["only"]
        if low <= 6 < high:
            shards._blame(work, ray.DIED)
        else:
            shards._done(actor, work, {})
            assert shards.waiting.popleft() is work
        tries += 1
    assert work.known_failures == {"image 6": ray.DIED} and work.deaths == 0 and tries <= 5
    assert engine.watch.failed == {"image 6": ray.DIED} and engine.watch.lost == 1 and shards.left == 5
    work.search = Bisection(1)
    shards._done(actor, work, {})
    assert work.search is None and len(work.known_failures) == 1


def test_an_overdue_image_that_is_known_is_recorded(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake, pieces=1)
    (actor,) = ready(shards, engine, 1)
    shards._give()
    (work,) = [work for _, work in actor.flying.values()]
    shards._heard(actor, state(1, seconds=10.0))
    assert shards.actors == [actor]  # exactly at the limit
    shards._heard(actor, state(9, seconds=99.0))
    assert shards.actors == [actor]  # another order's
    shards._heard(actor, state(1, limit=None, seconds=300.0))
    assert shards.actors == [actor]
    shards._heard(actor, state(1, limit=None, seconds=300.5, asking=["a", "b"]))
    assert actor not in shards.actors and work.careful and work.known_failures == {} and shards.deaths == 1
    (again,) = shards.actors
    again.ready = True
    shards._give()
    shards._heard(again, state(2, seconds=10.5, asking=["bad"]))
    assert work.known_failures == {"bad": "no answer within 10 s"} and shards.deaths == 1  # nobody else is to blame
    assert engine.watch.failed == {"bad": "no answer within 10 s"} and engine.watch.lost == 1
    assert engine.watch.answered == 0
    shards.actors[0].ready = True
    shards._give()
    shards._heard(shards.actors[0], state(3, seconds=10.5, asking=["x", "y"]))
    assert list(work.known_failures) == ["bad"] and shards.deaths == 2


def test_a_whole_run_without_trouble(fake: FakeRay) -> None:
    shards, engine, seen = driver(fake, pieces=5)
    fake.answer = lambda *given: state(given[0]["order"], 10) | {"commit": Committed.FIRST} if given else {}
    started = engine.start

    def start() -> ray._Actor:
        actor = started()
        fake.results[actor.hello] = {"host": "h", "node": "n", "software": {"countenance": "1", "numpy": "2"}}
        return actor

    engine.start = start  # type: ignore[method-assign]
    shards.run()
    assert shards.left == 0 and seen == [10] * 5 and len(engine.started) == 2
    assert sorted(number for actor in engine.started for number in orders(actor)) == [0, 1, 2, 3, 4]
    assert fake.killed == [actor.handle for actor in engine.started] and set(fake.waited) == {(1, 1.0)}
    few, engine, _ = driver(fake, pieces=1, workers=4)
    engine.start = lambda: start_of(engine, fake)  # type: ignore[method-assign]
    few.run()
    assert len(engine.started) == 1  # no more workers than shards


def start_of(engine: Engine, fake: FakeRay) -> ray._Actor:
    actor = Engine.start(engine)
    fake.results[actor.hello] = {"host": "h", "node": "n", "software": {"countenance": "1", "numpy": "2"}}
    return actor


def test_a_cluster_that_starts_no_worker_is_given_up(fake: FakeRay) -> None:
    shards, engine, _ = driver(fake)
    with pytest.raises(InputError, match=r"start a worker in 600 s; each needs 3 CPU and 0\.5 GPU, the cluster has"):
        shards.run()
    assert fake.now == 1601.0 and len(fake.killed) == 2
    (actor,) = ready(shards, engine, 1)[:1]
    actor.ready = True
    shards.ready = 0.0
    shards._step()
    assert shards.ready == fake.now


# one order at a time


def engine_on(fake: FakeRay, monkeypatch: pytest.MonkeyPatch, **given: Any) -> ray.RayEngine:
    made = ray.RayEngine(job(time_limit=10.0), Watch(0.05), "key", workers=3, ray=fake, **given)
    monkeypatch.setattr(ray.RayEngine, "start", lambda self: started(fake))
    return made


def started(fake: FakeRay) -> ray._Actor:
    handle = Handle(fake)
    actor = ray._Actor(handle, Ref())
    fake.results[actor.hello] = {}
    return actor


def test_a_rate_comes_from_one_order(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_on(fake, monkeypatch)
    asked: list[dict[str, Any]] = []
    fake.answer = lambda order: asked.append(order) or {"images": 32, "seconds": 0.5}
    assert engine.rate(Piece(0, 0, 0, 9)) == Rate(32, 0.5, workers=3)
    assert asked[0]["rate"] is True and asked[0]["order"] == 0 and asked[0]["piece"]["stop"] == 9
    assert fake.got == [600.0, 380.0] and len(fake.killed) == 1
    fake.answer = lambda order: {}
    assert engine.rate(Piece(0, 0, 0, 9)) is None
    fake.answer = lambda order: RayError("died")
    assert engine.rate(Piece(0, 0, 0, 9)) is None


def test_a_probe_is_tried_three_times_before_the_model_is_called_another_one(
    fake: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_on(fake, monkeypatch)
    pieces = [Piece(k, 0, 0, 9) for k in range(3)]
    asked: list[dict[str, Any]] = []

    def answer(order: dict[str, Any]) -> Any:
        asked.append(order)
        return found[min(len(asked), len(found)) - 1]

    fake.answer = answer
    found: list[Any] = [{"difference": None}]
    assert engine.probe(pieces, {0: ["a"], 2: ["b", "c"]}) is None
    assert [(order["piece"]["number"], order["probe"], order["order"]) for order in asked] == [
        (0, ["a"], 0),
        (2, ["b", "c"], 0),
    ]
    asked.clear()
    found = [RayError("x"), RayError("x"), {"difference": {"sample": "b", "repeatable": False}}]
    assert engine.probe(pieces, {2: ["b", "c"]}) == Difference("b", False) and len(asked) == 3
    asked.clear()
    found = [RayError("x")]
    assert engine.probe(pieces, {2: ["b", "c"]}) == Difference("b", True) and len(asked) == 3


def test_an_actor_gets_what_it_needs(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    class Actor:
        @classmethod
        def options(cls, **given: Any) -> type["Actor"]:
            made.update(given)
            return cls

        @classmethod
        def remote(cls, job: Job, variables: dict[str, str]) -> Handle:
            made.update(job=job, variables=variables)
            return Handle(fake)

    sys.modules["countenance.run.engine.actor"].Actor = Actor  # type: ignore[attr-defined]
    for name in [name for name in ray.os.environ if name.startswith(("AWS_", "COUNTENANCE_MAX"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_REGION", "x")
    monkeypatch.setenv("COUNTENANCE_MAX_PIXELS", "7")
    monkeypatch.setenv("COUNTENANCE_OTHER", "no")
    engine = ray.RayEngine(job(environment={"A": "b"}), Watch(0.05), "key", gpus_per_worker=0.5, threads=4)
    actor = engine.start()
    assert made["num_cpus"] == 4 and made["num_gpus"] == 0.5 and made["runtime_env"] == {"env_vars": {"A": "b"}}
    assert made["variables"] == {"AWS_REGION": "x", "COUNTENANCE_MAX_PIXELS": "7"}
    assert actor.handle.hello.calls == [("key",)] and not actor.ready
    ray.RayEngine(job(), Watch(0.05), "key").start()
    assert made["num_gpus"] is None and made["num_cpus"] == 1


def test_a_connection_is_closed_by_who_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    module = types.SimpleNamespace(shutdown=lambda: closed.append(1))
    asked: list[Any] = []
    ours = True

    def connect(address: str | None, cpus: int) -> tuple[Any, bool]:
        asked.append((address, cpus))
        return module, ours

    monkeypatch.setattr(ray, "connect", connect)
    engine = ray.RayEngine(job(), Watch(0.05), "key", workers=3, threads=2)
    assert engine.connected() is module and engine.connected() is module and asked == [(None, 6)]
    engine.close()
    assert closed == [1] and engine.ray is None
    engine.close()
    ours = False
    engine.connected()
    engine.close()
    assert closed == [1]
    engine.run([], lambda n: None)
    assert engine.ray is None  # nothing to do, no cluster


def test_withdrawn_images_are_not_counted_in_a_search(tmp_path, monkeypatch: pytest.MonkeyPatch, fake: FakeRay) -> None:
    from countenance.data.manifest_writer import ManifestWriter
    from countenance.run.withdrawals import Withdrawn, hashed_id
    from countenance.testing import small_dataset

    dataset = small_dataset(6, 16)
    names = [sample.id for sample in dataset]
    ManifestWriter(tmp_path, dataset.card, partition=6).write(list(dataset))
    shards, engine, _ = driver(fake)
    engine.job = Job(
        "face_localization",
        None,
        ModelSpec("m"),
        str(tmp_path),
        "store",
        {},
        4,
        withdrawn=Withdrawn("x", frozenset({hashed_id(names[2], "x")})),
    )
    work = ray._RayWork(Piece(0, 0, 1, 6))
    assert [shards._name(work, row) for row in range(4)] == [names[1], names[3], names[4], names[5]]


# the actor


@pytest.fixture
def actor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the actor, without Ray."""
    module = types.ModuleType("ray")
    module.options = {}  # type: ignore[attr-defined]
    module.remote = lambda **given: module.options.update(given) or (lambda cls: cls)  # type: ignore[attr-defined]
    module.method = lambda **given: lambda function: function  # type: ignore[attr-defined]
    context = types.SimpleNamespace(get_node_id=lambda: "n1")
    module.get_runtime_context = lambda: context  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.delitem(sys.modules, "countenance.run.engine.actor", raising=False)
    yield importlib.import_module("countenance.run.engine.actor")
    sys.modules.pop("countenance.run.engine.actor", None)


def test_an_actor_counts_what_it_is_told(actor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "mine")
    monkeypatch.delenv("AWS_OTHER", raising=False)
    one = actor.Actor(job(), {"AWS_REGION": "theirs", "AWS_OTHER": "x"})
    assert actor.os.environ["AWS_REGION"] == "mine" and actor.os.environ.pop("AWS_OTHER") == "x"
    assert one.state() == {}
    states = []

    def handle(order: dict[str, Any], tell: Any) -> dict[str, Any]:
        states.append(copy.deepcopy(one.state()))
        tell(asking=["a", "b", "c"], limit=7.0)
        states.append(copy.deepcopy(one.state()))
        failures = [{"sample": f"s{k}", "kind": "model", "reason": "r" * 400, "people": []} for k in range(15)]
        tell(answered=20, failures=failures, limit=300.0)
        tell(answered=5, failures=failures, limit=300.0)
        states.append(copy.deepcopy(one.state()))
        tell(shard=1, commit="first", limit=300.0)
        return {"commit": "first"}

    one.handle = handle
    receipt = one.work({"order": 4})
    assert states[0].pop("seconds") >= 0
    assert states[0] == {"order": 4, "answered": 0, "failed": 0, "failures": [], "asking": [], "limit": None}
    assert states[1]["asking"] == ["a", "b"] and states[1]["limit"] == 7.0
    assert states[2]["asking"] == [] and states[2]["answered"] == 25 and states[2]["failed"] == 30
    assert len(states[2]["failures"]) == 20 and states[2]["failures"][0] == {
        "sample": "s0",
        "kind": "model",
        "reason": "r" * 300,
    }
    assert receipt["commit"] == "first" and (receipt["answered"], receipt["failed"]) == (25, 30)
    assert [row["sample"] for row in receipt["failures"]] == ["s0", "s1"] and one.state() == {}


def test_what_goes_wrong_in_an_actor_is_told_in_words(actor: Any) -> None:
    def raising(error: BaseException) -> Any:
        def work() -> None:
            raise error

        return work

    assert actor._receipt(lambda: None) == {} and actor._receipt(lambda: {"a": 1}) == {"a": 1}
    assert actor._receipt(raising(InputError("w" * 400))) == {"refused": "w" * 300}
    assert actor._receipt(raising(OSError(28, "No space left", "/disk"))) == {"trouble": "/disk: No space left"}
    assert actor._receipt(raising(OSError("odd"))) == {"trouble": "a node: odd"}
    broken = actor._receipt(raising(KeyError("k" * 4000)))["broken"]
    assert len(broken) == 3000 and broken.endswith("k'\n")
    assert actor.software()["python"].count(".") == 1 and set(actor.software()) >= {"countenance", "numpy", "pyarrow"}


def test_an_actor_says_where_it_is_and_that_it_does_not_see_the_run(actor: Any, tmp_path) -> None:
    there = Job("face_localization", None, ModelSpec("m"), "manifest", str(tmp_path), {}, 4)
    told = actor.Actor(there, {}).hello("key")
    assert sys.modules["ray"].options == {  # who dies stays dead: the driver decides what becomes of its shards
        "max_restarts": 0,
        "max_task_retries": 0,
        "concurrency_groups": {"work": 1, "watch": 1},
    }
    assert told["node"] == "n1" and "does not see the run" in told["refused"] and told["software"] == actor.software()


# the connection


class RayModule(types.ModuleType):
    def __init__(self, *, there: bool = False, error: Exception | None = None) -> None:
        super().__init__("ray")
        self.there, self.error, self.asked = there, error, []

    def is_initialized(self) -> bool:
        return self.there

    def init(self, **given: Any) -> None:
        self.asked.append(given)
        if self.error is not None:
            raise self.error


def test_a_connection_is_made_once_and_with_enough_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "t")
    module = RayModule()
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setattr(cluster.os, "cpu_count", lambda: 4)
    assert cluster.connect(None, 9) == (module, True) and cluster.connect(None, 2) == (module, True)
    plain = {"log_to_driver": True, "logging_level": "error"}
    local = {"address": "local", "include_dashboard": False, **plain}
    assert module.asked == [{"num_cpus": cpus, **local} for cpus in (9, 4)]
    monkeypatch.setattr(cluster.os, "cpu_count", lambda: None)
    cluster.connect(None, 1)
    assert module.asked[-1]["num_cpus"] == 1
    monkeypatch.setattr(cluster, "_reach", lambda address: None)
    assert cluster.connect("h:1", 9) == (module, True) and module.asked[-1] == {"address": "h:1", **plain}
    there = RayModule(there=True)
    monkeypatch.setitem(sys.modules, "ray", there)
    assert cluster.connect(None, 1) == (there, False) and there.asked == []
    monkeypatch.setitem(sys.modules, "ray", RayModule(error=ValueError("no\n cluster " + "x" * 400)))
    with pytest.raises(InputError, match="no Ray cluster at this machine") as told:
        cluster.connect(None, 1)
    assert f"(no cluster {'x' * 289})" in str(told.value)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra):
        cluster.connect(None, 1)


def test_an_address_is_checked_before_ray_tries_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def connection(place: Any, timeout: float) -> Any:
        tried.append((place, timeout))
        if place[1] == 2:
            raise OSError("refused")
        return types.SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(cluster.socket, "create_connection", connection)
    cluster._reach("auto")
    cluster._reach("10.0.0.1:6379")
    assert tried == [(("10.0.0.1", 6379), 5.0)]
    for wrong in ("head", "head:", "head:x", "ray://head:1"):
        with pytest.raises(InputError, match="expected host:port"):
            cluster._reach(wrong)
    with pytest.raises(InputError, match=r"nothing answers there \(refused\); start the head: .*--port=2"):
        cluster._reach("h:2")


def test_a_cluster_of_our_own_has_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE")
    for name in names:
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    environ = cluster.os.environ
    cluster._with_token("h:1")
    assert not any(name in environ for name in names)  # the cluster's own must be given
    cluster._with_token(None)
    assert len(environ["RAY_AUTH_TOKEN"]) == 64 and environ["RAY_AUTH_MODE"] == "token"
    first = environ["RAY_AUTH_TOKEN"]
    cluster._with_token(None)
    assert environ["RAY_AUTH_TOKEN"] == first
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/x")
    cluster._with_token("h:1")
    assert environ["RAY_AUTH_MODE"] == "token" and "RAY_AUTH_TOKEN" not in environ
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH")
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    cluster._with_token(None)
    assert "RAY_AUTH_TOKEN" not in environ  # Ray has read its variables
