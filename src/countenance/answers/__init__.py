"""The types of a model's answers: one type per kind of answer, validated once on input."""

from countenance.answers.base import Answer
from countenance.answers.boxes import Boxes, Identifications
from countenance.answers.shapes import Keypoints, LabelMap, Masks, Picture
from countenance.answers.values import Age, Embedding, Labels, Parts, Scalars

__all__ = [
    "Age",
    "Answer",
    "Boxes",
    "Embedding",
    "Identifications",
    "Keypoints",
    "LabelMap",
    "Labels",
    "Masks",
    "Parts",
    "Picture",
    "Scalars",
]
