"""The engines of one machine: in this process, or in worker processes that may hang, die or be killed."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from countenance.data.manifest import SampleManifest, read_manifest
from countenance.errors import InputError
from countenance.models.registry import default_threads
from countenance.processes import Death, Handler, Order, Pool, Tell
from countenance.run.early_stop import Watch
from countenance.run.engine.base import Job, Progress, Rate
from countenance.run.plan import Piece, Plan, present, read_piece
from countenance.run.shard import Failure, Hooks, Stop, run_shard
from countenance.run.stale import Difference, differs
from countenance.run.store import Committed, RunStore
from countenance.storage import open_storage
from countenance.tasks import Context, Task, load_task

WRITING = 300.0
"""Seconds that reading samples, decoding or writing a shard may take."""
PROBED = 5
"""Batches that the estimate of a run's cost is made from."""
MOST_DEATHS = 10
"""Workers that may die one after the other without a single prediction in between."""


@dataclass
class InProcess:
    """Works in the user's program, for models that are objects of it."""

    plan: Plan
    model: Any
    store: RunStore
    columns: Mapping[str, str]
    watch: Watch
    strict: bool = False

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        context = self.plan.context()

        def after(done: int, failures: Sequence[Failure]) -> None:
            progress(done)
            self.watch.saw(done - len(failures), failures)

        for piece in pieces:
            try:
                result = run_shard(
                    self.plan.task, self.model, self.plan.read(piece), batch=self.plan.settings.batch,
                    strict=self.strict, context=context, hooks=Hooks(after_batch=after),
                )  # fmt: skip
            except Stop as stop:
                raise InputError(f"stopped at the first failure (strict): {stop}") from None
            kept = result.commit(self.store, piece.number, self.plan.task, self.columns)
            if kept is Committed.DIFFERENT:
                self.watch.differed.add(piece.number)

    def rate(self, piece: Piece) -> Rate | None:
        """None: a model in the user's program is not called for an estimate, since it may count its calls."""
        return None

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        task, context = self.plan.task, self.plan.context()
        return probe(task, self.model, self.store, pieces, chosen, self.plan.read, context)


def probe(
    task: Task,
    model: Any,
    store: RunStore,
    pieces: Sequence[Piece],
    chosen: Mapping[int, Sequence[str]],
    read: Any,
    context: Context,
) -> Difference | None:
    """Predict the chosen samples again and compare with what is stored."""
    for piece in pieces:
        wanted = set(chosen.get(piece.number, ()))
        if wanted:
            samples = [sample for sample in read(piece) if sample.id in wanted]
            found = differs(task, model, samples, store.shard_answers(piece.number), context)
            if found is not None:
                return found
    return None


@dataclass
class Workers:
    """Works in `workers` processes."""

    job: Job
    watch: Watch
    workers: int = 1

    def run(self, pieces: Sequence[Piece], progress: Progress) -> None:
        if pieces:
            supervisor = _Shards(deque(_Work(piece) for piece in pieces), self.watch, progress)
            self._pool(min(self.workers, len(pieces))).run(supervisor)

    def probe(self, pieces: Sequence[Piece], chosen: Mapping[int, Sequence[str]]) -> Difference | None:
        orders = [
            {"piece": asdict(piece), "probe": list(chosen[piece.number])} for piece in pieces if piece.number in chosen
        ]
        supervisor = _Probes(orders)
        self._pool(1).run(supervisor)
        return supervisor.found

    def rate(self, piece: Piece) -> Rate | None:
        supervisor = _Once({"piece": asdict(piece), "rate": True})
        self._pool(1).run(supervisor)
        return None if supervisor.result is None else Rate(**supervisor.result, workers=self.workers)

    def _pool(self, workers: int) -> Pool:
        return Pool("countenance.run.engine.local:serve", self.job, workers, self.job.environment)


