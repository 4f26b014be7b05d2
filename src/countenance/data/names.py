"""Matches the names of images in a file of predictions to the images of a dataset."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from unicodedata import normalize

from countenance.data.tables import near
from countenance.errors import DataError

MOST_NAMED = 3


@dataclass(frozen=True)
class ImageNames:
    """The images of a dataset under every name that matches only one of them.

    A name is looked up as it is, then by its aliases (a COCO image id, say), then by the end of its path, without its
    folders, and without its ending. Letters with accents are the same in either of their Unicode forms.

    >>> names = ImageNames(["a/1.jpg", "a/2.jpg", "b/2.jpg"])
    >>> names.find("1"), names.find("/data/a/2.jpg"), names.find("2.jpg")
    ('a/1.jpg', 'a/2.jpg', None)
    """

    ids: list[str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    by_file_name: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Names whose file name matches an image in another folder."""

    @cached_property
    def _exact(self) -> set[str]:
        return set(self.ids)

    @cached_property
    def _endings(self) -> dict[str, str]:
        """Every ending of every path that belongs to one image alone."""
        return _unique((ending, name) for name in self.ids for ending in _endings(name))

    @cached_property
    def _stems(self) -> dict[str, str]:
        return _unique((stem, name) for name in self.ids for stem in map(_without_suffix, _endings(name)))

    def find(self, name: str) -> str | None:
        """The sample id that a name means; None when it matches no image, or several."""
        if name in self._exact:
            return name
        if name in self.aliases:
            return self.aliases[name]
        endings = list(_endings(name.replace("\\", "/")))
        whole = (self._endings.get(ending) for ending in endings)
        bare = (self._stems.get(_without_suffix(ending)) for ending in endings)
        result = next((result for result in (*whole, *bare) if result is not None), None)
        if result is not None and not _one_path(endings[0], result):
            self.by_file_name[name] = result
        return result

    def other_folders(self, place: str) -> str | None:
        """A sentence about names that were taken for images in other folders; None where no name was.

        InputError where two of them were taken for the same image.

        >>> names = ImageNames(["a/1.jpg"])
        >>> names.find("b/1.jpg"), names.other_folders("p.csv")
        ('a/1.jpg', 'p.csv: 1 image has another folder than in the dataset (b/1.jpg was taken for a/1.jpg)')
        """
        if not self.by_file_name:
            return None
        taken: dict[str, str] = {}
        for name, result in self.by_file_name.items():
            if _without_suffix(taken.setdefault(result, name)) != _without_suffix(name):
                raise DataError(
                    f"{place}: {taken[result]} and {name} can both only mean {result}; name images as the dataset does"
                )
        first = next(iter(self.by_file_name))
        images = "1 image has" if len(taken) == 1 else f"{len(taken)} images have"
        shown = f"{first} was taken for {self.by_file_name[first]}"
        return f"{place}: {images} another folder than in the dataset ({shown})"

    def unmatched(self, names: Iterable[str], place: str) -> str | None:
        """A sentence about the names that match no image of the dataset; None when all match."""
        lost = [name for name in dict.fromkeys(names) if self.find(name) is None]
        if not lost:
            return None
        shown = ", ".join(lost[:MOST_NAMED]) + (", …" if len(lost) > MOST_NAMED else "")
        hint = near(lost[0], self.ids[:5000])
        images = "1 image" if len(lost) == 1 else f"{len(lost)} images"
        return f"{place}: names {images} that the dataset does not have ({shown}){hint}"


def _endings(name: str) -> Iterable[str]:
    """`a/b/c.jpg`, `b/c.jpg`, `c.jpg`."""
    parts = PurePosixPath(normalize("NFC", name)).parts
    for i in range(len(parts)):
        yield "/".join(parts[i:])


def _one_path(name: str, result: str) -> bool:
    """Whether one of two paths, without their endings, is the end of the other."""
    item, other = (f"/{_without_suffix(normalize('NFC', path)).strip('/')}" for path in (name, result))
    return item.endswith(other) or other.endswith(item)


def _without_suffix(name: str) -> str:
    head, slash, last = name.rpartition("/")
    stem = last.rpartition(".")[0]
    return f"{head}{slash}{stem or last}"


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    listed = list(dict.fromkeys(pairs))
    times = Counter(key for key, _ in listed)
    return {key: name for key, name in listed if times[key] == 1}
