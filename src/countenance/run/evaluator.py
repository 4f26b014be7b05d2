"""`evaluate`: from a model and a dataset to a finished run."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from countenance.answers import Boxes
from countenance.answers.targets import in_words
from countenance.data import Dataset, load_dataset
from countenance.data.indexed_dataset import IndexedDataset
from countenance.data.manifest import SampleManifest
from countenance.errors import ModelError, OptionError
from countenance.metrics.readings import Reading
from countenance.models import ModelCard
from countenance.run.chosen_model import choose_model
from countenance.run.evaluation import Evaluation
from countenance.run.licences import Allowed, allowances
from countenance.run.plan import make_plan
from countenance.run.run import Run
from countenance.run.stages import Notes
from countenance.run.store import RunStore
from countenance.run.subjects import read_subjects
from countenance.scratch import scratch_folder
from countenance.settings import DataSettings, ModelSettings, RunSettings, SettingsModel, default_of
from countenance.settings.box_words import Form, Units
from countenance.settings.engine import EngineSettings, ProgressMaker, Say, silent
from countenance.tasks import Task, load_task, task_names

Group = TypeVar("Group", bound=SettingsModel)


def evaluate(
    model: Any,
    task: str | Task,
    data: str | Path | Dataset | SampleManifest,
    *,
    out: str | Path | None = None,
    # the model
    weights: str | Path | None = None,
    device: str = "cpu",
    settings: Mapping[str, Any] | None = None,
    box_format: Form | None = None,
    units: Units | None = None,
    allow_mismatch: bool = False,
    timed: bool = False,
    card: ModelCard | None = None,
    # the data
    labels: str | Path | Sequence[str | Path] | None = None,
    columns: str | None = None,
    only_present: bool = False,
    categories: str | None = None,
    truth_boxes: Form | None = None,
    truth_units: Units | None = None,
    source: str | None = None,
    withdrawn: str | Path | Sequence[str] | None = None,
    # the run
    options: Mapping[str, Any] | None = None,
    by: Sequence[str] | None = None,
    batch: int = 8,
    limit: int | None = None,
    seed: int = 0,
    shard: int | None = None,
    decode: Literal["exact", "gpu"] = "exact",
    allow_licence: Sequence[str | Allowed] | None = None,
    suite: str | None = None,
    about: Mapping[str, Any] | None = None,
    notes: Notes | None = None,
    # the work
    workers: int = 1,
    threads: int | None = None,
    decoders: int | None = None,
    time_limit: float = 120.0,
    strict: bool = False,
    max_failures: float = 0.05,
    progress: ProgressMaker | None = None,
    say: Say = silent,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    gpus_per_worker: float = 0.0,
) -> Run:
    """Evaluate `model` on every image of `data`, score its predictions and return the run.

    A model is a name, a path, `module:attr` or `path.py:attr` (these run in worker processes), saved predictions
    (`predictions:FILE`, `answers:RUN`, a DataFrame) or any callable on a list of images (which runs here). A task is a
    name, a `Task`, `module:attr` or `path.py:attr`; data is a name, a path, a `Dataset`, or the same two forms of code.
    An interrupted run resumes; a changed model, dataset or version starts a new one and keeps the old
    one under another name. A model that fails on all of the first images stops the run. Wrong input is an `InputError`.

    >>> import countenance as ct
    >>> run = ct.evaluate("haar", "face_localization", "people:portraits", limit=4)
    >>> run.manifest.dataset.images
    4

    Arguments of the model:
        weights: weights of a zoo model that takes them by path.
        device: where the model runs, cpu or cuda.
        settings: arguments of a model that is given by name, or of the format of a file of predictions.
        box_format: what the four numbers of the model's boxes are (xyxy, xywh, cxcywh, xxyy, yxyx; default xyxy).
        units: what the model's boxes are measured in (px or rel; default px).
        allow_mismatch: evaluate a model even if it finds something else than the task needs.
        timed: measure the time of each image, one image at a time, as the metric `latency_ms`.
        card: a card that replaces the model's own.
    Arguments of the data:
        labels: a table of labels beside the pictures (CSV, TSV, JSON, Parquet, a tool's export), or several.
        columns: what the columns of the labels hold, where their names do not say (`file=img,person=who`).
        only_present: leave out rows of the labels whose picture is missing.
        categories: categories of COCO, YOLO or VOC files that are people or faces (`face=1,person=18`).
        truth_boxes, truth_units: what the dataset's boxes are, where its files do not say.
        source: where a dataset object comes from, for the manifest.
        withdrawn: who withdrew (a file as for purge, or ids), when a run from another machine is resumed.
    Arguments of the run, which determine its numbers:
        options: options of the task.
        by: attributes for which results by group are computed (default: all).
        batch: images that the model gets at once.
        limit: evaluate only this many images, drawn with the seed.
        seed: seed of everything random.
        shard: images in a shard (default: by the number of images).
        decode: exact (on the CPU) or gpu (nvJPEG, whose pixels differ slightly).
        allow_licence: licences that data and weights may have; with others the run does not start.
        suite, about: the suite that the run belongs to, and further facts for the manifest.
        notes: replaces the notes of the task on predictions that look like a mistake.
    Arguments of the work, which do not change a number:
        workers, threads: worker processes, and threads of each (default: cores / workers).
        decoders: decode processes of each worker (default: all cores but one for cuda, otherwise none).
        time_limit: seconds that a batch may take.
        strict: stop at the first failing image.
        max_failures: share of images that may fail before there is no verdict; 1 continues when all fail.
        progress, say: functions that make the progress bar and that are called with each message.
        engine: local (processes of this machine) or ray (actors of a cluster).
        address, gpus_per_worker: the Ray cluster (default: one on this machine), and the GPUs of each worker.
    """
    arguments = dict(locals())
    data_settings, run_settings = _group(DataSettings, arguments), _group(RunSettings, arguments)
    the_task = load_task(task, run_settings.options)
    reading = data_settings.reading()
    loaded = data if isinstance(data, SampleManifest) else load_dataset(data, task=the_task.name, **reading)
    if source is None and isinstance(data, str | Path):
        data_settings = data_settings.changed(source=getattr(loaded, "source", str(data)))
    return evaluate_loaded(
        model,
        the_task,
        loaded,
        out,
        _group(ModelSettings, arguments),
        data_settings,
        run_settings,
        _group(EngineSettings, arguments),
    )


def _group(group: type[Group], arguments: Mapping[str, Any]) -> Group:
    """The settings of one group, from the arguments of `evaluate`."""
    return group(**{name: arguments[name] for name in group.names()})


def evaluate_loaded(
    model: Any,
    task: Task,
    data: Dataset | SampleManifest,
    out: str | Path | None,
    model_settings: ModelSettings,
    data_settings: DataSettings,
    run_settings: RunSettings,
    engine_settings: EngineSettings,
) -> Run:
    """`evaluate` of a task with its options and of a dataset that was read, with the settings in groups."""
    if model_settings.timed:
        run_settings = _one_at_a_time(run_settings)
    dataset = data.manifest if isinstance(data, IndexedDataset) else data
    chosen_model = choose_model(model, model_settings, task, dataset)
    card = model_settings.card or chosen_model.card
    chosen_model = replace(chosen_model, card=card)
    for allowed in allowances(run_settings.allow_licence):
        allowed.check([("data", dataset.card), ("model", card)])
    if not model_settings.allow_mismatch:
        refuse_mismatch(card, task)
    for note in getattr(dataset, "notes", ()):
        engine_settings.say(note)
    plan = make_plan(
        task,
        dataset,
        card,
        source=data_settings.source,
        settings=run_settings,
        reading=_reading(model_settings, chosen_model.reading, task),
        timed=model_settings.timed,
    )
    place = out if out is not None else scratch_folder("run")
    read = {
        "categories": data_settings.categories,
        "reading": _recorded(data_settings),
        "notes": list(getattr(dataset, "notes", ())),
    }
    notes, people = run_settings.notes or task.notes, _people(data_settings.withdrawn)
    files, started = tuple(data_settings.label_files()), time.time()
    run = Evaluation(plan, chosen_model, RunStore(place), engine_settings, notes, read, people, files).run()
    if isinstance(data, Dataset):
        run.loaded, run.read_since = data, started
    return run


def _recorded(settings: DataSettings) -> dict[str, Any]:
    """The settings with which the dataset was read, for the manifest: label files without their folders."""
    files = settings.label_files()
    plain = {
        name: value for name, value in settings.reading().items() if value and name not in ("categories", "labels")
    }
    return plain | ({"labels": [path.name for path in files]} if files else {})


def _one_at_a_time(settings: RunSettings) -> RunSettings:
    if settings.batch not in (1, default_of(RunSettings, "batch")):
        raise OptionError("timed", f"timed: images are timed one at a time; leave batch={settings.batch} out", "batch")
    return settings.changed(batch=1)


def _reading(settings: ModelSettings, own: Reading, task: Task) -> Reading:
    """The format and units of the model's boxes: the caller's, else the model's own."""
    if not (settings.box_format or settings.units):
        return own
    if task.answer is not Boxes:
        name = "box_format" if settings.box_format else "units"
        raise OptionError(name, f"{task.name} has no boxes; leave {name} out")
    return Reading(settings.box_format or own.form, settings.units or own.units)


def _people(withdrawn: str | Path | Sequence[str] | None) -> tuple[str, ...] | None:
    """The people in a list, or in a file with a list; None if it is empty."""
    return tuple(read_subjects(Path(withdrawn)) if isinstance(withdrawn, str | Path) else withdrawn or ()) or None


def refuse_mismatch(card: ModelCard, task: Task) -> None:
    """Raise when a model finds something else than the task evaluates.

    A model that does not say what it finds, and a task that does not say what it needs, are accepted.

    >>> refuse_mismatch(ModelCard(name="mine", finds=("face",)), load_task("person_localization"))
    Traceback (most recent call last):
    countenance.errors.ModelError: mine finds faces, and person_localization evaluates people: use face_localization ...
    """
    if not card.finds or not task.needs or set(card.finds) & set(task.needs):
        return
    fitting = [name for name in task_names() if set(load_task(name).needs) & set(card.finds)]
    other = f"use {' or '.join(fitting)}" if fitting else "use another task"
    raise ModelError(
        f"{card.name} finds {in_words(card.finds)}, and {task.name} evaluates {in_words(task.needs)}: {other}, or a "
        f"model that finds {in_words(task.needs)} (allow_mismatch=True evaluates it all the same)"
    )
