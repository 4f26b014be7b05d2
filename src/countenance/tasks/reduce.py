"""Reduce: computes further columns and results from all predictions of a run.

A reducer sees a run shard by shard, so that the same code serves one process, many, and a cluster. Its result for a
shard is a `State`: arrays by name, which can be stored, sent and merged in any order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countenance.data import Sample
from countenance.tasks.results import Result
from countenance.tasks.states import State as State


@dataclass(frozen=True)
class Shard:
    """A part of a run: its samples, the prediction for each (absent for failed images), and its score rows.

    >>> shard = Shard(samples=[], answers={"a": None}, rows=None)
    >>> list(shard.answered())
    []
    """

    samples: Sequence[Sample]
    answers: Mapping[str, Any]
    rows: Any
    """An Arrow table with the columns of `scores.parquet`."""

    def answered(self) -> Iterator[tuple[Sample, Any]]:
        """The samples with a prediction, each with it."""
        for sample in self.samples:
            if sample.id in self.answers:
                yield sample, self.answers[sample.id]


class Whole(Protocol):
    """The whole run, as the argument of `finish`.

    >>> import countenance as ct
    >>> def share_failed(state, run: Whole) -> Reduced:
    ...     images = sum(len(shard.samples) for shard in run.shards())
    ...     failed = images - sum(1 for sample, answer in run.answers())
    ...     return Reduced([ct.Number(name="failed", value=failed / images)])
    """

    seed: int

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes for results by group."""

    def rows(self, columns: Sequence[str] | None = None) -> Any:
        """The whole score table (Arrow), in the run's order, or the columns named."""

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The score table in parts, for reducers with bounded memory."""

    def shards(self) -> Iterator[Shard]:
        """The shards again, one at a time, for reducers that need samples and predictions twice."""

    def answers(self) -> Iterator[tuple[str, Any]]:
        """Every prediction with its sample's id, in the run's order, so none of failed images; no sample is read."""

    def progress(self, what: str, total: int) -> Any:
        """A context manager that gives a function `step(n)`, for long work."""


@dataclass(frozen=True)
class Reduced:
    """The results of a reducer.

    >>> import countenance as ct
    >>> ct.Reduced([ct.Number(name="EER", value=0.02)], notes=["of frontal photos"]).results[0].value
    0.02
    """

    results: list[Result] = field(default_factory=list)
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Further metrics, one value for each row of the score table, in its order; NaN: not in the denominator."""
    notes: list[str] = field(default_factory=list)
    """Notes on the numbers."""
    evidence: State = field(default_factory=dict)
    """Arrays that the results were computed from, for pages that show more (`Run.evidence`)."""


def joined(first: State, second: State) -> State:
    """The arrays of both states, concatenated: the merge of reducers that collect values.

    States that are only concatenated are never merged in memory: `finish` gets them on disk, as a `Spool`.

    >>> joined({"a": np.array([1])}, {"a": np.array([2, 3])})
    {'a': array([1, 2, 3])}
    """
    return {name: np.concatenate([first[name], second[name]]) for name in first}


def added(first: State, second: State) -> State:
    """The sums of both states' arrays: the merge of reducers that count.

    >>> added({"a": np.array([1, 2])}, {"a": np.array([2, 3])})
    {'a': array([3, 5])}
    """
    return {name: first[name] + second[name] for name in first}


@dataclass(frozen=True)
class Reduce:
    """A task's reducer: its functions for states and results.

    >>> import countenance as ct
    >>> images = ct.Reduce(
    ...     partial=lambda shard: {"n": np.array([len(shard.samples)])},
    ...     finish=lambda state, run: ct.Reduced([ct.Number(name="images", value=float(state["n"].sum()))]),
    ... )
    >>> images.finish({"n": np.array([3, 4])}, None).results[0].value
    7.0
    """

    partial: Callable[[Shard], State]
    """From a shard to the state that is kept of it; the worker that has the shard computes and stores it."""
    finish: Callable[[State, Whole], Reduced]
    merge: Callable[[State, State], State] = joined
    """From the states of two neighbouring parts to one; states are merged like a tree."""


@dataclass(frozen=True)
class With:
    """A function with a task's options as its last argument: two tasks with equal options are equal.

    >>> With(max, 3)(2)
    3
    """

    function: Callable[..., Any]
    options: Any

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments, self.options)
