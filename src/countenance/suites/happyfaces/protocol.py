"""One evaluation (a method, a mix rate, a seed) and the sweep over many: each is a run that `evaluate` makes.

A method receives pixel arrays and the labelled labels. It never gets names, paths, tags or the original order.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from countenance.data.adapters.happyfaces import HappyFacesDataset, source_of
from countenance.data.adapters.happyfaces_layout import HappyFaces, read_happyfaces
from countenance.errors import InputError
from countenance.run.early_stop import no_going_on
from countenance.run.engine.processes import each
from countenance.run.evaluator import evaluate
from countenance.run.run import Run
from countenance.settings.engine import Say, silent
from countenance.suites.happyfaces.draws import draw as draw
from countenance.suites.happyfaces.draws import method_input as method_input
from countenance.suites.happyfaces.host import Host, MethodProcess
from countenance.suites.happyfaces.methods import is_code, method_name
from countenance.suites.happyfaces.model import MethodModel, method_card, published_name
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.scores import Record
from countenance.suites.happyfaces.task import HAPPYFACES_TASK


@dataclass(frozen=True)
class MixTask:
    """One evaluation of a sweep; a method is a name, `module:attr`, `path.py:attr`, or an object with `fit`."""

    method: Any
    mix_rate: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    def run_name(self) -> str:
        """The folder of a run in a sweep; another rate, seed or option has another folder.

        >>> MixTask("spatial", 0.1, 3).run_name(), MixTask("spatial", 0.0034, 3).run_name()
        ('spatial_0.100_3', 'spatial_0.0034_3')
        """
        name = method_name(self.method).replace(":", ".").replace("/", "_")
        rate = f"{self.mix_rate:.3f}" if self.mix_rate == round(self.mix_rate, 3) else repr(float(self.mix_rate))
        options = hashlib.sha256(repr(self.options).encode()).hexdigest()[:8] if self.options else ""
        return "_".join(filter(None, (name, options, rate, str(self.seed))))

    def task_options(self, data: HappyFaces) -> dict[str, Any]:
        """The options of the task: they are in the run's key."""
        return {
            "method": published_name(self.method),
            "mix_rate": self.mix_rate,
            "seed": self.seed,
            "method_options": dict(self.options),
            "features": data.features,
        }


def run(data: HappyFaces, task: MixTask, out: Path | None = None) -> tuple[Record, Run]:
    """The record and the run of one evaluation, in a temporary folder unless `out` names one."""
    evaluated = evaluate_method(HappyFacesDataset(data), task, out)
    return record_of(evaluated), evaluated


def evaluate_method(
    dataset: HappyFacesDataset,
    task: MixTask,
    out: Path | None = None,
    *,
    source: str | None = None,
    host: Host | None = None,
    say: Say = silent,
) -> Run:
    """Draw, fit on pixels and labelled labels alone, predict and score: a run like any other.

    A `host` that is given stays; otherwise the method's process ends with the evaluation.
    """
    options = dict(task.options)
    model = MethodModel(task.method, task.seed, options, host)
    try:
        with no_going_on():
            return evaluate(
                model,
                HAPPYFACES_TASK,
                dataset,
                out=out,
                options=task.task_options(dataset.data),
                card=method_card(task.method, options),
                source=source,
                suite="happyfaces",
                seed=task.seed,
                say=say,
            )
    finally:
        if host is None:
            model.close()


def sweep(
    source: Path,
    tasks: Iterable[MixTask],
    folder: Path,
    *,
    held_back: Path | None = None,
    jobs: int = 1,
    step: Callable[..., None] = lambda *_: None,
) -> list[Record]:
    """The records of all evaluations, each a run below `folder`; complete runs are reused."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder")
    listed = list(tasks)
    job = {"source": str(source), "folder": str(folder), "held_back": str(held_back or "")}
    if jobs <= 1 or len(listed) <= 1:
        _dataset(source, held_back)
        sweeper = Sweeper(job)
        try:
            return [sweeper.record(task, step) for task in listed]
        finally:
            sweeper.close()
    if not all(isinstance(task.method, str) for task in listed):
        raise InputError("jobs: a method that is an object runs in this program; name it as path.py:Class")
    orders = [asdict(task) for task in listed]
    return each(f"{__name__}:worker", job, orders, workers=jobs, done=lambda index, result: step())


class Sweeper:
    """Makes the runs of a sweep one after the other. Our own methods share a process, and with it features of photos.

    A foreign method gets a new process for each run, so that it cannot reuse what it saw.
    """

    def __init__(self, job: Mapping[str, str]) -> None:
        self.source, self.folder = Path(job["source"]), Path(job["folder"])
        self.held_back = Path(job["held_back"]) if job["held_back"] else None
        self.shared = MethodProcess(threads=1)  # several runs at a time, each on its own core

    def record(self, task: MixTask, step: Callable[..., None] = lambda *_: None) -> Record:
        """The record of one evaluation."""
        host: Host | None = None
        if isinstance(task.method, str):
            host = MethodProcess(threads=1) if is_code(task.method) else self.shared
        try:
            where = source_of(self.source.absolute(), self.held_back and self.held_back.absolute())
            dataset = _dataset(self.source, self.held_back)
            evaluated = evaluate_method(dataset, task, self.folder / task.run_name(), source=where, host=host)
        finally:
            if host is not None and host is not self.shared:
                host.close()
        step()
        return record_of(evaluated)

    def close(self) -> None:
        """End the process of our own methods."""
        self.shared.close()


def worker(job: Mapping[str, str]) -> Callable[..., Record]:
    """The work of one process of a sweep."""
    sweeper = Sweeper(job)

    def handle(order: Mapping[str, Any], tell: Callable[..., None]) -> Record:
        tell(limit=86400.0)  # a network may learn for hours
        options = tuple((name, value) for name, value in order["options"])
        return sweeper.record(MixTask(**{**order, "options": options}))

    return handle


@lru_cache(maxsize=1)
def _dataset(source: Path, held_back: Path | None = None) -> HappyFacesDataset:
    """The photos, read once for all runs of a process."""
    return HappyFacesDataset(read_happyfaces(source, held_back))
