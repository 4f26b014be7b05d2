"""Person and face localisation: best overlap for each person, and what the false alarms cost."""

from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.metrics.detection import average_precision, average_precision_interval
from countenance.metrics.localization import best_overlaps, hits
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
from countenance.suites.fhibe.scoring.readings import reading_problems


def read_boxes(job: Job, scored: Scored) -> tuple[Ints, Array, Array, Ints]:
    """The image of each person; all boxes, image after image, their scores and how many each image has."""
    matcher, image = job.images(job.people)
    found: list[list[Any]] = [[] for _ in matcher.names]
    confidence: list[list[float]] = [[] for _ in matcher.names]
    answered = np.zeros(len(matcher.names), dtype=bool)
    for i, place, entry in job.entries(matcher):
        answered[i] = True
        boxes = field(entry, "detections", place)
        if boxes is None:
            continue
        if not isinstance(boxes, list):
            raise InputError(f"{place}: detections is {type(boxes).__name__}, expected a list of boxes or null")
        found[i] = boxes
        scores = entry.get("scores")
        if isinstance(scores, list) and len(scores) == len(boxes):
            confidence[i] = scores
        elif scores:
            raise InputError(f"{place}: {len(scores)} scores for {len(boxes)} boxes")
        else:
            confidence[i] = [1.0] * len(boxes)
    scored.report_missing(matcher, answered, job.folder / FILE)
    counts = np.array([len(boxes) for boxes in found], dtype=np.int64)
    return image, _stack(found, matcher.names, job), np.array([s for each in confidence for s in each], float), counts


def _stack(found: list[list[Any]], names: list[str], job: Job) -> Array:
    flat = [box for boxes in found for box in boxes]
    if not flat:
        return np.zeros((0, 4))
    try:
        array = np.array(flat, dtype=np.float64)
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


def score_boxes(job: Job, files: bool = False) -> Scored:
    """AR_IOU of each row; by default also average precision and false positives per image."""
    scored, rows = Scored(job.table), len(job.table)
    truth = job.people.boxes("person_bbox" if job.task == "person_localization" else "face_bbox")
    image, boxes, confidence, counts = read_boxes(job, scored)
    scored.problems += reading_problems(job, truth, image, boxes, counts)
    best = best_overlaps(truth[:rows], image[:rows], boxes, counts)
    keys = threshold_keys(job.thresholds["AR_IOU"], job.strict)
    scored.rows["AR_IOU"] = passes(best, keys)
    scored.curves["AR_IOU"] = curve(best, keys)
    if files:
        scored.files["gt_bbox_iou_scores.json"] = best.tolist()
        scored.files.update(threshold_files(job.table, best, keys, "iou"))
    if not job.strict:
        scored.rows["best_iou"] = best
        found = hits(truth, image, boxes, confidence, counts)
        of = np.repeat(np.arange(len(counts)), counts)
        alarms = np.bincount(of[~found], minlength=len(counts))
        scored.rows["false_positives"] = alarms[image[:rows]].astype(np.float64)
        people = np.bincount(image, minlength=len(counts)).astype(np.float64)
        low, high = average_precision_interval(confidence, found, of, people, replicates=200)
        scored.overall["AP@0.5"] = {"value": average_precision(confidence, found, len(truth)), "low": low, "high": high}
        spread = float(alarms.std(ddof=1) / np.sqrt(len(alarms))) if len(alarms) > 1 else float("nan")
        mean = float(alarms.mean())
        scored.overall["FPPI"] = {"value": mean, "low": max(0.0, mean - 1.96 * spread), "high": mean + 1.96 * spread}
    return scored
