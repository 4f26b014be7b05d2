"""A static copy of the viewer's pages: for a web server, or as an artefact of CI."""

from pathlib import Path

from countenance.errors import InputError
from countenance.view.library import Library
from countenance.view.privacy import Privacy


def write_bundle(library: Library, privacy: Privacy, out: Path) -> list[str]:
    """Not there yet."""
    raise InputError(f"{out}: bundles are not written yet")
