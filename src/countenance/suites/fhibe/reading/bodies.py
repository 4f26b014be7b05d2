"""The tasks about bodies: boxes, masks, keypoints and body parts, read for all images and scored by the tasks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from countenance.answers import Boxes, Keypoints, Masks, Parts
from countenance.answers.formats.fhibe import boxes_of, checked_parts, mask_runs_of, parts_of, points_of
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.boxes import average_recall
from countenance.metrics.masks import Ints, area, best_overlap, compress
from countenance.metrics.reading_trials import FileBoxes, file_note
from countenance.metrics.readings import CORNERS
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.evaluation import Array, FhibeEvaluation, Stored
from countenance.suites.fhibe.groups import label
from countenance.suites.fhibe.outputs import FILE, Images
from countenance.suites.fhibe.published import keypoint_file, part_files, threshold_files
from countenance.tasks.body_parts_detection import FORMULAS, part_scores
from countenance.tasks.keypoint_estimation import KeypointBlock, best_similarity, correct_shares, similarities
from countenance.tasks.localization import BoxBlock, false_positives_per_image
from countenance.tasks.precision import precisions
from countenance.tasks.thresholds import threshold_curve

REMEDY = "write detections as [x0, y0, x1, y1] in pixels"
MOST_TURNED = 0.05
"""More boxes than this share with their corners the wrong way round are not boxes in this reading."""


def add_recall(job: FhibeEvaluation, metric: str, values: Array, file: str, what: str) -> None:
    """The share of the thresholds that each row's value passes, the curve, and the published files."""
    names = job.settings.scoring.named(metric)
    levels = np.array(list(names.values()))
    job.rows[metric] = average_recall(values, levels)
    known = values[~np.isnan(values)]
    shares = [float((known >= t).mean()) if known.size else np.nan for t in levels]
    job.results += threshold_curve(metric, levels.tolist(), shares)
    if job.settings.layout:
        job.files[file] = values.tolist()
        job.files.update(threshold_files(job.table, values, names, what))


def first_rows(images: Images) -> list[int]:
    """A row of each image."""
    return [rows[0] for rows in images.rows()]


def score_boxes(job: FhibeEvaluation) -> None:
    """AR_IOU of each row; by default also average precision and false positives per image."""
    rows = len(job.table)
    truth = job.people.boxes("person_bbox" if job.settings.task == "person_localization" else "face_bbox")
    images = Images(job.people.keys())
    answers = _read_boxes(job, images)
    job.stored = lambda: zip(first_rows(images), answers, strict=True)
    boxes, scores = (np.concatenate([getattr(one, name) for one in answers]) for name in ("xyxy", "scores"))
    block = BoxBlock(truth, images.of_rows, boxes, scores, np.array([len(one) for one in answers]))
    job.notes += [*_turned_boxes(job, images, block), *_reading_problems(job, block)]
    best = block.overlaps()[:rows]
    add_recall(job, "AR_IOU", best, "gt_bbox_iou_scores.json", "iou")
    if job.strict:
        return
    found = block.hits()
    alarms = block.false_positives(found)
    job.rows["best_iou"] = best
    job.rows["false_positives"] = alarms[block.image[:rows]].astype(np.float64)

    def whole() -> None:
        labels = [label(job.people, name) for name in job.settings.attributes]
        groups = {(one.attribute, value): rows for one in labels for value, rows in one.members().items()}
        everybody, *others = precisions(block.state(found), groups, name="AP@0.5")
        job.results = [everybody, false_positives_per_image(alarms), *job.results, *others]

    job.whole = whole


def _read_boxes(job: FhibeEvaluation, images: Images) -> list[Boxes]:
    """The boxes of each image."""
    found = [Boxes([])] * len(images.names)
    for i, place, entry, boxes in job.answers(images, Boxes):
        found[i] = boxes_of(boxes, entry, place)
    return found


