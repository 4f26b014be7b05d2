"""Countenance evaluates a vision model on images of people and says, with the evidence, whom it fails.

Everything public is here by name and loads when it is first used, so that `import countenance` costs nothing.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from countenance.answers import Age, Boxes, Embedding, Keypoints, LabelMap, Labels, Masks, Parts, Picture, Scalars
    from countenance.answers.formats import Format, PredictionRequest, Predictions
    from countenance.api import audit, compare, leaderboard
    from countenance.auditing import Audit, Finding
    from countenance.auditing.plan import plan
    from countenance.calibration_table import calibration as calibration
    from countenance.comparing import Comparison
    from countenance.data import (
        ArrayImage,
        AttributeCard,
        Dataset,
        DatasetCard,
        LazyImage,
        Rle,
        Sample,
        Subject,
        load_dataset,
    )
    from countenance.data.fit_input import FitContext, FitInput
    from countenance.errors import (
        CannotAnswer,
        DataError,
        InputError,
        MissingExtra,
        ModelError,
        OptionError,
        RunError,
    )
    from countenance.gating import Gate, gate
    from countenance.models import ModelCard, ModelSpec
    from countenance.run.auditing import read_audit
    from countenance.run.evaluator import evaluate
    from countenance.run.run import Run
    from countenance.run.suite import Suite, SuiteTask, load_suite
    from countenance.tasks import (
        Curve,
        Matrix,
        Metric,
        Number,
        Options,
        Reduce,
        Reduced,
        Shard,
        Table,
        Task,
        Whole,
        load_task,
    )
    from countenance.tasks.face_localization import to_boxes
    from countenance.tasks.results import Axis, Line
    from countenance.tasks.task import subject_row

_HOME = {
    "Age": "answers",
    "ArrayImage": "data",
    "AttributeCard": "data",
    "Audit": "auditing",
    "Axis": "tasks.results",
    "Boxes": "answers",
    "CannotAnswer": "errors",
    "Comparison": "comparing",
    "Curve": "tasks",
    "DataError": "errors",
    "Dataset": "data",
    "DatasetCard": "data",
    "Embedding": "answers",
    "Finding": "auditing",
    "FitContext": "data.fit_input",
    "FitInput": "data.fit_input",
    "Format": "answers.formats",
    "Gate": "gating",
    "InputError": "errors",
    "Keypoints": "answers",
    "LabelMap": "answers",
    "Labels": "answers",
    "LazyImage": "data",
    "Line": "tasks.results",
    "Masks": "answers",
    "Matrix": "tasks",
    "Metric": "tasks",
    "MissingExtra": "errors",
    "ModelCard": "models",
    "ModelError": "errors",
    "ModelSpec": "models",
    "Number": "tasks",
    "OptionError": "errors",
    "Options": "tasks",
    "Parts": "answers",
    "Picture": "answers",
    "PredictionRequest": "answers.formats",
    "Predictions": "answers.formats",
    "Reduce": "tasks",
    "Reduced": "tasks",
    "Rle": "data",
    "Run": "run",
    "RunError": "errors",
    "Sample": "data",
    "Scalars": "answers",
    "Shard": "tasks",
    "Subject": "data",
    "Suite": "run.suite",
    "SuiteTask": "run.suite",
    "Table": "tasks",
    "Task": "tasks",
    "Whole": "tasks",
    "audit": "api",
    "calibration": "calibration_table",
    "compare": "api",
    "evaluate": "run",
    "gate": "gating",
    "leaderboard": "api",
    "load_dataset": "data",
    "load_suite": "run.suite",
    "load_task": "tasks",
    "plan": "auditing.plan",
    "read_audit": "run",
    "subject_row": "tasks.task",
    "to_boxes": "tasks.face_localization",
}
"""The package or module of each public name."""

__all__ = [
    "Age",
    "ArrayImage",
    "AttributeCard",
    "Audit",
    "Axis",
    "Boxes",
    "CannotAnswer",
    "Comparison",
    "Curve",
    "DataError",
    "Dataset",
    "DatasetCard",
    "Embedding",
    "Finding",
    "FitContext",
    "FitInput",
    "Format",
    "Gate",
    "InputError",
    "Keypoints",
    "LabelMap",
    "Labels",
    "LazyImage",
    "Line",
    "Masks",
    "Matrix",
    "Metric",
    "MissingExtra",
    "ModelCard",
    "ModelError",
    "ModelSpec",
    "Number",
    "OptionError",
    "Options",
    "Parts",
    "Picture",
    "PredictionRequest",
    "Predictions",
    "Reduce",
    "Reduced",
    "Rle",
    "Run",
    "RunError",
    "Sample",
    "Scalars",
    "Shard",
    "Subject",
    "Suite",
    "SuiteTask",
    "Table",
    "Task",
    "Whole",
    "audit",
    "calibration",
    "compare",
    "evaluate",
    "gate",
    "leaderboard",
    "load_dataset",
    "load_suite",
    "load_task",
    "plan",
    "read_audit",
    "subject_row",
    "to_boxes",
]


_FORMER = {"Wanted": "PredictionRequest"}
"""Names of 0.2.0 that warn, each with its name of today."""


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        warnings.warn(f"ct.{name} is now called ct.{_FORMER[name]}", DeprecationWarning, stacklevel=2)
        name = _FORMER[name]
    if name in _HOME:
        home = import_module(f"countenance.{_HOME[name]}")
        return getattr(home, name)
    raise AttributeError(f"module 'countenance' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
