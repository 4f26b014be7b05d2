"""IR-101 with weights by path: the network is the published one, checked by a plain one, and a wrong file is named."""

import numpy as np
import pytest
from PIL import Image

from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.suites.fhibe.pictures import load_embedding

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A file of seeded random weights; statistics of the normalisations are not 0 and 1, or they would go unseen."""
    from countenance.models.zoo.ir101 import build

    torch.manual_seed(0)
    state = build("cpu").state_dict()
    for name, value in state.items():
        if name.endswith("running_mean"):
            value.normal_(0, 0.1)
        elif name.endswith("running_var"):
            value.uniform_(0.5, 1.5)
        elif value.ndim == 1 and value.is_floating_point():
            value.uniform_(0.2, 1.0)
    path = tmp_path_factory.mktemp("ir101") / "ir101.pth"
    torch.save({"epoch": 3, "state_dict": state}, path)
    return path, {name: value.numpy() for name, value in state.items()}


def convolve(x, kernel, stride, padding):
    """In torch for speed; everything else is numpy."""
    found = torch.nn.functional.conv2d(torch.from_numpy(x[None]), torch.from_numpy(kernel), None, stride, padding)
    return found[0].numpy()


def normalise(x, state, name):
    shape = (-1,) + (1,) * (x.ndim - 1)
    mean, variance, weight, bias = (
        state[f"{name}.{part}"].reshape(shape) for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


def prelu(x, slope):
    return np.where(x > 0, x, x * slope[:, None, None])


def plain_ir101(pixels, state):
    """The network written from its description: 49 residual blocks in four stages, then one linear layer."""
    x = np.ascontiguousarray(pixels.astype(np.float32).transpose(2, 0, 1) / 127.5 - 1)
    x = normalise(convolve(x, state["input_layer.0.weight"], 1, 1), state, "input_layer.1")
    x = prelu(x, state["input_layer.2.weight"])
    blocks = [(channels, i) for channels, count in ((64, 3), (128, 13), (256, 30), (512, 3)) for i in range(count)]
    for number, (channels, i) in enumerate(blocks):
        stride, name = 2 if i == 0 else 1, f"body.{number}"
        shortcut = x[:, ::stride, ::stride]
        if len(x) != channels:
            shortcut = convolve(x, state[f"{name}.shortcut_layer.0.weight"], stride, 0)
            shortcut = normalise(shortcut, state, f"{name}.shortcut_layer.1")
        y = convolve(normalise(x, state, f"{name}.res_layer.0"), state[f"{name}.res_layer.1.weight"], 1, 1)
        y = convolve(prelu(y, state[f"{name}.res_layer.2.weight"]), state[f"{name}.res_layer.3.weight"], stride, 1)
        x = normalise(y, state, f"{name}.res_layer.4") + shortcut
    flat = normalise(x, state, "output_layer.0").reshape(-1)
    vector = state["output_layer.3.weight"] @ flat + state["output_layer.3.bias"]
    return normalise(vector, state, "output_layer.4")


def test_the_network_equals_a_plain_one(weights):
    path, state = weights
    assert len([name for name in state if name.endswith("res_layer.1.weight")]) == 49
    face = np.random.default_rng(0).integers(0, 256, (64, 80, 3), dtype=np.uint8)
    embed = load_embedding(path)  # as FHIBE's CURRICULAR_FACE takes it
    (vector,) = embed([face])
    small = np.asarray(Image.fromarray(face).resize((112, 112), Image.Resampling.BILINEAR))
    expected = plain_ir101(small, state)
    assert vector.shape == (512,)
    assert vector == pytest.approx(expected, rel=1e-3, abs=1e-3 * float(np.abs(expected).max()))


def test_a_wrong_file_is_named_in_one_line(tmp_path):
    torch.save({"x": torch.zeros(1)}, tmp_path / "other.pth")
    (tmp_path / "text.pth").write_text("no weights")
    for name in ("other.pth", "text.pth", "absent.pth"):
        for load in (lambda path: load_embedding(path), lambda path: ModelSpec("ir101", weights=str(path)).load()):
            with pytest.raises(InputError, match=name) as caught:
                load(tmp_path / name)
            assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="needs its weights"):
        ModelSpec("ir101").load()
