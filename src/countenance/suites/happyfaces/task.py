"""HappyFaces as a task: two probabilities of each photo in, both heads named and scored when all are there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from countenance.answers import Scalars
from countenance.data import Dataset, Sample
from countenance.data.adapters.happyfaces_layout import HappyFaces, features_shown
from countenance.data.fit_input import FitContext, FitInput
from countenance.errors import InputError
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.formulas.two_views import assign_heads
from countenance.suites.happyfaces.model import ALONE, HEADS
from countenance.suites.happyfaces.scores import Record, part_of
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With
from countenance.tasks.results import Number, Result, Table
from countenance.tasks.task import Metric, Options, Row, Task, subject_row

QUESTION = "Which two features explain one label?"
NAMING = "Heads are assigned to features by validation truth, the better of the two ways, as the benchmark's rule says."
PARTS = {"validation": "validation", "not_drawn": "photos not drawn", "held_back": "photos held back"}
"""The parts that are scored, validation first: it names the heads. Values of the attribute `part` with their words."""
SAME = 1e-3
"""Probabilities that differ by less are the same: sums of several photos round differently."""
USES_BATCH = "answered otherwise in a batch"
"""The name of the result that says whether a method uses the other photos of a batch."""


class HappyFacesOptions(Options):
    """The options of the task: a method at a mix rate with a seed."""

    method: str = "spatial"
    """The method that is fitted: a name of the package, module:attr or path.py:attr."""
    mix_rate: float | None = Field(0.1, ge=0, le=1)
    """Share of cross types among the photos that are drawn; None: nothing is drawn (predictions of a file)."""
    seed: int = Field(0, ge=0)
    """Seed of the draw and of the method."""
    method_options: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the method."""
    features: tuple[str, str] = ("face", "writing")
    """The names of the two features."""

    @classmethod
    def of_rows(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the draw alone: runs of the same draw are comparable whatever their methods."""
        return {name: value for name, value in options.items() if name not in ("method", "method_options")}


def fit_input(dataset: Dataset, options: HappyFacesOptions) -> FitInput:
    """The labelled photos, their labels and the photos of the draw; these are not scored."""
    data = getattr(dataset, "data", None)
    if not isinstance(data, HappyFaces):
        raise InputError(f"task 'happyfaces' needs data=happyfaces:FOLDER, found the dataset {dataset.name!r}")
    if options.mix_rate is None:
        return FitInput(FitContext({}))
    drawn = draw(data.unlabelled.tags, options.mix_rate, options.seed).drawn
    labelled, labels, unlabelled = method_input(data, drawn, options.seed)
    names = data.unlabelled.ids("unlabelled")
    arrays: dict[str, NDArray[Any]] = {"labelled": labelled, "labels": labels, "unlabelled": unlabelled}
    return FitInput(FitContext(arrays), frozenset(names[i] for i in drawn))


def to_heads(raw: Any) -> Scalars:
    """Two probabilities from `head_1` and `head_2`, or from a pair of numbers.

    >>> to_heads([0.25, 1]).values
    {'head_1': 0.25, 'head_2': 1.0}
    """
    if not isinstance(raw, Scalars | Mapping):
        raw = dict(zip(HEADS, raw, strict=True))
    heads = Scalars.of(raw)
    names = [name for name in (*HEADS, *ALONE) if name in heads.values]
    if not set(HEADS) <= set(names):
        raise ValueError(f"numbers named {', '.join(heads.values)}, expected {' and '.join(HEADS)}")
    outside = next((name for name in names if not 0 <= heads.values[name] <= 1), None)
    if outside is not None:
        raise ValueError(f"{outside} is {heads.values[outside]:g}, expected a probability from 0 to 1")
    return heads


def score(sample: Sample, answer: Scalars, options: HappyFacesOptions) -> list[Row]:
    """One row for the photo; whether a head is right is computed after the heads are named."""
    row = subject_row(sample, sample.subjects[0])
    return [row | {f"m.{feature}_correct": None for feature in options.features}]


@dataclass
class Photographs:
    """The photos of one part, collected in order, answered or not."""

    names: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    numbers: list[list[float]] = field(default_factory=list)

    def add(self, sample: Sample, answer: Scalars | None) -> None:
        """One more photo."""
        self.names.append(sample.id)
        self.tags.append(str(sample.subjects[0].attributes["type"]))
        self.answered.append(answer is not None)
        self.numbers.append([0.0, 0.0] if answer is None else [answer.values[name] for name in HEADS])

    @property
    def predicted(self) -> NDArray[np.bool_]:
        return np.array(self.numbers).reshape(-1, 2) > 0.5

    @property
    def truth(self) -> NDArray[np.bool_]:
        return features_shown(self.tags)

    def ways(self) -> tuple[int, int]:
        """The assignment of heads to features, from the answered photos."""
        there = np.array(self.answered, bool)
        return assign_heads(self.predicted[there], self.truth[there]) if there.any() else (0, 1)

    def right(self, ways: tuple[int, int]) -> NDArray[np.bool_]:
        """Photos × 2: whether the head was right; a photo without an answer counts as wrong."""
        return np.asarray((self.predicted[:, ways] == self.truth) & np.array(self.answered, bool)[:, None])


def partial(shard: Shard) -> State:
    """The number of photos of a shard; nothing else is stored, since the answers hold every probability."""
    return {"photos": np.array([len(shard.samples)])}


def finish(state: State, whole: Whole, options: HappyFacesOptions) -> Reduced:
    """The results: heads named by validation, and accuracies of every part, unanswered photos counted as wrong."""
    parts = {name: Photographs() for name in PARTS}
    differences: list[float] = []
    for shard in whole.shards():
        for sample in shard.samples:
            answer = shard.answers.get(sample.id)
            parts[str(sample.attributes["part"])].add(sample, answer)
            if answer is not None and ALONE[0] in answer.values:
                pairs = zip(HEADS, ALONE, strict=True)
                differences.append(max(abs(answer.values[head] - answer.values[other]) for head, other in pairs))
    if not any(any(photos.answered) for photos in parts.values()):
        return Reduced()
    ways = parts["validation"].ways()
    right = {name: photos.right(ways) for name, photos in parts.items()}
    records = {name: part_of(right[name], parts[name].tags, options.features) for name in parts}
    notes = [NAMING, *_unanswered(parts), *_batch_note(differences)]
    results = [*results_of(records, ways, options.features), *_batch_result(differences)]
    by_name = {name: own for part in parts for name, own in zip(parts[part].names, right[part], strict=True)}
    order = whole.rows(["sample"])["sample"].to_pylist()
    columns = {
        f"{feature}_correct": np.array([by_name[name][k] for name in order], np.float64)
        for k, feature in enumerate(options.features)
    }
    return Reduced(results, columns, notes)


def _unanswered(parts: Mapping[str, Photographs]) -> list[str]:
    lost = [(PARTS[name], photos.answered.count(False), len(photos.answered)) for name, photos in parts.items()]
    return [f"{n} of {total} photos have no answer and count as wrong ({part})" for part, n, total in lost if n]


def _batch_result(differences: Sequence[float]) -> list[Result]:
    if not differences:
        return []
    share = float(np.mean(np.array(differences) > SAME))
    meaning = f"share of photos whose probabilities differ by more than {SAME:g} between a batch and the photo alone"
    return [Number(name=USES_BATCH, meaning=meaning, value=share, n=len(differences), better="lower", unit="photos")]


def _batch_note(differences: Sequence[float]) -> list[str]:
    n = sum(difference > SAME for difference in differences)
    if not n:
        return []
    most = max(differences)
    return [
        f"uses its batch: {n} of {len(differences)} photos get another answer beside other photos than alone "
        f"(by up to {most:.3f}); the answer to a photo should depend on that photo only"
    ]


def results_of(records: Mapping[str, Record | None], ways: Sequence[int], features: Sequence[str]) -> list[Result]:
    """Worst head, both heads and both by type, for every part that was scored."""
    results: list[Result] = []
    table: list[list[Any]] = []
    for part, label in PARTS.items():
        record = records[part]
        if record is None:
            continue
        n, worst, text = record["photos"], record["worst_head"], f"accuracy of the worse head, {label}"
        name = f"worst head, {label}"
        results.append(Number(name=name, meaning=text, value=worst, n=n, better="higher", unit="photos"))
        for feature, head in record["heads"].items():
            table.append([label, feature, "all", head["accuracy"]])
            table += [[label, feature, kind, value] for kind, value in head["by_type"].items()]
    results.append(Table(name="accuracy by type", columns=["photos", "head", "type", "accuracy"], rows=table))
    named = [[feature, f"head {head + 1}"] for feature, head in zip(features, ways, strict=True)]
    results.append(Table(name="heads", columns=["feature", "head"], rows=named))
    return results


def make(options: HappyFacesOptions) -> Task:
    """The task with its options."""
    return Task(
        name="happyfaces",
        question=QUESTION,
        answer=Scalars,
        metrics=tuple(
            Metric(f"{feature}_correct", f"the head of {feature} is right about the photo", "higher", headline=True)
            for feature in options.features
        ),
        coerce=to_heads,
        score=With(score, options),
        reduce=Reduce(partial, With(finish, options)),
        fit_input=With(fit_input, options),
        options=options,
        make=make,
    )


HAPPYFACES_TASK = make(HappyFacesOptions())
