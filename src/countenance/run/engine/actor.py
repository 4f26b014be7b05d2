"""The worker of the Ray engine: a long-lived actor that makes the model once and processes shards.

It writes its shards itself and returns receipts of less than a kilobyte, so that no prediction passes through Ray.
"""

import os
import platform
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import ray

import countenance
from countenance.errors import InputError
from countenance.run.engine.base import Job
from countenance.run.engine.worker import serve
from countenance.run.store import RunStore

TOLD_AT_END = 2
MOST_TOLD = 20
"""Failures of a shard that are reported to the driver; all of them are in the shard."""
LONGEST = 300


def software() -> dict[str, str]:
    """The software versions that must be equal on the driver and every node for equal bytes."""
    import numpy as np
    import pyarrow as pa

    return {
        "countenance": countenance.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


@ray.remote(max_restarts=0, max_task_retries=0, concurrency_groups={"work": 1, "watch": 1})
class Actor:
    """Processes one shard at a time in the group `work`; `state` is answered at any time."""

    def __init__(self, job: Job, variables: Mapping[str, str]) -> None:
        for name, value in variables.items():
            os.environ.setdefault(name, value)  # a node's own credentials come first
        self.job = job
        self.handle: Any = None
        self.lock = threading.Lock()
        self.now: dict[str, Any] = {}

    @ray.method(concurrency_group="work")  # type: ignore[untyped-decorator]
    def hello(self, key: str) -> dict[str, Any]:
        """Make the task and the model; returns the node, the host and the software versions."""

        def start() -> dict[str, Any]:
            store = RunStore(self.job.store, patient=True)
            if not store.exists() or store.manifest().key != key:
                raise InputError(
                    f"node {platform.node()} does not see the run {self.job.store}; "
                    "use s3://bucket/prefix or a folder that every node shares"
                )
            self.handle = serve(self.job)
            return {}

        about = {"node": ray.get_runtime_context().get_node_id(), "host": platform.node(), "software": software()}
        return about | _receipt(start)

    @ray.method(concurrency_group="work")  # type: ignore[untyped-decorator]
    def work(self, order: dict[str, Any]) -> dict[str, Any]:
        """Process an order and return its receipt."""
        with self.lock:
            self.now = {
                "order": order["order"],
                "answered": 0,
                "failed": 0,
                "failures": [],
                "asking": [],
                "limit": None,
            }
        self._begin()
        receipt = _receipt(lambda: self.handle(order, self._tell))
        with self.lock:
            receipt |= {name: self.now[name] for name in ("answered", "failed")}
            receipt["failures"] = self.now["failures"][:TOLD_AT_END]
            self.now = {}
        return receipt

    @ray.method(concurrency_group="watch")  # type: ignore[untyped-decorator]
    def state(self) -> dict[str, Any]:
        """The work in progress and the seconds it has taken, by this machine's own clock; empty if there is no work."""
        with self.lock:
            if not self.now:
                return {}
            return {**self.now, "seconds": time.monotonic() - self.since}

    def _begin(self) -> None:
        self.since = time.monotonic()

    def _tell(self, **message: Any) -> None:
        with self.lock:
            self._begin()
            self.now["limit"] = message.get("limit")
            if "asking" in message:
                self.now["asking"] = message["asking"][:2]  # one, or several
                return
            self.now["asking"] = []
            self.now["answered"] += message.get("answered", 0)
            self.now["failed"] += len(message.get("failures", []))
            room = MOST_TOLD - len(self.now["failures"])
            self.now["failures"] += [_short(row) for row in message.get("failures", [])[:room]]


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(row[name])[:LONGEST] for name in ("sample", "kind", "reason")}


def _receipt(work: Callable[[], Any]) -> dict[str, Any]:
    """The result of some work, or the error as text, since an exception would carry whole objects along."""
    try:
        return dict(work() or {})
    except InputError as error:
        return {"refused": str(error)[:LONGEST]}
    except OSError as error:
        return {"trouble": f"{error.filename or 'a node'}: {error.strerror or error}"[:LONGEST]}
    except Exception:
        return {"broken": traceback.format_exc()[-3000:]}
