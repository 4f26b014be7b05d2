"""Plan, shards, engine and the run directory."""

from countenance.run.auditing import audit_run, read_audit, store_audit
from countenance.run.directory import Run
from countenance.run.evaluate import evaluate

__all__ = ["Run", "audit_run", "evaluate", "read_audit", "store_audit"]
