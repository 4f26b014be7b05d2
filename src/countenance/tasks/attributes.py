"""What does the person look like? Attributes of a portrait against what is known of the person."""

from collections.abc import Mapping
from typing import Any

from countenance.answers import Labels
from countenance.data import Sample
from countenance.tasks.task import Metric, Row, Task, subject_row


def to_labels(raw: Any) -> Labels:
    """Labels from `Labels` or a dict of attribute names with words.

    >>> to_labels({"gender": "female"}).values
    {'gender': 'female'}
    """
    if isinstance(raw, Labels):
        return raw
    if not isinstance(raw, Mapping):
        raise ValueError(f"{type(raw).__name__}, expected a dict such as {{'gender': 'female'}}")
    for name, value in raw.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} is {value!r}, expected a word")
    return Labels({str(name): value for name, value in raw.items()})


def score(sample: Sample, answer: Labels) -> list[Row]:
    """One row for the person, with a 0/1 metric for each attribute that is both known and asked for."""
    (subject,) = sample.subjects
    row = subject_row(sample, subject)
    right = []
    for name in sorted(subject.attributes):
        truth = subject.attributes[name]
        if truth is None or name not in answer.values:
            continue
        allowed = truth if isinstance(truth, tuple) else (str(truth),)
        right.append(float(answer.values[name] in allowed))
        row[f"m.correct.{name}"] = right[-1]
    row["m.correct"] = sum(right) / len(right) if right else None
    return [row]


ATTRIBUTES = Task(
    name="attributes",
    question="What does the person look like?",
    answer=Labels,
    metrics=(Metric("correct", "share of the person's known attributes that were named right", headline=True),),
    coerce=to_labels,
    score=score,
    asks=lambda sample: len(sample.subjects) == 1,
)
