"""The res10 SSD with a classifier: the architecture in Caffe's own files, written here with random weights.

The heads answer nothing everywhere but in the last map, whose one cell sees a face: a box that can be computed by hand.
"""

from pathlib import Path

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.models import ModelSpec

pytest.importorskip("cv2")
onnx = pytest.importorskip("onnx")

WIDTH = 32
"""Channels of the first layer, as in the published network."""


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of a protobuf message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def blob(array: np.ndarray) -> bytes:
    """Caffe's BlobProto: the numbers (5) and their shape (7)."""
    shape = field(1, b"".join(varint(side) for side in array.shape))
    return field(5, array.astype("<f4").tobytes()) + field(7, shape)


class Caffe:
    """A network in the making: the text of its layers, and the bytes of their weights."""

    def __init__(self) -> None:
        self.text, self.content = 'input: "data"\ninput_shape { dim: 1 dim: 3 dim: 300 dim: 300 }\n', b""
        self.channels = {"data": 3}
        self.draw = np.random.default_rng(0)

    def add(self, name: str, kind: str, below: list[str], options: str = "", blobs=(), channels: int = 0) -> str:
        bottoms = "".join(f' bottom: "{one}"' for one in below)
        self.text += f'layer {{ name: "{name}" type: "{kind}"{bottoms} top: "{name}" {options} }}\n'
        if blobs:
            fields = field(1, name.encode()) + field(2, kind.encode())
            self.content += field(100, fields + b"".join(field(7, blob(one)) for one in blobs))
        self.channels[name] = channels or self.channels[below[0]]
        return name

    def conv(
        self, name: str, below: str, filters: int, size: int = 3, stride: int = 1, bias=None, zero=False, pad=True
    ) -> str:
        shape = (filters, self.channels[below], size, size)
        kernel = np.zeros(shape) if zero else self.draw.normal(0, 0.05, shape)
        options = f"num_output: {filters} kernel_size: {size} stride: {stride} pad: {size // 2 * pad}"
        blobs = [kernel, np.zeros(filters) if bias is None else np.asarray(bias)]
        return self.add(name, "Convolution", [below], f"convolution_param {{ {options} }}", blobs, filters)

    def normal(self, name: str, below: str, relu: bool = True) -> str:
        n = self.channels[below]
        bn = self.add(f"{name}_bn", "BatchNorm", [below], "", [np.zeros(n), np.ones(n), np.ones(1)])
        last = self.add(f"{name}_scale", "Scale", [bn], "scale_param { bias_term: true }", [np.ones(n), np.zeros(n)])
        return self.add(f"{name}_relu", "ReLU", [last]) if relu else last

    def block(self, name: str, below: str, filters: int, stride: int) -> str:
        """Two convolutions beside a shortcut."""
        first = self.normal(f"{name}_1", below)
        inner = self.normal(f"{name}_2", self.conv(f"{name}_conv1", first, filters, stride=stride))
        beside = self.conv(f"{name}_expand", first, filters, 1, stride)
        return self.add(f"{name}_sum", "Eltwise", [self.conv(f"{name}_conv2", inner, filters), beside])


def write_res10(folder: Path) -> Path:
    """A ResNet of ten layers, four smaller maps after it, and SSD's heads on six maps."""
    net = Caffe()
    top = net.normal("conv1", net.conv("conv1", net.normal("data", "data", relu=False), WIDTH, 7, 2))
    top = net.add("pool", "Pooling", [top], "pooling_param { pool: MAX kernel_size: 3 stride: 2 }")
    maps = []
    for i, stride in enumerate((1, 2, 2, 1)):
        top = net.block(f"layer{i}", top, WIDTH * 2**i, stride)
        if i == 2:
            scale = [np.full(net.channels[top], 20.0)]
            norm = "norm_param { across_spatial: false channel_shared: false }"
            maps.append(net.add("conv4_3_norm", "Normalize", [net.normal("early", top)], norm, scale))
    top = net.normal("last", top)
    maps.append(top)
    for i in range(6, 10):
        top = net.add(f"conv{i}_1_relu", "ReLU", [net.conv(f"conv{i}_1", top, WIDTH, 1)])
        top = net.add(
            f"conv{i}_2_relu", "ReLU", [net.conv(f"conv{i}_2", top, WIDTH * 2, 3, 2 if i < 8 else 1, pad=i < 8)]
        )
        maps.append(top)
    parts: dict[str, list[str]] = {"loc": [], "conf": [], "prior": []}
    for k, (one, size) in enumerate(zip(maps, (30, 60, 111, 162, 213, 264), strict=True)):
        face = k == len(maps) - 1
        for kind, filters, bias in (("loc", 4, np.zeros(4)), ("conf", 2, [0.0, 20.0] if face else [20.0, 0.0])):
            head = net.conv(f"{one}_{kind}", one, filters, bias=bias, zero=True)
            turned = net.add(f"{head}_perm", "Permute", [head], "permute_param { order: 0 order: 2 order: 3 order: 1 }")
            parts[kind].append(net.add(f"{head}_flat", "Flatten", [turned], "flatten_param { axis: 1 }"))
        prior = f"prior_box_param {{ min_size: {size} clip: false variance: 0.1 variance: 0.1 variance: 0.2 "
        parts["prior"].append(net.add(f"{one}_prior", "PriorBox", [one, "data"], prior + "variance: 0.2 }"))
    loc = net.add("mbox_loc", "Concat", parts["loc"], "concat_param { axis: 1 }")
    conf = net.add("mbox_conf", "Concat", parts["conf"], "concat_param { axis: 1 }")
    rows = net.add("conf_rows", "Reshape", [conf], "reshape_param { shape { dim: 0 dim: -1 dim: 2 } }")
    share = net.add("conf_share", "Softmax", [rows], "softmax_param { axis: 2 }")
    flat = net.add("conf_flat", "Flatten", [share], "flatten_param { axis: 1 }")
    prior = net.add("mbox_prior", "Concat", parts["prior"], "concat_param { axis: 2 }")
    options = (
        "num_classes: 2 share_location: true background_label_id: 0 nms_param { nms_threshold: 0.45 top_k: 400 } "
        "code_type: CENTER_SIZE keep_top_k: 200 confidence_threshold: 0.01"
    )
    net.add("detection_out", "DetectionOutput", [loc, flat, prior], f"detection_output_param {{ {options} }}")
    (folder / "deploy.prototxt").write_text(net.text)
    (folder / "res10.caffemodel").write_bytes(net.content)
    return folder / "res10.caffemodel"


