"""Histograms of oriented gradients (HOG; Dalal and Triggs, 2005) of many photos at once, mirrored and shifted too.

Gradients are collected once in fine squares of 4 px. Cells of 8 and 12 px are sums of 2 × 2 and 3 × 3 of them, so that
a grid moved by any multiple of 4 px costs additions only, and the grid is centred in the photo, so that the HOG map of
the mirror image has the same numbers in another order.
"""

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

FINE = 4
ORIENTATIONS = 9
BLOCK = 2
"""A block is 2 × 2 cells, normalised together."""
CLIP = 0.2
PAD = 4
"""Fine squares added at every edge (by repeating it), so that a grid may move by up to 16 px."""
_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def fine_votes(pictures: NDArray[np.uint8]) -> Singles:
    """Photos × fine rows × fine columns × 9 orientations, padded by `PAD` at every edge.

    Every pixel of the grey picture votes, by its gradient's size, for the two nearest of nine unsigned orientations.

    >>> fine_votes(np.zeros((3, 48, 64, 3), np.uint8)).shape
    (3, 20, 24, 9)
    """
    count, height, width, _ = pictures.shape
    rows, columns = height // FINE, width // FINE
    top, left = (height - rows * FINE) // 2, (width - columns * FINE) // 2
    inner = np.s_[top : top + rows * FINE, left : left + columns * FINE]
    square = np.arange(rows * columns).reshape(rows, columns).repeat(FINE, 0).repeat(FINE, 1) * ORIENTATIONS
    out = np.empty((count, rows, columns, ORIENTATIONS), np.float32)
    for picture, votes in zip(pictures, out, strict=True):
        grey = picture @ _GREY
        down, across = np.zeros_like(grey), np.zeros_like(grey)
        down[1:-1] = grey[2:] - grey[:-2]
        across[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
        size = np.hypot(down, across)[inner]
        # Centres of the orientations lie at (k + 1/2)·20°, so that a mirror image maps each onto another exactly.
        angle = np.arctan2(down, across)[inner] * np.float32(ORIENTATIONS / np.pi) - np.float32(0.5)
        lower = np.floor(angle)
        first, share = lower.astype(np.int64), angle - lower
        sums = np.bincount((square + first % ORIENTATIONS).ravel(), (size * (1 - share)).ravel(), votes.size)
        sums += np.bincount((square + (first + 1) % ORIENTATIONS).ravel(), (size * share).ravel(), votes.size)
        votes[:] = sums.reshape(votes.shape)
    return np.pad(out, ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)), mode="edge")


def grid(fine: Singles, cell: int) -> tuple[int, int]:
    """The number of rows and columns of blocks in a photo, for cells of `cell` px.

    >>> grid(fine_votes(np.zeros((1, 250, 250, 3), np.uint8)), 8)
    (30, 30)
    """
    k = cell // FINE
    return (fine.shape[1] - 2 * PAD) // k - BLOCK + 1, (fine.shape[2] - 2 * PAD) // k - BLOCK + 1


def blocks(
    fine: Singles, cell: int, box: tuple[int, int, int, int] | None = None, shift: tuple[int, int] = (0, 0)
) -> Singles:
    """Normalised blocks, photos × rows × columns × 36, of the whole photo or of a `box` of blocks.

    `box` is first row, end row, first column, end column; `shift` moves the grid, in fine squares, down and right.
    Blocks are normalised as in Dalal and Triggs: L2, clipped at .2, L2 again.

    >>> blocks(fine_votes(np.zeros((3, 48, 64, 3), np.uint8)), 12).shape
    (3, 3, 4, 36)
    """
    k = cell // FINE
    rows, columns = grid(fine, cell)
    top, bottom, left, right = box or (0, rows, 0, columns)
    y, x = (PAD + (side - 2 * PAD) % k // 2 for side in fine.shape[1:3])  # the grid is centred
    y, x = y + k * top + shift[0], x + k * left + shift[1]
    height, width = bottom - top + BLOCK - 1, right - left + BLOCK - 1
    inner = fine[:, y : y + k * height, x : x + k * width]
    strips = np.asarray(sum(inner[:, i::k] for i in range(k)))
    cells = np.asarray(sum(strips[:, :, i::k] for i in range(k)))
    corners = [cells[:, dy : height - 1 + dy, dx : width - 1 + dx] for dy in (0, 1) for dx in (0, 1)]
    return _unit(np.minimum(_unit(np.concatenate(corners, -1)), np.float32(CLIP)))


def mirror(maps: Singles) -> Singles:
    """The blocks of the mirror images (of a box at the centre of the photo).

    >>> photo = np.random.default_rng(0).integers(0, 256, (1, 32, 48, 3), dtype=np.uint8)
    >>> there, here = (blocks(fine_votes(p), 8) for p in (photo[:, :, ::-1], photo))
    >>> np.allclose(mirror(here), there, atol=1e-4)
    True
    """
    n, rows, columns, _ = maps.shape
    split = maps.reshape(n, rows, columns, BLOCK, BLOCK, ORIENTATIONS)
    return np.ascontiguousarray(split[:, :, ::-1, :, ::-1, ::-1]).reshape(maps.shape)


def _unit(vectors: Singles) -> Singles:
    length = np.sqrt(np.square(vectors).sum(-1, keepdims=True) + np.float32(1e-6))
    return np.asarray(vectors / length, dtype=np.float32)
