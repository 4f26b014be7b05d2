"""Plain tables: CSV or Parquet with a row for each box, each image's labels, or each embedding; also DataFrames.

| kind | columns |
|---|---|
| boxes | `image`, `x0`, `y0`, `x1`, `y1` (or `x`, `y`, `w`, `h`), optionally `score`, `label` |
| labels | `image`, one column for each attribute |
| age | `image`, `age` (or `years`), or a probability for each year: `p0`, `p1`, … |
| embedding | `image`, `vector` (a list) or `e0`, `e1`, … |
| scalars | `image`, one column of numbers for each name |

A row that names an image and has no box says that the image was looked at and nothing was found.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.boxes import Boxes
from countenance.answers.formats.base import (
    EMPTY,
    Format,
    PredictionRequest,
    Predictions,
    Row,
    TableRows,
    absence,
    by_image,
)
from countenance.answers.notes import unlabelled_note, unscored_note
from countenance.answers.values import Age, Embedding, Labels, Scalars
from countenance.data.labels.text_files import read_text_table
from countenance.data.tables import finite_number, near, read_csv, read_text
from countenance.decoding import decoding, read_parquet
from countenance.errors import ModelError
from countenance.metrics.readings import CORNERS as CORNERS_IN_PIXELS

IMAGE_COLUMNS = (
    "image",
    "sample",
    "file",
    "filename",
    "file_name",
    "image_name",
    "image_id",
    "path",
    "name",
    "id",
    "photo",
)
SCORE_COLUMNS = ("score", "confidence", "probability", "conf")
AGE_COLUMNS = ("age", "years", "estimated_age", "predicted_age")
LABEL_COLUMNS = ("label", "class", "category", "class_name", "category_name")
CORNERS, SIZES = ("x0", "y0", "x1", "y1"), ("x", "y", "w", "h")
OTHER_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("left", "top", "right", "bottom"),
)
SIZED = (SIZES, ("x", "y", "width", "height"), ("left", "top", "width", "height"))


def read_table(path: Path, request: PredictionRequest) -> Predictions:
    """Predictions of a CSV or Parquet file."""
    return read_rows(rows_of_file(path), request)


def rows_of_file(path: Path) -> TableRows:
    """The rows of a CSV or Parquet file."""
    if path.suffix.lower() == ".parquet":
        if not path.is_file():
            raise ModelError(f"{path}: no such file")
        table = read_parquet(path, path)
        with decoding(path, "Parquet file"):
            return TableRows(str(path), table.column_names, list(enumerate(table.to_pylist(), 1)))
    text = read_text(path)
    first = text.lstrip("\n\r").partition("\n")[0]
    if "," in first or not (";" in first or "\t" in first):
        header, rows = read_csv(path)
        return TableRows(str(path), header, rows, "line")
    return _other_signs(path)


def _other_signs(path: Path) -> TableRows:
    """The rows of a table separated by semicolons or tabs, as spreadsheets save it where decimals have a comma."""
    table = read_text_table(path, lambda cell: False)
    table.problems.refuse()
    columns = {
        name: [cell.replace(",", ".") if re.fullmatch(r"-?\d+,\d+", cell) else cell for cell in cells]
        for name, cells in table.columns.items()
    }
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return TableRows(str(path), list(columns), list(zip(table.lines, rows, strict=True)), "line")


def rows_of_columns(source: Any) -> TableRows:
    """The rows of a DataFrame, an Arrow table or a mapping of columns."""
    if any(name in IMAGE_COLUMNS for name in getattr(getattr(source, "index", None), "names", ())):
        source = source.reset_index()
    if hasattr(source, "to_pylist"):
        rows = source.to_pylist()
    elif hasattr(source, "to_dict") and hasattr(source, "columns"):
        rows = source.to_dict(orient="records") if len(set(source.columns)) == len(source.columns) else []
    elif isinstance(source, Mapping):
        columns = {str(name): list(values) for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise ModelError("predictions: columns of different lengths, expected one value in each row")
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    else:
        raise ModelError(f"predictions are a {type(source).__name__}, expected a path, a DataFrame or a table")
    header = [str(name) for name in getattr(source, "column_names", getattr(source, "columns", source))]
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"predictions: column {twice!r} occurs twice")
    named = ({str(name): value for name, value in row.items()} for row in rows)  # column names may be numbers
    return TableRows("predictions", header, list(enumerate(named, 1)))


def read_rows(table: TableRows, request: PredictionRequest) -> Predictions:
    """Predictions of the rows of a table."""
    place, header = table.place, table.header
    image = _column(header, IMAGE_COLUMNS)
    if image is None:
        raise ModelError(
            f"{place}: no column that names the image ({', '.join(IMAGE_COLUMNS[:5])}); it has {', '.join(header)} "
            "(`countenance docs answers`)"
        )
    named = (("" if row[image] is None else str(row[image]).strip(), (number, row)) for number, row in table.rows)
    rows, unknown = by_image(named, request, place)
    if not rows:
        raise ModelError(unknown or f"{place}: holds no predictions")
    readers = {Boxes: _boxes, Labels: _labels, Embedding: _embedding, Age: _age, Scalars: _scalars}
    reader = readers[request.kind]
    answers = {name: reader(some, header, image, f"{place} {table.unit}") for name, some in rows.items()}
    answers = {
        name: answer for name, answer in answers.items() if not (isinstance(answer, Labels) and not answer.values)
    }
    if not answers:
        raise ModelError(f"{place}: no row has a label; expected a column for each attribute")
    reading, means = CORNERS_IN_PIXELS, "no row and count as failures to enrol"
    notes: tuple[str, ...] = (unknown,) if unknown else ()
    if request.kind is Boxes:
        reading = request.reading("xywh" if _box_columns(header) in SIZED else "xyxy")
        label, means = _column(header, LABEL_COLUMNS), "no row and count as images without boxes"
        words = label and any(not missing(row[label]) for some in rows.values() for _, row in some)
        notes += unlabelled_note(answers, place) if words else ()
        score, every = _column(header, SCORE_COLUMNS), [row for some in rows.values() for _, row in some]
        first = _column(header, _box_columns(header) or ()) or image
        boxes = [row for row in every if not missing(row[first])]
        notes += unscored_note(sum(missing(row[score]) for row in boxes) if score else 0, len(boxes), place)
    absent = absence(answers, request, place, means)
    empty = EMPTY.get(request.kind) if absent or request.kind is Boxes else None
    return Predictions(place, "table", answers, absent, empty, notes, reading)


def _column(header: Sequence[str], names: Sequence[str]) -> str | None:
    lower = {_plain(name): name for name in reversed(header)}
    return next((lower[name] for name in names if name in lower), None)


def _plain(name: str) -> str:
    """A column's name in small letters, its words joined by underscores.

    >>> _plain(" Image Name"), _plain("X1")
    ('image_name', 'x1')
    """
    return re.sub(r"[\s\-]+", "_", name.strip()).lower()


def _box_columns(header: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that hold the boxes, or None."""
    lower = {_plain(name) for name in header}
    sets = (CORNERS, *OTHER_CORNERS, *SIZED)
    return next((names for names in sets if all(name in lower for name in names)), None)


