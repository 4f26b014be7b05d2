"""One shard: predict in batches, validate and score.

The same code runs in a worker process and, for models that are objects of the user's program, in that program.
"""

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.answers.store import KINDS
from countenance.data import Sample
from countenance.data.conditions import Conditions
from countenance.data.points import PointPixels
from countenance.errors import CannotAnswer, InputError
from countenance.models.model import attribute_of
from countenance.models.timing import TimedAnswer, untimed
from countenance.run.early_stop import DECLINED
from countenance.run.feeding import FedBatch, FedGroup, Feed, Pixels, by_thread, without_pixels
from countenance.run.latency import with_latency
from countenance.run.limits import TooSlow, limited_time
from countenance.run.marker import Committed
from countenance.run.pictures import sum_of
from countenance.run.rows import failure_row, rows_table
from countenance.run.store import RunStore
from countenance.tasks import Context, Row, Shard, Task
from countenance.tasks.states import state_to_bytes
from countenance.tasks.task import CONTEXT, Refused
from countenance.text import kind_and_words, words_of
from countenance.worker_process import in_worker

Failure = Mapping[str, Any]
"""A failed image: sample, kind, reason, and who is in it."""
LARGEST_COORDINATE = 1e7


class Stop(Exception):
    """Raised in strict mode at the first failure."""


