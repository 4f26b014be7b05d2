"""Blocks of pairs on a GPU, through torch, where there is one and the work is large enough to be worth the transfer.

Scores have the rounding of single precision, as on the processor, so counts at a threshold stay exact: pairs near it
are decided in double precision. Cosines come from half-precision products that the tensor cores do: each vector is
written as a sum of two halves, x = high + low, and high·high + high·low + low·high is added up in single precision.
What is left out is below 2⁻²⁰, and `Vectors.margin` has room for it (`vectors.HALVES`).
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from countenance.metrics.pairs.blocks import Step, cuts
from countenance.metrics.pairs.vectors import Ints, Vectors

ROWS, COLUMNS = 4096, 32768
EXACT_COUNT = 1 << 24
"""From so many on, ones that are added in single precision may be lost."""
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
            product = _product(torch, vectors, device)
            last = torch.from_numpy(ends).to(device)
            for a, b in cuts(ends, 0, ROWS):
                cut = float(np.float32(least()))
                counts, kept = _rows(torch, vectors, product, last, ends, (a, b), cut, bins)
                take(counts, kept)
                if step is not None:
                    step(int(len(ends) * (b - a) - ends[a:b].sum()))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = exact


def _product(torch: Any, vectors: Vectors, device: str) -> Callable[[slice, slice], Any]:
    """The scores of some rows with some columns, in single precision."""
    left = torch.from_numpy(np.ascontiguousarray(vectors.left)).to(device)
    if vectors.similarity == "cosine" and device.startswith("cuda"):
        high, low = halves(left)
        rows = torch.cat([high, high, low], dim=1)
        columns = torch.cat([high, low, high], dim=1)
        return lambda some, others: torch.mm(rows[some], columns[others].T, out_dtype=torch.float32)
    right = left if vectors.right is vectors.left else torch.from_numpy(vectors.right).to(device)
    return lambda some, others: left[some] @ right[others].T


def halves(vectors: Any) -> tuple[Any, Any]:
    """A tensor as the sum of two of half precision, nearly."""
    high = vectors.half()
    return high, (vectors - high.float()).half()


def _rows(
    torch: Any, vectors: Vectors, product: Callable[[slice, slice], Any], last: Any, ends: Ints,
    rows: tuple[int, int], cut: float, bins: int,
) -> tuple[Ints, list[Any]]:  # fmt: skip
    """The histogram and the kept pairs of some rows with all their impostors to the right."""
    a, b = rows
    near, kept = int(ends[b - 1]), []
    total = torch.zeros(max(bins, 1), dtype=torch.int64, device=last.device)
    for c, d in cuts(ends, a, COLUMNS):
        scores = product(slice(a, b), slice(c, d))
        if c < near:  # pairs of one person, or already seen from the other side: below every bin and every cut
            outside = torch.arange(c, d, device=last.device)[None, :] < last[a:b, None]
            scores.masked_fill_(outside, -torch.inf)
        if bins:
            total += _counted(torch, scores if c >= near else scores[scores > -torch.inf], bins, vectors.reach)
        chosen = scores >= cut if cut > -np.inf else scores > -torch.inf
        i, j = torch.nonzero(chosen, as_tuple=True)
        kept.append(((i + a).cpu().numpy(), (j + c).cpu().numpy(), scores[i, j].cpu().numpy()))
    return total.cpu().numpy(), kept


def _counted(torch: Any, scores: Any, bins: int, reach: tuple[float, float]) -> Any:
    """How many scores are in each bin; counted in parts where a bin might hold more ones than single precision can."""
    low, high = reach
    counts = torch.histc(scores, bins, min=low, max=high)
    if scores.numel() <= EXACT_COUNT or float(counts.max()) < EXACT_COUNT / 2:
        return counts.to(torch.int64)
    parts = scores.reshape(-1).split(EXACT_COUNT)
    return sum(torch.histc(part, bins, min=low, max=high).to(torch.int64) for part in parts)
