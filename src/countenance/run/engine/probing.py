"""Predicting a few stored samples again: does the model still give the same?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from countenance.data import Sample
from countenance.run.plan import Piece
from countenance.run.stale import Difference, differs
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
        wanted = set(chosen.get(piece.number, ()))
        if wanted:
            samples = [sample for sample in read(piece) if sample.id in wanted]
            found = differs(task, model, samples, store.shard_answers(piece.number), context)
            if found is not None:
                return found
    return None
