"""Is it still the same model? A few stored predictions are made again and compared before any are used again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.data import Sample
from countenance.run.shard import needs_pixels, predictions
from countenance.tasks import Context, Task
from countenance.tasks.task import CONTEXT

PROBED = 8
"""Stored predictions that are made again."""
RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""Numbers that differ by less are the same: threads and machines round differently."""


@dataclass(frozen=True)
class Difference:
    """A stored prediction that did not come out again."""

    sample: str
    repeatable: bool
    """Whether the model at least agrees with itself: if not, it is nondeterministic rather than another model."""


def draw(stored: Mapping[int, Sequence[str]], seed: int, most: int = PROBED) -> dict[int, list[str]]:
    """At most `most` of the stored sample ids, by shard, drawn by seed.

    >>> draw({0: ["a", "b"], 1: ["c"]}, seed=0, most=2)
    {0: ['a'], 1: ['c']}
    """
    flat = [(shard, name) for shard in sorted(stored) for name in stored[shard]]
    chosen = np.random.default_rng(seed).permutation(len(flat))[:most]
    found: dict[int, list[str]] = {}
    for i in sorted(int(i) for i in chosen):
        shard, name = flat[i]
        found.setdefault(shard, []).append(name)
    return found


def differs(
    task: Task, model: Any, samples: Sequence[Sample], stored: Mapping[str, Any], context: Context = CONTEXT
) -> Difference | None:
    """The first sample whose prediction is not the stored one; None when all come out again."""
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
        return task.check(predictions(model, [(sample, pixels)])[0], sample, context)
    except Exception:  # it was predicted before and fails now: that is a difference
        return None


def same_answer(one: Any, two: Any) -> bool:
    """Whether two predictions are the same but for rounding.

    >>> from countenance.answers import Boxes
    >>> same_answer(Boxes([[0, 0, 4, 4]], [0.9]), Boxes([[0, 0, 4, 4.0001]], [0.9]))
    True
    >>> same_answer(Boxes([[0, 0, 4, 4]], [0.9]), Boxes([[0, 0, 4, 5]], [0.9]))
    False
    """
    return type(one) is type(two) and _same(vars(one), vars(two))


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        if one.shape != two.shape:
            return False
        if one.dtype in (np.uint8, np.bool_):  # a few pixels may round; colours may differ by one step
            step = 1 if one.dtype == np.uint8 and one.ndim == 3 else 0
            apart = np.abs(one.astype(np.int16) - two.astype(np.int16)) > step
            return bool(np.count_nonzero(apart) <= one.size * 1e-3)
        scale = float(np.abs(two).max(initial=0.0))
        return bool(np.allclose(one, two, rtol=RELATIVE, atol=ABSOLUTE * max(scale, 1.0)))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return set(one) == set(two) and all(_same(one[name], two[name]) for name in one if name != "landmarks")
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(_same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, float) and isinstance(two, float | int):
        return bool(np.isclose(one, two, rtol=RELATIVE, atol=ABSOLUTE))
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return False
    return bool(one == two)
