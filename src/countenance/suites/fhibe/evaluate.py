"""`evaluate_task`: change one import and get the same numbers, and a run that can be audited.

Nothing is cached: every call reads what the files of outputs hold now.
"""

import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.models import ModelCard, ModelSpec, card_of_callable
from countenance.suites.fhibe.evaluation import FhibeEvaluation, Step
from countenance.suites.fhibe.published import write_published
from countenance.suites.fhibe.reading import SCORERS
from countenance.suites.fhibe.recording import Recording, write_run
from countenance.suites.fhibe.rundir import FhibeRun
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.table import FhibeTable, everyone_in, mini, read_table
from countenance.suites.fhibe.vocabulary import DEFAULT_ATTRIBUTES
from countenance.suites.fhibe.wrapper import run_model


def evaluate_task(
    data_rootdir: str | Path,
    dataset_name: str,
    model: Any,
    model_name: str,
    task_name: str,
    metrics: Any = None,
    attributes: Sequence[str] | None = DEFAULT_ATTRIBUTES,
    use_mini_dataset: bool = False,
    mini_dataset_size: int = 50,
    downsampled: bool = True,
    reuse_model_outputs: bool = False,
    results_rootdir: str | Path | None = None,
    cuda: bool = True,
    **further: Any,
) -> FhibeRun:
    """Evaluate a model on one of FHIBE's nine tasks and return the run.

    `model` is the original's wrapper, any model of ours (a callable, a name, a `ModelSpec`), or None with
    `reuse_model_outputs=True`. Results go to `{results_rootdir}/[mini/]{task}/{dataset}/{model_name}/`: the run
    directory as `run/` (strict: `run-strict/`), and with `fhibe_layout=True` the original's files. The findings and
    reports of an earlier run of the same mode are removed (`run.replaced` names them).

    Further keywords: `compat` ("strict" reproduces the original's numbers, quirks included; the default is the right
    number, docs/suites/fhibe.md lists the differences), `fhibe_layout`, `depth` (how many attributes are crossed in
    its files), `without` (images that must not be used), those of `Recording` (`out`, `command`, `dataset_version`,
    `step`), and the options of the task. `cuda` changes nothing: a wrapper decides itself where it runs.
    """
    started = time.perf_counter()
    if model is None and not reuse_model_outputs:
        raise InputError("model is None: give a model, or reuse_model_outputs=True to score stored outputs")
    recording = Recording(**{one.name: further.pop(one.name) for one in fields(Recording) if one.name in further})
    asked = {name: further.pop(name) for name in ("compat", "depth", "without") if name in further}
    settings = FhibeSettings(
        Path(data_rootdir),
        dataset_name,
        model_name,
        task_name,
        metrics=metrics,
        attributes=DEFAULT_ATTRIBUTES if attributes is None else attributes,
        results=Path("results" if results_rootdir is None else results_rootdir),
        mini=(mini_dataset_size or 50) if use_mini_dataset else None,
        layout=further.pop("fhibe_layout", False),
        options=further,
        downsampled=downsampled,
        **asked,
    )
    card = None if reuse_model_outputs else _predict(settings, model, recording.step)
    evaluation = score(settings, recording.step)
    if settings.layout:
        write_published(evaluation)
    return write_run(evaluation, recording, card, time.perf_counter() - started)


def _predict(settings: FhibeSettings, model: Any, step: Step) -> ModelCard:
    """Run a model, store its outputs, and return its card under the name that the user gave it."""
    if isinstance(model, (str, Path, ModelSpec)):
        spec = model if isinstance(model, ModelSpec) else ModelSpec(str(model))
        card, model = spec.card(), spec.load()
    else:
        card = card_of_callable(model)
    boxes = ("person_bbox",) if settings.task in ("keypoint_estimation", "body_parts_detection") else ()
    _, people = people_of(settings, *boxes)
    run_model(settings.task, model, people, settings.folder, settings.options, step, card.content)
    return card.model_copy(update={"name": settings.model_name})


def people_of(settings: FhibeSettings, *more: str) -> tuple[FhibeTable, FhibeTable]:
    """The rows to score (all, or those of a mini dataset) and all people of their images, with `more` columns.

    In strict mode the people who were not drawn count as nobody, as published.
    """
    names = (*settings.attributes, *more)
    table = people = read_table(settings.data, settings.dataset, settings.task, names, strict=settings.strict)
    if settings.mini is not None:
        drawn = mini(table, settings.mini)
        table, people = drawn, drawn if settings.strict else everyone_in(table, drawn)
    if settings.without:
        table, people = (
            each.take([i for i, name in enumerate(each.text("filepath")) if name not in settings.without])
            for each in (table, people)
        )
        if not len(table):
            raise InputError(f"{table.path}: no row is left")
    return table, people


def score(settings: FhibeSettings, step: Step = lambda n: None) -> FhibeEvaluation:
    """Score the outputs in the model's folder."""
    evaluation = FhibeEvaluation(settings, *people_of(settings), step)
    SCORERS[settings.task](evaluation)
    return evaluation
