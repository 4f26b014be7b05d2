"""Views with a name: an address of this viewer, kept in a file in the first folder that was named."""

import json
import re
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from countenance.errors import InputError
from countenance.files import write_json
from countenance.run.store import VIEWS

MOST = 200
LONGEST = 120
ADDRESS = re.compile(
    r"/(?:(?:runs/[a-z0-9-]+(?:/(?:rows|samples|unanswered)(?:/\d+)?)?|compare(?:/samples)?)?)(?:\?[^#\s]{0,4000})?"
)
"""A page of this viewer: a path that begins with one slash, and a query."""


@dataclass(frozen=True)
class View:
    """A saved view."""

    name: str
    address: str


class Saved:
    """The saved views of one folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / VIEWS
        self._lock = threading.Lock()

    def views(self) -> list[View]:
        """Every saved view; what is not a page of this viewer is left out, whoever wrote the file."""
        if self.path.is_symlink() or not self.path.is_file():
            return []
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            views = [View(str(one["name"])[:LONGEST], str(one["address"])) for one in found["views"][:MOST]]
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            return []
        return [view for view in views if ADDRESS.fullmatch(view.address)]

    def save(self, name: str, address: str) -> View:
        """Keep a view under a name; the same name again replaces it."""
        view = View(" ".join(name.split())[:LONGEST], address)
        if not view.name:
            raise InputError("a saved view needs a name")
        if not ADDRESS.fullmatch(address):
            raise InputError(f"{address[:80]!r} is not a page of this viewer, so it cannot be saved")
        with self._lock:
            others = [one for one in self.views() if one.name != view.name]
            if len(others) >= MOST:
                raise InputError(f"{MOST} views are saved already; delete some first")
            self._write([*others, view])
        return view

    def delete(self, name: str) -> None:
        """Forget a view."""
        with self._lock:
            self._write([one for one in self.views() if one.name != name])

    def _write(self, views: list[View]) -> None:
        if self.path.is_symlink():
            raise InputError(f"{self.path}: a link; the viewer does not follow it")
        try:
            write_json(self.path, {"views": [asdict(one) for one in views]})
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror}); the view was not saved") from None
