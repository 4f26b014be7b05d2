"""The networks' formulas computed a second time: losses, heads, local layer, small ResNet, tuning, settings."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
functional = torch.nn.functional

from countenance.suites.happyfaces.methods import dbat, divdis, make_method, topk  # noqa: E402
from countenance.suites.happyfaces.methods.spatial_topk import FallbackTopK  # noqa: E402
from countenance.suites.happyfaces.networks import evidence, heads, resnet, tuning  # noqa: E402
from countenance.suites.happyfaces.networks.heads import TwoHeads  # noqa: E402
from countenance.suites.happyfaces.networks.training import NetworkSettings  # noqa: E402

RESULTS = json.loads((Path(__file__).parents[3] / "docs" / "results" / "happyfaces_networks.json").read_text())


def noise(*shape: int, seed: int = 0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_settings_are_those_of_the_published_runs():
    assert asdict(NetworkSettings()) == RESULTS["settings"]
    for name, chosen in RESULTS["chosen"].items():
        assert make_method(name).settings == NetworkSettings(**chosen), name
    assert FallbackTopK().settings == NetworkSettings(smoothing=0.1), "smoothing was chosen on rendered people"
    tried = [tuple(row[key] for key in ("weight", "decay", "smoothing")) for row in RESULTS["tuning"]["divdis"]]
    assert [(item.weight, item.decay, item.smoothing) for item in tuning.candidates(NetworkSettings())] == tried
    assert "right on 95 % of" in RESULTS["tuning_rule"] and tuning.GATE == 0.95


def test_losses_rise_in_the_first_part_of_the_time():
    logits = noise(60, 2)
    for loss, ramp in ((divdis.divdis_loss, 0.25), (topk.exponential_loss, 0.5)):
        full = float(loss(logits, 1.0))
        assert float(loss(logits, ramp)) == pytest.approx(full) and float(loss(logits, 0.9)) == pytest.approx(full)
        assert float(loss(logits, ramp / 2)) == pytest.approx(full / 2) and float(loss(logits, 0.0)) == 0
    assert float(divdis.divdis_loss(logits, 1.0)) == pytest.approx(float(divdis.divdis_loss(logits, 1.0, 0.5)))
    many = noise(400, 2)
    z = many.numpy()
    easy = [np.sort(np.logaddexp(0, -s * z[:, 0]) + np.logaddexp(0, s * z[:, 1])) for s in (1, -1)]
    for done, k in ((0.5, 20), (1.0, 20), (0.25, 10), (0.05, 2), (0.013, 1)):  # k = 400 · .1 / 2, from half the time on
        assert float(topk.topk_loss(many, done)) == pytest.approx(sum(e[:k].mean() for e in easy), rel=1e-5)
    assert float(topk.topk_loss(many, 0.012)) == 0, "below a half of a photo"
    assert topk.topk_loss(noise(3, 5, 8, 2), 1.0).shape == (3, 5)
    for first, expected in ((True, 0.0), (False, 18.0)):
        assert float(topk.pair_losses(torch.tensor([[9.0, -9.0]]), first)) == pytest.approx(expected, abs=0.01)


def test_dbat_is_minus_the_logarithm_of_the_probability_of_disagreement():
    p, z = np.array([[1.0], [0.3], [0.0]]), np.array([[40.0], [0.5], [-1.0]])
    q = 1 / (1 + np.exp(-z))
    expected = -np.log(p * (1 - q) + (1 - p) * q + 1e-7).mean()
    assert float(dbat.dbat_loss(torch.tensor(p), torch.tensor(z))) == pytest.approx(expected, rel=1e-6)
    logits = noise(4, 30, 2)
    item, two = logits[..., :1].sigmoid(), logits[..., 1:]
    assert torch.equal(make_method("dbat").own_loss(logits), dbat.dbat_loss(item, two))
    assert make_method("erm").own_loss(logits).tolist() == [0.0] * 4
    assert torch.equal(make_method("divdis").own_loss(logits), divdis.divdis_loss(logits, 1.0, 0.5))


def test_the_second_model_of_dbat_starts_elsewhere_and_is_told_the_first(monkeypatch):
    calls = []

    def train(known, labels, others, loss, settings, seeds):
        calls.append((loss, list(seeds)))
        k = len(calls)
        return TwoHeads(noise(2, 2, 3, seed=k), noise(2, 2, seed=k), torch.full((2,), float(k)))

    monkeypatch.setattr(dbat, "train_heads", train)
    others = noise(2, 7, 3)
    built = make_method("dbat").train(noise(2, 5, 3), None, others, NetworkSettings(), [4, 5])
    assert calls[0] == (None, [4, 5]) and calls[1][1] == [10_004, 10_005]
    assert torch.equal(built.weights, torch.stack([noise(2, 2, 3, seed=1)[:, 0], noise(2, 2, 3, seed=2)[:, 0]], 1))
    assert torch.equal(built.biases, torch.stack([noise(2, 2, seed=1)[:, 0], noise(2, 2, seed=2)[:, 0]], 1))
    assert dbat.DBat().seed == 0 and built.objective.tolist() == [2, 2]
    first = TwoHeads(noise(2, 2, 3, seed=1), noise(2, 2, seed=1), None).logits(others)[:, :, :1].sigmoid()
    arguments = noise(2, 6, 7, 2)
    assert torch.equal(calls[1][0](arguments, 0.5, 0.5), dbat.dbat_loss(first[:, None], arguments))


@pytest.fixture
def steps(monkeypatch):
    """Instead of going down, the loss is kept with its optimiser."""
    stored = SimpleNamespace()

    def minimise(optimiser, count, loss, rise=0.0):
        stored.__dict__.update(optimiser=optimiser, count=count, loss=loss, rise=rise)
        stored.group = optimiser.param_groups[0]

    for module in (heads, evidence, resnet):
        monkeypatch.setattr(module, "minimise", minimise)
    return stored


def test_heads_are_trained_on_labels_the_method_s_loss_and_weight_decay(steps):
    known, others, labels = noise(2, 12, 5), noise(2, 9, 5, seed=1), torch.arange(12) % 3 == 0
    s = NetworkSettings(smoothing=0.1, warm=0.2, weight=0.7, decay=0.05, restarts=3, start=0.3)
    words = []

    def loss(logits, done, prior):
        words.append((done, prior))
        return logits.square().mean((-1, -2))

    built = heads.train_heads(known, labels, others, loss, s, [7, 8])
    weights, biases = steps.group["params"]
    assert torch.allclose(weights[1], noise(3, 2, 5, seed=8) * 0.3 / 5**0.5) and not biases.any()
    assert (steps.count, steps.rise, steps.group["lr"], steps.group["betas"]) == (300, 0.05, 0.02, (0.9, 0.98))
    with torch.no_grad():
        biases += noise(2, 3, 2, seed=3)
    target = np.where(labels, 0.9, 0.1)

    def by_hand(run, start, done):
        w, b = weights[run, start].detach().numpy(), biases[run, start].detach().numpy()
        z, u = known[run].numpy() @ w.T + b, others[run].numpy() @ w.T + b
        total = (np.logaddexp(0, z) - z * target[:, None]).sum(1).mean() + 0.05 * (w**2).sum()
        return total + (0.7 * (u**2).mean() if done > 0.2 else 0)

    for done in (0.1, 0.2, 0.6, 1.0):
        expected = sum(by_hand(run, start, done) for run in (0, 1) for start in (0, 1, 2))
        assert float(steps.loss(done).detach()) == pytest.approx(expected, rel=1e-5)
    assert words[-1] == pytest.approx((1.0, 4 / 12)) and words[-2] == pytest.approx((0.5, 4 / 12))
    ended = [[0.0] * 3 for _ in range(2)]
    with torch.no_grad():
        biases -= noise(2, 3, 2, seed=3)
    for run in (0, 1):
        ended[run] = [by_hand(run, start, 1.0) for start in (0, 1, 2)]
        best = int(np.argmin(ended[run]))
        assert float(built.objective[run]) == pytest.approx(ended[run][best], rel=1e-5)
        assert torch.equal(built.weights[run], weights[run, best].detach())
    assert built.logits(known).shape == (2, 12, 2)


def test_held_out_halves_are_measured_with_the_other_half_s_heads():
    known, others, labels = noise(1, 10, 4), noise(1, 8, 4, seed=1), (torch.arange(10) % 2 == 0).long()
    seen = []

    class Method:
        def train(self, fit, target, unlabelled, settings, seeds):
            seen.append((fit[0].numpy(), unlabelled[0].numpy()))
            return TwoHeads(noise(1, 2, 4, seed=len(seen)), noise(1, 2, seed=len(seen)), None)

        def own_loss(self, logits):
            return logits.square().mean((-1, -2))

    result = tuning.held_out(Method(), known, labels, others, NetworkSettings(), [3])
    rng = np.random.default_rng([3])
    halves = [np.array_split(rng.permutation(n), 2) for n in (10, 8)]
    expected = []
    for k in (0, 1):
        rows, rest = halves[0][1 - k], halves[1][1 - k]
        assert (seen[k][0] == known[0].numpy()[halves[0][k]]).all()
        assert (seen[k][1] == others[0].numpy()[halves[1][k]]).all()
        w, b = noise(1, 2, 4, seed=k + 1)[0].numpy(), noise(1, 2, seed=k + 1)[0].numpy()
        z, u, t = known[0].numpy()[rows] @ w.T + b, others[0].numpy()[rest] @ w.T + b, labels.numpy()[rows][:, None]
        expected.append([(np.logaddexp(0, z) - z * t).sum(1).mean(), ((z > 0) == (t > 0)).mean(0).min(), (u**2).mean()])
    assert asdict(result) == pytest.approx(dict(zip(asdict(result), np.mean(expected, 0), strict=True)), rel=1e-5)
    assert result.value == pytest.approx(result.cross_entropy + result.own_loss)
    least = [(NetworkSettings(weight=w), tuning.HeldOut(c, a, 0.1)) for w, c, a in ((1, 0.4, 0.95), (2, 0.3, 0.949))]
    both = [*least, (NetworkSettings(weight=3), tuning.HeldOut(0.2, 0.99, 0.1))]
    edge = [least[0], (NetworkSettings(weight=4), tuning.HeldOut(0.9, 0.99, 0.1))]
    assert tuning.choose(edge).weight == 1, "95 % are enough"
    assert tuning.choose(both).weight == 3, "the lowest of those that pass"
    assert tuning.choose(least).weight == 1 and tuning.choose(least[1:]).weight == 2


def test_places_are_calibrated_by_their_classes_means_and_common_variance():
    scores, happy = noise(20, 3), torch.arange(20) < 8
    scores[:8, 0] += 2
    scores[:8, 1] -= 2  # the wrong way round: knows nothing
    scores[:, 2] = torch.where(happy, 0.2, 0.0)  # no spread at all
    up, down = scores[:8].numpy().astype(float), scores[8:].numpy().astype(float)
    gain = np.maximum(up.mean(0) - down.mean(0), 0) / ((up.var(0) + down.var(0)) / 2 + 1e-6)
    expected = 1.5 * np.tanh((scores.numpy() - (up.mean(0) + down.mean(0)) / 2) * gain / 1.5)
    np.testing.assert_allclose(evidence.calibrate(scores, happy, 1.5)(scores).numpy(), expected, atol=1e-4)
    assert not expected[:, 1].any() and expected[0, 2] == pytest.approx(1.5)
    tight = torch.tensor([[0.001], [0.0]])
    result = evidence.calibrate(tight, torch.tensor([True, False]), 1000.0)(tight)
    assert float(result[0]) == pytest.approx(1000 * np.tanh(0.0005 * 0.001 / 1e-6 / 1000), rel=1e-4)


def test_folds_are_drawn_from_the_seed():
    labels = np.array([1, 0, 0, 1, 1, 0, 1, 1])
    rng, expected = np.random.default_rng([5, 2]), np.zeros(8, int)
    for value in (0, 1):
        for k, row in enumerate(rng.permutation(np.flatnonzero(labels == value))):
            expected[row] = k % 3
    assert evidence.folds_of(labels, 3, 5).tolist() == expected.tolist()


def test_units_are_trained_on_the_other_folds(steps):
    seen, target, fold = noise(3, 8, 4), (torch.arange(8) % 2).float(), torch.arange(8) % 2
    fold[0] = 1
    s = NetworkSettings(folds=2, local_decay=0.1)
    built = evidence._train_units(seen, target, fold, s)
    assert [tuple(item.shape) for item in built] == [(2, 3, 4), (2, 3)] and not built[0].any() and not built[1].any()
    assert (steps.count, steps.group["lr"], steps.group["betas"]) == (30, 0.12, (0.9, 0.98))
    weights, biases = steps.group["params"]
    with torch.no_grad():
        weights += noise(2, 3, 4, seed=1)
        biases += noise(2, 3, seed=2)
    total = 0.1 * float((weights.detach() ** 2).sum())
    for f in (0, 1):
        rows = np.flatnonzero(fold.numpy() != f)
        for place in range(3):
            z = seen[place].numpy()[rows] @ weights[f, place].detach().numpy() + float(biases[f, place].detach())
            total += (np.logaddexp(0, z) - z * target.numpy()[rows]).mean()
    assert float(steps.loss(0.0).detach()) == pytest.approx(total, rel=1e-5)


def test_a_place_s_score_is_the_mean_over_photo_and_mirror_image(monkeypatch):
    weights, biases = noise(2, 4, 12, seed=1), noise(2, 4, seed=2)
    monkeypatch.setattr(evidence, "_train_units", lambda *arguments: (weights, biases))
    calls = []

    def trunk(pictures):
        calls.append(len(pictures))
        maps = torch.from_numpy(pictures).float().permute(0, 3, 1, 2) / 1e5  # so small that the added 1e-6 shows
        return torch.stack([maps, maps.flip(3)], 1)

    photos = np.random.default_rng(0).integers(0, 256, (101, 3, 3, 3)).astype(np.uint8)
    fold = np.arange(101) % 2
    scores, left_out = evidence.train_on_trunk(trunk, photos, fold, fold, NetworkSettings(window=2, folds=2))
    result = scores(photos).numpy()
    assert calls == [101, 100, 1], "a hundred photos at a time"
    maps = np.stack([photos, photos[:, :, ::-1]], 1).transpose(0, 1, 4, 2, 3) / 1e5  # photo, side, channel, y, x
    flat = maps.transpose(2, 0, 1, 3, 4).reshape(3, -1)
    maps = (maps - maps.mean((0, 1))) / (flat.std(1, ddof=1)[:, None, None] + 1e-6)
    for n in (0, 7, 100):
        for place, (y, x) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
            windows = [maps[n, side, :, y : y + 2, x : x + 2].ravel() / 12**0.5 for side in (0, 1)]
            w, b = weights.numpy()[:, place].astype(float), biases.numpy()[:, place]
            own = np.mean([w[fold[n]] @ window + b[fold[n]] for window in windows])
            assert float(left_out[n, place]) == pytest.approx(own, abs=1e-4)
            assert result[n, place] == pytest.approx(
                np.mean([w.mean(0) @ window for window in windows]) + b.mean(), abs=1e-4
            )


def test_the_trunk_sees_photo_and_mirror_image_in_small_batches(monkeypatch):
    calls = []

    def network(x, blocks):
        calls.append((tuple(x.shape), blocks))
        return [x]

    monkeypatch.setattr(evidence, "pretrained_network", lambda *arguments, **more: network)
    photos = np.random.default_rng(0).integers(0, 256, (5, 6, 6, 3), dtype=np.uint8)
    built = evidence.Trunk(7, 6, "cpu")(photos)
    assert calls == [((4, 3, 6, 6), 7)] * 2 + [((1, 3, 6, 6), 7)] * 2 and built.shape == (5, 2, 3, 6, 6)
    assert torch.equal(built[:, 0].flip(3), built[:, 1]) and built.dtype == torch.float32
    monkeypatch.setattr(evidence, "trunk_of", lambda *arguments: arguments)
    for backbone, weights, result in (
        ("resnet", "there", None),
        ("auto", None, None),
        ("auto", "there", (8, 224, "cpu")),
        ("efficientnet", None, (8, 224, "cpu")),
    ):
        monkeypatch.setattr(evidence, "efficientnet_weights", lambda weights=weights: weights)
        assert evidence.trunk_for(NetworkSettings(backbone=backbone, device="cpu")) == result
    monkeypatch.undo()
    assert evidence.trunk_of.cache_parameters()["maxsize"] == 2 and evidence._BATCH.get("cuda", 250) == 250
