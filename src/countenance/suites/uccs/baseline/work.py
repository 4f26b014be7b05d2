"""Images through a network, one after the other or in several processes, each on its own graphics card."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.run.early_stop import Watch
from countenance.suites.uccs.baseline.cache import Arrays, Cache, digest
from countenance.tasks.face_localization import to_boxes

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]


def no_progress(what: str, total: int) -> AbstractContextManager[Callable[..., None]]:
    """No progress bar."""
    return nullcontext(lambda n=1: None)


@dataclass(frozen=True)
class How:
    """How the work is done; none of it changes a result."""

    cache: Cache
    parallel: int = 1
    gpus: tuple[int, ...] = ()
    progress: ProgressMaker = no_progress
    warn: Callable[[str], None] = lambda line: None

    def device(self) -> str:
        return "cuda" if self.gpus else "cpu"


@dataclass(frozen=True)
class Job:
    """One image, and for an embedding the boxes in it (left, top, width, height)."""

    path: Path
    boxes: NDArray[np.float64] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


Step = Callable[[Any, NDArray[np.uint8], Job], Arrays]


def run_jobs(
    kind: str,
    step: Step,
    spec: ModelSpec,
    jobs: Sequence[Job],
    how: How,
    *,
    label: str = "",
    instead: Arrays | None = None,
) -> list[Arrays]:
    """The arrays that `step` makes of every job, from the cache where the same image was done the same way before.

    An image on which the model fails is told and gets `instead`; the first images all failing, or a model that has no
    such way out, is an error.
    """
    if how.parallel < 1:
        raise InputError(f"--parallel is {how.parallel}, expected 1 or more")
    card = spec.card().content
    keys = [
        digest(kind, card, LazyImage(job.path).read_bytes(), job.boxes, sorted(job.settings.items())) for job in jobs
    ]
    found: list[Arrays | None] = [how.cache.get(kind, key) for key in keys]
    missing = [k for k, arrays in enumerate(found) if arrays is None]
    with how.progress(label or kind, len(jobs)) as tell:
        tell(len(jobs) - len(missing))
        watch = Watch(max_failures=0, answered=len(jobs) - len(missing), remedy="")
        failures: list[dict[str, str]] = []
        for k, arrays in _done(step, spec, [(k, jobs[k]) for k in missing], how):
            tell(1)
            if isinstance(arrays, dict):
                how.cache.put(kind, keys[k], arrays)
                found[k] = arrays
                watch.saw(1)
                continue
            if instead is None:
                raise InputError(f"{jobs[k].path}: the model failed ({arrays})")
            how.warn(f"{jobs[k].path}: the model failed ({arrays}); it has no detection")
            found[k] = instead
            failures.append({"sample": jobs[k].path.name, "kind": "model", "reason": arrays})
            watch.saw(0, failures[-1:])
        watch.finished(failures, len(jobs))
    return [arrays for arrays in found if arrays is not None]


def _done(step: Step, spec: ModelSpec, jobs: list[tuple[int, Job]], how: How) -> Iterator[tuple[int, Arrays | str]]:
    if not jobs:
        return
    workers = min(how.parallel, len(jobs))
    if workers == 1:
        _begin(spec, how.gpus[0] if how.gpus else None, None)
        for k, job in jobs:
            yield k, _one(step, job)
        return
    context = multiprocessing.get_context("spawn")
    cards: Any = context.Queue()
    for k in range(workers):
        cards.put(how.gpus[k % len(how.gpus)] if how.gpus else None)
    threads = max(1, (os.cpu_count() or 1) // workers)
    with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(spec, cards, threads)) as pool:
        waiting = {pool.submit(_one, step, job): k for k, job in jobs}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_MODEL: Any = None


def _begin(spec: ModelSpec, card: "Queue[int | None] | int | None", threads: int | None) -> None:
    """Load the model of this process, on the graphics card that is its own."""
    global _MODEL
    number = card if card is None or isinstance(card, int) else card.get()
    if number is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(number)
    if threads is not None:
        os.environ.update(dict.fromkeys(("COUNTENANCE_THREADS", "OMP_NUM_THREADS"), str(threads)))
    _MODEL = spec.load()


def _one(step: Step, job: Job) -> Arrays | str:
    """The arrays of one image, or why the model failed on it."""
    image = LazyImage(job.path).load()
    try:
        return step(_MODEL, image, job)
    except InputError:
        raise
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())


def detect_step(model: Any, image: NDArray[np.uint8], job: Job) -> Arrays:
    """Boxes (left, top, width, height), scores and landmarks of the best detections, rounded as a score file is."""
    answer = to_boxes(model([image])[0])
    problem = answer.problem(image.shape[1], image.shape[0])
    if problem:
        raise ValueError(problem)
    order = np.argsort(-answer.scores, kind="stable")[: job.settings.get("most")]
    corners = answer.xyxy[order]
    box = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).round(2)
    landmarks = np.zeros((len(order), 0)) if answer.landmarks is None else answer.landmarks[order].reshape(-1, 10)
    keep = (box[:, 2:] > 0).all(axis=1)
    return {
        "box": box[keep],
        "score": answer.scores[order][keep].round(2),
        "landmarks": landmarks[keep].round(2),
    }


def embed_step(model: Any, image: NDArray[np.uint8], job: Job) -> Arrays:
    """An embedding of length 1 for every box of an image."""
    assert job.boxes is not None
    found = [embedding(model, image, box) for box in job.boxes]
    return {"embedding": np.array(found, dtype=np.float32).reshape(len(found), -1)}


ENLARGED = 1.3


def embedding(model: Any, image: NDArray[np.uint8], box: NDArray[np.float64]) -> NDArray[np.float64]:
    """The embedding of the face in a box, of length 1: the box enlarged, clipped to the image, and cut out.

    A model with `embed(crop, box)` is told where the face lies in the cut-out; any other sees the cut-out alone.
    """
    height, width = image.shape[:2]
    x0, y0, x1, y1 = enlarged(box, width, height)
    crop = np.ascontiguousarray(image[y0:y1, x0:x1])
    if hasattr(model, "embed"):
        inner = np.array([box[0] - x0, box[1] - y0, box[0] + box[2] - x0, box[1] + box[3] - y0])
        vector = model.embed(crop, inner)
    else:
        answer = model([crop])[0]
        vector = getattr(answer, "vector", answer)
        if vector is None:  # no face found in the cut-out
            raise InputError("the embedding model gave no vector; take one that embeds every cut-out it is given")
    vector = np.asarray(vector, dtype=np.float64).reshape(-1)
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


def enlarged(box: NDArray[np.float64], width: int, height: int) -> tuple[int, int, int, int]:
    """Corners of a box enlarged about its centre and clipped to the image; at least one pixel.

    >>> enlarged(np.array([10.0, 10.0, 10.0, 20.0]), 100, 28)
    (8, 7, 22, 28)
    """
    x, y, w, h = (float(v) for v in box)
    grow_x, grow_y = w * (ENLARGED - 1) / 2, h * (ENLARGED - 1) / 2
    x0, y0 = max(0, int(x - grow_x)), max(0, int(y - grow_y))
    x1, y1 = min(width, int(np.ceil(x + w + grow_x))), min(height, int(np.ceil(y + h + grow_y)))
    x0, y0 = min(x0, width - 1), min(y0, height - 1)
    return x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)
