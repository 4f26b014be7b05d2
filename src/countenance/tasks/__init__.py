"""Tasks: one file per question, with its answer and its scoring into rows."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import FunctionType
from typing import Any

from countenance.errors import InputError
from countenance.loading import is_code, load_code, load_registered, registered_names
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.results import Curve, Matrix, Number, Result, Table
from countenance.tasks.task import Context, Metric, Options, Row, Task, metric_of

_HOME = {
    "mask_detection": "countenance.tasks.mask_detection:MASK_DETECTION",
    "mask_detection_one_face": "countenance.tasks.mask_detection:MASK_DETECTION_ONE_FACE",
    "face_localization": "countenance.tasks.face_localization:FACE_LOCALIZATION",
    "age_estimation": "countenance.tasks.age_estimation:AGE_ESTIMATION",
    "attributes": "countenance.tasks.attributes:ATTRIBUTES",
    "body_parts_detection": "countenance.tasks.body_parts_detection:BODY_PARTS_DETECTION",
    "face_encoding": "countenance.tasks.face_encoding:FACE_ENCODING",
    "face_identification": "countenance.tasks.face_identification:FACE_IDENTIFICATION",
    "face_parsing": "countenance.tasks.face_parsing:FACE_PARSING",
    "face_super_resolution": "countenance.tasks.face_super_resolution:FACE_SUPER_RESOLUTION",
    "face_verification": "countenance.tasks.face_verification:FACE_VERIFICATION",
    "keypoint_estimation": "countenance.tasks.keypoint_estimation:KEYPOINT_ESTIMATION",
    "person_localization": "countenance.tasks.person_localization:PERSON_LOCALIZATION",
    "person_parsing": "countenance.tasks.person_parsing:PERSON_PARSING",
}

__all__ = [
    "Context",
    "Curve",
    "Matrix",
    "Metric",
    "Number",
    "Options",
    "Reduce",
    "Reduced",
    "Result",
    "Row",
    "Shard",
    "State",
    "Table",
    "Task",
    "Whole",
    "findable",
    "load_task",
    "metric_of",
    "task_names",
]


def task_names() -> list[str]:
    """The names that `load_task` knows."""
    return registered_names("task", _HOME)


def load_task(name: str | Task, options: Mapping[str, Any] | None = None) -> Task:
    """The `Task` of a name, or of `module:attr` or `path.py:attr` for a custom one, with its `options`.

    An unknown task or option is an `InputError`.

    >>> load_task("face_verification", {"fmr": 0.01}).options.fmr
    0.01
    >>> load_task("face_localisation")
    Traceback (most recent call last):
    countenance.errors.InputError: no task 'face_localisation' (did you mean face_localization or ...); there are ...
    """
    if isinstance(name, Task):
        return name.configured(options)
    if not isinstance(name, str):
        raise InputError(f"task is a {type(name).__name__}, expected a name such as face_localization, or a Task")
    if is_code(name):
        task = load_code("task", name)
        task = replace(task, source=name) if isinstance(task, Task) else task
    else:
        task = load_registered("task", name, _HOME, hint=", or give module:attr or path.py:attr")
    if not isinstance(task, Task):
        raise InputError(f"task {name!r}: that is a {type(task).__name__}, expected a Task")
    return task.configured(options)


def findable(task: Task) -> str | None:
    """The name by which another process finds the same task; None for a task of this program alone.

    >>> findable(load_task("attributes"))
    'attributes'
    """
    name = task.source or task.name
    try:
        options = None if task.options is None else task.options.model_dump()
        return name if _alike(load_task(name, options), task) else None
    except (InputError, RecursionError):  # functions may hold each other
        return None


def _alike(first: Any, second: Any) -> bool:
    """Whether two values do the same: equal values, and functions of the same code over such values.

    Tasks are rebuilt with other options, often from nested functions.
    """
    if first is second:
        return True
    if is_dataclass(first) and type(first) is type(second):
        return all(_alike(getattr(first, field.name), getattr(second, field.name)) for field in fields(first))
    if isinstance(first, FunctionType) and isinstance(second, FunctionType):
        return first.__code__ is second.__code__ and all(map(_alike, _values(first), _values(second)))
    return bool(first == second)


def _values(function: FunctionType) -> list[Any]:
    """The values that a function holds besides its code: its defaults and its closure."""
    return [
        function.__defaults__,
        function.__kwdefaults__,
        *(cell.cell_contents for cell in function.__closure__ or ()),
    ]
