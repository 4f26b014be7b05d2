"""The task of a stored run, from its name or from the run's description, without foreign code."""

from typing import TYPE_CHECKING, Any, NoReturn

from countenance.answers.store import KINDS
from countenance.errors import RunError
from countenance.loading import load_code
from countenance.run.manifest import Manifest
from countenance.run.trust import import_path
from countenance.tasks import Metric, Task, load_task, task_names

if TYPE_CHECKING:
    from countenance.run.run import Run


def stored_metrics(manifest: Manifest) -> tuple[Metric, ...]:
    """The metrics as the run recorded them."""
    names = Metric.__dataclass_fields__
    return tuple(
        Metric(**{name: value for name, value in record.model_dump().items() if name in names})
        for record in manifest.metrics or ()
    )


def registered_task(manifest: Manifest) -> Task | None:
    """The task of that name in this package or an installed one, without the options of the run: those may name files.

    None for a custom task, which a run names by its code.
    """
    if manifest.task_source is not None or manifest.task not in task_names():
        return None
    return load_task(manifest.task)


def described_task(manifest: Manifest) -> Task | None:
    """A custom task as the run describes it: enough for pages, without its code; None without a description."""
    kind = KINDS.get(manifest.answer)
    if kind is None:
        return None

    def without_code(*_: Any) -> NoReturn:
        raise RunError(f"task {manifest.task!r}: its code is needed for this; trust_code=True imports it")

    return Task(
        name=manifest.task,
        question=manifest.question,
        answer=kind,
        metrics=stored_metrics(manifest),
        coerce=without_code,
        score=without_code,
        curve_of=manifest.curve_of,
    )


def task_with_code(run: "Run") -> Task:
    """The task of a run with its options and its code; InputError if that code is not trusted."""
    manifest = run.manifest
    options = manifest.options
    if not run.made_here:  # an option with this ending names another run; its value is stored beside it
        options = {name: value for name, value in options.items() if not name.endswith("_from")}
    if manifest.task_source is None:
        if manifest.task not in task_names():
            raise RunError(f"no task {manifest.task[:80]!r} is installed here; install the package that has it")
        return load_task(manifest.task, options)
    if not (run.made_here or run.trust_code):
        raise RunError(
            f"the task is code that the run names ({manifest.task_source[:80]}), and the run was not made here; "
            "trust_code=True imports it, if you know what it does"
        )
    with import_path(run.local.code):
        task = load_code("task", manifest.task_source, here=False, folder=run.local.code)
    if not isinstance(task, Task):
        raise RunError(f"task {manifest.task_source!r}: that is a {type(task).__name__}, expected a Task")
    return task.configured(options)
