"""RHF: the layout of the published weights, and its parts against plain versions of them; weights are made here."""

import math
from pathlib import Path

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.metrics.boxes import suppress
from countenance.models import ModelSpec
from countenance.models.zoo import rhf

torch = pytest.importorskip("torch")

PUBLISHED = {
    "backbone.body.conv1.weight": (64, 3, 7, 7),
    "backbone.body.bn1.running_mean": (64,),
    "backbone.body.layer1.0.downsample.0.weight": (256, 64, 1, 1),
    "backbone.body.layer1.0.downsample.1.weight": (256,),
    "backbone.body.layer2.3.conv2.weight": (128, 128, 3, 3),
    "backbone.body.layer3.5.bn3.bias": (1024,),
    "backbone.body.layer4.2.conv3.weight": (2048, 512, 1, 1),
    "backbone.fpn.inner_blocks.3.weight": (256, 2048, 1, 1),
    "backbone.fpn.layer_blocks.0.bias": (256,),
    "rpn.head.conv.weight": (256, 256, 3, 3),
    "rpn.head.cls_logits.weight": (3, 256, 1, 1),
    "rpn.head.bbox_pred.bias": (12,),
    "roi_heads.box_head.fc6.weight": (1024, 12544),
    "roi_heads.box_head.fc7.bias": (1024,),
    "roi_heads.box_predictor.cls_score.weight": (4, 1024),
    "roi_heads.box_predictor.bbox_pred.weight": (16, 1024),
}
"""Tensors of the published checkpoint, by its names."""


def test_names_and_shapes_are_those_of_the_published_weights() -> None:
    shapes = {name: tuple(value.shape) for name, value in rhf.build().state_dict().items()}
    assert {name: shapes.get(name) for name in PUBLISHED} == PUBLISHED
    body = [name for name in shapes if name.startswith("backbone.body") and name.endswith("conv2.weight")]
    assert len(body) == 16
    parameters = sum(value.numel() for value in rhf.build().backbone.body.parameters())
    assert parameters == 23_508_032, "as many as ResNet50 has without its last layer"


def test_later_stages_halve_the_picture_and_are_dilated() -> None:
    body = rhf.build().backbone.body
    dilations = [[block.conv2.dilation[0] for block in getattr(body, f"layer{k}")] for k in (1, 2, 3, 4)]
    assert dilations == [[1, 1, 1], [1, 2, 2, 2], [2, 4, 4, 4, 4, 4], [4, 8, 8]]
    assert [getattr(body, f"layer{k}")[0].conv2.stride[0] for k in (1, 2, 3, 4)] == [1, 2, 2, 2]


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> Path:
    """A narrow network whose heads say the same everywhere: a square anchor holds an unmasked face."""
    with pytest.MonkeyPatch.context() as patch:
        _narrow(patch)
        network = rhf.build("cpu")
    torch.manual_seed(0)
    for name, value in network.state_dict().items():
        if name.startswith(("rpn.head.cls", "rpn.head.bbox", "roi_heads.box_predictor")):
            value.zero_()
        elif value.is_floating_point() and value.ndim > 1:
            value.normal_(0, 0.1)
    network.rpn.head.cls_logits.bias.data = torch.tensor([-20.0, 20.0, -20.0])
    network.roi_heads.box_predictor.cls_score.bias.data = torch.tensor([0.0, 0.0, 0.0, 5.0])
    path = tmp_path_factory.mktemp("rhf") / "resNetHDCFpn-model.pth"
    torch.save({"model": network.state_dict(), "optimizer": {"state": {}}, "epoch": 19}, path)
    return path


def _narrow(patch: pytest.MonkeyPatch) -> None:
    for name, value in (("WIDTH", 4), ("PYRAMID", 8), ("HIDDEN", 16)):
        patch.setattr(rhf, name, value)


