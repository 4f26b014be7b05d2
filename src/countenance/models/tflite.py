"""TFLite networks behind the interface of an onnxruntime session, so that the same declarations serve both.

TF.js graphs (`model.json` with weights beside it) are not read: they use some 200 operations, which our own interpreter
would have to compute; `tensorflowjs_converter` or ultralytics' export turn them into TFLite or ONNX.
"""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from countenance.errors import ModelError


def open_tflite(path: Path, threads: int | None = None) -> "TfliteSession":
    """A TFLite network, opened by the interpreter that is installed (`pip install ai-edge-litert`)."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        raise ModelError(f"{path}: a TFLite network needs its interpreter: pip install ai-edge-litert") from None
    try:
        return TfliteSession(Interpreter(model_path=str(path), num_threads=threads or None))
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"{path}: cannot be opened ({str(error).splitlines()[0]})") from error


class TfliteSession:
    """Runs a network; numbers of 8 bits are converted with the scale and the zero point that the file states."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        interpreter.allocate_tensors()
        self.input, self.returned = interpreter.get_input_details()[0], interpreter.get_output_details()

    def get_inputs(self) -> list[Any]:
        """The network's one input, by name and shape."""
        return [SimpleNamespace(name=self.input["name"], shape=[int(side) for side in self.input["shape"]])]

    def get_outputs(self) -> list[Any]:
        """The network's outputs, by name and shape."""
        return [SimpleNamespace(name=item["name"], shape=[int(n) for n in item["shape"]]) for item in self.returned]

    def get_modelmeta(self) -> Any:
        """Empty metadata: what ultralytics appends to a TFLite file is not part of the network."""
        return SimpleNamespace(custom_metadata_map={})

    def run(self, names: None, inputs: Mapping[str, Any]) -> list[Any]:
        """The outputs for an input."""
        self.interpreter.set_tensor(self.input["index"], quantised(inputs[self.input["name"]], self.input))
        self.interpreter.invoke()
        return [real_numbers(self.interpreter.get_tensor(item["index"]), item) for item in self.returned]


def quantised(values: Any, tensor: Mapping[str, Any]) -> Any:
    """Numbers in the type of a tensor.

    >>> quantised(np.array([0.0, 1.0]), {"dtype": np.uint8, "quantization": (0.5, 10)})
    array([10, 12], dtype=uint8)
    """
    scale, zero = tensor["quantization"]
    if not scale:
        return np.asarray(values, tensor["dtype"])
    limits = np.iinfo(tensor["dtype"])
    return np.clip(np.round(np.asarray(values) / scale + zero), limits.min, limits.max).astype(tensor["dtype"])


def real_numbers(values: Any, tensor: Mapping[str, Any]) -> Any:
    """The real numbers that a quantised tensor stands for; other tensors are unchanged.

    >>> real_numbers(np.array([10, 12], np.uint8), {"quantization": (0.5, 10)})
    array([0., 1.])
    """
    scale, zero = tensor["quantization"]
    return (values.astype(np.float64) - zero) * scale if scale else values
