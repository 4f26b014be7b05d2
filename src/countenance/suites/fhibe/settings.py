"""What is evaluated and how: checked once, used by scoring, the stored run, and purge."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from countenance.data.adapters.fhibe.attributes import check_attributes
from countenance.data.adapters.fhibe.table import dataset_folder
from countenance.data.adapters.fhibe.words import DEFAULT_ATTRIBUTES, FACE_TASKS
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.settings.data import Compat
from countenance.suites.fhibe.vocabulary import METRICS
from countenance.tasks import Task, load_task
from countenance.tasks.thresholds import Array, ThresholdOptions, asked_metrics

FILE = "model_outputs.json"
ENCODINGS = "face_encodings"
"""The folder of the pictures that face_encoding makes; it has no model_outputs.json."""
RUNS = {"default": "run", "strict": "run-strict"}
"""The default folder of the run of each mode, so that neither replaces the other."""

OPTIONS = {
    "custom_keypoints": "keypoint_estimation",
    "map_ears_to_skin": "face_parsing",
    "lpips_weights": "face_encoding, face_super_resolution",
    "face_embedding": "face_encoding",
}
OF_TASKS = ("custom_keypoints", "map_ears_to_skin")
"""Options of the tasks; all others name weights."""
ORIGINAL_OPTIONS = ("cuda", "batch_size", "num_workers")
"""Keywords of the original that change nothing here and are accepted."""
MOST_CROSSED = 12
"""This many attributes may be crossed in every combination; the published files grow with 2 to that power."""
FURTHER = ("compat", "fhibe_layout", "depth", "without", "out", "dataset_version", "workers")
"""Keywords of `evaluate_task` beside the options, for hints."""


@dataclass(frozen=True)
class FhibeSettings:
    """One evaluation of one model on one task; errors are reported before anything is read.

    >>> FhibeSettings("data", "fhibe", "m", "person_parsing", ["ar_mask"]).dataset
    'fhibe_downsampled'
    """

    data: Path
    dataset: str
    """The folder of the dataset: fhibe_downsampled, fhibe_face_crop_align, …"""
    model_name: str
    task: str
    metrics: Any = None
    """Names, or {name: {"thresholds": […]}}; None: all of the task. Kept as names."""
    attributes: Sequence[str] = DEFAULT_ATTRIBUTES
    results: Path = Path("results")
    """The root of all results."""
    compat: Compat = "default"
    mini: int | None = None
    """The size of the mini dataset, where one is drawn."""
    options: Mapping[str, Any] = field(default_factory=dict)
    layout: bool = False
    """Whether the published files are written."""
    depth: int | None = None
    without: Collection[str] = ()
    """Images (their file paths in the table) that must not be used, because somebody in them withdrew."""
    downsampled: InitVar[bool] = True
    thresholds: Mapping[str, Array] = field(init=False)

    def __post_init__(self, downsampled: bool) -> None:
        if self.compat not in ("default", "strict"):
            raise InputError(f"compat {self.compat!r} is neither default nor strict")
        dataset = dataset_folder(self.dataset, self.task, downsampled)
        metrics, thresholds = asked_metrics(self.task, METRICS[self.task], self.metrics)
        checked = {
            "data": Path(self.data),
            "dataset": dataset,
            "metrics": metrics,
            "thresholds": thresholds,
            "attributes": check_attributes(self.attributes, self.task in FACE_TASKS),
            "results": Path(self.results),
            "options": check_options(self.task, self.options),
            "without": frozenset(self.without),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.layout and self.depth is None and len(self.attributes) > MOST_CROSSED:
            crossed = f"{2 ** len(self.attributes) - 1:,} combinations of {len(self.attributes)} attributes"
            raise InputError(f"the published files would hold {crossed}; cross fewer with depth=2")
        _ = self.scoring, self.folder

    @property
    def strict(self) -> bool:
        """Whether the original's numbers are requested, quirks included."""
        return self.compat == "strict"

    @cached_property
    def scoring_options(self) -> dict[str, Any]:
        """The options of the task."""
        chosen = {name: self.options[name] for name in OF_TASKS if self.options.get(name) is not None}
        base = load_task(self.task)
        if isinstance(base.options, ThresholdOptions):
            chosen |= {"thresholds": {name: levels.tolist() for name, levels in self.thresholds.items()}}
        if base.options is not None and "compat" in type(base.options).model_fields:
            chosen |= {"compat": self.compat}
        if self.task == "face_verification":
            chosen |= {"validation_rate": "dot"}
        return chosen

    @cached_property
    def scoring_task(self) -> Task:
        """The task that scores, with its options."""
        return load_task(self.task, self.scoring_options)

    @property
    def scoring(self) -> Any:
        """The options in force for the scoring task."""
        return self.scoring_task.options

    @property
    def folder(self) -> Path:
        """The folder for results."""
        return model_folder(self.results, self.task, self.dataset, self.model_name, self.mini is not None)

    @property
    def outputs(self) -> Path:
        """The place of the model's outputs; the mini dataset uses those of the whole dataset if it has none."""
        whole = model_folder(self.results, self.task, self.dataset, self.model_name)
        output_name = ENCODINGS if self.task == "face_encoding" else FILE
        return whole if not (self.folder / output_name).exists() and (whole / output_name).exists() else self.folder


def model_folder(results: str | Path, task: str, dataset: str, model_name: str, mini: bool = False) -> Path:
    """`{results}/[mini/]{task}/{dataset}/{model_name}`.

    >>> model_folder("R", "face_parsing", "fhibe_face_crop_align", "m", mini=True).as_posix()
    'R/mini/face_parsing/fhibe_face_crop_align/m'
    """
    if not model_name or Path(model_name).name != model_name or model_name in (".", ".."):
        raise InputError(f"model name {model_name!r}: it names a folder, so it may hold no slash")
    root = Path(results)
    return (root / "mini" if mini else root) / task / dataset / model_name


def check_options(task: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Task options by name; unknown options, and those of other tasks, are refused."""
    out = {name: value for name, value in options.items() if name not in ORIGINAL_OPTIONS}
    for name in out:
        if name not in OPTIONS:
            raise InputError(f"option {name!r} is not one of {', '.join(OPTIONS)}{near(name, [*OPTIONS, *FURTHER])}")
        if out[name] is not None and task not in OPTIONS[name].split(", "):
            raise InputError(f"option {name!r} belongs to {OPTIONS[name]}, not to {task}")
    return out
