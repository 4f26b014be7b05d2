"""Runs in the trackers that teams use: MLflow, Weights & Biases, TensorBoard.

Parameters say what was evaluated, metrics are the published numbers (of everybody and of each group, with intervals),
and the files are those of the run that name no person. A tracker is imported only when it is used.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.report.loggers.content import LoggedRun, logged
from countenance.run import Run

__all__ = ["LOGGERS", "LoggedRun", "log_run", "logged"]

LOGGERS = ("mlflow", "wandb", "tensorboard")


def log_run(run: Run | Path | str, tracker: str, *, step: int = 0, report: bool | None = None, **options: Any) -> str:
    """Log an audited run to a tracker (`mlflow`, `wandb`, `tensorboard`) and return where it is there.

    A run of the tracker that is under way is used; otherwise one is begun and ended, with the `options`: those of
    `mlflow.start_run` and `tracking_uri`, those of `wandb.init`, `logdir` of TensorBoard. `step` is the place on the
    trackers' time axis, such as the epoch. The report is included if all people in the pictures are rendered, or with
    `report=True`; a run that was not audited is audited first.
    """
    if tracker not in LOGGERS:
        raise InputError(f"no tracker {tracker!r}{near(tracker, LOGGERS)}; there are {', '.join(LOGGERS)}")
    content = logged(run, report=report)
    try:
        module = import_module(f"countenance.report.loggers.{tracker}_logger")
        return str(module.log(content, step, options))
    except ImportError as error:
        if (error.name or "").partition(".")[0] != tracker:
            raise
        raise InputError(f"logging to {tracker} needs its package: pip install {tracker}") from None
