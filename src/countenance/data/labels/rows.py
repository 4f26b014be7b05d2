"""A table of labels in memory, and the problems that were seen while it was read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from countenance.errors import DataError

MOST_SHOWN = 3


@dataclass
class Problems:
    """Everything that is wrong with a file, with problems of one kind together.

    >>> problems = Problems("my.csv")
    >>> problems.add("{} no picture", 4, "x.jpg", "row names", "rows name"); str(problems)
    "my.csv: 1 row names no picture (line 4: 'x.jpg')"
    """

    place: str
    kinds: dict[tuple[str, str, str], list[tuple[int, str]]] = field(default_factory=dict)
    whole: list[str] = field(default_factory=list)
    """What is wrong with the file as a whole: a column that is missing, an ambiguous name."""

    def add(self, sentence: str, line: int, cell: str = "", single: str = "row", many: str = "rows") -> None:
        """Record a problem of a line; `sentence` has {} for the count and the noun."""
        self.kinds.setdefault((sentence, single, many), []).append((line, cell))

    def add_whole(self, sentence: str) -> None:
        """Record a problem of the file as a whole."""
        if sentence not in self.whole:
            self.whole.append(sentence)

    def __bool__(self) -> bool:
        return bool(self.kinds or self.whole)

    def sentences(self) -> list[str]:
        """One sentence for each kind of problem."""
        return self.whole + [
            f"{sentence.format(f'{len(places):,} {single if len(places) == 1 else many}')} ({_places(places)})"
            for (sentence, single, many), places in self.kinds.items()
        ]

    def __str__(self) -> str:
        return f"{self.place}: {'; '.join(self.sentences())}"

    def refuse(self) -> None:
        """Raise all problems at once, if there are any."""
        if self:
            raise DataError(str(self))


def _places(places: Sequence[tuple[int, str]]) -> str:
    shown = ", ".join(f"line {line}: {cell!r:.60}" if cell else f"line {line}" for line, cell in places[:MOST_SHOWN])
    return shown + (", …" if len(places) > MOST_SHOWN else "")


@dataclass
class LabelTable:
    """The rows of a label file as columns of text.

    >>> table = LabelTable(Path("my.csv"), {"file": ["a.jpg"], "age": ["31"]}, [2])
    >>> table.names, len(table)
    (['file', 'age'], 1)
    """

    path: Path
    columns: dict[str, list[str]]
    lines: list[int]
    decimal_comma: bool = False
    """Whether the table uses decimal commas (12,5); its columns are then not separated by commas."""
    kind: str | None = None
    """What every box shows (face, person) where the format says so, as WIDER FACE does."""
    headless: bool = False
    """Whether the file has no line with names; columns are then called 1, 2, 3."""
    problems: Problems = field(init=False)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.problems = Problems(str(self.path))

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def __len__(self) -> int:
        return len(self.lines)
