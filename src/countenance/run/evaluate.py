"""`evaluate`: from a model and a dataset to a finished run."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from countenance.answers import Boxes
from countenance.data import Dataset, load_dataset
from countenance.data.indexed import IndexedDataset
from countenance.data.manifest import SampleManifest
from countenance.errors import InputError
from countenance.metrics.readings import Form, Reading, Units
from countenance.models import ModelCard
from countenance.run.engine.settings import EngineSettings, ProgressMaker, Say
from countenance.run.evaluation import Evaluation
from countenance.run.given import given_model
from countenance.run.licences import Allowed, allowances
from countenance.run.matching import refuse_mismatch
from countenance.run.plan import RunSettings, make_plan
from countenance.run.run import Run
from countenance.run.stages import Notes
from countenance.run.store import RunStore
from countenance.tasks import Task, load_task


class EvaluateOptions(TypedDict, total=False):
    """The keyword arguments of `evaluate`."""

    weights: str | Path | None
    device: str
    settings: dict[str, Any] | None
    workers: int
    threads: int | None
    decoders: int | None
    decode: str
    batch: int
    limit: int | None
    seed: int
    shard: int | None
    strict: bool
    time_limit: float
    max_failures: float
    progress: ProgressMaker | None
    say: Say
    engine: str
    address: str | None
    gpus_per_worker: float
    options: Mapping[str, Any] | None
    by: Sequence[str] | None
    source: str | None
    suite: str | None
    about: Mapping[str, Any] | None
    card: ModelCard | None
    categories: str | None
    box_format: Form | None
    units: Units | None
    allow_mismatch: bool
    allow_licence: Sequence[str | Allowed] | None
    notes: Notes | None


def evaluate(
    model: Any,
    task: str | Task,
    data: str | Path | Dataset | SampleManifest,
    *,
    out: str | Path | None = None,
    **given: Unpack[EvaluateOptions],
) -> Run:
    """Evaluate `model` on every image of `data`, score its predictions and return the run.

    A model is a name, a path, `module:attr` (these run in worker processes), saved predictions (`predictions:FILE`,
    `answers:RUN`, a DataFrame) or any callable on a list of images (which runs here). An interrupted run goes on where
    it stopped; a changed model, dataset or version starts a new one and keeps the old one under another name.

    Keyword arguments: `weights`, `device` and `settings` of the model; `options` of the task; `by`, the attributes
    that results by group are given for; `batch`, `limit`, `seed`, `shard` and `decode` (`exact`, or `gpu` for a GPU's
    JPEG decoder), which determine the numbers; `workers`, `threads`, `decoders` (decode processes of each worker),
    `time_limit`, `strict`, `max_failures`, `progress`, `say`, `engine` (`local` or `ray`), `address` and
    `gpus_per_worker`, which do not. `categories` chooses the categories of a COCO file (`face=1,person=18`),
    `box_format` and `units` say what the four numbers of the model's boxes are, `allow_mismatch` evaluates a model that
    finds something else than the task needs, `allow_licence` names the licences that data and weights may have, and
    `notes` replaces the task's own notes on predictions that look like a mistake. A model that fails on all of the
    first images stops the run (`countenance.run.early_stop`).
    """
    chosen: dict[str, Any] = dict(given)
    model_settings = {name: chosen.pop(name, None) for name in ("weights", "device", "settings")}
    plan_settings = RunSettings(
        **{name: chosen.pop(name) for name in ("batch", "limit", "seed", "shard", "decode") if name in chosen}
    )
    names = tuple(field.name for field in fields(EngineSettings))
    engine_settings = EngineSettings(**{name: chosen.pop(name) for name in names if name in chosen})
    about = {name: chosen.pop(name, None) for name in ("source", "suite", "about", "by")}
    the_task = load_task(task, chosen.pop("options", None))
    card_given, licences = chosen.pop("card", None), chosen.pop("allow_licence", None)
    categories, allow_mismatch = chosen.pop("categories", None), chosen.pop("allow_mismatch", False)
    box_format, units = chosen.pop("box_format", None), chosen.pop("units", None)
    notes = chosen.pop("notes", None) or the_task.notes
    if chosen:
        raise TypeError(f"evaluate() has no argument {next(iter(chosen))!r}")
    loaded = data if isinstance(data, SampleManifest) else load_dataset(data, categories=categories)
    dataset = loaded.manifest if isinstance(loaded, IndexedDataset) else loaded
    source = about.pop("source") or (str(data) if isinstance(data, str | Path) else None)
    chosen_model = given_model(model, model_settings | {"units": units}, the_task, dataset)
    card = card_given or chosen_model.card
    for allowed in allowances(licences):
        allowed.check([("data", dataset.card), ("model", card)])
    if not allow_mismatch:
        refuse_mismatch(card, the_task)
    reading = chosen_model.reading
    if box_format or units:
        if the_task.answer is not Boxes:
            raise InputError(f"{the_task.name} has no boxes; leave --box-format and --units out")
        reading = Reading(box_format or reading.form, units or reading.units)
    plan_settings = replace(plan_settings, reading=reading)
    for note in getattr(dataset, "notes", ()):
        engine_settings.say(note)
    plan = make_plan(the_task, dataset, card, source=source, settings=plan_settings, **about)
    place = out if out is not None else tempfile.mkdtemp(prefix="countenance-run-")
    read = {"categories": categories, "notes": list(getattr(dataset, "notes", ()))}
    return Evaluation(plan, chosen_model, RunStore(place), engine_settings, notes, read).run()
