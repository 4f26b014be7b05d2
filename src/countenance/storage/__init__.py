"""Named blobs on a disk or in an object store: what a run is kept in."""

from countenance.storage.base import Missing, Storage, StoredFile
from countenance.storage.places import is_url, open_storage, place_of

__all__ = ["Missing", "Storage", "StoredFile", "is_url", "open_storage", "place_of"]
