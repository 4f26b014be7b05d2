"""The published `evaluate_task` and `BiasReport`: one model run, our run directory, the original's files and a PDF."""

import inspect
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.run.run import Run
from countenance.suites.fhibe.evaluate import evaluate_task as evaluate
from countenance.suites.fhibe.original.helpers import LOG, get_project_root
from countenance.suites.fhibe.report import write_bias_report
from countenance.suites.fhibe.settings import RUNS, model_folder
from countenance.suites.fhibe.table import dataset_folder


def evaluate_task(*positional: Any, **named: Any) -> Run:
    """Evaluate a wrapped model as the published function does, with its parameters, and return the run.

    The original's files (`intersectional_results_*.json` and the like) are where it writes them and hold its numbers,
    quirks included; the run directory beside them holds the corrected ones, and reports are made from it.
    """
    arguments: dict[str, Any] = inspect.signature(evaluate).bind(*positional, **named).arguments
    arguments |= arguments.pop("further", {})
    if arguments.get("results_rootdir") is None:
        arguments["results_rootdir"] = Path(get_project_root(), "results")
    run = evaluate(**arguments, step=_progress(arguments["task_name"]))
    for problem in (*run.manifest.dataset.notes, *run.notes):
        LOG.warning("note: %s", problem)
    try:
        published = {"model": None, "reuse_model_outputs": True, "compat": "strict", "fhibe_layout": True}
        evaluate(**arguments | published)
    except InputError as error:
        LOG.warning("note: the original's files were not written: %s", error)
    LOG.info("run      %s", run.path)
    return run


evaluate_task.__signature__ = inspect.signature(evaluate)  # type: ignore[attr-defined]


def _progress(task: str) -> Callable[[int], None]:
    """Says every ten seconds how far the work is."""
    done, start = 0, time.monotonic()
    last = start

    def step(n: int) -> None:
        nonlocal done, last
        done, now = done + n, time.monotonic()
        if now - last >= 10:
            last = now
            LOG.info("%s: %d done, %.1f/s", task, done, done / (now - start))

    return step


class BiasReport:
    """The results of one model and task, of which a report can be made."""

    def __init__(
        self,
        model_name: str,
        task_name: str,
        data_rootdir: str,
        dataset_version: str,
        results_base_dir: str,
        dataset_name: str,
        results_dir: str | None = None,
        downsampled: bool = False,
        use_mini_dataset: bool = False,
    ) -> None:
        self.model_name, self.task_name = model_name, task_name
        self.data_rootdir, self.dataset_version = data_rootdir, dataset_version
        self.dataset_name = dataset_folder(dataset_name, task_name, downsampled)
        folder = model_folder(results_base_dir, task_name, self.dataset_name, model_name, use_mini_dataset)
        self.results_dir = folder if results_dir is None else Path(results_dir)
        path = self.results_dir / RUNS["default"]
        if not path.is_dir():
            raise InputError(
                f"{self.results_dir}: no results of {model_name} for {task_name}; call evaluate_task first (with "
                "reuse_model_outputs=True if the outputs are there), and give it the same downsampled and "
                "use_mini_dataset"
            )
        self.run = Run(path)

    def generate_pdf_report(
        self,
        attributes: Sequence[str],
        group_largest_regions: bool = True,
        show_significance_on_plots: bool = True,
        report_savename: str = "bias_report.pdf",
    ) -> Path:
        """Write the PDF beside the results and return its path; ancestry and nationality by continent if arguments."""
        path = self.results_dir / report_savename
        if path.suffix.lower() != ".pdf" or path.parent != self.results_dir:
            raise InputError(f"report_savename {report_savename!r}: expected a file name that ends in .pdf")
        write_bias_report(
            self.run,
            path,
            by=list(attributes),
            dataset_version=self.dataset_version,
            group_largest_regions=group_largest_regions,
            show_significance=show_significance_on_plots,
        )
        LOG.info("report   %s", path)
        return path
