"""Datasets that Hugging Face `datasets` saved with `save_to_disk`: Arrow files, read without that package."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from countenance.data.image import LazyImage
from countenance.data.index.records import encoded, sample_of
from countenance.data.paths import inside
from countenance.data.sample import Image, Sample
from countenance.decoding import decoding, regular_file
from countenance.errors import DataError

STATE, DICT = "state.json", "dataset_dict.json"


def recognised(path: Path) -> bool:
    """Whether a folder was written by `save_to_disk`."""
    return path.is_dir() and ((path / DICT).is_file() or (path / STATE).is_file())


def read(path: Path) -> tuple[Iterator[Sample], int | None]:
    """The samples of a dataset, or of all splits of a dictionary of datasets, with the split as an attribute."""
    if (path / DICT).is_file():
        names = _json(path / DICT).get("splits")
        if not isinstance(names, list) or not names:
            raise DataError(f"{path / DICT}: no list of splits; save the dataset again")
        parts = [(str(name), inside(path, str(name), str(path / DICT))) for name in names]
    else:
        parts = [("", path)]
    return (sample for split, folder in parts for sample in _samples(folder, split)), None


def _json(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(regular_file(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: missing; save the dataset again with save_to_disk") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error})") from None
    if not isinstance(result, dict):
        raise DataError(f"{path}: expected an object, found {type(result).__name__}")
    return result


def _files(folder: Path) -> list[Path]:
    state = _json(folder / STATE)
    if state.get("_indices_data_files"):
        raise DataError(f"{folder}: holds a selection of rows; call flatten_indices() before save_to_disk()")
    try:
        return [inside(folder, str(entry["filename"]), f"{folder / STATE}") for entry in state["_data_files"]]
    except (KeyError, TypeError):
        raise DataError(f"{folder / STATE}: no list of data files; save the dataset again") from None


def _samples(folder: Path, split: str) -> Iterator[Sample]:
    import pyarrow as pa

    features = _features(folder)
    labels = {name: item["names"] for name, item in features.items() if item.get("names") is not None}
    number = 0
    for file in _files(folder):
        if not file.is_file():
            raise DataError(f"{file}: missing; {folder / STATE} names it")
        with decoding(file, "Arrow file"), pa.memory_map(str(file)) as source, pa.ipc.open_stream(source) as stream:
            column = _image_column(features, stream.schema, folder)
            for batch in stream:
                for row in batch.to_pylist():
                    yield _sample(row, column, labels, split, f"{file} row {number}", number)
                    number += 1


def _features(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / "dataset_info.json"
    result = _json(path).get("features") if path.is_file() else None
    if not isinstance(result, Mapping):
        return {}
    return {str(name): dict(item) for name, item in result.items() if isinstance(item, Mapping)}


def _image_column(features: Mapping[str, Mapping[str, Any]], schema: Any, folder: Path) -> str:
    import pyarrow as pa

    result = [name for name, item in features.items() if item.get("_type") == "Image" and name in schema.names]
    if not result:
        result = [
            field.name
            for field in schema
            if pa.types.is_struct(field.type) and "bytes" in [field.type.field(i).name for i in range(len(field.type))]
        ]
    if not result:
        raise DataError(f"{folder}: no column of images; there are {', '.join(schema.names)}")
    return str(result[0])


def _sample(
    row: dict[str, Any], column: str, labels: Mapping[str, list[str]], split: str, place: str, number: int
) -> Sample:
    picture = row.pop(column)
    for name, names in labels.items():
        value = row.get(name)
        if isinstance(value, int) and 0 <= value < len(names):
            row[name] = names[value]
        elif value == -1:  # no label
            row[name] = None
    if split:
        row.setdefault("split", split)
    name = f"{split}/{number:08d}" if split else f"{number:08d}"
    known = row.get("id") or row.get("image_id") or row.get("file_name")
    name = (f"{split}/{known}" if split else str(known)) if known else name
    image, sha256 = _image(picture, name, place)
    return sample_of(image, row, place, name, sha256=sha256)


def _image(picture: Any, name: str, place: str) -> tuple[Image, str | None]:
    """The picture of a row, which is stored in the table, or beside it under its path."""
    content = picture.get("bytes") if isinstance(picture, Mapping) else picture
    if isinstance(content, bytes):
        return encoded(content, name)
    path = picture.get("path") if isinstance(picture, Mapping) else None
    if not path:
        raise DataError(f"{place}: the picture is missing; the row holds neither bytes nor a path")
    return LazyImage(Path(path)), None
