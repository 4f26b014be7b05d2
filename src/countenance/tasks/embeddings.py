"""Shared by tasks on embeddings: the answer, and all vectors of a run in one array."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding
from countenance.answers.base import real
from countenance.data import Sample
from countenance.errors import InputError
from countenance.tasks.groups import rows_of
from countenance.tasks.reduce import Shard, State, Whole
from countenance.tasks.task import Metric, Row, subject_row

ENROLLED = Metric("enrolled", "whether the model gave an embedding for the picture", "higher", headline=True)


def to_embedding(raw: Any) -> Embedding:
    """An embedding from `Embedding`, a vector, or None where no face was found.

    >>> to_embedding([3, 4]).vector
    array([3., 4.])
    """
    if isinstance(raw, Embedding):
        return raw
    if raw is None:
        return Embedding(None)
    vector = real(raw["embeddings"] if isinstance(raw, dict) and "embeddings" in raw else raw)
    if vector.ndim != 1 or not vector.size:
        raise ValueError(f"an array of shape {vector.shape}, expected one vector")
    return Embedding(vector)


def score(sample: Sample, answer: Embedding) -> list[Row]:
    """One row for the person: whether there is an embedding. All other columns need the whole run."""
    (subject,) = sample.people
    row = subject_row(sample, subject)
    row["m.enrolled"] = float(answer.vector is not None)
    return [row]


def asks(sample: Sample) -> bool:
    """Whether an image shows exactly one person, of known identity."""
    return len(sample.people) == 1 and sample.people[0].identity is not None


def partial(shard: Shard) -> State:
    """The number of vectors of a shard, their lengths, and whether single precision holds them.

    The vectors stay in storage until all are needed.
    """
    vectors = [answer.vector for _, answer in shard.answered() if answer.vector is not None]
    with np.errstate(over="ignore"):  # what single precision cannot hold is kept in double
        single = all(np.array_equal(vector, vector.astype(np.float32)) for vector in vectors)
    return {
        "length": np.array([len(vector) for vector in vectors], dtype=np.int64),
        "double": np.array([0 if single else 1], dtype=np.int64),
    }


class Embedded(NamedTuple):
    """The pictures of a run that have an embedding."""

    vectors: NDArray[Any]
    rows: NDArray[np.int64]
    """For each vector, its row in the score table."""
    people: NDArray[Any]
    """For each row of the score table, whose picture it is."""


def embedded(state: State, whole: Whole) -> Embedded:
    """All vectors of a run; InputError when they are of different lengths."""
    lengths = np.unique(state["length"])
    if len(lengths) > 1:
        raise InputError(f"embeddings of {len(lengths)} lengths ({', '.join(map(str, lengths))}), expected one")
    table = whole.rows(["sample", "identity"])
    people = np.array(table["identity"].to_pylist(), dtype=np.str_)
    size = int(lengths.sum())  # there is one, or none
    kind = np.float64 if state["double"].any() else np.float32
    vectors, samples = np.empty((len(state["length"]), size), kind), list[str]()
    for sample, answer in whole.answers():
        if answer.vector is not None:
            vectors[len(samples)] = answer.vector
            samples.append(sample)
    return Embedded(vectors, rows_of(np.array(samples, np.str_), table["sample"]), people)
