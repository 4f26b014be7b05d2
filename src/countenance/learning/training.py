"""Shared by every training of a network: checks, one loop, batches, varied pictures, a record of what was used.

Needs the extra `torch`, which loads when a training begins.
"""

import platform
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

import numpy as np

from countenance.errors import InputError, MissingExtra, optional

Tensor = Any


def need_torch(what: str = "training a network", *packages: str) -> Any:
    """PyTorch, or one line that says how to install it and the other packages that are needed."""
    for package in packages:
        if find_spec(package) is None:
            raise MissingExtra(f"{what} ({package} is missing)", "torch")
    return optional("torch", what, "torch")


def training_device(device: str = "auto") -> str:
    """The device to train on; `auto` takes a GPU where there is one, and one that is not there is refused.

    >>> training_device("tpu")
    Traceback (most recent call last):
    countenance.errors.InputError: device 'tpu' is not known; there are cpu, cuda
    """
    if device == "cpu":
        return device
    if device != "auto" and device.partition(":")[0] != "cuda":
        raise InputError(f"device {device!r} is not known; there are cpu, cuda")
    available = need_torch().cuda.is_available()
    if device == "auto":
        return "cuda" if available else "cpu"
    if not available:
        raise InputError(f'device {device!r} is not available here; take device="cpu"')
    return device


def what_was_used(device: str) -> dict[str, Any]:
    """The record with which a training can be repeated: device, threads and versions."""
    torch = need_torch()
    return {
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else "CPU",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def descend(optimiser: Any, loss: Tensor, clip: float | None = None) -> None:
    """One step down a loss; with `clip`, gradients of a larger norm are scaled to it."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if clip is not None:
        weights = [weight for group in optimiser.param_groups for weight in group["params"]]
        need_torch().nn.utils.clip_grad_norm_(weights, clip)
    optimiser.step()


def minimise(optimiser: Any, steps: int, loss: Callable[[float], Tensor], rise: float = 0.0) -> None:
    """Minimise a loss, which is called with the finished share of the time; the learning rate falls like a cosine.

    `rise` is the share of the time in which the rate grows from 0 to the optimiser's.
    """
    rate = optimiser.param_groups[0]["lr"]
    for step in range(steps):
        grown = min(1.0, (step + 1) / (rise * steps)) if rise else 1.0
        optimiser.param_groups[0]["lr"] = rate * grown * 0.5 * (1 + np.cos(np.pi * step / steps))
        descend(optimiser, loss(step / steps))


def mixed(device: str) -> Any:
    """Mixed precision while training on a GPU; full precision on a CPU.

    Some virtual machines announce a processor's bfloat16 matrix unit and stop a program that uses it. Without that unit
    bfloat16 is no faster on a CPU.
    """
    torch = need_torch()
    return torch.autocast("cuda", torch.bfloat16) if device.startswith("cuda") else nullcontext()


def batches(count: int, size: int, generator: Any, device: str) -> list[Tensor]:
    """Shuffled rows in batches; a last one of a single row is left out (it has no variance to normalise by)."""
    order = need_torch().randperm(count, generator=generator, device=device)
    return [part for part in order.split(size) if len(part) > 1]


def follow(average: Any, network: Any, keep: float) -> None:
    """Move an averaged network towards the trained one; counters of batches stay as they are."""
    torch = need_torch()
    with torch.no_grad():
        own, new = list(average.state_dict().values()), list(network.state_dict().values())
        moving = [i for i, value in enumerate(own) if value.dtype.is_floating_point]
        torch._foreach_lerp_([own[i] for i in moving], [new[i] for i in moving], 1 - keep)
