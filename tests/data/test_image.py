import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from countenance.data.image import LazyImage, decode
from countenance.errors import InputError


def saved(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def gradient(width: int = 6, height: int = 4) -> Image.Image:
    values = np.arange(width * height * 3, dtype=np.uint8).reshape(height, width, 3)
    return Image.fromarray(values)


def test_a_png_decodes_to_its_pixels() -> None:
    assert np.array_equal(decode(saved(gradient())), np.asarray(gradient()))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_an_exif_rotated_photo_is_turned_upright(tmp_path, kind) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by 90 degrees clockwise
    path = tmp_path / "a.picture"
    path.write_bytes(saved(gradient(6, 4), kind, exif=exif))
    image = LazyImage(path)
    assert image.size() == (4, 6)
    assert np.array_equal(image.load(), np.rot90(np.asarray(gradient()), -1))


def test_cmyk_and_palette_pictures_become_rgb() -> None:
    red = Image.new("RGB", (8, 8), (255, 0, 0))
    cmyk = decode(saved(red.convert("CMYK"), "JPEG", quality=95))
    assert cmyk[4, 4, 0] > 200 and cmyk[4, 4, 1] < 60
    assert decode(saved(red.convert("P")))[0, 0].tolist() == [255, 0, 0]


def test_sixteen_bit_grey_keeps_black_and_white() -> None:
    deep = np.array([[0, 65535], [32768, 257]], dtype=np.uint16)
    assert decode(saved(Image.fromarray(deep)))[:, :, 0].tolist() == [[0, 255], [128, 1]]


def test_float_pixels_are_refused_by_name() -> None:
    picture = Image.fromarray(np.zeros((2, 2), np.float32))
    with pytest.raises(InputError, match=r"a\.tif: pixel format F is not supported"):
        decode(saved(picture, "TIFF"), "a.tif")


def test_a_truncated_picture_is_refused() -> None:
    content = saved(gradient(64, 64), "JPEG")
    with pytest.raises(InputError, match=r"x\.jpg: damaged or truncated"):
        decode(content[: len(content) // 2], "x.jpg")


def test_the_size_of_a_truncated_picture_is_given_or_refused(tmp_path) -> None:
    content = saved(gradient(64, 64))
    for cut in range(1, len(content), 97):
        path = tmp_path / "x.png"
        path.write_bytes(content[:cut])
        try:
            assert LazyImage(path).size() == (64, 64)
        except InputError as error:
            assert "x.png: " in str(error)


def test_an_empty_file_and_a_text_file_are_refused() -> None:
    with pytest.raises(InputError, match="the file is empty"):
        decode(b"", "x.png")
    with pytest.raises(InputError, match="not a picture in a known format"):
        decode(b"hello, I am no picture", "x.png")


def test_a_decompression_bomb_is_refused_and_the_limit_can_be_set(monkeypatch) -> None:
    content = saved(Image.new("L", (300, 300)))
    monkeypatch.setenv("COUNTENANCE_MAX_PIXELS", "1000")
    with pytest.raises(InputError, match="300×300 is more than 1,000 pixels; set COUNTENANCE_MAX_PIXELS"):
        decode(content, "bomb.png")
    monkeypatch.setenv("COUNTENANCE_MAX_PIXELS", "90000")
    assert decode(content).shape == (300, 300, 3)
    monkeypatch.setenv("COUNTENANCE_MAX_PIXELS", "many")
    with pytest.raises(InputError, match="expected a whole number such as"):
        decode(content)


def test_a_png_named_jpg_is_decoded_and_the_name_is_noted(tmp_path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(saved(gradient()))
    assert LazyImage(path).load().shape == (4, 6, 3)
    assert "is a PNG picture, the name says .jpg" in str(LazyImage(path).format_problem())


@given(st.binary(max_size=400))
def test_any_bytes_decode_or_are_refused(content: bytes) -> None:
    try:
        assert decode(content, "x").dtype == np.uint8
    except InputError as error:
        assert str(error).startswith("x: ")


@given(st.data())
def test_a_damaged_png_decodes_or_is_refused(data: st.DataObject) -> None:
    content = bytearray(saved(gradient(16, 16)))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert decode(bytes(content), "x").shape[2] == 3
    except InputError as error:
        assert str(error).startswith("x: ")


@pytest.mark.parametrize("ending", ["jpg", "bmp", "gif", "png", "ppm"])
def test_the_size_of_a_picture_takes_its_header_alone(tmp_path, ending):
    path = tmp_path / f"large.{ending}"
    Image.new("RGB", (40, 30)).save(path)
    with path.open("r+b") as stream:
        stream.truncate(64 << 20)  # what comes behind the picture takes no space on the disk
    tracemalloc.start()
    try:
        assert LazyImage(path).size() == (40, 30) and LazyImage(path).format_problem() is None
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_png_is_turned_wherever_it_says_so(tmp_path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    before = saved(gradient(), exif=exif.tobytes())
    place = before.index(b"eXIf") - 4
    chunk = before[place : place + 12 + int.from_bytes(before[place : place + 4])]
    plain = saved(gradient())
    behind = plain[:-12] + chunk + plain[-12:]
    for content, size in ((plain, (6, 4)), (before, (4, 6)), (behind, (4, 6))):
        (tmp_path / "picture.png").write_bytes(content)
        image = LazyImage(tmp_path / "picture.png")
        assert image.size() == size == image.load().shape[1::-1]
    (tmp_path / "picture.png").write_bytes(plain[:-30])
    with pytest.raises(InputError, match="damaged or truncated"):
        LazyImage(tmp_path / "picture.png").size()
