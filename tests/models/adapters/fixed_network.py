"""Networks whose answers are known beforehand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def fixed_network(
    path: Path, size: Sequence[Any], outputs: Mapping[str, Any], facts: Mapping[str, str] | None = None
) -> Path:
    """Write an ONNX file that answers constants; `facts` are its metadata."""
    onnx = pytest.importorskip("onnx")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    tensors = {name: onnx.numpy_helper.from_array(np.asarray(value, np.float32)) for name, value in outputs.items()}
    nodes = [helper.make_node("Constant", [], [name], value=tensor) for name, tensor in tensors.items()]
    values = [helper.make_tensor_value_info(name, real, tensor.dims) for name, tensor in tensors.items()]
    graph = helper.make_graph(nodes, "fixed", [helper.make_tensor_value_info("data", real, [1, 3, *size])], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, dict(facts or {}))
    onnx.save(model, path)
    return path
