"""Samples, subjects, datasets and their cards; one adapter file per source; the embedded people.

What reads a dataset by its name loads when it is first used: a worker of a run gets samples and needs no reader.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.image import ArrayImage, LazyImage
from countenance.data.sample import Dataset, Rle, Sample, Subject

if TYPE_CHECKING:
    from countenance.data.registry import dataset_names, load_dataset

__all__ = [
    "ArrayImage",
    "AttributeCard",
    "Dataset",
    "DatasetCard",
    "LazyImage",
    "Rle",
    "Sample",
    "Subject",
    "dataset_names",
    "load_dataset",
]


def __getattr__(name: str) -> Any:
    if name in ("dataset_names", "load_dataset"):
        return getattr(import_module("countenance.data.registry"), name)
    raise AttributeError(f"module 'countenance.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
