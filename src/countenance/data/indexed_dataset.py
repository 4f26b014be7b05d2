"""A dataset in a manifest: samples are read on access, so its size does not matter."""

from collections.abc import Iterator
from functools import cached_property
from typing import overload

from countenance.data.manifest import SampleManifest
from countenance.data.sample import Dataset, Sample


class IndexedDataset(Dataset):
    """The dataset of a manifest, as `load_dataset` returns it. Its fingerprint is a hash of the partitions' hashes."""

    def __init__(self, manifest: SampleManifest) -> None:
        self.card, self.manifest, self.aliases, self.notes = manifest.card, manifest, {}, ()

    @cached_property
    def samples(self) -> tuple[Sample, ...]:  # type: ignore[override]
        """Every sample, in memory."""
        return tuple(self.manifest)

    def __len__(self) -> int:
        return len(self.manifest)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        if isinstance(index, slice):
            return Dataset(self.card, self.samples[index])
        expected = index if index >= 0 else len(self) + index
        for number, partition in enumerate(self.manifest.partitions):
            if 0 <= expected < partition.rows:
                return self.manifest.rows(number, expected, expected + 1)[0]
            expected -= partition.rows
        raise IndexError(index)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.manifest)

    def attribute_names(self) -> list[str]:
        return list(self.manifest.attributes)

    def fingerprint(self) -> str:
        return self.manifest.fingerprint()

    @property
    def hashed_when_read(self) -> bool:
        return False

    def truth_fingerprint(self) -> str:
        return self.manifest.fingerprint()
