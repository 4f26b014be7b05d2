"""A dataset as a partitioned Parquet manifest: what workers read, and what a large dataset is.

A row is a sample: its id, where its picture is (or the picture itself), its size, and everything known about it. A
worker is told a manifest, a partition and a range of rows; no sample is ever sent to it.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.card import DatasetCard
from countenance.data.image import ArrayImage, EncodedImage, LazyImage, encode_png
from countenance.data.sample import Floats, Rle, Sample, Subject, truth
from countenance.errors import InputError
from countenance.files import to_json
from countenance.storage import Missing, Storage, open_storage

INDEX = "dataset.json"
FORMAT = 1
ROW_GROUP = 1000
PARTITION = 50_000
"""Samples in a partition."""


@dataclass(frozen=True)
class Partition:
    """One file of a manifest."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class SampleManifest:
    """An opened manifest: the card, the attributes and the partitions; samples are read when asked for."""

    storage: Storage
    card: DatasetCard
    attributes: Mapping[str, str]
    """Every attribute with its kind: string, double or list."""
    partitions: tuple[Partition, ...]
    source: str | None = None
    """What the pictures' relative names start from."""

    def __len__(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def fingerprint(self) -> str:
        """A hash of the card and of every partition's hash."""
        parts = [self.card.model_dump_json(), *(partition.sha256 for partition in self.partitions)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def rows(self, partition: int, start: int, stop: int) -> list[Sample]:
        """The samples of a range of rows of one partition."""
        wanted = self.partitions[partition]
        if not 0 <= start <= stop <= wanted.rows:
            raise InputError(f"{self.storage.place}/{wanted.name}: no rows {start} to {stop}; it has {wanted.rows}")
        return [self._sample(row) for row in self._file(wanted.name).rows(start, stop)]

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

    def _sample(self, row: Mapping[str, Any]) -> Sample:
        image: LazyImage | EncodedImage
        if row["content"] is not None:
            image = EncodedImage(row["content"], row["sample"])
        else:
            path = Path(row["uri"])
            image = LazyImage(path if path.is_absolute() or self.source is None else Path(self.source) / path)
        subjects = tuple(_subject(values, row["width"], row["height"]) for values in json.loads(row["subjects"]))
        return Sample(
            row["sample"], image, row["width"], row["height"], subjects, _attributes(json.loads(row["attributes"])),
            row["sha256"],
        )  # fmt: skip


class _PartitionFile:
    """One Parquet file, read by ranges of rows."""

    def __init__(self, storage: Storage, name: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self.parquet = pq.ParquetFile(pa.BufferReader(storage.read(name)))
        except Missing:
            raise InputError(f"{storage.place}/{name}: missing; the manifest names it") from None
        except pa.ArrowException as error:
            raise InputError(f"{storage.place}/{name}: not a readable Parquet file ({error})") from error
        metadata = self.parquet.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)

    def rows(self, start: int, stop: int) -> list[dict[str, Any]]:
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        last = int(np.searchsorted(self.starts, stop, side="left"))
        if stop <= start:
            return []
        table = self.parquet.read_row_groups(list(range(first, last)))
        found: list[dict[str, Any]] = table.slice(start - int(self.starts[first]), stop - start).to_pylist()
        return found


def _attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _array(values: Any) -> Floats | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def _subject(values: Mapping[str, Any], width: int, height: int) -> Subject:
    """A subject from what `truth` wrote. It was checked when the dataset was read, so it is not checked again."""
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
    )


@dataclass
class ManifestWriter:
    """Writes samples into partitions as they come; memory does not grow with their number."""

    place: str | Path | Storage
    card: DatasetCard
    partition: int = PARTITION
    storage: Storage = field(init=False)
    written: list[Partition] = field(default_factory=list)
    kinds: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.storage = open_storage(self.place)

    def write(self, samples: Iterable[Sample]) -> SampleManifest:
        """Write every sample and the index, which comes last: a folder without it is no manifest."""
        block: list[dict[str, Any]] = []
        for sample in samples:
            note_kinds(self.kinds, sample)
            block.append(_row(sample))
            if len(block) >= self.partition:
                self._flush(block)
        if block or not self.written:
            self._flush(block)
        index = {
            "format": FORMAT,
            "card": self.card.model_dump(),
            "attributes": settled(self.kinds),
            "partitions": [vars(partition) for partition in self.written],
        }
        self.storage.write(INDEX, to_json(index).encode())
        return read_manifest(self.storage)

    def _flush(self, block: list[dict[str, Any]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        table = pa.Table.from_pylist(block, schema=_schema())
        pq.write_table(table, buffer, compression="zstd", row_group_size=ROW_GROUP)
        content = buffer.getvalue()
        name = f"part-{len(self.written):05d}.parquet"
        self.storage.write(name, content)
        self.written.append(Partition(name, len(block), hashlib.sha256(content).hexdigest()))
        block.clear()


def _schema() -> Any:
    import pyarrow as pa

    text, size = pa.string(), pa.int32()
    return pa.schema(
        [("sample", text), ("uri", text), ("content", pa.binary()), ("width", size), ("height", size),
         ("sha256", text), ("attributes", text), ("subjects", text)]
    )  # fmt: skip


def _row(sample: Sample) -> dict[str, Any]:
    about = truth(sample)
    content = None
    if isinstance(sample.image, ArrayImage):
        content = encode_png(sample.image.pixels)
    elif isinstance(sample.image, EncodedImage):
        content = sample.image.content
    return {
        "sample": sample.id,
        "uri": None if content is not None else str(sample.image.path.absolute()),  # type: ignore[union-attr]
        "content": content,
        "width": sample.width,
        "height": sample.height,
        "sha256": sample.sha256,
        "attributes": json.dumps(about["attributes"]),
        "subjects": json.dumps(about["subjects"]),
    }


def note_kinds(kinds: dict[str, str | None], sample: Sample) -> None:
    """Widen the known kinds of attributes by those of a sample: a number among words is a word, a list stays one."""
    for attributes in (sample.attributes, *(subject.attributes for subject in sample.subjects)):
        for name, value in attributes.items():
            known = kinds.setdefault(name, None)
            if value is None:
                continue
            kind = "list" if isinstance(value, tuple) else "double" if isinstance(value, float) else "string"
            if known is not None and known != kind:
                kind = "list" if "list" in (known, kind) else "string"
            kinds[name] = kind


def settled(kinds: Mapping[str, str | None]) -> dict[str, str]:
    """Kinds with text for attributes that no sample has a value of."""
    return {name: kind or "string" for name, kind in kinds.items()}


def attribute_kinds(samples: Sequence[Sample]) -> dict[str, str]:
    """Every attribute of the samples with its kind."""
    kinds: dict[str, str | None] = {}
    for sample in samples:
        note_kinds(kinds, sample)
    return settled(kinds)


def read_manifest(place: str | Path | Storage) -> SampleManifest:
    """Open a manifest; a damaged or newer one is refused by name."""
    storage = open_storage(place)
    where = f"{storage.place}/{INDEX}"
    try:
        index = json.loads(storage.read(INDEX))
        if index["format"] > FORMAT:
            raise InputError(f"{where}: made by a newer version (format {index['format']}); update countenance")
        card = DatasetCard.model_validate(index["card"])
        partitions = tuple(Partition(p["name"], int(p["rows"]), p["sha256"]) for p in index["partitions"])
        kinds = {str(name): str(kind) for name, kind in index["attributes"].items()}
    except Missing:
        raise InputError(f"{where}: missing; `countenance data index` makes a manifest") from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: damaged ({error}); make the manifest again") from error
    return SampleManifest(storage, card, kinds, partitions, index.get("source"))
