"""Pictures on a page: small, embedded, and without metadata."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Window:
    """The part of a picture that is shown, in the picture's own pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def view_box(self) -> str:
        """The window as an SVG viewBox, so that truth and answers are drawn in the picture's pixels."""
        return f"{self.x:g} {self.y:g} {self.width:g} {self.height:g}"


def window(width: int, height: int, box: Any = None, *, least: float = 0.18, margin: float = 5.0) -> Window:
    """The whole picture, or, when the box that matters is small in it, a square around that box.

    >>> window(640, 480, [0, 0, 200, 200])
    Window(x=0, y=0, width=640, height=480)
    >>> window(1000, 1000, [490, 490, 510, 510]).width
    100.0
    """
    if box is None:
        return Window(0, 0, width, height)
    side = float(max(box[2] - box[0], box[3] - box[1]))
    if side >= least * max(width, height) or side <= 0:
        return Window(0, 0, width, height)
    size = min(margin * side, float(min(width, height)))
    x = min(max((box[0] + box[2]) / 2 - size / 2, 0.0), width - size)
    y = min(max((box[1] + box[3]) / 2 - size / 2, 0.0), height - size)
    return Window(float(round(x)), float(round(y)), float(round(size)), float(round(size)))


def cut(pixels: Pixels, shown: Window, longest: int, *, blurred: bool = False, left_over: int = 16) -> Any:
    """A window of a picture as a PIL image, at most `longest` pixels long.

    Blurring keeps only `left_over` pixels on the longer side, so that it cannot be undone.
    """
    from PIL import Image

    left, top = int(shown.x), int(shown.y)
    part = Image.fromarray(pixels).crop((left, top, left + int(shown.width), top + int(shown.height)))
    scale = min(1.0, longest / max(part.size))
    size = (max(1, round(part.width * scale)), max(1, round(part.height * scale)))
    if blurred:
        few = left_over / max(part.size)
        part = part.resize((max(1, round(part.width * few)), max(1, round(part.height * few))), Image.Resampling.BOX)
        return part.resize(size, Image.Resampling.BICUBIC)
    return part if size == part.size else part.resize(size, Image.Resampling.LANCZOS)


def jpeg(pixels: Pixels, shown: Window, *, longest: int = 320, blurred: bool = False, quality: int = 80) -> bytes:
    """A window of a picture as a JPEG file; see `cut`."""
    return _jpeg(cut(pixels, shown, longest, blurred=blurred), quality)


def _jpeg(picture: Any, quality: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


def uri(picture: Any, quality: int = 80) -> Markup:
    """A PIL image as a data URI (JPEG)."""
    content = base64.b64encode(_jpeg(picture, quality)).decode("ascii")
    return Markup(f"data:image/jpeg;base64,{content}")  # noqa: S704 - base64 alone


def embedded(pixels: Pixels, shown: Window, *, longest: int = 320, blurred: bool = False, quality: int = 80) -> Markup:
    """A window of a picture as a data URI (JPEG); see `cut`."""
    return uri(cut(pixels, shown, longest, blurred=blurred), quality)


def annotated(pixels: Pixels, boxes: Sequence[tuple[Sequence[float], tuple[int, int, int], str]]) -> Any:
    """A copy of a picture, as a PIL image, with boxes (left, top, width, height; colour; text) drawn on it in order.

    >>> annotated(np.zeros((20, 20, 3), np.uint8), [((4, 4, 8, 8), (0, 190, 60), "")]).getpixel((4, 4))
    (0, 190, 60)
    """
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    draw, thick = ImageDraw.Draw(picture), max(2, pixels.shape[1] // 400)
    for (left, top, width, height), colour, text in boxes:
        draw.rectangle((left, top, left + width, top + height), outline=colour, width=thick)
        draw.text((left + thick, top + thick), text, fill=colour)
    return picture


def whole_picture(pixels: Pixels, *, blurred: bool = False) -> Markup:
    """A picture that a model made, whole."""
    return embedded(pixels, window(pixels.shape[1], pixels.shape[0]), blurred=blurred)
