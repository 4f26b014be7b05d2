"""Pairs of embeddings a second on a GPU, with exact counts at the threshold that is reported, as JSON.

python benchmarks/pairs_gpu.py [--people 100000]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from countenance.metrics.pairs.blocks import ends_of
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.tail import find_tail
from countenance.metrics.pairs.vectors import Vectors

NUMBERS = 512


def people(count: int, each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of people with a few pictures each, sorted by person."""
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal((count, NUMBERS), dtype=np.float32)
    identity = np.repeat(np.arange(count), each)
    return centre[identity] + 0.8 * rng.standard_normal((count * each, NUMBERS), dtype=np.float32), identity


def main() -> None:
    """Print the figures."""
    import torch

    parser = argparse.ArgumentParser(description="Pairs of embeddings a second on a GPU, as JSON.")
    parser.add_argument("--people", type=int, default=100_000)
    asked = parser.parse_args()
    figures: dict[str, object] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
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
    left = torch.from_numpy(vectors.left).cuda()
    for name, torch_left in (("bare_half_product", left.half()), ("bare_single_product", left)):
        a, b = torch_left[:8192], torch_left[: 8192 * 4]
        torch.mm(a, b.T)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(20):
            torch.mm(a, b.T)
        torch.cuda.synchronize()
        figures[f"{name}_pairs_a_second"] = 20 * a.shape[0] * b.shape[0] / (time.perf_counter() - start)
    del left, torch_left, a, b
    for name in ("first", "second"):
        torch.cuda.synchronize()
        start = time.perf_counter()
        tail = find_tail(vectors, ends, 1 << 22, device="cuda")
        seconds = time.perf_counter() - start
        figures[f"{name}_pass"] = {"pairs": tail.pairs, "seconds": seconds, "pairs_a_second": tail.pairs / seconds}
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
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
