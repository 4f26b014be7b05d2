"""The one pool of worker processes: it gives out orders, watches deadlines, and survives workers that die.

A worker is a plain child process (`python -m countenance.processes`) rather than a fork or a spawn of the user's
program: that program is never imported again, a crash takes only the worker down, and a worker that hangs can be
killed. It runs in its own session with an empty standard input; what is printed in it goes to standard error, each line
with a prefix and no more than a screenful; processes that were started in it end with it; a killed parent takes its
workers along.

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
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from json import dumps, loads  # bound here: a model may replace those of the module
from pathlib import Path
from typing import IO, Any, Protocol

from countenance.errors import InputError
from countenance.files import explained
from countenance.relay import Relay
from countenance.text import kind_of, words_of

Order = dict[str, Any]
Tell = Callable[..., None]
Handler = Callable[[Order, Tell], Any]

PATIENCE = 300.0
"""Seconds that a worker may be silent unless its last message says otherwise."""
NO_WORKERS = (
    "worker processes need Linux or macOS; on Windows audits of tables, reports, saved predictions and the viewer work"
)
TOKEN = "COUNTENANCE_WORKER"  # noqa: S105 - the name of a variable, not a secret
"""The variable that marks a worker and everything started in it, however far it went from its parent."""


@dataclass(frozen=True)
class Death:
    """How a worker ended before its order was done."""

    reason: str
    signal: int | None = None
    """The signal that killed it; 9 without our doing is usually the machine running out of memory."""
    overdue: bool = False


class WorkerDied(Exception):
    """A worker ended before it had done what it was asked for."""


class Supervisor(Protocol):
    """What decides which order comes next and what to do when a worker dies."""

    def next(self) -> Order | None:
        """The next order for an idle worker; None when there is nothing to give out now."""

    def heard(self, order: Order, message: Mapping[str, Any]) -> None:
        """A message of the handler."""

    def done(self, order: Order, result: Any) -> None:
        """An order's result."""

    def died(self, order: Order, death: Death) -> None:
        """A worker ended with this order: put it back, give it up, or raise."""

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
        """Give out orders until the supervisor has finished; every worker has ended when this returns or raises.

        With `keep`, workers stay for the next call, which may want another number of them; `close` ends them.
        """
        if self._crew is None:
            self._crew = _Crew(pickle.dumps((self.target, self.job)), self.environment, Relay(self.label))
        kept = False
        try:
            self._crew.work(supervisor, workers or self.workers)
            kept = keep
        finally:
            if not kept:
                self.close()

    def ask(self, order: Order) -> Any:
        """The result of one order; the worker stays for the next one. WorkerDied when it ends instead.

        >>> pool = Pool("countenance.processes:echo", {"times": 2})
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
                "countenance.processes",
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
        """Expect the next message within so many seconds."""
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
        except ValueError:  # something in the worker wrote into its connection
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
        """End the process and everything that was started in it."""
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


def child(
    module: str, handles: Sequence[int], environment: Mapping[str, str], words: Sequence[str] = (), **settings: Any
) -> "subprocess.Popen[bytes]":
    """Start a module of ours as a process that imports what this one can, and is given these handles as arguments.

    The current folder is not on its path unless it is on ours: a stranger's `numpy.py` may lie in it.
    """
    if not hasattr(os, "killpg"):  # Windows
        raise InputError(NO_WORKERS)
    path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module, *words, *(str(handle) for handle in handles)],
        stdin=subprocess.DEVNULL,
        pass_fds=handles,
        env={**os.environ, **environment, "PYTHONPATH": path},
        **settings,
    )


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
    """The supervisor behind `each`: a list of orders, each tried again once after a death, but not after its time."""

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

    >>> each("countenance.processes:echo", {"times": 2}, [{"say": "a"}, {"say": "b"}])
    ['aa', 'bb']
    """
    wanted = list(orders)
    found: list[Any] = [None] * len(wanted)

    def keep(index: int, result: Any) -> None:
        found[index] = result
        done(index, result)

    if wanted:
        supervisor = _List(wanted, keep, heard)
        job = {"target": target, "job": job}
        Pool("countenance.processes:_unwrapped", job, min(workers, len(wanted)), environment or {}).run(supervisor)
    return found


def _unwrapped(job: Any) -> Handler:
    handle = _function(job["target"])(job["job"])
    return lambda order, tell: handle(order["order"], tell)


def echo(job: Any) -> Handler:
    """The handler of the example above."""
    return lambda order, tell: order["say"] * job["times"]


def _function(target: str) -> Callable[[Any], Handler]:
    module, _, name = target.partition(":")
    found: Callable[[Any], Handler] = getattr(import_module(module), name)
    return found


_worker = False


def in_worker() -> bool:
    """Whether this process is a worker: nobody presses Ctrl-C in it."""
    return _worker


def main() -> None:
    """The worker's side: read the job, then orders, until the parent closes the connection."""
    import countenance.processes as imported  # this file runs as __main__ here

    imported._worker = True
    die_with_parent()
    commands = os.fdopen(int(sys.argv[1]), "rb")
    replies = os.fdopen(int(sys.argv[2]), "w", buffering=1)
    sys.argv = sys.argv[:1]
    (size,) = struct.unpack("<Q", commands.read(8))
    target, job = pickle.loads(commands.read(size))  # noqa: S301 - written by our own parent process
    try:
        _serve(target, job, commands, replies)
    except BrokenPipeError:
        return


def die_with_parent() -> None:
    """On Linux a killed parent takes its workers along, so that no orphan writes into a resumed run."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _serve(target: str, job: Any, commands: IO[bytes], replies: IO[str]) -> None:
    def send(**message: Any) -> None:
        replies.write(dumps(message) + "\n")
        replies.flush()

    def tell(**message: Any) -> None:
        send(event="told", **message)

    def attempt(work: Callable[[], Any]) -> tuple[bool, Any]:
        try:
            return True, work()
        except InputError as error:
            send(event="refused", reason=words_of(error))
        except OSError as error:
            send(event="refused", reason=explained(error))
        except (RecursionError, MemoryError):
            os._exit(1)  # nothing is left to go on with; another process finds out on which image
        except Exception:
            send(event="broken", reason=traceback.format_exc())
        except BaseException as error:  # a model that raises such things raises them anywhere
            print(f"{kind_of(error)} ends the process", file=sys.stderr)
            os._exit(1)
        return False, None

    fine, handle = attempt(lambda: _function(target)(job))
    if not fine:
        return
    send(event="ready")
    for line in commands:
        order = loads(line)
        fine, result = attempt(lambda order=order: handle(order, tell))  # type: ignore[misc]
        if not fine:
            return
        send(event="done", result=result)


if __name__ == "__main__":
    main()
