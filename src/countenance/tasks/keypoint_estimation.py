"""Keypoint estimation: keypoints compared with the true ones, paired with people by similarity."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from countenance.answers import Keypoints
from countenance.data import Sample, Subject
from countenance.data.vocabulary import KEYPOINTS
from countenance.metrics.boxes import average_recall
from countenance.metrics.keypoints import COCO_SIGMAS, correct_keypoints, oks_rows, pair_by_overlap
from countenance.metrics.localization import expand
from countenance.metrics.masks import area, run_lengths
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With
from countenance.tasks.task import Metric, Row, Task, subject_row
from countenance.tasks.thresholds import ThresholdOptions, levels_in_words, threshold_curve

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class KeypointOptions(ThresholdOptions):
    """Which keypoints count, and the thresholds."""

    custom_keypoints: tuple[str, ...] = KEYPOINTS
    """Some of the 17 keypoints, in their order."""

    @field_validator("custom_keypoints", mode="before")
    @classmethod
    def _in_order(cls, names: Any) -> Any:
        if names is None:
            return KEYPOINTS
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        if not isinstance(names, (list, tuple)) or not names:
            raise ValueError("expected a list with at least one keypoint, or None for all 17")
        for name in names:
            if name not in KEYPOINTS:
                raise ValueError(f"{name!r} is not one of {', '.join(KEYPOINTS)}")
        ordered = tuple(name for name in KEYPOINTS if name in names)
        if tuple(names) != ordered:
            raise ValueError(f"the order must be {', '.join(ordered)}")
        return ordered

    @property
    def places(self) -> list[int]:
        """The places of the chosen keypoints among the 17."""
        return [KEYPOINTS.index(name) for name in self.custom_keypoints]


def to_keypoints(raw: Any) -> Keypoints:
    """Keypoints from `Keypoints`, {"keypoints", "scores"} or an array N × 17 × 2 or 3.

    >>> to_keypoints(np.zeros((1, 17, 2))).points.shape
    (1, 17, 3)
    """
    keypoints = raw
    if isinstance(raw, dict):
        if "keypoints" not in raw:
            raise ValueError(f"a dict without 'keypoints' (it has {', '.join(map(str, raw))})")
        keypoints = Keypoints(raw["keypoints"])
    elif raw is None:
        raise ValueError("None, expected keypoints; an image without people has an empty array")
    elif not isinstance(raw, Keypoints):
        keypoints = Keypoints(raw)
    if len(keypoints.points) and keypoints.points.shape[1] != 17:
        raise ValueError(f"{keypoints.points.shape[1]} keypoints for each person, expected 17")
    answer: Keypoints = keypoints
    return answer


@dataclass(frozen=True)
class KeypointBlock:
    """The people of some images with their keypoints (x, y, 2: visible), and the predicted people image after image."""

    truth: Array
    areas: Array
    """Pixels of each person's mask."""
    diagonals: Array
    """Diagonal of each person's face box."""
    image: Ints
    points: Array
    counts: Ints
    """How many people are predicted in each image."""


def similarities(people: KeypointBlock, options: KeypointOptions) -> tuple[Ints, Ints, Array]:
    """All pairs of a person and a prediction of the same image with their object keypoint similarity."""
    person, answer = expand(people.image, people.counts)
    truth, sigmas = people.truth[person], COCO_SIGMAS[options.places]
    return (
        person,
        answer,
        oks_rows(people.points[answer], truth[:, :, :2], truth[:, :, 2] > 0, people.areas[person], sigmas),
    )


def best_similarity(people: KeypointBlock, pairs: tuple[Ints, Ints, Array], options: KeypointOptions) -> Array:
    """Each person's largest similarity with any prediction; NaN where no keypoint is visible.

    A person without a prediction has 0; in strict mode NaN, as published.
    """
    person, _, similar = pairs
    best = np.full(len(people.truth), -np.inf)
    np.maximum.at(best, person, np.nan_to_num(similar, nan=-np.inf))
    unseen = ~(people.truth[:, :, 2] > 0).any(axis=1)
    return np.where(unseen, np.nan, np.where(best < 0, np.nan if options.strict else 0.0, best))


def correct_shares(people: KeypointBlock, pairs: tuple[Ints, Ints, Array], options: KeypointOptions) -> Array:
    """For each person and threshold of PCK the share of visible keypoints within it; NaN where none is visible.

    Predictions are assigned to people so that the total similarity of an image is largest. In strict mode they are
    assigned by order, and in images with one prediction every person has the first person's value.
    """
    image, counts = people.image, people.counts
    pair = _by_order(image, counts) if options.strict else _by_similarity(image, counts, pairs)
    visible = people.truth[:, :, 2] == 2
    points = np.full((len(visible), visible.shape[1], 2), np.inf)
    points[pair >= 0] = people.points[pair[pair >= 0]]
    with np.errstate(invalid="ignore", over="ignore"):
        levels = options.levels("PCK")
        shares = correct_keypoints(points, people.truth[:, :, :2], visible, people.diagonals, levels)
    if options.strict:
        copied = _copied(image, counts)
        shares[copied[:, 0]] = shares[copied[:, 1]]
    return shares


def _rank_in_image(image: Ints) -> Ints:
    """The place of each row among the rows of its image, from 0."""
    order = np.argsort(image, kind="stable")
    start = np.searchsorted(image[order], image[order])
    rank = np.empty(len(image), dtype=np.int64)
    rank[order] = np.arange(len(image)) - start
    return rank


def _by_order(image: Ints, counts: Ints) -> Ints:
    """The i-th prediction of an image for its i-th row; -1 where there are too few."""
    starts = np.cumsum(counts) - counts
    rank = _rank_in_image(image)
    return np.where(rank < counts[image], starts[image] + rank, -1)


