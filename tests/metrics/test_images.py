"""PSNR, SSIM and LPIPS against scikit-image and torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from countenance.metrics.images import psnr, psnr_float32, ssim
from countenance.metrics.perceptual import lpips, weight_shapes

rng = np.random.default_rng(0)
SHIFT, SCALE = np.float32([-0.030, -0.088, -0.188]), np.float32([0.458, 0.448, 0.450])  # as published with LPIPS
ALEXNET = ((64, 3, 11, 4, 2), (192, 64, 5, 1, 2), (384, 192, 3, 1, 1), (256, 384, 3, 1, 1), (256, 256, 3, 1, 1))
"""Output channels, input channels, kernel, stride and padding of AlexNet's convolutions in torchvision."""


def pair(side: int = 40) -> tuple[np.ndarray, np.ndarray]:
    a = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
    return a, np.clip(a.astype(int) + rng.integers(-30, 30, a.shape), 0, 255).astype(np.uint8)


def test_psnr_equals_scikit_image():
    a, b = pair()
    assert psnr(a, b, epsilon=0) == pytest.approx(peak_signal_noise_ratio(a, b), abs=1e-9)
    assert psnr_float32(a, b) == pytest.approx(psnr(a, b), abs=1e-4)


def test_identical_pictures_have_80_decibels():
    a, _ = pair()
    assert psnr(a, a) == 80.0
    assert psnr_float32(a, a) == 80.0


def test_ssim_equals_scikit_image():
    a, b = pair()
    expected = structural_similarity(a, b, channel_axis=2)
    assert ssim(a, b) == pytest.approx(expected, abs=1e-9)


@given(arrays(np.uint8, (9, 9, 3)), arrays(np.uint8, (9, 9, 3)))
def test_ssim_is_symmetric_and_bounded(a, b):
    assert ssim(a, b) == pytest.approx(ssim(b, a))
    assert -1 <= ssim(a, b) <= 1 + 1e-12
    assert ssim(a, a) == pytest.approx(1)


@given(st.integers(0, 255), st.integers(0, 255))
def test_a_larger_difference_is_less_signal(x, y):
    a = np.zeros((4, 4, 3), np.uint8)
    nearer, farther = sorted((x, y))
    assert psnr(a, np.full_like(a, nearer)) >= psnr(a, np.full_like(a, farther))


def test_pictures_of_two_sizes_are_refused():
    with pytest.raises(ValueError, match="expected the same"):
        psnr(np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8))


def test_lpips_equals_the_same_network_in_torch():
    torch = pytest.importorskip("torch")
    weights = {
        name: np.abs(rng.normal(0, 0.05, shape)).astype(np.float32)
        if name.startswith("head")
        else rng.normal(0, 0.05, shape).astype(np.float32)
        for name, shape in weight_shapes().items()
    }
    assert [weights[f"conv{i}.weight"].shape for i in range(1, 6)] == [(o, n, k, k) for o, n, k, _, _ in ALEXNET]
    assert all(len(weights[f"conv{i}.bias"]) == len(weights[f"head{i}"]) == ALEXNET[i - 1][0] for i in range(1, 6))
    a, b = pair(64)

    def features(picture):
        x = (picture.astype(np.float32) / 127.5 - 1 - SHIFT) / SCALE
        layer = torch.from_numpy(x.transpose(2, 0, 1)[None].copy())
        out = []
        for i, (_, _, _, stride, padding) in enumerate(ALEXNET, start=1):
            if i in (2, 3):
                layer = torch.nn.functional.max_pool2d(layer, 3, 2)
            weight, bias = (torch.from_numpy(weights[f"conv{i}.{part}"]) for part in ("weight", "bias"))
            layer = torch.relu(torch.nn.functional.conv2d(layer, weight, bias, stride, padding))
            out.append(layer)
        return out

    expected = 0.0
    for i, (x, y) in enumerate(zip(features(a), features(b), strict=True), start=1):
        unit = [v / (v.norm(dim=1, keepdim=True) + 1e-10) for v in (x, y)]
        head = torch.from_numpy(weights[f"head{i}"]).view(1, -1, 1, 1)
        expected += float((head * (unit[0] - unit[1]) ** 2).sum(dim=1).mean())
    assert lpips(a, b, weights) == pytest.approx(expected, rel=1e-4)
    assert lpips(a, a, weights) == 0.0


def test_a_picture_smaller_than_the_window_is_refused():
    ssim(np.zeros((7, 9, 3), np.uint8), np.zeros((7, 9, 3), np.uint8))
    for shape in ((6, 9, 3), (9, 6, 3)):
        with pytest.raises(ValueError, match="smaller than the window of 7"):
            ssim(np.zeros(shape, np.uint8), np.zeros(shape, np.uint8))


def test_grey_pictures_of_any_window_equal_scikit_image():
    a, b = (one[:, :, 0] for one in pair())
    for window in (3, 7, 11):
        assert ssim(a, b, window) == pytest.approx(structural_similarity(a, b, win_size=window), abs=1e-9)
