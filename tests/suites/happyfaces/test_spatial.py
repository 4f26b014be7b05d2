"""Spatial discovery, step by step and as a whole; its formulas are tested in tests/metrics."""

from pathlib import Path

import numpy as np
import pytest

from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.interface import CannotAnswer
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery, discover
from countenance.suites.happyfaces.protocol import MixTask, run
from countenance.suites.happyfaces.spatial.alignment import make_template, moved
from countenance.suites.happyfaces.spatial.assumption import apart, second_head
from countenance.suites.happyfaces.spatial.regions import Region, regions, two_groups
from countenance.suites.happyfaces.spatial.windows import SCALES, score_windows


def test_both_places_are_found_and_no_head_sees_the_other_place(world):
    labels = world.labelled.truth()[:, 0].astype(np.int64)
    target = np.where(labels == 1, 1.0, -1.0)
    fine = hog.fine_votes(world.labelled.pixels)
    groups = two_groups(score_windows(fine, target), target)
    shapes = tuple(hog.grid(fine, cell) for cell, _ in SCALES)
    writing, face = regions(groups, shapes, 1.0)
    for item, other in zip(writing.weights, face.weights, strict=True):
        assert not ((item > 0) & (other > 0)).any()
        rows = [np.average(np.arange(len(w)), weights=w.sum(1)) / len(w) for w in (item, other)]
        assert rows[0] > 0.6 > 0.5 > rows[1]  # the writing is below, the face above


def test_a_region_follows_what_moves():
    rng = np.random.default_rng(3)
    pictures = rng.normal(110, 6, (30, 112, 112, 3))
    places = rng.integers(-2, 3, (30, 2))
    disc = np.hypot(*np.mgrid[-18:18, -18:18]) < 14
    for picture, (down, right) in zip(pictures, places, strict=True):
        y, x = 38 + 4 * down, 38 + 4 * right
        picture[y : y + 36, x : x + 36][disc] += 90
    fine = hog.fine_votes(pictures.clip(0, 255).astype(np.uint8))
    weights = []
    for cell, _ in SCALES:
        own = np.zeros(hog.grid(fine, cell))
        edge = own.shape[0] // 4
        own[edge:-edge, edge:-edge] = 1
        weights.append(own / own.sum())
    moves = make_template(fine, Region(tuple(weights))).shifts(fine)
    result = moves - moves.mean(0)
    assert np.corrcoef(result.ravel(), (places - places.mean(0)).ravel())[0, 1] > 0.9
    still = np.abs(np.diff(moved(fine, moves).sum(-1), axis=0)).mean()
    assert still < np.abs(np.diff(fine.sum(-1), axis=0)).mean()


def test_both_heads_are_right_and_the_mix_rate_comes_out(world):
    for rate in (0.0, 0.3):
        record, _ = run(world, MixTask("spatial", rate, 0))
        assert record["validation"]["worst_head"] > 0.9
        assert record["not_drawn"]["worst_head"] > 0.85
        assert abs(record["notes"]["estimated_mix_rate"] - max(rate, 0.005)) < 0.1


def test_it_declines_where_both_features_share_one_place(world):
    """Shape and brightness of the same spot: the label is explained in one place, and it says so."""
    rng = np.random.default_rng(5)
    labels = np.arange(60) % 2
    pictures = rng.normal(110, 10, (60, 80, 80))
    y, x = np.mgrid[24:56, 24:56]
    for picture, label in zip(pictures, labels, strict=True):
        picture[24:56, 24:56] += 60 * np.sin(2 * np.pi * ((y if label else x) + rng.integers(0, 8)) / 8) + 40 * label
    photos = np.repeat(pictures.clip(0, 255).astype(np.uint8)[..., None], 3, -1)
    with pytest.raises(CannotAnswer, match="which spatial discovery assumes"):
        SpatialDiscovery().fit(photos, labels, photos[:20])
    assert discover(photos, labels).separation.problem


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        ((0.08, 0.03, 0.19), None),
        ((0.51, 0.0, 0.0), "one group"),
        ((0.1, 0.26, 0.0), "err on the same photos"),
        ((0.1, 0.21, 0.29), None),
        ((0.1, 0.21, 0.31), "err on the same photos"),
        ((0.1, 0.0, 0.49), None),
        ((0.1, 0.0, 0.51), "share a place"),
    ],
)
def test_groups_of_windows_are_apart_or_it_says_why_not(measured: tuple[float, float, float], text: str | None) -> None:
    result = apart(*measured)
    assert result is None if text is None else text in (result or "")


@pytest.mark.parametrize(
    ("head", "text"),
    [((0.9, 0.66, 0.3), None), ((0.66, 0.66, 0.3), "chance reaches 0.66"), ((0.74, 0.66, 0.51), "0.51 of log-loss")],
)
def test_a_second_head_knows_something_or_it_says_so(head: tuple[float, float, float], text: str | None) -> None:
    result = second_head(*head)
    assert result is None if text is None else text in (result or "")


def test_it_declines_where_nothing_explains_the_label():
    rng = np.random.default_rng(6)
    photos = rng.integers(0, 256, (40, 64, 64, 3), dtype=np.uint8)
    with pytest.raises(CannotAnswer):
        SpatialDiscovery().fit(photos, np.arange(40) % 2, photos[:10])


@pytest.mark.slow
def test_the_benchmark_photos(shared: Path, tmp_path: Path):
    """One run at 10 % on the real photos: above the record on validation and on the photos not drawn."""
    from countenance.data.adapters.happyfaces_layout import read_happyfaces
    from countenance.suites.happyfaces.printed_sets import build_official

    source = shared / "data" / "happyfaces"
    if not source.is_dir():
        pytest.skip("the HappyFaces photos are not here")
    assert build_official(source, source / "lfw_originals", tmp_path / "made") == 600
    record, _ = run(read_happyfaces(tmp_path / "made"), MixTask("spatial", 0.1, 11))
    assert record["validation"]["worst_head"] >= 0.96
    assert record["not_drawn"]["worst_head"] >= 0.94
    assert record["validation"]["heads"]["writing"]["accuracy"] == 1.0
    assert abs(record["notes"]["estimated_mix_rate"] - 0.1) < 0.05
