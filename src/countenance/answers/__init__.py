"""What a model returns: one type per kind of answer, validated once on input."""

from countenance.answers.types import (
    Age,
    Answer,
    Boxes,
    Embedding,
    Identifications,
    Keypoints,
    LabelMap,
    Labels,
    Masks,
    Parts,
    Picture,
    Scalars,
)

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
