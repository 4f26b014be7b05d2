"""Named blobs on a disk or in an object store, in which runs are kept."""

from pathlib import Path

from countenance.errors import InputError
from countenance.storage.base import Missing, Storage, StoredFile
from countenance.storage.local import LocalStorage
from countenance.storage.s3 import SCHEME, S3Storage
from countenance.text import refuse_credentials

__all__ = ["Missing", "Storage", "StoredFile", "is_url", "open_storage", "place_of"]


def is_url(place: str | Path) -> bool:
    """Whether a place is an object store rather than a folder; other URLs are refused.

    >>> is_url("s3://bucket/run"), is_url("runs/mine")
    (True, False)
    """
    text = str(place)
    scheme, colon, _ = text.partition("://")
    if colon:
        refuse_credentials(text)
    if colon and not text.startswith(SCHEME) and scheme.isalnum():
        raise InputError(f"{text}: found a URL of {scheme}, expected a folder or s3://bucket/prefix")
    return text.startswith(SCHEME)


def place_of(text: str) -> Path | str:
    """The place that a user named: a folder, or a URL without a slash at its end.

    >>> place_of("runs/mine"), place_of("s3://bucket/mine/")
    (PosixPath('runs/mine'), 's3://bucket/mine')
    """
    if not text.strip():
        raise InputError("an empty name where a run should be; name its folder or its URL")
    return text.rstrip("/") if is_url(text) else Path(text)


def open_storage(place: str | Path | Storage, *, patient: bool = False) -> Storage:
    """The storage at a place; nothing is created before something is written.

    `patient` is for workers: their place was reached before, so they wait for a store that does not answer.
    """
    if not isinstance(place, str | Path):
        return place
    if is_url(place):
        return S3Storage(str(place), patient=patient)
    return LocalStorage(Path(place))
