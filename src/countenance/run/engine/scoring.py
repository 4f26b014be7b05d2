"""The last stage of a worker: batches are scored in their order, and complete shards are stored.

`Scores` does it in the process it is made in. `ScoringProcess` does it in a process of its own, so that the process
that holds the model does little else: Python runs one thread of a process at a time, and a GPU waits for that thread.
Only valid answers, of our own types, are sent there; samples are read from the dataset again.
"""

import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from countenance.data import Sample
from countenance.data.manifest import SampleManifest, read_manifest
from countenance.errors import InputError
from countenance.models.decode_process import packed, receive
from countenance.run.engine.base import Job
from countenance.run.feeding import FedGroup
from countenance.run.plan import Piece, read_piece
from countenance.run.shard import Failure, Predicted, ShardResult, Stop, grouped, settle, started
from countenance.run.store import RunStore
from countenance.storage import open_storage
from countenance.tasks import Task, load_task
from countenance.worker_process import child, die_with_parent, print_by_line

STORING = 4
"""Shards that are being stored, all at once, while the next one is scored: a store may be slow to answer."""


class Scoring(Protocol):
    """Scores the batches of some shards and stores the shards."""

    def add(self, group: FedGroup, predicted: Sequence[Predicted]) -> None:
        """The next batch."""

    def finish(self) -> None:
        """Wait until everything is scored and stored; errors are raised here or by `add`."""


@dataclass(frozen=True)
class ScoringEvents:
    """The events that scoring reports; the first argument is always the shard's number."""

    answered: Callable[[int, int, Sequence[Failure]], None] = lambda number, done, failures: None
    stored: Callable[[int, str], None] = lambda number, commit: None


@dataclass(frozen=True)
class Shards:
    """The places where a worker reads samples and stores shards."""

    task: Task
    manifest: SampleManifest
    store: RunStore
    job: Job

    @classmethod
    def of(cls, job: Job) -> "Shards":
        manifest = read_manifest(open_storage(job.manifest, patient=True))
        return cls(load_task(job.task, job.options), manifest, RunStore(job.store, patient=True), job)

    def read(self, piece: Piece) -> list[Sample]:
        """The samples of a piece."""
        return self.job.withdrawn.present(read_piece(self.manifest, piece))

    def commit(self, result: ShardResult) -> str:
        """Store a shard and say whether another writer did so before."""
        return str(result.commit(self.store, result.number, self.task, self.job.columns))


def groups_of(
    task: Task, pieces: Sequence[Piece], read: Callable[[Piece], list[Sample]], batch: int
) -> Iterator[FedGroup]:
    """The batches of some shards, in order; the owner of each is the result of its shard."""
    for piece in pieces:
        result, left = started(task, read(piece))
        result.number = piece.number
        yield from grouped(left, batch, result)


@dataclass
class Scores:
    """Scoring in this process; complete shards are stored by other threads."""

    shards: Shards
    events: ScoringEvents = field(default_factory=ScoringEvents)
    store: bool = True
    """Whether shards are stored; not where only time is measured."""
    writer: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(STORING))
    storing: deque[Future[None]] = field(default_factory=deque)

    def add(self, group: FedGroup, predicted: Sequence[Predicted]) -> None:
        result: ShardResult = group.owner

        def after(done: int, failures: Sequence[Failure]) -> None:
            self.events.answered(result.number, done, failures)

        settle(self.shards.task, group, predicted, strict=self.shards.job.strict, after=after)
        if group.last and self.store:
            self.storing.append(self.writer.submit(self._store, result))
            self._wait(STORING)

    def finish(self) -> None:
        self._wait(0)
        self.writer.shutdown()

    def _store(self, result: ShardResult) -> None:
        self.events.stored(result.number, self.shards.commit(result))

    def _wait(self, most: int) -> None:
        while len(self.storing) > most:
            self.storing.popleft().result()


class ScoringProcess:
    """Scoring in a process of its own. If it is killed, this process ends in the same way, and both are replaced."""

    def __init__(self, job: Job) -> None:
        orders, self.orders = os.pipe()
        self.replies, replies = os.pipe()
        self.popen = child(__name__, (orders, replies), {"CUDA_VISIBLE_DEVICES": ""})  # the model's process has the GPU
        os.close(orders)
        os.close(replies)
        self.events = ScoringEvents()
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._send(job)
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self, pieces: Sequence[Piece], events: ScoringEvents, store: bool = True) -> Scoring:
        """Expect the batches of these shards."""
        self.events = events
        self.ended.clear()
        self._send((list(pieces), store))
        return self

    def add(self, group: FedGroup, predicted: Sequence[Predicted]) -> None:
        self._raise()
        self._send(list(predicted))

    def finish(self) -> None:
        self.ended.wait()
        self._raise()

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    def _send(self, message: Any) -> None:
        data = memoryview(packed(message))
        try:
            while data:
                data = data[os.write(self.orders, data) :]
        except BrokenPipeError:  # it ended; the reason is raised where its replies are read
            self.ended.wait()
            self._raise()

    def _listen(self) -> None:
        try:
            with os.fdopen(self.replies, "rb") as replies:
                while (message := receive(replies)) is not None:
                    self._heard(*message)
        except BaseException as error:
            self.error = error
        if self.error is None:
            _end_as(self.popen.wait())
        self.ended.set()

    def _heard(self, kind: str, *values: Any) -> None:
        if kind == "answered":
            self.events.answered(*values)
        elif kind == "stored":
            self.events.stored(*values)
        elif kind == "finished":
            self.ended.set()
        else:
            self.error = values[0]


def _end_as(code: int) -> None:
    """End this process in the way that another one ended, so that its supervisor notices."""
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code or 1)


def main() -> None:
    """Run the process: it receives a job, then, for each stream, its shards and the outcomes of each batch."""
    die_with_parent()
    print_by_line()
    orders, replies = os.fdopen(int(sys.argv[1]), "rb"), int(sys.argv[2])
    lock = threading.Lock()

    def tell(*message: Any) -> None:
        data = memoryview(packed(message))
        with lock:
            while data:
                data = data[os.write(replies, data) :]

    job = receive(orders)
    try:
        shards = Shards.of(job)
        events = ScoringEvents(lambda *values: tell("answered", *values), lambda *values: tell("stored", *values))
        while (order := receive(orders)) is not None:
            pieces, store = order
            scores = Scores(shards, events, store)
            for group in groups_of(shards.task, pieces, shards.read, job.batch):
                predicted = receive(orders)
                if predicted is None:
                    return
                scores.add(group, predicted)
            scores.finish()
            tell("finished")
    except (RecursionError, MemoryError):
        os._exit(1)  # this worker cannot continue; another determines on which image
    except InputError as error:
        tell("error", InputError(str(error)))  # without attributes of a subclass
    except OSError as error:
        tell("error", OSError(error.errno, error.strerror or str(error), error.filename))
    except Stop as stop:
        tell("error", stop)
    except Exception:
        tell("error", RuntimeError(traceback.format_exc()))


if __name__ == "__main__":
    main()
