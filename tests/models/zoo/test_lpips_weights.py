"""LPIPS weights: known by their hash or their shapes, and never downloaded."""

import hashlib

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.metrics.perceptual import LAYERS, weight_shapes
from countenance.models.zoo import lpips_weights
from countenance.models.zoo.lpips_weights import load_perceptual_weights


def test_lpips_weights_are_known_by_their_hash(tmp_path):
    (tmp_path / "alexnet.ckpt").write_bytes(b"something else")
    with pytest.raises(InputError, match="expected 443c5bc35326b81e"):
        load_perceptual_weights(tmp_path / "alexnet.ckpt")
    with pytest.raises(InputError, match="no such weights"):
        load_perceptual_weights(tmp_path / "none.npz")
    np.savez(tmp_path / "w.npz", head1=np.zeros(3))
    with pytest.raises(InputError, match="not the weights of LPIPS"):
        load_perceptual_weights(tmp_path / "w.npz")


def test_arrays_of_other_shapes_are_refused_by_name(tmp_path):
    good = {name: np.full(shape, 0.5, np.float32) for name, shape in weight_shapes().items()}
    np.savez(tmp_path / "good.npz", **good)
    found, reason = load_perceptual_weights(tmp_path / "good.npz")
    assert reason == "" and found is not None
    assert {name: array.shape for name, array in found.items()} == weight_shapes()
    np.savez(tmp_path / "bad.npz", **(good | {"head2": np.zeros(3, np.float32)}))
    with pytest.raises(InputError, match=r"head2 has shape \(3,\), expected \(192,\)"):
        load_perceptual_weights(tmp_path / "bad.npz")


def test_a_checkpoint_is_read_without_being_unpickled(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    arrays, content = {}, b"PK junk"
    for i, (outputs, inputs, kernel, *_) in enumerate(LAYERS, start=1):
        arrays[f"conv{i}.weight"] = random.normal(size=(kernel, kernel, inputs, outputs)).astype("<f4")
        arrays[f"conv{i}.bias"] = random.normal(size=outputs).astype("<f4")
    arrays |= {f"head{i}": random.normal(size=outputs).astype("<f4") for i, (outputs, *_) in enumerate(LAYERS, start=1)}
    for array in arrays.values():
        content += b"..B" + array.nbytes.to_bytes(4, "little") + array.tobytes()
    (tmp_path / "alexnet.ckpt").write_bytes(content)
    monkeypatch.setattr(lpips_weights, "LPIPS_SHA256", hashlib.sha256(content).hexdigest())
    found, _ = load_perceptual_weights(tmp_path / "alexnet.ckpt")
    assert found is not None and {name: array.shape for name, array in found.items()} == weight_shapes()
    for name, array in arrays.items():
        expected = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
        assert np.array_equal(found[name], expected)


def test_weights_that_are_not_there_are_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(lpips_weights, "_installed", lambda: None)
    found, reason = load_perceptual_weights()
    assert found is None and "nothing is downloaded" in reason
    monkeypatch.setattr(lpips_weights, "_installed", lambda: tmp_path / "alexnet.ckpt")
    assert load_perceptual_weights() == (None, f"{tmp_path / 'alexnet.ckpt'}: no such weights")
