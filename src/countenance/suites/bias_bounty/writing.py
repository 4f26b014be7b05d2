"""Folders written whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from countenance.errors import InputError


@contextmanager
def new_folder(out: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill, which becomes `out` when all went well; an existing one is refused unless `replace`."""
    if out.exists() and not replace:
        raise InputError(f"{out}: exists already; name a folder that does not")
    out.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}-"))
    try:
        filled = staging / "filled"
        filled.mkdir()
        yield filled
        if out.exists():
            out.rename(staging / "old")
        filled.rename(out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
