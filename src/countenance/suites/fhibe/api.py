"""`evaluate_task`: change one import and get the same numbers, and a run that can be audited."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.models import ModelCard, ModelSpec, card_of_callable
from countenance.suites.fhibe.evaluate import people_of, score
from countenance.suites.fhibe.recording import Origin, write_run
from countenance.suites.fhibe.rundir import FhibeRun
from countenance.suites.fhibe.scored import Step
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.vocabulary import DEFAULT_ATTRIBUTES
from countenance.suites.fhibe.wrapper import run_model
from countenance.tasks.thresholds import Compat


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
    *,
    compat: Compat = "default",
    fhibe_layout: bool = False,
    depth: int | None = None,
    step: Step = lambda n: None,
    command: str = "",
    dataset_version: str | None = None,
    without: Collection[str] = (),
    out: str | Path | None = None,
    **task_kwargs: Any,
) -> FhibeRun:
    """Evaluate a model on one of FHIBE's nine tasks and return the run.

    `model` is the original's wrapper, any model of ours (a callable, a name, a `ModelSpec`), or None with
    `reuse_model_outputs=True`. Results go to `{results_rootdir}/[mini/]{task}/{dataset}/{model_name}/`: the run
    directory as `run/` (strict: `run-strict/`), and with `fhibe_layout=True` the original's files.
    `compat="strict"` reproduces the original's numbers, quirks included; the default is the right number
    (docs/suites/fhibe.md lists the differences). Nothing is cached: changed outputs give changed scores, and the
    findings and reports of an earlier run of the same mode are removed (`run.replaced` names them). `without`
    names images that must not be used; `out` puts the run elsewhere.
    """
    started = time.perf_counter()
    if model is None and not reuse_model_outputs:
        raise InputError("model is None: give a model, or reuse_model_outputs=True to score stored outputs")
    settings = FhibeSettings.of(
        data_rootdir,
        dataset_name,
        model_name,
        task_name,
        metrics=metrics,
        attributes=attributes,
        mini=(mini_dataset_size or 50) if use_mini_dataset else None,
        downsampled=downsampled,
        results_rootdir=results_rootdir,
        compat=compat,
        options=task_kwargs,
        layout=fhibe_layout,
        depth=depth,
        without=frozenset(without),
    )
    card: ModelCard | None = None
    if not reuse_model_outputs:
        if isinstance(model, (str, Path, ModelSpec)):
            spec = model if isinstance(model, ModelSpec) else ModelSpec(str(model))
            card, model = spec.card(), spec.load()
        else:
            card = card_of_callable(model)
        boxes = ("person_bbox",) if task_name in ("keypoint_estimation", "body_parts_detection") else ()
        _, people = people_of(settings, *boxes)
        run_model(task_name, model, people, settings.folder, settings.options, step, card.content)
        card = card.model_copy(update={"name": model_name})  # what the user calls it; `source` says what it is
    evaluation = score(settings, step)
    if fhibe_layout:
        evaluation.write_files()
    origin = Origin(card, command, dataset_version, time.perf_counter() - started)
    return write_run(evaluation, origin, out)
