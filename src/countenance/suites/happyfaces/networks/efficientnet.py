"""The trunk of the network methods: EfficientNet-Lite0 where its weights are there."""

from functools import lru_cache
from typing import Any

from countenance.data.picture_cache import PictureCache
from countenance.learning.efficientnet import efficientnet_weights, pretrained_network, shrunk
from countenance.learning.training import need_torch, training_device
from countenance.suites.happyfaces.interface import Pictures
from countenance.suites.happyfaces.networks.training import NetworkSettings

_BATCH = {"cpu": 4}
"""Photos at once; on a CPU few, because larger arrays are handed back to the system after every layer."""


class Trunk:
    """Photos to maps of photo and mirror image, photos × 2 × channels × height × width, about 60 kB a photo."""

    name = "efficientnet-lite0"

    def __init__(self, blocks: int, size: int, device: str) -> None:
        self.torch, self.blocks, self.size, self.device = need_torch(), blocks, size, device
        self.form = {"memory_format": self.torch.channels_last}
        self.network = pretrained_network("a pretrained network", device, **self.form)
        self._maps = PictureCache(self._compute, _BATCH.get(device, 250))

    def __call__(self, pictures: Pictures) -> Any:
        return self.torch.stack(self._maps(pictures)).float()

    def _compute(self, pictures: Pictures) -> Any:
        with self.torch.no_grad():
            x = shrunk(pictures, self.size).to(self.device, **self.form)
            return self.torch.stack([self.network(side, self.blocks)[0] for side in (x, x.flip(3))], 1).half()


trunk_of = lru_cache(maxsize=2)(Trunk)
"""One trunk for the whole program."""


def trunk_for(settings: NetworkSettings) -> Trunk | None:
    """The pretrained trunk that the settings ask for; None where they lead to the small ResNet."""
    if settings.backbone == "resnet" or (settings.backbone == "auto" and efficientnet_weights() is None):
        return None
    return trunk_of(settings.blocks, settings.size, training_device(settings.device))
