"""Saved predictions as a model: they are looked up by sample id, and no picture is decoded."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from countenance.answers.formats import Predictions
from countenance.answers.store import read_answers
from countenance.answers.targets import FINDS
from countenance.decoding import regular_file
from countenance.errors import ModelError
from countenance.files import file_hash
from countenance.models.model import ModelCard


class SavedAnswers:
    """Predictions by sample id."""

    needs_pixels = False

    def __init__(self, answers: Mapping[str, Any], place: str, empty: Callable[[], Any] | None = None) -> None:
        self.answers, self.place, self.empty = answers, place, empty

    @classmethod
    def of_run(cls, path: Path) -> "SavedAnswers":
        """The predictions in a run's `answers/` folder (or a run, or one Parquet file)."""
        folder = path / "answers" if (path / "answers").is_dir() else path
        return cls(read_answers(folder), str(folder))

    @classmethod
    def of_file(cls, predictions: Predictions) -> "SavedAnswers":
        """The predictions of a file in one of the formats of `answers.formats`."""
        return cls(predictions.by_id, predictions.place, predictions.empty)

    def by_id(self, sample: str) -> Any:
        """The prediction for a sample; without one, the format's empty prediction if it has one, else a ModelError."""
        if sample in self.answers:
            return self.answers[sample]
        if self.empty is not None:
            return self.empty()
        raise ModelError(f"no saved answer in {Path(self.place).name}")


def finds_of_saved(folder: Path) -> tuple[str, ...]:
    """What the model found in the run with this `answers/` folder; empty if the run does not record it."""
    try:
        predictions = json.loads(regular_file(folder.parent / "run.json").read_text(encoding="utf-8"))["model"].get(
            "finds"
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()
    return tuple(word for word in predictions if word in FINDS) if isinstance(predictions, list) else ()


def card_of_predictions(predictions: Predictions) -> ModelCard:
    """The card of saved predictions: the name of their file, and the hash of their content."""
    path = Path(predictions.place)
    if path.is_file() or predictions.files:
        hashes = [file_hash(file) for file in ((path,) if path.is_file() else ()) + predictions.files]
        content = hashes[0] if len(hashes) == 1 else hashlib.sha256(" ".join(hashes).encode()).hexdigest()
    else:
        rows = {key: predictions.by_id[key].to_row() for key in sorted(predictions.by_id)}
        content = hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()
    content += f" {sorted(predictions.classes.items())}" if predictions.classes else ""
    return ModelCard(
        name=path.stem if path.is_file() or path.is_dir() else "predictions",
        description=f"saved predictions ({predictions.format})",
        content=f"{predictions.format}:{content}",
        hashed=True,
    )
