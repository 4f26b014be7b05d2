"""Choose the settings of the bias bounty's `better` on the public test, then train the three entries and say how long.

    python tools/train_bounty.py --data DATA --out OUT [--device cuda] [--trials 3] [--libs DIR]

DATA is what `countenance bias-bounty make-data` wrote; its holdout and the organiser's files are not read. With
--trials N, each of the settings below is trained with N seeds and scored on the public test; --only-trials stops
there. Otherwise the three entries are trained, `better` with the best mean.
Needs numpy, scipy, pillow, torch, onnx, onnxscript, onnxruntime; pydantic too, from DIR where the machine lacks it.
Writes OUT/bounty.json after every training, and the entries.
"""

import argparse
import json
import multiprocessing
import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
if os.environ.get("BOUNTY_LIBS"):
    sys.path.append(os.environ["BOUNTY_LIBS"])

ENTRIES = ("baseline", "better", "unsupervised")
WORKERS = 12
LARGE = {"epochs": 60, "size": 160, "answer_size": 144}
SMALL = {"epochs": 60, "size": 128, "answer_size": 128}
LIGHT = {"age": 0.5, "gender": 0.35}
HEAVY = {"age": 0.8, "gender": 0.7}
TRIED: list[dict[str, Any]] = [
    LARGE | LIGHT,
    LARGE | HEAVY,
    LARGE | HEAVY | {"dropout": 0.3},
    LARGE | LIGHT | {"hardship": 1.0},
    SMALL | LIGHT,
    SMALL | HEAVY,
]
"""Every setting that was tried, as changes to `training.better.BetterSettings` (and the epochs)."""


def train_and_score(order: dict[str, Any]) -> dict[str, Any]:
    """Train one entry and score it on the public test; `order` is plain, so that it travels to a process."""
    import torch

    from countenance.data.adapters.bias_bounty_files import predictions_text
    from countenance.suites.bias_bounty import training
    from countenance.suites.bias_bounty.entry import BountyEntry, image_files, predict_files
    from countenance.suites.bias_bounty.scoring import score_files
    from countenance.suites.bias_bounty.training.better import BetterSettings

    data, folder = Path(order["data"]), Path(order["folder"])
    if order["device"] == "cuda":  # the first call on a GPU sets it up; that is not training
        weight = torch.zeros(1, 3, 3, 3, device="cuda")
        torch.nn.functional.conv2d(torch.zeros(1, 3, 8, 8, device="cuda"), weight)
        torch.cuda.synchronize()
    shutil.rmtree(folder, ignore_errors=True)
    options = dict(order["settings"])
    epochs = options.pop("epochs", None)
    settings = BetterSettings(**options) if order["entry"] == "better" else None
    how = training.EntryTraining(order["device"], epochs, order["threads"], order["seed"], settings)
    made = training.train_entry(order["entry"], data, folder, how)
    entry = BountyEntry(folder, threads=1)
    test = data / "test"
    files = image_files(test)
    predictions = folder / "test.csv"
    predictions.write_text(predictions_text(list(files), predict_files(entry, files)), encoding="utf-8")
    score = score_files(test / "labels.csv", predictions)
    return order | {"training": made["training"] | made["took"], "score": score.to_json()}


def line(row: dict[str, Any]) -> str:
    """One row of the report in words."""
    score = row["score"]
    shares = ", ".join(f"{k} {v:.3f}/{score['disparity'][k]:.3f}" for k, v in score["accuracy"].items())
    seconds = row["training"]["seconds"]
    return (
        f"{row['entry']} seed {row['seed']} {row['settings']}: {seconds:.1f} s, Score1 {score['score1']:.3f} ({shares})"
    )


def choose(base: dict[str, Any], out: Path, seeds: int, report: dict[str, Any]) -> dict[str, Any]:
    """The settings with the best mean Score₁ on the public test; every trial goes to the report as it ends."""
    orders = [
        base | {"entry": "better", "settings": settings, "seed": seed, "folder": str(out / "trials" / f"{i}-{seed}")}
        for seed in range(1, seeds + 1)
        for i, settings in enumerate(TRIED)
    ]
    rows = report["trials"]
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        for row in pool.imap_unordered(train_and_score, orders):
            print(line(row), flush=True)
            rows.append(row)
            save(out, report)
    shutil.rmtree(out / "trials")

    def mean(settings: dict[str, Any]) -> float:
        return sum(row["score"]["score1"] for row in rows if row["settings"] == settings) / seeds

    for settings in sorted(TRIED, key=mean, reverse=True):
        print(f"mean Score1 on the public test {mean(settings):.3f} {settings}", flush=True)
    return max(TRIED, key=mean)


def save(out: Path, report: dict[str, Any]) -> None:
    (out / "bounty.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--libs", type=Path, help="a folder of unpacked packages that the machine lacks")
    parser.add_argument("--trials", type=int, default=0, help="seeds for each of the settings that are tried")
    parser.add_argument("--only-trials", action="store_true", help="choose, and train nothing with the choice")
    arguments = parser.parse_args()
    if arguments.libs:
        os.environ["BOUNTY_LIBS"] = str(arguments.libs.resolve())  # the processes started below need it too
        sys.path.append(os.environ["BOUNTY_LIBS"])
    import torch

    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    base = {"data": str(arguments.data.resolve()), "device": arguments.device, "threads": 2, "seed": 0}
    report: dict[str, Any] = {"python": platform.python_version(), "torch": torch.__version__, "trials": []}
    chosen: dict[str, Any] = {}
    if arguments.trials:
        started = time.perf_counter()
        chosen = choose(base, out, arguments.trials, report)
        print(f"trials took {time.perf_counter() - started:.0f} s; chosen: {chosen}", flush=True)
    report |= {"chosen": chosen, "entries": {}}
    save(out, report)
    for entry in () if arguments.only_trials else ENTRIES:
        settings = chosen if entry == "better" else {}
        row = train_and_score(base | {"entry": entry, "settings": settings, "folder": str(out / entry)})
        print(line(row), flush=True)
        report["entries"][entry] = row
        save(out, report)  # what is known so far: a machine may be taken away
    return 0


if __name__ == "__main__":
    sys.exit(main())
