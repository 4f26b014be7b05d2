"""One evaluation (a method, a mix rate, a seed) and the sweep over many: each is a run, and what is there is kept.

A method receives pixel arrays and the labelled labels. Names, paths, tags and order never reach it.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.processes import each
from countenance.suites.happyfaces.dataset import CROSS, TAGS, HappyFaces, Photos, read_happyfaces
from countenance.suites.happyfaces.interface import CannotAnswer, Floats, Heads, Labels, Pictures
from countenance.suites.happyfaces.methods import make_method, method_name
from countenance.suites.happyfaces.scores import Record, score_parts


@dataclass(frozen=True)
class Draw:
    """Which unlabelled photos a run uses, in the order it uses them, and which it leaves."""

    drawn: Labels
    not_drawn: Labels


def draw(tags: tuple[str, ...], mix_rate: float, seed: int) -> Draw:
    """round(m·r) photos of each cross type and m − that of each matched type, m being a type's number of photos.

    In the benchmark m is 150 and the draw always has 300. All of it depends on `seed` alone.

    >>> tags = tuple(tag for tag in TAGS for _ in range(150))
    >>> d = draw(tags, 0.1, seed=3)
    >>> len(d.drawn), len(d.not_drawn), [sum(tags[i] == tag for i in d.drawn) for tag in TAGS]
    (300, 300, [135, 15, 15, 135])
    """
    if not 0 <= mix_rate <= 1:
        raise InputError(f"mix rate {mix_rate:g} is outside 0 … 1")
    of_type = {tag: np.nonzero(np.asarray(tags) == tag)[0] for tag in TAGS}
    size = min(len(photos) for photos in of_type.values())
    crossed = round(size * mix_rate)
    rng = np.random.default_rng(seed)
    wanted = {tag: crossed if tag in CROSS else size - crossed for tag in TAGS}
    chosen = np.concatenate([rng.choice(of_type[tag], wanted[tag], replace=False) for tag in TAGS]).astype(np.int64)
    rng.shuffle(chosen)
    return Draw(chosen, np.setdiff1d(np.arange(len(tags)), chosen))


def method_input(data: HappyFaces, drawn: Labels, seed: int) -> tuple[Pictures, Labels, Pictures]:
    """The only three things a method sees: labelled pixels, their labels, unlabelled pixels; fresh, shuffled copies."""
    order = np.random.default_rng([seed, 1]).permutation(len(data.labelled))
    labels = data.labelled.truth()[:, 0].astype(np.int64)
    labelled, unlabelled = (
        np.array(photos.pixels[some], dtype=np.uint8, order="C")
        for photos, some in ((data.labelled, order), (data.unlabelled, drawn))
    )
    return labelled, labels[order], unlabelled


@dataclass(frozen=True)
class MixTask:
    """One evaluation of a sweep; a method is a name, `module:attr`, or an object with `fit`."""

    method: Any
    mix_rate: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    def run_name(self) -> str:
        """Where a sweep keeps the run; another rate, seed or option has another place.

        >>> MixTask("spatial", 0.1, 3).run_name(), MixTask("spatial", 0.0034, 3).run_name()
        ('spatial_0.100_3', 'spatial_0.0034_3')
        """
        name = method_name(self.method).replace(":", ".").replace("/", "_")
        rate = f"{self.mix_rate:.3f}" if self.mix_rate == round(self.mix_rate, 3) else repr(float(self.mix_rate))
        options = hashlib.sha256(repr(self.options).encode()).hexdigest()[:8] if self.options else ""
        return "_".join(filter(None, (name, options, rate, str(self.seed))))


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gave: its record, the heads, and each part's photos with their probabilities."""

    record: Record
    heads: Heads | None = None
    parts: Mapping[str, tuple[Photos, Floats]] = field(default_factory=dict)


def run(data: HappyFaces, task: MixTask) -> tuple[Record, Heads | None]:
    """The record and the heads of one evaluation."""
    outcome = evaluate(data, task)
    return outcome.record, outcome.heads


def evaluate(data: HappyFaces, task: MixTask) -> Outcome:
    """Draw, fit on pixels and labelled labels alone, score on validation and on the unlabelled photos not drawn."""
    chosen = draw(data.unlabelled.tags, task.mix_rate, task.seed)
    method = make_method(task.method, task.seed, **dict(task.options))
    start, cpu = time.perf_counter(), time.process_time()
    record: Record = {"method": method_name(task.method), "mix_rate": task.mix_rate, "seed": task.seed}
    record["options"] = dict(task.options)
    heads: Heads | None = None
    parts: dict[str, tuple[Photos, Floats]] = {}
    try:
        heads = method.fit(*method_input(data, chosen.drawn, task.seed))
        parts = predicted(heads, data.scored(chosen.not_drawn))
        record |= {"answered": True, "notes": heads.notes} | score_parts(parts, data.features)
    except CannotAnswer as reason:
        record |= {"answered": False, "reason": str(reason)}
    record |= {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    return Outcome(record, heads, parts)


def predicted(heads: Heads, parts: Mapping[str, Photos]) -> dict[str, tuple[Photos, Floats]]:
    """The probabilities of both heads for the photos of each part; a method may write on the copies that it gets."""
    empty = np.zeros((0, 2))
    return {
        name: (photos, heads.predict(photos.pixels.copy()) if len(photos) else empty) for name, photos in parts.items()
    }


def sweep(
    source: Path,
    tasks: Iterable[MixTask],
    kept: Path,
    *,
    held_back: Path | None = None,
    jobs: int = 1,
    step: Callable[..., None] = lambda *_: None,
) -> list[Record]:
    """Evaluate what has no run below the folder `kept`; a run of other data or of other code counts as missing."""
    from countenance.suites.happyfaces.runs import kept_record

    if kept.exists() and not kept.is_dir():
        raise InputError(f"{kept}: is a file; name a folder")
    data, wanted = _data(source, held_back), list(tasks)
    found = {task: kept_record(kept / task.run_name(), data, task) for task in wanted}
    done = {task: record for task, record in found.items() if record is not None}
    step(len(done))
    missing = [task for task in wanted if task not in done]
    if jobs <= 1 or len(missing) <= 1:
        for task in missing:
            done[task] = run_and_keep(source, task, kept, held_back)
            step()
    else:
        orders = [asdict(task) for task in missing]
        job = {"source": str(source), "kept": str(kept), "held_back": str(held_back or "")}
        made = each(f"{__name__}:worker", job, orders, workers=jobs, done=lambda index, result: step())
        done |= dict(zip(missing, made, strict=True))
    return [done[task] for task in wanted]


def worker(job: Mapping[str, str]) -> Callable[..., Record]:
    """The work of one process of a sweep."""

    def handle(order: Mapping[str, Any], tell: Callable[..., None]) -> Record:
        tell(limit=86400.0)  # a network may learn for hours
        task = MixTask(**{**order, "options": tuple((name, value) for name, value in order["options"])})
        held_back = Path(job["held_back"]) if job["held_back"] else None
        return run_and_keep(Path(job["source"]), task, Path(job["kept"]), held_back)

    return handle


_data = lru_cache(maxsize=1)(read_happyfaces)


def run_and_keep(source: Path, task: MixTask, kept: Path, held_back: Path | None = None) -> Record:
    """Evaluate, store the run and return its record."""
    from threadpoolctl import threadpool_limits

    from countenance.suites.happyfaces.runs import record_of, store

    data = _data(source, held_back)
    with threadpool_limits(limits=1):  # several runs at a time, each on its own core
        outcome = evaluate(data, task)
    return record_of(store(kept / task.run_name(), data, task, outcome, source))
