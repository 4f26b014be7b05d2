"""A child process of ours: it imports a function, calls it with a job, and processes orders.

`python -m countenance.worker_process` is the other end of the pool in `countenance.run.engine.processes`. This module
is at the bottom of the layers because every worker starts by importing it: nothing here may be slow to import.
"""

import os
import pickle  # between our own two processes only
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from json import dumps, loads  # bound here: a model may replace those of the module
from pathlib import Path
from typing import IO, Any

from countenance.errors import InputError
from countenance.files import explained
from countenance.text import kind_of, words_of

Order = dict[str, Any]
Tell = Callable[..., None]
Handler = Callable[[Order, Tell], Any]

NO_WORKERS = (
    "worker processes need Linux or macOS; on Windows audits of tables, reports, saved predictions and the viewer work"
)


def child(
    module: str, handles: Sequence[int], environment: Mapping[str, str], words: Sequence[str] = (), **settings: Any
) -> "subprocess.Popen[bytes]":
    """Start a module of ours as a process with the same imports; it gets these handles as arguments.

    The current folder is not on its path unless it is on ours: it may hold a foreign `numpy.py`.
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


def unwrapped(job: Any) -> Handler:
    """The handler of a list of orders, each wrapped with its place in the list."""
    handle = _function(job["target"])(job["job"])
    return lambda order, tell: handle(order["order"], tell)


def echo(job: Any) -> Handler:
    """A handler for examples: it returns an order's text, repeated as often as the job says."""
    return lambda order, tell: order["say"] * job["times"]


def _function(target: str) -> Callable[[Any], Handler]:
    module, _, name = target.partition(":")
    function: Callable[[Any], Handler] = getattr(import_module(module), name)
    return function


_worker = False


def in_worker() -> bool:
    """Whether this process is a worker, which does not get Ctrl-C."""
    return _worker


def main() -> None:
    """The worker's side: read the job, then orders, until the parent closes the connection."""
    import countenance.worker_process as imported  # this file runs as __main__ here

    imported._worker = True
    die_with_parent()
    print_by_line()
    commands = os.fdopen(int(sys.argv[1]), "rb")
    replies = os.fdopen(int(sys.argv[2]), "w", buffering=1)
    sys.argv = sys.argv[:1]
    (size,) = struct.unpack("<Q", commands.read(8))
    target, job = pickle.loads(commands.read(size))  # noqa: S301 - written by our own parent process
    try:
        _serve(target, job, commands, replies)
    except BrokenPipeError:
        return


def print_by_line() -> None:
    """Write each line when it is printed, as standard error does, and not when a buffer is full.

    Both go into one pipe, so the lines of a thread arrive in the order in which it printed them; the buffer of a worker
    that is killed would be lost.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


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
            os._exit(1)  # this process cannot continue; another determines on which image
        except Exception:
            send(event="broken", reason=traceback.format_exc())
        except BaseException as error:  # such an exception would be raised in any process
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
