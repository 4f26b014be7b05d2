"""The challenge's score files as saved predictions: `--model predictions:FILE`, of version 2 or 3."""

from pathlib import Path

import numpy as np

from countenance.answers import Identifications
from countenance.answers.formats import Format, PredictionRequest, Predictions
from countenance.answers.formats.uccs_scores import ScoreFile, file_version, on_protocol, read_scores
from countenance.data.reading.lines import Ints
from countenance.errors import InputError, ModelError

TOP = 11
"""How many of a detection's similarities are kept if no rank is requested: enough for rank 10."""


def read(path: Path, request: PredictionRequest) -> Predictions:
    """The detections of each image; an image without a line is one where nothing was found."""
    top = request.options.get("top", str(TOP))
    if not top.isdigit():
        raise ModelError(f"{path}: top is {top!r}, expected a whole number")
    version = request.options.get("version")
    scores = read_scores(path, int(version) if version in ("2", "3") else None, top=int(top))
    return predictions_of(scores, tuple(request.names.ids))


def predictions_of(scores: ScoreFile, ids: tuple[str, ...]) -> Predictions:
    """The predictions of a score file, which was read, for the images of a dataset."""
    image, warnings = on_protocol(scores, ids, "the dataset")
    order = np.argsort(image, kind="stable")[np.count_nonzero(image < 0) :]  # by image, in the order of the file
    present, first = np.unique(image[order], return_index=True)
    rows = np.split(order, first[1:])
    answers = {ids[k]: _answer(scores, own) for k, own in zip(present.tolist(), rows, strict=True)}
    left = len(ids) - len(answers)
    absent = f"{scores.path}: {left} of {len(ids)} images have no detection; their faces count as missed"
    return Predictions(
        str(scores.path), "uccs", answers, absent if left else None, Identifications, (*scores.warnings, *warnings)
    )


def _answer(scores: ScoreFile, rows: Ints) -> Identifications:
    labels = scores.labels
    count = labels.count[rows]
    first = np.cumsum(count) - count
    entry = np.arange(count.sum()) + np.repeat(labels.start[rows] - first, count)
    return Identifications(scores.box[rows], scores.score[rows], count, labels.identity[entry], labels.score[entry])


def detects(path: Path) -> bool:
    """Whether a file looks like a score file: .txt (or .gz), and its first line has the columns of a version."""
    if not path.is_file() or not path.name.endswith((".txt", ".txt.gz", ".csv", ".csv.gz")):
        return False
    from countenance.data.reading.text_blocks import first_line

    try:
        head = first_line(path)
        if head is None or file_version(path) == 3:
            return head is not None
        fields = head[1].split(",")
        [float(field) for field in fields[1:6]]
        return len(fields) >= 6
    except (InputError, ValueError):
        return False


UCCS = Format(
    name="uccs",
    meaning="UCCS score files, version 2 and 3",
    kinds=(Identifications,),
    detects=detects,
    read=read,
    options=("top", "version"),
)