def write_classifier(path: Path, *, last: bool = True, sigmoid: bool = False) -> None:
    """Calls a face masked when its mean colour is bluer than red: as Keras exports it (channels last), or not."""
    from onnx import TensorProto, helper

    shape = ["N", 64, 64, 3] if last else ["N", 3, 64, 64]
    weights = np.array([[9.0], [0.0], [-9.0]] if sigmoid else [[-9.0, 9.0], [0, 0], [9.0, -9.0]], dtype=np.float32)
    axes = helper.make_tensor("axes", TensorProto.INT64, [2], [1, 2] if last else [2, 3])
    nodes = [
        helper.make_node("ReduceMean", ["face", "axes"], ["colour"], keepdims=0),
        helper.make_node("MatMul", ["colour", "w"], ["logits"]),
        helper.make_node("Sigmoid" if sigmoid else "Softmax", ["logits"], ["share"]),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("face", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("share", TensorProto.FLOAT, ["N", weights.shape[1]])],
        [axes, helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel())],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


@pytest.fixture(scope="module")
def res10(tmp_path_factory) -> Path:
    return write_res10(tmp_path_factory.mktemp("res10"))


@pytest.mark.parametrize(("last", "sigmoid"), [(True, False), (False, False), (True, True)])
def test_the_face_is_where_the_prior_is_and_the_classifier_judges_it(res10, last, sigmoid):
    write_classifier(res10.with_name("mask.onnx"), last=last, sigmoid=sigmoid)
    model = ModelSpec("res10", str(res10)).load()
    blue, red = np.zeros((90, 120, 3), np.uint8), np.zeros((90, 120, 3), np.uint8)
    blue[..., 2], red[..., 0] = 200, 200
    masked, bare = model([blue, red])
    assert masked.labels == ("mask",) and bare.labels == ("no_mask",)
    half = 264 / 300 / 2
    expected = np.array([0.5 - half, 0.5 - half, 0.5 + half, 0.5 + half]) * [120, 90, 120, 90]
    np.testing.assert_allclose(masked.xyxy, [expected], atol=0.01)
    assert masked.scores[0] > 0.99
    assert not len(ModelSpec("res10", str(res10), settings={"min_score": 1.1}).load()([red])[0])


def test_an_exchanged_classifier_is_another_model(res10):
    write_classifier(res10.with_name("mask.onnx"))
    before = ModelSpec("res10", str(res10)).card().content
    write_classifier(res10.with_name("mask.onnx"), sigmoid=True)
    assert ModelSpec("res10", str(res10)).card().content != before


def test_missing_parts_are_named(tmp_path):
    path = tmp_path / "res10.caffemodel"
    path.write_bytes(b"x")
    with pytest.raises(InputError, match=r"res10\.prototxt: no such file; the \.prototxt lies beside"):
        ModelSpec("res10", str(path)).load()
    write_res10(tmp_path)
    with pytest.raises(InputError, match=r"holds no ONNX file; put the mask classifier, one \.onnx, beside"):
        ModelSpec("res10", str(path)).load()


def test_an_assessment_with_it(res10, tmp_path):
    from countenance.cli.app import run

    write_classifier(res10.with_name("mask.onnx"))
    options = ["--detector", "res10", "--weights", str(res10), "--limit", "20", "--quiet", "--out", str(tmp_path / "a")]
    assert run(["mask-fairness", "assess", "--dataset", "people:portraits", *options]) == 0
    assert (tmp_path / "a" / "assessment_skin_tone_localization.csv").is_file()
