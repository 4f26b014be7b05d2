"""The one pool of worker processes: it assigns orders, watches deadlines, and survives the death of workers.

A worker is a plain child process (`python -m countenance.worker_process`) rather than a fork or a spawn of the user's
program: that program is never imported again, a crash takes only the worker down, and a worker that hangs can be
killed. It runs in its own session with an empty standard input; what is printed in it goes to standard error, each line
with a prefix and at most a screenful, those of a thread in the order in which it printed them; processes that were
started in it end with it; when a parent is killed its workers end.

The worker imports `target` ("module:function"), calls it with the job, and gets a handler. The handler is called with
each order (a dict of JSON values) and a function `tell` that sends messages to the parent; what it returns (JSON
values) is the order's result.
"""

import contextlib
import os
import pickle  # between our own two processes only
import secrets
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps, loads  # bound here: a model may replace those of the module
from pathlib import Path
from typing import Any, Protocol

from countenance.errors import InputError
from countenance.run.engine.relay import Relay
from countenance.worker_process import NO_WORKERS, Order, child

PATIENCE = 300.0
"""Seconds that a worker may be silent unless its last message says otherwise."""
TOKEN = "COUNTENANCE_WORKER"  # noqa: S105 - the name of a variable, not a secret
"""The environment variable that marks a worker and all processes started in it."""


@dataclass(frozen=True)
class Death:
    """The end of a worker before its order was done."""

    reason: str
    signal: int | None = None
    """The signal that killed it; 9 without our doing is usually the machine running out of memory."""
    overdue: bool = False


class WorkerDied(Exception):
    """A worker ended before it had finished its order."""


class Supervisor(Protocol):
    """Decides which order comes next, and what follows the death of a worker."""

    def next(self) -> Order | None:
        """The next order for an idle worker; None while there is none to assign."""

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        """Handle a message of the handler."""

    def done(self, order: Order, result: Any) -> None:
        """Handle an order's result."""

    def died(self, order: Order, death: Death) -> None:
        """Handle a worker's death on this order: repeat it, give it up, or raise."""

    def finished(self) -> bool:
        """Whether every order is done."""


@dataclass
class Pool:
    """Keeps `workers` processes busy until a supervisor has finished."""

    target: str
    job: Any
    workers: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    label: str = "worker"
    """What the lines begin with that are printed in workers."""
    _crew: "_Crew | None" = None

    def run(self, supervisor: Supervisor, *, workers: int | None = None, keep: bool = False) -> None:
        """Assign orders until the supervisor has finished; every worker has ended when this returns or raises.

        With `keep`, workers stay for the next call, which may want another number of them; `close` ends them.
        """
        if self._crew is None:
            self._crew = _Crew(pickle.dumps((self.target, self.job)), self.environment, Relay(self.label))
        reusable = False
        try:
            self._crew.work(supervisor, workers or self.workers)
            reusable = keep
        finally:
            if not reusable:
                self.close()

    def ask(self, order: Order) -> Any:
        """The result of one order; the worker stays for the next one. WorkerDied when it ends instead.

        >>> pool = Pool("countenance.worker_process:echo", {"times": 2})
        >>> pool.ask({"say": "a"}), pool.ask({"say": "b"})
        ('aa', 'bb')
        >>> pool.close()
        """
        question = _Question(order)
        self.run(question, workers=1, keep=True)
        if question.death is not None:
            raise WorkerDied(question.death.reason)
        return question.result

    def close(self) -> None:
        """End every worker."""
        if self._crew is not None:
            self._crew.close()
        self._crew = None


