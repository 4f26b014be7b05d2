"""One shard: decode ahead, ask in batches, validate, score, and write all of it at once.

The same code runs in a worker process and, for models that live in the user's program, in that program.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.answers.store import write_answers
from countenance.data import Sample
from countenance.run.directory import write_atomically, write_json
from countenance.run.early_stop import Failure
from countenance.run.rows import write_rows
from countenance.tasks import Context, Task
from countenance.tasks.task import CONTEXT, Refused

Pixels = NDArray[np.uint8]
LARGEST_COORDINATE = 1e7
AHEAD = 2
"""Batches decoded before the model asks for them."""


class Stop(Exception):
    """Raised in strict mode at the first failure."""


@dataclass
class ShardResult:
    """What became of the images of a shard."""

    answers: list[tuple[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    refused: dict[str, list[list[float]]] = field(default_factory=dict)
    """The boxes of answers that were refused, by sample: perhaps they are boxes in another reading."""

    def fail(self, sample: Sample, kind: str, reason: str) -> None:
        text = reason.encode("utf-8", "replace").decode()[:500]
        self.failures.append({"sample": sample.id, "kind": kind, "reason": text})


def run_shard(
    task: Task,
    model: Any,
    samples: Sequence[Sample],
    *,
    batch: int,
    strict: bool = False,
    known_failures: dict[str, str] | None = None,
    context: Context = CONTEXT,
    before_batch: Callable[[Sequence[str]], None] = lambda ids: None,
    after_batch: Callable[[int, int, list[Failure]], None] = lambda n, answered, failures: None,
) -> ShardResult:
    """Ask about every sample; what fails is recorded with its reason and the rest goes on.

    `known_failures` are samples that brought a worker down before; they are not asked again. `after_batch` gets the
    number of images of a batch, how many of them were answered, and the failures among them.
    """
    result = ShardResult()
    known = known_failures or {}
    asked = [sample for sample in samples if sample.id not in known]
    for sample in samples:
        if sample.id in known:
            result.fail(sample, "model", known[sample.id])
    with ThreadPoolExecutor(1) as pool:
        for group, pixels in _decoded_ahead(asked, batch, pool):
            before_batch([sample.id for sample in group])
            answered, failed = len(result.answers), len(result.failures)
            readable = []
            for sample, content in zip(group, pixels, strict=True):
                if isinstance(content, Exception):
                    result.fail(sample, "image", str(content))
                else:
                    readable.append((sample, content))
            _ask(task, model, readable, result, context)
            if strict and result.failures:
                first = result.failures[0]
                raise Stop(f"{first['sample']}: {first['reason']}")
            new = [Failure(row, result.refused.get(row["sample"])) for row in result.failures[failed:]]
            after_batch(len(group), len(result.answers) - answered, new)
    return result


def _decoded_ahead(
    samples: Sequence[Sample], batch: int, pool: ThreadPoolExecutor
) -> Iterator[tuple[Sequence[Sample], list[Pixels | Exception]]]:
    groups = [samples[i : i + batch] for i in range(0, len(samples), batch)]
    waiting: list[tuple[Sequence[Sample], Future[list[Pixels | Exception]]]] = []
    for group in groups:
        waiting.append((group, pool.submit(_decode, group)))
        if len(waiting) > AHEAD:
            ready, future = waiting.pop(0)
            yield ready, future.result()
    for ready, future in waiting:
        yield ready, future.result()


def _decode(samples: Sequence[Sample]) -> list[Pixels | Exception]:
    decoded: list[Pixels | Exception] = []
    for sample in samples:
        try:
            decoded.append(sample.load())
        except Exception as error:  # one unreadable image is a failure of that image, not of the run
            decoded.append(error)
    return decoded


def _ask(task: Task, model: Any, batch: Sequence[tuple[Sample, Pixels]], result: ShardResult, context: Context) -> None:
    if not batch:
        return
    try:
        answers = _answers(model, batch)
    except Exception as error:
        if len(batch) > 1:  # find out which image it was
            for one in batch:
                _ask(task, model, [one], result, context)
        else:
            result.fail(batch[0][0], "model", f"{type(error).__name__}: {_words(error)}")
        return
    for (sample, _), raw in zip(batch, answers, strict=True):
        try:
            answer = task.check(raw, sample, context)
        except Exception as error:  # an answer is foreign: whatever it does when looked at, it is no answer
            result.fail(sample, "answer", _words(error))
            if isinstance(error, Refused) and isinstance(error.answer, Boxes) and _usual(error.answer.xyxy):
                result.refused[sample.id] = error.answer.xyxy.tolist()
            continue
        result.rows += task.score(sample, answer)
        result.answers.append((sample.id, answer))


def _usual(numbers: NDArray[np.float64]) -> bool:
    """Whether these could be boxes of a picture in some reading."""
    return bool(np.isfinite(numbers).all() and (np.abs(numbers) < LARGEST_COORDINATE).all())


def _words(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # a model's own exception class may fail even at this
        return type(error).__name__


def _answers(model: Any, batch: Sequence[tuple[Sample, Pixels]]) -> list[Any]:
    if getattr(model, "takes_ids", False):
        return [model.by_id(sample.id) for sample, _ in batch]
    answers = model([pixels.copy() for _, pixels in batch])  # a model may write on what it is given
    if not hasattr(answers, "__iter__"):
        raise ValueError(f"the model returned {type(answers).__name__}, expected one answer for each image")
    answers = list(itertools.islice(answers, len(batch) + 1))
    if len(answers) != len(batch):
        raise ValueError(f"the model returned {len(answers)} answers for {len(batch)} images")
    return list(answers)


def write_shard(folder: Path, number: int, task: Task, result: ShardResult, columns: dict[str, str]) -> None:
    """Store a shard. The JSON file is written last: a shard that has it is done, any other is redone."""
    name = f"{number:05d}"
    write_atomically(folder / "answers" / f"{name}.parquet", lambda p: write_answers(p, task.answer, result.answers))
    write_atomically(folder / "work" / f"{name}.scores.parquet", lambda p: write_rows(p, result.rows, columns))
    write_json(folder / "work" / f"{name}.json", {"failures": result.failures, "answered": len(result.answers)})
