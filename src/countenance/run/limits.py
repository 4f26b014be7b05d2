"""A time limit for work in the user's own program, where no worker process can be ended."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


class TooSlow(Exception):
    """A step took longer than its limit."""


@contextmanager
def limited_time(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlow` in the context once this many seconds have passed; None: no limit.

    The system's timer is needed, which only the main thread of a program on Linux or macOS has, and which must not be
    in use; elsewhere there is no limit. A single call into a library is interrupted when it returns.

    >>> with limited_time(0.01):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    countenance.run.limits.TooSlow: took longer than 0.01 s
    """
    here = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if seconds is None or not here or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def over(*_: object) -> NoReturn:
        raise TooSlow(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
