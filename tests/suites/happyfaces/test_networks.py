"""The network methods: their losses, the trunk, the local layer, the heads, tuning, and the sweep's tool."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from countenance.errors import InputError  # noqa: E402
from countenance.learning.efficientnet import (  # noqa: E402
    STAGES,
    VARIABLE,
    efficientnet_lite0,
    efficientnet_weights,
    pretrained_network,
)
from countenance.suites.happyfaces.methods import METHODS, make_method  # noqa: E402
from countenance.suites.happyfaces.methods.dbat import dbat_loss  # noqa: E402
from countenance.suites.happyfaces.methods.divdis import divdis_loss  # noqa: E402
from countenance.suites.happyfaces.methods.topk import exponential_loss, topk_loss  # noqa: E402
from countenance.suites.happyfaces.networks import evidence, tuning  # noqa: E402
from countenance.suites.happyfaces.networks.training import NetworkSettings  # noqa: E402
from countenance.suites.happyfaces.protocol import MixTask, run  # noqa: E402
from countenance.suites.happyfaces.scores import worst_head  # noqa: E402

TINY = NetworkSettings(backbone="resnet", size=64, resnet_steps=2, steps=3, restarts=2, device="cpu")
NETWORKS = ("erm", "divdis", "dbat", "topk", "topk-exp")


def two_features(matched: int, cross: int, seed: int):
    """Evidence of 30 places: ten know the word for sure, five the face nearly, the rest nothing; and the truth."""
    rng = np.random.default_rng(seed)
    face = np.arange(matched + cross) % 2
    word = np.where(np.arange(matched + cross) < matched, face, 1 - face)
    noise = rng.normal(0, 1, (matched + cross, 30))
    sign = np.concatenate([np.tile(word[:, None], 10), np.tile(face[:, None], 5)], 1) * 2 - 1
    noise[:, :15] = noise[:, :15] * np.repeat([0.3, 0.9], (10, 5)) + sign * np.repeat([3.0, 1.8], (10, 5))
    return torch.as_tensor(noise).float(), np.stack([face, word], 1) == 1


def test_divdis_is_mutual_information_plus_distance_from_the_prior():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, (50, 2))
    joint = np.array([[(a * b).mean() for b in (p[:, 1], 1 - p[:, 1])] for a in (p[:, 0], 1 - p[:, 0])])
    rows, columns = joint.sum(1), joint.sum(0)
    information = (joint * np.log(joint / np.outer(rows, columns))).sum()
    prior = np.array([0.4, 0.6])
    off = (rows * np.log(rows / prior)).sum() + (columns * np.log(columns / prior)).sum()
    ours = divdis_loss(torch.logit(torch.tensor(p)), 1.0, 0.4)
    assert np.isclose(float(ours), information + off, atol=1e-5)


def test_dbat_rewards_disagreement():
    first = torch.tensor([[1.0], [0.0]])
    apart, same = torch.tensor([[-4.0], [4.0]]), torch.tensor([[4.0], [-4.0]])
    assert float(dbat_loss(first, apart)) < float(dbat_loss(first, same))


def test_topk_looks_at_the_easiest_photos_only_and_starts_from_none():
    logits = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    assert float(topk_loss(logits, 0.0)) == 0
    softplus = np.logaddexp
    z = logits.numpy()
    easiest = sum(np.sort(softplus(0, -sign * z[:, 0]) + softplus(0, sign * z[:, 1]))[:5].mean() for sign in (1, -1))
    assert np.isclose(float(topk_loss(logits, 1.0)), easiest, atol=1e-5)
    fading = sum(
        (np.sort(softplus(0, -sign * z[:, 0]) + softplus(0, sign * z[:, 1])) * np.exp(-np.arange(100))).sum()
        for sign in (1, -1)
    )
    assert np.isclose(float(exponential_loss(logits, 1.0)), fading, atol=1e-4)


@pytest.mark.parametrize("loss", [divdis_loss, topk_loss, exponential_loss])
def test_a_loss_of_many_runs_is_each_run_s_own(loss):
    logits = torch.randn(3, 2, 40, 2, generator=torch.Generator().manual_seed(1))
    together = loss(logits, 0.6)
    assert together.shape == (3, 2)
    assert torch.allclose(together[2, 1], loss(logits[2, 1], 0.6), atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_disagreement_finds_both_features_and_the_labels_alone_do_not(name):
    known, truth = two_features(120, 0, 0)
    others, _ = two_features(90, 30, 1)
    new, answers = two_features(100, 100, 2)
    method = make_method(name)
    heads = method.train(known[None], torch.as_tensor(truth[:, 0]), others[None], method.settings, [0])
    result = worst_head((heads.logits(new[None])[0] > 0).numpy(), answers)
    assert result < 0.6 if name == "erm" else result > 0.85


@pytest.mark.parametrize("name", ["divdis", "dbat"])
def test_a_batch_of_runs_gives_what_single_runs_give(name):
    sets = [two_features(40, 0, seed)[0] for seed in (0, 1)], [two_features(30, 10, seed)[0] for seed in (2, 3)]
    labels = torch.arange(40) % 2
    method, few = make_method(name), NetworkSettings(steps=40, restarts=3)
    batch = method.train(torch.stack(sets[0]), labels, torch.stack(sets[1]), few, [5, 6])
    alone = method.train(sets[0][1][None], labels, sets[1][1][None], few, [6])
    torch.testing.assert_close(batch.weights[1], alone.weights[0], atol=1e-3, rtol=1e-3)


class Pixels:
    """A trunk whose map is the picture itself, so that a test knows what each place knows."""

    name = "pixels"

    def __call__(self, pictures):
        maps = torch.from_numpy(pictures.copy()).float().permute(0, 3, 1, 2)
        return torch.stack([maps, maps.flip(3)], 1)


def test_a_labelled_photo_s_evidence_comes_from_units_that_never_saw_it(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    pictures = rng.integers(0, 256, (40, 4, 4, 60)).astype(np.uint8)
    pictures[:, 3, :, :20] = 40 + 170 * labels[:, None, None]
    monkeypatch.setattr(evidence, "trunk_for", lambda settings: Pixels())
    result = evidence.gather(pictures, labels, NetworkSettings(window=1), 0)
    right = ((result.labelled > 0).numpy() == (labels == 1)[:, None]).mean(0)
    assert right[12:].min() > 0.95  # the row that knows the label
    assert right[:12].max() < 0.8  # the rest, which could have learnt 40 labels by heart from 60 channels
    assert result.labelled.abs().mean(0)[:12].max() < result.labelled.abs().mean(0)[12:].min() / 2
    assert result.labelled.abs().max() <= NetworkSettings().ceiling and result(pictures).shape == (40, 16)


def test_folds_hold_both_classes_evenly():
    labels = np.array([0] * 10 + [1] * 20)
    fold = evidence.folds_of(labels, 5, 3)
    assert [int(((fold == k) & (labels == 1)).sum()) for k in range(5)] == [4] * 5
    assert [int(((fold == k) & (labels == 0)).sum()) for k in range(5)] == [2] * 5


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_method_gives_two_heads_and_repeats_itself(world, name):
    pixels, labels = world.labelled.pixels[::6], world.labelled.truth()[::6, 0].astype(np.int64)
    result = [
        make_method(name, 3, settings=TINY).fit(pixels, labels, world.unlabelled.pixels[::12]).predict(pixels)
        for _ in range(2)
    ]
    assert result[0].shape == (len(pixels), 2) and ((result[0] > 0) & (result[0] < 1)).all()
    np.testing.assert_allclose(result[0], result[1], atol=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(efficientnet_weights() is None, reason="the weights of EfficientNet-Lite0 are not installed")
def test_divdis_with_the_pretrained_trunk_separates_the_small_world(world):
    record, heads = run(world, MixTask("divdis", 0.5, 0))
    assert heads is not None and heads.notes["network"] == "efficientnet-lite0"
    assert record["validation"]["worst_head"] > 0.85


def test_the_fallback_uses_discovery_where_it_can_and_says_why_where_it_cannot(world):
    labels = world.labelled.truth()[:, 0].astype(np.int64)
    method = make_method("spatial-topk", 0, settings=TINY)
    clean = method.fit(world.labelled.pixels, labels, world.unlabelled.pixels)
    assert clean.notes["way"] == "spatial discovery"
    noise = np.random.default_rng(0).integers(0, 256, (24, 64, 64, 3), dtype=np.uint8)
    other = method.fit(noise, np.arange(24) % 2, noise[:12])
    assert other.notes["way"] == "top-k disagreement" and other.notes["why"]
    assert other.predict(noise[:3]).shape == (3, 2)


def test_tuning_prefers_settings_that_find_both_features_without_a_validation_label():
    known, truth = two_features(120, 0, 0)
    others = two_features(90, 30, 1)[0]
    method, labels = make_method("divdis"), torch.as_tensor(truth[:, 0])
    blind, good = NetworkSettings(weight=0.0, decay=0.01), NetworkSettings()
    tried = [(s, tuning.held_out(method, known[None], labels, others[None], s, [0])) for s in (blind, good)]
    assert tried[0][1].own_loss > tried[1][1].own_loss
    assert tuning.choose(tried) == good
    assert len({(c.weight, c.decay, c.smoothing) for c in tuning.candidates(good)}) == 24


def test_all_methods_are_listed_with_a_file_of_their_own():
    assert {"erm", "divdis", "dbat", "topk", "topk-exp", "spatial"} <= set(METHODS)


def random_weights() -> dict:
    """Parameters under their published names, without the head and the classifier."""
    built = torch.Generator().manual_seed(0)
    stored = {}

    def add(conv: str, norm: str, *shape: int) -> None:
        stored[f"{conv}.weight"] = torch.randn(shape, generator=built) / (shape[1] * shape[2] * shape[3]) ** 0.5
        for part in ("running_mean", "bias"):
            stored[f"{norm}.{part}"] = torch.rand(shape[0], generator=built) - 0.5
        for part in ("running_var", "weight"):
            stored[f"{norm}.{part}"] = torch.rand(shape[0], generator=built) + 0.5

    add("_conv_stem", "_bn0", 32, 3, 3, 3)
    number, inward = 0, 32
    for count, kernel, _, expansion, outward in STAGES:
        for _ in range(count):
            name, inner = f"_blocks.{number}.", inward * expansion
            if expansion > 1:
                add(f"{name}_expand_conv", f"{name}_bn0", inner, inward, 1, 1)
            add(f"{name}_depthwise_conv", f"{name}_bn1", inner, 1, kernel, kernel)
            add(f"{name}_project_conv", f"{name}_bn2", outward, inner, 1, 1)
            number, inward = number + 1, outward
    return stored


def test_efficientnet_lite0_has_the_published_size_and_shape():
    stored = random_weights()
    learnt = sum(value.numel() for name, value in stored.items() if "running" not in name)
    # 4.65 million with the last convolution, its normalisation, and the classifier of 1000 classes on 1280 features
    assert learnt + 320 * 1280 + 2 * 1280 + 1281 * 1000 == 4_652_008
    maps = efficientnet_lite0(stored)(torch.zeros(1, 3, 224, 224), 8, 16)
    assert [tuple(item.shape) for item in maps] == [(1, 80, 14, 14), (1, 320, 7, 7)]


def test_blocks_with_folded_normalisation_are_the_published_blocks():
    """The stem and two blocks, layer by layer: convolution padded as TensorFlow pads, normalisation, ReLU6."""
    stored, functional = random_weights(), torch.nn.functional

    def layer(x, conv, norm, stride=1, after=None, pad=(0, 0, 0, 0), groups=1):
        x = functional.conv2d(functional.pad(x, pad), stored[f"{conv}.weight"], stride=stride, groups=groups)
        parts = [stored[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        x = functional.batch_norm(x, *parts, eps=1e-3)
        return x.clamp(0, 6) if after else x

    picture = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    x = layer(picture, "_conv_stem", "_bn0", 2, True, (0, 1, 0, 1))
    b = "_blocks.0."
    x = layer(x, f"{b}_depthwise_conv", f"{b}_bn1", 1, True, (1, 1, 1, 1), 32)
    first = layer(x, f"{b}_project_conv", f"{b}_bn2")
    x = first
    for number, stride, pad in ((1, 2, (0, 1, 0, 1)), (2, 1, (1, 1, 1, 1))):
        b = f"_blocks.{number}."
        y = layer(x, f"{b}_expand_conv", f"{b}_bn0", 1, True)
        y = layer(y, f"{b}_depthwise_conv", f"{b}_bn1", stride, True, pad, y.shape[1])
        y = layer(y, f"{b}_project_conv", f"{b}_bn2")
        x = x + y if number == 2 else y
    ours = efficientnet_lite0(stored)(picture, 1, 3)
    for item, other in zip(ours, (first, x), strict=True):
        torch.testing.assert_close(item, other, atol=1e-4, rtol=1e-4)


def test_wrong_weights_are_refused_by_name(tmp_path: Path, monkeypatch):
    path = tmp_path / "wrong.pth"
    torch.save({"a": torch.zeros(1)}, path)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(InputError, match="not the weights of EfficientNet-Lite0"):
        pretrained_network("a test")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing.pth"))
    with pytest.raises(InputError, match="no such file"):
        efficientnet_weights()


@pytest.mark.slow
def test_the_sweep_s_tool_gives_what_a_single_run_gives(world, write_world, tmp_path: Path):
    spec = importlib.util.spec_from_file_location("tool", Path(__file__).parents[3] / "tools" / "happyfaces_gpu.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    write_world(world, tmp_path / "data", lambda number: f"{number:03d}")
    tool.pack(tmp_path / "data", tmp_path / "packed")
    some = replace(TINY, steps=60, resnet_steps=8)
    data = tool.Data(tmp_path / "packed", some)
    np.testing.assert_array_equal(data.validation.pixels, world.validation.pixels)
    records = tool.run(data, make_method("divdis"), some, [(0.2, 0), (0.2, 1)])
    single, _ = run(world, MixTask("divdis", 0.2, 1, (("settings", some),)))
    for name in ("validation", "not_drawn"):
        assert records[1][name]["photos"] == single[name]["photos"]
        assert abs(records[1][name]["worst_head"] - single[name]["worst_head"]) < 0.05
    row = tool.table(records)[0]
    assert row["n"] == 2 and np.isclose(
        row["worst_head_mean"], np.mean([r["validation"]["worst_head"] for r in records]), atol=1e-4
    )