def thread_environment(workers: int, threads: int | None) -> dict[str, str]:
    """Variables that limit the threads of a worker's libraries, so that workers together use every core once."""
    names = ("COUNTENANCE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(threads or default_threads(workers)))


@dataclass
class _Work:
    """A piece to do: carefully (image by image) after it brought a worker down."""

    piece: Piece
    careful: bool = False
    known_failures: dict[str, str] = field(default_factory=dict)
    asking: list[str] = field(default_factory=list)
    answered: int = 0
    retried: set[str] = field(default_factory=set)


@dataclass
class _Shards:
    """Supervises the shards of a run."""

    waiting: deque[_Work]
    watch: Watch
    progress: Progress
    left: int = field(init=False)
    under_way: dict[int, _Work] = field(default_factory=dict)
    reported: dict[int, int] = field(default_factory=dict)
    deaths: int = 0

    def __post_init__(self) -> None:
        self.left = len(self.waiting)

    def finished(self) -> bool:
        return self.left == 0

    def next(self) -> Order | None:
        if not self.waiting:
            return None
        work = self.waiting.popleft()
        work.asking, work.answered = [], 0
        self.under_way[work.piece.number] = work
        return {"piece": asdict(work.piece), "careful": work.careful, "known_failures": work.known_failures}

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        work = self.under_way[order["piece"]["number"]]
        if "asking" in message:
            work.asking = message["asking"]
            return
        self.deaths = 0
        work.answered += message["answered"]
        work.asking = []
        before = self.reported.get(work.piece.number, 0)
        if work.answered > before:  # once for each image, even when a shard is done again
            self.reported[work.piece.number] = work.answered
            self.progress(work.answered - before)
        self.watch.saw(message["answered"] - len(message["failures"]), message["failures"])

    def done(self, order: Order, result: Any) -> None:
        self.under_way.pop(order["piece"]["number"])
        if result.get("stop"):
            raise InputError(f"stopped at the first failure (strict): {result['stop']}")
        if result["kept"] == Committed.DIFFERENT:
            self.watch.differed.add(order["piece"]["number"])
        self.left -= 1

    def died(self, order: Order, death: Death) -> None:
        """The shard is done again image by image, without the image that did it."""
        work = self.under_way.pop(order["piece"]["number"])
        self.deaths += 1
        if self.deaths > MOST_DEATHS:
            raise InputError(
                f"{self.deaths} worker processes in a row ended without a prediction; the last: {death.reason}"
            )
        if work.careful and work.asking:
            name = work.asking[0]
            if death.signal == 9 and not death.overdue and name not in work.retried:
                work.retried.add(name)  # the machine may have run out of memory for another reason
            else:
                work.known_failures[name] = death.reason
                self.watch.saw(0, [{"sample": name, "kind": "model", "reason": death.reason}], lost=True)
        elif work.careful:
            raise InputError(f"a worker process ended between two images: {death.reason}")
        work.careful = True
        self.waiting.appendleft(work)


@dataclass
class _Probes:
    """Supervises a probe; a worker that dies on it is a difference."""

    orders: list[Order]
    found: Difference | None = None
    over: bool = False

    def finished(self) -> bool:
        return self.over or self.found is not None

    def next(self) -> Order | None:
        if not self.orders:
            return None
        return self.orders.pop(0)

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        return

    def done(self, order: Order, result: Any) -> None:
        self.found = Difference(**result["difference"]) if result["difference"] else None
        self.over = not self.orders

    def died(self, order: Order, death: Death) -> None:
        self.found = Difference(order["probe"][0], repeatable=True)


@dataclass
class _Once:
    """Supervises one order; a worker that dies on it leaves no result."""

    order: Order | None
    result: Any = None
    over: bool = False

    def finished(self) -> bool:
        return self.over

    def next(self) -> Order | None:
        order, self.order = self.order, None
        return order

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        return

    def done(self, order: Order, result: Any) -> None:
        self.result, self.over = result, True

    def died(self, order: Order, death: Death) -> None:
        self.over = True


def serve(job: Job) -> Handler:
    """The worker's side: make the task and the model once, then work off pieces."""
    task = load_task(job.task, job.options)
    model = _model(job)
    manifest = read_manifest(open_storage(job.manifest, patient=True))
    store = RunStore(job.store, patient=True)

    def handle(order: Order, tell: Tell) -> Any:
        piece = _piece(order["piece"])
        if "probe" in order:
            tell(limit=job.time_limit * 4 + WRITING)
            chosen = {piece.number: order["probe"]}
            found = probe(task, model, store, [piece], chosen, lambda p: read_piece(manifest, p), job.context)
            return {"difference": None if found is None else asdict(found)}
        if "rate" in order:
            tell(limit=job.time_limit * 8 + WRITING)
            return measure(job, task, model, manifest, piece)
        return _shard(job, task, model, manifest, store, piece, order, tell)

    return handle


def measure(job: Job, task: Task, model: Any, manifest: SampleManifest, piece: Piece) -> dict[str, Any] | None:
    """Images and seconds of a few batches, predicted and scored without being stored; the first one warms up."""
    few = min(PROBED * job.batch, piece.images)
    chosen = None if piece.chosen is None else piece.chosen[:few]
    stop = piece.start + few if chosen is None else chosen[-1] + 1
    samples = read_piece(manifest, Piece(piece.number, piece.partition, piece.start, stop, chosen))
    samples = present(samples, job.withdrawn)
    if len(samples) < 2 * job.batch:
        return None
    run_shard(task, model, samples[: job.batch], batch=job.batch, context=job.context)
    started = time.perf_counter()
    run_shard(task, model, samples[job.batch :], batch=job.batch, context=job.context)
    return {"images": len(samples) - job.batch, "seconds": time.perf_counter() - started}


def _model(job: Job) -> Any:
    try:
        return job.model.load()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        first = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"model {job.model.source!r} cannot be made ({first})") from error


def _piece(content: Mapping[str, Any]) -> Piece:
    chosen = content["chosen"]
    return Piece(**{**content, "chosen": None if chosen is None else tuple(chosen)})


def _shard(
    job: Job, task: Task, model: Any, manifest: SampleManifest, store: RunStore, piece: Piece, order: Order, tell: Tell
) -> Any:
    def before(ids: Sequence[str]) -> None:
        tell(asking=list(ids), limit=job.time_limit)

    def after(done: int, failures: Sequence[Failure]) -> None:
        told = [{name: row.get(name) for name in ("sample", "kind", "reason", "boxes")} for row in failures]
        tell(answered=done, failures=told, limit=WRITING)

    samples = present(read_piece(manifest, piece), job.withdrawn)
    if "only" in order:
        low, high = order["only"]
        samples = samples[low:high]
    try:
        result = run_shard(
            task, model, samples, batch=1 if order["careful"] else job.batch, strict=job.strict,
            known_failures=order["known_failures"], context=job.context, hooks=Hooks(before, after),
        )  # fmt: skip
    except Stop as stop:
        return {"stop": str(stop)}
    if "only" in order:  # a search for the image that kills workers stores nothing
        return {}
    return {"kept": str(result.commit(store, piece.number, task, job.columns))}
