"""The annotation table of FHIBE and FHIBE-Face: one row per person, read safely, with every problem's place."""

import ast
import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.fhibe.vocabulary import BODY_TASKS, DATASETS, FACE_TASKS, TASKS

Floats = NDArray[np.float64]

COLUMNS: dict[str, tuple[str, ...]] = {
    "person_localization": ("person_bbox",),
    "face_localization": ("face_bbox",),
    "person_parsing": ("segments", "image_height", "image_width"),
    "keypoint_estimation": ("keypoints", "face_bbox", "segments", "image_height", "image_width"),
    "body_parts_detection": ("keypoints", "segments"),
    "face_parsing": ("CelebA", "image_height", "image_width"),
    "face_verification": ("multiple_subjects",),
    "face_encoding": (),
    "face_super_resolution": (),
}
"""The columns that each task reads beside filepath, image_id, subject_id, age and the attributes."""

MINI_SEED = 42


def dataset_folder(dataset_name: str, task: str, downsampled: bool = True) -> str:
    """The folder of a dataset: FHIBE has a downsampled twin, the face datasets have none.

    >>> dataset_folder("fhibe", "person_parsing"), dataset_folder("fhibe_face_crop_align", "face_parsing")
    ('fhibe_downsampled', 'fhibe_face_crop_align')
    """
    if task not in TASKS:
        raise InputError(f"task {task!r} is not one of {', '.join(TASKS)}{near(task, TASKS)}")
    base = dataset_name.removesuffix("_downsampled")
    if base not in DATASETS:
        raise InputError(f"dataset {dataset_name!r} is not one of {', '.join(DATASETS)}{near(dataset_name, DATASETS)}")
    face = base != "fhibe"
    if task not in (FACE_TASKS if face else BODY_TASKS):
        wanted = "fhibe" if face else "fhibe_face_crop_align"
        raise InputError(f"task {task} does not run on dataset {dataset_name}; use {wanted}")
    return base if face or not (downsampled or base != dataset_name) else f"{base}_downsampled"


@dataclass
class FhibeTable:
    """The rows of one dataset as columns of text; cells are parsed when a task asks for them."""

    path: Path
    root: Path
    columns: dict[str, list[str]]
    line: list[int]
    """The row number of each row in the file, counted from 1 without the header."""
    problems: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.line)

    def place(self, i: int, column: str) -> str:
        return f"{self.path} row {self.line[i]}: {column}"

    def text(self, column: str) -> list[str]:
        try:
            return self.columns[column]
        except KeyError:
            raise InputError(
                f"{self.path}: column {column!r} is missing{near(column, list(self.columns))}; "
                f"found {', '.join(self.columns)}"
            ) from None

    def literals(self, column: str) -> list[Any]:
        """Each cell of a column as the plain value that it writes."""
        return [literal(text, self.place(i, column)) for i, text in enumerate(self.text(column))]

    def numbers(self, column: str) -> Floats:
        cells = self.text(column)
        out = np.empty(len(cells))
        for i, text in enumerate(cells):
            try:
                out[i] = float(text) if text else np.nan
            except ValueError:
                raise InputError(f"{self.place(i, column)}: {text!r} is not a number") from None
        return out

    def boxes(self, column: str) -> Floats:
        """Boxes as x0, y0, x1, y1 (the file has x, y, width, height)."""
        out = np.empty((len(self), 4))
        for i, box in enumerate(self.literals(column)):
            if not (isinstance(box, (list, tuple)) and len(box) == 4 and all(map(is_number, box))):
                expected = "expected [x, y, width, height] in finite numbers"
                raise InputError(f"{self.place(i, column)}: {box!r:.60} is not a box, {expected}")
            x, y, width, height = box
            if width < 0 or height < 0:
                raise InputError(f"{self.place(i, column)}: {box!r:.60} has a negative width or height")
            out[i] = x, y, x + width, y + height
        return out

    def sizes(self) -> list[tuple[int, int]]:
        """Height and width of each row's picture."""
        found = {name: self.numbers(name) for name in ("image_height", "image_width")}
        for name, values in found.items():
            for i in np.flatnonzero(~((values >= 1) & (values <= 1 << 16))).tolist():
                raise InputError(f"{self.place(i, name)}: {self.text(name)[i]!r}, expected 1 to 65536 pixels")
        return [(int(height), int(width)) for height, width in zip(*found.values(), strict=True)]

    def image_path(self, i: int) -> Path:
        """Where a row's picture is; a name that leads out of the root is refused."""
        return inside(self.root, self.text("filepath")[i], self.place(i, "filepath"))

    def keys(self) -> list[str]:
        """The name of each row's image in model_outputs.json: its absolute path, as published."""
        prefix = os.path.join(str(self.root), "")  # noqa: PTH118 - the published keys are plain joins
        return [prefix + name for name in self.text("filepath")]

    def output_keys(self, task: str) -> list[str]:
        """The names of a task's outputs: those of verification are in the processed folder, as published."""
        if task != "face_verification":
            return self.keys()
        return [f"{self.root}/data/processed/{name}" for name in self.text("filepath")]

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "FhibeTable":
        """Some of the rows, in the order given."""
        picked = {name: [cells[i] for i in rows] for name, cells in self.columns.items()}
        return FhibeTable(self.path, self.root, picked, [self.line[i] for i in rows], self.problems)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number of a size that floats have."""
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
    countenance.errors.InputError: x.csv row 2: keypoints: "__import__('os').getcwd()" is not a plain value (a list, \
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
        raise InputError(
            f"{place}: {text[:60]!r} is not a plain value (a list, a dict, numbers, text); expressions are not run"
        ) from None


def processed(root: Path, dataset: str) -> Path:
    """The folder of a dataset's table: `data/processed/DATASET` or `processed/DATASET` below the root."""
    folders = [root / middle / dataset for middle in ("data/processed", "processed")]
    return next((folder for folder in folders if (folder / f"{dataset}.csv").is_file()), folders[0])