@dataclass
class ShardResult:
    """The outcome of the images of a shard."""

    number: int = 0
    """The shard's number, where several are processed together."""
    answers: list[tuple[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: int = 0
    refused: dict[str, list[list[float]]] = field(default_factory=dict)
    """The boxes of predictions that were refused, by sample: perhaps they are boxes in another reading."""
    conditions: Conditions = field(default_factory=Conditions)
    """How its pictures were taken, for the columns `img.*` of its rows."""
    samples: list[Sample] = field(default_factory=list)
    """The samples that the task asks about, for its reducer."""
    pictures: dict[str, str] = field(default_factory=dict)
    """The hash of each picture that was read."""
    read: str = ""
    """A hash of these hashes, if the shard is scored again and no picture is read."""

    def fail(self, sample: Sample, kind: str, reason: str) -> None:
        self.failures.append(failure_row(sample, kind, reason))

    def commit(self, store: RunStore, number: int, task: Task, columns: Mapping[str, str]) -> Committed:
        """Store the shard and say whether another writer did so before."""
        samples, subjects = [row["sample"] for row in self.rows], [row.get("subject") for row in self.rows]
        rows = rows_table(self.rows, columns, self.conditions.columns(samples, subjects))
        pictures = sum_of(self.pictures) or self.read
        state = self._state(task, rows)
        return store.commit(number, task.answer, self.answers, rows, self.failures, self.skipped, pictures, state)

    def _state(self, task: Task, rows: Any) -> bytes | None:
        """The task's reducer state for the shard; None without a reducer, or if it fails, which is reported later."""
        if task.reduce is None:
            return None
        try:
            return state_to_bytes(task.reduce.partial(Shard(self.samples, dict(self.answers), rows)))
        except Exception:
            return None


@dataclass(frozen=True)
class Hooks:
    """Callbacks for the events of a shard."""

    before_batch: Callable[[Sequence[str]], None] = lambda ids: None
    after_batch: Callable[[int, Sequence[Failure]], None] = lambda done, failures: None
    """Images done, and those among them that failed (with their `boxes` where those were refused)."""
    limit: float | None = None
    """Seconds that scoring one image may take, where no worker process can be ended."""


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
    """Predict and score every sample; a failure is recorded with its reason and the rest continues.

    `known_failures` are samples that ended a worker before; they are not tried again.
    """
    hooks = hooks or Hooks()
    result, left = started(task, samples, known_failures)
    for ready in feed_for(model)(grouped(left, batch, result)):
        hooks.before_batch([sample.id for sample in ready.group.samples])
        predictions = answers(model, readable_of(ready))
        ready.drop_pixels()
        predicted = validated(task, ready, predictions, context)
        settle(task, ready.group, predicted, strict=strict, after=hooks.after_batch, limit=hooks.limit)
    return result


def started(
    task: Task, samples: Sequence[Sample], known_failures: Mapping[str, str] | None = None
) -> tuple[ShardResult, list[Sample]]:
    """The result of a shard before its first prediction, and the samples that are to be predicted."""
    result, known = ShardResult(), known_failures or {}
    evaluated = [sample for sample in samples if task.asks(sample)]
    result.skipped, result.samples = len(samples) - len(evaluated), evaluated
    for sample in evaluated:
        if sample.id in known:
            result.fail(sample, "model", known[sample.id])
    return result, [sample for sample in evaluated if sample.id not in known]


def grouped(samples: Sequence[Sample], batch: int, owner: Any = None) -> Iterator[FedGroup]:
    """Samples in batches; an owner without samples has one empty group."""
    for i in range(0, max(len(samples), 1), batch):
        yield FedGroup(samples[i : i + batch], owner, i + batch >= len(samples))


def needs_pixels(model: Any) -> bool:
    """Whether a model uses pictures; saved predictions do not."""
    return bool(attribute_of(model, "needs_pixels", True))


def feed_for(model: Any) -> Feed:
    """The source of a model's batches, in one process."""
    return by_thread if needs_pixels(model) else without_pixels


def readable_of(batch: FedBatch) -> list[tuple[Sample, Pixels | None]]:
    """The samples of a batch whose pictures could be read, with their pixels."""
    together = zip(batch.group.samples, batch.pictures, strict=True)
    return [
        (sample, picture.pixels if picture else None)
        for sample, picture in together
        if not isinstance(picture, Exception)
    ]


@dataclass(frozen=True)
class FailedImage:
    """The reason why a sample has no answer."""

    kind: str
    reason: str
    boxes: list[list[float]] | None = None
    """The boxes of a prediction that was refused: perhaps they are boxes in another reading."""

    @classmethod
    def of(cls, error: BaseException) -> "FailedImage":
        if issubclass(type(error), CannotAnswer):  # isinstance runs code of the exception, which is foreign
            return cls(DECLINED, words_of(error))
        if issubclass(type(error), InputError):
            return cls("answer", words_of(error))
        return cls("model", kind_and_words(error))


def answers(model: Any, batch: Sequence[tuple[Sample, Pixels | None]]) -> list[Any]:
    """The model's return value for each sample, or the problem; after an error each image is tried alone."""
    if not batch:
        return []
    try:
        return predictions(model, batch)
    except BaseException as error:
        refuse_interrupt(error)
        if len(batch) == 1:
            return [FailedImage.of(error)]
        return [answer for pair in batch for answer in answers(model, [pair])]


def refuse_interrupt(error: BaseException) -> None:
    """Raise Ctrl-C again; anything else is a failure of the model, in a worker process Ctrl-C too."""
    if issubclass(type(error), KeyboardInterrupt) and not in_worker():
        raise error


class Predicted(NamedTuple):
    """The outcome of one image."""

    answer: Any
    """The valid answer, or a FailedImage."""
    picture: str | None
    """The hash of its picture, where one was read."""
    milliseconds: float | None = None
    """The time of its answer, where that was measured."""
    points: PointPixels | None = None
    """The pixels from which the conditions of its picture are computed, where it was read."""


def validated(task: Task, batch: FedBatch, predictions: Sequence[Any], context: Context) -> list[Predicted]:
    """The outcome of each image of a batch; `predictions` has the model's return value for each readable sample."""
    got = iter(predictions)
    predicted = []
    for sample, picture in zip(batch.group.samples, batch.pictures, strict=True):
        if isinstance(picture, Exception):
            predicted.append(Predicted(FailedImage("image", str(picture)), None))
        else:
            raw = next(got)
            time = raw.milliseconds if isinstance(raw, TimedAnswer) else None
            answer = valid(task, sample, untimed(raw), context)
            predicted.append(
                Predicted(answer, picture.digest, time, picture.points) if picture else Predicted(answer, None, time)
            )
    return predicted


def valid(task: Task, sample: Sample, raw: Any, context: Context = CONTEXT) -> Any:
    """The valid answer in a model's return value for a sample, or the reason why there is none."""
    if isinstance(raw, FailedImage):
        return raw
    try:
        return task.check(raw, sample, context)
    except BaseException as error:  # a prediction is foreign: if reading it fails, it is invalid
        refuse_interrupt(error)
        answer = cast(Refused, error).answer if issubclass(type(error), Refused) else None
        boxes = answer.xyxy.tolist() if isinstance(answer, Boxes) and _usual(answer.xyxy) else None
        return FailedImage("answer", words_of(error), boxes)


def settle(
    task: Task,
    group: FedGroup,
    predicted: Sequence[Predicted],
    *,
    strict: bool = False,
    after: Callable[[int, Sequence[Failure]], None] = lambda done, failures: None,
    limit: float | None = None,
) -> None:
    """Score a batch into the result of its shard (the group's owner)."""
    result: ShardResult = group.owner
    before, together = len(result.failures), list(zip(group.samples, predicted, strict=True))
    result.pictures |= {sample.id: outcome.picture for sample, outcome in together if outcome.picture is not None}
    for unreadable in (True, False):  # images that could not be read come first
        for sample, outcome in together:
            if unreadable == (isinstance(outcome.answer, FailedImage) and outcome.answer.kind == "image"):
                score_valid(task, sample, outcome.answer, result, limit, outcome.milliseconds, outcome.points)
    if strict and result.failures:
        first = result.failures[0]
        raise Stop(f"{first['sample']}: {first['reason']}")
    failed = [{**row, "boxes": result.refused.get(row["sample"])} for row in result.failures[before:]]
    after(len(group.samples), failed)


def score_one(
    task: Task,
    sample: Sample,
    raw: Any,
    result: ShardResult,
) -> None:
    """Validate and score one prediction; one that is not valid is a failure of its image."""
    score_valid(task, sample, valid(task, sample, raw), result)


def score_valid(
    task: Task,
    sample: Sample,
    answer: Any,
    result: ShardResult,
    limit: float | None = None,
    milliseconds: float | None = None,
    points: PointPixels | None = None,
) -> None:
    """Score one valid answer, or record why there is none; `limit` is the time allowed, in seconds."""
    if isinstance(answer, FailedImage):
        result.fail(sample, answer.kind, answer.reason)
        if answer.boxes is not None:
            result.refused[sample.id] = answer.boxes
        return
    try:
        with limited_time(limit):
            rows = task.score(sample, answer)
    except ValueError as error:  # a valid answer that does not fit this image; anything else is a bug
        result.fail(sample, "answer", words_of(error))
        return
    except (TooSlow, MemoryError) as error:
        result.fail(sample, "answer", f"scoring {words_of(error) or 'took more memory than there is'}")
        return
    unscored = {subject.id for subject in sample.subjects if not subject.scored}
    rows = [row for row in rows if row.get("subject") not in unscored] if unscored else rows
    result.rows += with_latency(rows, milliseconds)
    if points is not None:
        result.conditions.add(sample.id, sample.subjects, points)
    result.answers.append((sample.id, answer))


def _usual(numbers: NDArray[np.float64]) -> bool:
    """Whether these could be boxes of a picture in some reading."""
    return bool(np.isfinite(numbers).all() and (np.abs(numbers) < LARGEST_COORDINATE).all())


def predictions(model: Any, batch: Sequence[tuple[Sample, Pixels | None]]) -> list[Any]:
    """The model's return values for a batch, one for each image."""
    ids = [sample.id for sample, _ in batch]
    if attribute_of(model, "by_samples") is not None:
        return counted(model.by_samples([sample for sample, _ in batch]), len(batch))
    if not needs_pixels(model):
        return [model.by_id(name) for name in ids]
    images = [pixels.copy() for _, pixels in batch if pixels is not None]  # a model may write on what it is given
    return counted(model(images, ids) if takes_ids(model) else model(images), len(batch))


def counted(answers: Any, images: int) -> list[Any]:
    """A model's return value as a list; ValueError unless it has one answer for each image."""
    if not hasattr(answers, "__iter__"):
        raise ValueError(f"the model returned {type(answers).__name__}, expected one answer for each image")
    answers = list(itertools.islice(answers, images + 1))
    if len(answers) != images:
        raise ValueError(f"the model returned {len(answers)} answers for {images} images")
    return [own_copy(answer) for answer in answers]


def own_copy(value: Any, depth: int = 3) -> Any:
    """The same prediction in our own arrays, since a model may reuse its arrays for the next image.

    >>> shared = np.zeros(2)
    >>> ours = own_copy({"boxes": shared})
    >>> shared[0] = 1
    >>> ours["boxes"].tolist()
    [0.0, 0.0]
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, TimedAnswer):
        return TimedAnswer(own_copy(value.answer, depth), value.milliseconds)
    if depth == 0:
        return value
    if type(value) in (list, tuple):
        return type(value)(own_copy(part, depth - 1) for part in value)
    if type(value) is dict:
        return {name: own_copy(part, depth - 1) for name, part in value.items()}
    if type(value) in KINDS.values():
        ours = copy.copy(value)
        for name, part in vars(value).items():
            object.__setattr__(ours, name, own_copy(part, depth - 1))
        return ours
    return value


def takes_ids(model: Any) -> bool:
    """Whether a model's call has a second parameter named `ids`.

    >>> takes_ids(lambda images, ids: []), takes_ids(lambda images: [])
    (True, False)
    """
    try:
        return "ids" in inspect.signature(model).parameters
    except Exception:  # it has no signature, or reading it fails
        return False
