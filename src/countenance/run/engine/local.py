"""The engines of one machine: in this process, or in worker processes that may hang, die or be killed."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from countenance.errors import InputError
from countenance.models.registry import default_threads
from countenance.run.early_stop import GO_ON, Watch
from countenance.run.engine.base import Job, Progress, Rate
from countenance.run.engine.probing import probe
from countenance.run.engine.processes import Death, Pool, WorkerDied
from countenance.run.fitting import fitted
from countenance.run.marker import Committed
from countenance.run.plan import Piece, RunPlan
from countenance.run.shard import Failure, Hooks, Stop, run_shard
from countenance.run.staleness import Difference
from countenance.run.store import RunStore
from countenance.worker_process import Order

MOST_AT_ONCE = 8
"""Pieces that one of several workers gets at once."""
MOST_DEATHS = 10
"""The most workers that may die in a row without a prediction in between."""
INNOCENT = 2
"""If this many suspected images of a shard turn out not to cause a death, the model is at fault."""
CONVICTED = 3
"""After this many images that end processes, further suspects are not tried alone, which would cost a start each."""


@dataclass
class InProcess:
    """Works in the user's program, for models that are objects of it."""

    plan: RunPlan
    model: Any
    store: RunStore
    columns: Mapping[str, str]
    watch: Watch
    strict: bool = False
    time_limit: float | None = None
    """Seconds that scoring one image may take; the model itself runs in the user's program and cannot be ended."""

    @cached_property
    def _fitted(self) -> Any:
        """The model, fitted once before its first prediction."""
        return fitted(self.model, self.plan.fit, self.store)

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        context = self.plan.context()

        def after(done: int, failures: Sequence[Failure]) -> None:
            progress(done)
            self.watch.saw(done - len(failures), failures)

        for piece in pieces:
            try:
                result = run_shard(
                    self.plan.task,
                    self._fitted,
                    self.plan.read(piece),
                    batch=self.plan.settings.batch,
                    strict=self.strict,
                    context=context,
                    hooks=Hooks(after_batch=after, limit=self.time_limit),
                )
            except Stop as stop:
                raise InputError(f"stopped at the first failure (strict): {stop}") from None
            commit = result.commit(self.store, piece.number, self.plan.task, self.columns)
            if commit is Committed.DIFFERENT:
                self.watch.differed.add(piece.number)

    def rate(self, piece: Piece) -> Rate | None:
        """None: a model in the user's program is not called for an estimate, since that might change its state."""
        return None

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        task, context = self.plan.task, self.plan.context()
        return probe(task, self._fitted, self.store, pieces, chosen, self.plan.read, context)


@dataclass
class Workers:
    """Works in `workers` processes."""

    job: Job
    watch: Watch
    workers: int = 1
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.pool = Pool(
            "countenance.run.engine.worker:serve", self.job, environment=self.job.environment, label="model"
        )

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        if pieces:
            workers = min(self.workers, len(pieces))
            works = deque(_Work(piece) for piece in pieces)
            self.pool.run(_Shards(works, self.watch, progress, workers), workers=workers)

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        orders = [
            {"piece": asdict(piece), "probe": list(chosen[piece.number])} for piece in pieces if piece.number in chosen
        ]
        supervisor = _Probes(orders)
        self.pool.run(supervisor)
        return supervisor.difference

    def rate(self, piece: Piece) -> Rate | None:
        """The speed on a few images; the worker is kept for the other images, so that a large model is loaded once."""
        try:
            measured = self.pool.ask({"piece": asdict(piece), "rate": True})
        except WorkerDied:
            return None
        return None if measured is None else Rate(**measured, workers=self.workers)

    def close(self) -> None:
        """End the worker that `rate` kept."""
        self.pool.close()


