"""What a model returns: one type per kind of answer, validated once at the door."""

from countenance.answers.types import (
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

__all__ = ["Answer", "Boxes", "Embedding", "Keypoints", "LabelMap", "Labels", "Masks", "Parts", "Picture"]
