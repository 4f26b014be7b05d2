"""Measure the HappyFaces suite: the contract's sweep, fresh seeds, pairs made from people; times in CPU seconds.

    python benchmarks/happyfaces.py DATA_DIRECTORY --out results/happyfaces

DATA_DIRECTORY is what `countenance happyfaces build` wrote. Set OMP_NUM_THREADS=1: the matrices are small.
"""

import argparse
import json
import resource
import tempfile
from pathlib import Path

from countenance.suites.happyfaces.people import PAIRS, build_people
from countenance.suites.happyfaces.protocol import Task, summary, sweep, write_json

RATES = (0.0, 0.1, 0.2, 0.3)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(source: Path, method: str, seeds: range, kept: Path) -> dict[str, object]:
    start = cpu()
    table = summary(sweep(source, [Task(method, rate, seed) for rate in RATES for seed in seeds], kept))
    return table | {"measured_cpu_seconds": cpu() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/happyfaces"))
    parser.add_argument("--methods", default="spatial")
    parser.add_argument("--pairs", action="store_true", help="also the pairs of features made from rendered people")
    args = parser.parse_args()
    for method in args.methods.split(","):
        for name, seeds in (("seeds", range(8)), ("fresh", range(100, 108))):
            kept = args.out / f"{method}_{name}.runs"
            table = measure(args.data, method, seeds, kept)
            write_json(table, args.out / f"{method}_{name}.json")
            rows = [(row["mix_rate"], row["worst_head_mean"], row["not_drawn_mean"]) for row in table["mix_rates"]]
            print(method, name, json.dumps(rows), f"AUC {table['auc_0_30']:.4f}")
            print(f"  {table['measured_cpu_seconds']:.0f} CPU seconds, photos read and HOG included (0 when resumed)")
    if args.pairs:
        with tempfile.TemporaryDirectory() as scratch:
            for pair in PAIRS:
                build_people(Path(scratch) / pair, pair=pair)
                table = measure(Path(scratch) / pair, "spatial", range(4), args.out / f"{pair}.runs")
                write_json(table, args.out / f"{pair}.json")
                print(pair, [row["worst_head_mean"] for row in table["mix_rates"]], table["not_answered"])


if __name__ == "__main__":
    main()
