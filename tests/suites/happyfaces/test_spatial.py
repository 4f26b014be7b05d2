"""Spatial discovery, step by step, against independent implementations, and as a whole."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.suites.happyfaces.interface import CannotAnswer
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery, discover
from countenance.suites.happyfaces.protocol import MixTask, run
from countenance.suites.happyfaces.spatial import em, hog
from countenance.suites.happyfaces.spatial.align import make_template, moved
from countenance.suites.happyfaces.spatial.assumption import apart, second_head
from countenance.suites.happyfaces.spatial.regions import Region, normalised_cut, regions, two_groups
from countenance.suites.happyfaces.spatial.ridge import fit_platt, fit_ridge, soft_targets
from countenance.suites.happyfaces.spatial.windows import SCALES, score_windows


def test_a_moved_grid_sees_what_a_moved_picture_shows():
    picture = np.random.default_rng(0).integers(0, 256, (1, 96, 96, 3), dtype=np.uint8)
    later = np.roll(picture, (4, 8), (1, 2))
    box = (2, 5, 2, 5)
    there = hog.blocks(hog.fine_votes(later), 12, box, (1, 2))
    here = hog.blocks(hog.fine_votes(picture), 12, box)
    np.testing.assert_allclose(there, here, atol=1e-5)


def test_hog_tells_lying_from_standing_stripes_and_agrees_with_scikit_image_on_which_orientation_wins():
    from skimage.feature import hog as reference

    y, x = np.mgrid[:64, :64]
    for angle in (0.0, 0.6, 1.2, 2.2):
        wave = 127 + 100 * np.sin((x * np.cos(angle) + y * np.sin(angle)) * 0.7)
        grey = wave.astype(np.uint8)
        ours = hog.blocks(hog.fine_votes(np.repeat(grey[None, ..., None], 3, -1)), 8)[0, 3, 3].reshape(4, 9).sum(0)
        theirs = reference(grey, 9, (8, 8), (1, 1), feature_vector=False)[4, 4, 0, 0]
        apart = abs(int(ours.argmax()) - int(theirs.argmax()))
        assert min(apart, 9 - apart) <= 1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), ridge=st.floats(0.05, 5))
def test_closed_form_leave_one_out_is_leaving_one_out(seed: int, ridge: float):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(12, 4)), np.where(rng.random(12) < 0.5, -1.0, 1.0)
    kernel = x @ x.T
    whole = fit_ridge(kernel, y, ridge)
    for i in range(12):
        rest = np.arange(12) != i
        again = fit_ridge(kernel[np.ix_(rest, rest)], y[rest], ridge).score(kernel[[i]][:, rest])
        assert np.isclose(whole.left_out[i], again[0], atol=1e-6)


def test_kernel_ridge_agrees_with_scikit_learn():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    new = rng.normal(size=(7, 5))
    expected = Ridge(alpha=0.7).fit(x, y).predict(new)
    np.testing.assert_allclose(fit_ridge(x @ x.T, y, 0.7).score(new @ x.T), expected, atol=1e-8)


def test_platt_scaling_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    score = rng.normal(size=300)
    labels = (rng.random(300) < 1 / (1 + np.exp(-2 * score + 0.5))).astype(np.int64)
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], labels)
    ours = fit_platt(score, labels.astype(np.float64))
    assert np.isclose(ours.slope, reference.coef_[0, 0], atol=1e-3)
    assert np.isclose(ours.offset, reference.intercept_[0], atol=1e-3)


def test_separable_scores_do_not_give_infinite_slopes():
    labels = np.array([1] * 10 + [0] * 10)
    platt = fit_platt(np.where(labels == 1, 1.0, -1.0), soft_targets(labels))
    assert 0 < platt.slope < 10


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 8), st.integers(3, 8))
def test_the_cut_finds_two_planted_groups(seed: int, first: int, second: int):
    rng = np.random.default_rng(seed)
    n = first + second
    affinity = rng.uniform(0, 0.05, (n, n))
    affinity[:first, :first] += 0.8
    affinity[first:, first:] += 0.8
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 1)
    side, cut = normalised_cut(affinity)
    assert len(set(side[:first])) == len(set(side[first:])) == 1 and side[0] != side[-1]
    across = affinity[side][:, ~side].sum()
    assert np.isclose(cut, across / affinity[side].sum() + across / affinity[~side].sum())


def test_both_places_are_found_and_no_head_sees_the_other_place(world):
    labels = world.labelled.truth()[:, 0].astype(np.int64)
    target = np.where(labels == 1, 1.0, -1.0)
    fine = hog.fine_votes(world.labelled.pixels)
    groups = two_groups(score_windows(fine, target), target)
    shapes = tuple(hog.grid(fine, cell) for cell, _ in SCALES)
    writing, face = regions(groups, shapes, 1.0)
    for one, other in zip(writing.weights, face.weights, strict=True):
        assert not ((one > 0) & (other > 0)).any()
        rows = [np.average(np.arange(len(w)), weights=w.sum(1)) / len(w) for w in (one, other)]
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
    found = moves - moves.mean(0)
    assert np.corrcoef(found.ravel(), (places - places.mean(0)).ravel())[0, 1] > 0.9
    still = np.abs(np.diff(moved(fine, moves).sum(-1), axis=0)).mean()
    assert still < np.abs(np.diff(fine.sum(-1), axis=0)).mean()


def test_em_estimates_the_mix_rate():
    rng = np.random.default_rng(4)
    for rate in (0.1, 0.3):
        face = rng.random(4000) < 0.5
        word = np.where(rng.random(4000) < rate, ~face, face)
        p = [1 / (1 + np.exp(-(np.where(truth, 2.0, -2.0) + 2.0 * rng.normal(size=4000)))) for truth in (face, word)]
        assert abs(em.estimate_mix_rate(p[0], p[1], 0.1) - rate) < 0.05


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
    ("measured", "said"),
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
def test_groups_of_windows_are_apart_or_it_says_why_not(measured: tuple[float, float, float], said: str | None) -> None:
    found = apart(*measured)
    assert found is None if said is None else said in (found or "")


@pytest.mark.parametrize(
    ("head", "said"),
    [((0.9, 0.66, 0.3), None), ((0.66, 0.66, 0.3), "chance reaches 0.66"), ((0.74, 0.66, 0.51), "0.51 of log-loss")],
)
def test_a_second_head_knows_something_or_it_says_so(head: tuple[float, float, float], said: str | None) -> None:
    found = second_head(*head)
    assert found is None if said is None else said in (found or "")


def test_it_declines_where_nothing_explains_the_label():
    rng = np.random.default_rng(6)
    photos = rng.integers(0, 256, (40, 64, 64, 3), dtype=np.uint8)
    with pytest.raises(CannotAnswer):
        SpatialDiscovery().fit(photos, np.arange(40) % 2, photos[:10])


@pytest.mark.slow
def test_the_benchmark_photos(shared: Path, tmp_path: Path):
    """One run at 10 % on the real photos: above the record on validation and on the photos not drawn."""
    from countenance.suites.happyfaces.build import build_official
    from countenance.suites.happyfaces.dataset import read_happyfaces

    source = shared / "data" / "happyfaces"
    if not source.is_dir():
        pytest.skip("the HappyFaces photos are not here")
    assert build_official(source, source / "lfw_originals", tmp_path / "made") == 600
    record, _ = run(read_happyfaces(tmp_path / "made"), MixTask("spatial", 0.1, 11))
    assert record["validation"]["worst_head"] >= 0.96
    assert record["not_drawn"]["worst_head"] >= 0.94
    assert record["validation"]["heads"]["writing"]["accuracy"] == 1.0
    assert abs(record["notes"]["estimated_mix_rate"] - 0.1) < 0.05
