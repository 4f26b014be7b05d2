"""The trunk: a pretrained network's middle, frozen, whose feature maps keep their places.

Maps are kept by the photo's hash, so that the runs of a sweep share the work.
"""

import hashlib
from collections import OrderedDict
from functools import lru_cache
from typing import Any

import numpy as np

from countenance.errors import MissingExtra
from countenance.suites.happyfaces.interface import Pictures
from countenance.suites.happyfaces.networks import need_torch
from countenance.suites.happyfaces.networks.backbone import efficientnet_lite0, efficientnet_weights
from countenance.suites.happyfaces.networks.settings import NetworkSettings, device_of

REMEMBERED = 1500
"""Photos whose maps are kept, about 60 kB each."""
_BATCH = {"cpu": 4, "cuda": 250}
"""Photos at once; on a CPU few, because larger arrays are handed back to the system after every layer."""


def shrunk(pictures: Pictures, side: int) -> Any:
    """Photos as photos × 3 × side × side in −1 … 1, on the CPU."""
    torch = need_torch()
    tensor = torch.from_numpy(np.array(pictures)).permute(0, 3, 1, 2).float()
    if tuple(tensor.shape[2:]) != (side, side):
        tensor = torch.nn.functional.interpolate(
            tensor, size=(side, side), mode="bilinear", antialias=True, align_corners=False
        )
    return tensor.sub(127.0).div(128.0)


def fused(network: Any) -> Any:
    """The same network with each normalisation inside its convolution: a fifth less work."""
    torch = need_torch()
    pairs = (("_conv_stem", "_bn0"), ("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))
    for module in (network, *network._blocks):
        for conv, norm in pairs:
            if hasattr(module, conv):
                both = torch.nn.utils.fusion.fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm))
                setattr(module, conv, both)
                setattr(module, norm, torch.nn.Identity())
    return network


class Trunk:
    """Photos to feature maps of photo and mirror image, photos × 2 × channels × height × width."""

    name = "efficientnet-lite0"

    def __init__(self, blocks: int, size: int, device: str) -> None:
        weights = efficientnet_weights()
        if weights is None:
            raise MissingExtra("a pretrained network", "pretrained")
        self.torch, self.blocks, self.size, self.device = need_torch(), blocks, size, device
        self.network = fused(efficientnet_lite0(weights).eval()).to(device, memory_format=self.torch.channels_last)
        self._known: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(self, pictures: Pictures) -> Any:
        keys = [hashlib.blake2b(np.ascontiguousarray(p).tobytes(), digest_size=16).digest() for p in pictures]
        found = {key: self._known[key] for key in keys if key in self._known}
        new = [i for i, key in enumerate(keys) if key not in found]
        batch = _BATCH.get(self.device, 250)
        for at in range(0, len(new), batch):
            some = new[at : at + batch]
            for i, one in zip(some, self._compute(pictures[some]), strict=True):
                found[keys[i]] = self._known[keys[i]] = one
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return self.torch.stack([found[key] for key in keys]).float()

    def _compute(self, pictures: Pictures) -> Any:
        torch = self.torch
        with torch.no_grad():
            x = shrunk(pictures, self.size).to(self.device, memory_format=torch.channels_last)
            return torch.stack([self.network(side, self.blocks)[0] for side in (x, x.flip(3))], 1).half()


trunk_of = lru_cache(maxsize=2)(Trunk)
"""One trunk for the whole program."""


def pretrained(settings: NetworkSettings) -> bool:
    """Whether these settings lead to the pretrained trunk."""
    if settings.backbone == "auto":
        return efficientnet_weights() is not None
    return settings.backbone == "efficientnet"


def trunk_for(settings: NetworkSettings) -> Trunk:
    """The trunk that the settings ask for."""
    return trunk_of(settings.blocks, settings.size, device_of(settings))
