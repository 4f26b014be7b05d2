"""Pretrained features of a discovered region: the middle of EfficientNet-Lite0 (ImageNet) on a crop of each photo.

The crop is the part of the region that weighs most, moved with the photo's region. Features keep their places, and are
averaged over crop and mirror image. Middle blocks, because labelled leave-one-out prefers them to the last ones.
"""

import hashlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import MissingExtra
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.backbone import efficientnet_lite0, efficientnet_weights
from countenance.suites.happyfaces.spatial import hog
from countenance.suites.happyfaces.spatial.regions import Region
from countenance.suites.happyfaces.spatial.windows import SCALES

SIZE = 96
BLOCKS = 8
HEAVY = 0.5
"""The crop holds the blocks with at least this share of the heaviest block's weight."""
_REMEMBERED = 16


def crop_box(region: Region, height: int, width: int) -> tuple[int, int, int, int]:
    """Top, bottom, left, right in px of the heavy part of a region at the coarsest scale, centred like the region."""
    cell = SCALES[-1][0]
    weights = region.weights[-1]
    rows, columns = np.nonzero(weights >= HEAVY * weights.max())
    y = (height - (weights.shape[0] + 1) * cell) // 2
    x = (width - (weights.shape[1] + 1) * cell) // 2
    left, right = x + cell * int(columns.min()), x + cell * (int(columns.max()) + 2)
    left, right = min(left, width - right), max(right, width - left)
    return y + cell * int(rows.min()), y + cell * (int(rows.max()) + 2), left, right


class PretrainedFeatures:
    """Callable: photos, region, moves to unit vectors."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self._known: dict[tuple[bytes, tuple[int, int, int, int]], hog.Floats] = {}

    def __call__(self, pictures: hog.Pictures, region: Region, moves: NDArray[np.int64]) -> hog.Floats:
        box = crop_box(region, *pictures.shape[1:3])
        digest = hashlib.blake2b(pictures.tobytes())
        digest.update(np.ascontiguousarray(moves).tobytes())
        key = (digest.digest(), box)
        if key not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = self._compute(pictures, box, moves)
        return self._known[key]

    def _compute(self, pictures: hog.Pictures, box: tuple[int, int, int, int], moves: NDArray[np.int64]) -> hog.Floats:
        torch = need_torch()
        out = []
        with torch.no_grad():
            for i in range(0, len(pictures), 50):
                crops = np.stack(
                    [_crop(p, box, move) for p, move in zip(pictures[i : i + 50], moves[i : i + 50], strict=True)]
                )
                x = torch.from_numpy(crops).permute(0, 3, 1, 2).float().sub(127).div(128)
                seen = self.network(x, BLOCKS) + self.network(x.flip(3), BLOCKS)
                out.append((seen + seen.flip(3)).flatten(1))
            features = torch.nn.functional.normalize(torch.cat(out), dim=1)
        return np.asarray(features.numpy(), np.float32)


def _crop(picture: hog.Pictures, box: tuple[int, int, int, int], move: NDArray[np.int64]) -> hog.Pictures:
    from PIL import Image

    top, bottom, left, right = box
    down, across = (int(m) * hog.FINE for m in move)
    corner = ((right - left) / SIZE, 0, left + across, 0, (bottom - top) / SIZE, top + down)
    moved = Image.fromarray(picture).transform((SIZE, SIZE), Image.Transform.AFFINE, corner, Image.Resampling.BILINEAR)
    return np.asarray(moved)


@cache
def pretrained_features() -> PretrainedFeatures:
    """The features, with the weights of the installed package; one object for the whole program."""
    need_torch()
    weights = efficientnet_weights()
    if weights is None:
        raise MissingExtra("pretrained features", "pretrained")
    return PretrainedFeatures(efficientnet_lite0(weights).eval())
