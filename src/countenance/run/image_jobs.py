"""Arrays that a model computes of single images: cached, in one process or several, each on its own GPU.

A run evaluates a task on a dataset. This is for the steps before there is anything to evaluate (detecting faces to
enrol, embedding boxes), whose results go into other files.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import LazyImage
from countenance.data.reading.arrays import Arrays, Cache, digest
from countenance.errors import InputError, OptionError
from countenance.models import ModelSpec
from countenance.models.registry import default_threads
from countenance.run.early_stop import Watch
from countenance.run.engine.processes import each
from countenance.settings.engine import ProgressMaker
from countenance.text import kind_and_words

Step = Callable[[Any, NDArray[np.uint8], NDArray[np.float64] | None], Arrays]
"""A function from the model, an image and the boxes of its job to arrays."""


@dataclass(frozen=True)
class How:
    """How the work is distributed; no setting changes a result."""

    cache: Cache
    parallel: int = 1
    gpus: tuple[int, ...] = ()
    progress: ProgressMaker = lambda what, total: nullcontext(lambda n=1: None)
    warn: Callable[[str], None] = lambda line: None

    def device(self) -> str:
        return "cuda" if self.gpus else "cpu"


class ImageJob(NamedTuple):
    """One image, and for some steps boxes in it (left, top, width, height)."""

    path: Path
    boxes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class ImageStep:
    """The step for each image: `step` is `module:function`, and `kind` names its arrays in the cache."""

    kind: str
    step: str
    instead: Arrays | None = None
    """The arrays of an image that is missing or damaged, or on which the model fails; None: that is an error."""
    consequence: str = ""
    """What follows for such an image, as "it has no detection"."""


def check(how: How, *specs: ModelSpec) -> None:
    """Refuse GPUs that are not there and models that cannot run here, before any image is opened."""
    if how.gpus:
        there = graphics_cards()
        lost = next((card for card in how.gpus if card >= there), None)
        if lost is not None:
            have = "no graphics card" if there == 0 else "1 graphics card" if there == 1 else f"{there} graphics cards"
            remedy = "leave gpus= out (in UCCS version 3: gpu -1) to work on the processor"
            raise InputError(f"gpus={lost}: this machine has {have}; {remedy}")
    for spec in specs:
        spec.card()


def graphics_cards() -> int:
    """How many graphics cards can be used here."""
    try:
        import torch

        return int(torch.cuda.device_count())
    except ImportError:
        return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def run_jobs(what: ImageStep, spec: ModelSpec, jobs: Sequence[ImageJob], how: How, label: str = "") -> list[Arrays]:
    """The arrays of every job, from the cache where the same image was done the same way before.

    An image that fails is reported and gets `what.instead`; the first images all failing is an error.
    """
    if how.parallel < 1:
        raise OptionError("parallel", f"parallel is {how.parallel}, expected 1 or more")
    card, cache = spec.card().content, Cache(how.cache.folder)
    keys = [_key(what.kind, card, job) for job in jobs]
    results = [how.cache.get(what.kind, key) for key in keys]
    todo = [k for k, arrays in enumerate(results) if arrays is None]
    failures: list[dict[str, str]] = []
    watch = Watch(max_failures=0, answered=len(jobs) - len(todo), remedy="")

    def done(k: int, problem: str | None) -> None:
        tell(1)
        if problem is None:
            results[k] = cache.get(what.kind, keys[k])
            watch.saw(1)
            return
        if what.instead is None:
            raise InputError(f"{jobs[k].path}: {problem}")
        how.warn(f"{jobs[k].path}: {problem}; {what.consequence}")
        results[k] = what.instead
        failures.append({"sample": jobs[k].path.name, "kind": "model", "reason": problem})
        watch.saw(0, failures[-1:])

    orders = [
        {
            "path": str(jobs[k].path.absolute()),
            "key": keys[k],
            "boxes": None if (boxes := jobs[k].boxes) is None else boxes.tolist(),
            "card": how.gpus[i % len(how.gpus)] if how.gpus else None,
        }
        for i, k in enumerate(todo)
    ]
    job = {"kind": what.kind, "step": what.step, "spec": spec.located(), "cache": how.cache.folder.absolute()}
    workers = min(how.parallel, len(orders))
    with how.progress(label or what.kind, len(jobs)) as tell:
        tell(len(jobs) - len(todo))
        if workers <= 1:
            handle = serve(job)
            for k, order in zip(todo, orders, strict=True):
                done(k, handle(order, None))
        else:
            threads = str(default_threads(workers))
            each(
                f"{__name__}:serve",
                job,
                orders,
                workers=workers,
                environment=dict.fromkeys(("COUNTENANCE_THREADS", "OMP_NUM_THREADS"), threads),
                done=lambda index, problem: done(todo[index], problem),
            )
        watch.finished(failures, len(jobs))
    return [arrays for arrays in results if arrays is not None]


def _key(kind: str, card: str, job: ImageJob) -> str:
    """A key of everything that a job's arrays depend on; for an unreadable image, of its path instead."""
    try:
        return digest(kind, card, LazyImage(job.path).read_bytes(), job.boxes)
    except InputError:
        return digest(kind, card, str(job.path))


def serve(job: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Any], str | None]:
    """A worker: puts the arrays of each image into the cache, or returns the reason why it failed.

    The model is loaded for the first image, on the graphics card named with it: so every process has its own.
    """
    module, _, name = job["step"].partition(":")
    cache, step = Cache(job["cache"]), getattr(import_module(module), name)
    loaded: list[Any] = []

    def handle(order: Mapping[str, Any], tell: Any) -> str | None:
        if not loaded:
            if order["card"] is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = str(order["card"])
            loaded.append(job["spec"].load())
        boxes = None if order["boxes"] is None else np.array(order["boxes"], dtype=np.float64).reshape(-1, 4)
        try:
            image = LazyImage(Path(order["path"])).load()
        except InputError as error:
            return str(error).removeprefix(f"{order['path']}: ")
        try:
            arrays = step(loaded[0], image, boxes)
        except InputError:
            raise
        except Exception as error:
            return f"the model failed ({' '.join(kind_and_words(error).split())})"
        cache.put(job["kind"], order["key"], arrays)
        return None

    return handle
