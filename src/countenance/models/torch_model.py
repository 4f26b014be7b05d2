"""Torch modules in TorchScript files, or any module from your code. Untrusted files are never unpickled."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError, MissingExtra
from countenance.models.model import Images
from countenance.models.onnx import InputSpec, prepare


def import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtra("a torch model", "torch") from None
    return torch


def load_state(module: Any, weights: Path, device: str = "cpu") -> Any:
    """Load a state dict (or the one in a checkpoint) with `weights_only=True`; a file that needs more is refused."""
    torch = import_torch()
    try:
        state = torch.load(weights, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{weights}: no such file") from None
    except Exception as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{weights}: not a file of plain tensors, and nothing else is loaded ({first})") from error
    state = state.get("state_dict", state) if isinstance(state, dict) else state
    try:
        module.load_state_dict(state, assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise InputError(f"{weights}: does not fit the module ({str(error).splitlines()[0]})") from error
    return module.eval().to(device)


class TorchModel:
    """A torch module with declared pre-processing; `answer` turns one image's output into an answer.

    `answer(output, scale, offset)` gets the module's output for one image, and scale and offset such that
    input position = picture position × scale + offset.
    """

    def __init__(self, module: Any, spec: InputSpec, answer: Any, device: str = "cpu") -> None:
        self.torch = import_torch()
        self.module, self.spec, self.answer, self.device = module.eval().to(device), spec, answer, device

    def __call__(self, images: Images) -> list[Any]:
        prepared = [prepare(np.asarray(image), self.spec) for image in images]
        batch = self.torch.from_numpy(np.concatenate([pixels for pixels, _, _ in prepared])).to(self.device)
        with self.torch.inference_mode():
            outputs = self.module(batch)
        return [self.answer(_item(outputs, i), scale, offset) for i, (_, scale, offset) in enumerate(prepared)]


def _item(outputs: Any, i: int) -> Any:
    """The i-th image's share of a batch's output, as numpy."""
    if isinstance(outputs, dict):
        return {name: _item(value, i) for name, value in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return [_item(value, i) for value in outputs]
    array: NDArray[Any] = outputs[i].detach().cpu().numpy()
    return array
