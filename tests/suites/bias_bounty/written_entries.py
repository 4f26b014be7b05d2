"""Entries written by hand: small networks whose classes depend on the mean of a picture, and what they answer."""

import json
from pathlib import Path

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, predictions_text
from countenance.suites.bias_bounty.entry import BountyEntry, image_files, predict_files

SIZE = 8


def write_entry(folder: Path, shift: float = 0.0, *, endless: bool = False, floats: int = 0) -> Path:
    """An entry whose classes depend on the mean of a picture; it may loop for ever or ask for much memory."""
    from onnx import TensorProto, helper

    folder.mkdir(parents=True)
    nodes, values = [], []
    source = "images"
    if endless:
        body = helper.make_graph(
            [helper.make_node("Identity", ["on"], ["on_out"]), helper.make_node("Identity", ["x"], ["x_out"])],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("on", TensorProto.BOOL, []),
                helper.make_tensor_value_info("x", TensorProto.FLOAT, None),
            ],
            [
                helper.make_tensor_value_info("on_out", TensorProto.BOOL, []),
                helper.make_tensor_value_info("x_out", TensorProto.FLOAT, None),
            ],
        )
        values.append(helper.make_tensor("yes", TensorProto.BOOL, [], [True]))
        nodes.append(helper.make_node("Loop", ["", "yes", "images"], ["looped"], body=body))
        source = "looped"
    if floats:
        values.append(helper.make_tensor("shape", TensorProto.INT64, [1], [floats]))
        nodes.append(helper.make_node("ConstantOfShape", ["shape"], ["large"]))
        nodes.append(helper.make_node("ReduceSum", ["large"], ["nothing"], keepdims=0))
        nodes.append(helper.make_node("Add", [source, "nothing"], ["heavy"]))
        source = "heavy"
    nodes.append(helper.make_node("ReduceMean", [source], ["mean"], axes=[1, 2, 3], keepdims=0))
    nodes.append(helper.make_node("Unsqueeze", ["mean", "axis"], ["column"]))
    values.append(helper.make_tensor("axis", TensorProto.INT64, [1], [1]))
    for name in ATTRIBUTES:
        count = len(CLASSES[name])
        centres = [255 * (k + 0.5) / count + shift for k in range(count)]
        values.append(helper.make_tensor(f"c_{name}", TensorProto.FLOAT, [1, count], centres))
        nodes += [
            helper.make_node("Sub", ["column", f"c_{name}"], [f"d_{name}"]),
            helper.make_node("Abs", [f"d_{name}"], [f"a_{name}"]),
            helper.make_node("Neg", [f"a_{name}"], [name]),
        ]
    graph = helper.make_graph(
        nodes,
        "entry",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, SIZE, SIZE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", len(CLASSES[name])]) for name in ATTRIBUTES],
        values,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    network = {"file": "net.onnx", "size": SIZE, "outputs": list(ATTRIBUTES)}
    card = {"name": folder.name, "kind": "supervised", "networks": [network]}
    (folder / "entry.json").write_text(json.dumps(card))
    return folder


def write_predictions(folder: Path, entry: Path, challenge: Path) -> dict[str, Path]:
    """What an entry answers on test and holdout."""
    files = {}
    model = BountyEntry(entry, threads=1)
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("test", "holdout"):
        pictures = image_files(challenge / split)
        files[split] = folder / f"{entry.name}-{split}.csv"
        files[split].write_text(predictions_text(list(pictures), predict_files(model, pictures)))
    return files
