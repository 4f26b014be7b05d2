"""Plan, shards, engine and the run directory."""

from countenance.run.auditing import audit_run, metrics_of, read_audit, store_audit
from countenance.run.directory import Run
from countenance.run.evaluate import evaluate

__all__ = ["Run", "audit_run", "evaluate", "metrics_of", "read_audit", "store_audit"]
