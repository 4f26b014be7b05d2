"""Better: one shared backbone, a loss that weights classes by rarity and by error, and a face score.

About a fifth of the pictures are not faces and have random labels. `meant_labels` recognises them by that randomness:
each picture has a probability of being a face, which weights its labels while training, and which the face head learns
from the pixels. A picture that the face head finds more likely not to be a face gets uniform random classes.
"""

import copy
import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.nn import functional as F

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES
from countenance.learning.augmentation import vary
from countenance.learning.training import batches, descend, follow, mixed
from countenance.suites.bias_bounty.entry import EntryCard, EntryNetwork
from countenance.suites.bias_bounty.training import EntryTraining
from countenance.suites.bias_bounty.training.fixed_features import SIZE as FEATURE_SIZE
from countenance.suites.bias_bounty.training.fixed_features import portrait_features
from countenance.suites.bias_bounty.training.images import TrainImages
from countenance.suites.bias_bounty.training.label_noise import meant_labels
from countenance.suites.bias_bounty.training.networks import Shared

FACE = 0.3
AVERAGE = 0.995

Tensor = Any


@dataclass(frozen=True)
class BetterSettings:
    """The settings of the better entry; the defaults were chosen on the public test."""

    size: int = 128
    answer_size: int = 128
    """The size of pictures for answers; it may be smaller, within the zoom seen in training."""
    batch: int = 48
    rate: float = 3e-3
    decay: float = 2e-2
    maps: int = 12
    dropout: float = 0.5
    neighbours: float = 0.2
    """Ordered classes: a neighbouring class takes this share of the target."""
    hardship: float = 0.7
    """How much more weight a class gets that does worse than the others."""
    geometry: float = 1.0
    light: float = 1.0
    erase: float = 0.5
    """Share of pictures of which a patch is greyed while training."""
    age: float = 0.8
    gender: float = 0.7
    """How much the losses of age and gender weigh beside that of skin tone."""


class ClassWeights:
    """Class-balanced and disparity-aware: weights follow rarity, and the running loss of each class."""

    def __init__(self, codes: Tensor, classes: int, strength: float) -> None:
        counts = torch.bincount(codes[codes >= 0], minlength=classes).float()
        self.rarity = counts.sum() / counts.clamp(min=1) / classes
        self.loss = torch.ones_like(self.rarity)
        self.strength = strength

    def __call__(self, losses: Tensor, codes: Tensor, faces: Tensor) -> Tensor:
        """The weighted mean of the rows' losses; a class that does worse than the others weighs more.

        `faces` is each row's probability of being a face: the label of a non-face carries no information.
        """
        zero = torch.zeros_like(self.loss)
        sums, seen = zero.index_add(0, codes, losses.detach() * faces), zero.index_add(0, codes, faces)
        self.loss = torch.where(seen > 0.5, 0.95 * self.loss + 0.05 * sums / seen.clamp(min=0.5), self.loss)
        hardship = (self.loss / self.loss.mean().clamp(min=1e-6)) ** self.strength
        weights = (self.rarity * hardship.clamp(0.5, 2.0))[codes] * faces
        return (losses * weights).sum() / weights.sum().clamp(min=1e-6)


def ordered_targets(classes: int, share: float) -> Tensor:
    """A row for each class: most on itself, `share` on each neighbour; two classes have no order."""
    rows = torch.eye(classes)
    if share and classes > 2:
        near = torch.diag(torch.full((classes - 1,), share), 1)
        rows = rows + near + near.T
    return rows / rows.sum(dim=1, keepdim=True)


def train(images: TrainImages, how: EntryTraining, step: Any) -> tuple[EntryCard, list[Any]]:
    """The entry's card, and its network."""
    chosen = how.better or BetterSettings()
    device, epochs = how.device, how.epochs or 1
    pixels, targets = images.tensor(chosen.size, device), images.targets(device)
    # Small matrices and many steps: a CPU is faster at these than a GPU.
    values = portrait_features(images.tensor(FEATURE_SIZE, "cpu").float())
    classes = {name: len(CLASSES[name]) for name in ATTRIBUTES}
    faces = meant_labels(values, images.targets("cpu"), classes, how.seed).to(device)
    points = {"skin_tone": 1.0, "age": chosen.age, "gender": chosen.gender}
    generator = torch.Generator(device).manual_seed(how.seed)
    network = Shared(chosen.size, chosen.maps, chosen.dropout).to(device, memory_format=torch.channels_last).train()
    average = copy.deepcopy(network).eval()
    optimiser = torch.optim.AdamW(network.parameters(), chosen.rate, weight_decay=chosen.decay)
    steps = epochs * math.ceil(len(pixels) / chosen.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, chosen.rate, total_steps=steps, pct_start=0.15)
    weights = {name: ClassWeights(targets[name], len(CLASSES[name]), chosen.hardship) for name in ATTRIBUTES}
    soft = {name: ordered_targets(len(CLASSES[name]), chosen.neighbours).to(device) for name in ATTRIBUTES}
    done = 0
    for _ in range(epochs):
        for rows in batches(len(pixels), chosen.batch, generator, device):
            batch = vary(
                pixels[rows].float(), generator, geometry=chosen.geometry, light=chosen.light, erase=chosen.erase
            ).to(memory_format=torch.channels_last)
            with mixed(device):
                *logits, face = network(batch)
            loss = FACE * F.binary_cross_entropy_with_logits(face[:, 0].float(), faces[rows])
            for name, values in zip(ATTRIBUTES, logits, strict=True):
                known = targets[name][rows] >= 0
                if bool(known.any()):
                    codes = targets[name][rows][known]
                    losses = -(soft[name][codes] * F.log_softmax(values[known].float(), dim=1)).sum(dim=1)
                    loss = loss + points[name] * weights[name](losses, codes, faces[rows][known])
            descend(optimiser, loss, clip=2.0)
            if done < steps - 1:
                schedule.step()
            done += 1
            follow(average, network, min(AVERAGE, (1 + done) / (10 + done)))
        step()
    final = Shared(chosen.answer_size, chosen.maps, chosen.dropout)
    learned = {name: value for name, value in average.state_dict().items() if not name.startswith("fixed.")}
    final.load_state_dict(final.state_dict() | learned)
    card = EntryCard(
        name="better",
        kind="supervised",
        description=f"one shared backbone at {chosen.answer_size} pixels, colours read where the network looks, "
        "class-balanced and disparity-aware loss; non-faces are learned from the randomness of their labels and get "
        "uniform random classes drawn from their content",
        networks=(EntryNetwork(file="better.onnx", size=chosen.answer_size, outputs=(*ATTRIBUTES, "face")),),
        face_output="face",
        face_threshold=0.0,
        training={"settings": asdict(chosen)},
    )
    return card, [final]
