"""`evaluate_task`: change one import and get the same numbers, and a run that can be audited."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.models import ModelCard, ModelSpec, card_of_callable
from countenance.suites.fhibe.evaluate import check_metrics, check_options, draw, score_task, write_files
from countenance.suites.fhibe.groups import check_attributes
from countenance.suites.fhibe.layout import model_folder
from countenance.suites.fhibe.rundir import FhibeRun, write_run
from countenance.suites.fhibe.scoring.base import Step
from countenance.suites.fhibe.table import dataset_folder, read_table
from countenance.suites.fhibe.vocabulary import DEFAULT_ATTRIBUTES, FACE_TASKS, Compat
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
    attributes = DEFAULT_ATTRIBUTES if attributes is None else attributes
    if model is None and not reuse_model_outputs:
        raise InputError("model is None: give a model, or reuse_model_outputs=True to score stored outputs")
    card: ModelCard | None = None
    if isinstance(model, (str, Path, ModelSpec)) and not reuse_model_outputs:
        spec = model if isinstance(model, ModelSpec) else ModelSpec(str(model))
        card, model = spec.card(), spec.load()
    elif model is not None and not reuse_model_outputs:
        card = card_of_callable(model)
    if card is not None:
        card = card.model_copy(update={"name": model_name})  # what the user calls it; `source` says what it is
    dataset = dataset_folder(dataset_name, task_name, downsampled)
    names = check_attributes(attributes, face=task_name in FACE_TASKS)
    check_metrics(task_name, metrics, compat)
    options = check_options(task_name, task_kwargs)
    if not reuse_model_outputs:
        folder = model_folder(results_rootdir, task_name, dataset, model_name, use_mini_dataset)
        extra = ("person_bbox",) if task_name in ("keypoint_estimation", "body_parts_detection") else ()
        table = read_table(data_rootdir, dataset, task_name, (*names, *extra), strict=compat == "strict")
        _, people = draw(table, (mini_dataset_size or 50) if use_mini_dataset else None, compat)
        run_model(task_name, model, people, folder, options, step, card.content if card else "")
    evaluation = score_task(
        data_rootdir,
        dataset_name,
        model_name,
        task_name,
        metrics,
        attributes,
        use_mini_dataset=use_mini_dataset,
        mini_dataset_size=mini_dataset_size,
        downsampled=downsampled,
        results_rootdir=results_rootdir,
        compat=compat,
        files=fhibe_layout,
        step=step,
        without=without,
        **task_kwargs,
    )
    if fhibe_layout:
        write_files(evaluation, depth)
    return write_run(
        evaluation,
        model=card,
        depth=depth,
        seconds=time.perf_counter() - started,
        out=out,
        results_rootdir=results_rootdir,
        command=command,
        dataset_version=dataset_version,
        layout=fhibe_layout,
    )
