"""Pretrained features of a discovered region: the middle of EfficientNet-Lite0 (ImageNet) on crops of each photo.

The crop is the part of the region that weighs most, moved with the photo's region. Features keep their places, and are
averaged over crop and mirror image and over slightly moved, turned and scaled crops, since mouths are tilted and vary
in place. Middle blocks are used because labelled leave-one-out prefers them to the last ones.
"""

from functools import cache

import numpy as np

from countenance.learning.efficientnet import Network, pretrained_network, shrunk
from countenance.learning.training import need_torch
from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.interface import Labels, Pictures, Singles
from countenance.suites.happyfaces.spatial.regions import Region
from countenance.suites.happyfaces.spatial.windows import SCALES

SIZE = 96
DEPTHS = (8, 11)
"""After how many blocks features are taken."""
VIEWS = (
    (0, 0, 0, 1.0),
    (-5, 0, 0, 1.0),
    (5, 0, 0, 1.0),
    (0, -5, 0, 1.0),
    (0, 5, 0, 1.0),
    (0, 0, -10, 1.0),
    (0, 0, 10, 1.0),
    (0, 0, 0, 0.85),
)
"""The crops whose features are averaged: moved down and right (px), turned (degrees), scaled."""
HEAVY = 0.5
"""The crop holds the blocks with at least this share of the heaviest block's weight."""
_BATCH = 25


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
    """Callable: photos, region, moves to features, photos × all places and channels of all depths."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def __call__(self, pictures: Pictures, region: Region, moves: Labels) -> Singles:
        torch = need_torch()
        box = crop_box(region, *pictures.shape[1:3])
        out = []
        with torch.no_grad():
            for i in range(0, len(pictures), _BATCH):
                some = list(zip(pictures[i : i + _BATCH], moves[i : i + _BATCH], strict=True))
                total = 0.0
                for view in VIEWS:
                    x = shrunk(np.stack([_crop(picture, box, move, view) for picture, move in some]), SIZE)
                    both = zip(self.network(x, *DEPTHS), self.network(x.flip(3), *DEPTHS), strict=True)
                    seen = [a + b for a, b in both]
                    total = total + torch.cat([(view + view.flip(3)).flatten(1) for view in seen], 1)
                out.append(total)
        return np.asarray(torch.cat(out).numpy(), np.float32)


def _crop(
    picture: Pictures, box: tuple[int, int, int, int], move: Labels, view: tuple[int, int, int, float]
) -> Pictures:
    from PIL import Image

    top, bottom, left, right = box
    down, across, degrees, scale = view
    y = (top + bottom) / 2 + int(move[0]) * hog.FINE + down
    x = (left + right) / 2 + int(move[1]) * hog.FINE + across
    high, wide, turn = scale * (bottom - top) / SIZE, scale * (right - left) / SIZE, np.radians(degrees)
    a, b, c, d = np.cos(turn) * wide, -np.sin(turn) * high, np.sin(turn) * wide, np.cos(turn) * high
    half = SIZE / 2
    to_photo = (a, b, x - (a + b) * half, c, d, y - (c + d) * half)
    kind, smooth = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).transform((SIZE, SIZE), kind, to_photo, smooth))


@cache
def pretrained_features() -> PretrainedFeatures:
    """The features, with the weights of the installed package; cached for the whole program."""
    return PretrainedFeatures(pretrained_network("pretrained features"))
