"""Recognises runs made here by this user, as opposed to runs that somebody sent, by a mark with a secret.

A run names code (`module:attr`), datasets and folders. In a user's own run these are trusted; in a run from somebody
else the sender chose them. The mark is a keyed hash over exactly those names, with a secret of this user that is
outside the run, so whoever edits one of them, or copies the mark into another run, has no valid mark.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import create_atomically, to_json

STATE = "COUNTENANCE_STATE"
"""The variable that names the folder of the secret, where the usual one cannot be used."""
LENGTH = 32


def state_folder() -> Path:
    """The folder of this user's secret: $COUNTENANCE_STATE, or the system's usual place."""
    if named := os.environ.get(STATE):
        return Path(named)
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises if there is no home folder
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "countenance"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or home) / "countenance"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "countenance"


_of_this_process = secrets.token_bytes(LENGTH)


def user_secret() -> bytes:
    """The secret of this user, created if missing.

    Where it cannot be kept (a home that cannot be written to), or somebody else could have made it, the secret is valid
    for this process alone: later processes then treat its runs as not made here.
    """
    return kept_secret() or _of_this_process


def kept_secret() -> bytes | None:
    """The secret stored in the user's folder; None where it cannot be stored."""
    path = state_folder() / "secret"
    with contextlib.suppress(OSError, InputError):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            create_atomically(path, secrets.token_bytes(LENGTH), mode=0o600)
        if _is_own(path):
            content = path.read_bytes()
            return content if len(content) == LENGTH else None
    return None


def _is_own(path: Path) -> bool:
    """Whether a file is this user's and writable by nobody else."""
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        return False
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o022)


def mark_of(claims: Any) -> str:
    """The mark over the names in a run."""
    text = to_json(claims).encode("utf-8", "surrogatepass")
    return hmac.new(user_secret(), text, hashlib.sha256).hexdigest()


def is_marked(claims: Any, mark: str) -> bool:
    """Whether a run's mark was made here, over exactly these names."""
    return bool(mark) and hmac.compare_digest(mark_of(claims).encode(), mark.encode("utf-8", "replace"))


def code_folder(source: str | None) -> str | None:
    """The folder from which the module of `module:attr` was imported, so that it is found again from anywhere."""
    name = (source or "").rpartition(":")[0]
    if name.endswith(".py"):
        return str(Path(name).absolute().parent)
    file = getattr(sys.modules.get(name), "__file__", None)
    if not name or file is None:
        return None
    path = Path(file).absolute()
    depth = name.count(".") + (path.name == "__init__.py")
    return str(path.parents[depth])


@contextmanager
def import_path(folder: str | None) -> Iterator[None]:
    """Import without the current folder: it may hold a run, and beside it a module from the run's sender.

    `folder` is the code folder of a run that was made here.
    """
    before, here = sys.path[:], Path.cwd()
    sys.path[:] = [entry for entry in before if entry and Path(entry).absolute() != here]
    if folder is not None:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path[:] = before
