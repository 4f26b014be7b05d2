"""`evaluate_task`: the drop-in for people who wrapped a model for FHIBE's API, on our spine."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.fhibe.groups import Group, Labels, all_groups, check_attributes, label
from countenance.suites.fhibe.layout import grouped_results, model_folder, outputs_folder, write_layout
from countenance.suites.fhibe.scoring import SCORERS, Job, Scored
from countenance.suites.fhibe.scoring.base import Array, Step
from countenance.suites.fhibe.table import Table, dataset_folder, everyone_in, mini, read_table
from countenance.suites.fhibe.vocabulary import (
    DEFAULT_ATTRIBUTES,
    EXACT_THRESHOLDS,
    FACE_TASKS,
    METRICS,
    STRICT_THRESHOLDS,
    Compat,
)

OPTIONS = {
    "custom_keypoints": "keypoint_estimation",
    "map_ears_to_skin": "face_parsing",
    "lpips_weights": "face_encoding, face_super_resolution",
    "face_embedding": "face_encoding",
}
ORIGINAL_OPTIONS = ("cuda", "batch_size", "num_workers")
"""Keywords of the original that change nothing here and are accepted."""


@dataclass
class Evaluation:
    """One task scored and grouped."""

    task: str
    dataset: str
    model_name: str
    attributes: tuple[str, ...]
    metrics: tuple[str, ...]
    thresholds: dict[str, Array]
    compat: Compat
    scored: Scored
    labels: list[Labels]
    folder: Path
    """Where results go."""
    outputs: Path
    """Where the model's outputs lie."""
    options: dict[str, Any] = field(default_factory=dict)
    mini: int | None = None
    """The size of the mini dataset, where one was drawn."""

    @property
    def table(self) -> Table:
        return self.scored.table

    @property
    def problems(self) -> list[str]:
        return [*self.table.problems, *self.scored.problems]

    def overall(self) -> dict[str, dict[str, float]]:
        """Numbers that no single row has, with their intervals."""
        if self.scored.whole is not None:
            self.scored.whole()
            self.scored.whole = None
        return self.scored.overall

    def groups(self, depth: int | None = None) -> list[Group]:
        """Every group of every combination of up to `depth` attributes."""
        return all_groups(self.labels, depth)

    def results(self, metric: str, depth: int | None = None) -> dict[str, dict[str, Any]]:
        """The grouped results of one metric in the published shape."""
        return grouped_results(self.scored, metric, self.groups(depth), strict=self.compat == "strict")


def check_metrics(task: str, metrics: Any, compat: Compat) -> tuple[tuple[str, ...], dict[str, Array]]:
    """The metrics of a task and their thresholds, from None, a list of names or {name: {"thresholds": […]}}.

    >>> check_metrics("person_parsing", {"ar_mask": {"thresholds": [0.3]}}, "default")
    (('AR_MASK',), {'AR_MASK': array([0.3])})
    """
    defaults = STRICT_THRESHOLDS if compat == "strict" else EXACT_THRESHOLDS
    known = METRICS[task]
    if isinstance(metrics, str):
        metrics = [metrics]
    if metrics is not None and not isinstance(metrics, (Mapping, Sequence, Set)):
        raise InputError(f"metrics is {metrics!r:.60}, expected names, or {{name: {{'thresholds': [...]}}}}")
    if not metrics:
        asked: dict[str, Any] = dict.fromkeys(known)
    elif isinstance(metrics, Mapping):
        asked = {}
        for name, value in metrics.items():
            if not isinstance(value, Mapping) or set(value) != {"thresholds"}:
                raise InputError(f"metric {name!r}: expected {{'thresholds': [...]}}, found {value!r:.60}")
            asked[str(name).upper()] = value["thresholds"]
    else:
        asked = {str(name).upper(): None for name in metrics}
    thresholds: dict[str, Array] = {}
    for name, value in asked.items():
        if name not in known:
            raise InputError(
                f"metric {name} does not belong to {task}, which has {', '.join(known)}{near(name, known)}"
            )
        levels = np.zeros(0) if value is None else _levels(name, value)
        if name in defaults:
            thresholds[name] = levels if levels.size else defaults[name]
        elif levels.size:
            raise InputError(f"metric {name} takes no thresholds")
    return tuple(asked), thresholds


