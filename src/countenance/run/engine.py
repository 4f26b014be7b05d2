"""The local engine: shards out to worker processes, and what to do when one hangs, dies or fills the disk."""

import contextlib
import functools
import json
import os
import pickle  # between our own two processes only
import selectors
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.models.registry import default_threads
from countenance.run.early_stop import Failure, Watch
from countenance.run.plan import Plan
from countenance.run.rows import columns_of
from countenance.run.shard import Stop, run_shard, write_shard
from countenance.tasks import load_task

Progress = Callable[[int], None]
START_LIMIT = 300.0
"""Seconds that loading a model, or reading and writing a shard, may take."""


@dataclass
class Order:
    """A shard to do: carefully (image by image) after it brought a worker down."""

    shard: int
    start: int
    end: int
    careful: bool = False
    known_failures: dict[str, str] = field(default_factory=dict)

    def line(self) -> bytes:
        return (json.dumps(self.__dict__) + "\n").encode()


def missing_orders(plan: Plan, folder: Path) -> list[Order]:
    """The shards that are not stored yet."""
    return [
        Order(number, start, end)
        for number, (start, end) in enumerate(plan.shards())
        if not (folder / "work" / f"{number:05d}.json").exists()
    ]


def run_here(plan: Plan, model: Any, folder: Path, *, strict: bool, watch: Watch, progress: Progress) -> None:
    """Do every missing shard in this process (for models that are objects of the user's program)."""
    columns = columns_of(plan.task, plan.samples)
    context = plan.context()

    def after_batch(n: int, answered: int, failures: list[Failure]) -> None:
        progress(n)
        watch.saw(answered, failures)

    for order in missing_orders(plan, folder):
        samples = plan.samples[order.start : order.end]
        try:
            result = run_shard(
                plan.task, model, samples, batch=plan.batch, strict=strict, context=context, after_batch=after_batch
            )
        except Stop as stop:
            raise InputError(f"stopped at the first failure (strict): {stop}") from None
        write_shard(folder, order.shard, plan.task, result, columns)


def run_workers(
    plan: Plan,
    spec: ModelSpec,
    folder: Path,
    *,
    workers: int,
    time_limit: float,
    strict: bool,
    threads: int | None,
    watch: Watch,
    progress: Progress,
) -> None:
    """Do every missing shard in worker processes."""
    orders = deque(missing_orders(plan, folder))
    if not orders:
        return
    job = {
        "task": functools.partial(load_task, plan.task.source or plan.task.name),
        "spec": spec,
        "samples": plan.samples,
        "batch": plan.batch,
        "context": plan.context(),
        "strict": strict,
        "folder": folder.resolve(),
        "columns": columns_of(plan.task, plan.samples),
        "environment": _thread_environment(threads or default_threads(workers)),
    }
    content = pickle.dumps(job)
    pool = _Pool(content, min(workers, len(orders)), time_limit, watch, progress)
    try:
        pool.work(orders)
    finally:
        pool.close()


def _thread_environment(threads: int) -> dict[str, str]:
    names = ("COUNTENANCE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


class _Worker:
    def __init__(self, content: bytes) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "countenance.run.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        assert self.process.stdin and self.process.stdout
        self.order: Order | None = None
        self.asking: list[str] = []
        self.answered = 0
        self.deadline = time.monotonic() + START_LIMIT
        self.buffer = b""
        os.set_blocking(self.process.stdout.fileno(), False)
        self._send(struct.pack("<Q", len(content)) + content)

    def _send(self, data: bytes) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):  # its end is noticed where its replies are read
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def give(self, order: Order) -> None:
        self.order, self.asking, self.answered = order, [], 0
        self.deadline = time.monotonic() + START_LIMIT
        self._send(order.line())

    def messages(self) -> tuple[list[dict[str, Any]], bool]:
        """The complete messages that have arrived, and whether the worker's end has come."""
        assert self.process.stdout
        ended = False
        while True:
            try:
                block = self.process.stdout.read(65536)
            except BlockingIOError:
                break
            if block is None:
                break
            if block == b"":
                ended = True
                break
            self.buffer += block
        *lines, self.buffer = self.buffer.split(b"\n")
        return [json.loads(line) for line in lines], ended

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class _Pool:
    """Keeps `workers` processes busy until no order is left."""

    def __init__(self, content: bytes, workers: int, time_limit: float, watch: Watch, progress: Progress) -> None:
        self.content, self.time_limit, self.watch, self.progress = content, time_limit, watch, progress
        self.selector = selectors.DefaultSelector()
        self.workers: list[_Worker] = [self._start() for _ in range(workers)]
        self.reported: dict[int, int] = {}

    def _start(self) -> _Worker:
        worker = _Worker(self.content)
        self.selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        return worker

    def work(self, orders: deque[Order]) -> None:
        left = len(orders)
        while left:
            for key, _ in self.selector.select(timeout=0.2):
                worker: _Worker = key.data
                messages, ended = worker.messages()
                for message in messages:
                    left -= self._heard(worker, message, orders)
                if ended and left:
                    self._replace(worker, orders, _ending(worker))
            now = time.monotonic()
            for worker in [worker for worker in self.workers if now > worker.deadline]:
                if worker.order is None:
                    raise InputError(f"the model was not ready after {START_LIMIT:g} s")
                self._replace(worker, orders, f"no answer within {self.time_limit:g} s")

    def _heard(self, worker: _Worker, message: dict[str, Any], orders: deque[Order]) -> int:
        event = message["event"]
        # The limit is the model's: decoding, writing and importing have their own, generous one.
        worker.deadline = time.monotonic() + (self.time_limit if event == "asking" else START_LIMIT)
        if event in ("unusable", "stop", "disk"):
            prefix = "stopped at the first failure (strict): " if event == "stop" else ""
            raise InputError(prefix + message["reason"])
        if event == "broken":
            raise RuntimeError(message["reason"])
        if event == "asking":
            worker.asking = message["ids"]
        elif event == "answered":
            worker.answered += message["n"]
            worker.asking = []
            self._report(worker)
            self.watch.saw(message["answered"], [Failure(**failure) for failure in message["failures"]])
        if event in ("ready", "done"):
            worker.order = None
            if orders:
                worker.give(orders.popleft())
            else:
                worker.deadline = float("inf")
        return int(event == "done")

    def _report(self, worker: _Worker) -> None:
        """Tell the progress, once for each image even when a shard is redone."""
        assert worker.order
        before = self.reported.get(worker.order.shard, 0)
        if worker.answered > before:
            self.reported[worker.order.shard] = worker.answered
            self.progress(worker.answered - before)

    def _replace(self, worker: _Worker, orders: deque[Order], why: str) -> None:
        """A worker is gone: its shard is redone image by image, without the image that did it."""
        self.selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self.workers.remove(worker)
        worker.kill()
        order = worker.order
        if order is None:
            raise InputError(f"the model cannot be loaded: {why}")
        if order.careful and worker.asking:
            order.known_failures[worker.asking[0]] = why
            lost = {"sample": worker.asking[0], "kind": "model", "reason": why}
            self.watch.saw(0, [Failure(lost)], lost=True)
        elif order.careful:
            raise InputError(f"a worker ended between two images: {why}")
        order.careful = True
        orders.appendleft(order)
        self.workers.append(self._start())

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        self.selector.close()


def _ending(worker: _Worker) -> str:
    code = worker.process.wait()
    if code < 0:
        return f"the worker process was killed by signal {-code}"
    return f"the worker process ended with code {code}"
