"""Do two pictures show the same person? Embeddings, compared over all pairs of the run."""

from typing import Any

import numpy as np

from countenance.answers import Embedding
from countenance.data import Sample
from countenance.errors import InputError
from countenance.metrics.verification import validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.results import Number
from countenance.tasks.task import Metric, Row, Task, subject_row


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


def partial(shard: Shard) -> State:
    """The vectors of a shard and whose they are."""
    known = [(sample, answer.vector) for sample, answer in shard.answered() if answer.vector is not None]
    lengths = {len(vector) for _, vector in known}
    if len(lengths) > 1:
        raise InputError(f"embeddings of {len(lengths)} lengths ({', '.join(map(str, sorted(lengths)))}), expected one")
    return {
        "vector": np.array([vector for _, vector in known]).reshape(len(known), -1),
        "identity": np.array([str(sample.subjects[0].identity) for sample, _ in known], dtype=np.str_),
    }


def finish(state: State, whole: Whole) -> Reduced:
    """Validation rate at a false acceptance rate of .001 with its interval, and the equal error rate."""
    vectors = state["vector"] / np.maximum(np.linalg.norm(state["vector"], axis=1, keepdims=True), 1e-300)
    if not len(vectors):
        return Reduced()
    _, identity = np.unique(state["identity"], return_inverse=True)
    if np.bincount(identity).max() < 2 or identity.max() < 1:
        return Reduced()
    found = validation_rate(vectors, identity, seed=whole.seed)
    note = "" if found.sufficient else "insufficient evidence: fewer different pairs than 3 / 0.001"
    meaning = "same pairs accepted at the largest threshold with a false acceptance rate of at most 0.001"
    bands = roc_bands(vectors, identity, seed=whole.seed)
    equal = "where false acceptances and false rejections are equally frequent"
    n = len(vectors)
    return Reduced(
        [
            Number(name="VAL@0.001", meaning=meaning, value=found.val, low=found.low, high=found.high, n=n, note=note),
            Number(name="EER", meaning=equal, value=found.eer, low=bands.eer_low, high=bands.eer_high, n=n),
        ]
    )


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
    reduce=Reduce(partial, finish),
)
