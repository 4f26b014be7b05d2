"""The targets and the loss against a slow reference, and the network against the file that the package ships."""

import naive_loss
import numpy as np
import pytest

from countenance.suites.mask_fairness.train import loss as fast
from countenance.suites.mask_fairness.train.network import CELLS, OUTPUTS, SIDE, STRIDE, make_network


def some_boxes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Faces of 4 to 90 pixels, some beside and some upon each other; half of their numbers are whole fours."""
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, 120, (6, 2)), random.uniform(4, 90, (6, 2))
    boxes = np.hstack([corner, corner + size])
    boxes[::2] = (boxes[::2] / 4).round() * 4
    return boxes, random.integers(-1, 2, 6).astype(float)


EDGES = {
    "sides on the middles of cells": [[20, 28, 24, 60], [60, 100, 100, 104]],
    "7 pixels are enough": [[20, 20, 27, 40], [100, 100, 140, 107], [60, 60, 66.9, 90]],
    "too small, with a cell inside": [[57, 58, 63, 62], [97, 10, 103, 90], [10, 97, 90, 103]],
    "a cell at .22 of the size": [[-8, -8, 92, 92]],
    "a cell at 1.8 times that": [[57 - 125, 57 - 125, 57 + 125, 57 + 125]],
    "as near to four cells": [[40, 40, 56, 56], [41, 41, 55, 55]],
    "a small one in a large one": [[20, 20, 120, 120], [60, 60, 65, 66], [64, 64, 76, 76], [20, 100, 60, 150]],
    "the larger one is not the longer one": [[0, 90, 100, 130], [30, 70, 80, 130]],
    "the larger one is not the higher one": [[40, 10, 80, 90], [0, 0, 100, 60]],
    "nobody": [],
}


@pytest.mark.parametrize("boxes", EDGES.values(), ids=EDGES)
def test_targets_at_the_edges_of_their_rules(boxes):
    given, masked = np.array(boxes, dtype=float).reshape(-1, 4), np.arange(len(boxes)) % 3 - 1.0
    assert fast.targets(given, masked).tolist() == np.float32(naive_loss.targets(given.tolist(), masked)).tolist()


def test_targets_and_loss_are_those_of_the_reference():
    torch = pytest.importorskip("torch")
    batch = [some_boxes(seed) for seed in range(4)]
    wanted = np.stack([fast.targets(*one) for one in batch])
    slow = [naive_loss.targets(boxes.tolist(), masked) for boxes, masked in batch]
    assert np.array_equal(wanted, np.float32(slow))
    assert {-1.0, 0.0, 1.0} == set(np.unique(wanted[:, :2]))
    output = np.random.default_rng(9).normal(1.0, 2.0, wanted.shape).astype(np.float32)
    total, parts = fast.loss(torch.from_numpy(output), torch.from_numpy(wanted))
    expected, expected_parts = naive_loss.loss(output.tolist(), slow)
    assert list(parts.values()) == pytest.approx(expected_parts, rel=1e-4)
    assert list(parts) == ["faces", "masks", "boxes"] and float(total) == pytest.approx(expected, rel=1e-4)


def test_a_batch_without_faces_or_masks_has_a_loss_all_the_same():
    torch = pytest.importorskip("torch")
    nobody = np.zeros((1, 6, CELLS, CELLS), np.float32)
    output = np.full((1, 6, CELLS, CELLS), 0.3, np.float32)
    one, small = (fast.targets(np.array([[40.0, 40, side, side]]), np.array([-1.0]))[None] for side in (90, 48))
    assert (small[0, 0] == 1).sum() == 1
    for wanted in (nobody, one, small):
        total, parts = fast.loss(torch.from_numpy(output), torch.from_numpy(wanted))
        expected, expected_parts = naive_loss.loss(output.tolist(), wanted.tolist())
        assert float(total) == pytest.approx(expected, rel=1e-4)
        assert list(parts.values()) == pytest.approx(expected_parts, rel=1e-4)


def test_the_network_is_the_one_whose_weights_are_shipped():
    torch, onnx = pytest.importorskip("torch"), pytest.importorskip("onnx")
    from countenance.models.onnx import open_session
    from countenance.models.zoo.countenance_mask import WEIGHTS

    network = make_network().eval()
    assert network.head.bias.tolist() == pytest.approx([-4, 0, 1.2, 1.2, 1.2, 1.2])
    graph = onnx.load(WEIGHTS).graph
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    nodes = [node for node in graph.node if node.op_type == "Conv"]
    modules = list(network.modules())
    convolutions = [one for one in modules if isinstance(one, torch.nn.Conv2d)]
    norms = iter([one for one in modules if isinstance(one, torch.nn.BatchNorm2d)])
    assert len(convolutions) == len(nodes) == 31 and sum(one.bias is not None for one in convolutions) == 4
    with torch.no_grad():
        for one, node in zip(convolutions, nodes, strict=True):
            weight, bias = (torch.from_numpy(stored[name].copy()) for name in node.input[1:])
            assert one.weight.shape == weight.shape
            one.weight.copy_(weight)
            if one.bias is None:  # the shipped file has each normalisation inside of its convolution
                norm = next(norms)
                norm.running_var.fill_(1 - norm.eps)
                norm.bias.copy_(bias)
            else:
                one.bias.copy_(bias)
        pixels = np.random.default_rng(0).random((2, 3, 64, 96), dtype=np.float32)
        made = network(torch.from_numpy(pixels)).numpy()
    assert next(norms, None) is None and made.shape == (2, OUTPUTS, 8, 12)
    expected = np.concatenate([open_session(WEIGHTS).run(None, {"pixels": one[None]})[0] for one in pixels])
    assert np.allclose(made, expected, atol=1e-3) and np.ptp(expected) > 1
    assert (SIDE, STRIDE, CELLS, OUTPUTS) == (160, 8, 20, 6)
