"""`evaluate_task`: change one import and get the same numbers, and a run that can be audited.

The run is made by `countenance.evaluate` as every run is: an interrupted one resumes, a changed model,
table or setting begins a new one and keeps the old one under another name.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.data.adapters.fhibe import FhibeDataset, read_dataset
from countenance.data.adapters.fhibe.words import DEFAULT_ATTRIBUTES
from countenance.data.record import read_record
from countenance.errors import InputError
from countenance.models import ModelCard, ModelSpec, card_of_callable
from countenance.models.saved_predictions import card_of_predictions
from countenance.person_columns import GROUPS_OF
from countenance.run.early_stop import no_going_on
from countenance.run.evaluator import evaluate
from countenance.run.file_names import MANIFEST
from countenance.run.manifest import Manifest
from countenance.run.run import Run
from countenance.suites.fhibe.outputs import read_outputs, reading_notes, write_outputs
from countenance.suites.fhibe.pictures import task_of
from countenance.suites.fhibe.published import write_published
from countenance.suites.fhibe.settings import RUNS, FhibeSettings
from countenance.suites.fhibe.vocabulary import MODEL_CARD, compared_by
from countenance.suites.fhibe.wrapper import BATCH, FhibeWrapper, is_wrapper
from countenance.tasks.thresholds import EXACT

Step = Callable[[int], None]
ABOUT = ("dataset", "task", "model_name", "compat", "mini", "depth", "layout")
"""Settings that a manifest stores unchanged."""
INSTEAD = ("PSNR", "SSIM")
"""Metrics of pictures that are reported where no requested metric can be computed; they need no network."""
SECONDS = 60.0
"""Time that one image may take in a wrapper that runs in a worker process."""


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
) -> Run:
    """Evaluate a model on one of FHIBE's nine tasks and return the run.

    `model` is the original's wrapper, any model of ours (a callable, a name, a `ModelSpec`), or None with
    `reuse_model_outputs=True`. Results go to `{results_rootdir}/[mini/]{task}/{dataset}/{model_name}/`: the model's
    outputs, the run directory as `run/` (strict: `run-strict/`), and with `fhibe_layout=True` the original's files.

    Further keywords: `compat` ("strict" reproduces the original's numbers, quirks included; the default is the right
    number, docs/suites/fhibe.md lists the differences), `fhibe_layout`, `depth` (how many attributes are crossed in its
    files), `without` (images that must not be used), `out` (the run, elsewhere), `dataset_version`, `workers`
    (processes, for a model by name), `step` (called as images are done), `progress` and `say` (as for `evaluate`), and
    the options of the task. `cuda` has no effect: a wrapper decides itself where it runs.
    """
    if model is None and not reuse_model_outputs:
        raise InputError("model is None: give a model, or reuse_model_outputs=True to score stored outputs")
    out, version = further.pop("out", None), further.pop("dataset_version", None)
    work: dict[str, Any] = {"workers": further.pop("workers", 1), "say": further.pop("say", lambda line: None)}
    if (step := further.pop("step", None)) is not None:
        work["progress"] = progress_of(step)
    work |= {"progress": further.pop("progress")} if "progress" in further else {}
    chosen = {name: further.pop(name) for name in ("compat", "depth", "without") if name in further}
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
        **chosen,
    )
    task, skipped = task_of(settings)
    subject, how = (None, {}) if reuse_model_outputs else runnable(model, settings)
    dataset = read(settings, version)
    if reuse_model_outputs:
        subject = read_outputs(settings, dataset, task)
        how = {"card": stored_card(settings, card_of_predictions(subject))}
    with no_going_on():
        run = evaluate(
            subject,
            task,
            dataset,
            out=settings.folder / RUNS[settings.compat] if out is None else out,
            source=dataset.source,
            by=compared_by(settings.attributes, GROUPS_OF.values()),
            suite="fhibe",
            about=about(settings, skipped),
            notes=reading_notes(settings.task),
            **work,
            **how,
        )
    if not reuse_model_outputs:
        write_outputs(settings, dataset, run.store.answers(), by_person="batch" in how)
    run = placed(run, settings, about(settings, skipped), version)
    if settings.layout:
        write_published(run, dataset, settings)
    return run


def read(settings: FhibeSettings, version: str | None = None) -> FhibeDataset:
    """The dataset that the settings name."""
    dataset = read_dataset(
        settings.data,
        settings.dataset,
        settings.task,
        tuple(settings.attributes),
        compat=settings.compat,
        size=settings.mini,
        without=frozenset(settings.without),
    )
    if version is not None:
        dataset.card = dataset.card.model_copy(update={"version": version})
    return dataset


def runnable(model: Any, settings: FhibeSettings) -> tuple[Any, dict[str, Any]]:
    """A model in a form that `evaluate` runs, and further arguments for it; the original's wrapper is adapted."""
    spec = ModelSpec(str(model)) if isinstance(model, str | Path) else model
    if isinstance(spec, ModelSpec):
        card = spec.card()
        if ":" not in spec.source or not is_wrapper(spec.load()):
            return spec, {"card": card.model_copy(update={"name": settings.model_name})}
        adapted: Any = replace(
            spec,
            source=f"{FhibeWrapper.__module__}:{FhibeWrapper.__name__}",
            settings={"model": str(Path(spec.source).absolute()) if ".py:" in spec.source else spec.source}
            | wrapper_settings(settings),
        )
    else:
        if not is_wrapper(model) and not callable(model):
            raise InputError(
                f"model is a {type(model).__name__}; expected data_preprocessor and __call__ (FHIBE's wrapper), "
                "or something callable on a list of images"
            )
        card = card_of_callable(model)
        if not is_wrapper(model):
            return model, {"card": card.model_copy(update={"name": settings.model_name})}
        adapted = FhibeWrapper(model, **wrapper_settings(settings))
    named = card.model_copy(update={"name": settings.model_name})
    return adapted, {"card": named, "batch": BATCH, "time_limit": SECONDS * BATCH}