def missing(cell: Any) -> bool:
    """Whether a cell is empty: nothing, no text, or not a number."""
    return cell is None or (isinstance(cell, str) and not cell.strip()) or (isinstance(cell, float) and cell != cell)


def _only(rows: Sequence[tuple[int, Row]], image: str, place: str) -> tuple[str, Row]:
    """The single row of an image, with its place."""
    if len(rows) > 1:
        raise ModelError(
            f"{place} {rows[1][0]}: names {rows[1][1][image]!r} a second time; expected one row for each image"
        )
    return f"{place} {rows[0][0]}", rows[0][1]


def _boxes(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Boxes:
    lower = {_plain(name): name for name in header}
    result = _box_columns(header)
    if result is None:
        raise ModelError(
            f"{place.rsplit(' ', 1)[0]}: no columns x0, y0, x1, y1 (or x, y, w, h); it has {', '.join(header)}"
        )
    score, label = _column(header, SCORE_COLUMNS), _column(header, LABEL_COLUMNS)
    boxes: list[list[float]] = []
    scores: list[float] = []
    labels: list[str] = []
    for number, row in rows:
        cells, here = [row[lower[name]] for name in result], f"{place} {number}"
        if all(map(missing, cells)):
            continue  # the model saw the image and predicted nothing
        boxes.append([finite_number(cell, name, here) for cell, name in zip(cells, result, strict=True)])
        scores.append(1.0 if score is None or missing(row[score]) else finite_number(row[score], score, here))
        labels += [] if label is None or missing(row[label]) else [str(row[label]).strip()]
    every = label is not None and len(labels) == len(boxes)
    return Boxes(boxes, scores, labels if every else None)


def _labels(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Labels:
    _, row = _only(rows, image, place)
    return Labels({name: str(row[name]).strip() for name in header if name != image and not missing(row[name])})


def _embedding(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Embedding:
    here, row = _only(rows, image, place)
    if "vector" in header:
        vector = row["vector"]
        if isinstance(vector, str):
            vector = vector.strip("[] ").replace(",", " ").split()
        vector = [] if missing(vector) else vector
        if not hasattr(vector, "__iter__"):
            raise ModelError(f"{here}: vector is {vector!r:.60}, expected a list of numbers")
        numbers = [finite_number(v, "vector", here) for v in vector]
        return Embedding(np.array(numbers) if numbers else None)
    columns = [name for name in header if name != image and name.lstrip("eE_").isdecimal()]
    if not columns:
        hint = near("vector", list(header))
        raise ModelError(f"{here}: no column vector and no columns e0, e1, …{hint}; it has {', '.join(header[:9])}")
    columns.sort(key=lambda name: int(name.lstrip("eE_")))
    if all(missing(row[name]) for name in columns):
        return Embedding(None)
    return Embedding(np.array([finite_number(row[name], name, here) for name in columns]))


def _age(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Age:
    here, row = _only(rows, image, place)
    column = _column(header, AGE_COLUMNS)
    if column is not None:
        return Age(None if missing(row[column]) else finite_number(row[column], column, here))
    columns = sorted((name for name in header if re.fullmatch(r"[pP]\d+", name)), key=lambda name: int(name[1:]))
    if not columns or [int(name[1:]) for name in columns] != list(range(len(columns))):
        raise ModelError(f"{here}: no column age or years, and no columns p0, p1, …; it has {', '.join(header[:9])}")
    try:
        return Age.of([finite_number(row[name], name, here) for name in columns])
    except ValueError as error:
        raise ModelError(f"{here}: {error}") from None


def _scalars(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Scalars:
    here, row = _only(rows, image, place)
    return Scalars({name: finite_number(row[name], name, here) for name in header if name != image})


TABLE = Format(
    name="table",
    meaning="CSV or Parquet with a column image",
    kinds=(Boxes, Labels, Embedding, Age, Scalars),
    detects=lambda path: path.suffix.lower() in (".csv", ".parquet"),
    read=read_table,
)
