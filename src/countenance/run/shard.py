"""One shard: decode ahead, predict in batches, validate and score.

The same code runs in a worker process and, for models that are objects of the user's program, in that program.
"""

import hashlib
import inspect
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import Sample
from countenance.errors import InputError
from countenance.run.rows import failure_row, rows_table
from countenance.run.store import Committed, RunStore
from countenance.tasks import Context, Row, Task
from countenance.tasks.task import CONTEXT, Refused

Pixels = NDArray[np.uint8]
Decoded = tuple[Pixels, str]
"""The pixels of a picture and the hash of its file."""
Failure = Mapping[str, Any]
"""A failed image: sample, kind, reason, and who is in it."""
LARGEST_COORDINATE = 1e7
AHEAD = 2
"""Batches decoded before the model is ready for them."""
BUDGET = 256 * 2**20
"""Bytes of pixels that may wait for the model: of large pictures fewer batches are decoded ahead."""


class Stop(Exception):
    """Raised in strict mode at the first failure."""


@dataclass
class ShardResult:
    """What became of the images of a shard."""

    answers: list[tuple[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    refused: dict[str, list[list[float]]] = field(default_factory=dict)
    """The boxes of predictions that were refused, by sample: perhaps they are boxes in another reading."""
    pictures: dict[str, str] = field(default_factory=dict)
    """The hash of each picture that was read."""
    read: str = ""
    """A hash of those, where the shard is scored again and no picture is read."""

    def fail(self, sample: Sample, kind: str, reason: str) -> None:
        self.failures.append(failure_row(sample, kind, reason))

    def commit(self, store: RunStore, number: int, task: Task, columns: Mapping[str, str]) -> Committed:
        """Store the shard and say whether another writer did so before."""
        rows = rows_table(self.rows, columns)
        seen = "\n".join(f"{name} {self.pictures[name]}" for name in sorted(self.pictures))
        pictures = hashlib.sha256(seen.encode()).hexdigest() if seen else self.read
        return store.commit(number, task.answer, self.answers, rows, self.failures, self.skipped, pictures)


@dataclass(frozen=True)
class Hooks:
    """What a shard reports while it works."""

    before_batch: Callable[[Sequence[str]], None] = lambda ids: None
    after_batch: Callable[[int, Sequence[Failure]], None] = lambda done, failures: None
    """Images done, and those among them that failed (with their `boxes` where those were refused)."""


def run_shard(
    task: Task,
    model: Any,
    samples: Sequence[Sample],
    *,
    batch: int,
    strict: bool = False,
    known_failures: Mapping[str, str] | None = None,
    context: Context = CONTEXT,
    hooks: Hooks | None = None,
) -> ShardResult:
    """Predict and score every sample; what fails is recorded with its reason and the rest goes on.

    `known_failures` are samples that brought a worker down before; they are not tried again.
    """
    result, known, hooks = ShardResult(), known_failures or {}, hooks or Hooks()
    asked = [sample for sample in samples if task.asks(sample)]
    result.skipped = len(samples) - len(asked)
    for sample in asked:
        if sample.id in known:
            result.fail(sample, "model", known[sample.id])
    left = [sample for sample in asked if sample.id not in known]
    for group, pixels in _batches(model, left, batch):
        hooks.before_batch([sample.id for sample in group])
        before = len(result.failures)
        readable: list[tuple[Sample, Pixels | None]] = []
        for sample, content in zip(group, pixels, strict=True):
            if isinstance(content, Exception):
                result.fail(sample, "image", str(content))
            elif content is None:
                readable.append((sample, None))
            else:
                readable.append((sample, content[0]))
                result.pictures[sample.id] = content[1]
        _predict(task, model, readable, result, context)
        if strict and result.failures:
            first = result.failures[0]
            raise Stop(f"{first['sample']}: {first['reason']}")
        boxes = result.refused
        failed = [{**row, "boxes": boxes.get(row["sample"])} for row in result.failures[before:]]
        hooks.after_batch(len(group), failed)
        readable.clear()
        pixels.clear()  # the next batch is decoded into the memory of this one
    return result


def needs_pixels(model: Any) -> bool:
    """Whether a model looks at pictures; saved predictions do not."""
    return bool(getattr(model, "needs_pixels", True))


def _batches(
    model: Any, samples: Sequence[Sample], batch: int
) -> Iterator[tuple[Sequence[Sample], list[Decoded | Exception | None]]]:
    groups = [samples[i : i + batch] for i in range(0, len(samples), batch)]
    if not needs_pixels(model):
        for group in groups:
            yield group, [None] * len(group)
        return
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[tuple[Sequence[Sample], Future[list[Decoded | Exception | None]]]] = deque()
        for group in groups:
            while waiting and (len(waiting) > AHEAD or sum(_bytes(g) for g, _ in waiting) + _bytes(group) > BUDGET):
                ready, future = waiting.popleft()
                yield ready, future.result()
                del future  # its pixels are not needed while the next are decoded
            waiting.append((group, pool.submit(_decode, group)))
        while waiting:
            ready, future = waiting.popleft()
            yield ready, future.result()


def _bytes(samples: Sequence[Sample]) -> int:
    """Bytes of the pixels of some samples."""
    return sum(sample.width * sample.height * 3 for sample in samples)


def _decode(samples: Sequence[Sample]) -> list[Decoded | Exception | None]:
    decoded: list[Decoded | Exception | None] = []
    for sample in samples:
        try:
            decoded.append(sample.load_checked())
        except Exception as error:  # one unreadable image is a failure of that image, not of the run
            decoded.append(error)
    return decoded


def _predict(
    task: Task, model: Any, batch: Sequence[tuple[Sample, Pixels | None]], result: ShardResult, context: Context
) -> None:
    if not batch:
        return
    try:
        answers = predictions(model, batch)
    except Exception as error:
        if len(batch) > 1:  # find out which image it was
            for one in batch:
                _predict(task, model, [one], result, context)
        else:
            kind = "answer" if isinstance(error, InputError) else "model"
            reason = words(error) if kind == "answer" else f"{type(error).__name__}: {words(error)}"
            result.fail(batch[0][0], kind, reason)
        return
    for (sample, _), raw in zip(batch, answers, strict=True):
        score_one(task, sample, raw, result, context)


def score_one(task: Task, sample: Sample, raw: Any, result: ShardResult, context: Context = CONTEXT) -> None:
    """Validate and score one prediction; one that is not valid is a failure of its image."""
    try:
        answer = task.check(raw, sample, context)
    except Exception as error:  # a prediction is foreign: whatever it does when it is looked at, it is not valid
        result.fail(sample, "answer", words(error))
        if isinstance(error, Refused) and isinstance(error.answer, Boxes) and _usual(error.answer.xyxy):
            result.refused[sample.id] = error.answer.xyxy.tolist()
        return
    try:
        rows = task.score(sample, answer)
    except ValueError as error:  # a valid answer that does not fit this image; anything else is a bug
        result.fail(sample, "answer", words(error))
        return
    result.rows += rows
    result.answers.append((sample.id, answer))


def _usual(numbers: NDArray[np.float64]) -> bool:
    """Whether these could be boxes of a picture in some reading."""
    return bool(np.isfinite(numbers).all() and (np.abs(numbers) < LARGEST_COORDINATE).all())


def words(error: BaseException) -> str:
    """An exception's text; a foreign exception class may fail even at this."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def predictions(model: Any, batch: Sequence[tuple[Sample, Pixels | None]]) -> list[Any]:
    """What the model returns for a batch, one for each image."""
    ids = [sample.id for sample, _ in batch]
    if not needs_pixels(model):
        return [model.by_id(name) for name in ids]
    images = [pixels.copy() for _, pixels in batch if pixels is not None]  # a model may write on what it is given
    answers = model(images, ids) if takes_ids(model) else model(images)
    if not hasattr(answers, "__iter__"):
        raise ValueError(f"the model returned {type(answers).__name__}, expected one answer for each image")
    answers = list(itertools.islice(answers, len(batch) + 1))
    if len(answers) != len(batch):
        raise ValueError(f"the model returned {len(answers)} answers for {len(batch)} images")
    return list(answers)


def takes_ids(model: Any) -> bool:
    """Whether a model's call has a second parameter named `ids`.

    >>> takes_ids(lambda images, ids: []), takes_ids(lambda images: [])
    (True, False)
    """
    try:
        return "ids" in inspect.signature(model).parameters
    except (TypeError, ValueError):
        return False
