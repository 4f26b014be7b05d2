"""The published `BiasReport`: our bias report as a PDF beside the results."""

from collections.abc import Sequence
from pathlib import Path

from countenance.errors import InputError
from countenance.suites.fhibe.original.images import LOG
from countenance.suites.fhibe.rundir import FOLDERS, FhibeRun
from countenance.suites.fhibe.settings import model_folder
from countenance.suites.fhibe.table import dataset_folder


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
        path = self.results_dir / FOLDERS["default"]
        if not path.is_dir():
            raise InputError(
                f"{self.results_dir}: no results of {model_name} for {task_name}; call evaluate_task first (with "
                "reuse_model_outputs=True if the outputs are there), and give it the same downsampled and "
                "use_mini_dataset"
            )
        self.run = FhibeRun(path)

    def generate_pdf_report(
        self,
        attributes: Sequence[str],
        group_largest_regions: bool = True,
        show_significance_on_plots: bool = True,
        report_savename: str = "bias_report.pdf",
    ) -> Path:
        """Write the PDF beside the results and return its path; ancestry and nationality by continent if asked."""
        path = self.results_dir / report_savename
        if path.suffix.lower() != ".pdf" or path.parent != self.results_dir:
            raise InputError(f"report_savename {report_savename!r}: expected a file name that ends in .pdf")
        self.run.report(
            path,
            by=list(attributes),
            dataset_version=self.dataset_version,
            group_largest_regions=group_largest_regions,
            show_significance=show_significance_on_plots,
        )
        LOG.info("report   %s", path)
        return path
