"""One writer at a time in an object store: a lock object that its holder renews.

A killed holder cannot remove its lock, so a lock counts only while it changes. A process that finds one watches it for
the time of a lease, only by its own clock: clocks of several machines are never compared, and a clock that jumps has no
effect. On the same machine the holder's process is looked up instead, without waiting.
"""

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from countenance.errors import InputError

LOCK = ".lock"
RENEWED = 5.0
"""Seconds between two renewals."""
LEASE = 20.0
"""A lock that has not changed for this many seconds belongs to nobody."""


class Locked(Protocol):
    """The operations that a lease needs from an object store."""

    @property
    def place(self) -> str: ...
    def read_version(self, name: str) -> tuple[bytes, str] | None: ...
    def replace_version(self, name: str, content: bytes, version: str | None) -> str | None: ...
    def delete(self, name: str) -> None: ...


class Lease:
    """The lock of a place."""

    def __init__(self, storage: Locked, *, lease: float = LEASE, renewed: float = RENEWED) -> None:
        self.storage, self.lease, self.renewed = storage, lease, renewed
        self.owner, self.machine = secrets.token_hex(8), machine()
        self.version: str | None = None
        self.lost = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; `InputError` when another writer holds it, or took it over after a pause of this one."""
        self._take()
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(over,), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
            if not self.lost:
                self.storage.delete(LOCK)
        if self.lost:
            raise InputError(
                f"{self.storage.place}: another command took this place over while this one was cut off from the "
                "store; run the same command again when the other has ended"
            )

    def _content(self) -> bytes:
        about = {"owner": self.owner, "machine": self.machine, "process": os.getpid(), "beat": secrets.token_hex(4)}
        return json.dumps(about).encode()

    def _take(self) -> None:
        self.version = self.storage.replace_version(LOCK, self._content(), None)
        while self.version is None:
            lock = self.storage.read_version(LOCK)
            if lock is None:  # released in between
                self.version = self.storage.replace_version(LOCK, self._content(), None)
                continue
            content, version = lock
            if not _dead(content) and not self._silent(content, version):
                raise InputError(
                    f"{self.storage.place}: another run is writing here; wait for it or name another place"
                )
            self.version = self.storage.replace_version(LOCK, self._content(), version)

    def _silent(self, content: bytes, version: str) -> bool:
        """Whether the lock stays unchanged for the time of a lease."""
        if _here(content):
            return False
        end = time.monotonic() + self.lease
        while time.monotonic() < end:
            time.sleep(min(1.0, self.lease / 10))
            lock = self.storage.read_version(LOCK)
            if lock is None or lock[1] != version:
                return False
        return True

    def _keep(self, over: threading.Event) -> None:
        while not over.wait(self.renewed):
            try:
                version = self.storage.replace_version(LOCK, self._content(), self.version)
            except InputError:  # the store cannot be reached; commits are safe without the lock, so the run continues
                continue
            if version is None and self._mine():
                continue
            if version is None:
                self.lost = True
                return
            self.version = version

    def _mine(self) -> bool:
        """Whether a renewal that seemed to fail had succeeded: its reply may have been lost."""
        lock = self.storage.read_version(LOCK)
        if lock is None or _about(lock[0]).get("owner") != self.owner:
            return False
        self.version = lock[1]
        return True


def machine() -> str:
    """A name of this machine that changes when it is started again."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123 - a kernel file
            boot = file.read().strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}".strip()


def _about(content: bytes) -> dict[str, Any]:
    try:
        about = json.loads(content)
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


def _here(content: bytes) -> bool:
    """Whether the lock's holder is a living process of this machine."""
    about = _about(content)
    return about.get("machine") == machine() and not _dead(content)


def _dead(content: bytes) -> bool:
    """Whether the lock's holder was a process of this machine that has ended."""
    about = _about(content)
    process = about.get("process")
    if about.get("machine") != machine() or not isinstance(process, int) or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
