"""Saved answers as a model: what was answered before is answered again, and no network runs."""

import json
from pathlib import Path
from typing import Any

from countenance.answers.finds import FINDS
from countenance.answers.store import read_answers
from countenance.models.model import Images


class SavedAnswers:
    """Answers by sample id from a run's `answers/` folder (or a run, or one Parquet file).

    The engine asks it by id, not by pixels: `takes_ids` tells it to.
    """

    takes_ids = True

    def __init__(self, path: Path) -> None:
        self.path = path / "answers" if (path / "answers").is_dir() else path
        self.answers = read_answers(self.path)

    def __call__(self, images: Images) -> list[Any]:
        raise TypeError("saved answers are asked by sample id")

    def by_id(self, sample: str) -> Any:
        """The answer for a sample; a sample without one is a failure of that sample."""
        if sample not in self.answers:
            raise ValueError(f"no saved answer in {self.path}")
        return self.answers[sample]


def finds_of_saved(folder: Path) -> tuple[str, ...]:
    """What the model of a run found whose `answers/` folder this is; empty where the run does not say."""
    try:
        found = json.loads((folder.parent / "run.json").read_text(encoding="utf-8"))["model"].get("finds")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()
    return tuple(word for word in found if word in FINDS) if isinstance(found, list) else ()
