"""The model of a run as the user gave it: a name, a file, saved predictions or an object."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from countenance.answers.formats import PredictionRequest, Predictions, read_predictions
from countenance.answers.libraries import library_of
from countenance.data import Dataset
from countenance.data.manifest import SampleManifest
from countenance.data.names import ImageNames
from countenance.errors import ModelError, OptionError
from countenance.metrics.readings import CORNERS, Reading
from countenance.models import ModelCard, ModelSpec, card_of_callable
from countenance.models.adapters import Request, adapt
from countenance.models.model import attribute_of
from countenance.models.saved_predictions import SavedAnswers, card_of_predictions
from countenance.models.timing import TimedModel
from countenance.settings import ModelSettings
from countenance.settings.box_words import Units
from countenance.tasks import Task

PREDICTIONS = "predictions:"
SAVED = (".csv", ".parquet", ".json", ".txt", ".gz")
"""Endings of files that hold predictions rather than a model."""


@dataclass(frozen=True)
class ChosenModel:
    """A model as it was given: by name (it can be loaded in another process) or as an object."""

    card: ModelCard
    spec: ModelSpec | None = None
    target: Any = None
    device: str = "cpu"
    notes: tuple[str, ...] = ()
    reading: Reading = CORNERS
    """What the four numbers of its boxes are unless the user says otherwise."""

    def here(self) -> Any:
        """The model in this process."""
        return self.target if self.spec is None else self.spec.load()


def choose_model(model: Any, settings: ModelSettings, task: Task, data: Dataset | SampleManifest) -> ChosenModel:
    """The model that a caller named or passed, timed if requested."""
    chosen = _choose_model(model, settings, task, data)
    if not settings.timed:
        return chosen
    if chosen.spec is not None and chosen.spec.needs_process:
        return replace(chosen, spec=replace(chosen.spec, timed=True))
    if chosen.spec is not None or not attribute_of(chosen.target, "needs_pixels", True):
        raise OptionError("timed", "timed: saved predictions take no time; give the model itself")
    return replace(chosen, target=TimedModel(chosen.target))


def _choose_model(model: Any, settings: ModelSettings, task: Task, data: Dataset | SampleManifest) -> ChosenModel:
    """The model that a caller named or passed; saved predictions are read now."""
    weights, device = settings.weights, settings.device
    if (predictions := _predictions(model)) is not None:
        answers = predictions
        if not isinstance(answers, Predictions):
            options = {str(name): str(value) for name, value in (settings.settings or {}).items()}
            name = options.pop("format", None)
            answers = read_predictions(predictions, wanted_by(task, data, options, settings.units), name)
        sentences = [note for note in (*answers.notes, answers.absent) if note]
        notes = tuple(note.replace(answers.place, Path(answers.place).name) for note in sentences)  # they are published
        model = SavedAnswers.of_file(answers)
        card = settings.card or card_of_predictions(answers)  # that one reads the file again
        return ChosenModel(card, target=model, notes=notes, reading=answers.reading)
    if isinstance(model, str | Path):
        if Path(model).suffix.lower() in SAVED:
            raise ModelError(f"{model}: no such file of predictions")
        spec = ModelSpec(str(model), None if weights is None else str(weights), device, settings.settings or {})
        spec = replace(spec, request=Request.of(task, data)) if ":" in spec.source else spec
        return ChosenModel(spec.card(), spec, device=device)
    if isinstance(model, ModelSpec):
        return ChosenModel(model.card(), model, device=model.device)
    if isinstance(model, type):
        raise ModelError(f"model is the class {model.__name__}; give an object of it: {model.__name__}()")
    if settings.settings or weights is not None:
        raise ModelError("settings and weights are for models by name and for files of predictions, not for an object")
    if library_of(model) and (adapted := adapt(model, Request.of(task, data))):
        return ChosenModel(adapted.card, target=adapted.call)
    if callable(model) or attribute_of(model, "by_id") or attribute_of(model, "by_samples"):
        return ChosenModel(card_of_callable(model), target=model)
    raise ModelError(f"model is a {type(model).__name__}, expected a name, a path, predictions or a callable on images")


def _predictions(model: Any) -> Any:
    """The file or table of predictions that a model names; None for any other model."""
    if isinstance(model, str) and model.startswith(PREDICTIONS):
        return model.removeprefix(PREDICTIONS)
    if isinstance(model, str | Path) and Path(model).suffix.lower() in SAVED and Path(model).is_file():
        return model
    if isinstance(model, Predictions):
        return model
    columns = attribute_of(model, "columns") is not None and attribute_of(model, "to_dict") is not None
    table = attribute_of(model, "column_names") is not None or columns
    return model if table or isinstance(model, Mapping) else None


def wanted_by(
    task: Task, data: Dataset | SampleManifest, options: Mapping[str, str], units: Units | None = None
) -> PredictionRequest:
    """What a task requests from a file of predictions on a dataset."""
    people = {} if isinstance(data, SampleManifest) else {s.id: ([subject.id for subject in s.subjects],) for s in data}
    return PredictionRequest(task.answer, names_of(data), options, units, getattr(data, "categories", {}), people)


def names_of(data: Dataset | SampleManifest) -> ImageNames:
    """The names of a dataset's images."""
    return ImageNames([sample.id for sample in data], getattr(data, "aliases", {}))
