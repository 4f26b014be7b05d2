"""Blocks of pairs on a GPU, through torch, where there is one and the work is large enough to be worth the transfer.

Scores have the rounding of single precision, as on the processor, so counts at a threshold stay exact: pairs near it
are decided in double precision. Cosines come from half-precision products on tensor cores: each vector is
written as a sum of two halves, x = high + low, and high·high + high·low + low·high is added up in single precision.
What is left out is below 2⁻²⁰, and `Vectors.margin` allows for it (`vectors.HALVES`).
"""

from collections import deque
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from countenance.metrics.pairs.blocks import Step, cuts
from countenance.metrics.pairs.device_count import MOST_BINS, Block, Fused, Overflow, PlainCount, compiled
from countenance.metrics.pairs.vectors import Index, Ints, Singles, Vectors

ROWS, COLUMNS = 8192, 16384
WORTH = 10**9
"""With fewer pairs no GPU is used, since torch takes seconds to start."""

Take = Callable[[Ints, list[Any]], None]


def gpu(pairs: int) -> str | None:
    """The device to use for this many pairs, or None for the processor.

    >>> gpu(1000) is None
    True
    """
    if pairs < WORTH or find_spec("torch") is None:
        return None
    return "cuda" if import_module("torch").cuda.is_available() else None


def on_device(
    vectors: Vectors,
    ends: Ints,
    least: Callable[[], float],
    take: Take,
    bins: int,
    device: str,
    step: Step | None = None,
) -> None:
    """All impostor pairs, block by block: `take` gets a histogram of each block of rows and its pairs from `least` up.

    A pair is (rows, columns, scores), as `blocks.Tile.pairs` gives it. The histogram has `bins` bins over the reach of
    the scores; with 0 bins none is made. While the host takes one block, a GPU works on the next.
    """
    torch = import_module("torch")
    exact = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False  # its rounding errors are far larger than the margin
    try:
        with torch.inference_mode():
            work = _DeviceWork(torch, vectors, ends, bins, device)
            waiting: deque[tuple[int, int, PlainCount | Fused]] = deque()
            for a, b in cuts(ends, 0, ROWS):
                if len(waiting) == len(work.counters):
                    _finish(work, waiting.popleft(), take, step)
                waiting.append((a, b, work.start(a, b, least())))
            while waiting:
                _finish(work, waiting.popleft(), take, step)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = exact


def _finish(work: "_DeviceWork", rows: tuple[int, int, PlainCount | Fused], take: Take, step: Step | None) -> None:
    a, b, counter = rows
    take(*work.result(a, b, counter))
    if step is not None:
        step(int(len(work.ends) * (b - a) - work.ends[a:b].sum()))


class _DeviceWork:
    """The blocks of rows that a device works on."""

    def __init__(self, torch: Any, vectors: Vectors, ends: Ints, bins: int, device: str) -> None:
        self.ends, self.product = ends, _product(torch, vectors, device)
        last = torch.from_numpy(ends).to(device)
        self.spare = PlainCount(torch, last, bins, vectors.reach)
        self.counters: list[PlainCount | Fused] = [self.spare]
        if device.startswith("cuda") and bins <= MOST_BINS and compiled(torch) is not None:
            beside = torch.cuda.Stream()
            self.counters = [Fused(torch, last, bins, vectors.reach, beside) for _ in range(2)]

    def start(self, a: int, b: int, cut: float, counter: PlainCount | Fused | None = None) -> PlainCount | Fused:
        """Start the work on rows a … b with all their impostors to the right; the counters take turns."""
        if counter is None:
            counter = self.counters.pop(0)
            self.counters.append(counter)
        counter.start(float(np.float32(cut)))
        near = int(self.ends[b - 1])
        for c, d in cuts(self.ends, a, COLUMNS):
            counter.add(self.product(slice(a, b), slice(c, d)), Block(a, c, c < near))
        counter.end()
        return counter

    def result(self, a: int, b: int, counter: PlainCount | Fused) -> tuple[Ints, list[Any]]:
        """The histogram and the pairs of rows a … b; more pairs than the kernel has memory for are counted by torch."""
        try:
            return counter.result()
        except Overflow:
            return self.start(a, b, counter.cut, self.spare).result()


def _product(torch: Any, vectors: Vectors, device: str) -> Callable[[slice, slice], Any]:
    """The scores of some rows with some columns, in single precision."""
    left = _copied(torch, vectors.left, device)
    if vectors.similarity == "cosine" and device.startswith("cuda"):
        high, low = halves(left)
        rows = torch.cat([high, high, low], dim=1)
        columns = torch.cat([high, low, high], dim=1)
        return lambda some, others: torch.mm(rows[some], columns[others].T, out_dtype=torch.float32)
    right = left if vectors.right is vectors.left else _copied(torch, vectors.right, device)
    return lambda some, others: left[some] @ right[others].T


def _copied(torch: Any, array: Singles, device: str) -> Any:
    """An array on a device. Page-locked memory is copied to a GPU eight times faster."""
    here = torch.from_numpy(np.ascontiguousarray(array))
    if not device.startswith("cuda") or not here.numel():
        return here.to(device)
    driver = torch.cuda.cudart()
    fixed = int(driver.cudaHostRegister(here.data_ptr(), here.numel() * here.element_size(), 0)) == 0
    try:
        return here.to(device)
    finally:
        if fixed:
            driver.cudaHostUnregister(here.data_ptr())


def halves(vectors: Any) -> tuple[Any, Any]:
    """A tensor as the sum of two half-precision tensors, up to rounding."""
    high = vectors.half()
    return high, (vectors - high.float()).half()


def best_first(first: Index, second: Index, score: Singles, cut: float, device: str) -> tuple[Any, Any, Any]:
    """Pairs with at least a given score, sorted on a device by falling score, then by row and column."""
    torch = import_module("torch")
    left, right, value = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (first, second, score))
    high = value >= float(np.float32(cut))
    left, right, value = left[high], right[high], value[high]
    order = torch.argsort(left.long() << 32 | right.long())
    order = order[torch.sort(value[order] + 0.0, descending=True, stable=True)[1]]
    return left[order].cpu().numpy(), right[order].cpu().numpy(), value[order].cpu().numpy()