def wrapper_settings(settings: FhibeSettings) -> dict[str, Any]:
    """The settings for the adapter of a wrapper."""
    return {
        "task": settings.task,
        "root": str(settings.data),
        "folder": str(settings.folder),
        "dataset": settings.dataset,
        "custom_keypoints": settings.options.get("custom_keypoints"),
    }


def stored_card(settings: FhibeSettings, read_from: ModelCard) -> ModelCard:
    """The card beside stored outputs if there is one, else a card that says that they were stored."""
    path = settings.outputs / MODEL_CARD
    if path.is_file():
        card = read_record(ModelCard, path, missing="", wrong="; expected a model card")
        return card.model_copy(update={"content": read_from.content, "hashed": True})
    return read_from.model_copy(update={"name": settings.model_name, "description": "stored model outputs"})


def about(settings: FhibeSettings, skipped: dict[str, str]) -> dict[str, Any]:
    """The manifest's facts on FHIBE's protocol, without paths of this machine."""
    plain = (str, int, float, bool, list, tuple, type(None))
    computed = [name for name in settings.metrics if name not in skipped]
    return {name: getattr(settings, name) for name in ABOUT} | {
        "attributes": list(settings.attributes),
        "metrics": computed or list(INSTEAD),
        "notes": []
        if computed
        else [f"none of the requested metrics could be computed; {' and '.join(INSTEAD)} are reported instead"],
        "thresholds": {name: settings.scoring.levels(name).tolist() for name in settings.metrics if name in EXACT},
        "skipped": skipped,
        "options": {
            name: value if isinstance(value, plain) else str(value) for name, value in settings.options.items()
        },
    }


def placed(run: Run, settings: FhibeSettings, facts: dict[str, Any], version: str | None = None) -> Run:
    """The run with the places of its data and outputs, and with the facts of this call (none is in the key)."""
    paths = {"data": settings.data, "results": settings.results, "outputs": settings.outputs}
    return amended(
        run,
        {name: os.path.abspath(path) for name, path in paths.items()},  # noqa: PTH100 - links are not resolved
        version,
        **facts,
    )


def amended(run: Run, paths: dict[str, str] | None = None, version: str | None = None, **facts: Any) -> Run:
    """The run with further facts of the protocol, and another version of its dataset, in its manifest."""
    here, manifest = run.local, run.store.manifest()
    changed = Manifest.model_validate(manifest.model_dump())
    changed.about |= facts
    card = manifest.dataset.card
    changed.dataset.card = card.model_copy(update={"version": version or card.version})
    local = here if paths is None else here.model_copy(update={"paths": paths})
    if changed != manifest:
        with run.store.replacing(MANIFEST):
            run.store.write_manifest(changed)
    if here.mark and (changed != manifest or local != here):  # the mark also covers these facts
        run.store.write_local(local, changed)
    return Run(run.place, data=run.data, trust_code=run.trust_code)


def progress_of(step: Step) -> Callable[[str, int], AbstractContextManager[Callable[..., None]]]:
    """A progress bar that calls `step` as images are done."""

    @contextmanager
    def bar(what: str, total: int) -> Iterator[Callable[..., None]]:
        yield (lambda n=1: step(n)) if what == "evaluating" else (lambda n=1: None)

    return bar
