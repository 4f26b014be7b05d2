"""Samples, subjects, datasets and their cards; one adapter file per source; the embedded people."""

from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.image import ArrayImage, LazyImage
from countenance.data.registry import dataset_names, load_dataset
from countenance.data.sample import Dataset, Rle, Sample, Subject

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
