"""A label file of any kind as a table: text, JSON, Parquet, or what an annotation tool exports."""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.labels.aliases import squashed
from countenance.data.labels.exports import (
    Row,
    cvat_table,
    label_studio_rows,
    table_of,
    via_csv_rows,
    via_rows,
    wider_table,
)
from countenance.data.labels.nested import BOXED, flat_rows, labelbox_rows
from countenance.data.labels.picture_files import picture_files_table
from countenance.data.labels.rows import LabelTable
from countenance.data.labels.text_files import decoded, read_text_table
from countenance.data.labels.tool_formats import (
    boxes_by_centre,
    datumaro_rows,
    json_lines,
    lfw_pairs_table,
    mot_table,
    sagemaker_rows,
    with_vertex_names,
)
from countenance.errors import DataError
from countenance.words import is_missing

TABLE_SUFFIXES = (
    ".csv",
    ".tsv",
    ".txt",
    ".tab",
    ".json",
    ".jsonl",
    ".ndjson",
    ".manifest",
    ".parquet",
    ".xml",
    ".xls",
    ".xlsx",
)
LINES = (".jsonl", ".ndjson", ".manifest")


def table_suffix(path: Path) -> str:
    """The ending of a label file's name, in small letters and without that of compression.

    >>> table_suffix(Path("People.CSV")), table_suffix(Path("rows.jsonl.gz"))
    ('.csv', '.jsonl')
    """
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def read_label_file(path: Path, names_picture: Callable[[str], bool]) -> LabelTable:
    """The rows of a label file; `names_picture` says whether a cell names a picture."""
    if not path.exists():
        raise DataError(f"{path}: no such file; labels= names a table such as CSV")
    if path.is_dir():
        return picture_files_table(path)
    suffix = table_suffix(path)
    if suffix in (".parquet", ".pq"):
        return _record_table(path, _parquet_rows(path))
    if suffix == ".json" or suffix in LINES:
        return _json_table(path)
    if suffix == ".xml":
        table = cvat_table(path, decoded(path)[0])
        if table is None:
            raise DataError(
                f"{path}: XML that is no CVAT export (<annotations> with <image> or <track>); export a table or COCO"
            )
        return table
    if suffix == ".txt":
        lines = decoded(path)[0].splitlines()
        table = wider_table(path, lines) or mot_table(path, lines) or lfw_pairs_table(path, lines)
        if table is not None:
            return table
    table = with_vertex_names(read_text_table(path, names_picture))
    if {"filename", "region_shape_attributes"} <= set(table.columns):
        return _with_notes(table_of(path, via_csv_rows(table)), table)
    rows = [{name: column[i] for name, column in table.columns.items()} for i in range(len(table))]
    drawn = label_studio_rows(rows) if rows and any("rectanglelabels" in cell for cell in rows[0].values()) else None
    if drawn is not None:
        return _with_notes(table_of(path, drawn), table)
    records = _with_records(rows)
    return table if records is None else _with_notes(_record_table(path, records, table.decimal_comma), table)


def _with_records(rows: Sequence[Mapping[str, str]]) -> list[Row] | None:
    """The rows of a table with the cells that list people ([{"x": 1, …}]) read; None where no column does.

    >>> _with_records([{"file": "a.jpg", "faces": '[{"age": 31}]'}, {"file": "b.jpg", "faces": "[{'age': 9}]"}])
    [{'file': 'a.jpg', 'faces': [{'age': 31}]}, {'file': 'b.jpg', 'faces': [{'age': 9}]}]
    """
    read: dict[str, list[Any]] = {}
    for name in rows[0] if rows else ():
        if squashed(name) in BOXED or not any(row[name].startswith("[{") for row in rows):
            continue
        values = [_listed(row[name]) for row in rows]
        if all(value is not None for value in values):
            read[name] = values
    if not read:
        return None
    return [{**row, **{name: values[i] for name, values in read.items()}} for i, row in enumerate(rows)]


def _listed(cell: str) -> list[Any] | None:
    """A cell that is a list, in JSON or as Python prints it; an empty one lists nobody; None for anything else."""
    if is_missing(cell):
        return []
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, list) else None
    return None


def is_coco(path: Path) -> bool:
    """Whether a file is COCO JSON, which has a reader of its own."""
    if table_suffix(path) != ".json" or not path.is_file():
        return False
    content = _json(path)
    return isinstance(content, Mapping) and "images" in content and "annotations" in content


def _with_notes(table: LabelTable, source: LabelTable) -> LabelTable:
    table.notes, table.problems = [*source.notes, *table.notes], source.problems
    return table


def _json(path: Path) -> Any:
    text, _ = decoded(path)
    try:
        if table_suffix(path) in LINES:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        lines = json_lines(text) if "\n" in text.strip() else None  # lines of records that are called .json
        return lines if lines is not None and len(lines) > 1 else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error})") from None


def _json_table(path: Path) -> LabelTable:
    content = _json(path)
    items = datumaro_rows(content)
    if items is not None:
        return table_of(path, items)
    if isinstance(content, Mapping):
        content = content.get("_via_img_metadata", content)
        values = list(content.values())
        if values and all(isinstance(value, Mapping) for value in values):  # {"a.jpg": {…}}
            if all("filename" in value and "regions" in value for value in values):
                return table_of(path, via_rows(values))
            content = [{"file": name, **value} for name, value in content.items()]
        elif _lists_by_picture(content):  # {"a.jpg": [{…}, {…}], "b.jpg": [[1, 2, 3, 4]]}
            content = [
                {"file": name, **(person if isinstance(person, Mapping) else {"bbox": person})}
                for name, people in content.items()
                for person in people or [{}]
            ]
        elif values and all(isinstance(value, list) for value in values):  # {"file": […], "age": […]}
            if len({len(value) for value in values}) > 1:
                raise DataError(f"{path}: its columns differ in length; expected a value for each row in each")
            content = [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    if not (isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content)):
        raise DataError(f"{path}: expected a list of records such as [{{'file': 'a.jpg', 'age': 31}}]")
    rows = label_studio_rows(content) or labelbox_rows(content) or boxes_by_centre(content) or sagemaker_rows(content)
    return _record_table(path, content) if rows is None else table_of(path, rows)


def _lists_by_picture(content: Mapping[str, Any]) -> bool:
    """Whether a file has under each name a list of records or of boxes, and not columns under their names.

    >>> _lists_by_picture({"a.jpg": [{"age": 31}], "b.jpg": []}), _lists_by_picture({"file": ["a.jpg"], "age": [31]})
    (True, False)
    """
    people = [person for value in content.values() if isinstance(value, list) for person in value]
    boxes = all(isinstance(person, Mapping) or (isinstance(person, list) and len(person) == 4) for person in people)
    return bool(people) and boxes and all(isinstance(value, list) for value in content.values())


def _record_table(path: Path, records: Sequence[Mapping[str, Any]], decimal_comma: bool = False) -> LabelTable:
    rows, kind, left_out = flat_rows(records)
    table = table_of(path, rows, kind)
    table.decimal_comma = decimal_comma
    if left_out:
        table.notes.append(f"{path.name}: {', '.join(left_out)} hold records in records and are left out")
    return table


def _parquet_rows(path: Path) -> list[Row]:
    from countenance.decoding import read_parquet

    rows: list[Row] = read_parquet(path, path).to_pylist()
    return rows
