"""Plan, stages, engines, store: from a model and a dataset to a run, and everything that reads one.

Names load when they are first used: a worker of a run, which imports `countenance.run.engine`, needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countenance.run.auditing import audit_run, metrics_of, read_audit, store_audit
    from countenance.run.evaluator import evaluate
    from countenance.run.run import Run

_HOME = {
    "Run": "run",
    "audit_run": "auditing",
    "evaluate": "evaluator",
    "metrics_of": "auditing",
    "read_audit": "auditing",
    "store_audit": "auditing",
}
"""The module of each name."""

__all__ = ["Run", "audit_run", "evaluate", "metrics_of", "read_audit", "store_audit"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"countenance.run.{_HOME[name]}"), name)
    raise AttributeError(f"module 'countenance.run' has no attribute {name!r}")
