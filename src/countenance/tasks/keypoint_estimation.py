"""Where are each person's joints? Keypoints against the true ones, paired with people by similarity."""

from typing import Any

import numpy as np

from countenance.answers import Keypoints
from countenance.data import Sample, Subject
from countenance.metrics.boxes import AR_THRESHOLDS, average_recall
from countenance.metrics.keypoints import PCK_THRESHOLDS, correct_keypoints, oks, pair_by_overlap
from countenance.metrics.masks import area, run_lengths
from countenance.tasks.task import Metric, Row, Task, subject_row


def to_keypoints(raw: Any) -> Keypoints:
    """Keypoints from `Keypoints`, {"keypoints", "scores"} or an array N × 17 × 2 or 3.

    >>> to_keypoints(np.zeros((1, 17, 2))).points.shape
    (1, 17, 3)
    """
    found = raw
    if isinstance(raw, dict):
        if "keypoints" not in raw:
            raise ValueError(f"a dict without 'keypoints' (it has {', '.join(map(str, raw))})")
        found = Keypoints(raw["keypoints"])
    elif raw is None:
        raise ValueError("None, expected keypoints; an image without people has an empty array")
    elif not isinstance(raw, Keypoints):
        found = Keypoints(raw)
    if len(found.points) and found.points.shape[1] != 17:
        raise ValueError(f"{found.points.shape[1]} keypoints for each person, expected 17")
    answer: Keypoints = found
    return answer


def people(sample: Sample) -> list[Subject]:
    """The people with keypoints, a mask (for the area) and a face box (for the scale)."""
    return [s for s in sample.subjects if s.keypoints is not None and s.mask is not None and s.face_box is not None]


def score(sample: Sample, answer: Keypoints) -> list[Row]:
    """A row for each person: PCK of the answer paired with them, AR_OKS of the best answer."""
    found = people(sample)
    truth = np.array([s.keypoints for s in found], dtype=np.float64).reshape(-1, 17, 3)
    visible = truth[:, :, 2] == 2
    areas = np.array([area(run_lengths(s.mask.counts)) for s in found if s.mask is not None], dtype=np.float64)
    boxes = np.array([s.face_box for s in found], dtype=np.float64).reshape(-1, 4)
    diagonal = np.hypot(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    points = answer.points[:, :, :2]
    similar = oks(points, truth[:, :, :2], visible, areas)
    paired = pair_by_overlap(similar)
    own = np.full((len(found), 17, 2), np.inf)
    own[paired >= 0] = points[paired[paired >= 0]]
    shares = correct_keypoints(own, truth[:, :, :2], visible, diagonal, PCK_THRESHOLDS)
    best = np.where(np.isnan(similar), -1.0, similar).max(axis=0, initial=0.0)
    rows = []
    for i, subject in enumerate(found):
        row = subject_row(sample, subject)
        if visible[i].any():  # nobody visible: nothing was to be found
            row["m.PCK"] = float(shares[i].mean())
            row["m.AR_OKS"] = float(average_recall(best[i : i + 1])[0])
            row["m.OKS"] = float(best[i])
        rows.append(row)
    return rows


KEYPOINT_ESTIMATION = Task(
    name="keypoint_estimation",
    question="Where are each person's joints?",
    answer=Keypoints,
    metrics=(
        Metric(
            "PCK",
            "share of visible keypoints within threshold × diagonal of the face box, mean over thresholds .1 to .9",
            headline=True,
        ),
        Metric(
            "AR_OKS",
            f"share of the thresholds {AR_THRESHOLDS[0]:g} to {AR_THRESHOLDS[-1]:g} that the best similarity passes",
            headline=True,
        ),
        Metric("OKS", "object keypoint similarity (COCO) with the best answer"),
    ),
    coerce=to_keypoints,
    score=score,
    asks=lambda sample: bool(people(sample)),
    needs=("keypoints",),
)
