"""Keypoint estimation: PCK of the person's own answer, and the best OKS."""

from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS, correct_keypoints, oks_rows, pair_by_overlap
from countenance.metrics.localization import expand
from countenance.suites.fhibe.outputs import FILE, field
from countenance.suites.fhibe.scoring.base import (
    Array,
    Ints,
    Job,
    Scored,
    curve,
    passes,
    threshold_files,
    threshold_keys,
)
from countenance.suites.fhibe.scoring.masks import person_areas
from countenance.suites.fhibe.table import Table
from countenance.suites.fhibe.vocabulary import KEYPOINTS


def check_custom_keypoints(names: Any) -> tuple[str, ...]:
    """A subset of the 17 keypoints, not empty, in their order.

    >>> check_custom_keypoints(["Nose", "Right hip"])
    ('Nose', 'Right hip')
    """
    if names is None:
        return KEYPOINTS
    if not isinstance(names, (list, tuple)) or not names:
        raise InputError("custom_keypoints: expected a list with at least one keypoint, or None for all 17")
    for name in names:
        if name not in KEYPOINTS:
            raise InputError(f"custom_keypoints: {name!r} is not one of {', '.join(KEYPOINTS)}")
    ordered = tuple(name for name in KEYPOINTS if name in names)
    if tuple(names) != ordered:
        raise InputError(f"custom_keypoints: the order must be {', '.join(ordered)}")
    return ordered


def coco_keypoints(points: Any, names: tuple[str, ...], place: str) -> list[list[float]]:
    """Named keypoints as rows of x, y and visibility (0 not there, 2 visible), in the order of `names`.

    >>> coco_keypoints({"0. Nose": [1, 2, 1]}, ("Nose", "Left eye"), "row 1: keypoints")
    [[1, 2, 2], [0.0, 0.0, 0]]
    """
    if not isinstance(points, dict):
        raise InputError(f"{place}: {type(points).__name__}, expected keypoints by name")
    found: dict[str, list[float]] = {}
    for name, point in points.items():
        short = str(name).split(". ")[-1]
        if short in names:
            if not isinstance(point, (list, tuple)) or len(point) != 3:
                raise InputError(f"{place}: {name!r} is {point!r:.40}, expected [x, y, visible]")
            try:
                visible = int(point[2])
            except (TypeError, ValueError):
                raise InputError(f"{place}: {name!r} has visibility {point[2]!r}, expected 0 or 1") from None
            found[short] = [point[0], point[1], 2 if visible == 1 else visible]
    return [found.get(name, [0.0, 0.0, 0]) for name in names]


def face_diagonals(table: Table) -> Array:
    """The diagonal of each face box, in the published order of operations."""
    boxes = table.boxes("face_bbox").tolist()
    return np.array([float(np.sqrt((x1 - x0) ** 2 + (y1 - y0) ** 2)) for x0, y0, x1, y1 in boxes])


def read_people(job: Job, scored: Scored, count: int) -> tuple[Ints, Array, Ints]:
    """The image of each person; all answered people, image after image, and how many each image has."""
    matcher, image = job.images(job.people)
    found: list[list[Any]] = [[] for _ in matcher.names]
    answered = np.zeros(len(matcher.names), dtype=bool)
    drawn = set(job.table.line)
    for i, place, entry in job.entries(matcher):
        answered[i] = True
        people = field(entry, "detections", place)
        if people is None:
            continue
        if not isinstance(people, list):
            raise InputError(f"{place}: detections is {type(people).__name__}, expected a list of people or null")
        rows = entry.get("rows")
        if job.strict and isinstance(rows, list) and len(rows) == len(people):  # who was not drawn counts as nobody
            people = [points for points, line in zip(people, rows, strict=True) if line in drawn]
        for points in people:
            if not isinstance(points, list) or len(points) != count:
                size = len(points) if isinstance(points, list) else type(points).__name__
                raise InputError(f"{place}: a person with {size} keypoints, expected {count}")
        found[i] = people
    scored.report_missing(matcher, answered, job.folder / FILE)
    counts = np.array([len(people) for people in found], dtype=np.int64)
    flat = [points for people in found for points in people]
    try:
        array = np.array(flat, dtype=np.float64).reshape(len(flat), count, -1)[:, :, :2]
    except (ValueError, TypeError):
        raise InputError(f"{job.folder / FILE}: keypoints must be [x, y] pairs of numbers") from None
    if not np.isfinite(array).all():
        raise InputError(f"{job.folder / FILE}: a keypoint that is not finite; write -999 for one that is not there")
    return image, array if len(flat) else np.zeros((0, count, 2)), counts


