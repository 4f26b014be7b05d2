"""Do two pictures show the same person? Embeddings, compared over all pairs of the run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countenance.answers import Embedding
from countenance.data import Sample
from countenance.metrics.verification import validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.tasks.task import Metric, Row, Summary, Task, subject_row


def to_embedding(raw: Any) -> Embedding:
    """An embedding from `Embedding`, a vector, or None where no face was found.

    >>> to_embedding([3, 4]).vector
    array([3., 4.])
    """
    if isinstance(raw, Embedding):
        return raw
    if raw is None:
        return Embedding(None)
    vector = np.asarray(raw["embeddings"] if isinstance(raw, dict) and "embeddings" in raw else raw, dtype=np.float64)
    if vector.ndim != 1 or not vector.size:
        raise ValueError(f"an array of shape {vector.shape}, expected one vector")
    return Embedding(vector)


def score(sample: Sample, answer: Embedding) -> list[Row]:
    """One row for the person: whether there is an embedding at all."""
    (subject,) = sample.subjects
    row = subject_row(sample, subject)
    row["m.enrolled"] = float(answer.vector is not None)
    return [row]


def summarise(samples: Sequence[Sample], answers: Mapping[str, Embedding], seed: int) -> list[Summary]:
    """Validation rate at a false acceptance rate of .001 with its interval, and the equal error rate."""
    known = [(s, v) for s in samples if (v := answers[s.id].vector) is not None]
    lengths = {len(vector) for _, vector in known}
    if len(lengths) != 1:
        return []
    vectors = np.array([vector / (np.linalg.norm(vector) or 1.0) for _, vector in known])
    _, identity = np.unique([str(s.subjects[0].identity) for s, _ in known], return_inverse=True)
    if np.bincount(identity).max() < 2 or identity.max() < 1:
        return []
    found = validation_rate(vectors, identity, seed=seed)
    note = "" if found.sufficient else " (insufficient evidence: fewer different pairs than 3 / 0.001)"
    meaning = "same pairs accepted at the largest threshold with a false acceptance rate of at most 0.001" + note
    bands = roc_bands(vectors, identity, seed=seed)
    equal = "where false acceptances and false rejections are equally frequent"
    return [
        Summary("VAL@0.001", meaning, found.val, found.low, found.high, len(known)),
        Summary("EER", equal, found.eer, bands.eer_low, bands.eer_high, len(known)),
    ]


FACE_VERIFICATION = Task(
    name="face_verification",
    question="Do two pictures show the same person?",
    answer=Embedding,
    metrics=(
        Metric("enrolled", "whether the model gave an embedding for the picture", headline=True),
        Metric("genuine_accepted", "share of a picture's same pairs accepted at one threshold for everybody"),
        Metric("impostor_accepted", "share of its different pairs accepted at that threshold", better="lower"),
    ),
    coerce=to_embedding,
    score=score,
    asks=lambda sample: len(sample.subjects) == 1 and sample.subjects[0].identity is not None,
    needs=("embedding",),
    summarise=summarise,
)
