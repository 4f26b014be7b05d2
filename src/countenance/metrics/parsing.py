"""Label maps: the F1 score of each label, from run lengths or from pixels."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.masks import Ints, fill, spans

Array = NDArray[np.float64]
LABELS = 256
"""Labels are bytes."""


def joint_counts_from_runs(truth: NDArray[np.uint8], answered: Mapping[int, Ints], labels: int = LABELS) -> Ints:
    """How many pixels have each pair of labels, truth by answer, without decoding the answer's pixels.

    The answer is given as run lengths by label, counted column by column.

    Where two labels overlap the pixel has their sum (modulo 256), as when label maps are added up. With fewer
    `labels` the table is smaller; answers beyond count as the last, which the truth must not use.

    >>> joint_counts_from_runs(np.array([[0, 1]], np.uint8), {1: np.array([1, 1])})[:2, :2].tolist()
    [[1, 0], [0, 1]]
    """
    flat = truth.ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    positions: list[Ints] = [np.concatenate([[0], edges]).astype(np.int64)]
    steps: list[Ints] = [np.zeros(len(positions[0]), dtype=np.int64)]
    for label, lengths in answered.items():
        starts, ends = spans(lengths)
        positions += [starts, ends]
        steps += [np.full(len(starts), label, dtype=np.int64), np.full(len(ends), -label, dtype=np.int64)]
    where, step = np.concatenate(positions), np.concatenate(steps)
    order = np.argsort(where, kind="stable")
    where, step = where[order], step[order]
    length = np.diff(np.concatenate([where, [flat.size]]))
    keep = length > 0
    label_answered = np.minimum(np.cumsum(step)[keep] % LABELS, labels - 1)
    label_truth = flat[where[keep]].astype(np.int64)
    pairs = label_truth * labels + label_answered
    counts = np.bincount(pairs, weights=length[keep], minlength=labels * labels)
    return counts.astype(np.int64).reshape(labels, labels)


def f1_by_label(counts: Ints) -> dict[int, float]:
    """For each label present in the truth its pixel F1, 2TP / (2TP + FP + FN).

    >>> f1_by_label(joint_counts_from_runs(np.array([[0, 1, 1]], np.uint8), {1: np.array([2, 1])}))
    {0: 0.6666666666666666, 1: 0.6666666666666666}
    """
    truth, answered, hits = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
    return {int(i): float(2 * hits[i] / (truth[i] + answered[i])) for i in np.flatnonzero(truth)}


def map_labels(answered: Mapping[int, Ints], change: Mapping[int, int], size: int) -> dict[int, Ints]:
    """Run lengths by label with some labels renamed; labels with the same new name are united.

    >>> map_labels({1: np.array([0, 1, 2]), 8: np.array([1, 1, 1])}, {8: 1}, 3)
    {1: array([0, 2, 1])}
    """
    merged: dict[int, list[Ints]] = {}
    for label, lengths in answered.items():
        merged.setdefault(change.get(label, label), []).append(lengths)
    return {label: group[0] if len(group) == 1 else _union(group, size) for label, group in merged.items()}


def _union(masks: list[Ints], size: int) -> Ints:
    starts = np.concatenate([spans(lengths)[0] for lengths in masks])
    ends = np.concatenate([spans(lengths)[1] for lengths in masks])
    where = np.concatenate([starts, ends])
    step = np.concatenate([np.ones(len(starts), dtype=np.int64), -np.ones(len(ends), dtype=np.int64)])
    # At one position an opening comes before a closing, so that masks that touch make one run.
    order = np.lexsort((-step, where))
    depth = np.cumsum(step[order])
    opens = where[order][(depth == 1) & (step[order] == 1)]
    closes = where[order][depth == 0]
    bounds = np.stack([opens, closes], axis=1).ravel()
    lengths = np.diff(np.concatenate([[0], bounds, [size]]))
    return (lengths[:-1] if lengths[-1] == 0 else lengths).astype(np.int64)


def painted(runs: Mapping[int, Ints], size: Sequence[int]) -> NDArray[np.uint8]:
    """The label map (height × width) of run lengths by label; where labels overlap, the last one counts.

    >>> painted({2: np.array([1, 1])}, (1, 2))
    array([[0, 2]], dtype=uint8)
    """
    classes = np.zeros(tuple(size), dtype=np.uint8)
    for label, lengths in runs.items():
        classes[fill(lengths, *classes.shape)] = label
    return classes
