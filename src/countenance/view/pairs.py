"""Pairs of pictures, for models that compare faces: the least similar mate, and the most similar strangers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.answers import Embedding
from countenance.view.samples import RunGallery

MOST = 20_000
"""The most pictures among which pairs are searched; more would take too long for a page."""
SHOWN = 3


@dataclass(frozen=True)
class PairedPicture:
    """Another picture, its similarity according to the model, and whether it shows the same person."""

    place: int
    sample: str
    similarity: float
    same: bool


def pairs_of(gallery: RunGallery, row: dict[str, Any]) -> list[PairedPicture]:
    """The pairs of a sample that the model gets most wrong; empty if its answers are not embeddings."""
    opened = gallery.opened
    if opened.task is None or opened.task.answer is not Embedding or "identity" not in opened.columns.names:
        return []
    if opened.columns.total > MOST:
        return []
    places, samples, people, vectors = opened.columns.keep("pairs", lambda: _vectors(gallery))
    own = gallery.embedding(str(row["sample"]))
    if own is None or not len(vectors):
        return []
    with np.errstate(all="ignore"):
        alike = vectors @ (own / max(float(np.linalg.norm(own)), 1e-300))
    others = samples != str(row["sample"])
    same = (people == str(row.get("identity"))) & others
    order = np.argsort(alike, kind="stable")
    mates = [i for i in order if same[i]][:SHOWN]
    strangers = [i for i in order[::-1] if others[i] and people[i] != str(row.get("identity"))][:SHOWN]
    return [
        PairedPicture(int(places[i]), str(samples[i]), float(alike[i]), bool(same[i])) for i in (*mates, *strangers)
    ]


def _vectors(gallery: RunGallery) -> tuple[Any, Any, Any, Any]:
    """The places, samples, people and unit vectors of all pictures with vectors."""
    columns = gallery.opened.columns
    samples = columns.read(["sample"], [])["sample"].to_pylist()
    people = columns.read(["identity"], [])["identity"].to_pylist()
    scored = [
        (i, str(s), str(p), gallery.embedding(str(s))) for i, (s, p) in enumerate(zip(samples, people, strict=True))
    ]
    known = [pair for pair in scored if pair[3] is not None]
    if not known:  # a run without stored predictions
        return np.array([]), np.array([]), np.array([]), np.empty((0, 0))
    vectors = np.array([pair[3] for pair in known], dtype=np.float64).reshape(len(known), -1)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return (
        np.array([pair[0] for pair in known]),
        np.array([pair[1] for pair in known], dtype=object),
        np.array([pair[2] for pair in known], dtype=object),
        vectors,
    )
