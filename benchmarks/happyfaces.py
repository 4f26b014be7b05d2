"""Measure the HappyFaces suite: all mix rates, fresh seeds, pairs made from people; times in CPU seconds.

    python benchmarks/happyfaces.py DATA_DIRECTORY --out results/happyfaces --methods spatial,spatial-deep

DATA_DIRECTORY is what `countenance happyfaces build` wrote. Set OMP_NUM_THREADS=1: the matrices are small.
"""

import argparse
import os
import platform
import resource
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from countenance.files import write_json
from countenance.suites.happyfaces.people import PAIRS, build_people
from countenance.suites.happyfaces.protocol import MixTask, sweep
from countenance.suites.happyfaces.scores import MIX_RATES, summary

GOAL = 0.98
"""Worst head on validation and on photos not drawn, at every mix rate."""


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(source: Path, method: str, seeds: range, kept: Path) -> dict[str, object]:
    start = cpu()
    table = summary(sweep(source, [MixTask(method, rate, seed) for rate in MIX_RATES for seed in seeds], kept))
    return table | {
        "measured_cpu_seconds": cpu() - start,
        "command": " ".join(sys.argv),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "below_goal": {
            f"{row['mix_rate']:g}": {
                name: round(GOAL - row[f"{name}_mean"], 4)
                for name in ("worst_head", "not_drawn")
                if row[f"{name}_mean"] is not None and row[f"{name}_mean"] < GOAL - 1e-9
            }
            for row in table["mix_rates"]
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/happyfaces"))
    parser.add_argument("--methods", default="spatial")
    parser.add_argument("--seeds", default="seeds,fresh", help="seeds (0 to 7), fresh (100 to 107), or both")
    parser.add_argument("--pairs", action="store_true", help="also the pairs of features made from rendered people")
    args = parser.parse_args()
    for method in args.methods.split(","):
        for name in args.seeds.split(","):
            seeds = {"seeds": range(8), "fresh": range(100, 108)}[name]
            kept = args.out / f"{method}_{name}.runs"
            table = measure(args.data, method, seeds, kept)
            write_json(args.out / f"{method}_{name}.json", table)
            print(method, name, f"AUC {table['auc_0_30']:.4f}")
            for row in table["mix_rates"]:
                told = f"worst head {row['worst_head_mean']:.4f}, not drawn {row['not_drawn_mean']:.4f}"
                short = table["below_goal"][f"{row['mix_rate']:g}"] or 0
                print(f"  {row['mix_rate']:.1f}  {told}, short of {GOAL} by {short}")
            print(f"  {table['measured_cpu_seconds']:.0f} CPU seconds, photos read and HOG included (0 when resumed)")
    if args.pairs:
        with tempfile.TemporaryDirectory() as scratch:
            for pair in PAIRS:
                build_people(Path(scratch) / pair, features=pair)
                table = measure(Path(scratch) / pair, "spatial", range(4), args.out / f"{pair}.runs")
                write_json(args.out / f"{pair}.json", table)
                print(pair, [row["worst_head_mean"] for row in table["mix_rates"]], table["not_answered"])


if __name__ == "__main__":
    main()
