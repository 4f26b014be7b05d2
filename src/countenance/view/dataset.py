"""The samples of a run's dataset by name: in memory if few, in duckdb if in a manifest."""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from countenance.data import Dataset, Sample
from countenance.data.indexed_dataset import IndexedDataset
from countenance.data.manifest import SampleManifest
from countenance.view.tables import tables

MOST = 1000
"""Samples of a manifest that are kept."""


class ViewedSamples(Protocol):
    """Samples by name."""

    def some(self, names: Iterable[str]) -> dict[str, Sample]:
        """The samples that exist among the names."""


class LoadedSamples:
    """The samples of a dataset that is in memory."""

    def __init__(self, dataset: Dataset) -> None:
        self._samples = {sample.id: sample for sample in dataset}

    def some(self, names: Iterable[str]) -> dict[str, Sample]:
        return {name: self._samples[name] for name in names if name in self._samples}


class Indexed:
    """The samples of a manifest: everything but the pictures is in duckdb, decoded on access."""

    def __init__(self, manifest: SampleManifest) -> None:
        self.manifest = manifest
        self._cache: OrderedDict[str, Sample] = OrderedDict()
        self._lock = threading.Lock()
        self._table = tables().take_in(_stream(manifest))
        weakref.finalize(self, tables().drop, self._table)

    def some(self, names: Iterable[str]) -> dict[str, Sample]:
        requested = list(dict.fromkeys(names))
        with self._lock:
            missing = [name for name in requested if name not in self._cache]
            for row in tables().named(self._table, "sample", missing) if missing else ():
                self._cache[row["sample"]] = self.manifest.sample_of(row, row["partition"], row["number"])
            samples = {name: self._cache[name] for name in requested if name in self._cache}
            for name in samples:
                self._cache.move_to_end(name)
            while len(self._cache) > MOST:
                self._cache.popitem(last=False)
        return samples


def samples_of(dataset: Dataset) -> ViewedSamples:
    """The samples of a dataset, by name."""
    return Indexed(dataset.manifest) if isinstance(dataset, IndexedDataset) else LoadedSamples(dataset)


def _stream(manifest: SampleManifest) -> Any:
    """The manifest's rows with their places, as a stream of Arrow batches."""
    import pyarrow as pa

    def placed() -> Iterator[Any]:
        for partition, start, batch in manifest.batches():
            numbers = pa.array(range(start, start + batch.num_rows), pa.int64())
            parts = pa.array([partition] * batch.num_rows, pa.int64())
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, parts, numbers], names=[*batch.schema.names, "partition", "number"]
            )

    batches = placed()
    first = next(batches, None)
    if first is None:
        names = ("sample", "partition", "number")
        return pa.table({name: pa.array([], pa.string() if name == "sample" else pa.int64()) for name in names})

    def everything() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, everything())
