"""The training loop that the network methods share: one backbone, two linear heads, a loss on unlabelled photos."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from countenance.suites.happyfaces.interface import Floats, Labels, Pictures
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.backbone import efficientnet_lite0, efficientnet_weights, small_resnet

UnlabelledLoss = Callable[[Any, float, Any], Any]
"""Logits of some unlabelled photos (photos × 2), the share of training done (0 to 1) and their rows, to a scalar."""

SHIFT = 6
"""Photos are moved by up to this many pixels while training."""


@dataclass(frozen=True)
class Settings:
    """How to train. The unlabelled loss has `weight`; everything is chosen without a single validation label."""

    weight: float = 1.0
    rate: float = 1e-3
    backbone_rate: float = 3e-4
    steps: int = 200
    size: int = 112
    labelled_batch: int = 48
    unlabelled_batch: int = 96
    decay: float = 1e-2
    backbone: str = "auto"
    device: str = "auto"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for records."""
        return asdict(self)

    def but(self, **changes: Any) -> "Settings":
        """The same settings but for some."""
        return replace(self, **changes)


def device_of(settings: Settings) -> str:
    """The device to train on."""
    torch = need_torch()
    if settings.device != "auto":
        return settings.device
    return "cuda" if torch.cuda.is_available() else "cpu"


def to_tensor(pictures: Pictures, settings: Settings) -> Any:
    """Photos as a tensor of bytes on the device, photos × 3 × size × size."""
    torch = need_torch()
    tensor = torch.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2)
    side = (settings.size, settings.size)
    if tuple(tensor.shape[2:]) == side:
        return tensor.contiguous().to(device_of(settings))
    small = torch.nn.functional.interpolate(
        tensor.float(), size=side, mode="bilinear", antialias=True, align_corners=False
    )
    return small.round().clamp(0, 255).to(torch.uint8).to(device_of(settings))


class Network:
    """A backbone with two linear heads, kept on its device."""

    def __init__(self, settings: Settings, seed: int) -> None:
        torch = need_torch()
        self.torch, self.settings, self.device = torch, settings, device_of(settings)
        torch.manual_seed(seed)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        weights = efficientnet_weights() if settings.backbone in ("auto", "efficientnet") else None
        pretrained = weights is not None or settings.backbone == "efficientnet"
        self.name = "efficientnet-lite0" if pretrained else "small-resnet"
        self.body = (efficientnet_lite0(weights) if pretrained else small_resnet()).to(self.device)
        self.body = self.body.to(memory_format=torch.channels_last)
        self.body.eval()  # ImageNet's batch statistics are kept: batches here are small and come from two sets
        self.heads = torch.nn.Linear(self.body.channels, 2).to(self.device)

    def logits(self, pixels: Any) -> Any:
        """Photos × 2 logits of a tensor of bytes."""
        torch = self.torch
        x = pixels.to(memory_format=torch.channels_last).float().sub(127.0).div(128.0)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            features = self.body(x)
        return self.heads(features.float().mean((2, 3)))

    def train(self, labelled: Any, labels: Any, unlabelled: Any, loss: UnlabelledLoss | None) -> "Network":
        """Cross-entropy of both heads on labelled photos, plus the weighted loss on unlabelled ones."""
        torch, s = self.torch, self.settings
        groups = [
            {"params": list(self.body.parameters()), "lr": s.backbone_rate if self.name != "small-resnet" else s.rate},
            {"params": list(self.heads.parameters()), "lr": s.rate},
        ]
        optimiser = torch.optim.AdamW(groups, weight_decay=s.decay)
        tops = [group["lr"] for group in optimiser.param_groups]
        target = labels.float()[:, None].expand(-1, 2)
        for step in range(s.steps):
            done = step / s.steps
            for group, top in zip(optimiser.param_groups, tops, strict=True):
                group["lr"] = top * min(1.0, 10 * (done + 1 / s.steps)) * 0.5 * (1 + np.cos(np.pi * done))
            rows = self._some(len(labelled), s.labelled_batch)
            batch = labelled[rows]
            others = self._some(len(unlabelled), s.unlabelled_batch)
            if loss is not None:
                batch = torch.cat([batch, unlabelled[others]])
            logits = self.logits(self._varied(batch))
            known = torch.nn.functional.binary_cross_entropy_with_logits(logits[: len(rows)], target[rows])
            total = known if loss is None else known + s.weight * loss(logits[len(rows) :], done, others)
            optimiser.zero_grad(set_to_none=True)
            total.backward()
            optimiser.step()
        return self

    def _some(self, n: int, size: int) -> Any:
        return self.torch.randperm(n, generator=self.generator, device=self.device)[: min(size, n)]

    def _varied(self, batch: Any) -> Any:
        """Mirrored or not, and moved, both at random; all photos of a batch by the same amount, for speed."""
        torch = self.torch
        down, right = (int(v) for v in torch.randint(-SHIFT, SHIFT + 1, (2,)))
        flip = torch.rand(len(batch), generator=self.generator, device=self.device) < 0.5
        batch = torch.where(flip[:, None, None, None], batch.flip(3), batch)
        return torch.roll(batch, (down, right), (2, 3))

    def predict(self, pictures: Pictures) -> Floats:
        """Photos × 2 probabilities, averaged over photo and mirror image."""
        return self.predict_tensor(to_tensor(pictures, self.settings))

    def predict_tensor(self, pixels: Any) -> Floats:
        """The same for a tensor of bytes."""
        torch = self.torch
        out = []
        with torch.no_grad():
            for i in range(0, len(pixels), 250):
                part = pixels[i : i + 250]
                out.append((self.logits(part).sigmoid() + self.logits(part.flip(3)).sigmoid()) / 2)
        return np.asarray(torch.cat(out).double().cpu().numpy())


def train_network(
    labelled: Pictures | Any,
    labels: Labels,
    unlabelled: Pictures | Any,
    loss: UnlabelledLoss | None,
    settings: Settings,
    seed: int,
) -> Network:
    """Train two heads on arrays of photos, or on tensors that `to_tensor` made before."""
    torch = need_torch()
    known, others = (
        value if isinstance(value, torch.Tensor) else to_tensor(value, settings) for value in (labelled, unlabelled)
    )
    target = torch.as_tensor(np.asarray(labels), device=device_of(settings))
    return Network(settings, seed).train(known, target, others, loss)
