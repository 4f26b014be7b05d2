"""Images, decoded on access and always in the same way: RGB, 8 bits, upright."""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from countenance.data import jpeg
from countenance.decoding import regular_file, setting
from countenance.errors import DataError, InputError
from countenance.storage import Missing, Storage, open_storage

DEFAULT_MAX_PIXELS = 100_000_000
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "PPM")
EXTENSIONS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "GIF": (".gif",),
    "PPM": (".ppm", ".pgm", ".pnm"),
}
IMAGE_SUFFIXES = tuple(suffix for suffixes in EXTENSIONS.values() for suffix in suffixes)
MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "I;16", "I;16B", "I;16L", "I")


def max_pixels() -> int:
    """The largest picture that is decoded; set COUNTENANCE_MAX_PIXELS to change it."""
    return setting("COUNTENANCE_MAX_PIXELS", DEFAULT_MAX_PIXELS)


def decoder() -> str:
    """The libraries that decode files here: names, versions and a hash of a test picture's pixels; part of every run.

    >>> decoder().split()[-2]
    'pixels'
    """
    import PIL

    names = f"pillow {PIL.__version__}"
    if jpeg.same_as_pillow():
        names = f"opencv {jpeg.installed().__version__}, {names}"
    return f"{names}; pixels {jpeg.pixels_id()}"


def same_pixels(first: str, two: str) -> bool:
    """Whether two decoders in the records of runs give the same pixels, as far as is known.

    >>> same_pixels("opencv 4.12, pillow 12.0; pixels 0ab1", "pillow 13.0; pixels 0ab1")
    True
    >>> same_pixels("pillow 13.0; pixels 0ab1", "pillow 13.0; pixels 77ff"), same_pixels("this", "that")
    (False, False)
    """
    pixels = [name.partition("; pixels ")[2] for name in (first, two)]
    return first == two or (bool(pixels[0]) and pixels[0] == pixels[1])


@dataclass(frozen=True)
class LazyImage:
    """A picture on disk, decoded by `load()`; nothing is read before that.

    >>> LazyImage(Path("faces/1.png")).path.name
    '1.png'
    >>> LazyImage(Path("faces/1.png")).load()
    Traceback (most recent call last):
    countenance.errors.DataError: faces/1.png: no such image
    """

    path: Path
    offset: int = 0
    length: int | None = None
    """Bytes of the picture within the file, such as a member of a tar; None: the whole file."""

    def load(self) -> NDArray[np.uint8]:
        """The pixels as height × width × 3 RGB, turned upright by EXIF."""
        return decode(self.read_bytes(), str(self.path))

    def read_bytes(self) -> bytes:
        """The bytes of the picture's file, or of its part of an archive."""
        with self._opened() as stream:
            return stream.read(-1 if self.length is None else self.length)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, at the first byte of the picture; its errors name it."""
        regular_file(self.path)
        try:
            with self.path.open("rb") as stream:
                stream.seek(self.offset)
                yield stream
        except FileNotFoundError:
            raise DataError(f"{self.path}: no such image") from None
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror})") from error

    def size(self) -> tuple[int, int]:
        """Width and height as `load()` will give them; of the file only the header is read, where that says them."""
        if self.length is not None:
            return _upright_size(self.read_bytes(), str(self.path))
        with self._opened() as stream:
            return _upright_size(stream, str(self.path))

    def format_problem(self) -> str | None:
        """A sentence if the content does not match the ending of the file name, else None."""
        if self.length is not None:
            return None
        with self._opened() as stream, _open(stream, str(self.path)) as picture:
            result = str(picture.format)
        if self.path.suffix.lower() in EXTENSIONS.get(result, ()):
            return None
        return f"{self.path}: is a {result} picture, the name says {self.path.suffix or 'nothing'}; rename it"


@dataclass(frozen=True)
class UrlImage:
    """A picture in an object store (`s3://bucket/faces/1.jpg`), or a part of an object there, such as a tar."""

    url: str
    offset: int = 0
    length: int | None = None

    @property
    def path(self) -> str:
        """The name of the picture in messages."""
        return self.url

    def load(self) -> NDArray[np.uint8]:
        """The pixels as height × width × 3 RGB, turned upright by EXIF."""
        return decode(self.read_bytes(), self.url)

    def read_bytes(self) -> bytes:
        folder, _, name = self.url.rpartition("/")
        try:
            if self.length is None:
                return _store(folder).read(name)
            with _store(folder).open(name) as stream:
                stream.seek(self.offset)
                return bytes(stream.read(self.length))
        except Missing:
            raise DataError(f"{self.url}: no such image") from None

    def size(self) -> tuple[int, int]:
        return _upright_size(self.read_bytes(), self.url)

    def format_problem(self) -> str | None:
        return None


@lru_cache(maxsize=64)
def _store(folder: str) -> Storage:
    """A folder of an object store; cached, since each opens a connection."""
    return open_storage(folder, patient=True)


@dataclass(frozen=True)
class EncodedImage:
    """A picture whose file content is in memory: a row of a Parquet file, a member of an archive."""

    content: bytes
    name: str = "image"

    def load(self) -> NDArray[np.uint8]:
        """The pixels as height × width × 3 RGB, turned upright by EXIF."""
        return decode(self.content, self.name)

    def read_bytes(self) -> bytes:
        return self.content

    def size(self) -> tuple[int, int]:
        return _upright_size(self.content, self.name)

    def format_problem(self) -> str | None:
        return None


@dataclass(frozen=True)
class ArrayImage:
    """A picture already in memory, for datasets made in a program.

    >>> ArrayImage(np.zeros((4, 6, 3), dtype=np.uint8)).size()
    (6, 4)
    """

    pixels: NDArray[np.uint8]

    def load(self) -> NDArray[np.uint8]:
        """The pixels themselves."""
        return self.pixels

    def read_bytes(self) -> bytes:
        """The bytes of the pixels, from which a picture in memory is hashed."""
        return self.pixels.tobytes()

    def size(self) -> tuple[int, int]:
        """Width and height."""
        return int(self.pixels.shape[1]), int(self.pixels.shape[0])

    def format_problem(self) -> str | None:
        """None, since a picture in memory has no file format."""
        return None


def _open(source: bytes | BinaryIO, name: str) -> Any:
    from PIL import Image, UnidentifiedImageError

    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    if not stream.read(1):
        raise DataError(f"{name}: the file is empty")
    stream.seek(0)
    limit = max_pixels()
    Image.MAX_IMAGE_PIXELS = None  # the limit below is ours, applied before any pixel is decoded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(stream, formats=FORMATS)
    except UnidentifiedImageError:
        raise DataError(f"{name}: not a picture in a known format ({', '.join(FORMATS)})") from None
    except Exception as error:
        raise DataError(f"{name}: cannot be decoded ({error})") from error
    width, height = picture.size
    if width * height > limit:
        raise DataError(
            f"{name}: {width}×{height} is more than {limit:,} pixels; set COUNTENANCE_MAX_PIXELS if you trust it"
        )
    if picture.mode not in MODES:
        raise DataError(f"{name}: pixel format {picture.mode} is not supported; convert it to 8-bit RGB")
    return picture


def _upright_size(source: bytes | BinaryIO, name: str) -> tuple[int, int]:
    """Width and height after EXIF's rotation, from the header alone."""
    with _open(source, name) as picture:
        width, height = picture.size
        try:
            if picture.format == "TIFF":  # some versions of the library have turned its size already
                width, height = (int(picture.tag_v2[tag]) for tag in (0x0100, 0x0101))
            turned = _exif(picture).get(0x0112, 1) in (5, 6, 7, 8)
        except Exception as error:  # for some formats this decodes the picture
            raise DataError(f"{name}: damaged or truncated ({error})") from error
    return (height, width) if turned else (width, height)


