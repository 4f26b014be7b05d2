"""Targets and losses: focal loss for faces, cross-entropy for masks, overlap for boxes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.suites.mask_fairness.train.network import CELLS, STRIDE

Array = NDArray[np.float32]
CENTRE = 0.22
"""Cells within this share of a face's size from its centre answer for it; the nearest one always does."""
SMALLEST = 7.0
"""Faces with a shorter side than this in the network's input do not count: finding one is as right as missing it."""


def targets(boxes: NDArray[np.float64], masked: NDArray[np.float64]) -> Array:
    """6 × 20 × 20: face (1, 0, or -1 for do not care), mask (1, 0, or -1 for not known), box corners in pixels.

    >>> target = targets(np.array([[40, 40, 120, 120.0]]), np.array([1.0]))
    >>> target[0, 9, 9], target[1, 9, 9], target[2:6, 9, 9].tolist(), target[0, 0, 0]
    (np.float32(1.0), np.float32(1.0), [40.0, 40.0, 120.0, 120.0], np.float32(0.0))
    """
    out = np.zeros((6, CELLS, CELLS), dtype=np.float32)
    at = (np.arange(CELLS) + 0.5) * STRIDE
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in np.argsort(-area):  # the smaller face, drawn later, wins a contested cell
        x0, y0, x1, y1 = boxes[i]
        w, h, cx, cy = x1 - x0, y1 - y0, (x0 + x1) / 2, (y0 + y1) / 2
        inside = (abs(at - cx) < w / 2)[None, :] & (abs(at - cy) < h / 2)[:, None]
        if min(w, h) < SMALLEST:
            out[0][inside & (out[0] == 0)] = -1
            continue
        near = (abs(at - cx) <= CENTRE * w)[None, :] & (abs(at - cy) <= CENTRE * h)[:, None]
        near[np.argmin(abs(at - cy)), np.argmin(abs(at - cx))] = True
        around = (abs(at - cx) <= 1.8 * CENTRE * w)[None, :] & (abs(at - cy) <= 1.8 * CENTRE * h)[:, None]
        out[0][around & (out[0] == 0)] = -1
        out[0][near], out[1][near] = 1, masked[i]
        for side, value in enumerate((x0, y0, x1, y1)):
            out[2 + side][near] = value
    return out


def loss(output: Any, target: Any) -> tuple[Any, dict[str, float]]:
    """The loss of a batch and its three parts."""
    import torch
    from torch.nn import functional

    face, mask = output[:, 0], output[:, 1]
    cared, there = target[:, 0] >= 0, target[:, 0] > 0
    share = torch.sigmoid(face)
    cross = functional.binary_cross_entropy_with_logits(face, there.float(), reduction="none")
    distance = torch.where(there, 1 - share, share)
    weight = torch.where(there, 0.4, 0.6) * distance.pow(2)
    count = there.sum().clamp(min=1).float()
    faces = (weight * cross)[cared].sum() / count
    known = there & (target[:, 1] >= 0)
    masks = (
        functional.binary_cross_entropy_with_logits(mask[known], target[:, 1][known]) if known.any() else face.sum() * 0
    )
    boxes = _box_loss(output, target, there)
    total = 2 * faces + masks + 1.5 * boxes
    return total, {"faces": float(faces.detach()), "masks": float(masks.detach()), "boxes": float(boxes.detach())}


def _box_loss(output: Any, target: Any, there: Any) -> Any:
    """One minus the generalised overlap, over the cells responsible for a face."""
    import torch

    if not there.any():
        return output.sum() * 0
    at = (torch.arange(CELLS, device=output.device) + 0.5) * STRIDE
    grid = torch.stack(torch.meshgrid(at, at, indexing="xy"), dim=-1).expand(len(output), -1, -1, -1)[there]
    reach = torch.exp(output[:, 2:].permute(0, 2, 3, 1)[there].clamp(max=4)) * STRIDE
    predicted = torch.cat([grid - reach[:, :2], grid + reach[:, 2:]], dim=1)
    truth = target[:, 2:6].permute(0, 2, 3, 1)[there]
    low, high = torch.maximum(predicted[:, :2], truth[:, :2]), torch.minimum(predicted[:, 2:], truth[:, 2:])
    both = (high - low).clamp(min=0).prod(dim=1)
    union = (predicted[:, 2:] - predicted[:, :2]).prod(dim=1) + (truth[:, 2:] - truth[:, :2]).prod(dim=1) - both
    hull = (torch.maximum(predicted[:, 2:], truth[:, 2:]) - torch.minimum(predicted[:, :2], truth[:, :2])).prod(dim=1)
    return (1 - both / union + (hull - union) / hull).mean()
