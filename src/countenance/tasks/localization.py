"""Shared by tasks that predict boxes: rows of an image, average precision over the run, a group's curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.metrics.boxes import recall_curve
from countenance.metrics.localization import best_overlaps, hits
from countenance.tasks.ignored_regions import counted_boxes
from countenance.tasks.precision import collected_precisions
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.states import Spool
from countenance.tasks.task import Row, subject_row

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
TrueBox = Callable[[Subject], Array | None]
PUBLISHED = "AR_IOU"
"""FHIBE's name of the average recall of boxes, under which its thresholds are recorded."""


@dataclass(frozen=True)
class BoxBlock:
    """The boxes of some images: the true ones with their image, the predicted ones image after image."""

    truth: Array
    image: Ints
    boxes: Array
    scores: Array
    counts: Ints
    """How many boxes are predicted in each image."""

    @classmethod
    def of(cls, images: Sequence[tuple[Sequence[Array], Boxes]]) -> "BoxBlock":
        """The block of some images, each with its true boxes and its prediction."""
        truth = [box for boxes, _ in images for box in boxes]
        return cls(
            np.array(truth, dtype=np.float64).reshape(len(truth), 4),
            np.repeat(np.arange(len(images)), [len(boxes) for boxes, _ in images]).astype(np.int64),
            np.concatenate([np.zeros((0, 4)), *(answer.xyxy for _, answer in images)]),
            np.concatenate([np.zeros(0), *(answer.scores for _, answer in images)]),
            np.array([len(answer) for _, answer in images], dtype=np.int64),
        )

    @property
    def image_of_boxes(self) -> Ints:
        """The image of each predicted box."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def overlaps(self) -> Array:
        """The largest overlap of each true box with a predicted one; several people may share a box."""
        return best_overlaps(self.truth, self.image, self.boxes, self.counts)

    def hits(self) -> Ints:
        """The true box that each predicted box finds first, by score; -1 for a false positive."""
        return hits(self.truth, self.image, self.boxes, self.scores, self.counts)

    def state(self, truth_of_boxes: Ints) -> State:
        """The state for average precision: 16 bytes for each predicted box and 4 for each true box."""
        images = np.array([len(self.counts)])
        truth, image, owner = (column.astype(np.int32) for column in (truth_of_boxes, self.image_of_boxes, self.image))
        return {"score": self.scores, "truth": truth, "image": image, "owner": owner, "images": images}


def image_rows(
    sample: Sample, answer: Boxes, true_box: TrueBox, measures: Mapping[str, Callable[[Array], Array]]
) -> list[Row]:
    """A row for each person with a true box, and one for the image with its false positives."""
    people = [(subject, box) for subject in sample.people if (box := true_box(subject)) is not None]
    truth = [box for _, box in people]
    block = BoxBlock.of([(truth, counted_boxes(sample, np.array(truth).reshape(len(truth), 4), answer))])
    overlaps = block.overlaps()
    columns = {f"m.{name}": measure(overlaps) for name, measure in measures.items()}
    rows = []
    for i, (subject, _) in enumerate(people):
        values = {name: float(column[i]) for name, column in columns.items()}
        rows.append(subject_row(sample, subject) | values)
    image = subject_row(sample, people[0][0] if len(people) == 1 else None)  # whose portrait has false positives?
    image["subject"] = None
    image["m.false_positives"] = float((block.hits() < 0).sum())
    return [*rows, image]


def precision(true_box: TrueBox) -> Reduce:
    """The reducer of average precision: of everybody, and of each group."""

    def partial(shard: Shard) -> State:
        images = []
        for sample, answer in shard.answered():
            truth = [box for subject in sample.people if (box := true_box(subject)) is not None]
            images.append((truth, counted_boxes(sample, np.array(truth).reshape(len(truth), 4), answer)))
        block = BoxBlock.of(images)
        return block.state(block.hits())

    return Reduce(partial, _finish)


def _finish(state: State, whole: Whole) -> Reduced:
    return collected_precisions(state.states() if isinstance(state, Spool) else [state], whole)


def overlap_curve(overlaps: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The share found at each overlap threshold.

    >>> thresholds, shares = overlap_curve([0.2, 0.9])
    >>> thresholds[50], shares[50]
    (0.5, 0.5)
    """
    thresholds = np.arange(0, 101) / 100
    return thresholds.tolist(), recall_curve(np.asarray(overlaps, dtype=np.float64), thresholds).tolist()