def _exif(picture: Any) -> Any:
    """The EXIF tags of an opened picture; the library decodes a PNG for them, since they may be behind its pixels."""
    from PIL import Image

    if picture.format == "PNG" and _ends_with_pixels(picture.fp):
        return Image.Image.getexif(picture)
    return picture.getexif()


def _ends_with_pixels(stream: BinaryIO) -> bool:
    """Whether nothing is behind the pixels of a PNG but its end."""
    before, place, pixels = stream.tell(), 8, False
    try:
        while len(head := stream.read(8) if stream.seek(place) else b"") == 8:
            kind, place = head[4:], place + 12 + int.from_bytes(head[:4])
            if kind == b"IEND" or (pixels and kind != b"IDAT"):
                return kind == b"IEND"
            pixels = kind == b"IDAT"
        return False
    finally:
        stream.seek(before)


def turned(picture: Any) -> bool:
    """Whether EXIF says that an opened picture is not upright as it is stored."""
    return bool(picture.getexif().get(0x0112, 1) != 1)


def decode(content: bytes, name: str = "image") -> NDArray[np.uint8]:
    """Decode a picture's bytes to upright 8-bit RGB; refuse, by name, what cannot be decoded whole.

    >>> decode(b"", "a.png")
    Traceback (most recent call last):
    countenance.errors.DataError: a.png: the file is empty
    """
    from PIL import Image, ImageOps

    with _open(content, name) as picture:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if picture.format == "JPEG" and picture.mode in ("RGB", "L") and not turned(picture):
                    result = jpeg.fast_pixels(content)
                    if result is not None and result.shape[:2] == picture.size[::-1]:
                        return result
                picture.load()
                upright: Image.Image = ImageOps.exif_transpose(picture)
                return _to_rgb(upright)
        except InputError:
            raise
        except Exception as error:
            raise DataError(f"{name}: damaged or truncated ({error})") from error


def decode_small(content: bytes, least: float, name: str = "image") -> NDArray[np.uint8]:
    """A picture for display: a JPEG at a half, a quarter or an eighth of its size, at least `least` of it.

    Only the needed pixels are computed, so a large photo takes a fraction of the time. Other formats, and JPEG files
    that cannot be decoded like this, come whole. Never for a model: the pixels are not those of `decode`.

    >>> decode_small(encode_png(np.zeros((16, 32, 3), np.uint8)), 0.25).shape
    (16, 32, 3)
    """
    from PIL import ImageOps

    if least <= 0.5:
        with _open(content, name) as picture:
            if picture.format == "JPEG" and picture.mode in ("RGB", "L"):
                try:
                    picture.draft(picture.mode, tuple(math.ceil(least * side) for side in picture.size))
                    picture.load()
                    return _to_rgb(ImageOps.exif_transpose(picture))
                except Exception as error:
                    raise DataError(f"{name}: damaged or truncated ({error})") from error
    return decode(content, name)


def _to_rgb(picture: Any) -> NDArray[np.uint8]:
    if picture.mode.startswith("I"):  # 16 bits a pixel: keep the high byte's scale, so white stays white
        deep = np.asarray(picture).astype(np.int64)
        grey = np.clip((deep + 128) // 257, 0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"), dtype=np.uint8))


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """The pixels as a PNG file.

    >>> decode(encode_png(np.zeros((2, 3, 3), np.uint8))).shape
    (2, 3, 3)
    """
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
