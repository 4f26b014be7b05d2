"""Train the three entries of the bias bounty on one machine and say how long each took.

    python tools/bounty_gpu.py --data DATA --out OUT [--device cuda] [--libs DIR] [--trials 3] [--cpu]

DATA is what `countenance bias-bounty make-data` wrote. With --trials N, settings of `better` are tried with N seeds
each, scored on the public test alone, and the best mean is trained for good; the holdout is scored once, at the end.
With --cpu the entries are trained on two CPU threads as well, for the time. Needs numpy, scipy, pillow, torch, onnx,
onnxscript, onnxruntime; pydantic too, from DIR where the machine lacks it. Writes OUT/bounty_gpu.json, the entries,
and their predictions.
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
WORKERS = 8
TRIED: list[dict[str, Any]] = [
    {},
    {"epochs": 60},
    {"epochs": 60, "decay": 0.1},
    {"erase": 0.0},
    {"size": 128},
    {"light": 2.0},
    {"neighbours": 0.2},
    {"dropout": 0.3},
]


def train_and_score(order: dict[str, Any]) -> dict[str, Any]:
    """Train one entry and score it on the splits asked for; `order` is plain, so that it travels to a process."""
    import torch

    from countenance.suites.bias_bounty import training
    from countenance.suites.bias_bounty.entry import Entry, image_files, predict_files
    from countenance.suites.bias_bounty.files import predictions_text
    from countenance.suites.bias_bounty.scoring import score_files
    from countenance.suites.bias_bounty.training.better import Settings

    data, folder = Path(order["data"]), Path(order["folder"])
    if order["device"] == "cuda":  # the first call on a GPU sets it up; that is not training
        weight = torch.zeros(1, 3, 3, 3, device="cuda")
        torch.nn.functional.conv2d(torch.zeros(1, 3, 8, 8, device="cuda"), weight)
        torch.cuda.synchronize()
    shutil.rmtree(folder, ignore_errors=True)
    options = dict(order["settings"])
    epochs = options.pop("epochs", None)
    settings = Settings(**options) if order["entry"] == "better" else None
    made = training.train_entry(
        order["entry"], data, folder, device=order["device"], epochs=epochs, threads=order["threads"],
        seed=order["seed"], settings=settings,
    )  # fmt: skip
    entry = Entry(folder, threads=1)
    scores = {}
    for split in order["splits"]:
        files = image_files(data / split)
        predictions = folder.parent / f"{folder.name}-{split}.csv"
        predictions.write_text(predictions_text(list(files), predict_files(entry, files)), encoding="utf-8")
        listed = data / split / "nonfaces.txt"
        score = score_files(data / split / "labels.csv", predictions, listed if listed.exists() else None)
        scores[split] = score.to_json()
    return order | {"training": made["training"], "scores": scores}


def line(row: dict[str, Any]) -> str:
    """One row of the report in words."""
    said = [f"{row['entry']} seed {row['seed']} {row['settings']}: {row['training']['seconds']:.1f} s"]
    for split, score in row["scores"].items():
        shares = ", ".join(f"{k} {v:.3f}/{score['disparity'][k]:.3f}" for k, v in score["accuracy"].items())
        said.append(f"{split} Score1 {score['score1']:.3f} x{score['randomness']['multiplier']:.3f} ({shares})")
    return "; ".join(said)


def choose(
    base: dict[str, Any], out: Path, seeds: int, tried: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[Any]]:
    """The settings with the best mean Score₁ on the public test, and every trial."""
    orders = [
        base
        | {
            "entry": "better",
            "settings": settings,
            "seed": seed,
            "splits": ["test"],
            "folder": str(out / f"t{i}-{seed}"),
        }
        for i, settings in enumerate(tried)
        for seed in range(1, seeds + 1)
    ]
    with multiprocessing.get_context("spawn").Pool(WORKERS, maxtasksperchild=4) as pool:
        rows = []
        for row in pool.imap_unordered(train_and_score, orders):
            print(line(row), flush=True)
            rows.append(row)
    means = {
        json.dumps(settings): sum(r["scores"]["test"]["score1"] for r in rows if r["settings"] == settings) / seeds
        for settings in tried
    }
    for settings, mean in sorted(means.items(), key=lambda item: -item[1]):
        print(f"mean Score1 on the public test {mean:.3f} {settings}", flush=True)
    return json.loads(max(means, key=lambda key: means[key])), rows


def save(out: Path, report: dict[str, Any]) -> None:
    """Write what is known so far: a machine may be taken away."""
    (out / "bounty_gpu.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--libs", type=Path, help="a folder of unpacked packages that the machine lacks")
    parser.add_argument("--trials", type=int, default=0, help="seeds for each of the settings that are tried")
    parser.add_argument("--tried", type=int, default=len(TRIED), help="only the first so many settings")
    parser.add_argument("--epochs", type=int, help="of everything, for a quick look")
    parser.add_argument("--cpu", action="store_true", help="train on two CPU threads as well, for the time")
    arguments = parser.parse_args()
    if arguments.libs:
        os.environ["BOUNTY_LIBS"] = str(arguments.libs.resolve())  # the processes started below need it too
        sys.path.append(os.environ["BOUNTY_LIBS"])
    import torch

    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    base = {"data": str(arguments.data.resolve()), "device": arguments.device, "threads": 2, "seed": 0}
    fixed = {} if arguments.epochs is None else {"epochs": arguments.epochs}
    report: dict[str, Any] = {"python": platform.python_version(), "torch": torch.__version__, "trials": []}
    both = ["test", "holdout"]
    with multiprocessing.get_context("spawn").Pool(3) as pool:

        def on_cpu(entry: str, settings: dict[str, Any]) -> Any:
            order = {"entry": entry, "settings": settings, "device": "cpu", "splits": both}
            return pool.apply_async(train_and_score, (base | order | {"folder": str(out / "cpu" / entry)},))

        waiting = [on_cpu("baseline", fixed), on_cpu("unsupervised", {})] if arguments.cpu else []
        chosen: dict[str, Any] = {}
        if arguments.trials:
            started = time.perf_counter()
            tried = [settings | fixed for settings in TRIED[: arguments.tried]]
            chosen, report["trials"] = choose(base, out / "trials", arguments.trials, tried)
            print(f"trials took {time.perf_counter() - started:.0f} s; chosen: {chosen}", flush=True)
        report |= {"chosen": chosen, "entries": {}, "cpu": {}}
        if arguments.cpu:
            waiting.append(on_cpu("better", chosen | fixed))
        for entry, settings in (("better", chosen | fixed), ("baseline", fixed), ("unsupervised", {})):
            order = {"entry": entry, "settings": settings, "splits": both, "folder": str(out / entry)}
            row = train_and_score(base | order)
            print(line(row), flush=True)
            report["entries"][entry] = row
            save(out, report)
        for result in waiting:
            row = result.get()
            print(f"CPU {row['training']['cpu_seconds']:.0f} s of CPU time: {line(row)}", flush=True)
            report["cpu"][row["entry"]] = row
            save(out, report)
    shutil.rmtree(out / "trials", ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
