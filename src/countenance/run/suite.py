"""A suite: a published protocol as a value that is run.

It names the datasets, formats and tasks of the protocol, how runs are audited, the sections of their report and the
files that it publishes. A suite is found by the name that its runs carry, through the entry point `countenance.suites`,
so that neither the run nor the report imports one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.data import Dataset, load_dataset
from countenance.data.registry import dataset_names
from countenance.data.tables import near
from countenance.errors import InputError, OptionError
from countenance.loading import is_code, load_code, load_registered, plugins
from countenance.run.auditing import check_names
from countenance.run.evaluator import evaluate
from countenance.run.licences import NOT_STATED
from countenance.run.run import Run
from countenance.settings import AuditFields, DataSettings, EngineSettings, ModelSettings, RunSettings
from countenance.tasks import Task, load_task

Section = tuple[str, str, str]
"""A section of a report: its id, its title, its markup."""
AUDIT = ("metrics", *(name for name in AuditFields.names() if name != "seed"))
"""Options of a suite's run that go to its audit; `by` is also passed to the run."""
EVALUATION = tuple(
    name for group in (ModelSettings, DataSettings, RunSettings, EngineSettings) for name in group.names()
)


@dataclass(frozen=True)
class SuiteTask:
    """A task of a suite (a name, `module:attr`, `path.py:attr` or a `Task`), its fixed options, and where it applies.

    >>> SuiteTask("face_localization").task_name
    'face_localization'
    """

    name: str | Task
    options: Mapping[str, Any] = field(default_factory=dict)
    fits: Callable[[Dataset, Any], bool] = lambda dataset, model: True
    """Whether it applies to a dataset and a model."""

    @property
    def task_name(self) -> str:
        """The task's own name, which `tasks=` takes, and which names the folder of its run."""
        return self.name if isinstance(self.name, str) and not is_code(self.name) else load_task(self.name).name


@dataclass(frozen=True)
class SuiteRequest:
    """One run that a suite will make."""

    dataset: Dataset
    model: Any
    task: Task
    by: tuple[str, ...] | None
    """Attributes to compare by; None: those that the audit finds."""
    arguments: Mapping[str, Any]
    """Arguments of `evaluate`."""
    audit: Mapping[str, Any]
    """Settings of the audit."""


@dataclass(frozen=True)
class Suite:
    """A published protocol; `run` evaluates a model by it.

    >>> faces = Suite("faces", "Is every face found?", datasets=("people",), tasks=(SuiteTask("face_localization"),))
    >>> [run.manifest.task for run in faces.run(data="people:portraits", model="haar", limit=4)]
    ['face_localization']
    """

    name: str
    question: str
    citation: str = ""
    """The citation that its authors request."""
    licence: str = NOT_STATED
    """Under what terms its data and published code may be used."""
    consent: str = NOT_STATED
    """Whether the people in its pictures agreed, and to what."""
    datasets: tuple[str, ...] = ()
    """Names of its datasets; a folder without a name is read as the first."""
    tasks: tuple[SuiteTask, ...] = ()
    formats: tuple[str, ...] = ()
    """Formats of its files of predictions; a file is tried in the first."""
    audit: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its audit that differ from the usual ones."""
    metrics: Callable[[Run], Sequence[str] | None] = lambda run: None
    """The metrics of a run to audit unless the caller names some; None: the headline ones of its task."""
    prepare: Callable[[SuiteRequest], SuiteRequest] = lambda request: request
    """Changes a request before the run as the protocol requires: attributes to compare by, notes, further facts."""
    publish: Callable[[Run], Sequence[str]] = lambda run: ()
    """Writes the files of the protocol into an audited run; returns their names."""
    remark: Callable[[Run], str] = lambda run: ""
    """A few words that boards and comparisons show beside the model of a run; may be empty."""
    sections: Callable[[Any], list[Section]] = lambda source: []
    """Sections of the report of a run, from its `report.source.Source`."""
    report: Callable[..., Path] | None = None
    """Writes the protocol's own report of a run (`Run.report`); None: the report of every run."""
    files: Callable[[Run, Sequence[str]], list[str]] = lambda run, names: []
    """Writes the named files that belong to the suite again, from scores and audit; returns their names."""
    rescore: Callable[[Run, Sequence[str]], list[str]] | None = None
    """Makes scores and results again once images (their ids) were removed; None: the task's reducer does."""
    related: Callable[[Run], Sequence[str]] = lambda run: ()
    """Other runs of the same predictions: people who are removed from one are removed from all."""

    def rights(self) -> dict[str, str]:
        """Citation, licence and consent, for lists, cards and reports.

        >>> Suite("faces", "Is every face found?", consent="rendered people").rights()
        {'Citation': 'not stated', 'Licence': 'not stated', 'Consent': 'rendered people'}
        """
        return {"Citation": self.citation or NOT_STATED, "Licence": self.licence, "Consent": self.consent}

    def run(self, data: Any, model: Any, out: str | Path | None = None, **options: Any) -> list[Run]:
        """Evaluate a model on each task of the protocol that fits it, audit the runs and publish their files.

        `options` are arguments of `evaluate` (whose `options` are for the tasks alone), settings of the audit, options
        of the tasks, and `tasks` (a name, or several) for some of the tasks only. One run is in `out` itself, several
        are in `out/TASK`.
        """
        named = options.pop("tasks", options.pop("task", None))
        dataset, source = self._loaded(data, options)
        chosen = self._fitting(named, dataset, model)
        own = dict(options.pop("options", None) or {})
        arguments, audit, own = _split(options, own, [load_task(task.name) for task in chosen])
        arguments = {"source": source, "suite": self.name} | arguments
        if self.formats and _is_predictions(model):
            arguments["settings"] = {"format": self.formats[0]} | dict(arguments.get("settings") or {})
        runs = []
        for task in chosen:
            place = None if out is None else out if len(chosen) == 1 else f"{str(out).rstrip('/')}/{task.task_name}"
            task_options = {
                **task.options,
                **{name: own[name] for name in own if name in _options_of(load_task(task.name))},
            }
            the_task = load_task(task.name, task_options)
            by = None if audit.get("by") is None else tuple(audit["by"])
            runs.append(self._run(SuiteRequest(dataset, model, the_task, by, arguments, audit), place))
        return runs

    def _run(self, request: SuiteRequest, place: str | Path | None) -> Run:
        request = self.prepare(request)
        known = request.dataset.attribute_names()
        check_names(request.dataset.name, request.by, known)
        run = evaluate(request.model, request.task, request.dataset, out=place, **request.arguments)
        run.made_by = self
        settings = dict(self.audit) | {"seed": int(run.manifest["seed"])} | dict(request.audit)
        metrics, _ = settings.pop("metrics", None) or self.metrics(run), settings.pop("by", None)
        run.audit(request.by, metrics, **settings)
        self.publish(run)
        return run

    def _loaded(self, data: Any, options: Mapping[str, Any]) -> tuple[Dataset, str | None]:
        """The dataset and where it comes from; a folder without a name is of the suite's first kind."""
        if isinstance(data, Dataset):
            return data, options.get("source")
        text = str(data)
        if self.datasets and text.partition(":")[0] not in dataset_names() and Path(text).is_dir():
            text = f"{self.datasets[0]}:{text}" if self.datasets[0] in dataset_names() else text
        reading = {name: options[name] for name in DataSettings().reading() if name in options}
        return load_dataset(text, **reading), text

    def _fitting(self, named: Any, dataset: Dataset, model: Any) -> list[SuiteTask]:
        """The tasks that were named, or all that fit the dataset and the model."""
        known = [task.task_name for task in self.tasks]
        names = [named] if isinstance(named, str) else list(named or ())
        for name in names:
            if name not in known:
                raise OptionError(
                    "tasks", f"task {name!r} is not one of {self.name}{near(name, known)}: {', '.join(known)}"
                )
        if names:
            return [task for task in self.tasks if task.task_name in names]
        fitting = [task for task in self.tasks if task.fits(dataset, model)]
        if not fitting:
            raise InputError(
                f"suite {self.name}: no task fits {dataset.name} ({', '.join(known) or 'it names no task'})"
            )
        return fitting


