"""Class numbers of YOLO files: which number is mask and which is no mask.

BAFMD counts 0 = no mask, 1 = mask. Other sets count otherwise and say so in a file beside their labels
(`classes.txt` of labelImg, `obj.names` and `_darknet.labels` of darknet, `data.yaml` of Ultralytics); such a file
decides. A wrong order turns every judgement round, so it is never guessed silently.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from countenance.data.categories import says_masked
from countenance.data.tables import read_text
from countenance.errors import InputError

BAFMD_CLASSES: Mapping[int, str] = {0: "no_mask", 1: "mask"}
FILES = ("classes.txt", "obj.names", "_darknet.labels", "data.yaml", "data/obj.names")
LABELS = {"yes": "mask", "no": "no_mask"}


@dataclass(frozen=True)
class Classes:
    """Words by class number, and where they come from."""

    words: Mapping[int, str]
    source: str

    def label(self, number: int, place: str) -> str:
        """`mask` or `no_mask` for a class number."""
        if number not in self.words:
            known = ", ".join(f"{key} = {word}" for key, word in self.words.items())
            raise InputError(f"{place}: class {number}, expected {known} ({self.source})")
        masked = says_masked(self.words[number])
        if masked is None:
            raise InputError(
                f"{place}: class {number} is {self.words[number]!r} ({self.source}), which says neither mask nor no "
                "mask; expected a class such as mask or no_mask"
            )
        return LABELS[masked]

    def labels(self) -> dict[int, str]:
        """Those class numbers that say mask or no mask."""
        found = {number: says_masked(word) for number, word in self.words.items()}
        return {number: LABELS[masked] for number, masked in found.items() if masked is not None}

    def __str__(self) -> str:
        return ", ".join(f"{number} = {label}" for number, label in self.labels().items()) + f" ({self.source})"


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
        for name in FILES:
            if (here / name).is_file():
                words = _yaml_names(here / name) if name.endswith(".yaml") else _lines(here / name)
                return Classes(dict(enumerate(words)), str(here / name))
        if root is None or here == root:
            return None
    return None


def _lines(path: Path) -> list[str]:
    words = [line.strip() for line in read_text(path).splitlines()]
    while words and not words[-1]:
        words.pop()
    if not words or "" in words:
        raise InputError(f"{path}: expected the name of a class in every line, the first of class 0")
    return words


def _yaml_names(path: Path) -> Sequence[str]:
    """The list `names` of a data.yaml, in any of the three ways it is written."""
    text = read_text(path)
    start = re.search(r"^names[ \t]*:", text, re.MULTILINE)
    if start is not None:
        rest = text[start.end() :]
        inline = re.match(r"\s*\[([^\]]*)\]", rest)
        if inline:
            return [word.strip().strip("'\"") for word in inline.group(1).split(",") if word.strip()]
        below = re.match(r"[ \t]*(?:#.*)?\n((?:[ \t]*(?:-|\d+[ \t]*:).*\n?)+)", rest)
        if below:
            lines = [line.strip() for line in below.group(1).splitlines()]
            words = [re.sub(r"^(-|\d+\s*:)\s*", "", line).strip("'\"") for line in lines]
            numbers = [int(found.group()) for line in lines if (found := re.match(r"\d+", line))]
            if not numbers or numbers == list(range(len(words))):
                return words
    raise InputError(f"{path}: no list names: of the classes from 0 on; expected names: ['no_mask', 'mask']")