def score_keypoints(job: Job, files: bool = False) -> Scored:
    """PCK and AR_OKS of each row."""
    table, people = job.table, job.people
    scored, rows = Scored(table), len(table)
    names = check_custom_keypoints(job.options.get("custom_keypoints"))
    sigmas = COCO_SIGMAS[[KEYPOINTS.index(name) for name in names]]
    points = [
        coco_keypoints(p, names, people.place(i, "keypoints")) for i, p in enumerate(people.literals("keypoints"))
    ]
    truth = np.array(points, dtype=np.float64).reshape(len(people), len(names), 3)
    image, answered, counts = read_people(job, scored, len(names))
    person, answer = expand(image, counts)
    need_oks = "AR_OKS" in job.metrics or not job.strict
    similar = np.full(len(person), np.nan)
    if need_oks:
        areas = person_areas(people)
        there = truth[:, :, 2] > 0
        similar = oks_rows(answered[answer], truth[person, :, :2], there[person], areas[person], sigmas)
    if "AR_OKS" in job.metrics:
        best = np.full(len(people), -1.0)
        np.maximum.at(best, person, np.nan_to_num(similar, nan=-1.0))
        best, unseen = best[:rows], ~(truth[:rows, :, 2] > 0).any(axis=1)
        # Published: nobody visible or nobody answered is NaN; a row without an answer is a miss all the same.
        best = np.where(unseen, np.nan, np.where(best < 0, np.nan if job.strict else 0.0, best))
        keys = threshold_keys(job.thresholds["AR_OKS"], job.strict)
        score = passes(best, keys)
        scored.rows["AR_OKS"] = score if job.strict else np.where(unseen, np.nan, score)
        scored.curves["AR_OKS"] = curve(best, keys)
        if files:
            scored.files["oks_scores.json"] = best.tolist()
            scored.files.update(threshold_files(table, best, keys, "oks"))
    if "PCK" in job.metrics:
        pair = _by_order(image, counts) if job.strict else _by_similarity(image, counts, person, answer, similar)
        copied = _copied(image, counts) if job.strict else np.zeros((0, 2), dtype=np.int64)
        _score_pck(job, scored, truth[:rows], answered, pair[:rows], copied, files)
    return scored


def _score_pck(job: Job, scored: Scored, truth: Array, answered: Array, pair: Ints, copied: Ints, files: bool) -> None:
    table = job.table
    visible = truth[:, :, 2] == 2
    has = pair >= 0
    points = np.full((len(table), truth.shape[1], 2), np.inf)
    points[has] = answered[pair[has]]
    thresholds = np.asarray(job.thresholds["PCK"], dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        shares = correct_keypoints(points, truth[:, :, :2], visible, face_diagonals(table), thresholds)
    mean = np.full(len(table), np.nan)
    seen = visible.any(axis=1)
    mean[seen] = shares[seen].mean(axis=1)
    shares[copied[:, 0]], mean[copied[:, 0]] = shares[copied[:, 1]], mean[copied[:, 1]]
    scored.rows["PCK"] = mean
    known = shares[~np.isnan(mean)]
    scored.curves["PCK"] = thresholds.tolist(), known.mean(axis=0).tolist() if len(known) else []
    if files:
        scored.files["pck_scores_threshold.json"] = {
            "thresholds": thresholds.tolist(),
            "results": {
                str(i): {
                    "mean_percentage_correct_keypoints": value,
                    "pcks@thresholds": each,
                    "image_id": image_id,
                    "subject_id": subject,
                    "filepath": key,
                }
                for i, (value, each, image_id, subject, key) in enumerate(
                    zip(
                        mean.tolist(),
                        shares.tolist(),
                        table.text("image_id"),
                        table.text("subject_id"),
                        table.keys(),
                        strict=True,
                    )
                )
            },
        }


def _rank_in_image(image: Ints) -> Ints:
    """The place of each row among the rows of its image, from 0."""
    order = np.argsort(image, kind="stable")
    ranked = image[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    start = np.maximum.accumulate(np.where(first, np.arange(len(ranked)), 0))
    rank = np.empty(len(image), dtype=np.int64)
    rank[order] = np.arange(len(ranked)) - start
    return rank


def _by_order(image: Ints, counts: Ints) -> Ints:
    """The i-th answer of an image for its i-th row; -1 where there are too few."""
    starts = np.cumsum(counts) - counts
    rank = _rank_in_image(image)
    return np.where(rank < counts[image], starts[image] + rank, -1)


def _copied(image: Ints, counts: Ints) -> Ints:
    """Rows that take another row's value: in images with several rows and one answer, the first row's.

    >>> _copied(np.array([0, 1, 0]), np.array([1, 1])).tolist()
    [[2, 0]]
    """
    _, first = np.unique(image, return_index=True)
    first_of = np.zeros(len(counts), dtype=np.int64)
    first_of[image[first]] = first
    rows = np.flatnonzero((_rank_in_image(image) > 0) & (counts[image] == 1))
    return np.stack([rows, first_of[image[rows]]], axis=1)


def _by_similarity(image: Ints, counts: Ints, person: Ints, answer: Ints, similar: Array) -> Ints:
    """Each person's answer when every answer serves once and the similarities are largest together."""
    people = np.bincount(image, minlength=len(counts))
    out = np.full(len(image), -1, dtype=np.int64)
    value = np.nan_to_num(similar, nan=-1.0)
    order = np.lexsort((answer, -value, person))
    firsts = order[np.concatenate([[True], person[order][1:] != person[order][:-1]])] if len(order) else order
    out[person[firsts]] = answer[firsts]
    starts = np.cumsum(counts) - counts
    pairs_of = np.cumsum(counts[image]) - counts[image]
    for i in np.flatnonzero((people > 1) & (counts > 0)).tolist():
        rows = np.flatnonzero(image == i)
        matrix = np.stack([similar[pairs_of[row] : pairs_of[row] + counts[i]] for row in rows], axis=1)
        paired = pair_by_overlap(matrix)
        out[rows] = np.where(paired >= 0, starts[i] + paired, -1)
    return out
