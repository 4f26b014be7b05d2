"""Baselines for tasks in which a model returns a picture: a codec and an interpolation. Nothing is learned."""

import io

import numpy as np

from countenance.answers import Picture
from countenance.data.image import decode
from countenance.models.model import Images


class Jpeg:
    """Each picture through JPEG and back: a real, simple face codec."""

    def __init__(self, quality: int = 20) -> None:
        self.quality = quality

    def __call__(self, images: Images) -> list[Picture]:
        from PIL import Image

        output = []
        for image in images:
            buffer = io.BytesIO()
            Image.fromarray(np.asarray(image)).save(buffer, "JPEG", quality=self.quality)
            output.append(Picture(decode(buffer.getvalue())))
        return output


class Bicubic:
    """Each picture shrunk and enlarged again by bicubic interpolation: the baseline of super-resolution."""

    def __init__(self, factor: int = 4) -> None:
        self.factor = factor

    def __call__(self, images: Images) -> list[Picture]:
        from PIL import Image

        output = []
        for image in images:
            picture = Image.fromarray(np.asarray(image))
            width, height = picture.size
            size = max(1, width // self.factor), max(1, height // self.factor)
            small = picture.resize(size, Image.Resampling.BOX)
            output.append(Picture(np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))))
        return output
