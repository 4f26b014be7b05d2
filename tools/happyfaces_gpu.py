"""The whole sweep of the network methods on one GPU, in minutes.

    PYTHONPATH=src python tools/happyfaces_gpu.py carry_happy --out results --minutes 8

The folder holds `pixels.npz` (made by `--pack DATA_DIRECTORY` on any machine) and, optionally, the weights of
EfficientNet-Lite0 as `efficientnet-lite0.pth`. Runs are spread over several processes that share the GPU; photos stay
on the GPU. Settings are tuned first, on labelled and unlabelled photos alone; then all runs, low mix rates first, until
everything is done or the time is up. Results are written after every run.
"""

import argparse
import json
import os
import queue
import sys
import time
from pathlib import Path

import numpy as np

METHODS = ("erm", "divdis", "dbat", "topk", "topk-exp")
TUNED = METHODS[1:]
TUNING_SEED, TUNING_RATE = 1000, 0.3
SIDE = 112


def pack(source: Path, folder: Path) -> None:
    """Photos of a data directory, shrunk, as JPEG bytes in one file; tags are for the scores alone."""
    import io

    from PIL import Image

    from countenance.suites.happyfaces.dataset import read_happyfaces

    data = read_happyfaces(source)
    arrays = {}
    for name in ("labelled", "unlabelled", "validation"):
        photos = getattr(data, name)
        contents = []
        for picture in photos.pixels:
            buffer = io.BytesIO()
            small = Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BOX)
            small.save(buffer, "JPEG", quality=95, subsampling=0)
            contents.append(np.frombuffer(buffer.getvalue(), np.uint8))
        arrays[name] = np.concatenate(contents)
        arrays[f"{name}_ends"] = np.cumsum([len(content) for content in contents])
        arrays[f"{name}_tags"] = np.array(photos.tags)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "pixels.npz", **arrays)


def unpack(stored, name):
    """The pixels of one set."""
    import io

    from PIL import Image

    parts = np.split(stored[name], stored[f"{name}_ends"][:-1])
    return np.stack([np.asarray(Image.open(io.BytesIO(part.tobytes())).convert("RGB")) for part in parts])


def losses(method, labels):
    """The method's loss maker, as tuning and training want it."""
    from countenance.suites.happyfaces.methods.dbat import dbat_loss
    from countenance.suites.happyfaces.methods.divdis import divdis_loss
    from countenance.suites.happyfaces.methods.topk import exponential_loss, topk_loss
    from countenance.suites.happyfaces.networks.fitting import against
    from countenance.suites.happyfaces.networks.training import train_network

    plain = {
        "erm": None,
        "divdis": lambda z, done, rows: divdis_loss(z, done, float(labels.mean())),
        "topk": lambda z, done, rows: topk_loss(z, done),
        "topk-exp": lambda z, done, rows: exponential_loss(z, done),
    }

    def make(known, known_labels, others, settings, seed):
        if method != "dbat":
            return plain[method]
        first = train_network(known, known_labels, others, None, settings, seed)
        make.first = first
        return against(first, others, dbat_loss)

    return make


def truth_of(tags):
    return np.array([[tag[1] == "H", tag[3] == "H"] for tag in tags], bool)


def worker(folder, settings, inbox, outbox):
    """Takes tasks, trains, scores; keeps all photos on the device and each seed's ERM network for D-BAT."""
    import torch

    torch.set_num_threads(1)
    if (weights := Path(folder) / "efficientnet-lite0.pth").exists():
        os.environ["COUNTENANCE_EFFICIENTNET_LITE0"] = str(weights)
    from countenance.suites.happyfaces.networks.training import device_of, to_tensor, train_network
    from countenance.suites.happyfaces.networks.tuning import held_out_loss
    from countenance.suites.happyfaces.sampler import draw

    stored = np.load(Path(folder) / "pixels.npz")
    pixels = {name: to_tensor(unpack(stored, name), settings) for name in ("labelled", "unlabelled", "validation")}
    labels = truth_of(stored["labelled_tags"])[:, 0].astype(np.int64)
    tags = tuple(str(tag) for tag in stored["unlabelled_tags"])
    truths = {name: truth_of(stored[f"{name}_tags"]) for name in ("unlabelled", "validation")}
    torch.backends.cudnn.benchmark = device_of(settings) == "cuda"
    while (task := inbox.get()) is not None:
        start = time.perf_counter()
        try:
            used = settings.but(**task["changes"])
            chosen = draw(tags, task["mix_rate"], task["seed"])
            drawn = pixels["unlabelled"][torch.as_tensor(chosen.drawn, device=pixels["unlabelled"].device)]
            make = losses(task["method"], labels)
            if task["kind"] == "tune":
                value = held_out_loss(pixels["labelled"], labels, drawn, make, used, task["seed"])
                outbox.put(task | {"held_out_loss": value, "seconds": time.perf_counter() - start})
                continue
            loss = make(pixels["labelled"], labels, drawn, used, task["seed"])
            second = task["method"] == "dbat"
            network = train_network(pixels["labelled"], labels, drawn, loss, used, task["seed"] + second)
            rest = torch.as_tensor(chosen.not_drawn, device=drawn.device)
            sets = (
                ("validation", pixels["validation"], truths["validation"], stored["validation_tags"]),
                ("not_drawn", pixels["unlabelled"][rest], truths["unlabelled"][chosen.not_drawn],
                 stored["unlabelled_tags"][chosen.not_drawn]),
            )  # fmt: skip
            record = task | {"network": network.name, "settings": used.as_dict(), **score(sets, network, make, second)}
            outbox.put(record | {"seconds": time.perf_counter() - start})
        except Exception as error:
            outbox.put(task | {"error": f"{type(error).__name__}: {error}"[:500]})


