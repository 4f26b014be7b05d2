"""What every task that predicts boxes shares: average precision over the run, and the curve of a group."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Subject
from countenance.metrics.boxes import match_greedy, recall_curve
from countenance.metrics.detection import average_precision, average_precision_interval
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.results import Number

TrueBox = Callable[[Subject], NDArray[np.float64] | None]
MEANING = "COCO's average precision at overlap 0.5 (101 recalls), all images together"
GROUP_MEANING = "average precision at overlap 0.5 of a group's own boxes; boxes that hit somebody else do not count"
REPLICATES = 200


def precision(true_box: TrueBox) -> Reduce:
    """The reducer of average precision: of everybody, and of each group."""

    def partial(shard: Shard) -> State:
        scores, hits, images, owners = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
        image = truths = 0
        for sample, answer in shard.answered():
            boxes = [box for subject in sample.subjects if (box := true_box(subject)) is not None]
            found = _matches(np.array(boxes, dtype=np.float64).reshape(-1, 4), answer)
            scores.append(answer.scores)
            hits.append(np.where(found >= 0, found + truths, -1))
            images.append(np.full(len(answer), image, dtype=np.int64))
            owners += [image] * len(boxes)
            truths += len(boxes)
            image += 1
        return {
            "score": np.concatenate(scores),
            "truth": np.concatenate(hits),
            "image": np.concatenate(images),
            "owner": np.array(owners, dtype=np.int64),
            "images": np.array([image]),
        }

    return Reduce(partial, _finish, _merge)


def _matches(truth: NDArray[np.float64], answer: Boxes) -> NDArray[np.int64]:
    return np.asarray(match_greedy(truth, answer.xyxy, answer.scores, 0.5), dtype=np.int64)


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
    count, owner = int(state["images"].sum()), state["owner"]
    if not len(owner):
        return Reduced()
    found = [_number(state, np.ones(len(owner), bool), count, whole.seed, "average_precision@0.5", MEANING)]
    rows = whole.rows()
    people = rows.filter(rows["subject"].is_valid())
    if people.num_rows == len(owner):  # every true box has its row, in the same order
        for attribute in whole.attributes:
            values = people[f"attr.{attribute}"].to_pylist()
            for group in sorted({str(v) for value in values for v in _each(value)}):
                member = np.array([group in map(str, _each(value)) for value in values])
                number = _number(state, member, count, whole.seed, "average_precision@0.5", GROUP_MEANING)
                found.append(number.model_copy(update={"attribute": attribute, "group": group}))
    return Reduced(list(found))


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else () if value is None else (value,)


def _number(state: State, member: NDArray[np.bool_], images: int, seed: int, name: str, meaning: str) -> Number:
    """Average precision of the true boxes that are members; boxes that hit others are left out (COCO's ignore)."""
    truth = state["truth"]
    keep = (truth < 0) | member[truth]
    score, hit, image = state["score"][keep], truth[keep] >= 0, state["image"][keep]
    people = np.bincount(state["owner"][member], minlength=images).astype(np.float64)
    low, high = average_precision_interval(score, hit, image, people, replicates=REPLICATES, seed=seed)
    value = average_precision(score, hit, int(member.sum()))
    return Number(
        name=name, meaning=meaning, value=value, low=low, high=high, n=int(member.sum()), unit="boxes", better="higher"
    )


def overlap_curve(overlaps: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The share found at each overlap threshold.

    >>> thresholds, shares = overlap_curve([0.2, 0.9])
    >>> thresholds[50], shares[50]
    (0.5, 0.5)
    """
    thresholds = np.arange(0, 101) / 100
    return thresholds.tolist(), recall_curve(np.asarray(overlaps, dtype=np.float64), thresholds).tolist()
