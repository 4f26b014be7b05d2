"""From what a user wrote (a folder or a URL) to the storage behind it."""

from pathlib import Path

from countenance.storage.base import Storage
from countenance.storage.local import LocalStorage

SCHEMES = ("s3://",)


def is_url(place: str | Path) -> bool:
    """Whether a place is an object store rather than a folder.

    >>> is_url("s3://bucket/run"), is_url("runs/mine")
    (True, False)
    """
    return str(place).startswith(SCHEMES)


def open_storage(place: str | Path | Storage) -> Storage:
    """The storage at a place; nothing is created before something is written."""
    if not isinstance(place, str | Path):
        return place
    return LocalStorage(Path(place))
