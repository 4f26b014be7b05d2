"""A rendered set as a tar file, or as several of a largest size."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

BLOCK = 512
END = 20 * BLOCK
"""What a tar file has beside its members: the blocks that end it."""


def write_archive(folder: Path, to: Path, largest: int | None = None) -> list[Path]:
    """Write every file of a folder, sorted, with fixed dates and owners: same files, same bytes. Returns the paths.

    With `largest` (bytes) the pieces are called `NAME.000.tar`, `NAME.001.tar`, and so on; each is a tar of its own.
    """
    pieces = list(_pieces(_files(folder), largest))
    paths = []
    for number, files in enumerate(pieces):
        path = to if largest is None else to.with_name(f"{to.name.removesuffix('.tar')}.{number:03d}.tar")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for file in files:
                member = tarfile.TarInfo(file.relative_to(folder).as_posix())
                member.size = file.stat().st_size
                with file.open("rb") as data:
                    tar.addfile(member, data)
        paths.append(path)
    return paths


def _files(folder: Path) -> list[Path]:
    """Finished files; a partial one starts with a point and is left out, the folder of truths is not."""
    every = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(every)


def _pieces(files: list[Path], largest: int | None) -> Iterator[list[Path]]:
    piece: list[Path] = []
    size = END
    for file in files:
        need = BLOCK + -(-file.stat().st_size // BLOCK) * BLOCK
        if piece and largest is not None and size + need > largest:
            yield piece
            piece, size = [], END
        piece.append(file)
        size += need
    yield piece
