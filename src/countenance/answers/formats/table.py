"""Plain tables: CSV or Parquet with a row for each box, each image's labels, or each embedding; also DataFrames.

| kind | columns |
|---|---|
| boxes | `image`, `x0`, `y0`, `x1`, `y1` (or `x`, `y`, `w`, `h`), optionally `score`, `label` |
| labels | `image`, one column for each attribute |
| age | `image`, `age` (or `years`), or a probability for each year: `p0`, `p1`, … |
| embedding | `image`, `vector` (a list) or `e0`, `e1`, … |

A row that names an image and has no box says that the image was looked at and nothing was found.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.formats.base import Format, Predictions, Wanted
from countenance.answers.types import Age, Boxes, Embedding, Labels
from countenance.data.tables import finite_number, near, read_csv
from countenance.errors import InputError
from countenance.metrics.readings import Reading

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
SCORE_COLUMNS = ("score", "confidence", "probability")
AGE_COLUMNS = ("age", "years", "estimated_age", "predicted_age")
LABEL_COLUMNS = ("label", "class", "category")
CORNERS, SIZES = ("x0", "y0", "x1", "y1"), ("x", "y", "w", "h")
OTHER_CORNERS = ("xmin", "ymin", "xmax", "ymax")
OTHER_SIZES = ("x", "y", "width", "height")
SIZED = (SIZES, OTHER_SIZES)

Row = Mapping[str, Any]


def read_table(path: Path, wanted: Wanted) -> Predictions:
    """Predictions of a CSV or Parquet file."""
    if path.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file") from None
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error
        return _read(str(path), table.column_names, enumerate(table.to_pylist(), 1), "row", wanted)
    header, rows = read_csv(path)
    return _read(str(path), header, rows, "line", wanted)


def read_columns(source: Any, wanted: Wanted) -> Predictions:
    """Predictions of a DataFrame, an Arrow table or a mapping of columns."""
    if hasattr(source, "to_pylist"):
        rows = source.to_pylist()
    elif hasattr(source, "to_dict") and hasattr(source, "columns"):
        rows = source.to_dict(orient="records")
    elif isinstance(source, Mapping):
        columns = {str(name): list(values) for name, values in source.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise InputError("predictions: columns of different lengths, expected one value a row in each")
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    else:
        raise InputError(f"predictions are a {type(source).__name__}, expected a path, a DataFrame or a table")
    header = list(rows[0]) if rows else [str(name) for name in getattr(source, "columns", source)]
    return _read("predictions", [str(name) for name in header], enumerate(rows, 1), "row", wanted)


def _read(
    place: str, header: Sequence[str], rows: Iterator[tuple[int, Row]] | Any, unit: str, wanted: Wanted
) -> Predictions:
    image = _column(header, IMAGE_COLUMNS)
    if image is None:
        raise InputError(
            f"{place}: no column that names the image ({', '.join(IMAGE_COLUMNS[:5])}); it has {', '.join(header)}"
        )
    by_image: dict[str, list[tuple[int, Row]]] = {}
    unknown: list[str] = []
    for number, row in rows:
        name = "" if row[image] is None else str(row[image]).strip()
        found = wanted.names.find(name)
        if found is None:
            unknown.append(name)
        else:
            by_image.setdefault(found, []).append((number, row))
    sentence = wanted.names.unmatched(unknown, place)
    if not by_image:
        raise InputError(sentence or f"{place}: holds no predictions")
    reader = {Boxes: _boxes, Labels: _labels, Embedding: _embedding, Age: _age}[wanted.kind]
    made = {name: reader(some, header, image, f"{place} {unit}") for name, some in by_image.items()}
    reading = Reading("topleft" if wanted.kind is Boxes and _box_columns(header) in SIZED else "corners", "pixels")
    absent: str | None = None
    empty: Callable[[], Any] | None = None
    if wanted.kind is Boxes:
        left = len(wanted.names.ids) - len(made)
        empty = lambda: Boxes(np.zeros((0, 4)))  # noqa: E731 - a value, not a function worth a name
        absent = f"{place}: {left} of {len(wanted.names.ids)} images have no row and count as images without boxes"
        absent = absent if left else None
    elif wanted.kind is Embedding and len(made) < len(wanted.names.ids):
        left = len(wanted.names.ids) - len(made)
        empty = lambda: Embedding(None)  # noqa: E731
        absent = f"{place}: {left} of {len(wanted.names.ids)} images have no row and count as failures to enrol"
    return Predictions(place, "table", made, absent, empty, tuple(n for n in (sentence,) if n), reading)


def _column(header: Sequence[str], names: Sequence[str]) -> str | None:
    lower = {name.strip().lower(): name for name in reversed(header)}
    return next((lower[name] for name in names if name in lower), None)


def _box_columns(header: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that hold the boxes, or None."""
    lower = {name.strip().lower() for name in header}
    sets = (CORNERS, OTHER_CORNERS, *SIZED)
    return next((names for names in sets if all(name in lower for name in names)), None)


