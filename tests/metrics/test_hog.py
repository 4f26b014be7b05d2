"""Histograms of oriented gradients, moved, and against scikit-image."""

import numpy as np

from countenance.metrics import hog


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
