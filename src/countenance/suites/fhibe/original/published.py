"""The published `evaluate_task` and `BiasReport`: one model run, our run directory, the original's files and a PDF."""

import inspect
import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from countenance.data.adapters.fhibe.table import dataset_folder
from countenance.data.reading.columns import literal
from countenance.errors import InputError
from countenance.run.run import Run
from countenance.suites.fhibe.evaluation import amended
from countenance.suites.fhibe.evaluation import evaluate_task as evaluate
from countenance.suites.fhibe.original.figures import Figures
from countenance.suites.fhibe.original.helpers import LOG, get_project_root
from countenance.suites.fhibe.report import write_bias_report
from countenance.suites.fhibe.settings import RUNS, model_folder
from countenance.suites.fhibe.vocabulary import METRICS
from countenance.tasks.thresholds import PUBLISHED


def evaluate_task(*positional: Any, **named: Any) -> Run:
    """Evaluate a wrapped model as the published function does, with its parameters, and return the run.

    The original's files (`intersectional_results_*.json` and the like) are written to the same places with its numbers,
    quirks included; the run directory beside them holds the corrected numbers, from which reports are made.
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
    """A function that counts finished images and logs the progress every ten seconds."""
    done, start = 0, time.monotonic()
    last = start

    def step(n: int) -> None:
        nonlocal done, last
        done, now = done + n, time.monotonic()
        if now - last >= 10:
            last = now
            LOG.info("%s: %d done, %.1f/s", task, done, done / (now - start))

    return step


class BiasReport(Figures):
    """The results of one model and task, for reports.

    Results of the original without a run of ours work too: the report makes the run from the stored outputs.
    """

    def __init__(
        self,
        model_name: str,
        task_name: str,
        data_rootdir: str,
        dataset_version: str = "",
        results_base_dir: str = "results",
        dataset_name: str = "fhibe",
        results_dir: str | None = None,
        downsampled: bool = False,
        use_mini_dataset: bool = False,
    ) -> None:
        self.model_name, self.task_name = model_name, task_name
        self.data_rootdir, self.dataset_version = data_rootdir, dataset_version
        self.data_dir, self.processed_data_dir = f"{data_rootdir}/raw", f"{data_rootdir}/processed"
        self.downsampled, self.use_mini_dataset = downsampled, use_mini_dataset
        self.dataset_name = dataset_folder(dataset_name, task_name, downsampled)
        self.dataset_base = "fhibe_face" if "face" in self.dataset_name else "fhibe"
        self.results_base_dir = Path(results_base_dir, "mini") if use_mini_dataset else Path(results_base_dir)
        folder = model_folder(results_base_dir, task_name, self.dataset_name, model_name, use_mini_dataset)
        self.results_dir = folder if results_dir is None else Path(results_dir)
        self._results = Path(results_base_dir)
        path = self.results_dir / RUNS["default"]
        self._run = Run(path) if path.is_dir() else None
        if self._run is None and not self.get_available_metrics():
            raise InputError(
                f"{self.results_dir}: no results of {model_name} for {task_name}; call evaluate_task first (with "
                "reuse_model_outputs=True if the outputs are there), and give it the same downsampled and "
                "use_mini_dataset"
            )

    @property
    def valid_tasks(self) -> list[str]:
        """The tasks with results in this folder."""
        return [name for name in METRICS if (self.results_base_dir / name).is_dir()]

    def get_available_metrics(self) -> list[str]:
        """The metrics that have a file of grouped results."""
        files = sorted(self.results_dir.glob("intersectional_results_*.json"))
        return [path.stem.removeprefix("intersectional_results_") for path in files]

    def get_metric_thresholds(self, metric_name: str) -> str | None:
        """The thresholds of a metric in words; None without thresholds."""
        if metric_name not in PUBLISHED:
            return None
        if metric_name == "PCK":
            levels = json.loads((self.results_dir / "pck_scores_threshold.json").read_text())["thresholds"]
            return ", ".join(f"{level:.2f}" for level in levels)
        parts = f"body_parts_{metric_name}" if self.task_name == "body_parts_detection" else None
        what = parts or ("oks" if metric_name == "AR_OKS" else "iou")
        return ", ".join(json.loads((self.results_dir / f"detailed_results_{what}_threshold.json").read_text()))

    @property
    def run(self) -> Run:
        """The run for reports; for results without a run it is made from the stored outputs."""
        return self._run_with(())

    def _run_with(self, further: Sequence[str]) -> Run:
        """The run; one that is made has further attributes too: those without a value have no results."""
        if self._run is None:
            grouped = self._grouped_results(self.get_available_metrics()[0])
            attributes = {name for key in grouped for name in _listed(key)} | set(further)
            LOG.info("no run in %s: making one from the stored outputs", self.results_dir)
            self._run = evaluate(
                self.data_rootdir,
                self.dataset_name,
                None,
                self.model_name,
                self.task_name,
                metrics=self.get_available_metrics(),
                attributes=sorted(attributes),
                use_mini_dataset=self.use_mini_dataset,
                mini_dataset_size=self._drawn() if self.use_mini_dataset else 50,
                downsampled=self.downsampled,
                reuse_model_outputs=True,
                results_rootdir=self._results,
            )
        return self._run

    def _drawn(self) -> int:
        """How many rows the mini dataset had: the smallest sum of an attribute's groups (50 without groups).

        It is at least the number of images with outputs, since groups of face verification lack people without a pair.
        """
        grouped = self._grouped_results(self.get_available_metrics()[0])
        sizes = [sum(entry.get("Class_Size", 0) for entry in groups.values()) for groups in grouped.values() if groups]
        outputs = self.results_dir / "model_outputs.json"
        images = len(json.loads(outputs.read_text("utf-8"))) if outputs.is_file() else 0
        return max(images, min((size for size in sizes if size), default=50))

    def generate_pdf_report(
        self,
        attributes: Sequence[str],
        group_largest_regions: bool = True,
        show_significance_on_plots: bool = True,
        report_savename: str = "bias_report.pdf",
    ) -> Path:
        """Write the PDF beside the results and in `bias_report/`, where the original puts it; returns the first path.

        Ancestry and nationality are compared by continent if asked.
        """
        path = self.results_dir / report_savename
        if path.suffix.lower() != ".pdf" or path.parent != self.results_dir:
            raise InputError(f"report_savename {report_savename!r}: expected a file name that ends in .pdf")
        write_bias_report(
            amended(self._run_with(attributes), version=self.dataset_version or None),
            path,
            by=list(attributes),
            group_largest_regions=group_largest_regions,
            show_significance=show_significance_on_plots,
        )
        second = self.results_dir / "bias_report" / report_savename
        second.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, second)
        reports = {*self.run.store.manifest().about.get("reports", ()), f"bias_report/{report_savename}"}
        self._run = amended(Run(self.run.place), reports=sorted(reports))  # for `purge`
        LOG.info("report   %s", path)
        return path


def _listed(key: str) -> list[str]:
    names = literal(key, "results") if key.startswith("[") else []
    return [str(name) for name in names]
