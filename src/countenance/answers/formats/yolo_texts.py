"""A folder of text files as YOLO saves predictions: for each image `class cx cy w h [score]`, as shares of it."""

from pathlib import Path

from countenance.answers.boxes import Boxes
from countenance.answers.formats.base import EMPTY, Format, PredictionRequest, Predictions, absence, by_image
from countenance.data.tables import finite_number, read_text
from countenance.errors import ModelError
from countenance.metrics.readings import Reading

FIELDS = ("class", "cx", "cy", "w", "h", "score")
Entry = tuple[list[float], float]


def read_yolo_texts(folder: Path, request: PredictionRequest) -> Predictions:
    """Boxes by image; an image without a file, or with an empty one, is one in which nothing was found."""
    entries = [(path.stem, _boxes_of(path)) for path in sorted(folder.rglob("*.txt"))]
    files, unknown = by_image(entries, request, str(folder))
    if not files:
        raise ModelError(unknown or f"{folder}: holds no predictions")
    answers = {}
    for name, lists in files.items():
        boxes = [entry for entries in lists for entry in entries]
        answers[name] = Boxes([box for box, _ in boxes], [score for _, score in boxes])
    request.names.by_file_name.clear()  # outputs and pictures usually lie in different folders
    notes = (unknown,) if unknown else ()
    absent = absence(answers, request, str(folder), "no file and count as images without boxes")
    reading = Reading("cxcywh", request.units or "rel")
    return Predictions(str(folder), "yolo", answers, absent, EMPTY[Boxes], notes, reading)


def _boxes_of(path: Path) -> list[Entry]:
    entries: list[Entry] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        cells, place = line.split(), f"{path} line {number}"
        if not cells:
            continue
        if len(cells) not in (len(FIELDS) - 1, len(FIELDS)):
            raise ModelError(f"{place}: {len(cells)} fields, expected {' '.join(FIELDS)} (the score may be missing)")
        numbers = [finite_number(cell, name, place) for cell, name in zip(cells[1:], FIELDS[1:], strict=False)]
        entries.append((numbers[:4], numbers[4] if len(numbers) > 4 else 1.0))
    return entries


YOLO_TEXTS = Format(
    name="yolo",
    meaning="a folder of text files, each named after its image, with a line for each box: class cx cy w h score",
    kinds=(Boxes,),
    detects=lambda path: path.is_dir() and next(path.rglob("*.txt"), None) is not None,
    read=read_yolo_texts,
)
