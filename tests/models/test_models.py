import json
import subprocess
import sys

import numpy as np
import pytest

from countenance.answers import Boxes
from countenance.errors import InputError
from countenance.metrics.boxes import iou_matrix
from countenance.models import ModelSpec
from countenance.models.onnx import InputSpec, OnnxSpec, prepare
from countenance.models.torch_model import TorchModel, load_state
from countenance.models.zoo import ZOO


def tiny_onnx(path, outputs: dict[str, np.ndarray]) -> None:
    """A network that takes an image and answers constants: what an adapter does with them is what is tested."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 16])
    nodes = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value.astype(np.float32)))
        for name, value in outputs.items()
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(v.shape)) for name, v in outputs.items()]
    graph = helper.make_graph(nodes, "tiny", [image], infos)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def declared(path, **output) -> None:
    spec = {"input": {"size": [16, 8]}, "output": output}
    path.with_name(path.name + ".json").write_text(json.dumps(spec))


def test_declared_boxes_are_scaled_back_to_the_picture(tmp_path) -> None:
    path = tmp_path / "net.onnx"
    boxes = np.array([[[0.25, 0.5, 0.75, 1.0], [0.26, 0.5, 0.75, 1.0], [0, 0, 0.1, 0.1]]])
    tiny_onnx(path, {"boxes": boxes, "scores": np.array([[[0.1, 0.9], [0.2, 0.8], [0.9, 0.1]]])})
    declared(path, kind="boxes", boxes="boxes", scores="scores", score_column=1, normalised=True, nms=0.3)
    (answer,) = ModelSpec(str(path)).load()([np.zeros((80, 100, 3), np.uint8)])
    assert np.allclose(answer.xyxy, [[25, 40, 75, 80]], atol=1e-4) and np.allclose(answer.scores, [0.9])


def test_declared_labels_and_embeddings(tmp_path) -> None:
    path = tmp_path / "labels.onnx"
    tiny_onnx(path, {"g": np.array([[0.0, 3.0]])})
    declared(path, kind="labels", heads={"g": ["female", "male"]}, attributes={"g": "gender"})
    (answer,) = ModelSpec(str(path)).load()([np.zeros((8, 8, 3), np.uint8)])
    assert answer.values == {"gender": "male"} and answer.probabilities["gender"]["male"] > 0.9
    path = tmp_path / "embedding.onnx"
    tiny_onnx(path, {"v": np.arange(4.0)[None]})
    declared(path, kind="embedding", vector="v")
    assert ModelSpec(str(path)).load()([np.zeros((8, 8, 3), np.uint8)])[0].vector.tolist() == [0, 1, 2, 3]


LEFT_OPEN = """
import atexit, sys
from pathlib import Path
atexit.register(lambda: print(len(vars(session))))
from countenance.models.onnx import open_session
session = open_session(Path(sys.argv[1]), threads=4)
kept_by_a_cycle = [session]
kept_by_a_cycle.append(kept_by_a_cycle)
print(len(session.get_outputs()))
sys.exit(7)
"""


def test_sessions_are_closed_before_the_interpreter_ends(tmp_path) -> None:
    """Threads of a session that are left to the end of the process may abort it with another exit code."""
    tiny_onnx(tmp_path / "net.onnx", {"v": np.arange(4.0)[None]})
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "net.onnx")], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (7, ["1", "0"], "")


def test_a_changed_network_or_declaration_is_another_model(tmp_path) -> None:
    path = tmp_path / "net.onnx"
    tiny_onnx(path, {"v": np.arange(4.0)[None]})
    declared(path, kind="embedding", vector="v")
    first = ModelSpec(str(path)).card().content
    assert ModelSpec(str(path)).card().content == first
    tiny_onnx(path, {"v": np.arange(5.0)[None]})
    second = ModelSpec(str(path)).card().content
    declared(path, kind="embedding")
    assert len({first, second, ModelSpec(str(path)).card().content}) == 3


def test_declarations_that_do_not_fit_are_refused(tmp_path) -> None:
    path = tmp_path / "net.onnx"
    tiny_onnx(path, {"v": np.arange(4.0)[None]})
    with pytest.raises(InputError, match=r"net\.onnx\.json: no such file"):
        ModelSpec(str(path)).load()
    declared(path, kind="embedding", vector="w")
    with pytest.raises(InputError, match=r"has no output 'w'; it has v"):
        ModelSpec(str(path)).load()
    declared(path, kind="embeding")
    with pytest.raises(InputError, match=r"output\.kind"):
        OnnxSpec.read(path.with_name("net.onnx.json"))
    path.write_bytes(b"not a network")
    declared(path, kind="embedding")
    with pytest.raises(InputError, match="onnxruntime cannot open it"):
        ModelSpec(str(path)).load()
    with pytest.raises(InputError, match="device 'tpu' is not known"):
        ModelSpec(str(path), device="tpu").load()


@pytest.mark.parametrize("shape", [(2, 3000, 3), (3000, 2, 3)])
def test_a_very_narrow_picture_keeps_a_line_of_pixels(shape: tuple[int, int, int]) -> None:
    pixels, _, _ = prepare(np.zeros(shape, np.uint8), InputSpec(size=(640, 640), resize="letterbox"))
    assert pixels.shape == (1, 3, 640, 640)


def test_letterboxing_keeps_the_shape_and_says_where() -> None:
    image = np.full((10, 40, 3), 200, np.uint8)
    pixels, scale, offset = prepare(image, InputSpec(size=(20, 20), resize="letterbox", pad=0))
    assert pixels.shape == (1, 3, 20, 20) and scale.tolist() == [0.5, 0.5] and offset.tolist() == [0, 7]
    assert pixels[0, 0, 6].max() == 0 and pixels[0, 0, 7].min() == 200


def test_torch_modules_run_and_pickles_are_refused(tmp_path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'countenance[torch]'")

    class Mean(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x):
            return x.mean(dim=(1, 2, 3)) * self.scale

    module = Mean()
    torch.save({"scale": torch.full((1,), 2.0)}, tmp_path / "w.pt")
    model = TorchModel(load_state(module, tmp_path / "w.pt"), InputSpec(size=(4, 4)), lambda out, *_: float(out))
    assert model([np.full((8, 8, 3), 7, np.uint8)] * 2) == [14.0, 14.0]
    torch.save(torch.nn.Linear(1, 1), tmp_path / "pickled.pt")
    with pytest.raises(InputError, match="not a file of plain tensors"):
        load_state(Mean(), tmp_path / "pickled.pt")
    torch.save({"other": torch.ones(1)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="does not fit the module"):
        load_state(Mean(), tmp_path / "other.pt")


def test_every_zoo_entry_says_its_licence_and_source() -> None:
    for entry in ZOO.values():
        assert entry.licence and entry.source and entry.description


def test_detectors_answer_nothing_on_a_blank_picture() -> None:
    blank = np.full((96, 96, 3), 128, np.uint8)
    for name in ("haar", "mtcnn"):
        (answer,) = ModelSpec(name).load()([blank])
        assert isinstance(answer, Boxes) and len(answer) == 0


@pytest.mark.parametrize("name", ["mtcnn", "yunet", "rfb320"])
def test_detectors_agree_with_each_other_on_photographs(shared, name: str) -> None:
    """Reference: the face boxes of three networks made by three groups overlap on easy photographs."""
    from countenance.data.image import LazyImage

    files = sorted((shared / "data" / "fairface" / "val").glob("*.jpg"))[:24]
    images = [LazyImage(path).load() for path in files]
    weights = {n: str(shared / "weights" / f"{n}.onnx") for n in ("yunet", "rfb320")}
    found = ModelSpec(name, weights.get(name)).load()(images)
    reference = ModelSpec("yunet", weights["yunet"]).load()(images)
    overlaps = [iou_matrix(a.xyxy, b.xyxy).max() for a, b in zip(found, reference, strict=True) if len(a) and len(b)]
    assert len(overlaps) >= 18 and np.median(overlaps) > 0.6
