"""Training the three entries of the bias bounty on the train part of a challenge folder (needs the extra `torch`).

The other modules of this folder import torch; they load when an entry is trained. The same command on the same machine
writes the same bytes to `entry.json` and the networks; what differs from one training to the next (how long it took) is
in `training.json`.
"""

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import staged, write_json
from countenance.learning.export import Exported, export_onnx
from countenance.learning.training import need_torch, training_device, what_was_used
from countenance.settings.engine import ProgressMaker
from countenance.suites.bias_bounty.entry import FILE

TRAINING = "training.json"
EPOCHS = {"baseline": 14, "better": 60, "unsupervised": 1}
"""The entries, each a module of this folder, and how often they pass over the data."""


@dataclass(frozen=True)
class EntryTraining:
    """The settings of an entry's training."""

    device: str = "cpu"
    epochs: int | None = None
    """Passes over the data; None: the entry's own."""
    threads: int | None = None
    seed: int = 0
    better: Any = None
    """Other settings of the better entry than were chosen (`training.better.BetterSettings`)."""


def train_entry(
    name: str, data: Path, out: Path, how: EntryTraining = EntryTraining(), progress: ProgressMaker | None = None
) -> dict[str, Any]:
    """Train `name` on `data/train` and write the entry to `out`; returns entry.json and training.json as dicts."""
    if name not in EPOCHS:
        raise InputError(f"entry {name!r} is not known; there are {', '.join(EPOCHS)}")
    if out.exists():
        raise InputError(f"{out}: exists already; name a folder that does not")
    torch, device = need_torch("training an entry", "torch", "onnx", "onnxscript"), training_device(how.device)
    if how.threads:
        torch.set_num_threads(how.threads)
    from countenance.suites.bias_bounty.training.images import read_train

    epochs = how.epochs or EPOCHS[name]
    started = time.perf_counter()
    images = read_train(data)
    loading = time.perf_counter() - started
    torch.manual_seed(how.seed)
    started, cpu = time.perf_counter(), time.process_time()
    with (
        staged(out) as folder,
        progress(f"training {name}", epochs) if progress else nullcontext(lambda *_: None) as step,
    ):
        trainer = import_module(f"countenance.suites.bias_bounty.training.{name}")
        card, networks = trainer.train(images, replace(how, device=device, epochs=epochs), step)
        for written, network in zip(card.networks, networks, strict=True):
            export_onnx(network, folder / written.file, Exported(written.size, written.outputs))
        if device != "cpu":
            torch.cuda.synchronize()
        known = {"epochs": epochs, "seed": how.seed, "images": len(images.names), **what_was_used(device)}
        took = {
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu,
            "loading_seconds": loading,
        }
        content = card.model_dump() | {"training": card.training | known}
        write_json(folder / FILE, content)
        write_json(folder / TRAINING, took)
    return {**content, "took": took}
