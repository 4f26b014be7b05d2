"""The train part in memory, and what changes a picture without changing its labels."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.suites.bias_bounty.entry import image_files, network_input
from countenance.suites.bias_bounty.files import ATTRIBUTES, Ints, read_labels
from countenance.suites.bias_bounty.layout import labels_of

Tensor = Any


@dataclass(frozen=True)
class TrainImages:
    """Pictures and class codes (−1 is unlabelled)."""

    names: tuple[str, ...]
    pixels: tuple[NDArray[np.uint8], ...]
    codes: dict[str, Ints]

    def tensor(self, size: int, device: str) -> Tensor:
        """Every picture at size × size, N × 3 × H × W, 8 bits: resized exactly as when predicting."""
        return torch.from_numpy(network_input(self.pixels, size)).to(device)

    def targets(self, device: str) -> dict[str, Tensor]:
        return {name: torch.from_numpy(self.codes[name]).to(device) for name in ATTRIBUTES}


def read_train(data: Path) -> TrainImages:
    """Read `data/train`; nothing else of the folder is touched."""
    labels = labels_of(data, "train")
    table = read_labels(labels)
    bare = [name for name in ATTRIBUTES if (table.codes[name] < 0).all()]
    if bare:
        raise InputError(f"{labels}: no row has a label of {', '.join(bare)}; training needs some")
    pixels = tuple(LazyImage(path).load() for path in image_files(labels.parent).values())
    return TrainImages(table.names, pixels, dict(table.codes))


def augment(images: Tensor, generator: Any, *, geometry: float = 1.0, light: float = 1.0, erase: float = 0.0) -> Tensor:
    """Flip, turn, shift, scale, and vary exposure and warmth a little; values stay 0 to 255.

    The light varies less than between neighbouring skin tones: more would change the truth.
    """
    n, device = len(images), images.device

    def uniform(low: float, high: float) -> Tensor:
        return torch.rand(n, generator=generator, device=device) * (high - low) + low

    flip = torch.where(uniform(0, 1) < 0.5, -1.0, 1.0)
    angle, zoom = uniform(-0.14, 0.14) * geometry, 1 + uniform(-0.14, 0.14) * geometry
    cos, sin = torch.cos(angle) * zoom, torch.sin(angle) * zoom
    shift_x, shift_y = uniform(-0.1, 0.1) * geometry, uniform(-0.1, 0.1) * geometry
    rows = torch.stack([torch.stack([cos * flip, -sin, shift_x], 1), torch.stack([sin * flip, cos, shift_y], 1)], 1)
    grid = F.affine_grid(rows, list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, padding_mode="reflection", align_corners=False)
    if light:
        exposure, warmth = uniform(-0.06, 0.06) * light, uniform(-0.03, 0.03) * light
        gain = torch.stack([1 + exposure + warmth, 1 + exposure, 1 + exposure - warmth], 1)[:, :, None, None]
        moved = moved * gain
    if erase:
        side = images.shape[-1]
        place = torch.arange(side, device=device)[None] / side
        left, top, size = uniform(0, 0.8)[:, None], uniform(0, 0.8)[:, None], uniform(0.1, 0.3)[:, None]
        across, down = (place >= left) & (place < left + size), (place >= top) & (place < top + size)
        gone = (down[:, :, None] & across[:, None, :] & (uniform(0, 1) < erase)[:, None, None])[:, None]
        moved = torch.where(gone, torch.full_like(moved, 127.5), moved)
    return moved.clamp(0, 255)


def mixed(device: str) -> Any:
    """Mixed precision while training on a GPU; full precision on a CPU.

    Some virtual machines announce a processor's bfloat16 matrix unit and stop a program that uses it. Without that unit
    bfloat16 is no faster on a CPU.
    """
    return torch.autocast(device, torch.bfloat16) if device == "cuda" else nullcontext()


def batches(count: int, size: int, generator: Any, device: str) -> list[Tensor]:
    """Shuffled rows in batches; a last one of a single row is left out (it has no variance to normalise by)."""
    order = torch.randperm(count, generator=generator, device=device)
    return [part for part in order.split(size) if len(part) > 1]
