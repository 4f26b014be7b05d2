"""A worker's side: makes the task and the model once, then processes shards."""

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from countenance.errors import InputError
from countenance.models.inputs import InputSpec
from countenance.models.model import attribute_of
from countenance.models.torch_model import TorchModel, import_torch
from countenance.run.engine.base import Job
from countenance.run.engine.decoding import Decoders
from countenance.run.engine.nvjpeg import GpuDecoder
from countenance.run.engine.probing import probe
from countenance.run.engine.scoring import Scores, Scoring, ScoringEvents, ScoringProcess, Shards
from countenance.run.engine.stream import Stream
from countenance.run.feeding import Feed
from countenance.run.fitting import LONGEST, fitted
from countenance.run.plan import Piece
from countenance.run.shard import (
    Failure,
    Hooks,
    Stop,
    feed_for,
    needs_pixels,
    refuse_interrupt,
    run_shard,
    takes_ids,
)
from countenance.text import kind_and_words, one_line
from countenance.worker_process import Handler, Order, Tell

WRITING = 300.0
"""Seconds that reading samples, decoding or writing a shard may take."""
SWITCH = 0.0005
"""Seconds after which a Python thread lets another one go on: the one that feeds decoders must not wait for scoring."""
CONNECTIONS = "32"
"""Queues between the processor and a GPU. With the usual 8 the decoder's work waits in line behind the network's."""
PROBED = 5
"""Batches that the estimate of a run's cost is made from."""


def serve(job: Job) -> Handler:
    """Make the task and the model, and return what handles orders."""
    if job.decode == "gpu":  # read when the GPU is first used
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", CONNECTIONS)
    shards = Shards.of(job)
    scoring = ScoringProcess(replace(job, fit=None)) if job.decoders else None  # started while the model is created
    worker = Worker(job, shards, loaded_model(job), scoring)
    sys.setswitchinterval(SWITCH)
    return worker.handle