def _copied(image: Ints, counts: Ints) -> Ints:
    """Rows that copy another row's value: in images with several rows and one prediction, the first row's.

    >>> _copied(np.array([0, 1, 0]), np.array([1, 1])).tolist()
    [[2, 0]]
    """
    _, first = np.unique(image, return_index=True)
    first_of = np.zeros(len(counts), dtype=np.int64)
    first_of[image[first]] = first
    rows = np.flatnonzero((_rank_in_image(image) > 0) & (counts[image] == 1))
    return np.stack([rows, first_of[image[rows]]], axis=1)


def _by_similarity(image: Ints, counts: Ints, pairs: tuple[Ints, Ints, Array]) -> Ints:
    """Each person's prediction, where each prediction serves once and the total similarity is largest."""
    _, _, similar = pairs
    out = np.full(len(image), -1, dtype=np.int64)
    starts = np.cumsum(counts) - counts
    pairs_of = np.cumsum(counts[image]) - counts[image]
    order = np.argsort(image, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(image[order])) + 1) if len(image) else ():
        here = image[rows[0]]
        paired = pair_by_overlap(np.stack([similar[pairs_of[row] :][: counts[here]] for row in rows], axis=1))
        out[rows] = np.where(paired >= 0, starts[here] + paired, -1)
    return out


def known(sample: Sample) -> list[Subject]:
    """The people with keypoints, a mask (for the area) and a face box (for the scale)."""
    return [s for s in sample.people if s.keypoints is not None and s.mask is not None and s.face_box is not None]


def asks(sample: Sample) -> bool:
    """Whether the keypoints of any person in the image are known."""
    return bool(known(sample))


def score(sample: Sample, answer: Keypoints, options: KeypointOptions) -> list[Row]:
    """A row for each person: PCK of the prediction paired with them, AR_OKS of the best one."""
    subjects = known(sample)
    truth = np.reshape([s.keypoints for s in subjects], (len(subjects), 17, 3))[:, options.places]
    truth[:, :, 2] *= truth[:, :, 2] == 2  # what is hidden does not count
    boxes = np.reshape([s.face_box for s in subjects], (len(subjects), 4))
    people = KeypointBlock(
        truth,
        np.array([area(run_lengths(s.mask.counts)) for s in subjects if s.mask is not None], dtype=np.float64),
        np.sqrt((boxes[:, 2] - boxes[:, 0]) ** 2 + (boxes[:, 3] - boxes[:, 1]) ** 2),  # as published, to the last bit
        np.zeros(len(subjects), dtype=np.int64),
        answer.points[:, options.places, :2],
        np.array([len(answer.points)], dtype=np.int64),
    )
    pairs = similarities(people, options)
    best, shares = best_similarity(people, pairs, options), correct_shares(people, pairs, options)
    recalls = average_recall(best, options.levels("AR_OKS"))
    rows, levels = [], options.levels("PCK")
    for i, subject in enumerate(subjects):
        row = subject_row(sample, subject)
        if truth[i, :, 2].any():  # nothing visible: there is nothing to find
            row["m.PCK"] = float(shares[i].mean())
            row |= {f"m.{at_threshold(level)}": float(share) for level, share in zip(levels, shares[i], strict=True)}
            row["m.OKS"] = None if np.isnan(best[i]) else float(best[i])
        if options.strict or truth[i, :, 2].any():  # published: nothing visible counts as a miss
            row["m.AR_OKS"] = float(recalls[i])
        rows.append(row)
    return rows


def at_threshold(level: float) -> str:
    """The column of the share of keypoints that are within one threshold.

    >>> at_threshold(0.30000000000000004)
    'PCK@0.3'
    """
    return f"PCK@{level:g}"


def nothing_kept(shard: Shard) -> State:
    """An empty state, since the curves come from the rows."""
    return {}


def curves(state: State, whole: Whole, options: KeypointOptions) -> Reduced:
    """The share of keypoints, and of people, that pass each threshold."""
    levels = options.levels("PCK")
    columns = [f"m.{at_threshold(level)}" for level in levels]
    table = whole.rows([*dict.fromkeys(columns), "m.OKS"])
    placed = [np.nanmean(_numbers(table, name)) for name in columns if name in table.column_names]
    similar = _numbers(table, "m.OKS")
    similar = similar[~np.isnan(similar)]
    passed = options.levels("AR_OKS")
    shares = [float((similar >= level).mean()) for level in passed] if len(similar) else []
    return Reduced(
        [
            *threshold_curve("PCK", levels.tolist(), [float(share) for share in placed]),
            *threshold_curve("AR_OKS", passed.tolist(), shares),
        ]
    )


def _numbers(table: Any, name: str) -> Array:
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=np.float64)


def make(options: KeypointOptions) -> Task:
    """The task with its options."""
    pck, similar = options.levels("PCK"), options.levels("AR_OKS")
    return Task(
        name="keypoint_estimation",
        question="Where are each person's joints?",
        answer=Keypoints,
        metrics=(
            Metric(
                "PCK",
                "share of visible keypoints within threshold × diagonal of the face box, "
                f"mean over thresholds {levels_in_words(pck)}",
                better="higher",
                headline=True,
            ),
            Metric(
                "AR_OKS",
                f"share of the thresholds {levels_in_words(similar)} that the best similarity passes",
                better="higher",
                headline=True,
            ),
            Metric("OKS", "object keypoint similarity (COCO) with the best answer", "higher"),
        ),
        coerce=to_keypoints,
        score=With(score, options),
        asks=asks,
        needs=("keypoints",),
        reduce=Reduce(nothing_kept, With(curves, options)),
        options=options,
        make=make,
    )


KEYPOINT_ESTIMATION = make(KeypointOptions())
