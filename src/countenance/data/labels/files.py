"""A label file of any kind as a table: text, JSON, Parquet, or what an annotation tool exports."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.labels.exports import (
    Row,
    cvat_table,
    label_studio_rows,
    table_of,
    via_csv_rows,
    via_rows,
    wider_table,
)
from countenance.data.labels.nested import flat_rows, labelbox_rows
from countenance.data.labels.rows import LabelTable
from countenance.data.labels.text_files import decoded, read_text_table
from countenance.errors import InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".xml", ".xls", ".xlsx")


def read_label_file(path: Path, names_picture: Callable[[str], bool]) -> LabelTable:
    """The rows of a label file; `names_picture` says whether a cell names a picture."""
    if not path.exists():
        raise InputError(f"{path}: no such file; --labels names a table such as CSV")
    if path.is_dir():
        raise InputError(f"{path}: a folder; --labels names a table such as CSV")
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _record_table(path, _parquet_rows(path))
    if suffix in (".json", ".jsonl", ".ndjson"):
        return _json_table(path)
    if suffix == ".xml":
        table = cvat_table(path, decoded(path)[0])
        if table is None:
            raise InputError(f"{path}: XML that is no CVAT export (<annotations> with <image>); export a table or COCO")
        return table
    if suffix == ".txt":
        table = wider_table(path, decoded(path)[0].splitlines())
        if table is not None:
            return table
    table = read_text_table(path, names_picture)
    if {"filename", "region_shape_attributes"} <= set(table.columns):
        return _with_notes(table_of(path, via_csv_rows(table)), table)
    rows = [{name: column[i] for name, column in table.columns.items()} for i in range(len(table))]
    drawn = label_studio_rows(rows) if rows and any("rectanglelabels" in cell for cell in rows[0].values()) else None
    return table if drawn is None else _with_notes(table_of(path, drawn), table)


def is_coco(path: Path) -> bool:
    """Whether a file is COCO JSON, which has a reader of its own."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    content = _json(path)
    return isinstance(content, Mapping) and "images" in content and "annotations" in content


def _with_notes(table: LabelTable, source: LabelTable) -> LabelTable:
    table.notes, table.problems = source.notes, source.problems
    return table


def _json(path: Path) -> Any:
    text, _ = decoded(path)
    try:
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error})") from None


def _json_table(path: Path) -> LabelTable:
    content = _json(path)
    if isinstance(content, Mapping):
        content = content.get("_via_img_metadata", content)
        values = list(content.values())
        if values and all(isinstance(value, Mapping) for value in values):  # {"a.jpg": {…}}
            if all("filename" in value and "regions" in value for value in values):
                return table_of(path, via_rows(values))
            content = [{"file": name, **value} for name, value in content.items()]
        elif values and all(isinstance(value, list) for value in values):  # {"file": […], "age": […]}
            if len({len(value) for value in values}) > 1:
                raise InputError(f"{path}: its columns differ in length; expected a value for each row in each")
            content = [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    if not (isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content)):
        raise InputError(f"{path}: expected a list of records such as [{{'file': 'a.jpg', 'age': 31}}]")
    rows = label_studio_rows(content) or labelbox_rows(content)
    return _record_table(path, content) if rows is None else table_of(path, rows)


def _record_table(path: Path, records: Sequence[Mapping[str, Any]]) -> LabelTable:
    rows, kind, left_out = flat_rows(records)
    table = table_of(path, rows, kind)
    if left_out:
        table.notes.append(f"{path.name}: {', '.join(left_out)} hold records in records and are left out")
    return table


def _parquet_rows(path: Path) -> list[Row]:
    from countenance.decoding import read_parquet

    rows: list[Row] = read_parquet(path, path).to_pylist()
    return rows
