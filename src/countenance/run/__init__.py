"""Plan, stages, engines, store: from a model and a dataset to a run, and everything that reads one."""

from countenance.run.auditing import audit_run, metrics_of, read_audit, store_audit
from countenance.run.evaluator import evaluate
from countenance.run.run import Run

__all__ = ["Run", "audit_run", "evaluate", "metrics_of", "read_audit", "store_audit"]
