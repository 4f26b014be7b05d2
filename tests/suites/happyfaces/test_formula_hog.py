"""Histograms of oriented gradients, moved, and against scikit-image."""

import numpy as np
import pytest

from countenance.suites.happyfaces.formulas import hog


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


def test_the_colours_count_as_they_do_in_grey_pictures():
    votes = []
    for channel in range(3):
        picture = np.zeros((1, 32, 32, 3), np.uint8)
        picture[:, :, 16:, channel] = 200
        votes.append(hog.fine_votes(picture)[:, 4:-4, 4:-4].sum())
    assert votes == pytest.approx([200 * 2 * 32 * share for share in (0.299, 0.587, 0.114)], rel=1e-5)


def test_a_gradient_votes_for_its_two_nearest_orientations_in_its_own_square():
    """Rising to the right, an angle of 0: half for the orientation at 10°, half for that at 170°."""
    picture = np.repeat(np.repeat(np.arange(0, 64, 2, dtype=np.uint8)[None, None, :, None], 3, 3), 32, 1)
    votes = hog.fine_votes(picture)[0, 4:-4, 4:-4]
    assert votes.shape == (8, 8, 9)
    assert votes[3, 3] == pytest.approx([32, 0, 0, 0, 0, 0, 0, 0, 32], abs=1e-3), "16 pixels of 4, halved"
    assert votes[3, 0, 0] == pytest.approx(24, abs=1e-3), "the outermost column has no gradient"
    turned = hog.fine_votes(picture.transpose(0, 2, 1, 3))[0, 4:-4, 4:-4]
    assert turned[3, 3].argmax() == 4 and turned[3, 3, 4] == pytest.approx(64, abs=1e-3), "90° is a centre"


def test_edges_are_repeated_outwards():
    fine = hog.fine_votes(np.random.default_rng(0).integers(0, 256, (1, 33, 42, 3), dtype=np.uint8))
    assert fine.shape == (1, 8 + 8, 10 + 8, 9)
    assert (fine[0, 0] == fine[0, 4]).all() and (fine[0, :, -1] == fine[0, :, -5]).all()
    assert hog.grid(fine, 8) == (3, 4) and hog.grid(fine, 12) == (1, 2)


def test_blocks_have_length_one_and_no_entry_above_the_clip():
    maps = hog.blocks(hog.fine_votes(np.random.default_rng(1).integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)), 8)
    assert maps.shape == (2, 7, 7, 36)
    assert np.linalg.norm(maps, axis=-1) == pytest.approx(np.ones((2, 7, 7)), abs=1e-4)
    item = np.zeros((1, 16, 16, 9), np.float32)
    item[..., 0], item[..., 1] = 100, 1
    block = hog.blocks(item, 8)[0, 0, 0].reshape(4, 9)
    length = 4 * (0.2**2 + (0.01 / 2) ** 2)
    assert block[:, 0] == pytest.approx(0.2 / length**0.5, rel=1e-3) and block[0, 1] == pytest.approx(0.0125, rel=0.02)


@pytest.mark.parametrize("cell", [8, 12])
@pytest.mark.parametrize("size", [(56, 80), (80, 56), (48, 72)])
def test_the_grid_is_centred_so_that_mirror_images_have_mirrored_blocks(cell, size):
    photo = np.random.default_rng(1).integers(0, 256, (1, *size, 3), dtype=np.uint8)
    here, there = (hog.blocks(hog.fine_votes(item), cell) for item in (photo, photo[:, :, ::-1]))
    assert hog.mirror(here) == pytest.approx(there, abs=1e-4)
    turned = hog.blocks(hog.fine_votes(np.ascontiguousarray(photo[:, ::-1])), cell)
    assert np.linalg.norm(turned[0, 0, 0]) == pytest.approx(np.linalg.norm(here[0, -1, 0]), abs=1e-3)
