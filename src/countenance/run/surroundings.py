"""Files around a run that may name or show people: samples for a cluster, views saved in the viewer."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from countenance.data.manifest import INDEX
from countenance.decoding import json_of
from countenance.errors import InputError, RunError
from countenance.files import to_json
from countenance.run.file_names import VIEWS
from countenance.run.store import RunStore
from countenance.storage import Missing, Storage, is_url, open_storage

SAMPLES = ".samples"
"""Ending of the folder that holds the samples while a cluster works on a run."""
MARKER = "countenance.json"
"""The file that marks samples as written by a run; a user's folder of that name lacks it."""
OWN = re.compile(rf"{re.escape(MARKER)}|{re.escape(INDEX)}|part-\d{{5,}}\.parquet")


def samples_beside(place: str) -> Storage:
    """The place of a run's samples while a cluster works on it."""
    return open_storage(f"{place}{SAMPLES}")


def prepare_samples(place: str) -> Storage:
    """The place of the samples of a run, empty and marked as ours; InputError where somebody else uses it."""
    storage = samples_beside(place)
    remove_samples(storage)
    if storage.entries():
        raise RunError(f"{storage.place}: is in the way and is not ours; move it, or name another place for the run")
    storage.write(MARKER, to_json({"what": "samples of a run that a cluster works on; removed at its end"}).encode())
    return storage


def remove_samples(storage: Storage) -> list[str]:
    """Delete the samples that a run put at a place; returns the names of files that are not ours, which stay."""
    names = [entry.name for entry in storage.entries()]
    if MARKER not in names or (not is_url(storage.place) and Path(storage.place).is_symlink()):
        return []
    own = [name for name in names if OWN.fullmatch(name)]
    for name in sorted(own, key=lambda name: name == MARKER):  # the marker last: a kill in between changes nothing
        storage.delete(name)
    left = [name for name in names if name not in own]
    if not left and not is_url(storage.place):
        list(storage.leftovers())
        with suppress(OSError):  # links, or folders, of somebody else are in it
            Path(storage.place).rmdir()
    return left


def forget_beside(store: RunStore, names: set[str]) -> None:
    """Remove samples that a killed cluster run left, and saved views that name somebody, here or in the folder above.

    Only the process that holds the run may call this: a working cluster needs its samples.
    """
    remove_samples(samples_beside(store.place))
    places = [store.storage]
    if not is_url(store.place):
        places.append(open_storage(Path(store.place).absolute().parent))
    for storage in places:
        try:
            content = json_of(storage.read(VIEWS), VIEWS)
            views = content["views"]
            remaining = [view for view in views if not _names(view, names)]
        except (Missing, InputError, KeyError, TypeError):
            continue
        if len(remaining) < len(views):
            storage.write(VIEWS, to_json({**content, "views": remaining}).encode())


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
    """Whether a text holds a name that is not part of a longer name."""
    start = text.find(name)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        start = text.find(name, start + 1)
    return False
