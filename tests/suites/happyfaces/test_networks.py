"""The network methods: their losses, the backbone, and that training runs behind the same interface."""

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from countenance.errors import InputError  # noqa: E402
from countenance.suites.happyfaces.methods import METHODS, make_method  # noqa: E402
from countenance.suites.happyfaces.methods.dbat import dbat_loss  # noqa: E402
from countenance.suites.happyfaces.methods.divdis import divdis_loss  # noqa: E402
from countenance.suites.happyfaces.methods.topk import exponential_loss, topk_loss  # noqa: E402
from countenance.suites.happyfaces.networks.backbone import (  # noqa: E402
    VARIABLE,
    efficientnet_lite0,
    efficientnet_weights,
)
from countenance.suites.happyfaces.networks.training import Settings  # noqa: E402
from countenance.suites.happyfaces.networks.tuning import candidates, held_out_loss  # noqa: E402

TINY = Settings(steps=2, size=32, labelled_batch=6, unlabelled_batch=6, backbone="resnet", device="cpu")


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
    first = torch.tensor([1.0, 0.0])
    assert float(dbat_loss(first, torch.tensor([-4.0, 4.0]))) < float(dbat_loss(first, torch.tensor([4.0, -4.0])))


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


@pytest.mark.parametrize("name", ["erm", "divdis", "dbat", "topk", "topk-exp"])
def test_every_network_method_gives_two_heads_and_repeats_itself(world, name):
    pixels, labels = world.labelled.pixels[::6], world.labelled.truth()[::6, 0].astype(np.int64)
    found = [
        make_method(name, 3, settings=TINY).fit(pixels, labels, world.unlabelled.pixels[::12]).predict(pixels)
        for _ in range(2)
    ]
    assert found[0].shape == (len(pixels), 2) and ((found[0] > 0) & (found[0] < 1)).all()
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_the_fallback_uses_discovery_where_it_can_and_says_why_where_it_cannot(world):
    labels = world.labelled.truth()[:, 0].astype(np.int64)
    method = make_method("spatial-topk", 0, settings=TINY)
    clean = method.fit(world.labelled.pixels, labels, world.unlabelled.pixels)
    assert clean.notes["way"] == "spatial discovery"
    noise = np.random.default_rng(0).integers(0, 256, (24, 64, 64, 3), dtype=np.uint8)
    other = method.fit(noise, np.arange(24) % 2, noise[:12])
    assert other.notes["way"] == "top-k disagreement" and other.notes["why"]
    assert other.predict(noise[:3]).shape == (3, 2)


def test_tuning_compares_settings_without_any_validation_label(world):
    from countenance.suites.happyfaces.networks.training import to_tensor

    known, others = (to_tensor(photos.pixels[::8], TINY) for photos in (world.labelled, world.unlabelled))
    labels = world.labelled.truth()[::8, 0].astype(np.int64)

    def make(*given):
        return lambda logits, done, rows: topk_loss(logits, done)

    value = held_out_loss(known, labels, others, make, TINY, 0)
    assert np.isfinite(value)
    assert len({(c.weight, c.backbone_rate) for c in candidates(TINY)}) == len(candidates(TINY)) > 3


def test_all_methods_are_listed_with_a_file_of_their_own():
    assert {"erm", "divdis", "dbat", "topk", "topk-exp", "spatial"} <= set(METHODS)


def test_efficientnet_lite0_has_the_published_size_and_shape():
    network = efficientnet_lite0().eval()
    with torch.no_grad():
        assert network(torch.zeros(1, 3, 224, 224)).shape == (1, 1280, 7, 7)
    # 4.65 million with the classifier of 1000 classes on 1280 features
    assert abs(sum(p.numel() for p in network.parameters()) + 1281 * 1000 - 4_652_008) == 0


def test_wrong_weights_are_refused_by_name(tmp_path: Path, monkeypatch):
    path = tmp_path / "wrong.pth"
    torch.save({"a": torch.zeros(1)}, path)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(InputError, match="not the weights of EfficientNet-Lite0"):
        efficientnet_lite0(efficientnet_weights())
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing.pth"))
    with pytest.raises(InputError, match="no such file"):
        efficientnet_weights()
