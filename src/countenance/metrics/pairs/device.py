"""Blocks of pairs on a GPU, through torch, where there is one and the work is large enough to be worth the transfer.

Scores are made in single precision, as on the processor, so the same margin holds and counts at a threshold stay exact:
pairs near it are decided in double precision.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from countenance.metrics.pairs.blocks import Step, cuts
from countenance.metrics.pairs.vectors import Ints, Vectors

ROWS, COLUMNS = 1024, 16384
"""A block has at most 2^24 pairs: so many ones can be added in single precision without loss."""
WORTH = 10**9
"""Pairs below which a GPU is not asked for: torch takes seconds to start."""

Take = Callable[[Ints, list[Any]], None]


def gpu(pairs: int) -> str | None:
    """The device to use for so many pairs, or None for the processor.

    >>> gpu(1000) is None
    True
    """
    if pairs < WORTH or find_spec("torch") is None:
        return None
    return "cuda" if import_module("torch").cuda.is_available() else None


def on_device(
    vectors: Vectors, ends: Ints, least: Callable[[], float], take: Take, bins: int, device: str,
    step: Step | None = None,
) -> None:  # fmt: skip
    """All impostor pairs, block by block: `take` gets a histogram of each block of rows and its pairs from `least` up.

    A pair is (rows, columns, scores), as `blocks.Tile.pairs` gives it. The histogram has `bins` bins over the reach of
    the scores; with 0 bins none is made.
    """
    torch = import_module("torch")
    exact = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False  # its rounding is far above the margin
    try:
        with torch.inference_mode():
            left = torch.from_numpy(np.ascontiguousarray(vectors.left)).to(device)
            right = left if vectors.right is vectors.left else torch.from_numpy(vectors.right).to(device)
            last = torch.from_numpy(ends).to(device)
            for a, b in cuts(ends, 0, ROWS):
                cut = float(np.float32(least()))
                counts, kept = _rows(torch, vectors, (left, right, last), ends, (a, b), cut, bins)
                take(counts, kept)
                if step is not None:
                    step(int(len(ends) * (b - a) - ends[a:b].sum()))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = exact


def _rows(
    torch: Any, vectors: Vectors, data: tuple[Any, Any, Any], ends: Ints, rows: tuple[int, int], cut: float, bins: int
) -> tuple[Ints, list[Any]]:
    """The histogram and the kept pairs of some rows with all their impostors to the right."""
    (left, right, last), (a, b), (low, high) = data, rows, vectors.reach
    near, kept = int(ends[b - 1]), []
    total = torch.zeros(max(bins, 1), dtype=torch.int64, device=left.device)
    for c, d in cuts(ends, a, COLUMNS):
        scores = left[a:b] @ right[c:d].T
        if c < near:  # pairs of one person, or already seen from the other side: below every bin and every cut
            outside = torch.arange(c, d, device=left.device)[None, :] < last[a:b, None]
            scores.masked_fill_(outside, -torch.inf)
        if bins:
            inside = scores if c >= near else scores[scores > -torch.inf]
            total += torch.histc(inside, bins, min=low, max=high).to(torch.int64)
        chosen = scores >= cut if cut > -np.inf else scores > -torch.inf
        i, j = torch.nonzero(chosen, as_tuple=True)
        kept.append(((i + a).cpu().numpy(), (j + c).cpu().numpy(), scores[i, j].cpu().numpy()))
    return total.cpu().numpy(), kept
