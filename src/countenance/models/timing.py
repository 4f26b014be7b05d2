"""A model that is timed: how long it takes from a picture to its answer, one picture at a time.

The time runs from the decoded picture to the answer: it includes preparing the picture, the network and reading its
output, but not decoding the file or scoring the answer. The first picture of a process is predicted twice and timed the
second time, since libraries initialise on the first call. On a GPU the time includes work that the model leaves
running.
"""

import copy
import inspect
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from countenance.models.model import Images


@dataclass(frozen=True)
class TimedAnswer:
    """An answer, and the milliseconds that it took."""

    answer: Any
    milliseconds: float


def untimed(answer: Any) -> Any:
    """The answer itself.

    >>> untimed(TimedAnswer("a", 2.5)), untimed("a")
    ('a', 'a')
    """
    return answer.answer if isinstance(answer, TimedAnswer) else answer


class TimedModel:
    """A model, timed; it is called with one picture at a time.

    >>> (timed,) = TimedModel(lambda images: [image + 1 for image in images])([1], ["a.png"])
    >>> timed.answer, timed.milliseconds > 0
    (2, True)
    """

    with_ids = False

    def __init__(self, model: Any) -> None:
        self.model = model
        with suppress(ValueError, TypeError):  # not everything callable has a signature
            self.with_ids = "ids" in inspect.signature(model).parameters
        self.warm = False

    def __call__(self, images: Images, ids: Sequence[str]) -> list[TimedAnswer]:
        stated: tuple[Any, ...] = (images, ids) if self.with_ids else (images,)
        if not self.warm:
            list(self.model(copy.deepcopy(images), *stated[1:]))  # a model may write on what it is given
            self.warm = True
        _finished()
        started = time.perf_counter()
        answers = list(self.model(*stated))
        _finished()
        milliseconds = 1000 * (time.perf_counter() - started) / max(len(answers), 1)
        return [TimedAnswer(answer, milliseconds) for answer in answers]


def _finished() -> None:
    """Wait until a GPU has finished torch's work."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
