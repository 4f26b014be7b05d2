"""Parquet files with a column of pictures (bytes, or a record of bytes and path as Hugging Face writes it)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from countenance.data.index.records import encoded, sample_of
from countenance.data.manifest import INDEX
from countenance.data.manifest_writer import PICTURES
from countenance.data.sample import Sample
from countenance.decoding import decoding, open_parquet
from countenance.errors import DataError

NAMES = ("image", "picture", "jpg", "png", "content", "bytes", "img")
OURS = ("samples.parquet", "labels.csv", INDEX, "run.json")
"""A folder with one of these files has another format."""


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [] if any((path / name).exists() for name in OURS) else sorted(path.glob("*.parquet"))
    return [path] if path.suffix == ".parquet" and path.is_file() else []


def recognised(path: Path) -> bool:
    """Whether a file or folder is Parquet."""
    return bool(_files(path))


def read(path: Path) -> tuple[Iterator[Sample], int | None]:
    """The samples of the files, in their order."""
    files = _files(path)
    images = sum(open_parquet(file, file).metadata.num_rows for file in files)
    return (sample for file in files for sample in _samples(file)), images


def _samples(file: Path) -> Iterator[Sample]:
    table = open_parquet(file, file)
    with decoding(file, "Parquet file"):
        column = _picture_column(table.schema_arrow, file)
        number = 0
        for batch in table.iter_batches(batch_size=PICTURES):
            for row in batch.to_pylist():
                yield _sample(row, column, f"{file} row {number}", f"{file.stem}/{number:08d}")
                number += 1


def _picture_column(schema: Any, file: Path) -> str:
    import pyarrow as pa

    def holds_pictures(kind: Any) -> bool:
        if pa.types.is_struct(kind):
            return "bytes" in [kind.field(i).name for i in range(kind.num_fields)]
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    result = [field.name for field in schema if holds_pictures(field.type)]
    usual = [name for name in result if name.lower() in NAMES]
    if len(usual or result) != 1:
        what = "no column" if not result else f"{len(result)} columns ({', '.join(result)})"
        raise DataError(f"{file}: {what} of pictures, expected one; name it image")
    return str((usual or result)[0])


def _sample(row: dict[str, Any], column: str, place: str, name: str) -> Sample:
    picture = row.pop(column)
    content = picture.get("bytes") if isinstance(picture, dict) else picture
    if not isinstance(content, bytes):
        raise DataError(f"{place}: {column} holds no picture")
    known = next((str(row[key]) for key in ("sample", "id", "image_id", "file_name") if row.get(key)), name)
    image, sha256 = encoded(content, known)
    return sample_of(image, row, place, known, sha256=sha256)
