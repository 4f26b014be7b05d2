"""The runs that are shown: found below the named folders, and searched again on requests."""

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.models.labels import model_label
from countenance.run.file_names import AUDIT, SHARDS
from countenance.run.manifest import Manifest
from countenance.run.run import UNVERIFIED
from countenance.run.store import RunStore
from countenance.storage import Missing, is_url
from countenance.view.open_run import OpenRun, Unknown, stamp_of
from countenance.view.remote import Bucket
from countenance.view.scope import Folder, ScopedStorage, canonical

LONG = 1.0
"""If a list took longer than this many seconds to make, it is cached for longer."""
MOST_OPEN = 6
"""Runs whose columns and pictures are kept in memory: as many as one page compares, so that none displaces another."""


@dataclass(frozen=True)
class Summary:
    """A run in the list. A run that cannot be read has only a `problem`."""

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
    source: str = ""
    """The run's name of its dataset's source."""

    @property
    def model_label(self) -> str:
        """The model as pages call it."""
        return model_label(self.model)


class Library:
    """The runs below some folders, and below prefixes of object stores."""

    def __init__(
        self,
        places: Sequence[Path | str],
        *,
        verified: bool = True,
        data: Mapping[str, str] | None = None,
    ) -> None:
        self.how: dict[str, Any] = {"verified": verified, "data": dict(data or {})}
        """How runs are opened: `countenance.Run` says what each part means."""
        self.cautions = [] if verified else [UNVERIFIED]
        """Warnings on every page."""
        named = dict.fromkeys(str(place).rstrip("/") for place in places if is_url(place))
        folders = canonical([place for place in places if not is_url(place)])
        self.roots: list[Folder | Bucket] = [*map(Folder, folders), *map(Bucket, named)]
        self._searched: dict[int, tuple[float, list[tuple[str, str, ScopedStorage]]]] = {}
        self._listed: tuple[float, list[Summary]] = (0.0, [])
        self._summaries: dict[str, tuple[Any, Summary]] = {}
        self._open: dict[str, OpenRun] = {}
        self._lock = threading.RLock()

    def runs(self) -> dict[str, tuple[ScopedStorage, str]]:
        """Every run's storage and name by id."""
        runs: dict[str, tuple[ScopedStorage, str]] = {}
        with self._lock:
            for number, root in enumerate(self.roots):
                until, here = self._searched.get(number, (0.0, []))
                if not here or time.monotonic() > until:
                    start = time.monotonic()
                    here = list(root.runs())
                    self._searched[number] = (_until(start, root.fresh), here)
                for key, name, storage in here:
                    runs.setdefault(key, (storage, name))
        return runs

    def summaries(self) -> list[Summary]:
        """The runs, the latest first; a list that took long to make is cached for longer."""
        with self._lock:
            until, listed = self._listed
            if time.monotonic() > until:
                start = time.monotonic()
                listed = [self._summary(key, storage, name) for key, (storage, name) in self.runs().items()]
                listed.sort(key=lambda summary: (-summary.changed, summary.name))
                self._listed = (_until(start, 0.0), listed)
            return list(listed)

    def stamp(self) -> str:
        """A stamp that changes when the list of runs changes."""
        states = [
            (summary.id, summary.status, summary.done, summary.verdict, summary.problem) for summary in self.summaries()
        ]
        return hashlib.sha256(repr(states).encode()).hexdigest()

    def _summary(self, key: str, storage: ScopedStorage, name: str) -> Summary:
        stamp = (stamp_of(storage), storage.count(SHARDS))
        known = self._summaries.get(key)
        if known is None or known[0] != stamp:
            known = (stamp, _summarized(key, RunStore(storage, verified=self.how["verified"]), name, stamp))
            self._summaries[key] = known
        return known[1]

    def open(self, key: str) -> OpenRun:
        """The run of an id; `Unknown` when nothing of that id was found below the named folders."""
        entry = self.runs().get(key)
        if entry is None:
            raise Unknown(f"no run {key!r} below {', '.join(map(str, self.roots))}")
        storage, _ = entry
        with self._lock:
            known = self._open.pop(key, None)
            if known is None or known.stamp != stamp_of(known.storage):
                known = OpenRun(key, storage, **self.how)
            self._open[key] = known  # the latest last
            while len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            return known


def _until(start: float, least: float) -> float:
    """The time until which something begun at `start` is cached: for `least` seconds, and longer if it took long.

    Then it is cached for ten times its duration, so that repeating it takes a tenth of a processor at most.
    """
    now = time.monotonic()
    took = now - start
    return now + max(least, 10 * took if took > LONG else 0.0)


def _summarized(key: str, store: RunStore, name: str, stamp: tuple[Any, int]) -> Summary:
    changed = max((part[0] for part in stamp[0] if part and isinstance(part[0], int)), default=0) / 1e9
    try:
        manifest = store.manifest()
    except (InputError, OSError) as error:
        return Summary(key, name, store.place, changed=changed, problem=str(error))
    verdict, reason, problem = _verdict(store, manifest)
    images = manifest.dataset.images
    if not changed and manifest.finished:  # an object store's versions have no time
        with contextlib.suppress(ValueError):
            changed = datetime.fromisoformat(manifest.finished).timestamp()
    done = images if manifest.status == "complete" else min(stamp[1] * (manifest.shard or 0), images)
    return Summary(
        key,
        name,
        store.place,
        manifest.suite or "",
        manifest.task,
        manifest.model.name,
        manifest.dataset.label,
        manifest.status,
        verdict,
        reason,
        images,
        done,
        manifest.failed,
        manifest.finished or "",
        changed,
        problem,
        manifest.dataset.source or "",
    )


def _verdict(store: RunStore, manifest: Manifest) -> tuple[str, str, str]:
    """The verdict of the stored audit with its reason, or the problem of the files."""
    try:
        if manifest.status == "complete" and not all(map(store.storage.has, store.score_files())):
            return "", "", "scores.parquet is missing; the same `countenance run` command makes it again"
        audit = json.loads(store.read(AUDIT))
        return str(audit["verdict"]), str(audit["reason"]), ""
    except Missing:
        return "", "", ""
    except (InputError, OSError) as error:
        return "", "", str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", "", "audit.json is damaged; `countenance audit` writes it again"


def as_json(summary: Summary) -> dict[str, Any]:
    """A run of the list in the API's JSON form."""
    return asdict(summary)
