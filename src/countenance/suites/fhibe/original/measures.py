"""The original's functions of `common.metrics` by their names, computed by the metrics of this package."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import LazyImage
from countenance.metrics.boxes import iou_matrix
from countenance.metrics.keypoints import correct_keypoints, oks_rows
from countenance.metrics.masks import iou, mask_runs
from countenance.metrics.parsing import f1_by_label, joint_counts_from_runs
from countenance.tasks.face_encoding import at_256, published_psnr


def bbox_intersection_over_union_score(box_1: Sequence[float], box_2: Sequence[float]) -> float:
    """The overlap of two boxes.

    >>> bbox_intersection_over_union_score((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    return float(iou_matrix(np.array([box_1[:4]], float), np.array([box_2[:4]], float))[0, 0])


def best_iou_scores_for_gt_boxes(pred_boxes: Sequence[Any], gt_boxes: Sequence[Any]) -> list[float]:
    """The largest overlap of each true box with a predicted one; 0 without predictions."""
    return [
        max((bbox_intersection_over_union_score(predicted, box) for predicted in pred_boxes), default=0.0)
        for box in gt_boxes
    ]


def segmentation_intersection_over_union_score(pred_mask: Any, gt_mask: Any) -> float:
    """The overlap of two masks."""
    return float(iou(mask_runs(np.asarray(pred_mask, bool)), mask_runs(np.asarray(gt_mask, bool))))


def best_iou_scores_for_gt_masks(pred_masks: Sequence[Any], gt_masks: Sequence[Any]) -> list[float]:
    """The largest overlap of each true mask with a predicted one; 0 without predictions."""
    score = segmentation_intersection_over_union_score
    return [max((score(predicted, mask) for predicted in pred_masks), default=0.0) for mask in gt_masks]


def f1_score(pred_mask: Any, gt_mask: Any) -> float:
    """The pixel F1 of two masks; NaN where both are empty."""
    counts = joint_counts_from_runs(np.asarray(gt_mask, np.uint8), {1: mask_runs(np.asarray(pred_mask, bool))})
    return f1_by_label(counts).get(1, float("nan"))


def percentage_correct_keypoints_score(
    pred_keypoints: Any, gt_keypoints: Any, face_bbox: Sequence[float], thresholds: Sequence[float], visible: Any
) -> list[float] | float:
    """The share of visible keypoints within threshold × diagonal of the face box, for each threshold."""
    scale = np.array([math.hypot(face_bbox[2] - face_bbox[0], face_bbox[3] - face_bbox[1])])
    points, truth = (np.asarray(value, float)[None] for value in (pred_keypoints, gt_keypoints))
    shares: list[float] = correct_keypoints(
        points, truth, np.asarray(visible, bool)[None], scale, np.asarray(thresholds, float)
    )[0].tolist()
    return shares[0] if len(shares) == 1 else shares


def object_keypoint_similarity(pred_keypoints: Any, gt_keypoints: Any, gt_area: float, sigmas: Any) -> float:
    """COCO's similarity of one person's keypoints with the true ones (x, y, visibility)."""
    points, truth = np.asarray(pred_keypoints, float)[None], np.asarray(gt_keypoints, float)[None]
    areas = np.array([gt_area], float)
    return float(oks_rows(points[:, :, :2], truth[:, :, :2], truth[:, :, 2] > 0, areas, np.asarray(sigmas, float))[0])


def peak_signal_to_noise_ratio_score(
    image_paths_1: Sequence[str], image_paths_2: Sequence[str], exif_transpose: bool = True, **further: Any
) -> list[float]:
    """The published PSNR of pairs of pictures, both at 256 × 256."""
    if len(image_paths_1) != len(image_paths_2):
        raise ValueError(f"{len(image_paths_1)} pictures and {len(image_paths_2)}; expected the same number")
    pairs = zip(image_paths_1, image_paths_2, strict=True)
    return [published_psnr(*(at_256(LazyImage(Path(path)).load()) for path in pair)) for pair in pairs]
