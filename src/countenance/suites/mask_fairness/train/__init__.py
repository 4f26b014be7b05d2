"""Training our own small mask detector on the embedded people: `countenance mask-fairness train`.

Needs the extra `torch` and, for the export, the package `onnx`.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import load_dataset
from countenance.errors import InputError, opencv
from countenance.files import write_atomically
from countenance.learning.augmentation import random_window, recolour
from countenance.learning.export import Exported, export_onnx
from countenance.learning.training import descend, need_torch, training_device
from countenance.suites.mask_fairness.train.network import SIDE

EXPORTED = Exported(size=SIDE, outputs=("map",), input="pixels", highest=1.0, any_side=True)
RATE = 3e-3
WITHOUT_FACES = 0.15
"""Share of a batch that shows no people."""


@dataclass(frozen=True)
class TrainSettings:
    """The settings of a training: its length, batches, threads, seed and device."""

    steps: int = 1200
    minutes: float = 8.0
    """Training ends after this many minutes."""
    batch: int = 24
    threads: int = 1
    seed: int = 0
    device: str = "cpu"


def train_and_export(
    out: Path, settings: TrainSettings, *, dataset: Any = None, say: Callable[[str], None] = lambda line: None
) -> None:
    """Train on the train split and write the ONNX file, all of it or nothing."""
    need_torch("training a detector", "torch", "onnx")
    opencv("training a detector")
    settings = replace(settings, device=training_device(settings.device))
    from countenance.suites.mask_fairness.train.augmented_pictures import training_pictures

    data = load_dataset("people") if dataset is None else dataset
    pictures, scenes = training_pictures(data)
    if not pictures:
        raise InputError(f"dataset {data.name!r} has no train split with faces")
    faces = sum(len(picture.boxes) for picture in pictures)
    say(f"{len(pictures)} pictures with {faces} faces, {len(scenes)} without people")
    network = train(pictures, scenes, settings, say)
    write_atomically(out, lambda part: export_onnx(network, part, EXPORTED))


def train(
    pictures: Sequence[Any],
    scenes: Sequence[Any],
    settings: TrainSettings,
    say: Callable[[str], None] = lambda line: None,
) -> Any:
    """The trained network (its running average): `steps` steps, fewer if the time ends first."""
    torch = need_torch()
    from countenance.suites.mask_fairness.train.loss import loss
    from countenance.suites.mask_fairness.train.network import make_network

    steps, minutes, batch, seed, device = (
        settings.steps,
        settings.minutes,
        settings.batch,
        settings.seed,
        settings.device,
    )
    torch.manual_seed(seed)
    torch.set_num_threads(settings.threads)
    network = make_network().to(device, memory_format=torch.channels_last).train()
    average = torch.optim.swa_utils.AveragedModel(
        network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98)
    )
    decayed = [p for p in network.parameters() if p.ndim != 1]
    plain = [p for p in network.parameters() if p.ndim == 1]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}], lr=RATE
    )
    say(f"{sum(p.numel() for p in network.parameters()):,} weights")
    start, reported = time.monotonic(), time.monotonic()
    seeds = np.random.SeedSequence(seed).spawn(steps)
    with ThreadPoolExecutor(1) as pool:
        coming = [pool.submit(_batch, pictures, scenes, batch, seeds[i]) for i in range(min(3, steps))]
        for step in range(steps):
            pixels, target = coming.pop(0).result()
            if step + 3 < steps:
                coming.append(pool.submit(_batch, pictures, scenes, batch, seeds[step + 3]))
            done = max(step / steps, (time.monotonic() - start) / 60 / minutes)
            if done >= 1:
                say(f"the {minutes:g} minutes are over after {step} of {steps} steps")
                break
            for group in optimiser.param_groups:
                group["lr"] = RATE * min(1.0, (step + 1) / 40) * (0.01 + 0.99 * (1 + math.cos(math.pi * done)) / 2)
            output = network(torch.from_numpy(pixels).to(device, memory_format=torch.channels_last))
            total, parts = loss(output, torch.from_numpy(target).to(device))
            descend(optimiser, total, clip=5.0)
            average.update_parameters(network)
            if time.monotonic() - reported > 15 or step == steps - 1:
                reported = time.monotonic()
                shown = ", ".join(f"{name} {value:.3f}" for name, value in parts.items())
                say(f"step {step + 1}/{steps}, {reported - start:.0f} s: loss {float(total.detach()):.3f} ({shown})")
        for future in coming:
            future.cancel()
    # Averaged weights have other activations than the weights they average, so measure the activations again.
    fresh = np.random.SeedSequence([seed, 1]).spawn(min(steps, 30))
    batches = (torch.from_numpy(_batch(pictures, scenes, batch, own)[0]).to(device) for own in fresh)
    torch.optim.swa_utils.update_bn(batches, average.module, device=device)
    return average.module.eval()


def _batch(pictures: Sequence[Any], scenes: Sequence[Any], size: int, seed: np.random.SeedSequence) -> tuple[Any, Any]:
    """Pixels N × 3 × 160 × 160 (0 to 1) and targets of a batch, the same for the same seed."""
    from countenance.suites.mask_fairness.train.augmented_pictures import augmented
    from countenance.suites.mask_fairness.train.loss import targets

    random = np.random.default_rng(seed)
    pixels, labels = [], []
    for _ in range(size):
        if scenes and random.random() < WITHOUT_FACES:
            scene, boxes, _ = random_window(scenes[int(random.integers(len(scenes)))], np.zeros((0, 4)), random, SIDE)
            image, masked = recolour(scene, random), np.zeros(len(boxes))
        else:
            image, boxes, masked = augmented(pictures[int(random.integers(len(pictures)))], list(scenes), random)
        pixels.append(image.transpose(2, 0, 1).astype(np.float32) / 255)
        labels.append(targets(boxes, masked))
    return np.stack(pixels), np.stack(labels)
