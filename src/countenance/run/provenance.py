"""Where a run came from, as it is published (without the folders of a machine) and as it is kept here."""

import shlex
import sys
from pathlib import Path

from countenance.files import exists
from countenance.storage import is_url

EMBEDDED = "people"
"""The dataset whose parts have names: a folder of the same name is another thing."""


def published_command() -> str:
    """The command line with the folders of this machine left out.

    >>> import sys
    >>> sys.argv, kept = ["/usr/bin/countenance", "run", "--data", "/home/me/faces"], sys.argv
    >>> published_command()
    'countenance run --data faces'
    >>> sys.argv = kept
    """
    words = sys.argv or ["python"]
    return shlex.join([Path(word).name if Path(word).is_absolute() else word for word in words])


def located(source: str | None) -> str | None:
    """A dataset's source with an absolute path, so that it is found from any folder.

    >>> located("people:portraits"), located(None)
    ('people:portraits', None)
    """
    if source is None or is_url(source):
        return source
    head, colon, rest = source.partition(":")
    path, mark, options = (rest if colon else head).partition("?")
    if exists(source):
        return str(Path(source).absolute())
    if colon and path and head != EMBEDDED and exists(path):
        return f"{head}:{Path(path).absolute()}{mark}{options}"
    return source
