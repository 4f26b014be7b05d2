"""The engine of a cluster: Ray actors process the shards of the plan; see docs/design/006-ray-core.md.

Only the assignment of shards to actors is decided here. Shards, batches and threads come from the plan, so the bytes of
a run are those of the local engine, whatever the number of nodes. Every shard may be worked on twice (an actor may die
after its commit): the store keeps the first.
"""

import os
import socket
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from countenance.errors import InputError
from countenance.run.early_stop import Watch
from countenance.run.engine.base import Job, Progress, Rate
from countenance.run.engine.cluster import connect
from countenance.run.engine.local import MOST_DEATHS
from countenance.run.engine.search import Bisection
from countenance.run.engine.worker import WRITING
from countenance.run.marker import Committed
from countenance.run.plan import Piece
from countenance.run.staleness import Difference

IN_FLIGHT = 2
"""Shards that an actor has at once: one under way, one waiting, so that it never waits for the driver."""
BEAT = 1.0
"""Seconds between two requests for an actor's state."""
SILENT = 60.0
"""Seconds that an actor may leave such a request unanswered (it holds the interpreter's lock, or its node is lost)."""
STARTING = 600.0
"""Seconds until some actor must be ready."""
DEATHS = 2
"""Deaths on one shard after which it is searched for the image that causes them."""
SEARCHED = 24
"""The most workers that may die in a search."""
DIED = "the worker process died"
MOST_TROUBLE = 5
"""How often each worker may fail for reasons of its node (lost while it starts, a full disk) without a prediction."""
PROBE_TRIES = 3
"""After this many actors lost during a probe, the model counts as changed."""


@dataclass
class _RayWork:
    """A shard to process, and how often actors died on it."""

    piece: Piece
    deaths: int = 0
    careful: bool = False
    known_failures: dict[str, str] = field(default_factory=dict)
    search: Bisection | None = None
    reported: int = 0
    good: int = 0
    """Images without a failure that were reported."""

    def order(self, number: int) -> dict[str, Any]:
        order = {
            "order": number,
            "piece": asdict(self.piece),
            "careful": self.careful,
            "known_failures": self.known_failures,
        }
        if self.search is not None:
            order["only"] = list(self.search.candidates())
        return order


@dataclass
class _Actor:
    """An actor as the driver tracks it."""

    handle: Any
    hello: Any
    ready: bool = False
    node: str = ""
    flying: dict[Any, tuple[int, _RayWork]] = field(default_factory=dict)
    """Receipts that are expected, with order number and shard, in the order of the calls."""
    state: Any = None
    polled_at: float = 0.0
    heard: float = 0.0
    last: dict[str, Any] = field(default_factory=dict)


@dataclass
class RayEngine:
    """Works on a Ray cluster, or on one that it starts on this machine."""

    job: Job
    watch: Watch
    key: str
    workers: int = 1
    address: str | None = None
    gpus_per_worker: float = 0.0
    threads: int = 1

    ray: Any = None
    ours: bool = False
    """Whether the connection to the cluster was made here."""

    def connected(self) -> Any:
        """Ray, connected to the cluster."""
        if self.ray is None:
            self.ray, self.ours = connect(self.address, self.workers * self.threads)
        return self.ray

    def close(self) -> None:
        """End the connection if it was made here."""
        if self.ours:
            self.ray.shutdown()
        self.ray, self.ours = None, False

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        if pieces:
            _RayShards(self, self.connected(), deque(_RayWork(piece) for piece in pieces), progress).run()

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        for piece in pieces:
            if piece.number in chosen:
                order = {"piece": asdict(piece), "probe": list(chosen[piece.number])}
                tries = (self._once(order) for _ in range(PROBE_TRIES))  # a node may be lost by chance
                result = next((attempt for attempt in tries if attempt is not None), None)
                if result is None:  # the model predicted this image before and now dies: it changed
                    return Difference(chosen[piece.number][0], repeatable=True)
                if result["difference"]:
                    return Difference(**result["difference"])
        return None

    def rate(self, piece: Piece) -> Rate | None:
        result = self._once({"piece": asdict(piece), "rate": True})
        if not result or "images" not in result:
            return None
        return Rate(int(result["images"]), float(result["seconds"]), workers=self.workers)

    def _once(self, order: dict[str, Any]) -> dict[str, Any] | None:
        """The result of one order; None when the actor died on it."""
        ray = self.connected()
        actor = self.start()
        try:
            _accept(ray.get(actor.hello, timeout=STARTING))
            result = ray.get(actor.handle.work.remote({**order, "order": 0}), timeout=self.job.time_limit * 8 + WRITING)
            return dict(_accept(result))
        except ray.exceptions.RayError:
            return None
        finally:
            ray.kill(actor.handle)

    def start(self) -> _Actor:
        """Start a new actor; it runs as soon as a node has the resources for it."""
        from countenance.run.engine.actor import Actor

        variables = {n: v for n, v in os.environ.items() if n.startswith(("AWS_", "COUNTENANCE_MAX"))}
        actor: Any = Actor
        handle = actor.options(
            num_cpus=self.threads,
            num_gpus=self.gpus_per_worker or None,
            runtime_env={"env_vars": dict(self.job.environment)},
        ).remote(self.job, variables)
        return _Actor(handle, handle.hello.remote(self.key))


