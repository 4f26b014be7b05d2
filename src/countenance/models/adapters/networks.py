"""Shared by adapters of torch modules: a hash of their parameters, and calls with pictures."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from countenance.models.adapters.base import Classifier, Pixels, each
from countenance.models.model import Images


def torch_content(module: Any) -> str:
    """A hash of the class and the parameters of a torch module."""
    import torch

    digest = hashlib.sha256(type(module).__qualname__.encode())
    for name, value in sorted(module.state_dict().items()):
        if isinstance(value, torch.Tensor):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def outputs(module: Any, images: Sequence[Pixels]) -> Any:
    """The outputs of a module for a list of pictures as tensors (colours × height × width, 0 to 1)."""
    import torch

    kind = next(module.parameters())
    with torch.inference_mode():
        pictures = [torch.from_numpy(np.ascontiguousarray(image)).to(kind.device) for image in images]
        return module([picture.permute(2, 0, 1).to(kind.dtype) / 255 for picture in pictures])


def vector(module: Any, transform: Callable[[Any], Any], image: Pixels, call: Callable[[Any], Any]) -> Any:
    """The numbers that `call` gives for one picture as the transform prepares it."""
    import torch

    kind = next(module.parameters())
    with torch.inference_mode():
        batch = transform(Image.fromarray(image)).unsqueeze(0).to(kind.device, kind.dtype)
        return call(batch)[0].float().cpu().numpy()


def classifier(module: Any, transform: Callable[[Any], Any], classes: Classifier) -> Callable[[Images], list[Any]]:
    """A module that gives a logit for each class, as a model that names the class."""

    def predict(image: Pixels) -> Any:
        return classes.labels(softmax(vector(module, transform, image, module)))

    return each(predict)


def softmax(logits: Any) -> NDArray[np.float64]:
    """The softmax of logits: shares with the sum 1.

    >>> softmax([0.0, 0.0])
    array([0.5, 0.5])
    """
    values = np.asarray(logits, dtype=np.float64)
    shares = np.exp(values - values.max())
    return np.asarray(shares / shares.sum())
