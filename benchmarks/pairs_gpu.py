"""Pairs of embeddings a second on a GPU, with exact counts at the threshold that is reported, as JSON.

python benchmarks/pairs_gpu.py [--people 100000]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from countenance.metrics.pairs import device
from countenance.metrics.pairs.blocks import ends_of
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.device_count import Fused, compiled
from countenance.metrics.pairs.tail import BINS, find_tail
from countenance.metrics.pairs.vectors import Vectors

NUMBERS = 512


def people(count: int, each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of people with a few pictures each, sorted by person."""
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal((count, NUMBERS), dtype=np.float32)
    identity = np.repeat(np.arange(count), each)
    return centre[identity] + 0.8 * rng.standard_normal((count * each, NUMBERS), dtype=np.float32), identity


def kernel_is_exact(seed: int) -> dict[str, bool]:
    """Whether the kernel counts and keeps exactly what numpy counts and keeps of the same scores, cut by cut."""
    import torch

    raw, identity = people(1500, 2, seed)
    vectors, ends = Vectors.of(raw), ends_of(identity)
    low, high = vectors.reach
    product, last = device._product(torch, vectors, "cuda"), torch.from_numpy(ends).cuda()
    counter = Fused(torch, last, BINS, vectors.reach, torch.cuda.Stream())
    same: dict[str, bool] = {}
    for cut in (-np.inf, 0.0, 0.1234, 0.5, np.inf):
        for name, rows, columns in (("diagonal", (7, 901), (7, 1503)), ("apart", (0, 33), (1001, 2999))):
            (a, b), (c, d) = rows, columns
            scores = product(slice(a, b), slice(c, d))
            counter.start(float(np.float32(cut)))
            counter.add(scores, device.Block(a, c, c < ends[b - 1]))
            counter.end()
            counts, [(first, second, score)] = counter.result()
            host = scores.cpu().numpy()
            valid = np.arange(c, d)[None, :] >= ends[a:b, None]
            level = (host + np.float32(-low)) * np.float32(BINS / (high - low))
            i, j = np.nonzero((host >= np.float32(cut)) & valid)
            order = np.lexsort((second, first))
            same[f"{name} at {cut}"] = bool(
                np.array_equal(counts, np.bincount(level[valid].astype(np.int64), minlength=BINS))
                and np.array_equal(np.stack([i + a, j + c]), np.stack([first, second])[:, order])
                and np.array_equal(host[i, j], score[order])
            )
    return same


def main() -> None:
    """Print the figures."""
    import torch

    parser = argparse.ArgumentParser(description="Pairs of embeddings a second on a GPU, as JSON.")
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=device.ROWS, help="rows of a block")
    parser.add_argument("--columns", type=int, default=device.COLUMNS, help="columns of a block")
    parser.add_argument("--quick", action="store_true", help="rates only")
    asked = parser.parse_args()
    device.ROWS, device.COLUMNS = asked.rows, asked.columns
    figures: dict[str, object] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    figures["kernel"] = compiled(torch) is not None
    if not asked.quick:
        figures["kernel_same_as_numpy"] = kernel_is_exact(3)
        raw, identity = people(3000, 2, 1)
        vectors, ends = Vectors.of(raw), ends_of(identity)
        here, there = find_tail(vectors, ends, 1 << 16), find_tail(vectors, ends, 1 << 16, device="cuda")
        exact = np.sort(vectors.exact(here.first, here.second))[::-1][:50_000]
        other = np.sort(vectors.exact(there.first, there.second))[::-1][:50_000]
        figures["same_highest_pairs_as_the_processor"] = bool(np.array_equal(exact, other))
        figures["largest_rounding"] = float(np.abs(there.score - vectors.exact(there.first, there.second)).max())
        figures["margin"] = vectors.margin
    raw, identity = people(asked.people, 2, 2)
    vectors, ends = Vectors.of(raw), ends_of(identity)
    figures["products_alone"] = bare(torch, vectors, count=False)
    figures["products_and_counts"] = bare(torch, vectors, count=True)
    for name in ("first", "second"):
        torch.cuda.synchronize()
        start = time.perf_counter()
        tail = find_tail(vectors, ends, 1 << 22, device="cuda")
        seconds = time.perf_counter() - start
        figures[f"{name}_pass"] = {"pairs": tail.pairs, "seconds": seconds, "pairs_a_second": tail.pairs / seconds}
    if not asked.quick:
        start = time.perf_counter()
        found = Comparisons.of(vectors, identity, fmr=1e-6)
        threshold, accepted = found.accepted_at_rate(1e-6, lambda first, second: None)
        figures["whole_comparison_at_fmr_1e-6"] = {
            "seconds": time.perf_counter() - start,
            "threshold_exact": threshold.exact,
            "accepted": accepted,
            "allowed": int(1e-6 * found.impostors + 1e-9),
        }
    figures["peak_gpu_gb"] = torch.cuda.max_memory_allocated() / 2**30
    print(json.dumps(figures, indent=None if asked.quick else 1))


def bare(torch: Any, vectors: Vectors, count: bool) -> float:
    """Pairs a second of the blocks alone, without the host."""
    product = device._product(torch, vectors, "cuda")
    last = torch.zeros(len(vectors), dtype=torch.int64, device="cuda")
    counter = Fused(torch, last, BINS, vectors.reach, torch.cuda.Stream())
    seconds, blocks = 0.0, 30
    for repeat in range(2):
        counter.start(0.9)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for k in range(blocks):
            at = k * 997 % (len(vectors) - device.COLUMNS)
            scores = product(slice(0, device.ROWS), slice(at, at + device.COLUMNS))
            if count:
                counter.add(scores, device.Block(0, at, False))
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start if repeat else 0.0
    return blocks * device.ROWS * device.COLUMNS / seconds


if __name__ == "__main__":
    main()