def test_boxes_are_the_anchors_that_the_heads_choose(weights, monkeypatch) -> None:
    _narrow(monkeypatch)
    model = ModelSpec("rhf", str(weights), settings={"side": 128}).load()
    picture = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    (answer,) = model([picture])
    expected = []
    for size, stride in zip((32, 64, 128, 256, 512), (4, 8, 16, 32, 64), strict=True):
        x, y = np.meshgrid(np.arange(0, 192, stride), np.arange(0, 128, stride))
        centre = np.stack([x, y], axis=-1).reshape(-1, 2)
        boxes = np.hstack([centre - size / 2, centre + size / 2]).clip(0, [192, 128, 192, 128])[:1000]
        expected.append(boxes[suppress(boxes, np.ones(len(boxes)), 0.7)])
    proposals = np.concatenate(expected)[:1000]
    final = proposals[suppress(proposals, np.ones(len(proposals)), 0.5)][:100] / 2
    np.testing.assert_allclose(answer.xyxy, final, atol=1e-4)
    assert set(answer.labels) == {"no_mask"}
    assert answer.scores == pytest.approx(math.exp(5) / (math.exp(5) + 3))
    assert not len(ModelSpec("rhf", str(weights), settings={"side": 128, "min_score": 0.999}).load()([picture])[0])


def test_badly_worn_masks_are_masks(weights, monkeypatch, tmp_path) -> None:
    _narrow(monkeypatch)
    content = torch.load(weights, weights_only=True)
    for kind, label in ((1, "mask"), (2, "mask"), (3, "no_mask")):
        bias = torch.zeros(4)
        bias[kind] = 5
        content["model"]["roi_heads.box_predictor.cls_score.bias"] = bias
        torch.save(content, tmp_path / "other.pth")
        (answer,) = rhf.Rhf(tmp_path / "other.pth", side=64)([np.zeros((64, 64, 3), np.uint8)])
        assert set(answer.labels) == {label}


def plain_roi_align(features: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Sample by sample, as the operation is described."""
    channels, height, width = features.shape
    wide, high = (max(box[k + 2] - box[k], 1.0) / 7 for k in (0, 1))

    def value(y: float, x: float) -> np.ndarray:
        if y < -1 or y > height or x < -1 or x > width:
            return np.zeros(channels)
        y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
        i, j = int(y), int(x)
        k, m = min(i + 1, height - 1), min(j + 1, width - 1)
        down, across = y - i, x - j
        return (
            features[:, i, j] * (1 - down) * (1 - across)
            + features[:, i, m] * (1 - down) * across
            + features[:, k, j] * down * (1 - across)
            + features[:, k, m] * down * across
        )

    pooled = np.zeros((channels, 7, 7))
    for row in range(7):
        for column in range(7):
            samples = [
                value(box[1] + (row + (s + 0.5) / 2) * high, box[0] + (column + (t + 0.5) / 2) * wide)
                for s in range(2)
                for t in range(2)
            ]
            pooled[:, row, column] = np.mean(samples, axis=0)
    return pooled


def test_pooling_equals_a_plain_one() -> None:
    draw = np.random.default_rng(1)
    features = draw.normal(size=(3, 9, 12)).astype(np.float32)
    boxes = np.array([[1.2, 0.7, 8.9, 6.1], [0, 0, 12, 9], [3, 3, 3.2, 3.1], [9.5, 6.5, 15.0, 11.0], [-3, -2, 2, 1.5]])
    pooled = rhf.roi_align(torch, torch.from_numpy(features), boxes).numpy()
    for k, box in enumerate(boxes):
        np.testing.assert_allclose(pooled[k], plain_roi_align(features, box), atol=1e-5)


def test_a_file_that_does_not_fit_is_named(tmp_path) -> None:
    torch.save({"model": {"x": torch.zeros(1)}}, tmp_path / "other.pth")
    with pytest.raises(InputError, match=r"other\.pth: does not fit the module"):
        ModelSpec("rhf", str(tmp_path / "other.pth")).load()
