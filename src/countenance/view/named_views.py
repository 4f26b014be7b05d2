"""Views with a name: addresses of this viewer, stored in a file in the first folder that was named."""

import re
import threading
from dataclasses import asdict, dataclass

from countenance.decoding import json_of
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.file_names import VIEWS
from countenance.storage import Missing, Storage

MOST = 200
LONGEST = 120
ADDRESS = re.compile(
    r"/(?:(?:runs/[a-z0-9-]+(?:/(?:rows|samples|unanswered)(?:/\d+)?)?|compare(?:/samples)?)?)(?:\?[^#\s]{0,4000})?"
)
"""The address of a page of this viewer: a path that begins with one slash, and a query."""


@dataclass(frozen=True)
class View:
    """A saved view."""

    name: str
    address: str


class Saved:
    """The saved views of one folder, or of one prefix of an object store."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._lock = threading.Lock()

    def views(self) -> list[View]:
        """Every saved view; addresses outside this viewer are left out."""
        if not self.storage.has(VIEWS):
            return []
        try:
            content = json_of(self.storage.read(VIEWS), VIEWS)
            views = [View(str(view["name"])[:LONGEST], str(view["address"])) for view in content["views"][:MOST]]
        except (ValueError, KeyError, TypeError, OSError, RecursionError, Missing, InputError):
            return []
        return [view for view in views if ADDRESS.fullmatch(view.address)]

    def save(self, name: str, address: str) -> View:
        """Store a view under a name; a view of the same name is replaced."""
        view = View(" ".join(name.split())[:LONGEST], address)
        if not view.name:
            raise InputError("a saved view needs a name")
        if not ADDRESS.fullmatch(address):
            raise InputError(f"{address[:80]!r} is not a page of this viewer, so it cannot be saved")
        with self._lock:
            others = [other for other in self.views() if other.name != view.name]
            if len(others) >= MOST:
                raise InputError(f"{MOST} views are saved already; delete some first")
            self._write([*others, view])
        return view

    def delete(self, name: str) -> None:
        """Delete a view."""
        with self._lock:
            self._write([view for view in self.views() if view.name != name])

    def _write(self, views: list[View]) -> None:
        place = f"{self.storage.place}/{VIEWS}"
        try:
            self.storage.write(VIEWS, to_json({"views": [asdict(view) for view in views]}).encode())
        except OSError as error:
            raise InputError(f"{place}: cannot be written ({error.strerror}); the view was not saved") from None