def _levels(name: str, values: Any) -> Array:
    try:
        levels = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        levels = np.zeros((0, 0))
    if levels.ndim != 1:
        raise InputError(f"metric {name}: thresholds {values!r:.60}, expected a list of numbers such as [0.5]")
    if not ((levels >= 0) & (levels <= 1)).all():
        raise InputError(f"metric {name}: thresholds {values!r:.60}, expected numbers from 0 to 1")
    return levels


def check_options(task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Task options by name; one that the task does not have is refused."""
    out = {name: value for name, value in options.items() if name not in ORIGINAL_OPTIONS}
    for name in out:
        if name not in OPTIONS:
            raise InputError(f"option {name!r} is not one of {', '.join(OPTIONS)}{near(name, list(OPTIONS))}")
        if out[name] is not None and task not in OPTIONS[name].split(", "):
            raise InputError(f"option {name!r} belongs to {OPTIONS[name]}, not to {task}")
    return out


def score_task(
    data_rootdir: str | Path,
    dataset_name: str,
    model_name: str,
    task_name: str,
    metrics: Any = None,
    attributes: Sequence[str] = DEFAULT_ATTRIBUTES,
    *,
    use_mini_dataset: bool = False,
    mini_dataset_size: int = 50,
    downsampled: bool = True,
    results_rootdir: str | Path | None = None,
    compat: Compat = "default",
    files: bool = False,
    step: Step = lambda n: None,
    without: Collection[str] = (),
    **task_kwargs: Any,
) -> Evaluation:
    """Score stored model outputs: nothing is cached, every call reads what the files hold now.

    `without` names images (their file paths in the table) that must not be used, because somebody in them withdrew.
    """
    if compat not in ("default", "strict"):
        raise InputError(f"compat {compat!r} is neither default nor strict")
    dataset = dataset_folder(dataset_name, task_name, downsampled)
    names = check_attributes(attributes, face=task_name in FACE_TASKS)
    asked, thresholds = check_metrics(task_name, metrics, compat)
    options = check_options(task_name, task_kwargs)
    whole = read_table(data_rootdir, dataset, task_name, names, strict=compat == "strict")
    size = (mini_dataset_size or 50) if use_mini_dataset else None
    table, people = draw(whole, size, compat)
    if without:
        table, people = _without(table, without), _without(people, without)
        if not len(table):
            raise InputError(f"{table.path}: no row is left")
    results = model_folder(results_rootdir, task_name, dataset, model_name, use_mini_dataset)
    outputs = outputs_folder(results_rootdir, task_name, dataset, model_name, use_mini_dataset)
    where = {**options, "results_rootdir": "results" if results_rootdir is None else results_rootdir}
    own = use_mini_dataset and outputs == results
    job = Job(task_name, table, outputs, asked, thresholds, compat, where, step, people, own)
    scored = SCORERS[task_name](job, files)
    labels = [label(scored.table, name, compat) for name in names]
    return Evaluation(
        task_name, dataset, model_name, names, asked, thresholds, compat, scored, labels, results, outputs, options,
        size,
    )  # fmt: skip


def draw(table: Table, size: int | None, compat: Compat) -> tuple[Table, Table]:
    """The rows to score (all, or a mini dataset of `size`) and all people of their images.

    In strict mode the people who were not drawn count as nobody, as published.
    """
    if size is None:
        return table, table
    drawn = mini(table, size)
    return drawn, drawn if compat == "strict" else everyone_in(table, drawn)


def _without(table: Table, images: Collection[str]) -> Table:
    return table.take([i for i, name in enumerate(table.text("filepath")) if name not in images])


def write_files(evaluation: Evaluation, depth: int | None = None) -> dict[str, dict[str, Any]]:
    """Write the published layout of an evaluation (scored with `files=True`)."""
    return write_layout(
        evaluation.folder,
        evaluation.scored,
        evaluation.metrics,
        evaluation.groups(depth),
        strict=evaluation.compat == "strict",
        custom_keypoints=evaluation.options.get("custom_keypoints"),
    )
