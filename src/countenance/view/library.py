"""The runs that are shown: found below the named folders, looked for again when somebody asks."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.run.manifest import Manifest
from countenance.run.store import AUDIT, SHARDS, RunStore
from countenance.storage import Missing
from countenance.view.opened import OpenRun, stamp_of
from countenance.view.scope import ScopedStorage, canonical, id_of, runs_below

FRESH = 2.0
"""Seconds for which a search of the folders counts."""
MOST_OPEN = 4
"""Runs whose columns are kept in memory."""


class Unknown(InputError):
    """There is no run of that id."""


@dataclass(frozen=True)
class Summary:
    """A run in the list. One that cannot be read has a `problem` and nothing else to say."""

    id: str
    name: str
    place: str
    suite: str = ""
    task: str = ""
    model: str = ""
    dataset: str = ""
    status: str = "damaged"
    verdict: str = ""
    reason: str = ""
    images: int = 0
    done: int = 0
    failed: int = 0
    finished: str = ""
    changed: float = 0.0
    problem: str = ""


class Library:
    """The runs below some folders."""

    def __init__(self, places: Sequence[Path | str]) -> None:
        self.roots = canonical(places)
        self._paths: dict[str, tuple[Path, str]] = {}
        self._searched = 0.0
        self._summaries: dict[str, tuple[Any, Summary]] = {}
        self._open: dict[str, OpenRun] = {}
        self._lock = threading.RLock()

    def paths(self) -> dict[str, tuple[Path, str]]:
        """Every run's folder and name by id."""
        with self._lock:
            if not self._paths or time.monotonic() - self._searched > FRESH:
                found: dict[str, tuple[Path, str]] = {}
                for root in self.roots:
                    for path in runs_below(root):
                        name = root.name if path == root else path.relative_to(root).as_posix()
                        found.setdefault(id_of(path), (path, name))
                self._paths, self._searched = found, time.monotonic()
            return self._paths

    def summaries(self) -> list[Summary]:
        """The runs, the latest first."""
        made = [self._summary(key, path, name) for key, (path, name) in self.paths().items()]
        return sorted(made, key=lambda one: (-one.changed, one.name))

    def _summary(self, key: str, path: Path, name: str) -> Summary:
        storage = ScopedStorage(path)
        stamp = (stamp_of(storage), _shards(storage))
        known = self._summaries.get(key)
        if known is None or known[0] != stamp:
            known = (stamp, _summarized(key, storage, name, stamp))
            self._summaries[key] = known
        return known[1]

    def open(self, key: str) -> OpenRun:
        """The run of an id; `Unknown` when nothing of that id was found below the named folders."""
        found = self.paths().get(key)
        if found is None:
            raise Unknown(f"no run {key!r} below {', '.join(map(str, self.roots))}")
        path, _ = found
        with self._lock:
            known = self._open.pop(key, None)
            if known is None or known.stamp != stamp_of(known.storage):
                known = OpenRun(key, path)
            self._open[key] = known  # the latest last
            while len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            return known


def _shards(storage: ScopedStorage) -> int:
    try:
        return sum(1 for _ in storage.path(SHARDS).iterdir())
    except (OSError, InputError):
        return 0


def _summarized(key: str, storage: ScopedStorage, name: str, stamp: tuple[Any, int]) -> Summary:
    changed = max((part[0] for part in stamp[0] if part), default=0) / 1e9
    try:
        manifest = RunStore(storage).manifest()
    except (InputError, OSError) as error:
        return Summary(key, name, storage.place, changed=changed, problem=str(error))
    verdict, reason, problem = _verdict(storage, manifest)
    images = manifest.dataset.images
    done = images if manifest.status == "complete" else min(stamp[1] * (manifest.shard or 0), images)
    return Summary(
        key, name, storage.place, manifest.suite or "", manifest.task, manifest.model.name, manifest.dataset.card.name,
        manifest.status, verdict, reason, images, done, manifest.failed, manifest.finished or "", changed, problem,
    )  # fmt: skip


def _verdict(storage: ScopedStorage, manifest: Manifest) -> tuple[str, str, str]:
    """The verdict of the stored audit with its reason; or what is wrong with the files."""
    if manifest.status == "complete" and not RunStore(storage).score_files():
        return "", "", "scores.parquet is missing"
    try:
        found = json.loads(storage.read(AUDIT))
        return str(found["verdict"]), str(found["reason"]), ""
    except Missing:
        return "", "", ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", "", "audit.json is damaged; `countenance audit` writes it again"
    except (InputError, OSError) as error:
        return "", "", str(error)


def as_json(one: Summary) -> dict[str, Any]:
    """A run of the list as the API gives it."""
    return asdict(one)
