"""Boxes of a model in another reading: what the others would find, when next to nothing is found."""

import numpy as np

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.reading_trials import FileBoxes, file_note
from countenance.metrics.readings import CORNERS
from countenance.suites.fhibe.outputs import FILE
from countenance.suites.fhibe.scoring.base import Array, Ints, Job

REMEDY = "write detections as [x0, y0, x1, y1] in pixels"


def reading_problems(job: Job, truth: Array, image: Ints, boxes: Array, counts: Ints) -> list[str]:
    """A sentence when the boxes look as if they were given in another reading, or nothing.

    `image` is the image of each row of the table, `boxes` all boxes, image after image, `counts` how many each has.
    """

    def size(number: int) -> tuple[float, float] | None:
        try:
            return LazyImage(job.people.image_path(int(np.flatnonzero(image == number)[0]))).size()
        except InputError:
            return None

    told = file_note(
        FileBoxes(truth, image, CORNERS),
        FileBoxes(boxes, np.repeat(np.arange(len(counts)), counts), CORNERS),
        size=size,
        remedy=REMEDY,
        nouns=("person", "people") if job.task == "person_localization" else ("face", "faces"),
    )
    return [] if told is None else [f"{job.folder / FILE}: {told}"]
