"""Unsupervised: fixed features, clusters found without labels, clusters named by a few labelled prototypes.

No number of the network is fitted to a label. Labels serve once, to give a cluster its name: a handful of pictures
of each class, as a person would look at some pictures and write down a word. The challenge says that about a fifth
of the pictures are not faces; the fifth farthest from every cluster is taken for them.
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from countenance.suites.bias_bounty.entry import EntryCard, Network
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES
from countenance.suites.bias_bounty.training.colours import AROUND, FIELD, Colours
from countenance.suites.bias_bounty.training.export import export
from countenance.suites.bias_bounty.training.images import TrainImages

SIZE = FIELD
PROTOTYPES = 8
"""Labelled pictures of each class that name the clusters."""
CLUSTERS = 96
NONFACES = 0.2
FACE_SPACE, NEAREST = "skin_tone", 3
"""A picture whose middle has the colours of no skin is far from its nearest clusters of skin."""

Tensor = Any


class Features(nn.Module):  # type: ignore[misc]
    """For each attribute a space: colours of skin, colours around the head, and these with edge directions."""

    def __init__(self) -> None:
        super().__init__()
        self.colours = Colours()
        across = torch.tensor([[-1.0, 0.0, 1.0]]) / 2
        self.register_buffer("across", across.reshape(1, 1, 1, 3))
        self.register_buffer("down", across.reshape(1, 1, 3, 1))
        angles = torch.arange(8) * torch.pi / 8
        self.register_buffer("directions", torch.stack([torch.cos(angles), torch.sin(angles)], 1).reshape(8, 2, 1, 1))
        # Chroma tells tones apart, brightness mostly tells the light.
        self.register_buffer("skin_scale", torch.tensor([2.0, 2.0, 1.0, 1.0, 0.5, 0.0]))
        self.register_buffer("around_scale", torch.tensor([1.0, 1.0, 0.7]).repeat(AROUND // 3))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        linear = (images / 255) ** 2.2
        skin, around = self.colours(linear)
        grey = torch.log(linear.mean(dim=1, keepdim=True) + 0.01)
        edges = torch.cat(
            [F.conv2d(F.pad(grey, (1, 1, 0, 0)), self.across), F.conv2d(F.pad(grey, (0, 0, 1, 1)), self.down)], 1
        )
        strength = F.conv2d(edges, self.directions).abs()
        cells = F.avg_pool2d(strength, 8)
        shape = torch.sqrt(cells / (cells.mean(dim=(1, 2, 3), keepdim=True) + 1e-4))
        return skin * self.skin_scale, around * self.around_scale, shape.flatten(1)


class Clusters(nn.Module):  # type: ignore[misc]
    """Distances to centres, and the class that each centre was named after."""

    def __init__(self, axes: dict[str, Tensor], spaces: dict[str, dict[str, Tensor]]) -> None:
        super().__init__()
        self.features = Features()
        for part, value in axes.items():
            self.register_buffer(part, value)
        for name, parts in spaces.items():
            for part, value in parts.items():
                self.register_buffer(f"{name}_{part}", value)

    def spaces(self, images: Tensor) -> dict[str, Tensor]:
        """The space in which each attribute's clusters lie."""
        skin, around, shape = self.features(images)
        reduced = (around - self.around_mean) @ self.around_axes
        edges = (shape - self.shape_mean) @ self.shape_axes
        return {"skin_tone": skin, "age": around, "gender": torch.cat([reduced, edges], dim=1)}

    def squares(self, name: str, values: Tensor) -> Tensor:
        centres = getattr(self, f"{name}_centres")
        return ((values**2).sum(1, keepdim=True) - 2 * values @ centres.T + (centres**2).sum(1)).clamp(min=0)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        spaces = self.spaces(images)
        squares = {name: self.squares(name, spaces[name]) for name in ATTRIBUTES}
        logits = []
        for name in ATTRIBUTES:
            shares = torch.softmax(-squares[name] / getattr(self, f"{name}_width"), dim=1)
            logits.append(torch.log(shares @ getattr(self, f"{name}_names") + 1e-6))
        nearest = torch.topk(squares[FACE_SPACE], NEAREST, dim=1, largest=False).values
        return (*logits, -nearest.sqrt().mean(dim=1, keepdim=True))