def suite_names() -> list[str]:
    """The names of all installed suites.

    >>> "uccs" in suite_names()
    True
    """
    return sorted(plugins("suite"))


def load_suite(name: str | Suite) -> Suite:
    """The `Suite` of a name, or of `module:attr` or `path.py:attr` for a custom one; an unknown one is an `InputError`.

    >>> load_suite("mask_fairness").question
    'Do mask detectors find and judge faces of every group alike?'
    """
    if isinstance(name, Suite):
        return name
    plain = name.replace("-", "_")
    suite = load_code("suite", name) if is_code(name) else load_registered("suite", plain, {}, hint=", or module:attr")
    if not isinstance(suite, Suite):
        raise InputError(f"suite {name!r}: that is a {type(suite).__name__}, expected a Suite")
    return suite


def suite_of(run: Run) -> Suite | None:
    """The suite of a run; None for a run without one, and where its package is not installed.

    A suite that is not installed is known to the process in which it made the run.
    """
    if run.made_by is not None:
        return run.made_by
    name = run.manifest.suite
    return plugins("suite")[name].load() if name in plugins("suite") else None


def _split(
    options: Mapping[str, Any], own: Mapping[str, Any], tasks: Sequence[Task]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Options by destination: `evaluate`, the audit, the tasks; an unknown name is refused.

    `own` are options of the tasks alone; an option such as `seed` goes to the tasks and to `evaluate`.
    """
    of_tasks = sorted({name for task in tasks for name in _options_of(task)})
    for names, known in ((options, [*EVALUATION, *AUDIT, *of_tasks]), (own, of_tasks)):
        for name in names:
            if name not in known:
                there = f"its tasks have {', '.join(of_tasks)}" if of_tasks else "its tasks have none"
                raise InputError(f"no option {name!r}{near(name, known)}; {there}")
    arguments = {name: value for name, value in options.items() if name in EVALUATION}
    audit = {name: value for name, value in options.items() if name in (*AUDIT, "by")}
    return arguments, audit, {name: value for name, value in options.items() if name in of_tasks} | dict(own)


def _options_of(task: Task) -> list[str]:
    return [] if task.options is None else list(type(task.options).model_fields)


def _is_predictions(model: Any) -> bool:
    return isinstance(model, str) and model.startswith("predictions:")
