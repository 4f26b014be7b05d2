"""Named blobs on a disk or in an object store: what a run is kept in."""

from countenance.storage.base import Entry, Missing, Storage
from countenance.storage.places import is_url, open_storage, place_of

__all__ = ["Entry", "Missing", "Storage", "is_url", "open_storage", "place_of"]
