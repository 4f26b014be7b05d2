"""Face super-resolution: the model shrinks and enlarges a picture; the result is compared with the original."""

from dataclasses import replace

from countenance.tasks import face_encoding
from countenance.tasks.face_encoding import PictureOptions, restored
from countenance.tasks.reduce import With
from countenance.tasks.task import Task


def make(options: PictureOptions) -> Task:
    """The task with its options; a picture of another size than the original is refused, unless strict."""
    return replace(
        face_encoding.make(options),
        name="face_super_resolution",
        question="Is the face restored from a small picture?",
        score=With(restored, options),
        make=make,
    )


FACE_SUPER_RESOLUTION = make(PictureOptions())
