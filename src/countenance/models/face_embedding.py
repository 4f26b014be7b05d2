"""A face embedding from whatever names one, and how alike it finds two pictures."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.models.registry import ModelSpec


def load_embedding(source: Any) -> Any:
    """A face embedding: a callable as it is, a model's name, net.onnx, or IR-101 weights by path; None for None."""
    if source is None or callable(source):
        return source
    by_path = Path(str(source)).suffix in (".pth", ".pt")
    spec = ModelSpec("ir101", weights=str(source)) if by_path else ModelSpec(str(source))
    return spec.load()


def face_similarity(embed: Any, picture: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """The cosine of two faces' embeddings; NaN where the model finds no face.

    >>> picture = np.zeros((2, 2, 3), np.uint8)
    >>> face_similarity(lambda images: [[3, 4], [6, 8]], picture, picture)
    1.0
    """
    a, b = (getattr(vector, "vector", vector) for vector in embed([picture.copy(), other.copy()]))
    if a is None or b is None:
        return float("nan")
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norm) if norm > 0 else float("nan")
