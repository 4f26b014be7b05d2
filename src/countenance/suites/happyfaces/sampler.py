"""The mix-rate sampler, and all that a method gets to see of a dataset.

A method receives pixel arrays and the labelled labels. Names, paths, tags and order never reach it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.suites.happyfaces.interface import Labels, Pictures
from countenance.suites.happyfaces.tags import CROSS, TAGS

if TYPE_CHECKING:
    from countenance.suites.happyfaces.dataset import HappyFaces, Photos

MIX_RATES = tuple(round(i / 10, 1) for i in range(11))


@dataclass(frozen=True)
class Draw:
    """Which unlabelled photos a run uses, in the order it uses them, and which it leaves."""

    drawn: NDArray[np.int64]
    not_drawn: NDArray[np.int64]


def draw(tags: tuple[str, ...], mix_rate: float, seed: int) -> Draw:
    """round(m·r) photos of each cross type and m − that of each matched type, m being a type's number of photos.

    In the benchmark m is 150 and the draw always has 300. All of it depends on `seed` alone.

    >>> tags = tuple(tag for tag in TAGS for _ in range(150))
    >>> d = draw(tags, 0.1, seed=3)
    >>> len(d.drawn), len(d.not_drawn), [sum(tags[i] == tag for i in d.drawn) for tag in TAGS]
    (300, 300, [135, 15, 15, 135])
    """
    if not 0 <= mix_rate <= 1:
        raise InputError(f"mix rate {mix_rate:g} is outside 0 … 1")
    kinds = np.asarray(tags)
    size = min(int((kinds == tag).sum()) for tag in TAGS)
    crossed = round(size * mix_rate)
    rng = np.random.default_rng(seed)
    chosen = np.concatenate(
        [
            rng.choice(np.nonzero(kinds == tag)[0], crossed if tag in CROSS else size - crossed, replace=False)
            for tag in TAGS
        ]
    ).astype(np.int64)
    rng.shuffle(chosen)
    return Draw(chosen, np.setdiff1d(np.arange(len(tags)), chosen))


def method_input(data: "HappyFaces", drawn: NDArray[np.int64], seed: int) -> tuple[Pictures, Labels, Pictures]:
    """The only three things a method sees: labelled pixels, their labels, unlabelled pixels; fresh, shuffled copies."""
    order = np.random.default_rng([seed, 1]).permutation(len(data.labelled))
    labels = data.labelled.truth()[:, 0].astype(np.int64)
    return _plain(data.labelled, order), labels[order], _plain(data.unlabelled, drawn)


def _plain(photos: "Photos", order: NDArray[np.int64]) -> Pictures:
    return np.array(photos.pixels[order], dtype=np.uint8, order="C")
