"""From torch to ONNX: one file, weights inside, any batch size; checked against torch before it counts."""

import contextlib
import io
import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countenance.models.onnx import open_session


def export_onnx(network: Any, path: Path, *, size: int, outputs: Sequence[str]) -> None:
    """Write a module that takes `images` (N × 3 × size × size, 0 to 255) and gives a tuple of outputs.

    RuntimeError where onnxruntime finds other numbers than torch. Nothing in the file tells where it was made.
    """
    import torch

    network = network.cpu().to(memory_format=torch.contiguous_format).eval()
    example, probe = (
        torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(seed)) * 255
        for seed, n in enumerate((2, 3))
    )
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        # The exporter talks about its own insides; what matters is checked below.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(
                network, (example,), str(path), input_names=["images"], output_names=list(outputs), dynamo=True,
                dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=4096)},), external_data=False, verbose=False,
            )  # fmt: skip
    finally:
        log.setLevel(before)
    _without_traces(path)
    with torch.no_grad():
        expected = network(probe)
    found = open_session(path, threads=1).run(list(outputs), {"images": probe.numpy()})
    for name, ours, theirs in zip(outputs, found, expected, strict=True):
        # Rounding differs between the two; a class changed by it would need a tie this close.
        if not np.allclose(ours, theirs.numpy(), rtol=1e-2, atol=1e-2):
            gap = np.abs(ours - theirs.numpy()).max()
            raise RuntimeError(f"{path}: output {name!r} differs from torch's by {gap:g}")


def _without_traces(path: Path) -> None:
    """Take the exporter's notes out of the file: they tell where on this machine each line of code is."""
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