def _turned_boxes(job: FhibeEvaluation, images: Images, block: BoxBlock) -> list[str]:
    """A note on predicted boxes whose corners are the wrong way round; too many of them are a wrong reading."""
    turned = np.flatnonzero((block.boxes[:, 2:] < block.boxes[:, :2]).any(axis=1))
    if not turned.size:
        return []
    box = ", ".join(f"{value:g}" for value in block.boxes[turned[0]])
    place = f"{job.folder / FILE}: {images.names[block.image_of_boxes[turned[0]]]}"
    count = f"{turned.size:,} of {len(block.boxes):,} boxes"
    found = f"box [{box}] has x1 < x0 or y1 < y0, as {'has' if turned.size == 1 else 'have'} {count}"
    if turned.size > MOST_TURNED * len(block.boxes) and not job.strict:
        remedies = [line.removeprefix(f"{job.folder / FILE}: ") for line in _reading_problems(job, block)]
        raise InputError("; ".join([f"{place}: {found}", *(remedies or [REMEDY])]))
    return [f"{place}: {found}; such a box overlaps nobody"]


def _reading_problems(job: FhibeEvaluation, block: BoxBlock) -> list[str]:
    """A sentence when the boxes look as if they were given in another reading, or nothing."""

    def size(number: int) -> tuple[float, float] | None:
        try:
            first = int(np.flatnonzero(block.image == number)[0])
            return LazyImage(job.people.file(first, "filepath")).size()
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


def score_masks(job: FhibeEvaluation) -> None:
    """AR_MASK of each row."""
    table = job.table
    images = Images(table.keys())
    truth, rows_of, best = true.person_masks(table), images.rows(), np.zeros(len(table))
    for i, runs, _ in _masks(job, images):
        best[rows_of[i]] = best_overlap([truth[row] for row in rows_of[i]], runs)
        job.step(len(rows_of[i]))
    add_recall(job, "AR_MASK", best, "gt_mask_iou_scores.json", "iou")
    if not job.strict:
        job.rows["best_iou"] = best
    sizes = table.sizes()
    job.stored = lambda: (
        (rows_of[i][0], Stored({"size": sizes[rows_of[i][0]], "counts": [*map(compress, runs)], "scores": scores}))
        for i, runs, scores in _masks(job, images, report=False)
    )


def _masks(job: FhibeEvaluation, images: Images, report: bool = True) -> Iterator[tuple[int, list[Ints], list[float]]]:
    sizes, rows_of = job.table.sizes(), images.rows()
    for i, place, entry, masks in job.answers(images, Masks, report):
        yield i, *mask_runs_of(masks, entry, place, sizes[rows_of[i][0]])


def score_keypoints(job: FhibeEvaluation) -> None:
    """PCK and AR_OKS of each row."""
    table, options, metrics = job.table, job.settings.scoring, job.settings.metrics
    rows = len(table)
    truth = true.keypoints(job.people, options.custom_keypoints)
    images = Images(job.people.keys())
    answers = _read_people(job, images, truth.shape[1])
    job.stored = lambda: zip(first_rows(images), map(Keypoints, answers), strict=True)
    masks = true.person_masks(job.people) if "AR_OKS" in metrics or not job.strict else []
    areas = np.array([area(mask) for mask in masks], dtype=np.float64) if masks else np.ones(len(truth))
    counts = np.array([len(people) for people in answers])
    diagonals = true.face_diagonals(job.people)
    people = KeypointBlock(truth, areas, diagonals, images.of_rows, np.concatenate(answers), counts)
    pairs = similarities(people, options)
    if "AR_OKS" in metrics:
        best = best_similarity(people, pairs, options)[:rows]
        add_recall(job, "AR_OKS", best, "oks_scores.json", "oks")
        if not job.strict:  # published: nobody visible is a miss
            job.rows["AR_OKS"][~(truth[:rows, :, 2] > 0).any(axis=1)] = np.nan
    if "PCK" in metrics:
        shares = correct_shares(people, pairs, options)[:rows]
        mean = np.full(rows, np.nan)
        seen = ~np.isnan(shares[:, 0])
        mean[seen] = shares[seen].mean(axis=1)
        job.rows["PCK"] = mean
        levels = options.levels("PCK")
        placed = shares[seen].mean(axis=0).tolist() if seen.any() else []
        job.results += threshold_curve("PCK", levels.tolist(), placed)
        if job.settings.layout:
            job.files.update(keypoint_file(table, levels, shares, mean))


