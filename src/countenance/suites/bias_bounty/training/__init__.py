"""Training the three entries of the bias bounty on the train part of a challenge folder (needs the extra `torch`).

Everything that imports torch is in the other modules of this folder; they load when an entry is trained. The same
command on the same machine writes the same bytes to `entry.json` and the networks; what differs from one training to
the next (how long it took) is in `training.json`.
"""

import platform
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from countenance.errors import InputError, MissingExtra
from countenance.files import staged, write_json
from countenance.suites.bias_bounty.entry import FILE, EntryCard

TRAINING = "training.json"
ENTRIES = ("baseline", "better", "unsupervised")
EPOCHS = {"baseline": 14, "better": 60, "unsupervised": 1}

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]


def train_entry(
    name: str,
    data: Path,
    out: Path,
    *,
    device: str = "cpu",
    epochs: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: ProgressMaker | None = None,
    settings: Any = None,
) -> dict[str, Any]:
    """Train `name` on `data/train` and write the entry to `out`; returns what entry.json and training.json say.

    `settings` are those of the better entry (`training.better.Settings`), to try others than were chosen.
    """
    if name not in ENTRIES:
        raise InputError(f"entry {name!r} is not known; there are {', '.join(ENTRIES)}")
    if out.exists():
        raise InputError(f"{out}: exists already; name a folder that does not")
    for package in ("torch", "onnx", "onnxscript"):
        if find_spec(package) is None:
            raise MissingExtra(f"training an entry ({package} is missing)", "torch")
    import torch

    if device not in ("cpu", "cuda"):
        raise InputError(f"device {device!r} is not known; there are cpu, cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device 'cuda' is not available here; take --device cpu")
    if threads:
        torch.set_num_threads(threads)
    from countenance.suites.bias_bounty.training import baseline, better, unsupervised
    from countenance.suites.bias_bounty.training.images import read_train

    rounds = epochs or EPOCHS[name]
    train = {"baseline": baseline.train, "better": better.train, "unsupervised": unsupervised.train}[name]
    started = time.perf_counter()
    images = read_train(data)
    loading = time.perf_counter() - started
    torch.manual_seed(seed)
    started, cpu = time.perf_counter(), time.process_time()
    with staged(out) as folder, progress(f"training {name}", rounds) if progress else nullcontext(_nothing) as step:
        extra = {} if settings is None else {"settings": settings}
        card: EntryCard = train(images, folder, device=device, epochs=rounds, seed=seed, step=step, **extra)
        if device == "cuda":
            torch.cuda.synchronize()
        where = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        known = {
            "device": where,
            "threads": torch.get_num_threads(),
            "epochs": rounds,
            "seed": seed,
            "images": len(images.names),
            "torch": torch.__version__,
            "python": platform.python_version(),
        }
        took = {
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - cpu,
            "loading_seconds": loading,
        }
        made = card.model_dump() | {"training": card.training | known}
        write_json(folder / FILE, made)
        write_json(folder / TRAINING, took)
    return made | {"took": took}


def _nothing(n: int = 1) -> None:
    pass
