"""The CSV files that the assessed algorithms write, as saved predictions: `--model predictions:FILE`.

| form | columns | class |
|---|---|---|
| 1, with a header | `image_name,image_path,class,confidence,x,y,w,h` | mask or nomask; x, y is the top-left corner |
| 2, with or without | `image_id,class,confidence,x,y,x2,y2` | 1 or 2 (badly worn) is mask, 3 is no mask |
| 3, with or without | `path,class,x,y,w,h` | 0 is no mask, 1 is mask, or as a classes.txt beside the file says |

Form 3 has no confidence and has been written in two ways: normalised numbers are centres (as WearMask's script writes
them), pixels are top-left corners.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from countenance.answers import Boxes
from countenance.answers.formats.base import Format, PredictionRequest, Predictions, Row, TableRows, units_of
from countenance.answers.formats.table import missing, read_rows, rows_of_file
from countenance.data.adapters.bafmd import ORDER
from countenance.data.categories import LABELS, classes_in_words, parse_classes, says_masked
from countenance.data.reading.class_names import classes_beside
from countenance.data.tables import finite_number, read_csv
from countenance.errors import ModelError
from countenance.metrics.readings import Reading
from countenance.settings.box_words import Form

LOOKED_AT = 2**16
"""Bytes at the beginning of a file by which its form is recognised."""
SIZES = {"x": "x", "y": "y", "w": "w", "h": "h"}


@dataclass(frozen=True)
class MaskForm:
    """The columns of a form, each with its name in a plain table, and the conversion to boxes."""

    columns: Mapping[str, str]
    box: Form | None = None
    """None: centres when normalised, top-left corners in pixels."""
    classes: Mapping[int, str] | None = None
    """What its class numbers mean; None: it names them, or a classes.txt does."""

    def fits(self, header: Sequence[str]) -> bool:
        return set(self.columns) <= set(header)


JUDGED = {"class": "class", "confidence": "confidence"}
SCORED = {"image_id": "image", **JUDGED, "x": "x0", "y": "y0"}
RHF: Mapping[int, str] = {1: "mask", 2: "mask", 3: "no_mask"}
NAMED = MaskForm({"image_name": "image", "image_path": "path", **JUDGED, **SIZES}, "xywh")
CORNERS = MaskForm({**SCORED, "x2": "x1", "y2": "y1"}, "xyxy", RHF)
NORMALISED = MaskForm({**SCORED, "w": "x1", "h": "y1"}, "xyxy", RHF)
"""What the script that normalises files of form 2 writes: its w and h are x2 and y2."""
UNSCORED = MaskForm({"path": "image", "class": "class", **SIZES})


def _form(header: Sequence[str], rows: Sequence[Row]) -> MaskForm | None:
    """The form of a table with these columns and first rows; None if it matches no form."""
    if NAMED.fits(header):
        return NAMED
    if not all(_is_number(row.get("class")) for row in rows):
        return None
    if CORNERS.fits(header):
        return CORNERS
    if set(header) == set(NORMALISED.columns):
        sides = [[_is_number(row[name]) and float(_bare(row[name])) for name in SIZES] for row in rows]
        return NORMALISED if all(w >= x and h >= y for x, y, w, h in sides) else None
    return UNSCORED if set(header) == set(UNSCORED.columns) else None


def _beginning(path: Path) -> tuple[MaskForm | None, bool]:
    """The form of a CSV, and whether its first line is a header."""
    with path.open("rb") as stream:
        text = stream.read(LOOKED_AT).decode("utf-8-sig", "replace")
    try:
        first, *further = [row for row in islice(csv.reader(io.StringIO(text)), 100) if row] or [[]]
    except csv.Error:
        return None, False
    if first and all(map(_is_number, first[1:])):
        return {7: CORNERS, 6: UNSCORED}.get(len(first)), False
    header = [name.strip() for name in first]
    whole = further[: None if len(text) < LOOKED_AT else -1]  # the last line may have been cut
    return _form(header, [dict(zip(header, row, strict=True)) for row in whole if len(row) == len(header)]), True


def _bare(cell: Any) -> Any:
    """A number without its wrapping in the output of published scripts, `tensor(0.)`."""
    return cell.strip().removeprefix("tensor(").removesuffix(")") if isinstance(cell, str) else cell


def _is_number(cell: Any) -> bool:
    try:
        float(_bare(cell))
    except (TypeError, ValueError):
        return False
    return True


def detects(path: Path) -> bool:
    """Whether a file is a CSV in one of the forms."""
    if not path.is_file() or path.suffix.lower() in (".json", ".parquet"):
        return False
    return _beginning(path)[0] is not None


def read(path: Path, request: PredictionRequest) -> Predictions:
    """The boxes of a CSV by image; an image without a row counts as one without boxes."""
    form, headed = _beginning(path)
    if form is None:
        forms = "; ".join(f"{','.join(form.columns)}" for form in (NAMED, CORNERS, UNSCORED))
        raise ModelError(f"{path} line 1: in none of the three forms of the mask study ({forms})")
    rows = rows_of_file(path) if headed else TableRows(str(path), *read_csv(path, tuple(form.columns)), "line")
    return _predictions(form, rows, request, path.resolve().parent)


def read_table(rows: TableRows, request: PredictionRequest) -> Predictions | None:
    """The boxes in the columns of a DataFrame; None if the columns match no form."""
    form = _form(rows.header, [row for _, row in islice(rows.rows, 100)])
    return None if form is None else _predictions(form, rows, request, None)


def _predictions(form: MaskForm, rows: TableRows, request: PredictionRequest, folder: Path | None) -> Predictions:
    classes = {} if form is NAMED else _classes(form, request, folder)

    def plain(number: int, row: Row) -> tuple[int, Row]:
        label = None if missing(row["x"]) else _label(row["class"], classes, f"{rows.place} {rows.unit} {number}")
        return number, {name: _bare(row[own]) for own, name in form.columns.items()} | {"class": label}

    header = tuple(form.columns.values())
    table = TableRows(rows.place, header, (plain(number, row) for number, row in rows.rows), rows.unit)
    predictions = read_rows(table, request)
    by_id = predictions.by_id
    if any((boxes.scores > 1).any() for boxes in by_id.values()):  # some of the algorithms write percent
        by_id = {name: Boxes(boxes.xyxy, boxes.scores / 100, boxes.labels) for name, boxes in by_id.items()}
    units = request.units or units_of(by_id.values())
    box = form.box or ("cxcywh" if units == "rel" else "xywh")
    return replace(predictions, format="mask_fairness", by_id=by_id, reading=Reading(box, units), classes=classes)


def _classes(form: MaskForm, request: PredictionRequest, folder: Path | None) -> Mapping[int, str]:
    """The meaning of class numbers: from the user, the form, a classes.txt beside the file, the dataset, or `ORDER`."""
    if "classes" in request.options:
        return parse_classes(request.options["classes"])
    if form.classes is not None:
        return form.classes
    beside = None if folder is None else classes_beside(folder)
    if beside is not None:
        if not beside.labels():
            raise ModelError(f'{beside.source}: names no class mask or no_mask; say classes="0=no_mask,1=mask"')
        return beside.labels()
    from_zero = request.categories.get(0) in LABELS.values()  # only a YOLO dataset numbers its classes from 0
    return {n: word for n, word in request.categories.items() if word in LABELS.values()} if from_zero else ORDER.words


def _label(cell: Any, classes: Mapping[int, str], place: str) -> str:
    if not classes:
        masked = says_masked(str(cell))
        if masked is None:
            raise ModelError(f"{place}: class {cell!r:.40}, expected mask or nomask")
        return LABELS[masked]
    number = finite_number(_bare(cell), "class", place)
    if number not in classes:
        raise ModelError(f"{place}: class {cell}, expected {classes_in_words(classes)}")
    return classes[int(number)]


MASK_FORMS = Format(
    name="mask_fairness",
    meaning="the three CSV forms of the mask study",
    kinds=(Boxes,),
    detects=detects,
    read=read,
    options=("classes",),
    read_rows=read_table,
)
