"""Checks that the model is unchanged: a few stored predictions are repeated and compared before any is reused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.data import Sample
from countenance.models.timing import untimed
from countenance.run.shard import needs_pixels, predictions, refuse_interrupt
from countenance.tasks import Context, Task
from countenance.tasks.task import CONTEXT

READ = 8
"""Shards of a large run from which these predictions are drawn."""
PROBED = 8
"""Stored predictions, drawn by seed, that the model repeats."""
EDGES = 4
"""Further predictions that are repeated: this many with the lowest scores and this many empty ones."""
RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""Numbers that differ by less are the same: threads and machines round differently."""


@dataclass(frozen=True)
class Difference:
    """A stored prediction that the model does not repeat."""

    sample: str
    repeatable: bool
    """Whether two calls of the model agree: if not, it is nondeterministic rather than a different model."""


def some(shards: Sequence[Any], seed: int, most: int = READ) -> list[Any]:
    """The shards whose stored predictions are checked: all, or some drawn by seed, so that resuming stays quick.

    >>> some([1, 2, 3], 0), len(some(range(1000), 0))
    ([1, 2, 3], 8)
    """
    if len(shards) <= most:
        return list(shards)
    chosen = np.random.default_rng([seed, len(shards)]).permutation(len(shards))[:most]
    return [shards[i] for i in sorted(chosen.tolist())]


def draw(stored: Mapping[int, Mapping[str, float | None]], seed: int, most: int = PROBED) -> dict[int, list[str]]:
    """Sample ids by shard whose stored predictions are repeated, from the lowest score of each prediction.

    At most `most` are drawn by seed; then come those that another threshold changes first: with the lowest scores, and
    without any finding (None).

    >>> draw({0: {"a": 0.9, "b": 0.9}, 1: {"c": 0.3, "d": None}}, seed=0, most=1)
    {0: ['a', 'b'], 1: ['c', 'd']}
    """
    lowest = {(shard, name): score for shard, scores in stored.items() for name, score in scores.items()}
    known = sorted(lowest)
    order = [known[i] for i in np.random.default_rng(seed).permutation(len(known))]
    unsure = sorted((score, place) for place, score in lowest.items() if score is not None)
    empty = [place for place in order if lowest[place] is None]
    chosen: dict[int, list[str]] = {}
    for shard, name in sorted({*order[:most], *empty[:EDGES], *(place for _, place in unsure[:EDGES])}):
        chosen.setdefault(shard, []).append(name)
    return chosen


def lowest_score(answer: Any) -> float | None:
    """The lowest score in a model's answer, 1 without scores; None if it found nothing.

    >>> from countenance.answers import Boxes, Embedding
    >>> lowest_score(Boxes([[0, 0, 1, 1], [0, 0, 2, 2]], [0.9, 0.4])), lowest_score(Embedding(None))
    (0.4, None)
    """
    if any(getattr(answer, name, True) is None for name in ("vector", "years")):
        return None
    scores = getattr(answer, "scores", None)
    if scores is not None:
        return float(np.min(scores)) if len(scores) else None
    shares = getattr(answer, "probabilities", None)
    if isinstance(shares, Mapping):
        return min((max(head.values(), default=1.0) for head in shares.values()), default=1.0)
    return 1.0


def differs(
    task: Task, model: Any, samples: Sequence[Sample], stored: Mapping[str, Any], context: Context = CONTEXT
) -> Difference | None:
    """The first sample whose prediction is not the stored one; None when all are repeated."""
    for sample in samples:
        first = _again(task, model, sample, context)
        if first is None or not same_answer(first, stored[sample.id]):
            second = _again(task, model, sample, context)
            agrees = (first is None) == (second is None) and (first is None or same_answer(first, second))
            return Difference(sample.id, agrees)
    return None


def _again(task: Task, model: Any, sample: Sample, context: Context) -> Any:
    try:
        pixels = sample.load() if needs_pixels(model) else None
        return task.check(untimed(predictions(model, [(sample, pixels)])[0]), sample, context)
    except BaseException as error:  # it was predicted before and fails now: that is a difference
        refuse_interrupt(error)
        return None


def same_answer(first: Any, second: Any) -> bool:
    """Whether two predictions are the same up to rounding.

    >>> from countenance.answers import Boxes
    >>> same_answer(Boxes([[0, 0, 4, 4]], [0.9]), Boxes([[0, 0, 4, 4.0001]], [0.9]))
    True
    >>> same_answer(Boxes([[0, 0, 4, 4]], [0.9]), Boxes([[0, 0, 4, 5]], [0.9]))
    False
    """
    return type(first) is type(second) and _same(vars(first), vars(second))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if first.shape != second.shape:
            return False
        if first.dtype in (np.uint8, np.bool_):  # a few pixels may round; colours may differ by one step
            step = 1 if first.dtype == np.uint8 and first.ndim == 3 else 0
            apart = np.abs(first.astype(np.int16) - second.astype(np.int16)) > step
            return bool(np.count_nonzero(apart) <= first.size * 1e-3)
        scale = float(np.abs(second).max(initial=0.0))
        return bool(np.allclose(first, second, rtol=RELATIVE, atol=ABSOLUTE * max(scale, 1.0)))
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return set(first) == set(second) and all(
            _same(first[name], second[name]) for name in first if name != "landmarks"
        )
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(_same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, float) and isinstance(second, float | int):
        return bool(np.isclose(first, second, rtol=RELATIVE, atol=ABSOLUTE))
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return False
    return bool(first == second)
