"""Unsupervised: fixed features, clusters found without labels, clusters named by a few labelled prototypes.

No parameter of the network is fitted to a label. Labels are used once, to name the clusters by a few pictures of each
class, which the card and the leaderboard state. The challenge says that about a fifth of the pictures are not faces;
the fifth that is least like the bulk of the pictures (Mahalanobis distance, mean and covariance of the other four
fifths) is treated as non-faces.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES
from countenance.suites.bias_bounty.entry import EntryCard, EntryNetwork
from countenance.suites.bias_bounty.training import EntryTraining
from countenance.suites.bias_bounty.training.fixed_features import SIZE, Features, k_means, principal, trimmed_whitening
from countenance.suites.bias_bounty.training.images import TrainImages

PROTOTYPES = 8
"""Labelled pictures of each class that name the clusters."""
CLUSTERS = 96
NONFACES = 0.2
EDGES = 40
"""Components of the edge directions that measure how unusual a picture is."""

Tensor = Any


class Clusters(nn.Module):  # type: ignore[misc]
    """The network: classes from the distances to named centres, and how typical the picture is."""

    def __init__(self, parts: dict[str, Tensor]) -> None:
        super().__init__()
        self.features = Features()
        for name, value in parts.items():
            self.register_buffer(name, value)

    def spaces(self, images: Tensor) -> dict[str, Tensor]:
        """The space of each attribute's clusters, and the space in which typical pictures are recognised."""
        skin, around, shape = self.features(images)
        reduced = (around - self.around_mean) @ self.around_axes
        edges = (shape - self.shape_mean) @ self.shape_axes
        usual = torch.cat([skin, around, (shape - self.shape_mean) @ self.edge_axes], dim=1)
        return {"skin_tone": skin, "age": around, "gender": torch.cat([reduced, edges], dim=1), "face": usual}

    def squares(self, name: str, values: Tensor) -> Tensor:
        centres = getattr(self, f"{name}_centres")
        return ((values**2).sum(1, keepdim=True) - 2 * values @ centres.T + (centres**2).sum(1)).clamp(min=0)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        spaces = self.spaces(images)
        logits = []
        for name in ATTRIBUTES:
            squares = self.squares(name, spaces[name])
            shares = torch.softmax(-squares / getattr(self, f"{name}_width"), dim=1)
            logits.append(torch.log(shares @ getattr(self, f"{name}_names") + 1e-6))
        away = (spaces["face"] - self.face_centre) @ self.face_whitening
        return (*logits, -away.norm(dim=1, keepdim=True))


def name_clusters(values: Tensor, centres: Tensor, codes: Tensor, classes: int, generator: Any) -> Tensor:
    """For each centre the shares of the classes, from the prototypes, by their distance to the centre."""
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
def train(images: TrainImages, how: EntryTraining, step: Any) -> tuple[EntryCard, list[Any]]:
    """Cluster and name; the entry's card, and its network."""
    device = how.device
    pixels, targets = images.tensor(SIZE, device).float(), images.targets(device)
    generator = torch.Generator(device).manual_seed(how.seed)
    _, around, shape = Features().to(device)(pixels)
    parts: dict[str, Tensor] = {}
    parts["around_mean"], parts["around_axes"] = principal(around, 10)
    parts["shape_mean"], parts["edge_axes"] = principal(shape, EDGES)
    parts["shape_axes"] = parts["edge_axes"][:, :12].clone()
    spaces = Clusters(parts).to(device).spaces(pixels)
    usual = spaces.pop("face")
    parts["face_centre"], parts["face_whitening"] = trimmed_whitening(usual, 1 - NONFACES)
    nearness = -((usual - parts["face_centre"]) @ parts["face_whitening"]).norm(dim=1)
    threshold = float(torch.quantile(nearness, NONFACES))
    faces = nearness >= threshold
    for name, everything in spaces.items():
        values, codes = everything[faces], targets[name][faces]
        centres = k_means(values, CLUSTERS, generator)
        width = (0.7 * (torch.cdist(values, centres).amin(dim=1) ** 2).mean()).clamp(min=1e-3)
        names = name_clusters(values, centres, codes, len(CLASSES[name]), generator)
        parts |= {f"{name}_centres": centres, f"{name}_width": width, f"{name}_names": names}
    network = Clusters(parts).to(device).eval()
    step(how.epochs)
    card = EntryCard(
        name="unsupervised",
        kind="unsupervised",
        description="fixed colour and edge features, k-means without labels, clusters named by labelled prototypes; "
        "the fifth least like the bulk of the pictures is taken for non-faces",
        labels_used=f"{PROTOTYPES} labelled pictures of each class name the clusters",
        networks=(EntryNetwork(file="unsupervised.onnx", size=SIZE, outputs=(*ATTRIBUTES, "face")),),
        face_output="face",
        face_threshold=threshold,
    )
    return card, [network]
