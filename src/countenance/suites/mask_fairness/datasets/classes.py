"""Class numbers of YOLO files: which number is mask and which is no mask.

BAFMD counts 0 = no mask, 1 = mask. Other sets count otherwise and say so in a file beside their labels
(`classes.txt` of labelImg, `obj.names` and `_darknet.labels` of darknet, `data.yaml` of Ultralytics); such a file
decides. A wrong order turns every judgement round, so it is never guessed silently.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from countenance.data.categories import LABELS, classes_in_words, says_masked
from countenance.data.tables import read_text
from countenance.errors import InputError

BAFMD_CLASSES: Mapping[int, str] = {0: "no_mask", 1: "mask"}
FILES = ("classes.txt", "obj.names", "_darknet.labels", "data.yaml", "data/obj.names")


@dataclass(frozen=True)
class Classes:
    """Words by class number, and where they come from."""

    words: Mapping[int, str]
    source: str

    def masked(self, number: int, place: str) -> str:
        """Whether a class number says that a mask is worn: `yes` or `no`."""
        word = self.words.get(number)
        if word is None:
            raise InputError(f"{place}: class {number}, expected {classes_in_words(self.words)} ({self.source})")
        masked = says_masked(word)
        if masked is None:
            raise InputError(
                f"{place}: class {number} is {word!r} ({self.source}), which says neither mask nor no mask; expected a "
                "class such as mask or no_mask"
            )
        return masked

    def labels(self) -> dict[int, str]:
        """Those class numbers that say mask or no mask."""
        return {number: LABELS[said] for number, word in self.words.items() if (said := says_masked(word))}

    def __str__(self) -> str:
        return f"{classes_in_words(self.labels())} ({self.source})"


DEFAULT = Classes(BAFMD_CLASSES, "the order of BAFMD; a classes.txt beside the labels or --classes says otherwise")


def swapped(classes: Mapping[int, str]) -> str:
    """The option that exchanges mask and no mask.

    >>> swapped({0: "no_mask", 1: "mask"})
    '--classes 0=mask,1=no_mask'
    """
    other = {"mask": "no_mask", "no_mask": "mask"}
    return "--classes " + ",".join(f"{number}={other[label]}" for number, label in classes.items())


def classes_beside(folder: Path, root: Path | None = None) -> Classes | None:
    """The classes that a file in a folder names, or in a folder above it up to `root`; None where there is none."""
    for here in (folder, *folder.parents):
        for path in (here / name for name in FILES):
            if path.is_file():
                return Classes(_names(path), str(path))
        if root is None or here == root:
            return None
    return None


def _names(path: Path) -> dict[int, str]:
    """The names in a file of class names: one in each line, or the list `names` of a data.yaml."""
    text = read_text(path)
    if path.suffix != ".yaml":
        words = [line.strip() for line in text.rstrip().splitlines()]
        if not words or "" in words:
            raise InputError(f"{path}: expected the name of a class in every line, the first of class 0")
        return dict(enumerate(words))
    try:
        content = yaml.safe_load(text)
        names = content["names"]
        named = dict(names if isinstance(names, dict) else enumerate(names))
        if isinstance(names, str) or list(named) != list(range(len(named))) or not named:
            raise ValueError
    except (yaml.YAMLError, KeyError, TypeError, ValueError, RecursionError):
        raise InputError(
            f"{path}: no list names: of the classes from 0 on; expected names: ['no_mask', 'mask']"
        ) from None
    return {number: str(word) for number, word in named.items()}
