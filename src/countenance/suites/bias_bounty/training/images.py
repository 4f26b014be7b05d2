"""The train part of the challenge in memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from countenance.data.adapters.bias_bounty import labels_of
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, Ints, read_labels
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.suites.bias_bounty.entry import image_files, network_input

Tensor = Any


@dataclass(frozen=True)
class TrainImages:
    """Pictures and class codes (−1 is unlabelled)."""

    names: tuple[str, ...]
    pixels: tuple[NDArray[np.uint8], ...]
    codes: dict[str, Ints]

    def tensor(self, size: int, device: str) -> Tensor:
        """Every picture at size × size, N × 3 × H × W, 8 bits: resized exactly as for predictions."""
        return torch.from_numpy(network_input(self.pixels, size)).to(device)

    def targets(self, device: str) -> dict[str, Tensor]:
        return {name: torch.from_numpy(self.codes[name]).to(device) for name in ATTRIBUTES}


def read_train(data: Path) -> TrainImages:
    """Read `data/train`; no other part of the folder is read."""
    labels = labels_of(data, "train")
    table = read_labels(labels)
    bare = [name for name in ATTRIBUTES if (table.codes[name] < 0).all()]
    if bare:
        raise InputError(f"{labels}: no row has a label of {', '.join(bare)}; training needs some")
    pixels = tuple(LazyImage(path).load() for path in image_files(labels.parent).values())
    return TrainImages(table.names, pixels, dict(table.codes))
