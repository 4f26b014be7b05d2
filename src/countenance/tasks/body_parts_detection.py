"""Which parts of each person can be seen? Probabilities against what is there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from countenance.answers import Parts
from countenance.data import Sample
from countenance.metrics.boxes import AR_THRESHOLDS
from countenance.metrics.parts import part_accuracy, part_recall
from countenance.tasks.task import Metric, Row, Task, subject_row

ACCURACY_THRESHOLDS = np.array([0.5])


def to_parts(raw: Any) -> Parts:
    """Parts from `Parts` or a list with a dict of probabilities for each person.

    >>> to_parts([{"Face": 0.9}]).probabilities
    ({'Face': 0.9},)
    """
    if isinstance(raw, Parts):
        return raw
    if not isinstance(raw, (list, tuple)) or not all(isinstance(person, Mapping) for person in raw):
        raise ValueError(f"{type(raw).__name__}, expected a list with the parts of each person")
    people = []
    for person in raw:
        for name, value in person.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"part {name!r} has probability {value!r}, expected a number from 0 to 1")
        people.append({str(name): float(value) for name, value in person.items()})
    return Parts(tuple(people))


def score(sample: Sample, answer: Parts) -> list[Row]:
    """A row for each person; answers pair with people by order, so there must be one for each."""
    people = [subject for subject in sample.subjects if subject.body_parts]
    if len(answer.probabilities) != len(people):
        raise ValueError(
            f"{len(answer.probabilities)} answers for {len(people)} people; parts pair with people by order"
        )
    rows = []
    for subject, chances in zip(people, answer.probabilities, strict=True):
        row = subject_row(sample, subject)
        names = list(chances)
        values = np.array([chances[name] for name in names])
        present = np.array([name in subject.body_parts for name in names], dtype=bool)
        for metric, found in (
            ("AR_DET", part_recall(values, present, AR_THRESHOLDS)),
            ("ACC_DET", part_accuracy(values, present, ACCURACY_THRESHOLDS)),
        ):
            known = found[~np.isnan(found)]
            row[f"m.{metric}"] = float(known.mean()) if known.size else None
            row |= {f"m.{metric} {n}": float(v) for n, v in zip(names, found, strict=True) if not np.isnan(v)}
        rows.append(row)
    return rows


BODY_PARTS_DETECTION = Task(
    name="body_parts_detection",
    question="Which parts of each person can be seen?",
    answer=Parts,
    metrics=(
        Metric(
            "AR_DET",
            "share of the thresholds .5 to .95 that the probability of a part that is there passes, mean over parts",
            headline=True,
        ),
        Metric("ACC_DET", "presence and absence told right at .5, mean over parts", headline=True),
    ),
    coerce=to_parts,
    score=score,
    asks=lambda sample: any(subject.body_parts for subject in sample.subjects),
    needs=("body_parts",),
)
