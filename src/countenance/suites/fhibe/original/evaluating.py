"""The published `evaluate_task`: one model run, our run directory, and the original's files with its numbers."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.suites.fhibe.api import evaluate_task as evaluate
from countenance.suites.fhibe.original.images import LOG, get_project_root
from countenance.suites.fhibe.rundir import FhibeRun
from countenance.suites.fhibe.vocabulary import DEFAULT_ATTRIBUTES


def evaluate_task(
    data_rootdir: str,
    dataset_name: str,
    model: Any,
    model_name: str,
    task_name: str,
    metrics: Any = None,
    attributes: Sequence[str] = DEFAULT_ATTRIBUTES,
    use_mini_dataset: bool = False,
    mini_dataset_size: int = 50,
    downsampled: bool = True,
    reuse_model_outputs: bool = False,
    results_rootdir: str | None = None,
    cuda: bool = True,
    **task_kwargs: Any,
) -> FhibeRun:
    """Evaluate a wrapped model as the published function does, and return the run.

    The original's files (`intersectional_results_*.json` and the like) lie where it writes them and hold its numbers,
    quirks included; the run directory beside them holds the corrected ones, and reports are made from it. `cuda`
    changes nothing: a wrapper decides itself where it runs.
    """
    settings: dict[str, Any] = task_kwargs | {
        "metrics": metrics,
        "attributes": attributes,
        "use_mini_dataset": use_mini_dataset,
        "mini_dataset_size": mini_dataset_size,
        "downsampled": downsampled,
        "results_rootdir": Path(get_project_root(), "results") if results_rootdir is None else results_rootdir,
        "cuda": cuda,
    }
    where = (data_rootdir, dataset_name)
    who = (model_name, task_name)
    step = _Progress(task_name)
    run = evaluate(*where, model, *who, reuse_model_outputs=reuse_model_outputs, step=step, **settings)
    for problem in run.fhibe["problems"]:
        LOG.warning("note: %s", problem)
    try:
        evaluate(*where, None, *who, reuse_model_outputs=True, compat="strict", fhibe_layout=True, **settings)
    except InputError as error:
        LOG.warning("note: the original's files were not written: %s", error)
    LOG.info("run      %s", run.path)
    return run


class _Progress:
    """Says every ten seconds how far the work is."""

    def __init__(self, task: str) -> None:
        self.task, self.done = task, 0
        self.start = self.last = time.monotonic()

    def __call__(self, n: int) -> None:
        self.done += n
        now = time.monotonic()
        if now - self.last >= 10:
            self.last = now
            LOG.info("%s: %d done, %.1f/s", self.task, self.done, self.done / (now - self.start))
