"""YOLO networks in ONNX files: every head gives the same boxes, and suppression is that of a slow reference."""

import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.models.adapters.fixed_network import fixed_network

from countenance.answers import Boxes
from countenance.errors import InputError, ModelError
from countenance.metrics.boxes import iou_matrix
from countenance.models import ModelSpec
from countenance.models.adapters import Request
from countenance.models.yolo import head_of, yolo_boxes

NAMES = "{0: 'person', 1: 'car'}"
FACTS = {"names": NAMES, "imgsz": "[64, 96]", "task": "detect"}
CELLS = 12 * 8 + 6 * 4 + 3 * 2
BOXES = np.array([[20.0, 30, 10, 20], [20.5, 30, 10, 20], [60, 20, 12, 8], [21, 30, 10, 20]])
"""Centre and size in the network's input; the first two and the last are of one thing."""
CORNERS = np.hstack([BOXES[:, :2] - BOXES[:, 2:] / 2, BOXES[:, :2] + BOXES[:, 2:] / 2])
SHARES = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.26], [0.1, 0.95]])


def v8() -> np.ndarray:
    rows = np.zeros((CELLS, 6))
    rows[:4] = np.hstack([BOXES, SHARES])
    return rows.T[None]


def v5() -> np.ndarray:
    rows = np.zeros((3 * CELLS, 7))
    rows[5:9] = np.hstack([BOXES, np.full((4, 1), 0.999), SHARES / 0.999])
    return rows[None]


def end2end() -> np.ndarray:
    rows = np.zeros((300, 6))
    chosen = [3, 0, 2]  # what is suppressed is not there any more
    rows[:3] = np.column_stack([CORNERS, SHARES.max(axis=1), SHARES.argmax(axis=1)])[chosen]
    return rows[None]


@pytest.mark.parametrize("output", [v8(), v5(), end2end()], ids=["v8", "v5", "end2end"])
def test_every_head_finds_the_same_people(tmp_path: Path, output: np.ndarray) -> None:
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"output0": output}, FACTS)
    spec = ModelSpec(str(network))
    assert spec.card().finds == ("person",) and spec.card().hashed
    (found,) = spec.load()([np.zeros((64, 96, 3), np.uint8)])
    assert np.allclose(found.xyxy, CORNERS[[0, 2]], atol=1e-4) and np.allclose(found.scores, [0.9, 0.3], atol=1e-5)
    assert found.labels == ("person", "person")


def test_boxes_are_those_of_the_picture_before_it_was_letterboxed(tmp_path: Path) -> None:
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"output0": v8()}, FACTS)
    # 300 × 150 fits with a factor of .32 (96 × 48), 8 pixels below the upper edge.
    (found,) = ModelSpec(str(network)).load()([np.zeros((150, 300, 3), np.uint8)])
    corners = (CORNERS[[0, 2]] - [0, 8, 0, 8]) / 0.32
    assert np.allclose(found.xyxy, np.clip(corners, 0, [300, 150, 300, 150]), atol=1e-3)


def slow(rows: np.ndarray, overlap: float) -> list[tuple[float, ...]]:
    """Suppression by definition, class by class."""
    kept: list[np.ndarray] = []
    for row in sorted(rows, key=lambda one: -one[4]):
        others = [other for other in kept if other[5] == row[5]]
        if row[4] > 0.25 and all(iou_matrix(row[None, :4], other[None, :4])[0, 0] <= overlap for other in others):
            kept.append(row)
    return sorted(tuple(np.round(row, 9)) for row in kept)


@pytest.mark.parametrize("seed", range(5))
def test_suppression_is_class_by_class(seed: int) -> None:
    random = np.random.default_rng(seed)
    centre, size = random.uniform(10, 50, (60, 2)), random.uniform(8, 30, (60, 2))
    shares = random.uniform(0, 1, (60, 3))
    output = np.hstack([centre, size, shares]).T[None]
    found = yolo_boxes(output, ["a", "b", "c"], None, 0.25, 0.4)
    corners = np.hstack([centre - size / 2, centre + size / 2])
    rows = np.column_stack([corners, shares.max(axis=1), shares.argmax(axis=1)])
    numbers = ["abc".index(label) for label in found.labels]
    ours = np.column_stack([found.xyxy, found.scores, numbers])
    assert sorted(tuple(np.round(row, 9)) for row in ours) == slow(rows, 0.4)
    assert (np.diff(found.scores) <= 0).all()


def test_a_declaration_goes_before_what_is_recognised(tmp_path: Path) -> None:
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"a": np.zeros((1, 4)), "output0": v8()})
    declared = {
        "input": {"size": [96, 64], "resize": "letterbox", "std": [255, 255, 255]},
        "output": {"kind": "yolo", "boxes": "output0", "names": ["man", "head"], "finds": "face", "min_score": 0.5},
    }
    network.with_name("net.onnx.json").write_text(json.dumps(declared))
    spec = ModelSpec(str(network))
    (found,) = spec.load()([np.zeros((64, 96, 3), np.uint8)])
    assert spec.card().finds == ("face",) and found.labels == ("head",) and np.allclose(found.xyxy, CORNERS[[3]])


