"""A dataset as a partitioned Parquet manifest: the form in which large datasets are stored and workers read them.

A row is a sample: its id, where its picture is (or the picture itself), its size, and everything known about it. A
worker gets a manifest, a partition and a range of rows; no sample is ever sent to it.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.card import DatasetCard
from countenance.data.image import EncodedImage, LazyImage, UrlImage, decode
from countenance.data.sample import Floats, Rle, Sample, Subject
from countenance.decoding import decoding, json_of, limited_memory, most_memory, open_parquet
from countenance.errors import DataError, InputError
from countenance.storage import Missing, Storage, is_url, open_storage
from countenance.storage.base import checked_name

Pixels = NDArray[np.uint8]
INDEX = "dataset.json"
FORMAT = 2
ROW_GROUP = 1000
MOST_SAMPLES = 10**10
"""More samples than any manifest has; a larger number means damage, and a plan for it would not end."""
COLUMNS = ("sample", "uri", "offset", "length", "width", "height", "sha256", "attributes", "subjects")
"""The columns about a sample; the column `content` holds pictures and is read separately."""


@dataclass(frozen=True)
class Partition:
    """One file of a manifest."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class SampleManifest:
    """An opened manifest: the card, the attributes and the partitions; samples are read on access."""

    storage: Storage
    card: DatasetCard
    attributes: Mapping[str, str]
    """Every attribute with its kind: string, double or list."""
    partitions: tuple[Partition, ...]
    source: str | None = None
    """The folder or URL that the pictures' relative names start from."""

    def __len__(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def fingerprint(self) -> str:
        """A hash of the card and of every partition's hash."""
        parts = [self.card.model_dump_json(), *(partition.sha256 for partition in self.partitions)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def rows(self, partition: int, start: int, stop: int) -> list[Sample]:
        """The samples of a range of rows of one partition."""
        expected = self.partitions[partition]
        if not 0 <= start <= stop <= expected.rows:
            raise DataError(f"{self.storage.place}/{expected.name}: no rows {start} to {stop}; it has {expected.rows}")
        file, place = self._file(expected.name), f"{self.storage.place}/{expected.name}"
        if file.count != expected.rows:
            raise DataError(f"{place}: {file.count} rows, the manifest says {expected.rows}; make the manifest again")
        with _one_line(place):
            return [self._sample(row, file, start + k) for k, row in enumerate(file.rows(start, stop))]

    def batches(self, size: int = ROW_GROUP) -> Iterator[tuple[int, int, Any]]:
        """The samples' data without their pictures, as Arrow tables: partition, first row, rows."""
        for number, partition in enumerate(self.partitions):
            for start, batch in self._file(partition.name).batches(size):
                yield number, start, batch

    def sample_of(self, row: Mapping[str, Any], partition: int, number: int) -> Sample:
        """The sample of a row of `batches`."""
        file = self._file(self.partitions[partition].name)
        with _one_line(file.place):
            return self._sample(row, file, number)

    def __iter__(self) -> Iterator[Sample]:
        for number, partition in enumerate(self.partitions):
            for start in range(0, partition.rows, ROW_GROUP):
                yield from self.rows(number, start, min(start + ROW_GROUP, partition.rows))

    def _file(self, name: str) -> "_PartitionFile":
        if name not in self._open:
            self._open.clear()  # one partition at a time is kept open
            self._open[name] = _PartitionFile(self.storage, name)
        return self._open[name]

    @cached_property
    def _open(self) -> dict[str, "_PartitionFile"]:
        return {}

    def _sample(self, row: Mapping[str, Any], file: "_PartitionFile", number: int) -> Sample:
        image: LazyImage | StoredImage | UrlImage
        if (row["width"] is None) != (row["height"] is None):
            raise ValueError(f"{row['sample']!r:.60} has only one of width and height")
        if row["uri"] is not None and is_url(row["uri"]):
            image = UrlImage(row["uri"], row.get("offset") or 0, row.get("length"))
        elif row["uri"] is None:
            image = StoredImage(file, number, row["sample"])
        else:
            path = Path(row["uri"])
            path = path if path.is_absolute() or self.source is None else Path(self.source) / path
            image = LazyImage(path, row.get("offset") or 0, row.get("length"))
        subjects = tuple(_subject(values, row["width"], row["height"]) for values in json.loads(row["subjects"]))
        return Sample(
            row["sample"],
            image,
            row["width"],
            row["height"],
            subjects,
            _attributes(json.loads(row["attributes"])),
            row["sha256"],
        )


@contextmanager
def _one_line(place: str) -> Iterator[None]:
    """Turn errors on rows that are not as `data index` writes them into one line with the place."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(f"{place}: damaged ({what:.120}); make the manifest again") from error


class _PartitionFile:
    """One Parquet file, read by ranges of rows; pictures are read a row group at a time."""

    def __init__(self, storage: Storage, name: str) -> None:
        self.place = f"{storage.place}/{name}"
        try:
            source = storage.open(name)
        except Missing:
            raise DataError(f"{self.place}: missing; the manifest names it") from None
        # From a store each read is a request: those for neighbouring columns and row groups become one.
        self.parquet = open_parquet(source, self.place, pre_buffer=is_url(storage.place))
        self.most = most_memory(source)
        self._refuse_other_columns(self.place)
        metadata = self.parquet.metadata
        self.count = int(metadata.num_rows)
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        known = self.parquet.schema_arrow.names
        self.columns = [name for name in COLUMNS if name in known]
        self.lock = threading.Lock()  # pictures are decoded in a thread of their own
        self.group: tuple[int, list[bytes | None]] = (-1, [])

    def _refuse_other_columns(self, place: str) -> None:
        """Refuse a file whose columns are not those that `data index` writes; older ones have no range of bytes."""
        result = self.parquet.schema_arrow
        if len(set(result.names)) < len(result.names):
            raise DataError(f"{place}: two columns of one name; make the manifest again")
        for expected in schema():
            have = result.field(expected.name).type if expected.name in result.names else None
            if have != expected.type and not (have is None and expected.name in ("offset", "length")):
                what = f"column {expected.name} holds {have}" if have is not None else f"no column {expected.name}"
                raise DataError(f"{place}: {what}, expected {expected.type}; make the manifest again")

    def rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        if stop <= start:
            return []
        first, last = self._group_of(start), int(np.searchsorted(self.starts, stop, side="left"))
        with self.lock, self._decoding():
            table = self.parquet.read_row_groups(list(range(first, last)), self.columns, use_threads=False)
            result: list[dict[str, Any]] = table.slice(start - int(self.starts[first]), stop - start).to_pylist()
        return result

    def batches(self, size: int) -> Iterator[tuple[int, Any]]:
        """All rows in parts, each with the number of its first row."""
        batches, start = self.parquet.iter_batches(size, columns=self.columns), 0
        while True:
            with self._decoding():
                batch = next(batches, None)
            if batch is None:
                return
            yield start, batch
            start += batch.num_rows

    def content(self, row: int) -> bytes:
        """The picture in a row."""
        group = self._group_of(row)
        with self.lock, self._decoding():
            if self.group[0] != group:
                self.group = (group, self._content(group))
            result = self.group[1][row - int(self.starts[group])]
        if result is None:
            raise DataError(f"row {row} of the manifest holds no picture")
        return result

    def _content(self, group: int) -> list[bytes | None]:
        """The pictures of a row group; Arrow's threads would keep a file of Python's open."""
        result: list[bytes | None] = self.parquet.read_row_group(group, ["content"], use_threads=False)[0].to_pylist()
        return result

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        with decoding(self.place, "Parquet file", "; make the manifest again"), limited_memory(self.most):
            yield

    def _group_of(self, row: int) -> int:
        return int(np.searchsorted(self.starts, row, side="right")) - 1


@dataclass(frozen=True)
class StoredImage:
    """A picture in a row of a manifest."""

    file: _PartitionFile
    row: int
    name: str = "image"

    def load(self) -> Pixels:
        """The pixels as height × width × 3 RGB, turned upright by EXIF."""
        return decode(self.read_bytes(), self.name)

    def read_bytes(self) -> bytes:
        return self.file.content(self.row)

    def size(self) -> tuple[int, int]:
        return EncodedImage(self.read_bytes(), self.name).size()

    def format_problem(self) -> str | None:
        return None


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _array(values: Any) -> Floats | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _subject(values: Mapping[str, Any], width: int, height: int) -> Subject:
    """A subject as `truth` wrote it; it was checked when the dataset was read, so it is not checked again."""
    mask = values.get("mask")
    return Subject(
        id=values["id"],
        identity=values.get("identity"),
        person_box=_array(values.get("person_box")),
        face_box=_array(values.get("face_box")),
        keypoints=_array(values.get("keypoints")),
        landmarks=_array(values.get("landmarks")),
        mask=None if mask is None else Rle(height, width, mask),
        face_parts={name: Rle(height, width, counts) for name, counts in (values.get("face_parts") or {}).items()},
        body_parts=tuple(values.get("body_parts") or ()),
        attributes=_attributes(values.get("attributes") or {}),
        scored=values.get("scored", True),
    )


def schema() -> Any:
    """The columns of a partition."""
    import pyarrow as pa

    text, size = pa.string(), pa.int32()
    return pa.schema(
        [
            ("sample", text),
            ("uri", text),
            ("offset", pa.int64()),
            ("length", pa.int64()),
            ("content", pa.binary()),
            ("width", size),
            ("height", size),
            ("sha256", text),
            ("attributes", text),
            ("subjects", text),
        ]
    )


def _partition(entry: Mapping[str, Any], place: str) -> Partition:
    """The manifest's entry for one partition."""
    name, sha256 = entry["name"], entry["sha256"]
    if not isinstance(name, str) or not isinstance(sha256, str):
        raise ValueError(f"a partition named {name!r:.40} with the hash {sha256!r:.40}, expected text")
    return Partition(checked_name(name, place), int(entry["rows"]), sha256)


def read_manifest(place: str | Path | Storage) -> SampleManifest:
    """Open a manifest; a damaged or newer one is refused by name."""
    storage = open_storage(place)
    where = f"{storage.place}/{INDEX}"
    try:
        index = json_of(storage.read(INDEX), where)
        if index["format"] > FORMAT:
            raise DataError(f"{where}: made by a newer version (format {index['format']}); update countenance")
        card = DatasetCard.model_validate(index["card"])
        partitions = tuple(_partition(entry, storage.place) for entry in index["partitions"])
        kinds = {str(name): str(kind) for name, kind in index["attributes"].items()}
        if any(partition.rows < 0 for partition in partitions) or sum(p.rows for p in partitions) > MOST_SAMPLES:
            raise DataError(f"{where}: damaged (numbers of rows that cannot be right); make the manifest again")
    except Missing:
        raise DataError(f"{where}: missing; `countenance data index` makes a manifest") from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{where}: damaged ({error}); make the manifest again") from error
    return SampleManifest(storage, card, kinds, partitions, index.get("source"))
