"""The pictures that the detector learns from: the train split of the embedded people, and scenes without people."""

import numpy as np

from countenance.data import Dataset, Sample
from countenance.learning.augmentation import Pixels
from countenance.suites.mask_fairness.train.augment import TrainingPicture

PARTS = ("portraits", "bodies", "groups")
"""Twins are left out: they measure what one change does to a detector, also to this one."""


def training_pictures(dataset: Dataset, split: str = "train") -> tuple[list[TrainingPicture], list[Pixels]]:
    """Pictures with faces, and pictures without people, of one split.

    A group picture with anybody whom another split knows is left out, so that test people are never seen.
    """
    foreign = {
        subject.identity
        for sample in dataset
        if sample.attributes.get("part") == "portraits" and sample.attributes.get("split") != split
        for subject in sample.subjects
    }
    pictures, scenes = [], []
    for sample in dataset:
        if sample.attributes.get("split") != split:
            continue
        if not sample.subjects:
            scenes.append(sample.load())
        elif sample.attributes.get("part") in PARTS and not any(s.identity in foreign for s in sample.subjects):
            pictures.append(to_picture(sample))
    return pictures, scenes


def to_picture(sample: Sample) -> TrainingPicture:
    """A sample as arrays; people without a face box stay in the picture, unmarked, only when they show no face."""
    faces = [subject for subject in sample.subjects if subject.face_box is not None]
    people = None
    if all(subject.mask is not None for subject in sample.subjects):
        people = np.zeros((sample.height, sample.width), dtype=bool)
        for subject in sample.subjects:
            assert subject.mask is not None
            people |= subject.mask.decode()
    unknown = np.full((5, 2), np.nan)
    return TrainingPicture(
        pixels=sample.load(),
        boxes=np.array([subject.face_box for subject in faces], dtype=np.float64).reshape(len(faces), 4),
        masked=np.array([{"yes": 1.0, "no": 0.0}.get(str(s.attributes.get("masked")), -1.0) for s in faces]),
        landmarks=np.array([unknown if s.landmarks is None else s.landmarks for s in faces]).reshape(len(faces), 5, 2),
        people=people,
    )