class _Crew:
    """The workers of a pool."""

    supervisor: Supervisor

    def __init__(self, content: bytes, environment: Mapping[str, str], printed: "Relay") -> None:
        self.content, self.environment, self.printed = content, environment, printed
        self.selector = selectors.DefaultSelector()
        self.members: list[_Worker] = []

    def work(self, supervisor: Supervisor, workers: int) -> None:
        self.supervisor = supervisor
        while len(self.members) < workers:
            self.start()
        for worker in [worker for worker in self.members if worker.ready and worker.order is None]:
            self._give(worker)  # workers that stayed need not wait
        while not supervisor.finished():
            self.step()

    def start(self) -> None:
        worker = _Worker(self.content, self.environment, self.printed)
        self.members.append(worker)
        self.selector.register(worker.replies, selectors.EVENT_READ, worker)

    def step(self) -> None:
        for key, _ in self.selector.select(timeout=0.2):
            worker: _Worker = key.data
            messages, ended = worker.messages()
            for message in messages:
                self._heard(worker, message)
            if ended:
                self._replace(worker, worker.ending())
        # A child that a dead worker forked may keep the connection open, so its end is looked for as well.
        for worker in [worker for worker in self.members if worker.process.poll() is not None]:
            for message in worker.messages()[0]:
                self._heard(worker, message)
            self._replace(worker, worker.ending())
        now = time.monotonic()
        for worker in [worker for worker in self.members if now > worker.deadline]:
            self._replace(worker, Death(f"no answer within {worker.limit:g} s", overdue=True))
        for worker in [worker for worker in self.members if worker.ready and worker.order is None]:
            self._give(worker)

    def _give(self, worker: "_Worker") -> None:
        order = None if self.supervisor.finished() else self.supervisor.next()
        if order is None:
            worker.deadline = float("inf")
        else:
            worker.give(order)

    def _heard(self, worker: "_Worker", message: dict[str, Any]) -> None:
        event = message.pop("event")
        worker.wait(float(message.pop("limit", PATIENCE)))
        if event == "refused":
            raise InputError(message["reason"])
        if event == "broken":
            raise RuntimeError(message["reason"])
        if event == "ready":
            worker.ready = True
        elif worker.order is not None and event == "told":
            self.supervisor.heard(worker.order, message)
        elif worker.order is not None and event == "done":
            order, worker.order = worker.order, None
            self.supervisor.done(order, message["result"])
        if worker.ready and worker.order is None:
            self._give(worker)

    def _replace(self, worker: "_Worker", death: Death) -> None:
        self.selector.unregister(worker.replies)
        self.members.remove(worker)
        worker.kill()
        if not worker.ready:
            raise InputError(f"a worker process could not start its work: {death.reason}")
        if worker.order is not None:
            self.supervisor.died(worker.order, death)
        if not self.supervisor.finished():
            self.start()

    def close(self) -> None:
        for worker in self.members:
            worker.kill()
        self.selector.close()


