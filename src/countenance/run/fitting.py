"""Models that are fitted first: once per run, where they predict, before the first batch."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from countenance.data.fit_input import FitContext
from countenance.errors import CannotAnswer, InputError, ModelError
from countenance.models.model import attribute_of
from countenance.run.shard import refuse_interrupt
from countenance.run.store import RunStore
from countenance.text import kind_and_words, one_line, words_of

LONGEST = 86400.0
"""Seconds that fitting may take: a network may learn for hours."""


class Declined:
    """A model that declined when it was fitted: it fails every image with its reason."""

    needs_pixels = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def by_id(self, name: str) -> NoReturn:
        raise CannotAnswer(self.reason)

    def __call__(self, images: Sequence[Any]) -> NoReturn:
        raise CannotAnswer(self.reason)


def fitted(model: Any, context: FitContext | None, store: RunStore) -> Any:
    """The model, fitted if its task has data for that; the run keeps what its `fit` returns.

    A model that says that it cannot answer (`CannotAnswer`) fails every image with that reason.
    """
    fit = attribute_of(model, "fit")
    if context is None or not callable(fit):
        return model
    started = time.perf_counter()
    try:
        notes = fit(context.copied())
    except CannotAnswer as reason:
        return Declined(words_of(reason))
    except InputError:
        raise
    except BaseException as error:
        refuse_interrupt(error)
        first = one_line(kind_and_words(error))
        raise ModelError(f"the model could not be fitted ({first})") from error
    seconds = round(time.perf_counter() - started, 3)
    store.write_fit_notes({"seconds": seconds} | (dict(notes) if isinstance(notes, Mapping) else {}))
    return model
