"""What every task that answers with boxes shares: average precision over the run, and the curve of a group."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.metrics.boxes import match_greedy, recall_curve
from countenance.metrics.ranking import average_precision, bootstrap_interval
from countenance.tasks.task import Summary

TrueBox = Callable[[Subject], NDArray[np.float64] | None]


def precision_summary(
    true_box: TrueBox, samples: Sequence[Sample], answers: Mapping[str, Boxes], seed: int
) -> list[Summary]:
    """Average precision at overlap .5, with an interval by resampling images; nothing where nobody has a box."""
    scores, hits, images, count = [], [], [], []
    for i, sample in enumerate(samples):
        boxes = [box for subject in sample.subjects if (box := true_box(subject)) is not None]
        truth = np.array(boxes, dtype=np.float64).reshape(-1, 4)
        answer = answers[sample.id]
        hits.append(match_greedy(truth, answer.xyxy, answer.scores, 0.5) >= 0)
        scores.append(answer.scores)
        images.append(np.full(len(answer), i, dtype=np.int64))
        count.append(len(truth))
    if not sum(count):
        return []
    ranked, hit, owner = np.concatenate(scores), np.concatenate(hits), np.concatenate(images)
    per_image = np.array(count, dtype=np.float64)

    def resampled(weights: Any) -> float:
        return average_precision(ranked, hit, float((weights * per_image).sum()), weights[owner])

    estimate = resampled(np.ones(len(samples)))
    low, high = bootstrap_interval(resampled, len(samples), seed=seed)
    meaning = "area under precision against recall at overlap 0.5, all images together"
    return [Summary("average_precision@0.5", meaning, estimate, low, high, len(samples))]


def overlap_curve(overlaps: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The share found at each overlap threshold.

    >>> thresholds, shares = overlap_curve([0.2, 0.9])
    >>> thresholds[50], shares[50]
    (0.5, 0.5)
    """
    thresholds = np.arange(0, 101) / 100
    return thresholds.tolist(), recall_curve(np.asarray(overlaps, dtype=np.float64), thresholds).tolist()
