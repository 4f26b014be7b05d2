"""Counting a block of scores on a torch device: a histogram of all, and the pairs from a cut up.

On an NVIDIA GPU one kernel of ours reads the scores once: each group of threads counts in the fast memory beside it. It
is compiled on first use, by the compiler that comes with torch. Everywhere else torch's own functions do the same; the
tests run those on the processor, and `benchmarks/pairs_gpu.py` compares both with the processor's blocks.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from countenance.metrics.pairs.vectors import Ints

EXACT_COUNT = 16_777_216
"""Single precision counts exactly only up to this number."""
ROOM = 16_777_216
"""Pairs that the kernel can keep of one block of rows."""
MOST_BINS = 8192
"""Counters that fit into the fast memory of one group of threads."""
THREADS, GROUPS = 512, 4
"""Threads of a group, and groups on each multiprocessor."""

KERNEL = """
extern "C" __global__ void count_pairs(
    const float* scores, const long long* ends, int total, int columns, int row, int column, int masked,
    const float* limits, int bins, unsigned long long* histogram, unsigned long long* kept,
    int* first, int* second, float* value, int room)
{
    __shared__ unsigned int own[8192];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
    __syncthreads();
    const float shift = limits[0], scale = limits[1], cut = limits[2];
    const int step = gridDim.x * blockDim.x * 4;
    for (int start = (blockIdx.x * blockDim.x + threadIdx.x) * 4; start < total; start += step) {
        float four[4];
        int here = min(4, total - start);
        if (here == 4) {
            const float4 read = *reinterpret_cast<const float4*>(scores + start);
            four[0] = read.x; four[1] = read.y; four[2] = read.z; four[3] = read.w;
        } else {
            for (int k = 0; k < here; ++k) four[k] = scores[start + k];
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (k >= here) break;
            if (masked) {
                const int i = (start + k) / columns, j = (start + k) % columns;
                if (column + j < ends[row + i]) continue;
            }
            const float score = four[k];
            if (bins) {
                const int bin = (int)__fmul_rn(__fadd_rn(score, shift), scale);
                atomicAdd(&own[min(max(bin, 0), bins - 1)], 1u);
            }
            if (score >= cut) {
                const unsigned long long place = atomicAdd(kept, 1ull);
                if (place < (unsigned long long)room) {
                    first[place] = row + (start + k) / columns;
                    second[place] = column + (start + k) % columns;
                    value[place] = score;
                }
            }
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        if (own[i]) atomicAdd(&histogram[i], (unsigned long long)own[i]);
}
"""


class Overflow(Exception):
    """More pairs reach the cut than the buffer has space for."""


class Block(NamedTuple):
    """Where a block of scores is: its first row and column, and whether some of its pairs are not impostor pairs."""

    row: int
    column: int
    masked: bool


@dataclass
class PlainCount:
    """Counts with torch's own functions, on any device."""

    torch: Any
    ends: Any
    """For each row, where its identity ends; on the device."""
    bins: int
    reach: tuple[float, float]
    pairs: list[Any] = field(default_factory=list)

    def start(self, cut: float) -> None:
        """Begin a block of rows."""
        self.cut, self.pairs = cut, []
        self.total = self.torch.zeros(max(self.bins, 1), dtype=self.torch.int64, device=self.ends.device)

    def add(self, scores: Any, block: Block) -> None:
        """Count a block of scores, which is overwritten."""
        torch, (a, c, masked) = self.torch, block
        if masked:  # pairs of one person, or already seen from the other side: below every bin and every cut
            rows, columns = scores.shape
            column = torch.arange(c, c + columns, device=self.ends.device)
            scores.masked_fill_(column[None, :] < self.ends[a : a + rows, None], -torch.inf)
        if self.bins:
            self.total += self._counted(scores[scores > -torch.inf] if masked else scores)
        chosen = scores >= self.cut if self.cut > -np.inf else scores > -torch.inf
        i, j = torch.nonzero(chosen, as_tuple=True)
        self.pairs.append(((i + a).cpu().numpy(), (j + c).cpu().numpy(), scores[i, j].cpu().numpy()))

    def end(self) -> None:
        """Nothing to do at the end of a block of rows."""

    def result(self) -> tuple[Ints, list[Any]]:
        """The histogram and the pairs of the block of rows."""
        return self.total.cpu().numpy(), self.pairs

    def _counted(self, scores: Any) -> Any:
        """How many scores are in each bin, in parts so small that single precision counts them exactly."""
        low, high = self.reach
        parts = scores.reshape(-1).split(EXACT_COUNT)
        return sum(self.torch.histc(part, self.bins, min=low, max=high).to(self.torch.int64) for part in parts)


@cache
def compiled(torch: Any) -> Any:
    """The kernel, or None where this torch or this GPU does not support it."""
    try:
        return torch.cuda._compile_kernel(KERNEL, "count_pairs")
    except Exception:  # without a recent torch, this kind of GPU or a compiler, torch's own functions count
        return None


class Fused:
    """Counts with the kernel above. Results are copied beside the work on the next block of rows."""

    def __init__(self, torch: Any, ends: Any, bins: int, reach: tuple[float, float], beside: Any) -> None:
        self.torch, self.ends, self.bins, self.beside = torch, ends, bins, beside
        low, high = reach
        self.shift, self.scale = -low, max(bins, 1) / (high - low)
        on = ends.device
        self.kernel = compiled(torch)
        self.groups = torch.cuda.get_device_properties(on).multi_processor_count * GROUPS
        self.histogram = torch.zeros(max(bins, 1), dtype=torch.int64, device=on)
        self.count = torch.zeros(1, dtype=torch.int64, device=on)
        self.first, self.second = (torch.empty(ROOM, dtype=torch.int32, device=on) for _ in range(2))
        self.value = torch.empty(ROOM, dtype=torch.float32, device=on)
        self.limits = torch.zeros(3, dtype=torch.float32, device=on)
        self.staged = torch.zeros(3, dtype=torch.float32).pin_memory()
        self.ready = torch.cuda.Event()

    def start(self, cut: float) -> None:
        """Begin a block of rows."""
        self.cut = cut
        self.histogram.zero_()
        self.count.zero_()
        self.staged.numpy()[:] = np.array([self.shift, self.scale, cut], np.float32)
        self.limits.copy_(self.staged, non_blocking=True)

    def add(self, scores: Any, block: Block) -> None:
        """Count a block of scores."""
        rows, columns = scores.shape
        groups = min(self.groups, -(-rows * columns // (THREADS * 4)))
        self.kernel(
            (groups, 1, 1),
            (THREADS, 1, 1),
            [
                scores,
                self.ends,
                rows * columns,
                columns,
                block.row,
                block.column,
                int(block.masked),
                self.limits,
                self.bins,
                self.histogram,
                self.count,
                self.first,
                self.second,
                self.value,
                ROOM,
            ],
        )

    def end(self) -> None:
        """Mark the end of a block of rows, which is complete once the work queued so far is done."""
        self.ready.record()

    def result(self) -> tuple[Ints, list[Any]]:
        """The histogram and the pairs of the block of rows."""
        self.ready.synchronize()
        with self.torch.cuda.stream(self.beside):
            histogram, count = self.histogram.cpu().numpy(), int(self.count.cpu())
            if count > ROOM:
                raise Overflow
            pairs = [part[:count].cpu().numpy() for part in (self.first, self.second, self.value)]
        return histogram, [tuple(pairs)]
