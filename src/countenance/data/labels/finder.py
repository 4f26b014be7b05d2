"""The picture that a cell means: by path, by the end of a path, by the bare name, by its number."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from urllib.parse import unquote

from countenance.data.labels.aliases import SPLIT_WORDS
from countenance.data.names import ImageNames


class PictureFinder:
    """The pictures of a folder (or a dataset) under every name that can only mean one of them.

    >>> finder = PictureFinder(["train/a.jpg", "val/a.jpg", "val/000007.jpg"])
    >>> finder.find("/data/val/a.jpg"), finder.find("7"), finder.find("a.jpg"), finder.candidates("a.jpg")
    ('val/a.jpg', 'val/000007.jpg', None, ['train/a.jpg', 'val/a.jpg'])
    >>> finder.find("a.jpg", ["val", "31"])
    'val/a.jpg'
    """

    def __init__(self, ids: Iterable[str], aliases: Mapping[str, str] | None = None) -> None:
        self.ids = list(ids)
        self._aliases = aliases or {}
        self.names = ImageNames(self.ids, self._aliases)
        self._by_file: dict[str, list[str]] = {}
        numbers: dict[int, list[str]] = {}
        for name in self.ids:
            path = PurePosixPath(name)
            for key in dict.fromkeys((path.name.casefold(), path.stem.casefold())):
                self._by_file.setdefault(key, []).append(name)
            if path.stem.isdecimal():
                numbers.setdefault(int(path.stem), []).append(name)
        self._numbers = {number: names[0] for number, names in numbers.items() if len(names) == 1}

    def find(self, cell: str, row: Iterable[str] = ()) -> str | None:
        """The picture that a cell means; other cells of its row resolve equal names in several folders."""
        if not cell or len(cell) > 4096:
            return None
        picture = self._by_name(cell)
        if picture is not None:
            return picture
        candidates = self.candidates(cell)
        if len(candidates) > 1:
            words = {word.casefold().replace(" ", "_") for word in row if word}
            known = {name: len(words & _folders(name)) for name in candidates}
            most = max(known.values())
            candidates = [name for name in candidates if known[name] == most > 0]
        if len(candidates) == 1:
            return candidates[0]
        plain = cell.removesuffix(".0")
        return self._numbers.get(int(plain)) if plain.isdecimal() and len(plain) < 19 else None

    @cached_property
    def by_folder(self) -> dict[str, list[str]]:
        """The pictures below each folder, by the folder's name in lower case.

        >>> PictureFinder(["P1/a.jpg", "7"], {"P2/b.jpg": "7"}).by_folder
        {'p1': ['P1/a.jpg'], 'p2': ['7']}
        """
        folders: dict[str, list[str]] = {}
        for name, picture in (*zip(self.ids, self.ids, strict=True), *self._aliases.items()):
            for folder in PurePosixPath(name).parts[:-1]:
                folders.setdefault(folder.casefold(), []).append(picture)
        return {folder: list(dict.fromkeys(pictures)) for folder, pictures in folders.items()}

    def candidates(self, cell: str) -> list[str]:
        """Every picture whose file has the name in a cell, except those of another split than the cell's."""
        path = _path(cell)
        return [name for name in self._by_file.get(path.name.casefold(), []) if _one_split(path, name)]

    def names_picture(self, cell: str) -> bool:
        """Whether a cell names at least one picture; a bare number is taken for one only with its leading zeros."""
        if not cell or len(cell) > 4096:
            return False
        return self._by_name(cell) is not None or bool(self.candidates(cell))

    def _by_name(self, cell: str) -> str | None:
        picture = self.names.find(cell) or ("%" in cell and self.names.find(unquote(cell))) or None
        return picture if picture is not None and _one_split(_path(cell), picture) else None


def _path(cell: str) -> PurePosixPath:
    return PurePosixPath(cell.replace("\\", "/"))


def _one_split(path: PurePosixPath, name: str) -> bool:
    """Whether a path and a picture can be of one split: train/1.jpg is not val/1.jpg."""
    splits, others = _splits(path), _splits(PurePosixPath(name))
    return not splits or not others or splits == others


def _splits(path: PurePosixPath) -> set[str]:
    """The splits that the folders of a path are of: train, validation, test."""
    return {SPLIT_WORDS[part.casefold()] for part in path.parts[:-1] if part.casefold() in SPLIT_WORDS}


def _folders(name: str) -> set[str]:
    return {part.casefold() for part in PurePosixPath(name).parts[:-1]}
