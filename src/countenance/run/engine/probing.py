"""Predicts a few stored samples again, to see whether the model still gives the same answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from countenance.data import Sample
from countenance.run.plan import Piece
from countenance.run.staleness import Difference, differs
from countenance.run.store import RunStore
from countenance.tasks import Context, Task


def probe(
    task: Task,
    model: Any,
    store: RunStore,
    pieces: Sequence[Piece],
    chosen: Mapping[int, Sequence[str]],
    read: Callable[[Piece], list[Sample]],
    context: Context,
) -> Difference | None:
    """Predict the chosen samples again and compare with what is stored."""
    for piece in pieces:
        ids = set(chosen.get(piece.number, ()))
        if ids:
            samples = [sample for sample in read(piece) if sample.id in ids]
            difference = differs(task, model, samples, store.shard_answers(piece.number), context)
            if difference is not None:
                return difference
    return None
