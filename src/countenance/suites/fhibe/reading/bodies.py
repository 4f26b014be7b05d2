"""Boxes, keypoints and body parts: arrays over all images at once, scored by the tasks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes, Keypoints, Parts
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.boxes import average_recall
from countenance.metrics.reading_trials import FileBoxes, file_note
from countenance.metrics.readings import CORNERS
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.groups import label
from countenance.suites.fhibe.outputs import FILE, Images
from countenance.suites.fhibe.published import keypoint_file, part_files, threshold_files
from countenance.suites.fhibe.scored import Array, Scored, ScoringJob
from countenance.tasks.body_parts_detection import FORMULAS, part_scores
from countenance.tasks.keypoint_estimation import KeypointBlock, best_similarity, correct_shares, similarities
from countenance.tasks.localization import BoxBlock, precisions
from countenance.tasks.results import Number

REMEDY = "write detections as [x0, y0, x1, y1] in pixels"


def add_recall(job: ScoringJob, scored: Scored, metric: str, values: Array, file: str, what: str) -> None:
    """The share of the thresholds that each row's value passes, the curve, and the published files."""
    names = job.settings.scoring.named(metric)
    levels = np.array(list(names.values()))
    scored.rows[metric] = average_recall(values, levels)
    known = values[~np.isnan(values)]
    scored.add_curve(metric, levels.tolist(), [float((known >= t).mean()) if known.size else np.nan for t in levels])
    if job.files:
        scored.files[file] = values.tolist()
        scored.files.update(threshold_files(job.table, values, names, what))


def first_rows(images: Images) -> NDArray[np.intp]:
    """A row of each image."""
    return np.unique(images.of_rows, return_index=True)[1]


def score_boxes(job: ScoringJob) -> Scored:
    """AR_IOU of each row; by default also average precision and false positives per image."""
    scored, rows = Scored(job.table), len(job.table)
    truth = job.people.boxes("person_bbox" if job.settings.task == "person_localization" else "face_bbox")
    images = Images(job.people.keys())
    block = _read_boxes(job, scored, images, truth)
    scored.problems += _reading_problems(job, block)
    best = block.overlaps()[:rows]
    add_recall(job, scored, "AR_IOU", best, "gt_bbox_iou_scores.json", "iou")
    ends = np.cumsum(block.counts)
    scored.answers = lambda: (
        (int(row), Boxes(block.boxes[end - n : end], block.scores[end - n : end]))
        for row, end, n in zip(first_rows(images), ends, block.counts, strict=True)
    )
    if job.strict:
        return scored
    found = block.hits()
    alarms = block.false_positives(found)
    scored.rows["best_iou"] = best
    scored.rows["false_positives"] = alarms[block.image[:rows]].astype(np.float64)

    def whole() -> None:
        groups = {
            (one.attribute, value): member
            for one in (label(job.people, name) for name in job.settings.attributes)
            for value, member in one.members().items()
        }
        mean = float(alarms.mean())
        spread = 1.96 * float(alarms.std(ddof=1) / np.sqrt(len(alarms))) if len(alarms) > 1 else np.nan
        fppi = Number(
            name="FPPI", meaning="boxes that hit nobody, or somebody already hit, for each image", value=mean,
            low=max(0.0, mean - spread), high=mean + spread, n=len(alarms), unit="images", better="lower",
        )  # fmt: skip
        everybody, *others = precisions(block.state(found), groups, name="AP@0.5")
        scored.results = [everybody, fppi, *scored.results, *others]

    scored.whole = whole
    return scored


