"""The shape of the mouth as a further part of what a head sees."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from countenance.data import load_dataset
from countenance.errors import MissingExtra
from countenance.suites.happyfaces.formulas import hog
from countenance.suites.happyfaces.formulas.kernel_ridge import (
    distances,
    fit_platt,
    fit_ridge,
    halved_log_loss,
    halvings,
    soft_targets,
)
from countenance.suites.happyfaces.methods import make_method, spatial
from countenance.suites.happyfaces.printed_sets import print_word
from countenance.suites.happyfaces.spatial import alignment, deep, landmarks
from countenance.suites.happyfaces.spatial.heads import Design, Head
from countenance.suites.happyfaces.spatial.landmarks import (
    MIRRORED,
    LandmarkHead,
    covered,
    mouth_shape,
    mouths_of,
    with_landmarks,
)
from countenance.suites.happyfaces.spatial.regions import Region
from countenance.suites.happyfaces.spatial.windows import SCALES


def band(height: int, width: int, rows: slice) -> Region:
    """A region that fills some rows of blocks at the coarsest scale."""
    shapes = [hog.grid(np.zeros((1, height // 4, width // 4, 9), np.float32), cell) for cell, _ in SCALES]
    coarse = np.zeros(shapes[1])
    coarse[rows] = 1.0
    return Region((np.full(shapes[0], 1 / np.prod(shapes[0])), coarse / coarse.sum()))


def test_the_other_region_is_covered_to_the_nearer_edge():
    photos = np.random.default_rng(0).integers(0, 256, (2, 20, 6, 3), dtype=np.uint8)
    below, above = covered(photos, (14, 18, 1, 5)), covered(photos, (1, 5, 1, 5))
    assert (below[:, :14] == photos[:, :14]).all() and (above[:, 5:] == photos[:, 5:]).all()
    assert (below[:, 14:] == photos[:, 11:14].mean(1, keepdims=True).astype(np.uint8)).all()
    assert (above[:, :5] == photos[:, 5:8].mean(1, keepdims=True).astype(np.uint8)).all()
    assert covered(photos, (0, 20, 0, 6)).shape == photos.shape, "a region that is everything"


def test_a_mouth_and_its_mirror_image_have_one_shape():
    assert sorted(MIRRORED) == list(range(68)) and [MIRRORED[i] for i in MIRRORED] == list(range(68))
    points = np.random.default_rng(1).normal(100, 20, (3, 68, 2))
    points[:, 36:42, 0] -= 100  # eyes apart
    mirrored = (points * [-1, 1] + [249, 0])[:, MIRRORED]
    np.testing.assert_allclose(mouth_shape(mirrored), mouth_shape(points), atol=1e-9)
    lifted = points.copy()
    lifted[:, [48, 54], 1] -= 5
    assert not np.allclose(mouth_shape(lifted), mouth_shape(points), atol=1e-3)


def test_half_of_the_labelled_items_judge_the_other_half():
    labels = np.array([0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0])
    parted = halvings(labels, 2)
    for one, other in parted:
        assert sorted([*one, *other]) == list(range(12))
        assert [labels[half].sum() for half in (one, other)] == [4, 3]
    assert all((a == b).all() for a, b in zip(parted[1], halvings(labels, 2)[1], strict=True))
    assert sorted(parted[0][0]) != sorted(parted[1][0]) and len(halvings(labels)) == 60
    x = labels[:, None] + np.random.default_rng(2).normal(size=(12, 2))
    kernel, losses = x @ x.T, []
    for own, other in (parted[0], parted[0][::-1], parted[1], parted[1][::-1]):
        fit = fit_ridge(kernel[own][:, own], 2.0 * labels[own] - 1, 0.3)
        happy = fit_platt(fit.left_out, soft_targets(labels[own]))(fit.score(kernel[other][:, own]))
        losses.append(-np.log(np.where(labels[other] == 1, happy, 1 - happy)).mean())
    assert halved_log_loss(kernel, labels, 0.3, parted) == pytest.approx(np.mean(losses))


def test_shapes_join_a_head_where_labelled_photos_favour_them():
    rng = np.random.default_rng(3)
    pictures, labels = rng.integers(0, 256, (40, 64, 64, 3), dtype=np.uint8), np.arange(40) % 2
    fine, region = hog.fine_votes(pictures), band(64, 64, slice(0, 2))
    template = alignment.FaceTemplate(region, np.zeros(region.root(1).size * 36, np.float32))
    head = Head(Design(1.0, 0.0, 0.25, 0.1, False, 0.0, 0.69, 0.5), region, template, 2.0, (1.0, 1.0))
    noise = rng.normal(size=(40, 6)).astype(np.float32)
    telling = noise + 4 * labels[:, None].astype(np.float32)
    built = with_landmarks(head, lambda _: telling, pictures, fine, labels)
    assert isinstance(built, LandmarkHead) and built.design.landmarks > 0 and built.design.accuracy == 1.0
    assert built.design.mix == 0.0 and built.region is region and built.template is template
    # The distances are shares of two kinds, each with a median of 1 on labelled photos.
    before, spread = head.features(pictures, fine), telling.std(0) + 0.1 * telling.std(0).mean()
    extra = ((telling - telling.mean(0)) / spread).astype(np.float32)
    parts = [distances(some, some) for some in (before, extra)]
    share = built.design.landmarks
    expected = (1 - share) * parts[0] / np.median(parts[0]) + share * parts[1] / np.median(parts[1])
    seen = built.features(pictures, fine)
    np.testing.assert_allclose(distances(seen, seen), expected, rtol=1e-3, atol=1e-3)
    assert built.median == pytest.approx(np.median(expected), rel=1e-4)
    few = LandmarkHead(**vars(built) | {"shapes": lambda some: extra[: len(some)]}).features(pictures[:3], fine[:3])
    np.testing.assert_allclose(few, seen[:3], rtol=1e-4, atol=1e-4)  # a photo's features do not depend on its batch
    weak, other = noise[:, :1] + 2 * labels[:, None].astype(np.float32), rng.normal(size=(40, 60)).astype(np.float32)
    knows = replace(head, design=replace(head.design, deep=0.5), deep=lambda *_: weak)
    assert with_landmarks(knows, lambda _: other, pictures, fine, labels) is knows, "noise is left alone"


def test_what_is_covered_moves_no_point():
    seen = []

    def points(whole, photo, middle):
        seen.append((whole, photo, middle))
        return photo.reshape(-1)[: 68 * 2].reshape(68, 2) + np.arange(136.0).reshape(68, 2) ** 1.5

    photos = np.random.default_rng(4).integers(0, 256, (1, 128, 128, 3), dtype=np.uint8)
    own, other = band(128, 128, slice(1, 3)), band(128, 128, slice(6, 7))
    shapes = mouths_of(points, own, other)
    top = deep.crop_box(other, 128, 128)[0]
    changed = photos.copy()
    changed[:, top:] = 0
    assert (shapes(photos) == shapes(changed)).all() and shapes(photos).dtype == np.float32
    whole, photo, middle = seen[0]
    box = deep.crop_box(own, 128, 128)
    assert (whole == photos[0]).all() and (photo[:top] == photos[0, :top]).all() and (photo[top:] != whole[top:]).any()
    assert middle == ((box[2] + box[3]) / 2, (box[0] + box[1]) / 2)


def test_only_heads_that_use_pretrained_features_are_offered_landmarks(monkeypatch):
    first, second = (
        SimpleNamespace(design=SimpleNamespace(deep=share, accuracy=0.9, log_loss=0.1), region=name)
        for share, name in ((0.0, "word"), (0.5, "face"))
    )
    chosen = iter([first, second])
    for name, value in {
        "score_windows": lambda fine, target: None,
        "two_groups": lambda windows, target: None,
        "regions": lambda groups, shapes, gamma: (0, 1),
        "choose_head": lambda fine, labels, candidates: next(chosen),
        "with_deep": lambda head, *rest: head,
        "separation": lambda *arguments: arguments[2:],
    }.items():
        monkeypatch.setattr(spatial, name, value)
    monkeypatch.setattr(landmarks, "mouths_of", lambda *arguments: arguments)
    offered = []
    monkeypatch.setattr(landmarks, "with_landmarks", lambda head, shapes, *rest: offered.append((head, shapes)) or head)
    pictures = np.zeros((3, 48, 64, 3), np.uint8)
    built = spatial._discover.__wrapped__(
        pictures.tobytes(), pictures.shape, np.array([1, 0, 1]).tobytes(), "deep", "landmarks"
    )
    assert built.heads == (first, second) and offered == [(second, ("landmarks", "face", "word"))]


def test_without_dlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dlib", None)
    with pytest.raises(MissingExtra, match="spatial-landmarks"):
        landmarks.DlibLandmarks()


@pytest.fixture(scope="module")
def people():
    """Rendered people who look neutral, and who smile broadly."""
    pytest.importorskip("dlib")
    wanted = {"neutral": 8, "broad_smile": 8}
    found = {name: [] for name in wanted}
    for sample in load_dataset("people:portraits"):
        person = {**sample.attributes, **sample.subjects[0].attributes}
        name = person.get("expression")
        clear = person.get("masked") == "no" and person.get("pose") == "frontal"
        if clear and name in wanted and len(found[name]) < wanted[name]:
            found[name].append(sample.load())
    return {name: np.stack(pictures) for name, pictures in found.items()}


def test_broad_smiles_have_wider_mouths(people):
    place, middle = landmarks.dlib_landmarks(), (128.0, 140.0)
    widths = {
        name: [np.ptp(mouth_shape(place(photo, photo, middle)[None])[0, ::2]) for photo in pictures]
        for name, pictures in people.items()
    }
    assert np.median(widths["broad_smile"]) > 1.1 * np.median(widths["neutral"])


def test_landmarks_of_the_mirror_image_are_mirrored(people):
    photo = people["neutral"][0]
    mirror, width = photo[:, ::-1].copy(), photo.shape[1]
    place = landmarks.dlib_landmarks()
    here, there = place(photo, photo, (128.0, 140.0)), place(mirror, mirror, (width - 1 - 128.0, 140.0))
    assert np.abs(np.stack([width - 1 - there[:, 0], there[:, 1]], 1)[list(MIRRORED)] - here).mean() < 2


def test_a_printed_word_moves_no_point(people):
    own, other = band(250, 250, slice(10, 14)), band(250, 250, slice(15, 18))
    shapes = mouths_of(landmarks.dlib_landmarks(), own, other)
    photo = people["neutral"][0][3:253, 3:253]
    happy, sad = (print_word(photo, f"FSW{letter}")[None] for letter in "HS")
    assert (happy != sad).any() and np.abs(shapes(happy) - shapes(sad)).max() < 1e-6


def test_where_no_face_is_found_the_middle_is_taken():
    pytest.importorskip("dlib")
    grey = np.full((100, 200, 3), 127, np.uint8)
    assert landmarks.dlib_landmarks()._face(grey, (100.0, 60.0)) == (100.0, 50.0, 42.0)


def test_the_method_takes_landmarks(monkeypatch):
    pytest.importorskip("dlib")
    monkeypatch.setattr(deep, "pretrained_features", lambda: "features")
    method = make_method("spatial-landmarks")
    assert method.deep == "features" and method.most == pytest.approx(0.995)
    assert method.landmarks is landmarks.dlib_landmarks()
