"""From torch to ONNX: one file, weights inside; checked against torch before it counts."""

import contextlib
import io
import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countenance.models.onnx import open_session


@dataclass(frozen=True)
class Exported:
    """The inputs and outputs of a file: an input of N × 3 × size × size, RGB, and named outputs."""

    size: int
    outputs: Sequence[str]
    input: str = "images"
    highest: float = 255.0
    """The largest value of the input; the smallest is 0."""
    any_side: bool = False
    """One picture of any height and width that the network can take, instead of any number of pictures of one size."""


def export_onnx(network: Any, path: Path, form: Exported) -> None:
    """Write a module that gives a tensor or a tuple of tensors, as many as there are outputs.

    RuntimeError where onnxruntime computes other numbers than torch. The file holds no path of this machine.
    """
    import torch

    network = network.cpu().to(memory_format=torch.contiguous_format).eval()
    numbers, sides = ((1, 1), (1, 2)) if form.any_side else ((2, 3), (1, 1))
    example, probe = (
        torch.rand(n, 3, form.size, form.size * side, generator=torch.Generator().manual_seed(seed)) * form.highest
        for seed, (n, side) in enumerate(zip(numbers, sides, strict=True))
    )
    shapes: dict[str, Any] = {"dynamo": True, "external_data": False, "verbose": False}
    if form.any_side:  # the newer exporter fixes the sides of a network that resizes its maps
        every = {form.input: {2: "height", 3: "width"}} | {name: {2: "rows", 3: "columns"} for name in form.outputs}
        shapes = {"dynamo": False, "opset_version": 17, "dynamic_axes": every}
    else:
        shapes["dynamic_shapes"] = ({0: torch.export.Dim("batch", min=1, max=4096)},)
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        # The exporter prints internal details; the exported network is checked below.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            names = {"input_names": [form.input], "output_names": list(form.outputs)}
            torch.onnx.export(network, (example,), str(path), **names, **shapes)
    finally:
        log.setLevel(before)
    _without_traces(path)
    with torch.no_grad():
        expected = network(probe)
    outputs = open_session(path, threads=1).run(list(form.outputs), {form.input: probe.numpy()})
    each = expected if isinstance(expected, tuple) else (expected,)
    for name, ours, theirs in zip(form.outputs, outputs, each, strict=True):
        # The two round differently, which changes the class only if scores are as close as this.
        if not np.allclose(ours, theirs.numpy(), rtol=1e-2, atol=1e-2):
            gap = np.abs(ours - theirs.numpy()).max()
            raise RuntimeError(f"{path}: output {name!r} differs from torch's by {gap:g}")


def _without_traces(path: Path) -> None:
    """Remove the exporter's notes, which hold the path of each line of code on this machine."""
    import onnx

    model = onnx.load(path)
    graphs = [model.graph, *model.functions]
    nodes = [node for graph in graphs for node in graph.node]
    values = (*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer)
    for part in (model, *graphs, *nodes, *values):
        part.ClearField("doc_string")
        if hasattr(part, "metadata_props"):
            del part.metadata_props[:]
    onnx.save(model, path)