class Worker:
    """Handles the orders of one process."""

    def __init__(self, job: Job, shards: Shards, model: Any, scoring: ScoringProcess | None = None) -> None:
        self.job, self.shards, self.model, self.scoring = job, shards, model, scoring
        self.feed: Feed = made_feed(job, model)
        self.stream = Stream(shards.task, model, self.feed, shards.read, job.batch, job.context)

    def _fit(self, order: Order, tell: Tell) -> None:
        """Fit the model before the first order, if the job has data to fit; the order's shard counts as in progress."""
        if self.job.fit is None:
            return
        shard = (order["pieces"][0] if "pieces" in order else order["piece"])["number"]
        tell(shard=shard, asking=[], limit=LONGEST)
        self.model = self.stream.model = fitted(self.model, self.job.fit, self.shards.store)
        self.job = replace(self.job, fit=None)

    def handle(self, order: Order, tell: Tell) -> Any:
        """Process an order."""
        self._fit(order, tell)
        if "pieces" in order:
            return self._shards([_piece(content) for content in order["pieces"]], tell)
        piece = _piece(order["piece"])
        if "probe" in order:
            tell(limit=self.job.time_limit * 4 + WRITING)
            chosen = {piece.number: order["probe"]}
            difference = probe(
                self.shards.task, self.model, self.shards.store, [piece], chosen, self.shards.read, self.job.context
            )
            return {"difference": None if difference is None else asdict(difference)}
        if "rate" in order:
            tell(limit=self.job.time_limit * 8 + WRITING)
            return self._measure(piece)
        return self._carefully(piece, order, tell) if order["careful"] else self._answers(piece, tell)

    def _scores(self, pieces: Sequence[Piece], events: ScoringEvents, store: bool = True) -> Scoring:
        """The last stage: in a separate process if pictures come from processes too."""
        if self.scoring is not None:
            return self.scoring.begin(pieces, events, store)
        return Scores(self.shards, events, store)

    def _shards(self, pieces: Sequence[Piece], tell: Tell) -> Any:
        """Process shards in order; the next one starts while the previous one is stored."""
        commits: dict[int, str] = {}
        deadline = _Deadlines(tell, self.job.time_limit)

        def stored(number: int, what: str) -> None:
            commits[number] = what
            deadline.tell(shard=number, commit=what)

        try:
            self.stream.run(pieces, self._scores(pieces, ScoringEvents(deadline.answered, stored)), deadline.asking)
        except Stop as stop:
            return {"stop": str(stop)}
        return {"commit": commits}

    def _answers(self, piece: Piece, tell: Tell) -> Any:
        """Process one shard for an engine that gives out single ones."""
        result = self._shards([piece], tell)
        return result if "stop" in result else {"commit": result["commit"][piece.number]}

    def _carefully(self, piece: Piece, order: Order, tell: Tell) -> Any:
        """Process a shard image by image, with nothing in parallel, so that an image that ends the process is known."""

        def before(ids: Sequence[str]) -> None:
            tell(shard=piece.number, asking=list(ids), limit=self.job.time_limit)

        def after(done: int, failures: Sequence[Failure]) -> None:
            tell(shard=piece.number, answered=done, failures=_records(failures), limit=WRITING)

        samples = self.shards.read(piece)
        if "alone" in order:
            samples = [sample for sample in samples if sample.id == order["alone"]]
        if "only" in order:
            low, high = order["only"]
            samples = samples[low:high]
        try:
            result = run_shard(
                self.shards.task,
                self.model,
                samples,
                batch=1,
                strict=self.job.strict,
                known_failures=order["known_failures"],
                context=self.job.context,
                hooks=Hooks(before, after),
            )
        except Stop as stop:
            return {"stop": str(stop)}
        if "only" in order or "alone" in order:  # a search for the image that kills workers stores nothing
            return {}
        result.number = piece.number
        commit = self.shards.commit(result)
        tell(shard=piece.number, commit=commit, limit=WRITING)
        return {"commit": commit}

    def _measure(self, piece: Piece) -> dict[str, Any] | None:
        """Images and seconds of a few batches, scored but not stored, after one to warm up; None for too few images."""
        batch = self.job.batch
        few = piece.first(PROBED * batch * max(1, self.job.decoders // 2))
        if few.images < 2 * batch:
            return None
        done: list[int] = []
        events = ScoringEvents(lambda number, images, failures: done.append(images))
        for part in (few.first(batch), few.after(batch)):
            done.clear()
            started = time.perf_counter()
            self.stream.run([part], self._scores([part], events, store=False))
        return {"images": sum(done), "seconds": time.perf_counter() - started}


class _Deadlines:
    """Reports work in progress to the driver, with the time until the next report; several threads may report."""

    def __init__(self, tell: Tell, limit: float) -> None:
        self._tell, self.limit = tell, limit
        self.lock = threading.Lock()
        self.calls = 0

    def tell(self, **message: Any) -> None:
        with self.lock:
            self._tell(**message, limit=self.limit if self.calls else WRITING)

    def asking(self, shard: int, ids: Sequence[str]) -> None:
        with self.lock:
            self.calls += 1
        self.tell(shard=shard, asking=list(ids))

    def answered(self, shard: int, done: int, failures: Sequence[Failure]) -> None:
        with self.lock:
            self.calls -= 1
        self.tell(shard=shard, answered=done, failures=_records(failures))


def _records(failures: Sequence[Failure]) -> list[dict[str, Any]]:
    return [{name: row.get(name) for name in ("sample", "kind", "reason", "boxes")} for row in failures]


def made_feed(job: Job, model: Any) -> Feed:
    """The source of the model's batches: a GPU's decoder, decode processes, or a thread."""
    takes = attribute_of(model, "input")
    spec = (
        takes
        if isinstance(takes, InputSpec) and attribute_of(model, "begin") is not None and not takes_ids(model)
        else None
    )
    if not needs_pixels(model):
        return feed_for(model)
    on_gpu = str(attribute_of(model, "device", "cpu")).startswith("cuda")
    if job.decode == "gpu":
        if spec is None or not on_gpu:
            raise InputError(
                f'model {job.model.source!r} cannot take pictures from a GPU; decode="gpu" needs a TorchModel with a '
                "declared input on a cuda device (`countenance docs extend/model`)"
            )
        return GpuDecoder(spec, str(model.device), job.decoders)
    if job.decoders:
        return Decoders(job.decoders, spec, pin=import_torch() if on_gpu and spec is not None else None)
    return feed_for(model)


def loaded_model(job: Job) -> Any:
    """The model; on a GPU its batches all have one size."""
    try:
        model = job.model.load()
    except InputError:
        raise
    except BaseException as error:
        refuse_interrupt(error)
        first = one_line(kind_and_words(error))
        raise InputError(f"model {job.model.source!r} cannot be made ({first})") from error
    if isinstance(model, TorchModel) and model.device.startswith("cuda"):
        model.batch = max(model.batch, job.batch)
    return model


def _piece(content: Mapping[str, Any]) -> Piece:
    chosen = content["chosen"]
    return Piece(**{**content, "chosen": None if chosen is None else tuple(chosen)})
