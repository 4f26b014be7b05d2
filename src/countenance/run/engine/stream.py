"""Several shards as one stream: the next batch is decoded and predicted while the last one is scored and stored.

    feed ──▶ model ──▶ validate ──▶ score ──▶ store
    (decode processes)              (engine/scoring.py: a thread, or a process)

The model is called in this thread, in the order of the batches; one other thread waits for its answers and validates
them. So a shard has the same bytes as when it is processed alone.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from countenance.data import Sample
from countenance.models.inputs import Prepared
from countenance.models.model import attribute_of
from countenance.run.engine.scoring import Scoring, groups_of
from countenance.run.feeding import FedBatch, Feed
from countenance.run.plan import Piece
from countenance.run.shard import FailedImage, ShardResult, answers, readable_of, refuse_interrupt, validated
from countenance.tasks import Context, Task

IN_FLIGHT = 2
"""Batches without an answer yet: enough to keep a GPU busy, and few enough that little is lost with a worker."""


@dataclass
class Stream:
    """Processes shards with one model."""

    task: Task
    model: Any
    feed: Feed
    read: Callable[[Piece], list[Sample]]
    batch: int
    context: Context
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the model is called: an image that failed in its batch is tried alone by the other thread."""

    def run(
        self,
        pieces: Sequence[Piece],
        scoring: Scoring,
        asking: Callable[[int, Sequence[str]], None] = lambda number, ids: None,
    ) -> None:
        """Predict every sample of some shards and have it scored; `asking` gets the shard and the ids of a batch."""
        waiting: deque[Future[None]] = deque()
        with ThreadPoolExecutor(1) as validator:
            for ready in self.feed(self._groups(pieces)):
                result: ShardResult = ready.group.owner
                asking(result.number, [sample.id for sample in ready.group.samples])
                waiting.append(validator.submit(self._finish, ready, self._begin(ready), scoring))
                while len(waiting) > IN_FLIGHT:
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()
        scoring.finish()

    def _groups(self, pieces: Sequence[Piece]) -> Iterator[Any]:
        return groups_of(self.task, pieces, self.read, self.batch)

    def _begin(self, ready: FedBatch) -> Callable[[], list[Any]]:
        """Call the model and return a function that waits for its answers."""
        prepared = ready.prepared
        with self.lock:
            if prepared is None:
                predictions = answers(self.model, readable_of(ready))
                ready.drop_pixels()
                return lambda: predictions
            if not len(prepared):
                return list
            try:
                begun = self.model.begin(prepared if self._leaves_input else prepared.copied())
            except BaseException as error:
                refuse_interrupt(error)
                return lambda: self._alone(prepared)
        return lambda: self._waited(prepared, begun)

    @cached_property
    def _leaves_input(self) -> bool:
        """Whether the model declares that it does not change its input, which is reused when a batch fails."""
        return bool(attribute_of(self.model, "leaves_input", False))

    def _waited(self, prepared: Prepared, begun: Any) -> list[Any]:
        try:
            return list(self.model.finish(begun))
        except BaseException as error:
            refuse_interrupt(error)
            return self._alone(prepared)

    def _alone(self, prepared: Prepared) -> list[Any]:
        """Each image of a batch that failed, tried by itself."""
        predictions: list[Any] = []
        with self.lock:
            for i in range(len(prepared)):
                try:
                    predictions += self.model.finish(self.model.begin(prepared.taken([i])))
                except BaseException as error:
                    refuse_interrupt(error)
                    predictions.append(FailedImage.of(error))
        return predictions

    def _finish(self, ready: FedBatch, wait: Callable[[], list[Any]], scoring: Scoring) -> None:
        predictions = wait()
        if ready.prepared is not None:
            ready.drop_pixels()
        scoring.add(ready.group, validated(self.task, ready, predictions, self.context))
