"""The steps of spatial discovery with plain loops: windows, groups, templates, heads, pretrained features."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.formulas.kernel_ridge import distances, fit_platt, fit_ridge, soft_targets
from countenance.suites.happyfaces.spatial import alignment, heads
from countenance.suites.happyfaces.spatial.assumption import apart, second_head, separation
from countenance.suites.happyfaces.spatial.heads import Design, Head, choose_head, designs, with_deep
from countenance.suites.happyfaces.spatial.regions import Region, RegionGroups, normalised_cut, residuals, two_groups
from countenance.suites.happyfaces.spatial.windows import SCALES, Windows, score_windows

RNG = np.random.default_rng


def photos(n: int, height: int = 48, width: int = 64, seed: int = 0) -> np.ndarray:
    return RNG(seed).integers(0, 256, (n, height, width, 3), dtype=np.uint8)


def test_every_window_is_a_ridge_over_its_blocks():
    """4 × 4 blocks of 8 px, 3 × 3 of 12 px; the ridge is the mean eigenvalue of the centred kernel."""
    fine, target = hog.fine_votes(photos(12)), np.where(np.arange(12) % 3, 1.0, -1.0)
    result = score_windows(fine, target)
    k = 0
    for scale, (cell, side) in enumerate(((8, 4), (12, 3))):
        maps = hog.blocks(fine, cell).astype(np.float64)
        for row, column in itertools.product(*(range(n - side + 1) for n in maps.shape[1:3])):
            x = maps[:, row : row + side, column : column + side].reshape(12, -1)
            centred = x - x.mean(0)
            scores = fit_ridge(x @ x.T, target, float(np.linalg.eigvalsh(centred @ centred.T).mean())).left_out
            np.testing.assert_allclose(result.scores[k], scores, rtol=1e-3, atol=1e-4)
            assert (result.scale[k], result.row[k], result.column[k]) == (scale, row, column)
            assert result.accuracy[k] == np.mean((scores > 0) == (target > 0))
            k += 1
    assert k == len(result.scale) and result.photos == 12
    blank = score_windows(np.zeros_like(fine), target)
    assert np.isfinite(blank.scores).all(), "a window without any edge has a ridge too"


def test_groups_are_cut_by_the_squared_correlations_of_residuals():
    target = np.where(np.arange(80) % 2, 1.0, -1.0)
    errors = RNG(1).normal(size=(2, 80))[[0, 0, 0, 1, 1]] * 0.5 + RNG(2).normal(size=(5, 80))
    for best in ([0.9, 0.9, 0.8, 0.9, 0.8], [0.8, 0.9, 0.9, 0.9, 0.8]):
        built = Windows(*(np.arange(5),) * 3, target + errors, np.array(best), 80)
        groups = two_groups(built, target)
        left = np.stack(
            [row - np.where(target > 0, row[target > 0].mean(), row[target < 0].mean()) for row in target + errors]
        )
        side, cut = normalised_cut(np.maximum(np.corrcoef(left), 0) ** 2)
        assert groups.cut == pytest.approx(cut)
        means = [np.array(best)[side == way].mean() for way in (True, False)]
        assert groups.group.tolist() == np.where(side == (means[0] > means[1]), 0, 1).tolist(), (
            "the mean where the best tie"
        )


def test_groups_are_measured_by_weighted_residuals_and_shared_area():
    target = np.where(np.arange(60) % 2, 1.0, -1.0)
    scores = target + RNG(3).normal(size=(4, 60))
    built = Windows(
        np.array([0, 0, 0, 1]),
        np.array([0, 0, 2, 0]),
        np.array([0, 4, 0, 0]),
        scores,
        np.array([0.9, 0.5, 0.8, 0.6]),
        60,
    )
    result = separation(RegionGroups(built, np.array([0, 0, 1, 1]), 0.1), target, [(7, 9), (5, 5)], 0.9, 0.3)
    left = residuals(scores, target)
    second = (0.3 * left[2] + 0.1 * left[3]) / 0.4
    assert result.correlation == pytest.approx(np.corrcoef(left[0], second)[0, 1])
    assert result.overlap == pytest.approx(8 / 25), "2 × 4 shared blocks of 16 + 9; the first group has 32"


def test_bounds_themselves_are_allowed():
    assert apart(0.5, 0.25, 0.3) is None and apart(0.5, 0.2, 0.5) is None and apart(0.0, 0.2, 0.31) is None
    assert second_head(0.67, 0.66, 0.5) is None


def region(*shapes: tuple[int, int], seed: int = 0) -> Region:
    built = []
    for shape in shapes:
        weights = RNG(seed).random(shape)
        weights = weights + weights[:, ::-1]
        built.append(weights / weights.sum())
    return Region(tuple(built))


def test_a_template_is_followed_by_up_to_three_fine_squares_at_the_coarse_scale(monkeypatch):
    fine = hog.fine_votes(photos(7, 64, 64))
    shapes = [hog.grid(fine, cell) for cell, _ in SCALES]
    own = region(*shapes)
    own.weights[1][0] = 0  # the box begins in the second row
    usual = RNG(4).random((*own.root(1).shape[:2], 36)).astype(np.float32)
    result = alignment.FaceTemplate(own, usual.ravel()).shifts(fine)
    box = own.box(1)
    assert box[0] == 1 and len(alignment.SHIFTS) == 7 * 7
    weighted = usual * np.sqrt(own.weights[1][box[0] : box[1]])[:, :, None]
    for n in range(7):
        best = max(
            ((y, x) for y in range(-3, 4) for x in range(-3, 4)),
            key=lambda move: float((hog.blocks(fine[n : n + 1], 12, box, move)[0] * weighted).sum()),
        )
        assert tuple(result[n]) == best
    looks = alignment.look(fine, own, 1, result)
    for n in range(7):
        seen = hog.blocks(fine[n : n + 1], 12, box, tuple(int(v) for v in result[n]))
        both = (seen + hog.mirror(seen))[0] / 2 * np.sqrt(own.weights[1][box[0] : box[1]])[:, :, None]
        np.testing.assert_allclose(looks[n], both.ravel(), rtol=1e-5, atol=1e-6)
    calls = []
    moves = [np.full((7, 2), k) for k in range(5)]
    monkeypatch.setattr(
        alignment.FaceTemplate, "shifts", lambda self, fine: calls.append(self.usual) or moves[len(calls)]
    )
    built = alignment.make_template(fine, own)
    assert len(calls) == 2, "three templates, two moves between them"
    np.testing.assert_allclose(calls[0], alignment.look(fine, own, 1, np.zeros((7, 2), int)).mean(0), rtol=1e-5)
    np.testing.assert_allclose(built.usual, alignment.look(fine, own, 1, moves[2]).mean(0), rtol=1e-5)


def test_two_hundred_photos_are_compared_at_a_time(monkeypatch):
    fine = np.zeros((201, 20, 20, 9), np.float32)
    own = region(*(hog.grid(fine, cell) for cell, _ in SCALES))
    sizes = set()
    monkeypatch.setattr(
        alignment.hog,
        "blocks",
        lambda some, *arguments: sizes.add(len(some)) or np.zeros((len(some), *own.root(1).shape[:2], 36), np.float32),
    )
    assert alignment.FaceTemplate(own, np.zeros(own.root(1).size * 36, np.float32)).shifts(fine).shape == (201, 2)
    assert sizes == {200, 1}


def test_votes_are_moved_and_repeated_at_the_edge():
    fine = RNG(0).random((3, 5, 6, 2)).astype(np.float32)
    moves = np.array([[1, -2], [0, 0], [-3, 4]])
    result = alignment.moved(fine, moves)
    for n, (down, right) in enumerate(moves):
        for y, x in itertools.product(range(5), range(6)):
            assert (result[n, y, x] == fine[n, min(max(y + down, 0), 4), min(max(x + right, 0), 5)]).all()


def test_widths_and_ridges_are_tried_with_left_out_log_loss():
    labels = np.arange(16) % 2
    between = distances(*[(RNG(0).normal(size=(16, 3)) + labels[:, None]).astype(np.float32)] * 2)
    result = list(designs(between, 2.0, labels, (0.5, 1.0)))
    assert [(item["width"], item["ridge"]) for item in result] == list(
        itertools.product((0.5, 1.0), (0.01, 0.03, 0.1, 0.3))
    )
    for item in result:
        left_out = fit_ridge(
            np.exp(-item["width"] * between / 2.0), np.where(labels, 1.0, -1.0), item["ridge"]
        ).left_out
        platt = fit_platt(left_out, soft_targets(labels))
        assert item["log_loss"] == pytest.approx(platt.loss if platt.slope > 0 else np.log(2))
        assert item["accuracy"] == np.mean((left_out > 0) == (labels == 1))
    blind = list(designs(np.zeros((16, 16)), 1.0, labels, (1.0,)))
    weak = distances(*[(RNG(1).normal(size=(16, 3)) + 0.5 * labels[:, None]).astype(np.float32)] * 2)
    left_out = fit_ridge(np.exp(-0.5 * weak / 2.0), np.where(labels, 1.0, -1.0), 0.01).left_out
    platt = fit_platt(left_out, soft_targets(labels))
    assert 0 < platt.slope < 1 and next(designs(weak, 2.0, labels, (0.5,)))["log_loss"] == pytest.approx(platt.loss)
    assert [item["log_loss"] for item in blind] == pytest.approx([np.log(2)] * 4) and blind[0]["accuracy"] == 0


def test_a_head_is_chosen_among_regions_scales_and_widths(monkeypatch):
    fine, labels = hog.fine_votes(photos(10)), np.arange(10) % 2
    shapes = [hog.grid(fine, cell) for cell, _ in SCALES]
    candidates = {gamma: region(*shapes, seed=int(gamma)) for gamma in heads.GAMMAS}
    assert list(candidates) == [1.0, 2.0, 3.0, 4.0], "γ up to 4, as in the list of configurations"
    calls = []

    def designs(between, median, labels, widths):
        calls.append((between, median, widths))
        yield {"width": 1.0, "ridge": 0.1, "log_loss": 0.5 if len(calls) < 33 else 0.4, "accuracy": 0.7}

    monkeypatch.setattr(heads, "designs", designs)
    built = choose_head(fine, labels, candidates)
    assert len(calls) == 3 * 4 * 5 and {widths for _, _, widths in calls} == {(0.5, 1.0, 2.0)}
    assert (built.design.gamma, built.design.mix, built.design.follow) == (3.0, 0.5, True), (
        "the first of equal ones: no. 33"
    )
    still = np.zeros((10, 2), np.int64)
    far = [distances(*[alignment.look(fine, candidates[1.0], scale, still)] * 2) for scale in (0, 1)]
    for k, mix in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
        seen = mix * far[0] + (1 - mix) * far[1]
        np.testing.assert_allclose(calls[k][0], seen / np.median(seen), rtol=1e-4, atol=1e-6)
        assert calls[k][1] == pytest.approx(1.0)
    assert built.scales[1] == 1.0 and built.median == pytest.approx(1.0)
    assert heads.unit_of(np.zeros((3, 3))) == 1.0 and heads.unit_of(np.array([1.0, 2.0, 9.0])) == 2.0
    with pytest.raises(ValueError, match="no candidate region"):
        monkeypatch.setattr(heads, "MIXES", ())
        choose_head(fine, labels, candidates)


def head(fine: np.ndarray, follow: bool = False, **arguments: object) -> Head:
    own = region(*(hog.grid(fine, cell) for cell, _ in SCALES))
    template = alignment.FaceTemplate(own, np.zeros(own.root(1).size * 36, np.float32))
    design = Design(1.0, 0.25, 2.0, 0.1, follow, 0.0, 0.5, 0.8)
    return Head(design, own, template, 4.0, (0.5, 1.0), **arguments)


def test_features_are_scaled_so_that_their_distances_are_mixed():
    pictures = photos(6)
    fine = hog.fine_votes(pictures)
    item, still = head(fine), np.zeros((6, 2), np.int64)
    far = [distances(*[alignment.look(fine, item.region, scale, still)] * 2) for scale in (0, 1)]
    seen = item.features(pictures, fine)
    np.testing.assert_allclose(distances(seen, seen), (0.25 * far[0] + 0.75 * far[1]) / 0.5, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(item.kernel(seen, seen[:2]), np.exp(-2 / 4 * distances(seen, seen[:2])), rtol=1e-6)
    assert item.moves(fine).tolist() == still.tolist() and (head(fine, follow=True).moves(fine) == [-3, -3]).all()
    extra = RNG(5).normal(size=(6, 3)).astype(np.float32)
    deep = Head(
        SimpleNamespace(mix=0.25, deep=0.4, follow=False), item.region, item.template, 4.0, (0.5, 2.0), lambda *_: extra
    )
    both = deep.features(pictures, fine)
    expected = 0.6 * (0.25 * far[0] + 0.75 * far[1]) / 0.5 + 0.4 * distances(extra, extra) / 2
    np.testing.assert_allclose(distances(both, both), expected, rtol=1e-3, atol=1e-4)


def test_pretrained_features_join_where_they_save_a_tenth_of_the_log_loss(monkeypatch):
    pictures, labels = photos(9), np.arange(9) % 2
    fine = hog.fine_votes(pictures)
    item = head(fine)
    raw = (RNG(6).normal(size=(9, 4)) * [1, 2, 3, 0]).astype(np.float32)
    calls, losses = [], iter([0.45, 0.449, 0.3])

    def designs(between, median, labels, widths):
        calls.append((between, median, widths))
        yield {"width": 1.0, "ridge": 0.1, "log_loss": next(losses), "accuracy": 0.7}

    monkeypatch.setattr(heads, "designs", designs)
    built = with_deep(item, lambda *_: raw, pictures, fine, labels)
    assert built.design.deep == 0.75 and built.design.log_loss == 0.3 and built.design.mix == 0.25
    assert {widths for _, _, widths in calls} == {(0.125, 0.25, 0.5, 1.0, 2.0)}
    spread = raw.std(0) + 0.1 * raw.std(0).mean()
    extra = ((raw - raw.mean(0)) / spread).astype(np.float32)
    seen = item.features(pictures, fine)
    far, deep = distances(seen, seen), distances(extra, extra)
    for (between, median, _), share in zip(calls, (0.25, 0.5, 0.75), strict=True):
        expected = (1 - share) * far / np.median(far) + share * deep / np.median(deep)
        np.testing.assert_allclose(between, expected, rtol=1e-4, atol=1e-5)
        assert median == pytest.approx(np.median(expected), rel=1e-4)
    assert built.scales == pytest.approx((np.median(far) * 0.5, np.median(deep)), rel=1e-4)
    assert built.median == calls[2][1]
    np.testing.assert_allclose(built.deep(pictures, item.region, None), extra, rtol=1e-5)
    losses = iter([0.46, 0.45, 0.9])
    assert with_deep(item, lambda *_: raw, pictures, fine, labels) is item, "nine tenths of .5 are not enough"
