"""Predictions of the bias bounty: a CSV with a class of skin tone, gender and age for each picture."""

from pathlib import Path

from countenance.answers import Labels
from countenance.answers.formats.base import Format, PredictionRequest, Predictions
from countenance.data.adapters.bias_bounty_files import COLUMNS, ClassTable, read_predictions


def _read(path: Path, request: PredictionRequest) -> Predictions:
    """A predictions file, refused with every problem when it is not whole."""
    return predictions_of(read_predictions(path, request.names.ids), path)


def predictions_of(table: ClassTable, path: Path) -> Predictions:
    """A predictions file that was read."""
    return Predictions(str(path), "bias_bounty", {name: Labels(table.words(i)) for i, name in enumerate(table.names)})


def _detects(path: Path) -> bool:
    """A CSV whose first line has the four columns."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.readline(4096).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return set(COLUMNS) <= {cell.strip().strip('"') for cell in head.split(",")}


BIAS_BOUNTY = Format(
    name="bias_bounty",
    meaning="the bounty's CSV: name, skin_tone, gender, age",
    kinds=(Labels,),
    detects=_detects,
    read=_read,
)
