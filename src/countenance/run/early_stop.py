"""Stops a hopeless run: the model has failed on everything so far, so the rest would only cost hours.

The rule counts images that the model was given, from the start of the run. It stops the run when not one of them has a
valid answer and either the first `FIRST` of them failed, with the model or its answer at fault, or the first `LOST` of
them each took a worker process down (each such failure costs a restart or the time limit). An unreadable image is no
evidence about the model and is not counted, nor is one that the model declined to answer; so a dataset whose first
images are damaged is evaluated to its end. A run in which every image failed for whatever reason ends with the first
reason. With `max_failures` 1, which allows that every image fails, the run continues.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from countenance.errors import ModelError

FIRST = 10
LOST = 3
REMEMBERED = 1000
"""Failures whose reasons are kept once an image was answered; shards store them all."""
UNREADABLE, DECLINED = "image", "declined"
"""The kinds of failures that the image causes, and that the model chooses by declining to answer."""
GO_ON = "max_failures=1 continues all the same"


def hopeless(answered: int, failed: int, lost: int) -> bool:
    """Whether a run should stop after these numbers of answered images, failures of the model, and lost workers.

    >>> hopeless(answered=0, failed=10, lost=0), hopeless(answered=1, failed=99, lost=9), hopeless(0, 3, lost=3)
    (True, False, True)
    """
    return answered == 0 and (failed >= FIRST or lost >= LOST)


@contextmanager
def no_going_on() -> Iterator[None]:
    """For callers who offer no `max_failures`: errors do not name it as a remedy.

    >>> with no_going_on():
    ...     raise ModelError(f"all 3 images failed ({GO_ON})")
    Traceback (most recent call last):
    countenance.errors.ModelError: all 3 images failed
    """
    try:
        yield
    except ModelError as error:
        error.args = (str(error).removesuffix(f" ({GO_ON})"), *error.args[1:])
        raise


class AllFailed(ModelError):
    """A finished run has no valid answer at all."""


@dataclass
class Watch:
    """Follows a run from its first image and raises as soon as it is hopeless."""

    max_failures: float
    answered: int = 0
    explain: Callable[[Mapping[str, list[list[float]]]], list[str]] = lambda boxes: []
    """Sentences on the refused boxes of samples, such as the reading in which they would be right."""
    failed: dict[str, str] = field(default_factory=dict)
    """The reason for each failed image that was readable, in the order of the failures."""
    lost: int = 0
    remedy: str = f" ({GO_ON})"
    refused: dict[str, list[list[float]]] = field(default_factory=dict)
    differed: set[int] = field(default_factory=set)
    """Shards that were processed twice with different predictions."""

    def saw(self, answered: int, failures: Iterable[Mapping[str, Any]] = (), *, lost: bool = False) -> None:
        """Record images that were answered or failed since the last call; `lost` means that they ended their worker.

        A failure has `sample`, `kind` and `reason`, and `boxes` where the boxes of an answer were refused.
        """
        self.answered += answered
        for row in failures:
            if self.answered and len(self.failed) >= REMEMBERED:
                break  # one image was answered, so further failures change nothing
            sample = row["sample"]
            if row["kind"] not in (UNREADABLE, DECLINED) and sample not in self.failed:
                self.failed[sample] = row["reason"]
                self.lost += lost
                if row.get("boxes"):
                    self.refused[sample] = row["boxes"]
        if hopeless(self.answered, len(self.failed), self.lost):
            n = len(self.failed)
            if self.max_failures < 1:
                start = f"stopped: the first {'image' if n == 1 else f'{n} images all'} failed"
                raise ModelError(self._sentence(start, self.failed))

    def finished(self, failures: Sequence[Mapping[str, Any]], total: int) -> None:
        """Raise when a finished run has no valid answer at all, unless the model declined."""
        if any(row.get("kind") == DECLINED for row in failures):
            return
        if total and len(failures) == total and self.max_failures < 1:
            images = "the only image" if total == 1 else f"all {total} images"
            raise AllFailed(self._sentence(f"{images} failed", {row["sample"]: row["reason"] for row in failures}))

    def _sentence(self, what: str, failed: Mapping[str, str]) -> str:
        parts = [what, first_reason(failed), *(self.explain(self.refused) if self.refused else [])]
        return "; ".join(parts) + self.remedy


def first_reason(failed: Mapping[str, str]) -> str:
    """The first failure in one line, and the number of other reasons (numbers in them ignored).

    >>> first_reason({"a.jpg": "KeyError: 'x'", "b.jpg": "no answer within 3 s"})
    "the first, a.jpg: KeyError: 'x'; 1 more reason among the others"
    """
    (sample, reason), *others = failed.items()
    different = {_without_numbers(text) for _, text in others} - {_without_numbers(reason)}
    more = f"; {len(different)} more reason{'s' * (len(different) > 1)} among the others" if different else ""
    return f"the first, {sample}: {' '.join(reason.split())}{more}"


def _without_numbers(text: str) -> str:
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "0", text)
