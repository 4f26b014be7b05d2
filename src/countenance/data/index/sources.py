"""The kinds of sources that can be indexed, and how each is recognised."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.data.card import DatasetCard
from countenance.data.index import huggingface, parquet, webdataset
from countenance.data.manifest import INDEX, SampleManifest
from countenance.data.manifest_writer import ManifestWriter
from countenance.data.registry import is_reader_name, load_dataset
from countenance.data.sample import Sample
from countenance.errors import DataError
from countenance.files import exists
from countenance.storage import is_url, open_storage

Step = Callable[[int], None]


@dataclass(frozen=True)
class SampleSource:
    """A dataset whose samples come one after the other."""

    kind: str
    card: DatasetCard
    samples: Iterable[Sample]
    images: int | None = None
    """How many there are, where that is known."""
    notes: tuple[str, ...] = ()


def open_source(source: str | Path, **reading: Any) -> SampleSource:
    """A dataset as a stream of samples: what Hugging Face `datasets` saved, WebDataset tars, Parquet files with
    pictures, and whatever `load_dataset` reads (`reading` are its arguments: categories, labels, …).
    """
    path = Path(source)
    if not is_reader_name(source) and exists(path):
        for kind, module in (("Hugging Face", huggingface), ("WebDataset", webdataset), ("Parquet", parquet)):
            if module.recognised(path):
                for name, value in reading.items():
                    if value:
                        option = name.replace("_", "-")
                        raise DataError(f"{path}: --{option} is for COCO files and tables, not {kind}; leave it out")
                card = path / "card.json"
                about = DatasetCard.read(card) if card.is_file() else DatasetCard(name=path.stem)
                samples, images = module.read(path)
                return SampleSource(kind, about, samples, images)
    dataset = load_dataset(source, **reading)
    return SampleSource("dataset", dataset.card, dataset, len(dataset), dataset.notes)


def index_dataset(
    source: SampleSource, out: str | Path, *, embed: bool | None = None, step: Step = lambda n: None
) -> SampleManifest:
    """Write a source as a manifest to an empty folder or URL; `embed` includes the pictures (default: at a URL)."""
    storage = open_storage(out)
    with storage.hold():
        list(storage.leftovers())
        names = [entry.name for entry in storage.entries()]
        if INDEX in names:
            raise DataError(f"{storage.place}: holds a manifest already; name another place, or delete it first")
        if any(not name.startswith("part-") for name in names):  # partitions alone: an index that was interrupted
            raise DataError(f"{storage.place}: exists and is not empty; name a place that is new or empty")
        writer = ManifestWriter(storage, source.card, embed=is_url(out) if embed is None else embed)
        samples = _counted(source.samples, step)
        first = next(samples, None)
        if first is None:
            raise DataError(f"dataset {source.card.name!r} holds no image")
        return writer.write(itertools.chain([first], samples))


def _counted(samples: Iterable[Sample], step: Step) -> Iterator[Sample]:
    for sample in samples:
        yield sample
        step(1)