def principal(values: Tensor, components: int) -> tuple[Tensor, Tensor]:
    """The mean and whitened leading axes."""
    mean = values.mean(dim=0)
    _, spread, axes = torch.linalg.svd(values - mean, full_matrices=False)
    keep = min(components, len(spread))
    # Half-whitened: small components count for more than their size and for less than the large ones.
    return mean, axes[:keep].T / (spread[:keep] / len(values) ** 0.5).clamp(min=1e-6).sqrt()


def k_means(values: Tensor, clusters: int, generator: Any, rounds: int = 50) -> Tensor:
    """Centres by k-means++ and Lloyd's rounds."""
    clusters = min(clusters, len(values))
    centres = values[torch.randint(len(values), (1,), generator=generator, device=values.device)]
    while len(centres) < clusters:
        nearest = torch.cdist(values, centres).amin(dim=1) ** 2 + 1e-12
        centres = torch.cat([centres, values[torch.multinomial(nearest, 1, generator=generator)]])
    for _ in range(rounds):
        owner = torch.cdist(values, centres).argmin(dim=1)
        member = F.one_hot(owner, clusters).to(values.dtype)
        size = member.sum(dim=0)
        centres = torch.where((size > 0)[:, None], (member.T @ values) / size.clamp(min=1)[:, None], centres)
    return centres


def name_clusters(values: Tensor, centres: Tensor, codes: Tensor, classes: int, generator: Any) -> Tensor:
    """For each centre, a share of each class: from the prototypes, by their nearness to the centre."""
    chosen = []
    for code in range(classes):
        rows = torch.nonzero(codes == code)[:, 0]
        chosen.append(rows[torch.randperm(len(rows), generator=generator, device=rows.device)[:PROTOTYPES]])
    rows = torch.cat(chosen)
    squares = torch.cdist(centres, values[rows]) ** 2
    nearness = torch.softmax(-squares / (0.7 * squares.amin(dim=1).mean()).clamp(min=1e-6), dim=1)
    shares = nearness @ F.one_hot(codes[rows], classes).to(values.dtype)
    return shares / shares.sum(dim=1, keepdim=True)


@torch.no_grad()  # type: ignore[untyped-decorator]
def train(images: TrainImages, out: Path, *, device: str, epochs: int, seed: int, step: Any) -> EntryCard:
    """Cluster, name and export; the card says what was made."""
    pixels, targets = images.tensor(SIZE, device).float(), images.targets(device)
    generator = torch.Generator(device).manual_seed(seed)
    _, around, shape = Features().to(device)(pixels)
    axes: dict[str, Tensor] = {}
    axes["around_mean"], axes["around_axes"] = principal(around, 10)
    axes["shape_mean"], axes["shape_axes"] = principal(shape, 12)
    named: dict[str, dict[str, Tensor]] = {}
    for name, values in Clusters(axes, {}).to(device).spaces(pixels).items():
        centres = k_means(values, CLUSTERS, generator)
        width = 0.7 * (torch.cdist(values, centres).amin(dim=1) ** 2).mean()
        names = name_clusters(values, centres, targets[name], len(CLASSES[name]), generator)
        named[name] = {"centres": centres, "width": width, "names": names}
    network = Clusters(axes, named).to(device).eval()
    nearness = network(pixels)[-1][:, 0]
    step(epochs)
    threshold = float(torch.quantile(nearness, NONFACES))
    export(network, out / "unsupervised.onnx", size=SIZE, outputs=(*ATTRIBUTES, "face"))
    return EntryCard(
        name="unsupervised",
        kind="unsupervised",
        description=f"fixed colour and edge features, k-means without labels, clusters named by {PROTOTYPES} "
        "labelled prototypes of each class; the fifth farthest from every cluster is taken for non-faces",
        networks=(Network(file="unsupervised.onnx", size=SIZE, outputs=(*ATTRIBUTES, "face")),),
        face_output="face",
        face_threshold=threshold,
    )
