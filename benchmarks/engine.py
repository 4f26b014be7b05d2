"""Engine throughput against a bare loop over the same model and images, and two workers against one.

    python benchmarks/engine.py [--images 600]

Prints JSON. Ratios of one run on one machine; nothing here is a timed test.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

os.environ.setdefault("COUNTENANCE_THREADS", "1")

import numpy as np

from countenance.data import Dataset, load_dataset
from countenance.models import ModelSpec
from countenance.run import evaluate

TASK = "face_localization"


def bare_loop(dataset: Dataset, batch: int) -> float:
    model = ModelSpec("haar").load()
    model([np.zeros((64, 64, 3), np.uint8)])
    started = time.perf_counter()
    for i in range(0, len(dataset), batch):
        model([sample.load() for sample in dataset[i : i + batch]])
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=600)
    images = parser.parse_args().images
    dataset = load_dataset("people:portraits")[:images]
    with tempfile.TemporaryDirectory() as folder:
        loop = bare_loop(dataset, 8)
        here = evaluate(ModelSpec("haar").load(), TASK, dataset, out=Path(folder) / "here").manifest["seconds"]
        one = evaluate("haar", TASK, dataset, out=Path(folder) / "one", workers=1, threads=1).manifest["seconds"]
        two = evaluate("haar", TASK, dataset, out=Path(folder) / "two", workers=2, threads=1).manifest["seconds"]
    print(
        json.dumps(
            {
                "benchmark": "engine",
                "machine": f"{os.cpu_count()} cores, {platform.machine()}",
                "images": len(dataset),
                "bare_loop_seconds": round(loop, 2),
                "engine_in_process_share_of_bare_loop": round(loop / here, 3),
                "engine_one_worker_share_of_bare_loop": round(loop / one, 3),
                "two_workers_over_one": round(one / two, 3),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
