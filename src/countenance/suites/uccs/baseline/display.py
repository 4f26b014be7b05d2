"""Pictures with boxes drawn on them: detections green, truth red."""

from functools import partial
from pathlib import Path

from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.suites.uccs.baseline.detect import Detections

GREEN, RED = (0, 190, 60), (230, 30, 30)


def write_pictures(found: Detections, folder: Path) -> None:
    """One annotated PNG for each image; truth is drawn last, so that it stays visible."""
    from PIL import Image, ImageDraw

    protocol = found.protocol
    number = {name: k for k, name in enumerate(protocol.images)}
    for name, one in zip(found.images, found.found, strict=True):
        try:
            pixels = LazyImage(found.path(name)).load()
        except InputError:
            continue  # it was told when it was to be detected
        picture = Image.fromarray(pixels)
        draw = ImageDraw.Draw(picture)
        width = max(2, pixels.shape[1] // 400)
        for box, score in zip(one["box"].tolist(), one["score"].tolist(), strict=True):
            draw.rectangle((box[0], box[1], box[0] + box[2], box[1] + box[3]), outline=GREEN, width=width)
            draw.text((box[0] + width, box[1] + width), f"{score:.2f}", fill=GREEN)
        if protocol.truth:
            for box in protocol.box[protocol.image == number[name]].tolist():
                draw.rectangle((box[0], box[1], box[0] + box[2], box[1] + box[3]), outline=RED, width=width)
        path = inside(folder, f"{name.rsplit('.', 1)[0]}.png", "FILE")
        write_atomically(path, partial(picture.save, format="PNG"))


def show_if_possible(folder: Path) -> bool:
    """Open the pictures' folder in a window when there is a screen; otherwise do nothing."""
    import os
    import subprocess
    import sys

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    try:
        subprocess.Popen([opener, str(folder)])  # noqa: S603 - a fixed program and a folder of our own
    except OSError:
        return False
    return True