def _read_people(job: FhibeEvaluation, images: Images, count: int) -> list[Array]:
    """The predicted people of each image: people × keypoints × (x, y)."""
    found = [np.zeros((0, count, 2))] * len(images.names)
    drawn = set(job.table.line)
    for i, place, entry, people in job.answers(images, Keypoints):
        rows = entry.get("rows")
        if job.strict and isinstance(rows, list) and len(rows) == len(people):  # who was not drawn counts as nobody
            people = [
                points for points, line in zip(people, rows, strict=True) if isinstance(line, int) and line in drawn
            ]
        found[i] = points_of(people, count, place)
    return found


def score_parts(job: FhibeEvaluation) -> None:
    """AR_DET and ACC_DET by part, and (by default) averaged over the parts of each row."""
    table, options = job.table, job.settings.scoring
    people = _read_parts(job)
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
        job.parts[metric] = {name: found.each[:, j] for j, name in enumerate(names)}
        if not job.strict:
            job.rows[metric] = found.mean
        at = [FORMULAS[metric](chance, present, np.array([t]))[~np.isnan(found.each)] for t in levels.values()]
        shares = [float(one.mean()) if names else np.nan for one in at]
        job.results += threshold_curve(metric, list(levels.values()), shares)
        if job.settings.layout:
            job.files.update(part_files(table, people, names, levels, metric))
    job.stored = lambda: (
        (rows[0], Parts(tuple(people[row] for row in rows)))
        for rows in Images(table.keys()).rows()
        if any(people[row] for row in rows)
    )


def _read_parts(job: FhibeEvaluation) -> list[dict[str, float]]:
    """Each row's probabilities by part, {} where the image has no answer.

    Answers pair with people by order; another number of answers than people is an error that names the image (in
    strict mode only when there are too few).
    """
    images = Images(job.people.keys())
    people_of = images.rows()
    out: list[dict[str, float]] = [{} for _ in range(len(job.table))]
    for i, place, entry, answered in job.answers(images, Parts):
        people = parts_of(answered, place)
        rows = [row for row in people_of[i] if row < len(out)]
        everyone = sorted(job.people.line[row] for row in people_of[i])
        positions = _positions(job, rows, everyone, entry.get("rows"), len(people), place)
        for row, position in zip(rows, positions, strict=True):
            out[row] = checked_parts(people[position], place)
    return out


def _positions(
    job: FhibeEvaluation, rows: list[int], everyone: list[int], named: Any, answers: int, place: str
) -> list[int]:
    """For each row of an image the number of its answer; `everyone` are the numbers of all its people in the table.

    Published: the i-th answer for the i-th row at hand, also when a draw left some of the image's people out. By
    default the entry's own "rows" decide (numbers of the table, one for each answer); without them the order is
    that of the whole table, or that of the draw where the outputs were made for it.
    """
    lines = [job.table.line[row] for row in rows]
    if job.strict:
        if answers >= len(rows):
            return list(range(len(rows)))
    elif named is not None:
        if not isinstance(named, list) or len(named) != answers or not all(line in named for line in lines):
            raise InputError(f"{place}: rows {named!r:.60} do not name the rows {lines} of its {answers} answers")
        return [named.index(line) for line in lines]
    elif job.settings.mini is not None and job.folder == job.settings.folder and answers == len(rows):
        return list(range(len(rows)))
    elif answers == len(everyone):
        return [everyone.index(line) for line in lines]
    raise InputError(
        f"{place}: {answers} answers for {len(everyone)} people; parts pair with people by order, "
        "so there must be one for each"
    )
