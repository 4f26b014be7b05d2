"""What lies around a run and may name or show somebody: samples for a cluster, views saved in the viewer."""

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from countenance.files import to_json
from countenance.run.store import VIEWS, RunStore
from countenance.storage import Missing, Storage, is_url, open_storage

SAMPLES = ".samples"
"""What a run's place is followed by where the samples are while a cluster works on it."""


def samples_beside(place: str) -> Storage:
    """Where the samples of a run are while a cluster works on it."""
    return open_storage(f"{place}{SAMPLES}")


def remove(storage: Storage) -> None:
    """Delete everything at a place."""
    for entry in storage.entries():
        storage.delete(entry.name)
    if not is_url(storage.place):
        shutil.rmtree(storage.place, ignore_errors=True)


def forget_beside(store: RunStore, names: set[str]) -> None:
    """Remove samples that a killed cluster run left, and saved views that name somebody, here or in the folder above.

    Only whoever holds the run may call this: a cluster at work needs its samples.
    """
    remove(samples_beside(store.place))
    places = [store.storage]
    if not is_url(store.place):
        places.append(open_storage(Path(store.place).absolute().parent))
    for storage in places:
        try:
            content = json.loads(storage.read(VIEWS))
            views = content["views"]
            kept = [view for view in views if not _names(view, names)]
        except (Missing, ValueError, KeyError, TypeError):
            continue
        if len(kept) < len(views):
            storage.write(VIEWS, to_json({**content, "views": kept}).encode())


def _names(view: Any, names: set[str]) -> bool:
    """Whether a saved view's name or address holds one of the names as a whole value.

    >>> _names({"name": "Ann", "address": "/runs/a/rows?identity=id%2F7"}, {"id/7"})
    True
    >>> _names({"name": "all", "address": "/runs/a/rows?identity=id77"}, {"id7"})
    False
    """
    text = unquote_plus(f"{view['address']}\n{view['name']}")
    return any(_holds(text, name) for name in names if name)


def _holds(text: str, name: str) -> bool:
    """Whether a text holds a name that is not part of a longer one."""
    start = text.find(name)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        start = text.find(name, start + 1)
    return False