def score(sets, network, make, second):
    """Both heads on both sets; heads are named on validation."""
    from countenance.suites.happyfaces.scores import assign_heads, by_type

    found, ways = {}, (0, 1)
    for name, tensor, truth, tags in sets:
        p = network.predict_tensor(tensor)
        if second:
            p = np.stack([make.first.predict_tensor(tensor)[:, 0], p[:, 0]], 1)
        predicted = p > 0.5
        ways = assign_heads(predicted, truth) if name == "validation" else ways
        right = predicted[:, ways] == truth
        kinds = [str(tag) for tag in tags]
        found[name] = {
            "photos": len(truth),
            "worst_head": float(right.mean(0).min()),
            "heads": {
                feature: {"accuracy": float(right[:, k].mean()), "by_type": by_type(right[:, k], kinds)}
                for k, feature in enumerate(("face", "writing"))
            },
        }
    return found


def write(state, out: Path) -> None:
    part = out / ".happyfaces_gpu.json.part"
    part.write_text(json.dumps(state, indent=1, default=float))
    part.replace(out / "happyfaces_gpu.json")


def collect(outbox, waiting, deadline, on_result):
    """Hand results on until none is waited for or the time is up."""
    while waiting and time.monotonic() < deadline:
        try:
            on_result(outbox.get(timeout=1))
            waiting -= 1
        except queue.Empty:
            continue
    return waiting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pack", type=Path, help="make pixels.npz in the folder from this data directory, and stop")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rates", default="0,.1,.2,.3,.5,.4,.6,.7,.8,.9,1")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--size", type=int, default=SIDE)
    parser.add_argument("--backbone", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-tuning", action="store_true")
    parser.add_argument("--weight", type=float, default=1.0, help="of the unlabelled loss, where nothing is tuned")
    parser.add_argument("--backbone-rate", type=float, default=1e-3, help="learning rate, where nothing is tuned")
    args = parser.parse_args()
    if args.pack:
        return pack(args.pack, args.folder)
    began = time.monotonic()
    deadline = began + 60 * args.minutes
    import multiprocessing

    import torch

    from countenance.suites.happyfaces.networks.training import Settings
    from countenance.suites.happyfaces.networks.tuning import candidates

    settings = Settings(
        weight=args.weight, backbone_rate=args.backbone_rate, steps=args.steps, size=args.size,
        backbone=args.backbone, device=args.device,
    )  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    machine = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
    state = {
        "command": " ".join(sys.argv), "machine": machine, "torch": torch.__version__, "numpy": np.__version__,
        "python": sys.version.split()[0], "settings": settings.as_dict(), "tuning": [], "chosen": {}, "runs": [],
    }  # fmt: skip
    context = multiprocessing.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    workers = [
        context.Process(target=worker, args=(str(args.folder), settings, inbox, outbox), daemon=True)
        for _ in range(args.workers)
    ]
    for process in workers:
        process.start()

    def say(text):
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    methods = args.methods.split(",")
    tunes = []
    if not args.no_tuning:
        for method in (m for m in TUNED if m in methods):
            for other in candidates(settings):
                changes = {"weight": other.weight, "backbone_rate": other.backbone_rate}
                tunes.append({"kind": "tune", "method": method, "mix_rate": TUNING_RATE, "seed": TUNING_SEED,
                              "changes": changes})  # fmt: skip
    for task in tunes:
        inbox.put(task)

    def tuned(result):
        state["tuning"].append(result)
        say(f"tuning {result['method']} {result['changes']} "
            f"{result.get('held_out_loss', result.get('error'))} in {result.get('seconds', 0):.1f} s")  # fmt: skip
        write(state, args.out)

    if collect(outbox, len(tunes), began + 0.4 * (deadline - began), tuned):
        say("tuning took too long; the rest of it is dropped")
        while True:
            try:
                inbox.get(timeout=0.2)
            except queue.Empty:
                break
    for method in methods:
        tried = [t for t in state["tuning"] if t["method"] == method and "held_out_loss" in t]
        state["chosen"][method] = min(tried, key=lambda t: t["held_out_loss"])["changes"] if tried else {}
        say(f"chosen for {method}: {state['chosen'][method]}")
    runs = []
    for rate in (float(r) for r in args.rates.split(",")):
        for seed in range(args.seeds):
            # ERM does not look at unlabelled photos: one mix rate stands for all.
            runs += [
                {"kind": "run", "method": method, "mix_rate": rate, "seed": seed, "changes": state["chosen"][method]}
                for method in methods
                if method != "erm" or rate == 0
            ]
    for task in runs:
        inbox.put(task)

    def done(result):
        if result["kind"] == "tune":
            return
        state["runs"].append(result)
        worst = result["validation"]["worst_head"] if "validation" in result else result["error"]
        say(f"{result['method']} mix rate {result['mix_rate']:.1f} seed {result['seed']}: {worst}")
        write(state, args.out)

    left = collect(outbox, len(runs), deadline, done)
    for process in workers:
        process.terminate()
    state["left_out"], state["seconds"] = left, time.monotonic() - began
    write(state, args.out)
    for method in methods:
        for rate in sorted({r["mix_rate"] for r in state["runs"] if r["method"] == method}):
            found = [r for r in state["runs"] if r["method"] == method and r["mix_rate"] == rate and "validation" in r]
            worst = [r["validation"]["worst_head"] for r in found]
            rest = [r["not_drawn"]["worst_head"] for r in found]
            if worst:
                say(f"{method:9} {rate:.1f}  worst head {np.mean(worst):.3f} ± {np.std(worst):.3f}  "
                    f"not drawn {np.mean(rest):.3f}  n {len(worst)}")  # fmt: skip
    say(f"{len(state['runs'])} runs, {left} left out")


if __name__ == "__main__":
    main()