def _boxes(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Boxes:
    lower = {name.strip().lower(): name for name in header}
    found = _box_columns(header)
    if found is None:
        raise InputError(
            f"{place.rsplit(' ', 1)[0]}: no columns x0, y0, x1, y1 (or x, y, w, h); it has {', '.join(header)}"
        )
    score, label = _column(header, SCORE_COLUMNS), _column(header, LABEL_COLUMNS)
    boxes, scores, labels = [], [], []
    for number, row in rows:
        cells = [row[lower[name]] for name in found]
        if all(cell is None or cell == "" or cell != cell for cell in cells):
            continue  # looked at, nothing found
        boxes.append([finite_number(cell, name, f"{place} {number}") for cell, name in zip(cells, found, strict=True)])
        scores.append(
            1.0 if score is None or row[score] in (None, "") else finite_number(row[score], score, f"{place} {number}")
        )
        labels.append("" if label is None else str(row[label]))
    return Boxes(np.array(boxes).reshape(-1, 4), scores, labels if label is not None else None)


def _labels(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Labels:
    if len(rows) > 1:
        raise InputError(f"{place} {rows[1][0]}: names {rows[1][1][image]!r} a second time; expected one row an image")
    row = rows[0][1]
    values = {name: str(row[name]).strip() for name in header if name != image and row[name] not in (None, "")}
    return Labels(values)


def _embedding(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Embedding:
    if len(rows) > 1:
        raise InputError(f"{place} {rows[1][0]}: names {rows[1][1][image]!r} a second time; expected one row an image")
    number, row = rows[0]
    if "vector" in header:
        vector = row["vector"]
        if vector is None or (isinstance(vector, float) and vector != vector):
            return Embedding(None)
        if isinstance(vector, str):
            vector = vector.strip("[] ").replace(",", " ").split()
        return Embedding(np.array([finite_number(v, "vector", f"{place} {number}") for v in vector]))
    columns = [name for name in header if name != image and name.lstrip("eE_").isdigit()]
    if not columns:
        hint = near("vector", list(header))
        raise InputError(
            f"{place} {number}: no column vector and no columns e0, e1, …{hint}; it has {', '.join(header[:9])}"
        )
    columns.sort(key=lambda name: int(name.lstrip("eE_")))
    cells = [row[name] for name in columns]
    if all(cell is None or cell == "" for cell in cells):
        return Embedding(None)
    return Embedding(np.array([finite_number(v, n, f"{place} {number}") for v, n in zip(cells, columns, strict=True)]))


def _age(rows: Sequence[tuple[int, Row]], header: Sequence[str], image: str, place: str) -> Age:
    if len(rows) > 1:
        raise InputError(f"{place} {rows[1][0]}: names {rows[1][1][image]!r} a second time; expected one row an image")
    number, row = rows[0]
    column = _column(header, AGE_COLUMNS)
    if column is not None:
        value = row[column]
        return (
            Age(None)
            if value in (None, "") or value != value
            else Age(finite_number(value, column, f"{place} {number}"))
        )
    columns = sorted((name for name in header if re.fullmatch(r"[pP]\d+", name)), key=lambda name: int(name[1:]))
    if not columns or [int(name[1:]) for name in columns] != list(range(len(columns))):
        raise InputError(
            f"{place} {number}: no column age or years, and no columns p0, p1, …; it has {', '.join(header[:9])}"
        )
    try:
        return Age.of([finite_number(row[name], name, f"{place} {number}") for name in columns])
    except ValueError as error:
        raise InputError(f"{place} {number}: {error}") from None


TABLE = Format(
    name="table",
    meaning="CSV or Parquet with a column image",
    kinds=(Boxes, Labels, Embedding, Age),
    detects=lambda path: path.suffix.lower() in (".csv", ".parquet"),
    read=read_table,
)
