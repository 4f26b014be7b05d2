"""Pictures at another size, to the byte as OpenCV makes them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.data.resizing import resize_area, resize_linear

cv2 = pytest.importorskip("cv2")
SIDES = st.integers(1, 90)


@settings(max_examples=150, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES, st.sampled_from([1, 3]), st.integers(0, 9))
def test_every_byte_is_opencvs(rows, columns, height, width, channels, seed):
    image = np.random.default_rng(seed).integers(0, 256, (rows, columns, channels)).astype(np.uint8)
    for method, flag in ((resize_area, cv2.INTER_AREA), (resize_linear, cv2.INTER_LINEAR)):
        wanted = cv2.resize(image, (width, height), interpolation=flag).reshape(height, width, channels)
        np.testing.assert_array_equal(method(image, width, height), wanted)


@pytest.mark.parametrize("size", [(24, 24), (48, 48), (96, 48), (12, 32), (100, 100), (95, 96), (96, 192), (192, 96)])
@pytest.mark.parametrize("value", [0, 1, 254, 255])
def test_a_plain_picture_stays_plain(size, value):
    image = np.full((96, 96, 3), value, dtype=np.uint8)
    assert (resize_area(image, *size) == value).all()
    assert (resize_linear(image, *size) == value).all()


def test_the_same_size_is_the_same_picture():
    image = np.random.default_rng(0).integers(0, 256, (31, 17, 3)).astype(np.uint8)
    assert (resize_area(image, 17, 31) == image).all() and (resize_linear(image, 17, 31) == image).all()