def _accept(receipt: Mapping[str, Any]) -> Mapping[str, Any]:
    if "refused" in receipt:
        raise InputError(receipt["refused"])
    if "broken" in receipt:
        raise RuntimeError(receipt["broken"])
    return receipt


class _RayShards:
    """Assigns the shards of a run until all are done."""

    def __init__(self, engine: RayEngine, ray: Any, waiting: deque[_RayWork], progress: Progress) -> None:
        self.ray, self.engine, self.waiting, self.progress = ray, engine, waiting, progress
        self.left, self.number, self.deaths, self.trouble = len(waiting), 0, 0, 0
        self.actors: list[_Actor] = []
        self.ready = time.monotonic()
        """When some actor was last ready."""

    def run(self) -> None:
        try:
            for _ in range(min(self.engine.workers, self.left)):
                self.actors.append(self.engine.start())
            while self.left:
                self._step()
        finally:
            for actor in self.actors:
                self.ray.kill(actor.handle)

    def _step(self) -> None:
        refs = [ref for actor in self.actors for ref in self._refs(actor)]
        done, _ = self.ray.wait(refs, num_returns=1, timeout=BEAT)
        for ref in done:
            actor = next((candidate for candidate in self.actors if ref in self._refs(candidate)), None)
            if actor is not None:
                self._arrived(actor, ref)
        now = time.monotonic()
        for actor in list(self.actors):
            self._check(actor, now)
        if any(actor.ready for actor in self.actors):
            self.ready = now
        elif now - self.ready > STARTING:
            raise InputError(
                f"no node of the cluster could start a worker in {STARTING:g} s; each needs {self.engine.threads} CPU "
                f"and {self.engine.gpus_per_worker:g} GPU, the cluster has {self.ray.cluster_resources()}"
            )
        self._give()

    def _refs(self, actor: _Actor) -> list[Any]:
        hello = [] if actor.ready else [actor.hello]
        return [*hello, *actor.flying, *([] if actor.state is None else [actor.state])]

    def _give(self) -> None:
        ready = [actor for actor in self.actors if actor.ready]
        for room in range(1, IN_FLIGHT + 1):  # every worker gets a first shard before any gets a second
            for actor in ready:
                if self.waiting and len(actor.flying) < room:
                    self._order(actor, self.waiting.popleft())

    def _order(self, actor: _Actor, work: _RayWork) -> None:
        self.number += 1
        ref = actor.handle.work.remote(work.order(self.number))
        actor.flying[ref] = (self.number, work)
        actor.heard = time.monotonic() if len(actor.flying) == 1 else actor.heard

    def _arrived(self, actor: _Actor, ref: Any) -> None:
        try:
            reply = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            self._died(actor, error)
            return
        if ref is actor.state or ref == actor.state:
            actor.state, actor.heard = None, time.monotonic()
            self._heard(actor, reply)
        elif ref == actor.hello:
            self._greeted(actor, reply)
        else:
            _, work = actor.flying.pop(ref)
            actor.last, actor.heard = {}, time.monotonic()
            self._done(actor, work, reply)

    def _greeted(self, actor: _Actor, greeting: Mapping[str, Any]) -> None:
        from countenance.run.engine.actor import software

        here = software()
        for name, version in here.items():
            if greeting["software"].get(name) != version:
                raise InputError(
                    f"node {greeting['host']} has {name} {greeting['software'].get(name)}, this machine has {version}; "
                    "install the same versions on every node"
                )
        if "trouble" in greeting:
            self._retire(actor, greeting["trouble"])
            return
        _accept(greeting)
        actor.ready, actor.node, actor.heard = True, greeting["node"], time.monotonic()

    def _heard(self, actor: _Actor, state: dict[str, Any]) -> None:
        """Handle progress, failures and the deadline of the current batch."""
        actor.last = state
        current = self._current(actor, state)
        if current is None:
            return
        self._report(current, state)
        limit = state["limit"] or WRITING
        if state["seconds"] > limit:
            self._overdue(actor, current, state, limit)

    def _current(self, actor: _Actor, state: Mapping[str, Any]) -> _RayWork | None:
        return next((work for number, work in actor.flying.values() if number == state.get("order")), None)

    def _report(self, work: _RayWork, state: Mapping[str, Any]) -> None:
        """Report new images to the progress bar and the watch: once each, even when a shard is repeated."""
        fresh = state["answered"] - work.reported
        if fresh > 0 and work.search is None:
            good = state["answered"] - state["failed"]
            work.reported, self.deaths, self.trouble = state["answered"], 0, 0
            self.progress(fresh)
            self.engine.watch.saw(max(good - work.good, 0), state["failures"])
            work.good = max(good, work.good)

    def _done(self, actor: _Actor, work: _RayWork, receipt: dict[str, Any]) -> None:
        if "trouble" in receipt:  # a failure of the node, such as a full disk
            self.waiting.appendleft(work)
            self._retire(actor, receipt["trouble"])
            return
        _accept(receipt)
        if receipt.get("stop"):
            raise InputError(f"stopped at the first failure (strict): {receipt['stop']}")
        if work.search is not None:
            self._searched(work, harmful=False)
            self.waiting.appendleft(work)
            return
        self._report(work, receipt)
        if receipt["commit"] == Committed.DIFFERENT:
            self.engine.watch.differed.add(work.piece.number)
        self.left -= 1

    def _check(self, actor: _Actor, now: float) -> None:
        if actor.ready and actor.flying:
            if now - actor.heard > SILENT:
                self._lost(actor, f"no sign of life for {SILENT:g} s", blamed=self._alive(actor.node))
            elif actor.state is None and now - actor.polled_at >= BEAT:
                actor.state, actor.polled_at = actor.handle.state.remote(), now

    def _overdue(self, actor: _Actor, work: _RayWork, state: Mapping[str, Any], limit: float) -> None:
        reason, asking = f"no answer within {limit:g} s", state.get("asking") or []
        if work.careful and len(asking) == 1:
            self._record(work, asking[0], reason)
            work.search = None
            self._lost(actor, reason, blamed=False)
        else:
            self._lost(actor, reason)

    def _died(self, actor: _Actor, error: Exception) -> None:
        if not actor.ready:
            self._retire(actor, " ".join(str(error).split())[:300])
        else:
            self._lost(actor, DIED, blamed=self._alive(actor.node))

    def _lost(self, actor: _Actor, reason: str, *, blamed: bool = True) -> None:
        """Handle the loss of an actor: its shards go to others, and the one in progress is checked."""
        for ref in list(actor.flying):  # receipts that came before the end
            try:
                receipt = self.ray.get(ref, timeout=0)
            except self.ray.exceptions.RayError:
                continue
            self._done(actor, actor.flying.pop(ref)[1], receipt)
        current = self._current(actor, actor.last) or next((work for _, work in actor.flying.values()), None)
        others = [work for _, work in actor.flying.values() if work is not current]
        self._replace(actor)
        self.waiting.extendleft(reversed(others))
        if current is not None:
            if blamed:
                self._blame(current, reason)
            self.waiting.appendleft(current)

    def _blame(self, work: _RayWork, reason: str) -> None:
        """Handle a worker's death on a shard: repeat it (image by image if it hung), then search for the image."""
        self.deaths += 1
        if self.deaths > MOST_DEATHS + SEARCHED:
            raise InputError(f"{self.deaths} workers in a row ended without a prediction; the last: {reason}")
        work.deaths += 1
        if work.search is not None:
            self._searched(work, harmful=True, reason=reason)
        elif reason != DIED:  # it hung: predicting image by image shows which image
            work.careful = True
        elif work.deaths >= DEATHS:
            work.careful, work.search = True, Bisection(work.piece.images)

    def _searched(self, work: _RayWork, *, harmful: bool, reason: str = DIED) -> None:
        """Record a step of the search; once the image is found it is recorded, and the rest is processed."""
        search = work.search
        assert search is not None
        search.tell(harmful)
        if search.culprit is not None:
            self._record(work, self._name(work, search.culprit), reason)
        if search.culprit is not None or search.over:
            work.search, work.deaths = None, 0

    def _record(self, work: _RayWork, name: str, reason: str) -> None:
        work.known_failures[name] = reason
        self.engine.watch.saw(0, [{"sample": name, "kind": "model", "reason": reason}], lost=True)

    def _name(self, work: _RayWork, row: int) -> str:
        """The id of the sample at a place of a shard, as the worker counts: without those that were withdrawn."""
        from countenance.data.manifest import read_manifest
        from countenance.run.plan import read_piece

        samples = self.engine.job.withdrawn.present(read_piece(read_manifest(self.engine.job.manifest), work.piece))
        return samples[row].id

    def _retire(self, actor: _Actor, reason: str) -> None:
        self.trouble += 1
        if self.trouble > MOST_TROUBLE * len(self.actors):
            raise InputError(f"{self.trouble} workers in a row failed for reasons of their nodes; the last: {reason}")
        for _, work in actor.flying.values():
            self.waiting.appendleft(work)
        self._replace(actor)

    def _replace(self, actor: _Actor) -> None:
        self.actors.remove(actor)
        actor.flying = {}
        self.ray.kill(actor.handle)
        self.actors.append(self.engine.start())

    def _alive(self, node: str) -> bool:
        """Whether a node is still there. Ray takes many seconds to notice that one is gone; its port tells at once."""
        for _ in range(4):
            entry = next(
                (candidate for candidate in self.ray.nodes() if candidate["NodeID"] == node and candidate["Alive"]),
                None,
            )
            if entry is None or not _listens(entry["NodeManagerAddress"], entry["NodeManagerPort"]):
                return False
            time.sleep(0.5)
        return True


def _listens(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True
