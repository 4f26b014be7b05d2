"""Whose pictures are shown: rendered people always, real people blurred unless the user asks otherwise at the start."""

import getpass
import os
from dataclasses import dataclass
from datetime import UTC, datetime

import countenance
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.file_names import VIEWED
from countenance.run.run import Run
from countenance.storage import Missing

FULL, BLURRED = "full", "blurred"


@dataclass(frozen=True)
class Privacy:
    """The user's choice when the viewer was started."""

    show_faces: bool = False

    def mode(self, real_people: bool) -> str:
        """How pictures are shown: blurred or full.

        >>> Privacy().mode(True), Privacy().mode(False), Privacy(show_faces=True).mode(True)
        ('blurred', 'full', 'full')
        """
        return FULL if self.show_faces or not real_people else BLURRED

    def sentence(self, real_people: bool) -> str:
        """The sentence about the pictures of a page: whom they show, and whether blurred."""
        if not real_people:
            return "Nobody in these pictures exists."
        if self.show_faces:
            return "These pictures show real people; they are shown because of --show-faces, which is recorded."
        return (
            "These pictures show real people and are blurred. countenance view --show-faces shows them, for one start."
        )

    def record(self, run: Run) -> str:
        """Record in the run that the faces of real people are shown; returns a sentence about it, empty if none are.

        InputError if it cannot be recorded.
        """
        if not self.show_faces or not run.manifest.dataset.card.real_people:
            return ""
        entry = {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "who": _user(),
            "what": "faces of real people were shown (countenance view --show-faces)",
            "countenance": countenance.__version__,
        }
        line = to_json(entry).replace("\n", " ").strip() + "\n"
        try:
            before = run.store.storage.read(VIEWED)
        except Missing:
            before = b""
        try:
            run.store.storage.write(VIEWED, before + line.encode())
        except OSError as error:
            raise InputError(
                f"{run.place}: showing faces must be recorded there, and {VIEWED} cannot be written "
                f"({error.strerror}); start without --show-faces"
            ) from None
        return f"{run.place}: --show-faces was recorded in {VIEWED}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"
