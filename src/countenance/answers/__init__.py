"""What a model returns: one type per kind of answer, validated once at the door."""

from countenance.answers.types import (
    Age,
    Answer,
    Boxes,
    Embedding,
    Keypoints,
    LabelMap,
    Labels,
    Masks,
    Parts,
    Picture,
)

__all__ = ["Age", "Answer", "Boxes", "Embedding", "Keypoints", "LabelMap", "Labels", "Masks", "Parts", "Picture"]
