"""FHIBE and FHIBE-Face: nine tasks, their metrics, a drop-in API and a bias report.

>>> from countenance.suites.fhibe import TASKS
>>> len(TASKS)
9
"""

from typing import TYPE_CHECKING, Any

from countenance.data.adapters.fhibe.words import ATTRIBUTES, TASKS
from countenance.suites.fhibe.vocabulary import METRICS

if TYPE_CHECKING:
    from countenance.data.adapters.fhibe import read_dataset
    from countenance.suites.fhibe.evaluation import evaluate_task
    from countenance.suites.fhibe.report import write_bias_report

__all__ = ["ATTRIBUTES", "METRICS", "TASKS", "evaluate_task", "read_dataset", "write_bias_report"]

_HOME = {
    "evaluate_task": "countenance.suites.fhibe.evaluation",
    "read_dataset": "countenance.data.adapters.fhibe",
    "write_bias_report": "countenance.suites.fhibe.report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
