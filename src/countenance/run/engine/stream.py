"""Several shards as one stream: the next batch is decoded and predicted while the last one is scored and stored.

The model is called in this thread, in the order of the batches; one other thread scores them and one more stores
complete shards, in the same order. So the bytes of a shard are those that it has when it is worked off alone.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from countenance.data import Sample
from countenance.models.inputs import Prepared
from countenance.run.feeding import FedBatch, FedGroup, Feed
from countenance.run.plan import Piece
from countenance.run.shard import FailedImage, Failure, ShardResult, answers, grouped, readable_of, settle, started
from countenance.tasks import Context, Task

IN_FLIGHT = 2
"""Batches whose scores are waited for: enough to keep a GPU busy, so few that little is lost with a worker."""


@dataclass(frozen=True)
class Told:
    """What a stream reports while it works; the first argument is always the shard's number."""

    asking: Callable[[int, Sequence[str]], None] = lambda number, ids: None
    answered: Callable[[int, int, Sequence[Failure]], None] = lambda number, done, failures: None
    complete: Callable[[ShardResult], None] = lambda result: None


@dataclass
class Stream:
    """Works off shards with one model."""

    task: Task
    model: Any
    feed: Feed
    batch: int
    context: Context
    strict: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the model is called: an image that failed in its batch is tried alone by the other thread."""

    def run(self, shards: Iterable[tuple[Piece, Sequence[Sample]]], told: Told | None = None) -> None:
        """Predict and score every sample of the shards; each is reported when it is complete."""
        told = told or Told()
        waiting: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as scorer:
            stored = _Stored(writer, told)
            for ready in self.feed(self._groups(shards)):
                result: ShardResult = ready.group.owner
                told.asking(result.number, [sample.id for sample in ready.group.samples])
                waiting.append(scorer.submit(self._finish, ready, self._begin(ready), told, stored))
                while len(waiting) > IN_FLIGHT:
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()
            stored.wait(0)

    def _groups(self, shards: Iterable[tuple[Piece, Sequence[Sample]]]) -> Iterator[FedGroup]:
        for piece, samples in shards:
            result, left = started(self.task, samples)
            result.number = piece.number
            yield from grouped(left, self.batch, result)

    def _begin(self, ready: FedBatch) -> Callable[[], list[Any]]:
        """Call the model; what is returned waits for its answers."""
        prepared = ready.prepared
        with self.lock:
            if prepared is None:
                found = answers(self.model, readable_of(ready))
                ready.drop_pixels()
                return lambda: found
            if not len(prepared):
                return list
            try:
                begun = self.model.begin(prepared)
            except Exception:
                return lambda: self._alone(prepared)
        return lambda: self._waited(prepared, begun)

    def _waited(self, prepared: Prepared, begun: Any) -> list[Any]:
        try:
            return list(self.model.finish(begun))
        except Exception:
            return self._alone(prepared)

    def _alone(self, prepared: Prepared) -> list[Any]:
        """Each image of a batch that failed, tried by itself."""
        found: list[Any] = []
        with self.lock:
            for i in range(len(prepared)):
                try:
                    found += self.model.finish(self.model.begin(prepared.taken([i])))
                except Exception as error:
                    found.append(FailedImage.of(error))
        return found

    def _finish(self, ready: FedBatch, wait: Callable[[], list[Any]], told: Told, stored: "_Stored") -> None:
        result: ShardResult = ready.group.owner
        found = wait()
        if ready.prepared is not None:
            ready.drop_pixels()

        def after(done: int, failures: Sequence[Failure]) -> None:
            told.answered(result.number, done, failures)

        settle(self.task, ready, found, self.context, strict=self.strict, after=after)
        if ready.group.last:
            stored.add(result)


@dataclass
class _Stored:
    """Shards that are being stored, a few at a time."""

    writer: ThreadPoolExecutor
    told: Told
    waiting: deque[Future[None]] = field(default_factory=deque)

    def add(self, result: ShardResult) -> None:
        """Store a complete shard beside the work on the next ones."""
        self.waiting.append(self.writer.submit(self.told.complete, result))
        self.wait(IN_FLIGHT)

    def wait(self, most: int) -> None:
        """Wait until at most so many are left; an error in storing one is raised here."""
        while len(self.waiting) > most:
            self.waiting.popleft().result()
