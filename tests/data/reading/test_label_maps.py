"""Label maps on disk, and outlines of masks."""

import numpy as np
import pytest

from countenance.data.image import encode_png
from countenance.data.reading.label_maps import label_map_of, outlines
from countenance.decoding import file_content
from countenance.errors import InputError

pytest.importorskip("cv2")


def read_label_map(path, classes, place):
    return label_map_of(file_content(path, f"no such mask ({place})"), path, classes, place)


def test_the_values_of_pixels_are_classes(tmp_path):
    classes = np.array([[0, 1], [2, 18]], np.uint8)
    (tmp_path / "a.png").write_bytes(encode_png(classes))
    assert np.array_equal(read_label_map(tmp_path / "a.png", 19, "row 1"), classes)
    with pytest.raises(InputError, match=r"a.png: label 18, expected 0 to 17"):
        read_label_map(tmp_path / "a.png", 18, "row 1")


def test_a_map_that_cannot_be_read_is_named_with_its_place(tmp_path):
    path = tmp_path / "a.png"
    with pytest.raises(InputError, match=r"a.png: no such mask \(row 1\)"):
        read_label_map(path, 19, "row 1")
    for content in (b"", b"no picture"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"a.png: not a readable mask \(row 1\)"):
            read_label_map(path, 19, "row 1")
    with pytest.raises(InputError, match="a folder, expected a file"):
        read_label_map(tmp_path, 19, "row 1")


def test_each_piece_of_a_mask_has_an_outline():
    mask = np.zeros((9, 9), bool)
    mask[1:3, 1:5] = mask[6:9, 2:4] = True
    found = sorted(sorted(map(tuple, one.tolist())) for one in outlines(mask))
    assert found == [[(1, 1), (1, 2), (4, 1), (4, 2)], [(2, 6), (2, 8), (3, 6), (3, 8)]]
