"""Baseline: three plain CNNs, one for each attribute, at full resolution; cross-entropy on the labelled rows."""

from typing import Any

import torch
from torch.nn import functional as F

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES
from countenance.learning.training import batches, descend, mixed
from countenance.suites.bias_bounty.entry import EntryCard, EntryNetwork
from countenance.suites.bias_bounty.training import EntryTraining
from countenance.suites.bias_bounty.training.images import TrainImages
from countenance.suites.bias_bounty.training.networks import Plain

SIZE, BATCH, RATE = 256, 32, 2e-3


def train(images: TrainImages, how: EntryTraining, step: Any) -> tuple[EntryCard, list[Any]]:
    """The entry's card, and its networks in the card's order."""
    device, epochs = how.device, how.epochs or 1
    pixels, targets = images.tensor(SIZE, device), images.targets(device)
    generator = torch.Generator(device).manual_seed(how.seed)
    networks = {name: Plain(len(CLASSES[name])).to(device) for name in ATTRIBUTES}
    for network in networks.values():
        network.train().to(memory_format=torch.channels_last)
    optimisers = {
        name: torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-3) for name, network in networks.items()
    }
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs) for optimiser in optimisers.values()]
    for _ in range(epochs):
        for rows in batches(len(pixels), BATCH, generator, device):
            batch = pixels[rows].float()
            if float(torch.rand(1, generator=generator, device=device)) < 0.5:
                batch = batch.flip(3)
            for name, network in networks.items():
                known = targets[name][rows] >= 0
                if int(known.sum()) < 2:
                    continue
                with mixed(device):
                    (logits,) = network(batch[known].to(memory_format=torch.channels_last))
                descend(optimisers[name], F.cross_entropy(logits.float(), targets[name][rows][known]))
        for schedule in schedules:
            schedule.step()
        step()
    card = EntryCard(
        name="baseline",
        kind="supervised",
        description="three plain CNNs, one for each attribute, at 256 × 256; cross-entropy",
        networks=tuple(EntryNetwork(file=f"{name}.onnx", size=SIZE, outputs=(name,)) for name in ATTRIBUTES),
    )
    return card, list(networks.values())
