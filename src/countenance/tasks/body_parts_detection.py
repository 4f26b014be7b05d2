"""Which parts of each person are visible: predicted probabilities against the truth."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Parts
from countenance.data import Sample
from countenance.metrics.localization import part_accuracy, part_recall
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With, added
from countenance.tasks.results import Result
from countenance.tasks.task import Metric, Row, Task, subject_row
from countenance.tasks.thresholds import ThresholdOptions, levels_in_words, threshold_curve

Array = NDArray[np.float64]
FORMULAS = {"AR_DET": part_recall, "ACC_DET": part_accuracy}


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


class PartScores(NamedTuple):
    """Scores of people and parts; NaN without a score (AR_DET of a part that is not there)."""

    each: Array
    """People × parts."""
    mean: Array
    """Of each person, over the parts that have a score."""


def part_scores(metric: str, chances: Array, present: NDArray[np.bool_], options: ThresholdOptions) -> PartScores:
    """AR_DET or ACC_DET of each part of each person, from probabilities and presence (people × parts).

    >>> part_scores("AR_DET", np.array([[0.9, 0.9]]), np.array([[True, False]]), ThresholdOptions())
    PartScores(each=array([[0.9, nan]]), mean=array([0.9]))
    """
    each = FORMULAS[metric](chances, present, np.array(list(options.named(metric).values())))
    count, total = (~np.isnan(each)).sum(axis=1), np.nansum(each, axis=1)
    return PartScores(each, np.divide(total, count, out=np.full(len(each), np.nan), where=count > 0))


def score(sample: Sample, answer: Parts, options: ThresholdOptions) -> list[Row]:
    """A row for each person; answers pair with people by order, so there must be one for each."""
    people = [subject for subject in sample.people if subject.body_parts]
    if len(answer.probabilities) != len(people):
        raise ValueError(
            f"{len(answer.probabilities)} answers for {len(people)} people; parts pair with people by order"
        )
    rows = []
    for subject, chances in zip(people, answer.probabilities, strict=True):
        row = subject_row(sample, subject)
        values = np.array([list(chances.values())])
        present = np.array([[name in subject.body_parts for name in chances]], dtype=bool)
        for metric in FORMULAS:
            parts = part_scores(metric, values.reshape(present.shape), present, options)
            row[f"m.{metric}"] = None if np.isnan(parts.mean[0]) else float(parts.mean[0])
            each = zip(chances, parts.each[0], strict=True)
            row |= {f"m.{metric} {name}": float(value) for name, value in each if not np.isnan(value)}
        rows.append(row)
    return rows


def passed(shard: Shard, options: ThresholdOptions) -> State:
    """For each metric and threshold, how many parts of people pass it, and how many are scored."""
    counts = {metric: np.zeros((2, len(options.levels(metric)))) for metric in FORMULAS}
    for sample, answer in shard.answered():
        people = [subject for subject in sample.people if subject.body_parts]
        for subject, chances in zip(people, answer.probabilities, strict=False):
            values = np.array([list(chances.values())]).reshape(1, len(chances))
            present = np.array([[name in subject.body_parts for name in chances]], dtype=bool).reshape(values.shape)
            for metric, formula in FORMULAS.items():
                for k, level in enumerate(options.levels(metric)):
                    each = formula(values, present, np.array([level]))
                    counts[metric][:, k] += np.nansum(each), (~np.isnan(each)).sum()
    return counts


def curves(state: State, whole: Whole, options: ThresholdOptions) -> Reduced:
    """The share of parts that pass each threshold."""
    results: list[Result] = []
    for metric in FORMULAS:
        right, of = state[metric]
        if of.all() and len(of):
            results += threshold_curve(metric, options.levels(metric).tolist(), (right / of).tolist())
    return Reduced(results)


def asks(sample: Sample) -> bool:
    """Whether the parts of any person in the image are known."""
    return any(subject.body_parts for subject in sample.people)


def make(options: ThresholdOptions) -> Task:
    """The task with its options."""
    recall, right = options.levels("AR_DET"), options.levels("ACC_DET")
    return Task(
        name="body_parts_detection",
        question="Which parts of each person can be seen?",
        answer=Parts,
        metrics=(
            Metric(
                "AR_DET",
                f"how surely visible parts are detected, 0 to 1 (passed probability thresholds "
                f"{levels_in_words(recall)}), mean over parts",
                better="higher",
                headline=True,
            ),
            Metric(
                "ACC_DET",
                f"whether presence or absence is right at a probability of {levels_in_words(right)}, mean over parts",
                better="higher",
                headline=True,
            ),
        ),
        coerce=to_parts,
        score=With(score, options),
        asks=asks,
        needs=("body_parts",),
        reduce=Reduce(With(passed, options), With(curves, options), added),
        options=options,
        make=make,
    )


BODY_PARTS_DETECTION = make(ThresholdOptions())