@pytest.mark.parametrize(
    ("output", "facts", "problem"),
    [
        (v8(), {"names": "{0: 'person', 1: 'face'}"}, "people and faces; say which count"),
        (v8(), {"names": "['cat', 'dog']"}, "neither people nor faces; say which count"),
        (v8(), {}, r"\(class 0, class 1\) are neither people nor faces"),
        (np.zeros((1, 4)), {}, r"net\.onnx\.json: no such file.*declares the network"),
        (np.zeros((1, 40, 4)), {"names": "__import__('os')"}, r"net\.onnx\.json: no such file"),
    ],
)
def test_what_is_ambiguous_is_asked_for(tmp_path: Path, output, facts, problem) -> None:
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"output0": output}, facts)
    with pytest.raises(InputError, match=problem):
        ModelSpec(str(network)).card()


def test_a_network_without_names_is_recognised_by_its_shape(tmp_path: Path) -> None:
    rows = np.zeros((84, CELLS))
    rows[:4, 7] = 20, 30, 10, 20
    rows[4, 7] = 0.9
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"output0": rows[None]})
    spec = ModelSpec(str(network))
    assert spec.card().finds == ("person",)
    assert len(spec.load()([np.zeros((64, 96, 3), np.uint8)])[0]) == 1
    one = fixed_network(tmp_path / "one.onnx", [64, 96], {"output0": rows[None, :5]})
    assert ModelSpec(str(one)).card().finds == ()
    assert issubclass(ModelError, InputError)


@pytest.mark.parametrize("size", ["[64]", "'640'", "[0, 64]", "[10**9, 64]", "[True, 64]", "[" * 5000])
def test_a_size_that_cannot_be_is_not_taken(tmp_path: Path, size: str) -> None:
    network = fixed_network(tmp_path / "net.onnx", ["h", "w"], {"output0": v8()}, FACTS | {"imgsz": size})
    with pytest.raises(InputError, match="no such file"):
        ModelSpec(str(network)).card()


def test_a_class_without_a_name_is_no_person(tmp_path: Path) -> None:
    output = end2end()
    output[0, 1, 5] = 7
    network = fixed_network(tmp_path / "net.onnx", [64, 96], {"output0": output}, FACTS)
    (found,) = ModelSpec(str(network)).load()([np.zeros((64, 96, 3), np.uint8)])
    assert np.allclose(found.scores, [0.3]) and found.labels == ("person",)


@pytest.mark.parametrize(
    ("shape", "classes", "head"),
    [
        ((1, 84, 84), 80, "v8"),
        ((1, 6, 8400), 2, "v8"),
        ((1, 116, 8400), 80, "v8"),
        ((1, 56, 8400), 1, "v8"),
        ((1, 25200, 6), 1, "v5"),
        ((1, 25200, 117), 80, "v5"),
        ((1, 100, 6), 1, "end2end"),
        ((1, 300, 6), 80, "end2end"),
    ],
)
def test_shapes_of_heads(shape, classes, head) -> None:
    assert head_of(shape, classes) == head


def test_a_tflite_network_is_declared_like_an_onnx_file(tmp_path: Path, monkeypatch) -> None:
    class Interpreter:
        """The part of ai-edge-litert's interpreter that is used: a network of 8 bits that adds up its input."""

        def __init__(self, model_path: str, num_threads: int | None) -> None:
            self.tensors: dict[int, np.ndarray] = {}

        allocate_tensors = invoke = lambda self: None

        def get_input_details(self) -> list[dict]:
            return [{"name": "x", "index": 0, "shape": [1, 8, 8, 3], "dtype": np.uint8, "quantization": (1.0, 0)}]

        def get_output_details(self) -> list[dict]:
            return [{"name": "y", "index": 1, "shape": [1, 2], "dtype": np.uint8, "quantization": (0.5, 100)}]

        def set_tensor(self, index: int, values: np.ndarray) -> None:
            assert values.dtype == np.uint8 and values.shape == (1, 8, 8, 3)
            self.tensors[1] = np.array([[100, 100 + values.max()]], np.uint8)

        def get_tensor(self, index: int) -> np.ndarray:
            return self.tensors[index]

    path = tmp_path / "net.tflite"
    path.write_bytes(b"TFL3")
    declared = {"input": {"size": [8, 8], "layout": "NHWC"}, "output": {"kind": "embedding"}}
    path.with_name("net.tflite.json").write_text(json.dumps(declared))
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(ModelError, match="pip install ai-edge-litert"):
        ModelSpec(str(path)).load()
    module = ModuleType("ai_edge_litert.interpreter")
    module.Interpreter = Interpreter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ai_edge_litert", ModuleType("ai_edge_litert"))
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", module)
    (found,) = ModelSpec(str(path)).load()([np.full((8, 8, 3), 6, np.uint8)])
    assert found.vector.tolist() == [0.0, 3.0]


def test_a_model_of_a_library_may_be_named_by_its_module(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "mine_for_a_test.py").write_text(
        "class YOLO:\n"
        "    __module__ = 'ultralytics.models.yolo.model'\n"
        "    task, names, model, overrides, ckpt_path = 'detect', {0: 'face', 1: 'car'}, '', {}, 'best.pt'\n"
        "    def predict(self, pictures, **options):\n"
        "        return []\n"
        "detector = YOLO()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = ModelSpec("mine_for_a_test:detector", request=Request("face_localization", Boxes, ("face",)))
    assert spec.card().name == "best" and spec.card().finds == ("face",)
    assert spec.load()([]) == []
