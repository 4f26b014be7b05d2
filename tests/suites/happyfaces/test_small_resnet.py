"""The small ResNet, layer by layer, and how it is trained in two folds."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
functional = torch.nn.functional

from countenance.suites.happyfaces.networks import evidence, resnet  # noqa: E402
from countenance.suites.happyfaces.networks.training import NetworkSettings  # noqa: E402


def noise(*shape: int, seed: int = 0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_eight_layers_with_group_normalisation():
    torch.manual_seed(0)
    network = resnet.small_resnet()
    stored = {name: torch.randn_like(value) * 0.1 for name, value in network.state_dict().items()}
    network.load_state_dict(stored)

    def conv(x, name, stride, pad):
        return functional.conv2d(x, stored.pop(f"{name}.weight"), None, stride, pad)

    def norm(x, name):
        return functional.group_norm(x, 8, stored.pop(f"{name}.weight"), stored.pop(f"{name}.bias"))

    x = photo = noise(2, 3, 36, 52)
    x = norm(conv(x, "0.0", 2, 2), "0.1").relu()
    for block, width in ((1, 64), (2, 128), (3, 256)):
        skip = norm(conv(x, f"{block}.skip", 2, 0), f"{block}.norms.2")
        y = norm(conv(x, f"{block}.first", 2, 1), f"{block}.norms.0").relu()
        x = (norm(conv(y, f"{block}.second", 1, 1), f"{block}.norms.1") + skip).relu()
        assert x.shape[1] == width
    x = functional.conv2d(x, stored.pop("4.weight"), stored.pop("4.bias"))
    torch.testing.assert_close(network(photo), x)
    assert x.shape == (2, 1, 3, 4) and stored == {}, "a sixteenth in each direction, and nothing else is learnt"
    shapes = {name: tuple(weight.shape) for name, weight in network.state_dict().items() if weight.ndim > 1}
    assert shapes == {
        "0.0.weight": (32, 3, 5, 5),
        "4.weight": (1, 256, 1, 1),
        "1.first.weight": (64, 32, 3, 3),
        "1.second.weight": (64, 64, 3, 3),
        "1.skip.weight": (64, 32, 1, 1),
        "2.first.weight": (128, 64, 3, 3),
        "2.second.weight": (128, 128, 3, 3),
        "2.skip.weight": (128, 64, 1, 1),
        "3.first.weight": (256, 128, 3, 3),
        "3.second.weight": (256, 256, 3, 3),
        "3.skip.weight": (256, 128, 1, 1),
    }


def test_batches_are_shuffled_moved_and_mirrored(monkeypatch):
    saved, seen = SimpleNamespace(), []

    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(0.01))

        def forward(self, x):
            seen.append(x)
            return x[:, :1, ::5, ::7] * self.weight

    def minimise(optimiser, count, loss, rise=0.0):
        saved.__dict__.update(group=optimiser.param_groups[0], count=count, loss=loss)

    monkeypatch.setattr(resnet, "small_resnet", Mean)
    monkeypatch.setattr(resnet, "minimise", minimise)
    pixels, target = noise(30, 3, 20, 14), (torch.arange(30) % 2).float()
    built = resnet._train(pixels, target, 17, 6)
    assert (saved.count, saved.group["lr"], saved.group["weight_decay"]) == (17, 1e-3, 1e-2) and not built.training
    rng = np.random.default_rng([6, 3])
    for _ in range(8):
        loss = float(saved.loss(0.0).detach())
        rows = rng.permutation(30)[:24]
        down, right = rng.integers(-4, 5, 2).tolist()
        moved = np.roll(pixels.numpy()[rows], (down, right), (2, 3))
        moved = moved[..., ::-1] if rng.random() < 0.5 else moved
        assert (seen[-1].numpy() == moved).all()
        z, t = 0.01 * moved[:, 0, ::5, ::7].reshape(24, -1), target.numpy()[rows][:, None]
        assert loss == pytest.approx((np.logaddexp(0, z) - z * t).mean(), rel=1e-4)


def test_a_photo_s_left_out_scores_come_from_the_network_that_never_saw_it(monkeypatch):
    calls = []

    def train(pixels, target, steps, seed):
        calls.append((len(pixels), pixels.shape[2:], target.tolist(), steps, seed))
        return len(calls)

    monkeypatch.setattr(resnet, "_train", train)
    monkeypatch.setattr(resnet, "_scores", lambda network, pixels: torch.full((len(pixels), 4), 10.0**network))
    photos = np.zeros((5, 40, 40, 3), np.uint8)
    labels, fold = np.array([0, 1, 0, 1, 1]), np.array([0, 1, 1, 0, 1])
    settings = NetworkSettings(size=33, resnet_steps=9, device="cpu")
    scores, left_out = resnet.train_from_scratch(photos, labels, fold, settings, 4)
    assert calls == [(3, (16, 16), [1, 0, 1], 9, 8), (2, (16, 16), [0, 1], 9, 9)]
    assert left_out[:, 0].tolist() == [10, 100, 100, 10, 100] and scores(photos).tolist() == [[55.0] * 4] * 5


def test_scores_are_means_of_photo_and_mirror_image_a_hundred_at_a_time():
    calls = []

    def network(x):
        calls.append(len(x))
        return x[:, :1, :, :1]

    pixels = noise(130, 3, 2, 5)
    result = resnet._scores(network, pixels)
    assert calls == [100, 100, 30, 30]
    np.testing.assert_allclose(result.numpy(), (pixels[:, 0, :, 0] + pixels[:, 0, :, -1]).numpy() / 2, rtol=1e-6)


def test_without_a_trunk_two_folds_of_the_small_network_give_the_evidence(monkeypatch):
    calls = []

    def scratch(labelled, labels, fold, settings, seed):
        calls.append((sorted(set(fold.tolist())), seed))
        return (lambda pictures: torch.ones(len(pictures), 1)), torch.tensor([[2.0], [-2.0], [1.0], [-1.0]])

    monkeypatch.setattr(evidence, "trunk_for", lambda settings: None)
    monkeypatch.setattr(evidence.resnet, "train_from_scratch", scratch)
    result = evidence.gather(np.zeros((4, 2, 2, 3), np.uint8), np.array([1, 0, 1, 0]), NetworkSettings(), 3)
    assert calls == [([0, 1], 3)] and result.name == "small-resnet"
    assert result.labelled[:, 0] == pytest.approx(3 * np.tanh(np.array([2, -2, 1, -1]) * 3 / 0.25 / 3), abs=1e-4)
