"""The whole sweep of the network methods on one GPU, in minutes.

    python tools/happyfaces_gpu.py carry_happy --pack DATA_DIRECTORY
    PYTHONPATH=src python tools/happyfaces_gpu.py carry_happy --out results --minutes 8

The folder holds `photos.npz` (the first command makes it, on any machine) and the weights of EfficientNet-Lite0 as
`efficientnet-lite0.pth`. Settings are tuned first, on labelled and unlabelled photos alone; then all runs of a method
and a group of mix rates are trained as one batch, low mix rates of all methods first. Training is the package's own:
the local layer of `networks/evidence.py` and the methods' `train`. Results are written after every batch.
"""

import argparse
import io
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

METHODS = ("erm", "divdis", "dbat", "topk", "topk-exp")
SETS = ("labelled", "unlabelled", "validation")
TUNING_SEEDS, TUNING_RATES = (1000, 1001), (0.1, 0.2, 0.3)
"""Draws that no run uses; the same settings then serve every mix rate."""
FEATURES = ("face", "writing")


def pack(source: Path, folder: Path) -> None:
    """The files of a data directory in one, in the order the package reads them; tags are for draws and scores."""
    from countenance.data.adapters.happyfaces_layout import SETS as FOLDERS
    from countenance.data.adapters.happyfaces_layout import photo_bytes, read_happyfaces

    data, arrays = read_happyfaces(source), {}
    for name in SETS:
        photos = getattr(data, name)
        root = next(source / some for some in FOLDERS[name][0] if (source / some).is_dir())
        pairs = zip(photos.tags, photos.names, strict=True)
        contents = [np.frombuffer(photo_bytes(root / tag / file), np.uint8) for tag, file in pairs]
        arrays |= {name: np.concatenate(contents), f"{name}_tags": np.array(photos.tags)}
        arrays[f"{name}_ends"] = np.cumsum([len(content) for content in contents])
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "photos.npz", **arrays)


def unpacked(stored, name: str):
    """One set of `photos.npz`."""
    from PIL import Image

    from countenance.data.adapters.happyfaces_layout import Photos

    parts = np.split(stored[name], stored[f"{name}_ends"][:-1])
    pixels = np.stack([np.asarray(Image.open(io.BytesIO(part.tobytes())).convert("RGB")) for part in parts])
    tags = tuple(str(tag) for tag in stored[f"{name}_tags"])
    return Photos(pixels, tags, tags)


class Data:
    """The three sets, and for each seed the local layer's evidence about all photos."""

    def __init__(self, folder: Path, settings) -> None:
        stored = np.load(folder / "photos.npz")
        self.labelled, self.unlabelled, self.validation = (unpacked(stored, name) for name in SETS)
        self.settings, self._evidence = settings, {}

    def evidence(self, seed: int):
        """Labelled (left out), the labels, all unlabelled, validation: as a run of this seed sees them."""
        from countenance.suites.happyfaces.draws import method_input
        from countenance.suites.happyfaces.networks.evidence import gather

        if seed not in self._evidence:
            pixels, labels, _ = method_input(self, np.zeros(0, np.int64), seed)
            found = gather(pixels, labels, self.settings, seed)
            parts = (found.labelled, labels, found(self.unlabelled.pixels), found(self.validation.pixels))
            self._evidence[seed] = parts
        return self._evidence[seed]

    def batch(self, keys):
        """Runs × photos × places for (mix rate, seed) pairs: labelled, labels, drawn; and the draws.

        Labels of all runs come in one order, so each seed's labelled photos are sorted by label.
        """
        import torch

        from countenance.suites.happyfaces.draws import draw

        known, others, draws = [], [], []
        for rate, seed in keys:
            labelled, labels, unlabelled, _ = self.evidence(seed)
            order = np.argsort(labels, kind="stable")
            draws.append(draw(self.unlabelled.tags, rate, seed))
            known.append(labelled[torch.as_tensor(order, device=labelled.device)])
            others.append(unlabelled[torch.as_tensor(draws[-1].drawn, device=labelled.device)])
        target = torch.as_tensor(labels[order], device=labelled.device)
        return torch.stack(known), target, torch.stack(others), draws


def tune(data: Data, method, settings, say):
    """The settings with the best held-out loss, and the record of every candidate."""
    from countenance.suites.happyfaces.networks.tuning import candidates, choose, held_out

    keys = [(rate, seed) for rate in TUNING_RATES for seed in TUNING_SEEDS]
    known, labels, others, _ = data.batch(keys)
    # The labelled photos are sorted by label: their halves are drawn at random, so this does no harm.
    tried = [
        (some, held_out(method, known, labels, others, some, [seed for _, seed in keys]))
        for some in candidates(settings)
    ]
    best = choose(tried)
    record = [
        {
            "weight": some.weight,
            "decay": some.decay,
            "smoothing": some.smoothing,
            "cross_entropy": found.cross_entropy,
            "worse_head_accuracy": found.accuracy,
            "own_loss": found.own_loss,
            "value": found.value,
        }
        for some, found in tried
    ]
    say(f"{method.name}: weight {best.weight}, decay {best.decay}, smoothing {best.smoothing}")
    return best, record


