"""Class numbers of label files: which word each stands for.

Label files of the YOLO kind have numbers alone. A file beside them (`classes.txt` of labelImg, `obj.names` and
`_darknet.labels` of darknet, `data.yaml` of Ultralytics) says what they mean. A wrong order would reverse every
judgement, so it is never guessed silently.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from countenance.data.categories import LABELS, classes_in_words, says_masked
from countenance.data.tables import read_text
from countenance.data.yaml_text import parse_yaml, read_yaml
from countenance.errors import DataError, InputError

FILES = ("classes.txt", "obj.names", "_darknet.labels", "data.yaml", "data/obj.names")
YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class ClassNames:
    """Words by class number, and where they come from."""

    words: Mapping[int, str]
    source: str
    keypoints: int | None = None
    """How many numbers of keypoints follow each box, where the file says so."""

    def word(self, number: int, place: str) -> str:
        """The word of a class number; a number without one is refused.

        >>> ClassNames({0: "face"}, "classes.txt").word(1, "a.txt line 2")
        Traceback (most recent call last):
        countenance.errors.DataError: a.txt line 2: class 1, expected 0 = face (classes.txt)
        """
        if number not in self.words:
            raise DataError(f"{place}: class {number}, expected {classes_in_words(self.words)} ({self.source})")
        return self.words[number]

    def labels(self) -> dict[int, str]:
        """The class numbers that mean mask or no mask."""
        return {number: LABELS[words] for number, word in self.words.items() if (words := says_masked(word))}

    def agree(self, stated: Mapping[int, str]) -> None:
        """Raise where the user's choice of mask and no mask differs from the file's."""
        labels = self.labels()
        if any(labels.get(number, label) != label for number, label in stated.items()):
            request = ",".join(f"{number}={label}" for number, label in stated.items())
            raise DataError(
                f"{self.source}: says {classes_in_words(labels)}, and classes= says {request}; "
                "correct the file, or leave the option out"
            )


def classes_beside(folder: Path, root: Path | None = None) -> ClassNames | None:
    """The classes that a file in a folder, or in a folder above it up to `root`, names; None without such a file."""
    for here in (folder, *folder.parents):
        for path in (here / name for name in FILES):
            if path.is_file():
                return _read(path)
        described = [path for path in sorted(here.glob("*.y*ml")) if _has_names(path)]
        if len(described) == 1:
            return _read(described[0])
        if root is None or here == root:
            return None
    return None


def _has_names(path: Path) -> bool:
    """Whether a YAML file names classes, whatever it is called (`dataset.yaml`, `coco128.yml`)."""
    try:
        content = read_yaml(path) if path.suffix in YAML else None
    except InputError:
        return False
    return isinstance(content, dict) and isinstance(content.get("names"), dict | list)


def _read(path: Path) -> ClassNames:
    """The classes that a file names."""
    shape = read_yaml(path).get("kpt_shape") if path.suffix in YAML and _has_names(path) else None
    numbers = shape if isinstance(shape, list) and all(isinstance(number, int) for number in shape) else []
    return ClassNames(_names(path), str(path), numbers[0] * numbers[1] if len(numbers) == 2 else None)


def _names(path: Path) -> dict[int, str]:
    """The names in a file of class names: one in each line, or the list `names` of a data.yaml."""
    text = read_text(path)
    if path.suffix not in YAML:
        words = [line.strip() for line in text.rstrip().splitlines()]
        if not words or "" in words:
            empty = f" line {words.index('') + 1}: empty" if words else ""
            raise DataError(f"{path}{empty}: expected the name of a class in every line, the first of class 0")
        return dict(enumerate(words))
    content = parse_yaml(text, str(path))
    try:
        names = content["names"]
        named = dict(names if isinstance(names, dict) else enumerate(names))
        if isinstance(names, str) or list(named) != list(range(len(named))) or not named:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{path}: no list names: of the classes from 0 on; expected names: ['no_mask', 'mask']"
        ) from None
    return {number: str(word) for number, word in named.items()}