def thread_environment(workers: int, threads: int | None) -> dict[str, str]:
    """Variables that limit the threads of a worker's libraries, so that workers together use every core once."""
    names = ("COUNTENANCE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(threads or default_threads(workers)))


@dataclass
class _Work:
    """A piece of work; after it ended a worker it is repeated carefully (image by image)."""

    piece: Piece
    careful: bool = False
    known_failures: dict[str, str] = field(default_factory=dict)
    asking: list[str] = field(default_factory=list)
    begun: bool = False
    answered: int = 0
    retried: set[str] = field(default_factory=set)
    suspect: tuple[str, Death] | None = None
    """An image on which a worker died that had answered others before; it is tried alone first."""
    innocent: int = 0
    """Suspects that were answered when they came first."""


@dataclass
class _Shards:
    """Supervises the shards of a run. A worker gets several shards at once, so that it need not wait between them."""

    waiting: deque[_Work]
    watch: Watch
    progress: Progress
    workers: int = 1
    left: int = field(init=False)
    under_way: dict[int, _Work] = field(default_factory=dict)
    reported: dict[int, int] = field(default_factory=dict)
    deaths: int = 0
    convicted: int = 0
    """Images that are known to end a process."""

    def __post_init__(self) -> None:
        self.left = len(self.waiting)

    def finished(self) -> bool:
        return self.left == 0

    def next(self) -> Order | None:
        if not self.waiting:
            return None
        if self.waiting[0].careful:
            work = self._begin()
            order = {"piece": asdict(work.piece), "careful": True, "known_failures": work.known_failures}
            return order if work.suspect is None else order | {"alone": work.suspect[0]}
        works = [self._begin()]
        for _ in range(fair_share(len(self.waiting) + 1, self.workers) - 1):
            if self.waiting[0].careful:
                break
            works.append(self._begin())
        return {"pieces": [asdict(work.piece) for work in works]}

    def _begin(self) -> _Work:
        work = self.waiting.popleft()
        work.asking, work.answered, work.begun = [], 0, False
        self.under_way[work.piece.number] = work
        return work

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        work = self.under_way[message["shard"]]
        if work.suspect is not None:
            return  # only whether it answers matters
        work.begun = True
        if "asking" in message:
            work.asking = message["asking"]
            return
        if "commit" in message:
            self._complete(work, message["commit"])
            return
        self.deaths = 0
        work.answered += message["answered"]
        work.asking = []
        before = self.reported.get(work.piece.number, 0)
        if work.answered > before:  # once for each image, even when a shard is done again
            self.reported[work.piece.number] = work.answered
            self.progress(work.answered - before)
        self.watch.saw(message["answered"] - len(message["failures"]), message["failures"])

    def _complete(self, work: _Work, commit: str) -> None:
        self.under_way.pop(work.piece.number)
        if commit == Committed.DIFFERENT:
            self.watch.differed.add(work.piece.number)
        self.left -= 1

    def done(self, order: Order, result: Any) -> None:
        if result.get("stop"):
            raise InputError(f"stopped at the first failure (strict): {result['stop']}")
        if "alone" in order:
            self._acquit(self.under_way.pop(order["piece"]["number"]))

    def _acquit(self, work: _Work) -> None:
        """Clear an image that ended a worker but was answered alone: earlier calls end the process, not the image."""
        assert work.suspect is not None
        (name, death), work.suspect = work.suspect, None
        work.innocent += 1
        if work.innocent >= INNOCENT:
            raise InputError(
                f"stopped: the model does not survive its calls; its process ended {work.innocent} times on an image "
                f"that it answers when that comes first (the last, {name}: {death.reason}) ({GO_ON})"
            )
        self.waiting.appendleft(work)

    def died(self, order: Order, death: Death) -> None:
        """Queue the shards again: begun ones image by image, without an image found at fault, the others as before."""
        pieces = [order["piece"]] if "piece" in order else order["pieces"]
        works = [self.under_way.pop(piece["number"]) for piece in pieces if piece["number"] in self.under_way]
        self.deaths += 1
        if self.deaths > MOST_DEATHS:
            raise InputError(
                f"{self.deaths} worker processes in a row ended without a prediction; the last: {death.reason}"
            )
        for work in reversed(works):
            if work.suspect is not None:
                self._convict(work)
            elif work.careful:
                self._blame(work, death)
            work.careful = work.careful or work.begun or len(works) == 1
            self.waiting.appendleft(work)

    def _blame(self, work: _Work, death: Death) -> None:
        if not work.asking:
            raise InputError(f"a worker process ended between two images: {death.reason}")
        name = work.asking[0]
        if death.signal == 9 and not death.overdue and name not in work.retried:
            work.retried.add(name)  # the machine may have run out of memory for another reason
            return
        work.suspect = (name, death)
        if not work.answered or self.convicted >= CONVICTED or self.watch.max_failures >= 1:
            self._convict(work)

    def _convict(self, work: _Work) -> None:
        """Record an image that ends its process as a failure; it is not tried again."""
        assert work.suspect is not None
        (name, death), work.suspect = work.suspect, None
        self.convicted += 1
        work.known_failures[name] = death.reason
        self.watch.saw(0, [{"sample": name, "kind": "model", "reason": death.reason}], lost=True)


def fair_share(pieces: int, workers: int) -> int:
    """How many of the remaining pieces a worker gets at once: fewer towards the end, so that all end together.

    >>> fair_share(100, 1), fair_share(100, 4), fair_share(3, 4)
    (100, 8, 1)
    """
    return pieces if workers == 1 else max(1, min(pieces // (2 * workers), MOST_AT_ONCE))


@dataclass
class _Probes:
    """Supervises a probe; a worker that dies counts as a difference, unless the machine killed it once."""

    orders: list[Order]
    difference: Difference | None = None
    over: bool = False
    killed: bool = False

    def finished(self) -> bool:
        return self.over or self.difference is not None

    def next(self) -> Order | None:
        if not self.orders:
            return None
        return self.orders.pop(0)

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        return

    def done(self, order: Order, result: Any) -> None:
        self.difference = Difference(**result["difference"]) if result["difference"] else None
        self.over = not self.orders

    def died(self, order: Order, death: Death) -> None:
        if death.signal == 9 and not death.overdue and not self.killed:
            self.killed = True  # the machine may have run out of memory for another reason
            self.orders.insert(0, order)
        else:
            self.difference = Difference(order["probe"][0], repeatable=True)
