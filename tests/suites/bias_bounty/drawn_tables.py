"""Drawn tables of the true and the predicted classes."""

import numpy as np

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, ClassTable


def tables(n: int, right: float = 0.7, seed: int = 0) -> tuple[ClassTable, ClassTable]:
    """Of so many pictures, with this share of right predictions."""
    rng = np.random.default_rng(seed)
    names = tuple(f"{i}.png" for i in range(n))
    truth = {name: rng.integers(0, len(CLASSES[name]), n) for name in ATTRIBUTES}
    other = {name: (codes + 1) % len(CLASSES[name]) for name, codes in truth.items()}
    said = {name: np.where(rng.random(n) < right, truth[name], other[name]) for name in ATTRIBUTES}
    return ClassTable(names, truth), ClassTable(names, said)
