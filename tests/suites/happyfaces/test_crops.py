"""Crops of discovered regions and their pretrained features; how discovery puts its heads together."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.suites.happyfaces.formulas import hog, two_views
from countenance.suites.happyfaces.interface import CannotAnswer
from countenance.suites.happyfaces.methods import spatial
from countenance.suites.happyfaces.methods.spatial import Discovery, SpatialDiscovery, SpatialDiscoveryDeep
from countenance.suites.happyfaces.spatial import deep
from countenance.suites.happyfaces.spatial.regions import Region


def test_the_crop_holds_blocks_of_half_the_heaviest_weight_and_is_widened_to_the_middle():
    coarse = np.zeros((9, 12))
    coarse[3, 2], coarse[4, 5], coarse[6, 9] = 1.0, 0.5, 0.49
    # 12 px cells: 10 and 13 of them are 120 and 156 px, centred in 130 × 170
    box = deep.crop_box(Region((np.zeros((1, 1)), coarse)), 130, 170)
    left, right = 7 + 12 * 2, 7 + 12 * 7
    assert box == (5 + 12 * 3, 5 + 12 * 6, min(left, 170 - right), max(right, 170 - left)) == (41, 77, 31, 139)
    coarse[:] = 0
    coarse[2, 9] = 1
    assert deep.crop_box(Region((coarse, coarse)), 130, 170) == (29, 53, 170 - 139, 139)
    coarse[2, 6] = 1
    coarse[2, 10] = 1
    assert deep.crop_box(Region((coarse, coarse)), 130, 170) == (29, 53, 170 - 151, 151)


def test_eight_views_as_documented():
    """Moved by 5 px, turned by 10° and scaled."""
    moved = [(-5, 0), (5, 0), (0, -5), (0, 5)]
    assert [tuple(view) for view in deep.VIEWS] == [
        (0, 0, 0, 1.0),
        *((*move, 0, 1.0) for move in moved),
        (0, 0, -10, 1.0),
        (0, 0, 10, 1.0),
        (0, 0, 0, 0.85),
    ]
    assert deep.DEPTHS == (8, 11) and deep.SIZE == 96 and len(deep.VIEWS) == 8


@pytest.mark.parametrize("view", [(0, 0, 0, 1.0), (-7, 0, 0, 1.0), (0, 9, 0, 1.0), (0, 0, 30, 1.0), (3, -4, -20, 0.7)])
def test_a_crop_is_moved_turned_and_scaled_about_its_middle(view):
    y, x = np.mgrid[0:240, 0:240]
    photo = np.stack([x, y, (x + y) // 2], -1).astype(np.uint8)  # each pixel tells where it is
    result = deep._crop(photo, (60, 132, 70, 166), np.array([2, -3]), view).astype(float)
    down, across, degrees, scale = view
    angle = np.radians(degrees)
    for i, j in ((0, 0), (0, 95), (95, 0), (47, 48), (80, 20)):
        u, v = (j + 0.5 - 48) * scale * 96 / 96, (i + 0.5 - 48) * scale * 72 / 96
        right = 118 - 3 * 4 + across + np.cos(angle) * u - np.sin(angle) * v - 0.5
        below = 96 + 2 * 4 + down + np.sin(angle) * u + np.cos(angle) * v - 0.5
        lost = np.array([right, below]) - result[i, j, :2]  # Pillow cuts the fraction off
        assert lost.min() > -0.01 and lost.max() < 1.01
    assert result.shape == (96, 96, 3)


def test_features_are_summed_over_views_mirror_images_and_depths():
    torch = pytest.importorskip("torch")
    calls = []

    def network(x, *depths):
        calls.append(len(x))
        return [x[:, :1, ::24, ::32] * depth for depth in depths]

    rng = np.random.default_rng(0)
    photos = rng.integers(0, 256, (26, 64, 64, 3), dtype=np.uint8)
    moves = rng.integers(-2, 3, (26, 2))
    coarse = np.zeros((4, 4))
    coarse[1:3] = 1
    own = Region((coarse, coarse))
    result = deep.PretrainedFeatures(network)(photos, own, moves)
    assert calls == [25] * 16 + [1] * 16, "25 photos at a time, eight views and their mirror images"
    for n in (0, 25):
        total = 0.0
        for view in deep.VIEWS:
            crop = deep._crop(photos[n], deep.crop_box(own, 64, 64), moves[n], view)
            x = (torch.from_numpy(crop.copy()).permute(2, 0, 1)[None].float() - 127) / 128
            parts = []
            for depth in (8, 11):
                both = x[:, :1, ::24, ::32] * depth + x.flip(3)[:, :1, ::24, ::32] * depth
                parts.append((both + both.flip(3)).flatten())
            total = total + torch.cat(parts).numpy()
        np.testing.assert_allclose(result[n], total, atol=1e-4)


@dataclass
class Looks:
    """A head that reads one number of a photo."""

    place: int
    ridge: float

    @property
    def design(self):
        return Settings(self.ridge)

    region = Region((np.array([[0.12345678, 0.5]]),))

    def features(self, pictures, fine):
        return pictures[:, :1, self.place, 0].astype(np.float32)

    def moves(self, fine):
        return np.full((len(fine), 2), self.place + 1)

    def kernel(self, a, b):
        return np.exp(-np.abs(a - b.T) / 50).astype(float)

    def kernel_with(self, b):
        return lambda a: self.kernel(a, b)


@dataclass
class Settings:
    ridge: float


@dataclass
class Apart:
    problem: str | None


def test_heads_learn_from_labels_answers_and_unlabelled_photos_in_this_order(monkeypatch):
    rng = np.random.default_rng(1)
    labelled, calls, unlabelled, new = (rng.integers(0, 256, (n, 16, 16, 3), dtype=np.uint8) for n in (5, 2, 4, 3))
    result = Discovery((Looks(0, 0.1), Looks(1, 0.3)), Apart(None))
    monkeypatch.setattr(spatial, "discover", lambda *arguments: result)
    arguments, limited = [], []
    real = spatial.threadpool_limits
    monkeypatch.setattr(spatial, "threadpool_limits", lambda limits: limited.append(limits) or real(limits=limits))

    def learn(kernels, words, ridges, most, labelled_first):
        arguments.append((kernels, words, ridges, most))
        assert labelled_first == 5, "answers do not calibrate"
        return [lambda kernel: kernel.sum(1) / 100, lambda kernel: kernel.max(1)], 0.25

    monkeypatch.setattr(spatial.two_views, "learn", learn)
    answers, labels = np.array([[1, 0], [0, 1]]), np.array([1, 0, 1, 1, 0])
    built = SpatialDiscovery().fit_with_answers(labelled, labels, unlabelled, calls, answers)
    (kernels, words, ridges, most), every = arguments[0], np.concatenate([labelled, calls, unlabelled])
    assert [item.tolist() for item in words] == [[1, 0, 1, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0, 1]] and ridges == [0.1, 0.3]
    for k in (0, 1):
        own = every[:, 0, k, 0].astype(np.float32)
        np.testing.assert_allclose(kernels[k], np.exp(-np.abs(own[:, None] - own) / 50), rtol=1e-5)
    assert most == two_views.MOST == 0.5 and limited == [1]
    predicted = built.predict(new)
    own = [np.exp(-np.abs(new[:, 0, k, 0][:, None].astype(float) - every[:, 0, k, 0]) / 50) for k in (0, 1)]
    np.testing.assert_allclose(predicted, np.stack([own[0].sum(1) / 100, own[1].max(1)], 1), rtol=1e-4)
    assert built.notes["estimated_mix_rate"] == 0.25 and built.notes["regions"] == [[[[0.123457, 0.5]]]] * 2
    assert [item.tolist() for item in result.moves(new)] == [[[4, 4]] * 3, [[8, 8]] * 3], "a fine square has 4 px"
    plain = SpatialDiscovery().fit(labelled, labels, unlabelled)
    assert [len(item) for item in arguments[1][1]] == [5, 5] and plain.notes["estimated_mix_rate"] == 0.25
    result.separation = Apart("one place")
    with pytest.raises(CannotAnswer, match="one place"):
        SpatialDiscovery().fit(labelled, labels, unlabelled)
    assert SpatialDiscovery(insist=True).fit(labelled, labels, unlabelled).notes["separation"] == {
        "problem": "one place"
    }
    assert SpatialDiscovery().insist is False and SpatialDiscovery().seed == 0


def test_photos_are_seen_a_hundred_at_a_time_and_two_discoveries_are_kept(monkeypatch):
    sizes = []
    monkeypatch.setattr(hog, "fine_votes", lambda pictures: sizes.append(len(pictures)) or pictures)
    result = Discovery((Looks(0, 0.1), Looks(1, 0.1)), Apart(None))
    photos = np.random.default_rng(0).integers(0, 256, (101, 2, 2, 3), dtype=np.uint8)
    seen = result.features(photos)
    assert sizes == [100, 1] and [item.shape for item in seen] == [(101, 1)] * 2
    assert (seen[1][:, 0] == photos[:, 0, 1, 0]).all()
    assert spatial._discover.cache_parameters()["maxsize"] == 2, "they hold all labelled pixels"


def test_the_weaker_head_is_asked_about_and_labels_are_plus_and_minus_one(monkeypatch):
    calls = {}
    first, second = (
        SimpleNamespace(design=SimpleNamespace(accuracy=a, log_loss=e)) for a, e in ((0.9, 0.2), (0.8, 0.1))
    )
    chosen = iter([first, second])
    monkeypatch.setattr(spatial, "score_windows", lambda fine, target: calls.setdefault("target", target.tolist()))
    monkeypatch.setattr(spatial, "two_groups", lambda windows, target: "groups")
    monkeypatch.setattr(spatial, "regions", lambda groups, shapes, gamma: ((gamma, 0), (gamma, 1)))
    stored = []
    monkeypatch.setattr(
        spatial, "choose_head", lambda fine, labels, candidates: stored.append(candidates) or next(chosen)
    )
    monkeypatch.setattr(spatial, "separation", lambda *arguments: calls.setdefault("measured", arguments[2:]))
    pictures = np.zeros((3, 48, 64, 3), np.uint8)
    built = spatial._discover.__wrapped__(pictures.tobytes(), pictures.shape, np.array([1, 0, 1]).tobytes(), None)
    assert calls["target"] == [1.0, -1.0, 1.0] and built.heads == (first, second)
    assert calls["measured"] == (((5, 7), (3, 4)), 0.8, 0.2), "grids of blocks, the lower accuracy, the higher log-loss"
    assert stored[1] == {gamma: (gamma, 1) for gamma in (1.0, 2.0, 3.0, 4.0)}


def test_the_deep_method_considers_any_mix_rate(monkeypatch):
    monkeypatch.setattr(deep, "pretrained_features", lambda: "features")
    built = SpatialDiscoveryDeep()
    assert built.most == pytest.approx(0.995) and built.deep == "features" and built.insist is False and built.seed == 0
