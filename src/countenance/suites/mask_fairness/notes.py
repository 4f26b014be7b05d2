"""Notes on likely mistakes in an assessment: boxes in another reading, classes exchanged."""

from collections.abc import Mapping, Sequence
from typing import Any

from countenance.answers import Boxes
from countenance.answers.formats import Predictions
from countenance.data import Sample
from countenance.data.adapters.mask_fairness import BOXES, MaskData
from countenance.data.reading.box_readings import as_arguments
from countenance.metrics.reading_trials import Trial
from countenance.metrics.readings import CORNERS, READINGS, Reading
from countenance.tasks import Context, load_task
from countenance.tasks.box_notes import Readings
from countenance.tasks.mask_detection import LOCALISED_FACES, MASK, NO_MASK

OTHER = {MASK: NO_MASK, NO_MASK: MASK}
LOOKS_INVERTED = 0.2
"""True positive and true negative rate at most this: by chance alone they would add up to one."""


def assessment_notes(data: MaskData, model: Any) -> Any:
    """The notes of an assessment of this model on these data, as `evaluate` takes them."""

    def notes(samples: Sequence[Sample], answers: Mapping[str, Boxes], context: Context) -> list[str]:
        sentences = _inverted(data, model, samples, answers)
        if data.task == BOXES:  # without true boxes the place of a box does not matter
            sentences += LOCALISED_FACES.notes_on(samples, answers, _readings(data, context.reading))
        return sentences

    return notes


def _readings(data: MaskData, predicted: Reading) -> Readings:
    """How the boxes were given, and the arguments that choose another reading."""
    truth = data.reading or CORNERS
    truths = tuple(other for other in READINGS if other.units == truth.units) if data.reading else ()

    def remedy(trial: Trial) -> str:
        changes = [as_arguments(trial.truth, truth=True)] if trial.truth != truth else []
        if trial.predicted != predicted:
            changes.append(as_arguments(trial.predicted, truth=False).replace(" units=", " prediction_units="))
        return f"use {', '.join(changes)}"

    return Readings(predicted, truth, truths, remedy)


def _rates(data: MaskData, samples: Sequence[Sample], answers: Mapping[str, Boxes]) -> dict[str, tuple[int, int]]:
    """The numbers of true positives and true negatives, each with the number of faces in its denominator."""
    task = load_task(data.task)
    rows = [row for sample in samples for row in task.score(sample, answers[sample.id])]
    rates = {}
    for metric in ("true_positive", "true_negative"):
        values = [row[f"m.{metric}"] for row in rows if row[f"m.{metric}"] is not None]
        rates[metric] = (int(sum(values)), len(values))
    return rates


def _inverted(data: MaskData, model: Any, samples: Sequence[Sample], answers: Mapping[str, Boxes]) -> list[str]:
    """A sentence if the detector is wrong so often that mask and no mask must be exchanged."""
    now = {metric: counts for metric, counts in _rates(data, samples, answers).items() if counts[1]}
    if not now or any(k > LOOKS_INVERTED * n for k, n in now.values()):
        return []
    turned = {
        name: Boxes(a.xyxy, a.scores, None if a.labels is None else [OTHER[label] for label in a.labels])
        for name, a in answers.items()
    }
    then = _rates(data, samples, turned)
    words = {"true_positive": "true positive rate", "true_negative": "true negative rate"}
    shown = " and ".join(f"{words[metric]} {k} of {n}" for metric, (k, n) in now.items())
    would = " and ".join(f"{then[metric][0]} of {then[metric][1]}" for metric in now)
    remedy = "check the classes of the detector"
    if isinstance(model, Predictions) and model.classes:
        swapped = ",".join(f"{number}={OTHER[label]}" for number, label in model.classes.items())
        remedy = f'use classes="{swapped}" if the predictions count so'
    if data.reading and data.dataset.categories:  # of YOLO files
        remedy += ", or put a classes.txt with the right order beside the label files"
    return [f"the classes look inverted: {shown}; with mask and no mask exchanged it would be {would}: {remedy}"]
