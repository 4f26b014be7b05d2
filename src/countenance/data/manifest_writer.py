"""Writing a manifest: samples go into partitions as they come, and the index is written last."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.card import DatasetCard
from countenance.data.image import ArrayImage, LazyImage, UrlImage, encode_png
from countenance.data.manifest import FORMAT, INDEX, ROW_GROUP, Partition, SampleManifest, read_manifest, schema
from countenance.data.sample import Sample, truth
from countenance.errors import DataError, InputError
from countenance.files import to_json
from countenance.scratch import temporary_file
from countenance.storage import Storage, open_storage

PICTURES = 100
"""Samples in a row group that holds pictures; each group is read as a whole."""
PARTITION = 50_000
"""Samples in a partition."""
LARGEST = 512 * 2**20
"""Bytes of pictures in a partition."""


@dataclass
class ManifestWriter:
    """Writes samples into partitions as they come; memory does not grow with their number."""

    place: str | Path | Storage
    card: DatasetCard
    partition: int = PARTITION
    embed: bool = False
    """Put pictures into the manifest, so that workers need no other file."""
    sizes: bool = True
    """Open pictures whose size is not stated, and write it; otherwise it is left to whoever decodes them."""
    storage: Storage = field(init=False)
    written: list[Partition] = field(default_factory=list)
    kinds: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.storage = open_storage(self.place)

    def write(self, samples: Iterable[Sample]) -> SampleManifest:
        """Write every sample and the index, which comes last: a folder without it is not a manifest."""
        seen: list[NDArray[np.uint64]] = []
        with ExitStack() as stack:
            part = stack.enter_context(_Part())
            for sample in samples:
                note_kinds(self.kinds, sample)
                part.add(_row(sample, self.embed, self.sizes))
                if part.rows >= self.partition or part.content >= LARGEST:
                    self._close(part, seen)
                    part = stack.enter_context(_Part())
            if part.rows or not self.written:
                self._close(part, seen)
        self._refuse_twins(seen)
        index = {
            "format": FORMAT,
            "card": self.card.model_dump(),
            "attributes": settled(self.kinds),
            "partitions": [vars(partition) for partition in self.written],
        }
        self.storage.write(INDEX, to_json(index).encode())
        return read_manifest(self.storage)

    def _close(self, part: "_Part", seen: list[NDArray[np.uint64]]) -> None:
        name = f"part-{len(self.written):05d}.parquet"
        rows, digest = part.store(self.storage, name)
        self.written.append(Partition(name, rows, digest))
        seen.append(np.asarray(part.ids, dtype=np.uint64))

    def _refuse_twins(self, seen: list[NDArray[np.uint64]]) -> None:
        """Refuse an id that names several samples. Eight bytes of each id are compared, then the ids themselves."""
        values, times = np.unique(np.concatenate(seen), return_counts=True)
        doubtful = set(values[times > 1].tolist())
        if not doubtful:
            return
        manifest = SampleManifest(self.storage, self.card, {}, tuple(self.written))
        known: set[str] = set()
        for sample in manifest:
            if _short(sample.id) in doubtful:
                if sample.id in known:
                    raise DataError(
                        f"dataset {self.card.name!r}: the id {sample.id!r} names several images; ids must be unique"
                    )
                known.add(sample.id)


class _Part:
    """A partition that is being written, in a temporary file."""

    def __init__(self) -> None:
        self.rows, self.content, self.waiting = 0, 0, 0
        self.block: list[dict[str, Any]] = []
        self.ids: list[int] = []

    def __enter__(self) -> "_Part":
        import pyarrow.parquet as pq

        self.file = temporary_file()
        self.writer = pq.ParquetWriter(self.file, schema(), compression="zstd")
        return self

    def __exit__(self, *_: object) -> None:
        self.writer.close()
        self.file.close()
        self.block.clear()

    def add(self, row: dict[str, Any]) -> None:
        self.block.append(row)
        self.ids.append(_short(row["sample"]))
        self.rows += 1
        if row["content"] is not None:
            self.content += len(row["content"])
            self.waiting += 1
        if len(self.block) >= ROW_GROUP or self.waiting >= PICTURES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self.block or not self.rows:
            self.writer.write_table(pa.Table.from_pylist(self.block, schema=schema()))
        self.block.clear()
        self.waiting = 0

    def store(self, storage: Storage, name: str) -> tuple[int, str]:
        """Write the partition; returns its rows and its hash."""
        self._flush()
        self.writer.close()
        self.file.seek(0)
        digest = hashlib.file_digest(self.file, "sha256").hexdigest()
        self.file.seek(0)
        storage.write_stream(name, lambda stream: shutil.copyfileobj(self.file, stream))
        return self.rows, digest


def _short(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _row(sample: Sample, embed: bool, sizes: bool) -> dict[str, Any]:
    about, image = truth(sample, stated=True), sample.image
    sized = sizes or any(subject.mask is not None or subject.face_parts for subject in sample.subjects)
    width, height = (sample.width, sample.height) if sized else sample.known_size or (None, None)
    content, sha256 = None, sample.sha256
    if isinstance(image, ArrayImage):
        content, sha256 = encode_png(image.pixels), None  # the sample's hash is not that of the PNG
    elif embed or not isinstance(image, LazyImage | UrlImage):
        content = _readable(sample)
    lies = image if content is None and isinstance(image, LazyImage | UrlImage) else None
    return {
        "sample": sample.id,
        "uri": None if lies is None else lies.url if isinstance(lies, UrlImage) else str(lies.path.absolute()),
        "offset": None if lies is None else lies.offset,
        "length": None if lies is None else lies.length,
        "content": content,
        "width": width,
        "height": height,
        "sha256": sha256,
        "attributes": json.dumps(about["attributes"]),
        "subjects": json.dumps(about["subjects"]),
    }


def _readable(sample: Sample) -> bytes | None:
    """A picture's bytes; None when it cannot be read, which the run reports image by image."""
    try:
        return sample.image.read_bytes()
    except InputError:
        return None


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
    """The kinds of the attributes; text for one without a value in any sample."""
    return {name: kind or "string" for name, kind in kinds.items()}


def attribute_kinds(samples: Sequence[Sample]) -> dict[str, str]:
    """Every attribute of the samples with its kind."""
    kinds: dict[str, str | None] = {}
    for sample in samples:
        note_kinds(kinds, sample)
    return settled(kinds)