def run(data: Data, method, settings, keys):
    """The records of all runs of a batch."""
    import torch

    from countenance.suites.happyfaces.scores import score_parts

    known, labels, others, draws = data.batch(keys)
    heads = method.train(known, labels, others, settings, [seed for _, seed in keys])
    seen = {
        "validation": heads.logits(torch.stack([data.evidence(seed)[3] for _, seed in keys])),
        "unlabelled": heads.logits(torch.stack([data.evidence(seed)[2] for _, seed in keys])),
    }
    said = {name: logits.sigmoid().cpu().numpy() for name, logits in seen.items()}
    records = []
    for row, ((rate, seed), drawn) in enumerate(zip(keys, draws, strict=True)):
        rest = drawn.not_drawn
        parts = {
            "validation": (data.validation, said["validation"][row]),
            "not_drawn": (data.unlabelled.take(rest), said["unlabelled"][row][rest]),
        }
        record = {"method": method.name, "mix_rate": rate, "seed": seed, "objective": float(heads.objective[row])}
        records.append(record | score_parts(parts, FEATURES))
    return records


def table(runs):
    """For each method and mix rate means and deviations over seeds."""
    rows = []
    for method, rate in sorted({(r["method"], r["mix_rate"]) for r in runs}, key=lambda k: (METHODS.index(k[0]), k[1])):
        some = [r for r in runs if (r["method"], r["mix_rate"]) == (method, rate)]
        row = {"method": method, "mix_rate": rate, "n": len(some)}
        for key, name in (("validation", "worst_head"), ("not_drawn", "not_drawn")):
            values = [r[key]["worst_head"] for r in some]
            row |= {f"{name}_mean": np.mean(values), f"{name}_std": np.std(values, ddof=1) if len(some) > 1 else 0.0}
            row |= {f"{key}_{f}_mean": np.mean([r[key]["heads"][f]["accuracy"] for r in some]) for f in FEATURES}
        rows.append({key: round(float(v), 4) if isinstance(v, np.floating) else v for key, v in row.items()})
    return rows


def areas(rows):
    """Each method's area under worst-head accuracy from mix rate 0 to .3."""
    from countenance.suites.happyfaces.scores import auc

    names = {row["method"] for row in rows}
    return {
        m: auc({r["mix_rate"]: r["worst_head_mean"] for r in rows if r["method"] == m}) for m in METHODS if m in names
    }


def write(state, out: Path) -> None:
    state["table"] = table(state["runs"])
    state["auc_0_30"] = areas(state["table"])
    part = out / ".happyfaces_networks.json.part"
    part.write_text(json.dumps(state, indent=1, default=float) + "\n", "utf-8")
    part.replace(out / "happyfaces_networks.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pack", type=Path, help="make photos.npz in the folder from this data directory, and stop")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--minutes", type=float, default=8.0, help="no batch is begun after this time")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rates", default="0,.1,.2,.3/.4,.5,.6,.7,.8,.9,1", help="groups of mix rates, in order")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tune-only", action="store_true", help="stop before anything is scored")
    args = parser.parse_args()
    if args.pack:
        return pack(args.pack, args.folder)
    if (weights := args.folder / "efficientnet-lite0.pth").exists():
        os.environ["COUNTENANCE_EFFICIENTNET_LITE0"] = str(weights)
    import torch

    from countenance.learning.training import training_device
    from countenance.suites.happyfaces.methods import make_method
    from countenance.suites.happyfaces.networks.training import NetworkSettings

    began = time.monotonic()
    torch.manual_seed(0)
    settings = NetworkSettings(device=args.device)
    on_gpu = training_device(settings.device) == "cuda"
    args.out.mkdir(parents=True, exist_ok=True)
    state = {
        "command": " ".join(sys.argv),
        "machine": torch.cuda.get_device_name(0) if on_gpu else "CPU",
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "settings": asdict(settings),
        "tuning_draws": {"seeds": TUNING_SEEDS, "mix_rates": TUNING_RATES},
        "chosen": {},
        "tuning": {},
        "runs": [],
    }

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    data = Data(args.folder, settings)
    say("photos read")
    methods = [make_method(name) for name in args.methods.split(",")]
    used = {"erm": settings}
    for method in methods:
        if method.name != "erm":
            used[method.name], state["tuning"][method.name] = tune(data, method, settings, say)
            changed = {k: v for k, v in asdict(used[method.name]).items() if v != asdict(settings)[k]}
            state["chosen"][method.name] = changed
    write(state, args.out)
    if args.tune_only:
        return say("tuned")
    for group in args.rates.split("/"):
        for method in methods:
            if time.monotonic() - began > 60 * args.minutes:
                return say("the time is up")
            keys = [(float(rate), seed) for rate in group.split(",") for seed in range(args.seeds)]
            state["runs"] += run(data, method, used[method.name], keys)
            state["seconds"] = time.monotonic() - began
            write(state, args.out)
            say(f"{method.name}: {len(keys)} runs at mix rates {group}")
    for row in state["table"]:
        print(
            "{method:9} {mix_rate:.1f}  worst head {worst_head_mean:.3f} ± {worst_head_std:.3f}  "
            "not drawn {not_drawn_mean:.3f}  n {n}".format(**row)
        )
    return say(f"{len(state['runs'])} runs")


if __name__ == "__main__":
    main()
