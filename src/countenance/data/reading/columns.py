"""A CSV file as columns of text: read at once, its cells parsed on access, each with its place."""

import ast
import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.data.tables import near
from countenance.errors import DataError
from countenance.words import plain_float

Floats = NDArray[np.float64]


@dataclass
class TextTable:
    """Rows as columns of text.

    >>> table = TextTable(Path("a.csv"), Path(), {"box": ["[1, 2, 3, 4]"]}, [1])
    >>> table.boxes("box"), table.place(0, "box")
    (array([[1., 2., 4., 6.]]), 'a.csv row 1: box')
    """

    path: Path
    root: Path
    """The folder that contains the files that cells name."""
    columns: dict[str, list[str]]
    line: list[int]
    """The row number of each row in the file, counted from 1 without the header."""
    problems: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.line)

    def place(self, i: int, column: str) -> str:
        """A cell's place, for messages."""
        return f"{self.path} row {self.line[i]}: {column}"

    def text(self, column: str) -> list[str]:
        """The cells of a column."""
        return self.columns[column]

    def literals(self, column: str) -> list[Any]:
        """Each cell of a column as a parsed plain value."""
        return [literal(text, self.place(i, column)) for i, text in enumerate(self.text(column))]

    def numbers(self, column: str) -> Floats:
        """Each cell of a column as a number; an empty one is NaN."""
        cells = self.text(column)
        out = np.empty(len(cells))
        for i, text in enumerate(cells):
            try:
                out[i] = plain_float(text) if text else np.nan
            except ValueError:
                raise DataError(f"{self.place(i, column)}: {text!r} is not a number") from None
        return out

    def boxes(self, column: str) -> Floats:
        """Boxes as x0, y0, x1, y1 (the file has x, y, width, height)."""
        out = np.empty((len(self), 4))
        for i, box in enumerate(self.literals(column)):
            if not (isinstance(box, (list, tuple)) and len(box) == 4 and all(map(is_number, box))):
                expected = "expected [x, y, width, height] in finite numbers"
                raise DataError(f"{self.place(i, column)}: {box!r:.60} is not a box, {expected}")
            x, y, width, height = box
            if width < 0 or height < 0:
                raise DataError(f"{self.place(i, column)}: {box!r:.60} has a negative width or height")
            out[i] = x, y, x + width, y + height
        return out

    def file(self, i: int, column: str) -> Path:
        """Where the file is that a cell names; a name that leads out of the root is refused."""
        return inside(self.root, self.text(column)[i], self.place(i, column))

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> Self:
        """Some of the rows, in the order given."""
        picked = {name: [cells[i] for i in rows] for name, cells in self.columns.items()}
        return replace(self, columns=picked, line=[self.line[i] for i in rows])


def is_number(value: Any) -> bool:
    """Whether a value is a finite number within the range of floats."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


_JSON = json.JSONDecoder(parse_constant=_refuse)


def literal(text: str, place: str) -> Any:
    """The value of a Python literal such as "[1, 2.5]" or "{'0. Nose': [3, 4, 1]}"; an expression is refused, not run.

    Nearly all cells are also JSON once their quotes are changed, which reads forty times faster; what is not
    (a quote or a backslash inside, tuples, True, None) goes through `ast.literal_eval`.

    >>> literal("{'0. Nose': [3, 4.5, 1]}", "x.csv row 2: keypoints")
    {'0. Nose': [3, 4.5, 1]}
    >>> literal("__import__('os').getcwd()", "x.csv row 2: keypoints")
    Traceback (most recent call last):
    countenance.errors.DataError: x.csv row 2: keypoints: "__import__('os').getcwd()" is not a plain value (a list, \
a dict, numbers, text); expressions are not run
    """
    if '"' not in text and "\\" not in text:
        try:
            return _JSON.decode(text.replace("'", '"'))
        except (ValueError, RecursionError):
            pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise DataError(
            f"{place}: {text[:60]!r} is not a plain value (a list, a dict, numbers, text); expressions are not run"
        ) from None


def read_columns(path: Path, target: Sequence[str], expected: str = "a table") -> dict[str, list[str]]:
    """Some columns of a CSV file, as text; `expected` says in errors what should be there.

    Files with long cells (polygons) are read whole, many times faster than row by row.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow

    try:
        with path.open("rb") as stream:
            head = stream.readline()
        size = path.stat().st_size
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; expected {expected} there") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if not head.strip():
        raise DataError(f"{path}: the file is empty, expected a header line")
    try:
        header = [name.strip() for name in next(csv.reader([head.decode("utf-8-sig")]))]
    except UnicodeDecodeError:
        raise DataError(f"{path} line 1: not UTF-8 text; save it as UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path} line 1: {error}") from None
    for name in target:
        if name not in header:
            raise DataError(f"{path}: column {name!r} is missing{near(name, header)}; found {', '.join(header)}")
        if header.count(name) > 1:
            raise DataError(f"{path} line 1: column {name!r} appears twice")
    kinds = {name: pa.string() for name in target}
    try:
        table = arrow.read_csv(
            path,
            # Cells with polygons are long: one block holds the whole file, so that no cell is cut.
            arrow.ReadOptions(
                use_threads=False,
                block_size=min(max(size + 1, 1 << 16), (1 << 31) - 1),
                skip_rows=1,
                column_names=header,
            ),
            arrow.ParseOptions(newlines_in_values=True),
            arrow.ConvertOptions(include_columns=list(target), column_types=kinds, strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: {str(error).splitlines()[0][:160]}") from None
    return {name: table.column(name).to_pylist() for name in target}


def check_ages(table: TextTable, who: str = "subject_id", most: float = 5, *, strict: bool = False) -> None:
    """Refuse ids whose rows have ages more than `most` years apart; smaller differences are noted as problems.

    With `strict` the larger ones are noted, too.
    """
    result: dict[str, list[tuple[float, int]]] = {}
    for i, (subject, age) in enumerate(zip(table.text(who), table.numbers("age").tolist(), strict=True)):
        if age == age and not 0 <= age <= 130:
            raise DataError(f"{table.place(i, 'age')}: {age:g}, expected 0 to 130 years")
        if age == age:
            result.setdefault(subject, []).append((age, i))
    for subject, ages in result.items():
        (low, first), (high, second) = min(ages), max(ages, key=lambda item: item[0])
        if high > low:
            rows = f"{low:g} in row {table.line[first]} and {high:g} in row {table.line[second]}"
            line = f"{table.path}: subject {subject} is {rows}"
            if high - low > most and not strict:
                raise DataError(f"{line}; one id must be one person (give each person an id of their own)")
            table.problems.append(line)
