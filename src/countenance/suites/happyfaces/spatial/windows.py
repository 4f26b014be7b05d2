"""Step b: how well each small window of the photo explains the label, by closed-form leave-one-out ridge."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.formulas.kernel_ridge import fit_ridge
from countenance.suites.happyfaces.interface import Floats, Labels, Singles

SCALES = ((8, 4), (12, 3))
"""Cell size in px and the window's side in blocks."""
RIDGE = 1.0
"""The ridge of a window, as a multiple of its centred kernel's mean eigenvalue."""


@dataclass(frozen=True)
class Windows:
    """Windows of all scales, one row each; `scale` is an index into `SCALES`."""

    scale: Labels
    row: Labels
    column: Labels
    scores: Floats
    """Windows × labelled photos: leave-one-out score, label as −1 and +1."""
    accuracy: Floats
    photos: int

    def telling(self) -> NDArray[np.bool_]:
        """Which windows are better than chance by three standard errors."""
        return np.asarray(self.accuracy > 0.5 + 3 * np.sqrt(0.25 / self.photos))

    def paint(self, scale: int, shape: tuple[int, int], gamma: float, keep: NDArray[np.bool_]) -> Floats:
        """For every block of a scale Σ (accuracy − ½)^γ over the windows of `keep` that contain it."""
        out, side = np.zeros(shape), SCALES[scale][1]
        for i in np.flatnonzero((self.scale == scale) & keep):
            row, column = self.row[i], self.column[i]
            out[row : row + side, column : column + side] += (self.accuracy[i] - 0.5) ** gamma
        return out

    def only(self, keep: NDArray[np.bool_]) -> "Windows":
        """Some of the windows."""
        return Windows(
            self.scale[keep], self.row[keep], self.column[keep], self.scores[keep], self.accuracy[keep], self.photos
        )


def score_windows(fine: Singles, target: Floats) -> Windows:
    """Score every window of every scale on the labelled photos (`target` is −1 or +1).

    >>> rng = np.random.default_rng(0)
    >>> photos = rng.integers(0, 40, (40, 64, 64, 3), dtype=np.uint8)
    >>> photos[::2, 40:60:4, 8:28] += 150  # stripes in the lower left corner of every second photo
    >>> windows = score_windows(hog.fine_votes(photos), np.where(np.arange(40) % 2, -1.0, 1.0))
    >>> best = windows.accuracy.argmax()
    >>> float(windows.accuracy[best]), bool(windows.accuracy[(windows.row == 0) & (windows.column > 2)].max() < 0.9)
    (1.0, True)
    """
    scored = [
        (scale, row, column, fit_ridge(kernel, target, RIDGE * _mean_eigenvalue(kernel) + 1e-12).left_out)
        for scale, (cell, side) in enumerate(SCALES)
        for row, column, kernel in _window_kernels(hog.blocks(fine, cell), side)
    ]
    scales, rows, columns, scores = (np.array(part) for part in zip(*scored, strict=True))
    return Windows(scales, rows, columns, scores, ((scores > 0) == (target > 0)).mean(1), len(target))


def _window_kernels(maps: Singles, side: int) -> Iterator[tuple[int, int, Floats]]:
    """Row, column and linear kernel of every window; a window's kernel is the sum of its blocks' kernels."""
    _, rows, columns, _ = maps.shape
    strips: list[Floats] = []  # for each row of blocks, columns × n × n: kernels of `side` blocks side by side
    for row in range(rows):
        line = maps[:, row].transpose(1, 0, 2)
        kernels = (line @ line.transpose(0, 2, 1)).astype(np.float64)
        strips.append(np.asarray(sum(kernels[i : columns - side + 1 + i] for i in range(side))))
        if row >= side - 1:
            window = sum(strips[1:], strips[0])
            for column in range(columns - side + 1):
                yield row - side + 1, column, window[column]
            strips.pop(0)


def _mean_eigenvalue(kernel: Floats) -> float:
    """The mean eigenvalue of the kernel of centred features."""
    return float(np.trace(kernel) / len(kernel) - kernel.mean())
