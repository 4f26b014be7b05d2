"""Predictions made elsewhere, read for an assessment and checked against its pictures."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.formats import Predictions, read_predictions
from countenance.answers.formats.base import units_of
from countenance.data.adapters.mask_fairness import MaskData
from countenance.data.categories import classes_in_words
from countenance.data.reading.box_readings import as_arguments, fits_sentence
from countenance.decoding import open_parquet
from countenance.errors import InputError
from countenance.metrics.readings import Reading, fitting
from countenance.run.chosen_model import wanted_by
from countenance.settings.box_words import Form, Units
from countenance.settings.engine import Say
from countenance.tasks import load_task


def predictions_of(
    path: Path,
    data: MaskData,
    *,
    units: Units | None = None,
    box_format: Form | None = None,
    classes: Mapping[int, str] | None = None,
    say: Say = lambda line: None,
) -> Any:
    """The predictions of a file in any format, or the stored predictions of a run, as a model.

    `units` and `box_format` override the recognised format, `classes` the class numbers of its format.
    """
    if path.is_dir() or _is_stored(path):
        from countenance.models.saved_predictions import SavedAnswers

        return SavedAnswers.of_run(path)
    options = {"classes": ",".join(f"{number}={label}" for number, label in classes.items())} if classes else {}
    predictions = read_predictions(path, wanted_by(load_task(data.task), data.dataset, options, units))
    reading = Reading(box_format or predictions.reading.form, units or units_of(predictions.by_id.values()))
    predictions = replace(predictions, reading=reading)
    n = sum(map(len, predictions.by_id.values()))
    say(f"{path.name}: {n} box{'' if n == 1 else 'es'}, read as {reading} ({reading.numbers_are})")
    if predictions.classes:
        source = "" if classes else "; classes= says otherwise"
        say(f"{path.name}: classes {classes_in_words(predictions.classes)}{source}")
    _refuse_negative(predictions, data, path)
    return predictions


def _is_stored(path: Path) -> bool:
    """Whether a file holds stored predictions of a run, and not a table of boxes."""
    if path.suffix.lower() != ".parquet":
        return False
    try:
        return b"answer" in (open_parquet(path, path).schema_arrow.metadata or {})
    except (InputError, OSError):
        return False


def _refuse_negative(predictions: Predictions, data: MaskData, path: Path) -> None:
    """Raise for a box with a negative side, and name every other reading in which the boxes of the file fit."""
    boxes = [
        (sample, box)
        for sample in data.dataset
        if sample.id in predictions.by_id
        for box in predictions.by_id[sample.id].xyxy
    ]
    numbers = np.array([box for _, box in boxes]).reshape(len(boxes), 4)
    sizes = np.array([[sample.width, sample.height] for sample, _ in boxes], dtype=np.float64).reshape(len(boxes), 2)
    corners = predictions.reading.corners(numbers, sizes)
    bad = np.flatnonzero((corners[:, 2:] < corners[:, :2]).any(axis=1))
    if not len(bad):
        return
    others = [other for other in fitting(numbers, sizes) if other != predictions.reading]
    fits = f"; {fits_sentence(others, partial(as_arguments, truth=False))}" if others else ""
    sample, box = boxes[bad[0]]
    shown = f"box {tuple(box.tolist())} of {sample.id}"
    raise InputError(f"{path}: read as {predictions.reading}, {shown} has a negative width or height{fits}")
