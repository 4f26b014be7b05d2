"""FHIBE and FHIBE-Face: nine tasks, their metrics, a drop-in API and a bias report.

>>> from countenance.suites.fhibe import TASKS
>>> len(TASKS)
9
"""

from typing import TYPE_CHECKING, Any

from countenance.suites.fhibe.vocabulary import ATTRIBUTES, METRICS, TASKS

if TYPE_CHECKING:
    from countenance.suites.fhibe.dataset import read_dataset
    from countenance.suites.fhibe.evaluate import evaluate_task
    from countenance.suites.fhibe.report import write_bias_report

__all__ = ["ATTRIBUTES", "METRICS", "TASKS", "evaluate_task", "read_dataset", "write_bias_report"]

_HOME = {"evaluate_task": "evaluate", "read_dataset": "dataset", "write_bias_report": "report"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
