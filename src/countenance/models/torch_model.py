"""Torch modules in TorchScript files, or any module from your code. Untrusted files are never unpickled."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.errors import MissingExtra, ModelError
from countenance.models.inputs import InputSpec, Prepared
from countenance.models.model import Images


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
        raise ModelError(f"{weights}: no such file") from None
    except Exception as error:
        first = str(error).splitlines()[0]
        raise ModelError(f"{weights}: not a file of plain tensors, and nothing else is loaded ({first})") from error
    if isinstance(state, dict):
        state = next((state[name] for name in ("state_dict", "model") if isinstance(state.get(name), dict)), state)
    try:
        module.load_state_dict(state, assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise ModelError(f"{weights}: does not fit the module ({str(error).splitlines()[0]})") from error
    return module.eval().to(device)


class TorchModel:
    """A torch module with declared pre-processing; `answer` turns one image's output into an answer.

    `answer(output, scale, offset)` gets the module's output for one image, and scale and offset such that
    input position = picture position × scale + offset. The input has the type of the module's numbers (half precision
    for a module that was given `.half()`).

    On a GPU a batch is begun and finished in two calls, so that the next one starts while this one runs.

    Batches of fewer than `batch` images (the last of a shard) are filled up with zeros, so that a network that is
    compiled or tuned for one shape is not compiled or tuned again for others. A single image is not filled up: it may
    be one of a batch that was too much for the GPU. A worker on a GPU takes the batch of its run where none is given.
    """

    leaves_input = True
    """It does not change the batch that it receives."""

    def __init__(self, module: Any, spec: InputSpec, answer: Any, device: str = "cpu", batch: int = 1) -> None:
        self.torch, self.batch = import_torch(), batch
        self.module, self.input, self.answer, self.device = module.eval().to(device), spec, answer, device
        kinds = [value.dtype for value in self.module.parameters() if value.is_floating_point()]
        self.kind = kinds[0] if kinds else self.torch.float32
        numbers = (spec.mean, (spec.scale,), spec.std)
        self.mean, self.scale, self.std = (self.torch.tensor(n, dtype=self.torch.float32) for n in numbers)
        if device != "cpu":
            self.mean, self.scale, self.std = (value.to(device) for value in (self.mean, self.scale, self.std))

    def __call__(self, images: Images) -> list[Any]:
        return self.finish(self.begin(Prepared.of(images, self.input)))

    def begin(self, batch: Prepared) -> Any:
        """Start the network on a batch; on a GPU this returns before the answer is there."""
        with self.torch.inference_mode():
            outputs = _to_host(self.module(self._normalised(batch.pixels)))
        done = None
        if self.device.startswith("cuda"):
            done = self.torch.cuda.Event(blocking=True)  # block while waiting, so that no core is busy
            done.record()
        return outputs, batch, done

    def finish(self, begun: Any) -> list[Any]:
        """The answers for a batch that was begun."""
        outputs, batch, done = begun
        if done is not None:
            done.synchronize()
        outputs = _as_numpy(outputs)
        return [self.answer(_item(outputs, i), batch.scale[i], batch.offset[i]) for i in range(len(batch))]

    def _normalised(self, pixels: Any) -> Any:
        """The same numbers as `inputs.normalised`, computed where the network runs, in few passes over the memory."""
        torch = self.torch
        small = torch.from_numpy(pixels) if isinstance(pixels, np.ndarray) else pixels
        small = small.to(self.device, non_blocking=True)
        if self.input.colour == "BGR":
            small = small.flip(-1)
        values = torch.sub(small, self.mean)  # uint8 minus float32 is float32
        if self.input.scale != 1:
            values.mul_(self.scale)
        n, height, width, colours = values.shape
        planar, images = self.input.layout == "NCHW", max(n, self.batch) if n > 1 else n
        shape = (images, colours, height, width) if planar else (images, height, width, colours)
        output = torch.empty(shape, dtype=self.kind, device=self.device)
        output[n:] = 0
        torch.div(values, self.std, out=output[:n].permute(0, 2, 3, 1) if planar else output[:n])
        return output


def _to_host(outputs: Any) -> Any:
    """The same outputs in the processor's memory; from a GPU the copy may still run when this returns."""
    if isinstance(outputs, dict):
        return {name: _to_host(value) for name, value in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return [_to_host(value) for value in outputs]
    return outputs.detach().to("cpu", non_blocking=True)


def _as_numpy(outputs: Any) -> Any:
    if isinstance(outputs, dict):
        return {name: _as_numpy(value) for name, value in outputs.items()}
    return [_as_numpy(value) for value in outputs] if isinstance(outputs, list) else outputs.numpy()


def _item(outputs: Any, i: int) -> Any:
    """The i-th image's share of a batch's output."""
    if isinstance(outputs, dict):
        return {name: _item(value, i) for name, value in outputs.items()}
    return [_item(value, i) for value in outputs] if isinstance(outputs, list) else outputs[i]