def read_table(
    root: str | Path, dataset: str, task: str, attributes: tuple[str, ...], *, strict: bool = False
) -> FhibeTable:
    """Read the columns that a task and its attributes need from `{root}/data/processed/{dataset}/{dataset}.csv`.

    A missing column, a name that leads out of the root, and (unless strict) one subject id with ages more
    than five years apart are refused; smaller differences of age are noted as problems.
    """
    base = Path(root)
    path = processed(base, dataset) / f"{dataset}.csv"
    wanted = ("filepath", "image_id", "subject_id", *COLUMNS[task], *attributes)
    columns = _read_columns(path, tuple(dict.fromkeys(wanted)))
    rows = len(columns["filepath"])
    if rows == 0:
        raise InputError(f"{path}: no rows below the header")
    table = FhibeTable(path, base, columns, list(range(1, rows + 1)))
    for i, name in enumerate(columns["filepath"]):
        if not name or name[0] == "/" or ".." in name or "\\" in name or "\x00" in name or name[1:2] == ":":
            inside(base, name, table.place(i, "filepath"))
    if "age" in columns:
        _check_ages(table, strict)
    return table


def _read_columns(path: Path, wanted: tuple[str, ...]) -> dict[str, list[str]]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    try:
        with path.open("rb") as stream:
            head = stream.readline()
        size = path.stat().st_size
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected FHIBE's annotation table there") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    if not head.strip():
        raise InputError(f"{path}: the file is empty, expected a header line")
    try:
        header = [name.strip() for name in next(csv.reader([head.decode("utf-8-sig")]))]
    except UnicodeDecodeError:
        raise InputError(f"{path} line 1: not UTF-8 text; save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path} line 1: {error}") from None
    for name in wanted:
        if name not in header:
            raise InputError(f"{path}: column {name!r} is missing{near(name, header)}; found {', '.join(header)}")
        if header.count(name) > 1:
            raise InputError(f"{path} line 1: column {name!r} appears twice")
    kinds = {name: pa.string() for name in wanted}
    try:
        table = arrow.read_csv(
            path,
            # Cells with polygons are long: one block holds the whole file, so that no cell is cut.
            arrow.ReadOptions(use_threads=False, block_size=min(max(size + 1, 1 << 16), (1 << 31) - 1)),
            arrow.ParseOptions(newlines_in_values=True),
            arrow.ConvertOptions(include_columns=list(wanted), column_types=kinds, strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: {str(error).splitlines()[0][:160]}") from None
    return {name: table.column(name).to_pylist() for name in wanted}


def _check_ages(table: FhibeTable, strict: bool) -> None:
    found: dict[str, list[tuple[float, int]]] = {}
    for i, (subject, age) in enumerate(zip(table.text("subject_id"), table.numbers("age").tolist(), strict=True)):
        if age == age and not 0 <= age <= 130:
            raise InputError(f"{table.place(i, 'age')}: {age:g}, expected 0 to 130 years")
        if age == age:
            found.setdefault(subject, []).append((age, i))
    for subject, ages in found.items():
        (low, first), (high, second) = min(ages), max(ages, key=lambda one: one[0])
        if high > low:
            rows = f"{low:g} in row {table.line[first]} and {high:g} in row {table.line[second]}"
            line = f"{table.path}: subject {subject} is {rows}"
            if high - low > 5 and not strict:
                raise InputError(f"{line}; one id must be one person (give each person an id of their own)")
            table.problems.append(line)


def mini(table: FhibeTable, size: int) -> FhibeTable:
    """The published mini dataset: `size` rows drawn without replacement, in the order drawn."""
    if not isinstance(size, int) or isinstance(size, bool):
        raise InputError(f"mini dataset of {size!r:.40} rows asked for, expected a whole number")
    if size < 1 or size > len(table):
        raise InputError(f"mini dataset of {size} rows asked for, {table.path} has {len(table)}")
    drawn = np.random.RandomState(MINI_SEED).choice(len(table), size=size, replace=False)
    return table.take(drawn.astype(np.intp))


def everyone_in(table: FhibeTable, drawn: FhibeTable) -> FhibeTable:
    """All people of the images of some drawn rows: the drawn ones first, in the order drawn.

    A person who was not drawn is still in the picture: a box on them is no false alarm.
    """
    images, lines = set(drawn.text("filepath")), set(drawn.line)
    row = {line: i for i, line in enumerate(table.line)}
    others = [i for i, name in enumerate(table.text("filepath")) if name in images and table.line[i] not in lines]
    return table.take([row[line] for line in drawn.line] + others)
