"""The faster JPEG decoder gives Pillow's pixels, and Pillow's refusals, for whatever file."""

import io
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from countenance.data import jpeg
from countenance.data.image import decode, decoder, same_pixels
from countenance.errors import InputError


def picture(seed: int, width: int, height: int) -> Image.Image:
    random = np.random.default_rng(seed)
    smooth = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize((width, height))
    noisy = np.asarray(smooth).astype(int) + random.normal(0, 10, (height, width, 3)).astype(int)
    return Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))


def saved(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def outcome(make: Callable[[bytes], np.ndarray], content: bytes) -> np.ndarray | None:
    try:
        return make(content)
    except (InputError, OSError, SyntaxError):
        return None


def by_pillow(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as opened:
        return np.asarray(opened.convert("RGB"))


def same(one: np.ndarray | None, two: np.ndarray | None) -> bool:
    return (one is None and two is None) or (one is not None and two is not None and np.array_equal(one, two))


def test_opencv_is_used_here() -> None:
    assert jpeg.same_as_pillow()
    assert decoder().startswith("opencv ")
    assert jpeg.fast_pixels(jpeg.sample_file()) is not None


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("size", [(160, 121), (33, 17), (1, 1), (101, 7)])
def test_pixels_are_those_of_pillow(grey: bool, progressive: bool, subsampling: int, size: tuple[int, int]) -> None:
    for quality in (30, 90, 100):
        made = picture(quality, *size)
        content = saved(
            made.convert("L") if grey else made, quality=quality, subsampling=subsampling, progressive=progressive
        )
        fast = jpeg.fast_pixels(content)
        assert fast is not None and np.array_equal(fast, by_pillow(content))


@given(st.integers(0, 5), st.booleans(), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_files_have_the_same_fate(seed: int, progressive: bool, data: st.DataObject) -> None:
    content = bytearray(saved(picture(seed, 64, 48), quality=80, progressive=progressive))
    place = st.integers(2, len(content) - 3)
    match data.draw(st.sampled_from(["flip", "cut", "end", "closed"])):
        case "flip":
            for at in data.draw(st.lists(place, min_size=1, max_size=4)):
                content[at] = data.draw(st.integers(0, 255))
        case "cut":
            at = data.draw(place)
            del content[at : at + data.draw(st.integers(1, 200))]
        case "end":
            del content[data.draw(place) :]
        case "closed":
            del content[data.draw(place) :]
            content += b"\xff\xd9"
    found = outcome(by_pillow, bytes(content))
    if found is not None and found.size > 10**7:
        return  # a flipped size: the limit on pixels is tested elsewhere
    fast = jpeg.fast_pixels(bytes(content))
    assert fast is None or found is None or np.array_equal(fast, found)
    if found is None:
        assert outcome(decode, bytes(content)) is None


def test_turned_pictures_and_other_colours_are_left_to_pillow() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = saved(picture(1, 40, 20), exif=exif)
    assert decode(turned).shape == (40, 20, 3)
    cmyk = saved(picture(2, 16, 16).convert("CMYK"))
    assert np.array_equal(decode(cmyk), by_pillow(cmyk))


def test_decoders_with_other_pixels_are_told_apart() -> None:
    assert same_pixels(decoder(), f"pillow 1.0; pixels {jpeg.pixels_id()}")
    assert not same_pixels(decoder(), "pillow 13.0.0; pixels 00000000")
    assert not same_pixels(decoder(), "nvjpeg (torchvision 0.26)")


def test_without_opencv_pillow_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(picture(3, 30, 20))
    wanted = decode(content)
    monkeypatch.setattr(jpeg, "installed", lambda: None)
    jpeg.same_as_pillow.cache_clear()
    try:
        assert jpeg.fast_pixels(content) is None and decoder().startswith("pillow ")
        assert np.array_equal(decode(content), wanted)
    finally:
        jpeg.same_as_pillow.cache_clear()
