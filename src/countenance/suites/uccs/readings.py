"""Trials of other readings of a score file's boxes, where almost nothing is found."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.uccs_protocol import image_folder
from countenance.data.image import LazyImage
from countenance.data.reading.lines import Floats
from countenance.errors import InputError
from countenance.metrics.curves.pairs import challenge_overlap, intersection_over_union
from countenance.metrics.reading_trials import FileBoxes, Localises, file_note
from countenance.metrics.readings import Reading
from countenance.suites.uccs.evaluation import Submission

AS_WRITTEN = Reading("xywh", "px")
"""FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT and their BB_ counterparts."""
REMEDY = "write BB_X, BB_Y, BB_WIDTH, BB_HEIGHT as the top-left corner and the size in pixels"


def reading_warnings(submission: Submission, data: Path) -> tuple[str, ...]:
    """A sentence if the boxes of a score file seem to be in another reading."""
    protocol, scores = submission.protocol, submission.scores
    folder = image_folder(data, protocol.path.stem, protocol.version)

    def size(number: int) -> tuple[float, float] | None:
        try:
            return LazyImage(folder / protocol.images[number]).size()
        except InputError:
            return None

    note = file_note(
        FileBoxes(protocol.box, protocol.image, AS_WRITTEN),
        FileBoxes(scores.box, submission.row_image, AS_WRITTEN),
        size=size,
        remedy=REMEDY,
        localises=_localises(submission.version, submission.settings.overlap),
    )
    return () if note is None else (f"{scores.path}: {note}",)


def _localises(version: int, overlap: float) -> Localises:
    """The test of which faces count as found: a detection overlaps them enough, by the version's own measure."""
    measure = challenge_overlap if version == 2 else intersection_over_union

    def localises(truth: Floats, predicted: Floats) -> NDArray[np.bool_]:
        sizes = np.ones((1, 2))
        faces, boxes = AS_WRITTEN.numbers(truth, sizes), AS_WRITTEN.numbers(predicted, sizes)
        each = measure(np.repeat(faces, len(boxes), axis=0), np.tile(boxes, (len(faces), 1)))
        return np.asarray(each.reshape(len(faces), len(boxes)).max(axis=1) >= overlap)

    return localises