def _read_boxes(job: ScoringJob, scored: Scored, images: Images, truth: Array) -> BoxBlock:
    found: list[list[Any]] = [[] for _ in images.names]
    confidence: list[list[float]] = [[] for _ in images.names]
    for i, place, entry, boxes in job.answers(scored, images, expected="a list of boxes"):
        found[i], scores = boxes, entry.get("scores")
        if scores and (not isinstance(scores, list) or len(scores) != len(boxes)):
            raise InputError(f"{place}: {np.size(scores)} scores for {len(boxes)} boxes")
        confidence[i] = scores or [1.0] * len(boxes)
    counts = np.array([len(boxes) for boxes in found], dtype=np.int64)
    try:
        scores = np.array([score for each in confidence for score in each], dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{job.folder / FILE}: scores must be numbers") from None
    return BoxBlock(truth, images.of_rows, _stack(found, images.names, job), scores, counts)


def _stack(found: list[list[Any]], names: list[str], job: ScoringJob) -> Array:
    try:
        array = np.array([box for boxes in found for box in boxes] or np.zeros((0, 4)), dtype=np.float64)
        if array.ndim == 2 and array.shape[1] >= 4 and np.isfinite(array[:, :4]).all():
            return array[:, :4]
    except (ValueError, TypeError):
        pass
    out = []
    for name, boxes in zip(names, found, strict=True):
        for box in boxes:
            good = isinstance(box, list) and len(box) >= 4 and all(isinstance(v, (int, float)) for v in box[:4])
            if not good or not np.isfinite(box[:4]).all():
                raise InputError(f"{job.folder / FILE}: {name}: {box!r:.60} is not a box, expected [x0, y0, x1, y1]")
            out.append(box[:4])
    return np.array(out, dtype=np.float64)


def _reading_problems(job: ScoringJob, block: BoxBlock) -> list[str]:
    """A sentence when the boxes look as if they were given in another reading, or nothing."""

    def size(number: int) -> tuple[float, float] | None:
        try:
            return LazyImage(job.people.image_path(int(np.flatnonzero(block.image == number)[0]))).size()
        except InputError:
            return None

    told = file_note(
        FileBoxes(block.truth, block.image, CORNERS),
        FileBoxes(block.boxes, block.image_of_boxes, CORNERS),
        size=size,
        remedy=REMEDY,
        nouns=("person", "people") if job.settings.task == "person_localization" else ("face", "faces"),
    )
    return [] if told is None else [f"{job.folder / FILE}: {told}"]


def score_keypoints(job: ScoringJob) -> Scored:
    """PCK and AR_OKS of each row."""
    table, options, metrics = job.table, job.settings.scoring, job.settings.metrics
    scored, rows = Scored(table), len(table)
    truth = true.keypoints(job.people, options.custom_keypoints)
    images = Images(job.people.keys())
    points, counts = _read_people(job, scored, images, truth.shape[1])
    areas = true.person_areas(job.people) if "AR_OKS" in metrics or not job.strict else np.ones(len(truth))
    people = KeypointBlock(truth, areas, true.face_diagonals(job.people), images.of_rows, points, counts)
    pairs = similarities(people, options)
    if "AR_OKS" in metrics:
        best = best_similarity(people, pairs, options)[:rows]
        add_recall(job, scored, "AR_OKS", best, "oks_scores.json", "oks")
        if not job.strict:  # published: nobody visible is a miss
            scored.rows["AR_OKS"][~(truth[:rows, :, 2] > 0).any(axis=1)] = np.nan
    if "PCK" in metrics:
        shares = correct_shares(people, pairs, options)[:rows]
        mean = np.full(rows, np.nan)
        seen = ~np.isnan(shares[:, 0])
        mean[seen] = shares[seen].mean(axis=1)
        scored.rows["PCK"] = mean
        levels = options.levels("PCK")
        scored.add_curve("PCK", levels.tolist(), shares[seen].mean(axis=0).tolist() if seen.any() else [])
        if job.files:
            scored.files.update(keypoint_file(table, levels, shares, mean))
    ends = np.cumsum(counts)
    scored.answers = lambda: (
        (int(row), Keypoints(points[end - n : end]))
        for row, end, n in zip(first_rows(images), ends, counts, strict=True)
    )
    return scored


def _read_people(job: ScoringJob, scored: Scored, images: Images, count: int) -> tuple[Array, NDArray[np.int64]]:
    """All answered people, image after image, and how many each image has."""
    found: list[list[Any]] = [[] for _ in images.names]
    drawn = set(job.table.line)
    for i, place, entry, people in job.answers(scored, images, expected="a list of people"):
        rows = entry.get("rows")
        if job.strict and isinstance(rows, list) and len(rows) == len(people):  # who was not drawn counts as nobody
            people = [points for points, line in zip(people, rows, strict=True) if line in drawn]
        for points in people:
            if not isinstance(points, list) or len(points) != count:
                size = len(points) if isinstance(points, list) else type(points).__name__
                raise InputError(f"{place}: a person with {size} keypoints, expected {count}")
        found[i] = people
    flat = [points for people in found for points in people]
    try:
        array = np.array(flat, dtype=np.float64).reshape(len(flat), count, -1)[:, :, :2]
    except (ValueError, TypeError):
        raise InputError(f"{job.folder / FILE}: keypoints must be [x, y] pairs of numbers") from None
    if not np.isfinite(array).all():
        raise InputError(f"{job.folder / FILE}: a keypoint that is not finite; write -999 for one that is not there")
    counts = np.array([len(people) for people in found], dtype=np.int64)
    return array if len(flat) else np.zeros((0, count, 2)), counts


def score_parts(job: ScoringJob) -> Scored:
    """AR_DET and ACC_DET by part, and (by default) averaged over the parts of each row."""
    table, options = job.table, job.settings.scoring
    scored = Scored(table)
    people = _read_parts(job, scored)
    # Published: the parts are those of the first row. By default: those of the first row that has any.
    names = list(people[0] if job.strict else next((person for person in people if person), {}))
    if not names and not job.strict:
        raise InputError(f"{job.folder / FILE}: no body part in any answer")
    chance = np.zeros((len(table), len(names)))
    for i, person in enumerate(people):
        for j, name in enumerate(names if person else ()):
            if name not in person:
                place = table.keys()[i]
                raise InputError(f"{job.folder / FILE}: {place}: part {name!r} is missing, other people have it")
            chance[i, j] = person[name]
    there = true.body_parts(table, job.settings.compat)
    present = np.array([[name in parts for name in names] for parts in there], dtype=bool).reshape(chance.shape)
    for metric in (name for name in FORMULAS if name in job.settings.metrics):
        found, levels = part_scores(metric, chance, present, options), options.named(metric)
        scored.parts[metric] = {name: found.each[:, j] for j, name in enumerate(names)}
        if not job.strict:
            scored.rows[metric] = found.mean
        at = [FORMULAS[metric](chance, present, np.array([t]))[~np.isnan(found.each)] for t in levels.values()]
        scored.add_curve(metric, list(levels.values()), [float(one.mean()) if names else np.nan for one in at])
        if job.files:
            scored.files.update(part_files(table, people, names, levels, metric))
    scored.answers = lambda: _stored_parts(table, people)
    return scored


def _stored_parts(table: Any, people: list[dict[str, float]]) -> Iterator[tuple[int, Parts]]:
    for rows in Images(table.keys()).rows():
        if any(people[row] for row in rows):
            yield rows[0], Parts(tuple(people[row] for row in rows))


def _read_parts(job: ScoringJob, scored: Scored) -> list[dict[str, float]]:
    """Each row's probabilities by part, {} where the image has no answer.

    Answers pair with people by order; another number of answers than people is an error that names the image (in
    strict mode only when there are too few).
    """
    images = Images(job.table.keys())
    rows_of = images.rows()
    out: list[dict[str, float]] = [{} for _ in range(len(job.table))]
    for i, place, entry, people in job.answers(scored, images, expected="the parts of each person", null="missing"):
        if not all(isinstance(person, dict) for person in people):
            raise InputError(f"{place}: expected a list with the parts of each person")
        positions = _positions(job, rows_of[i], entry.get("rows"), len(people), place)
        for row, position in zip(rows_of[i], positions, strict=True):
            out[row] = people[position]
            for name, value in out[row].items():
                if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
                    raise InputError(f"{place}: part {name!r} has probability {value!r:.30}, expected 0 to 1")
    return out


def _positions(job: ScoringJob, rows: list[int], named: Any, answers: int, place: str) -> list[int]:
    """For each row of an image the number of its answer.

    Published: the i-th answer for the i-th row at hand, also when a draw left some of the image's people out. By
    default the entry's own "rows" decide (numbers of the table, one for each answer); without them the order is
    that of the whole table, or that of the draw where the outputs were made for it.
    """
    table, standing = job.table, job.table.standings()
    everyone = standing[rows[0]][1]
    if job.strict:
        if answers >= len(rows):
            return list(range(len(rows)))
        everyone = len(rows)
    elif named is not None:
        lines = [table.line[row] for row in rows]
        if not isinstance(named, list) or len(named) != answers or not set(lines) <= set(named):
            raise InputError(f"{place}: rows {named!r:.60} do not name the rows {lines} of its {answers} answers")
        return [named.index(line) for line in lines]
    elif job.drawn_outputs and answers == len(rows):
        return list(range(len(rows)))
    elif answers == everyone:
        return [standing[row][0] for row in rows]
    raise InputError(
        f"{place}: {answers} answers for {everyone} people; parts pair with people by order, "
        "so there must be one for each"
    )