class _Worker:
    """One worker process, seen from its parent."""

    def __init__(self, content: bytes, environment: Mapping[str, str], printed: Relay) -> None:
        if not hasattr(os, "killpg"):  # Windows
            raise InputError(NO_WORKERS)
        self.token = secrets.token_hex(16)
        commands, self._commands = os.pipe()
        self.replies, replies = os.pipe()
        output, printing = os.pipe()
        try:
            self.process = child(
                "countenance.worker_process",
                (commands, replies),
                {**environment, TOKEN: self.token},
                stdout=printing,
                stderr=printing,
                start_new_session=True,
            )
        finally:
            for handle in (commands, replies, printing):
                os.close(handle)
        self.printed = printed.follow(output)
        os.set_blocking(self.replies, False)
        self.order: Order | None = None
        self.ready = False
        self.buffer = b""
        self.unreadable = False
        self.wait(PATIENCE)
        self._send(struct.pack("<Q", len(content)) + content)

    def wait(self, seconds: float) -> None:
        """Expect the next message within this many seconds."""
        self.limit, self.deadline = seconds, time.monotonic() + seconds

    def give(self, order: Order) -> None:
        self.order = order
        self.wait(PATIENCE)
        self._send(dumps(order).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # its end is noticed where its replies are read
            while data:
                data = data[os.write(self._commands, data) :]

    def messages(self) -> tuple[list[dict[str, Any]], bool]:
        """The complete messages that have arrived, and whether the worker has ended."""
        ended = False
        while True:
            try:
                block = os.read(self.replies, 65536)
            except BlockingIOError:
                break
            if not block:
                ended = True
                break
            self.buffer += block
        *lines, self.buffer = self.buffer.split(b"\n")
        try:
            return [loads(line) for line in lines], ended
        except ValueError:  # the worker's model wrote into the connection
            self.unreadable = True
            return [], True

    def ending(self) -> Death:
        """How the process ended; a reply pipe that was closed while the process lives counts as an end too."""
        if self.unreadable:
            return Death("the worker process sent what cannot be read")
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return Death("the worker process closed its connection")
        if code < 0:
            return Death(f"the worker process was killed by signal {-code}", -code)
        return Death(f"the worker process ended with code {code}")

    def kill(self) -> None:
        """End the process and all processes that were started in it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for process in _marked(self.token):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        os.close(self._commands)
        os.close(self.replies)
        self.printed.join(1.0)


def _marked(token: str) -> Iterator[int]:
    """Processes that carry a worker's mark: children that left its session (Linux only)."""
    mark = f"{TOKEN}={token}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


@dataclass
class _Question:
    """The supervisor behind `ask`: one order, tried once."""

    order: Order
    begun: bool = False
    over: bool = False
    result: Any = None
    death: Death | None = None

    def next(self) -> Order | None:
        if self.begun:
            return None
        self.begun = True
        return self.order

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        return

    def done(self, order: Order, result: Any) -> None:
        self.result, self.over = result, True

    def died(self, order: Order, death: Death) -> None:
        self.death, self.over = death, True

    def finished(self) -> bool:
        return self.over


@dataclass
class _List:
    """The supervisor behind `each`: a list of orders, each repeated once after a death, but not after a timeout."""

    orders: list[Order]
    results: Callable[[int, Any], None]
    on_message: Callable[[int, Mapping[str, Any]], None]
    waiting: list[int] = field(init=False)
    tried: dict[int, int] = field(default_factory=dict)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.waiting, self.left = list(range(len(self.orders)))[::-1], len(self.orders)

    def next(self) -> Order | None:
        if not self.waiting:
            return None
        index = self.waiting.pop()
        return {"index": index, "order": self.orders[index]}

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        self.on_message(order["index"], message)

    def done(self, order: Order, result: Any) -> None:
        self.left -= 1
        self.results(order["index"], result)

    def died(self, order: Order, death: Death) -> None:
        index = order["index"]
        self.tried[index] = self.tried.get(index, 0) + 1
        if death.overdue:
            raise InputError(f"ended because its time was over: {death.reason}")
        if self.tried[index] > 1:
            raise InputError(f"a worker process ended twice on the same piece of work: {death.reason}")
        self.waiting.append(index)

    def finished(self) -> bool:
        return self.left == 0


def each(
    target: str,
    job: Any,
    orders: Iterable[Order],
    *,
    workers: int = 1,
    environment: Mapping[str, str] | None = None,
    done: Callable[[int, Any], None] = lambda index, result: None,
    heard: Callable[[int, Mapping[str, Any]], None] = lambda index, message: None,
) -> list[Any]:
    """The results of a list of orders, in their order; `done` is called as each arrives.

    >>> each("countenance.worker_process:echo", {"times": 2}, [{"say": "a"}, {"say": "b"}])
    ['aa', 'bb']
    """
    queue = list(orders)
    results: list[Any] = [None] * len(queue)

    def keep(index: int, result: Any) -> None:
        results[index] = result
        done(index, result)

    if queue:
        supervisor = _List(queue, keep, heard)
        job = {"target": target, "job": job}
        Pool("countenance.worker_process:unwrapped", job, min(workers, len(queue)), environment or {}).run(supervisor)
    return results
