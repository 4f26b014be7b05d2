"""What every task that predicts boxes shares: rows of an image, average precision over the run, a group's curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.metrics.boxes import recall_curve
from countenance.metrics.detection import average_precision, average_precision_intervals
from countenance.metrics.localization import best_overlaps, hits
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.results import Number
from countenance.tasks.task import Row, subject_row

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
TrueBox = Callable[[Subject], Array | None]
MEANING = "COCO's average precision at overlap 0.5 (101 recalls), all images together"
GROUP_MEANING = "average precision at overlap 0.5 of a group's own boxes; boxes that hit somebody else do not count"
REPLICATES = 200


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
        """Which true box each predicted one finds first, by score; -1 is a false positive."""
        return hits(self.truth, self.image, self.boxes, self.scores, self.counts)

    def false_positives(self, found: Ints) -> Ints:
        """How many predicted boxes of each image find nobody, or somebody found already."""
        return np.bincount(self.image_of_boxes[found < 0], minlength=len(self.counts))

    def state(self, found: Ints) -> State:
        """What average precision needs."""
        images = np.array([len(self.counts)])
        return {
            "score": self.scores, "truth": found, "image": self.image_of_boxes, "owner": self.image, "images": images,
        }  # fmt: skip


def image_rows(
    sample: Sample, answer: Boxes, true_box: TrueBox, measures: Mapping[str, Callable[[Array], Array]]
) -> list[Row]:
    """A row for each person with a true box, and one for the image with its false positives."""
    people = [(subject, box) for subject in sample.subjects if (box := true_box(subject)) is not None]
    block = BoxBlock.of([([box for _, box in people], answer)])
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
        images = [
            ([box for subject in sample.subjects if (box := true_box(subject)) is not None], answer)
            for sample, answer in shard.answered()
        ]
        block = BoxBlock.of(images)
        return block.state(block.hits())

    return Reduce(partial, _finish, _merge)


def _merge(one: State, two: State) -> State:
    """Both states; the second one's images and true boxes are numbered on from the first one's."""
    images, truths = int(one["images"].sum()), len(one["owner"])
    return {
        "score": np.concatenate([one["score"], two["score"]]),
        "truth": np.concatenate([one["truth"], np.where(two["truth"] >= 0, two["truth"] + truths, -1)]),
        "image": np.concatenate([one["image"], two["image"] + images]),
        "owner": np.concatenate([one["owner"], two["owner"] + images]),
        "images": one["images"] + two["images"],
    }


def _finish(state: State, whole: Whole) -> Reduced:
    owner = state["owner"]
    if not len(owner):
        return Reduced()
    rows = whole.rows()
    people = rows.filter(rows["subject"].is_valid())
    groups: dict[tuple[str, str], NDArray[np.bool_]] = {}
    if people.num_rows == len(owner):  # every true box has its row, in the same order
        for attribute in whole.attributes:
            values = [tuple(map(str, _each(value))) for value in people[f"attr.{attribute}"].to_pylist()]
            for group in sorted({name for value in values for name in value}):
                groups[attribute, group] = np.array([group in value for value in values])
    return Reduced(list(precisions(state, groups, seed=whole.seed)))


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else () if value is None else (value,)


def precisions(
    state: State,
    groups: Mapping[tuple[str, str], NDArray[np.bool_]],
    *,
    name: str = "average_precision@0.5",
    seed: int = 0,
) -> list[Number]:
    """Average precision of everybody and of each group: for an attribute and a value, the true boxes that have it.

    Boxes that hit somebody of another group are left out (COCO's ignore); false positives count for every group.
    """
    about: list[tuple[str | None, str | None]] = [(None, None), *groups]
    members = [np.ones(len(state["owner"]), bool), *groups.values()]
    score, truth, image = state["score"], state["truth"], state["image"]
    people = [np.bincount(state["owner"][one], minlength=int(state["images"].sum())) for one in members]
    kept = [(truth < 0) | one[truth] for one in members]
    spans = average_precision_intervals(
        score, truth >= 0, image, kept, np.array(people, dtype=np.float64), replicates=REPLICATES, seed=seed
    )
    return [
        Number(
            name=name, meaning=GROUP_MEANING if group else MEANING, low=low, high=high, n=int(member.sum()),
            value=average_precision(score[keep], truth[keep] >= 0, int(member.sum())), unit="boxes", better="higher",
            attribute=attribute, group=group,
        )
        for (attribute, group), member, keep, (low, high) in zip(about, members, kept, spans, strict=True)
    ]  # fmt: skip


def false_positives_per_image(counts: Ints) -> Number:
    """The mean number of false positives of an image, with its interval.

    >>> found = false_positives_per_image(np.array([0, 2, 1, 1]))
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (1.0, 0.2, 1.8)
    """
    mean = float(counts.mean())
    spread = 1.96 * float(counts.std(ddof=1) / np.sqrt(len(counts))) if len(counts) > 1 else np.nan
    return Number(
        name="FPPI", meaning="boxes that hit nobody, or somebody already hit, for each image", value=mean,
        low=max(0.0, mean - spread), high=mean + spread, n=len(counts), unit="images", better="lower",
    )  # fmt: skip


def overlap_curve(overlaps: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The share found at each overlap threshold.

    >>> thresholds, shares = overlap_curve([0.2, 0.9])
    >>> thresholds[50], shares[50]
    (0.5, 0.5)
    """
    thresholds = np.arange(0, 101) / 100
    return thresholds.tolist(), recall_curve(np.asarray(overlaps, dtype=np.float64), thresholds).tolist()
