"""Engines: they process the shards of a run. Shards, batches and threads come from the plan."""

from countenance.run.engine.base import Engine, Job, Progress
from countenance.run.engine.local import InProcess, Workers

__all__ = ["Engine", "InProcess", "Job", "Progress", "Workers"]
