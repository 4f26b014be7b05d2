"""The audit's speed and memory, as JSON; CPU seconds.

python benchmarks/audit.py                    # a million rows, by Holm and min-p, a rate and a real-valued metric
python benchmarks/audit.py --rows 10000000    # ten million rows, by Holm
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time

import numpy as np
import pyarrow as pa

from countenance.auditing import audit, bootstrap


def rows(count: int = 1_000_000, people: int = 100_000, per_person: bool = False) -> pa.Table:
    """A table like a large run's: four attributes (of the row or of the person), two rates."""
    rng = np.random.default_rng(0)
    identity = rng.integers(0, people, count)
    columns: dict[str, object] = {"identity": pa.array(np.char.add("p", identity.astype(str)))}
    for name, size in (("skin_tone", 10), ("age_group", 5), ("gender", 3), ("pose", 4)):
        codes = rng.integers(0, size, people)[identity] if per_person else rng.integers(0, size, count)
        columns["attr." + name] = pa.array([f"{name}_{i}" for i in range(size)]).take(pa.array(codes))
    skill = rng.beta(9, 1, people)[identity]
    for name in ("recall@0.5", "recall@0.75"):
        columns["m." + name] = pa.array((rng.random(count) < skill).astype(np.int8))
    return pa.table(columns)


def peak() -> float:
    """The most memory this process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    """Print the figures."""
    names = ["skin_tone", "age_group", "gender", "pose"]
    warm = rows(1000, 100)
    start = time.perf_counter()
    audit(warm, names, ["recall@0.5"])
    figures: dict[str, object] = {"machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"}
    figures["imports_and_first_audit_s"] = round(time.perf_counter() - start, 3)
    parser = argparse.ArgumentParser(description="The audit's speed and memory, as JSON.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    count = parser.parse_args().rows
    for label, per_person in (("attributes_per_row", False), ("attributes_per_person", True)):
        table = rows(count, count // 10, per_person=per_person)
        scores = np.round(np.random.default_rng(2).beta(5, 2, count), 4)
        table = table.append_column("m.iou", pa.array(scores))
        for metric in ("recall@0.5", "iou"):
            for adjust in ("holm", "minp") if count <= 1_000_000 else ("holm",):
                cpu = time.process_time()
                found = audit(table, names, [metric], adjust=adjust)
                figures[f"{count}_rows_{label}_{metric}_{adjust}"] = {
                    "cpu_s": round(time.process_time() - cpu, 2),
                    "adjusted_by": found.settings["adjust"],
                    "findings": len(found.findings),
                    "verdict": found.verdict,
                    "peak_gb": round(peak(), 2),
                }
        del table
    rng = np.random.default_rng(1)
    for label, clusters in (("20,000 clusters", 20_000), ("100,000 clusters", 100_000)):
        identity = rng.integers(0, clusters, 100_000)
        sums = np.column_stack(
            [np.bincount(identity, rng.random(100_000), clusters), np.bincount(identity, minlength=clusters)]
        )
        start = time.perf_counter()
        low, high, _ = bootstrap(sums, lambda s: s[:, 0] / s[:, 1], replicates=2000)
        figures[f"bootstrap_2000_on_1e5_rows_{label}"] = {
            "seconds": round(time.perf_counter() - start, 3),
            "limit_s": 5,
            "low": round(float(low), 5),
            "high": round(float(high), 5),
        }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
