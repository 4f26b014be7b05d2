"""Predictions made from the truth with noise of a known strength, so that it is known in advance whom a demo fails.

Each function takes the truth of the people of one image, how strong the noise is for each of them (1: usual), and a
random generator.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers.boxes import Boxes
from countenance.answers.shapes import Keypoints, LabelMap, Masks
from countenance.answers.values import Embedding, Parts
from countenance.errors import opencv

Array = NDArray[np.float64]
Noise = Sequence[float]


def noisy_boxes(truth: Sequence[Array], noise: Noise, draw: np.random.Generator) -> Boxes:
    """Boxes with moved corners; some people are missed, and now and then a box shows nobody.

    >>> noisy_boxes([np.array([10.0, 10, 50, 90])], [0.0], np.random.default_rng(3)).xyxy
    array([[10., 10., 50., 90.]])
    """
    result: list[Any] = []
    scores = []
    for true, strength in zip(truth, noise, strict=True):
        if draw.random() < 0.03 * strength:
            continue  # missed
        box = true + draw.normal(0, 0.03 * strength * (true[2:] - true[:2]).mean(), 4)
        box[2:] = np.maximum(box[2:], box[:2] + 1)
        result.append(box.round(2))
        scores.append(round(float(draw.uniform(0.6, 1)), 3))
    if draw.random() < 0.2:  # a false alarm
        x, y = draw.uniform(0, 40, 2)
        result.append([round(x, 2), round(y, 2), round(x + 30, 2), round(y + 30, 2)])
        scores.append(round(float(draw.uniform(0.3, 0.8)), 3))
    return Boxes(np.array(result).reshape(-1, 4), scores)


def noisy_masks(truth: Sequence[NDArray[np.bool_]], noise: Noise, draw: np.random.Generator) -> Masks:
    """Masks that are too large or too small by some pixels."""
    cv2 = opencv("noisy masks")
    result = []
    for mask, strength in zip(truth, noise, strict=True):
        radius = max(1, round(abs(draw.normal(0, 0.012 * strength * max(mask.shape)))))
        kernel = np.ones((2 * radius + 1, 2 * radius + 1), np.uint8)
        change = cv2.erode if draw.random() < 0.5 else cv2.dilate
        result.append(change(np.ascontiguousarray(mask.astype(np.uint8)), kernel))
    return Masks(np.array(result), [0.9] * len(result))


def noisy_keypoints(
    truth: Sequence[tuple[Array, float]], noise: Noise, draw: np.random.Generator, confidence: float = 0.9
) -> Keypoints:
    """Keypoints moved by a share of the person's scale; the truth is their keypoints with that scale."""
    people = []
    for (points, scale), strength in zip(truth, noise, strict=True):
        moved = (points[:, :2] + draw.normal(0, 0.12 * strength * scale, (len(points), 2))).round(2)
        people.append(np.hstack([moved, np.full((len(points), 1), confidence)]))
    return Keypoints(np.array(people))


def noisy_parts(
    truth: Sequence[Collection[str]], noise: Noise, draw: np.random.Generator, names: Sequence[str]
) -> Parts:
    """A probability for each of some body parts; the truth is the parts that can be seen."""
    result: list[dict[str, float]] = []
    for there, strength in zip(truth, noise, strict=True):
        right = {name: draw.beta(8 / strength, 2) for name in names}
        result.append({name: round(float(p if name in there else 1 - p), 3) for name, p in right.items()})
    return Parts(tuple(result))


def noisy_label_map(truth: NDArray[np.uint8], noise: float, draw: np.random.Generator) -> LabelMap:
    """The label map of one face, moved by some pixels."""
    dx, dy = draw.normal(0, 0.012 * noise * len(truth), 2).round().astype(int)
    return LabelMap(np.roll(truth, (int(dy), int(dx)), axis=(0, 1)))


def noisy_embedding(centre: Array, noise: float, draw: np.random.Generator) -> Embedding:
    """A vector of length 1 near a person's own."""
    vector = centre + 0.7 * noise * draw.normal(size=len(centre))
    return Embedding((vector / np.linalg.norm(vector)).round(6))
