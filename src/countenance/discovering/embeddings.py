"""Vectors that describe rows: from a file, from the model itself, or a small descriptor of each crop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding
from countenance.data import Dataset
from countenance.decoding import decoding, regular_file
from countenance.errors import InputError
from countenance.run import Run

Vectors = NDArray[np.float64]
SIDE, CELLS, WAYS = 32, 4, 8
MARGIN = 0.25
"""How much of a face's box is added around it."""
MOST_DESCRIBED = 50_000
NPY = b"\x93NUMPY"
"""The first bytes of an array file."""


def from_file(path: Path, samples: list[str | None], rows: int) -> Vectors:
    """Vectors of a file: .npy with one for each row, or .parquet with `sample` and `embedding` (or numbers)."""
    if path.suffix.lower() == ".npy":
        with decoding(path, "array"), regular_file(path).open("rb") as stream:
            if stream.read(len(NPY)) != NPY:
                raise InputError(f"{path}: not an array as numpy.save writes it")
            stream.seek(0)
            vectors = np.load(stream, allow_pickle=False)
        if vectors.ndim != 2 or len(vectors) != rows:
            raise InputError(f"{path}: shape {vectors.shape}, expected {rows} vectors, one for each row of the table")
        if vectors.dtype.kind not in "fiub":
            raise InputError(f"{path}: holds {vectors.dtype}, expected numbers")
        return _known(np.asarray(vectors, dtype=np.float64), path)
    if path.suffix.lower() != ".parquet":
        raise InputError(f"{path}: {path.suffix or 'no extension'}, expected .npy or .parquet")
    import pyarrow.parquet as pq

    with decoding(path, "Parquet table"):
        table = pq.read_table(path)
    if "sample" not in table.column_names or "embedding" not in table.column_names:
        raise InputError(f"{path}: columns {', '.join(table.column_names)}, expected sample and embedding (lists)")
    if not is_vectors(table["embedding"].type):
        raise InputError(f"{path}: the column embedding holds {table['embedding'].type}, expected lists of numbers")
    names = [None if name is None else str(name) for name in table["sample"].to_pylist()]
    known = dict(zip(names, table["embedding"].to_pylist(), strict=True))
    if len(known) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{path}: several vectors of sample {twice!r}, expected one for each sample")
    if not any(sample in known for sample in samples if sample is not None):
        there = "its samples are others" if any(samples) else "the table has no column sample"
        raise InputError(f"{path}: no row of the table has a vector ({there}); name samples as the table does")
    return _known(_together([known.get(sample) for sample in samples], str(path)), path)


def _known(vectors: Vectors, path: Path) -> Vectors:
    if not vectors.shape[1]:
        raise InputError(f"{path}: vectors of no numbers, expected at least one number for each row")
    if not np.isfinite(vectors).all(1).any():
        raise InputError(f"{path}: no row has a vector of finite numbers, expected one for most rows")
    return vectors


def is_vectors(kind: Any) -> bool:
    """Whether a column of an Arrow type holds lists of numbers.

    >>> import pyarrow as pa
    >>> is_vectors(pa.list_(pa.float32())), is_vectors(pa.list_(pa.string())), is_vectors(pa.int64())
    (True, False, False)
    """
    import pyarrow.types as types

    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if not any(is_kind(kind) for is_kind in lists):
        return False
    return bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


def _together(vectors: list[Any], place: str) -> Vectors:
    sizes = {len(vector) for vector in vectors if vector is not None}
    if len(sizes) != 1:
        raise InputError(f"{place}: vectors of {len(sizes)} lengths for these rows, expected one length")
    (size,) = sizes
    missing = np.full(size, np.nan)
    return np.array([missing if vector is None else vector for vector in vectors], dtype=np.float64)


def of_model(run: Run, samples: list[str | None]) -> Vectors | None:
    """The vectors of the model; None where its answers are not embeddings."""
    answers = run.answers()
    vectors = {name: answer.vector for name, answer in answers.items() if isinstance(answer, Embedding)}
    if not any(vector is not None for vector in vectors.values()):
        return None
    return _together([vectors.get(sample or "") for sample in samples], run.place)


def of_crops(dataset: Dataset, samples: list[str | None], subjects: list[str | None]) -> Vectors | None:
    """A descriptor of each row's crop: colours of 8 × 8 fields and directions of edges in 4 × 4 cells."""
    names = {sample for sample in samples if sample is not None}
    if not names or len(names) > MOST_DESCRIBED:
        return None
    descriptors: dict[tuple[str, str | None], NDArray[np.float64]] = {}
    for sample in dataset:
        if sample.id not in names:
            continue
        try:
            pixels = sample.load()
        except InputError:
            continue
        descriptors[sample.id, None] = descriptor(pixels, None)
        for subject in sample.subjects:
            box = subject.face_box if subject.face_box is not None else subject.person_box
            descriptors[sample.id, subject.id] = descriptor(pixels, box)
    vectors = [descriptors.get((str(sample), subject)) for sample, subject in zip(samples, subjects, strict=True)]
    return _together(vectors, dataset.name) if any(vector is not None for vector in vectors) else None


def descriptor(pixels: NDArray[np.uint8], box: Any) -> NDArray[np.float64]:
    """A picture, or a part of it with some margin, as 320 numbers.

    >>> descriptor(np.zeros((40, 40, 3), np.uint8), None).shape
    (320,)
    """
    from PIL import Image

    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = (0.0, 0.0, float(width), float(height)) if box is None else (float(v) for v in box)
    wide, high = MARGIN * (x1 - x0), MARGIN * (y1 - y0)
    left, top = int(max(x0 - wide, 0)), int(max(y0 - high, 0))
    right, bottom = int(min(x1 + wide, width)), int(min(y1 + high, height))
    part = pixels[top : max(bottom, top + 1), left : max(right, left + 1)]
    if not part.size:
        part = pixels
    small = np.asarray(Image.fromarray(part).resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.float64) / 255
    colours = small.reshape(8, SIDE // 8, 8, SIDE // 8, 3).mean((1, 3)).reshape(-1)
    grey = small @ np.array([0.299, 0.587, 0.114])
    dy, dx = np.gradient(grey)
    strength = np.hypot(dx, dy)
    way = ((np.arctan2(dy, dx) % np.pi) / np.pi * WAYS).astype(int) % WAYS
    row, column = np.indices(grey.shape) * CELLS // SIDE
    edges = np.bincount(((row * CELLS + column) * WAYS + way).reshape(-1), strength.reshape(-1), CELLS * CELLS * WAYS)
    return np.concatenate([colours, edges / (np.linalg.norm(edges) + 1e-6)])
