"""Images through a network, one after the other or in several processes, each on its own graphics card."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.models.zoo import ZOO
from countenance.processes import each
from countenance.run.early_stop import Watch
from countenance.run.engine.settings import ProgressMaker
from countenance.suites.uccs.baseline.cache import Arrays, Cache, digest
from countenance.suites.uccs.lines import Floats
from countenance.tasks.face_localization import to_boxes


@dataclass(frozen=True)
class How:
    """How the work is done; none of it changes a result."""

    cache: Cache
    parallel: int = 1
    gpus: tuple[int, ...] = ()
    progress: ProgressMaker = lambda what, total: nullcontext(lambda n=1: None)
    warn: Callable[[str], None] = lambda line: None

    def device(self) -> str:
        return "cuda" if self.gpus else "cpu"


class BaselineJob(NamedTuple):
    """One image, and for an embedding the boxes in it (left, top, width, height)."""

    path: Path
    boxes: Floats | None = None


def check(how: How, *specs: ModelSpec) -> None:
    """Refuse graphics cards that are not there and models that cannot run here, before any image is opened."""
    if how.gpus:
        there = graphics_cards()
        lost = next((card for card in how.gpus if card >= there), None)
        if lost is not None:
            have = "no graphics card" if there == 0 else "1 graphics card" if there == 1 else f"{there} graphics cards"
            raise InputError(f"--gpus {lost}: this machine has {have}; leave --gpus out to work on the processor")
    for spec in specs:
        if spec.source in ZOO and (missing := ZOO[spec.source].missing()):
            raise InputError(f"model {spec.source!r} is {missing}")
        spec.card()


def graphics_cards() -> int:
    """How many graphics cards can be used here."""
    try:
        import torch

        return int(torch.cuda.device_count())
    except ImportError:
        return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def run_jobs(
    kind: str, spec: ModelSpec, jobs: Sequence[BaselineJob], how: How, instead: Arrays | None = None, label: str = ""
) -> list[Arrays]:
    """The arrays of every job, from the cache where the same image was done the same way before.

    An image that is missing or damaged, or on which the model fails, is told and gets `instead`; the first images all
    failing, or no `instead`, is an error.
    """
    if how.parallel < 1:
        raise InputError(f"--parallel is {how.parallel}, expected 1 or more")
    card, kept = spec.card().content, Cache(how.cache.folder)
    keys = [_key(kind, card, job) for job in jobs]
    found = [how.cache.get(kind, key) for key in keys]
    todo = [k for k, arrays in enumerate(found) if arrays is None]
    failures: list[dict[str, str]] = []
    watch = Watch(max_failures=0, answered=len(jobs) - len(todo), remedy="")

    def done(k: int, problem: str | None) -> None:
        tell(1)
        if problem is None:
            found[k] = kept.get(kind, keys[k])
            watch.saw(1)
            return
        if instead is None:
            raise InputError(f"{jobs[k].path}: {problem}")
        how.warn(f"{jobs[k].path}: {problem}; it has no detection")
        found[k] = instead
        failures.append({"sample": jobs[k].path.name, "kind": "model", "reason": problem})
        watch.saw(0, failures[-1:])

    orders = [
        {
            "path": str(jobs[k].path.absolute()), "key": keys[k],
            "boxes": None if (boxes := jobs[k].boxes) is None else boxes.tolist(),
            "card": how.gpus[i % len(how.gpus)] if how.gpus else None,
        }
        for i, k in enumerate(todo)
    ]  # fmt: skip
    job = {"kind": kind, "spec": spec.located(), "cache": how.cache.folder.absolute()}
    workers = min(how.parallel, len(orders))
    with how.progress(label or kind, len(jobs)) as tell:
        tell(len(jobs) - len(todo))
        if workers <= 1:
            handle = serve(job)
            for k, order in zip(todo, orders, strict=True):
                done(k, handle(order, None))
        else:
            threads = str(max(1, (os.cpu_count() or 1) // workers))
            each(
                "countenance.suites.uccs.baseline.work:serve", job, orders, workers=workers,
                environment=dict.fromkeys(("COUNTENANCE_THREADS", "OMP_NUM_THREADS"), threads),
                done=lambda index, problem: done(todo[index], problem),
            )  # fmt: skip
        watch.finished(failures, len(jobs))
    return [arrays for arrays in found if arrays is not None]


def _key(kind: str, card: str, job: BaselineJob) -> str:
    """Everything that a job's arrays depend on; an image that cannot be read has nothing in the cache."""
    try:
        return digest(kind, card, LazyImage(job.path).read_bytes(), job.boxes)
    except InputError:
        return digest(kind, card, str(job.path))


def serve(job: Mapping[str, Any]) -> Callable[[Mapping[str, Any], Any], str | None]:
    """A worker: puts the arrays of each image into the cache, or returns why it could not.

    The model is loaded for the first image, on the graphics card named with it: so every process has its own.
    """
    cache, step = Cache(job["cache"]), STEPS[job["kind"]]
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
            return f"the model failed ({' '.join(f'{type(error).__name__}: {error}'.split())})"
        cache.put(job["kind"], order["key"], arrays)
        return None

    return handle


def detect_step(model: Any, image: NDArray[np.uint8], boxes: Any) -> Arrays:
    """Boxes (left, top, width, height), scores and landmarks, best first, rounded as a score file is."""
    answer = to_boxes(model([image])[0])
    problem = answer.problem(image.shape[1], image.shape[0])
    if problem:
        raise ValueError(problem)
    order = np.argsort(-answer.scores, kind="stable")
    corners = answer.xyxy[order]
    box = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).round(2)
    landmarks = np.zeros((len(order), 0)) if answer.landmarks is None else answer.landmarks[order].reshape(-1, 10)
    keep = (box[:, 2:] > 0).all(axis=1)
    score = answer.scores[order][keep].round(2)
    return {"box": box[keep], "score": score, "landmarks": landmarks[keep].round(2)}


def embed_step(model: Any, image: NDArray[np.uint8], boxes: Any) -> Arrays:
    """An embedding of length 1 for every box of an image."""
    found = [embedding(model, image, box) for box in boxes]
    return {"embedding": np.array(found, dtype=np.float32).reshape(len(found), -1)}


ENLARGED = 1.3


def embedding(model: Any, image: NDArray[np.uint8], box: Floats) -> Floats:
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


def enlarged(box: Floats, width: int, height: int) -> tuple[int, int, int, int]:
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


STEPS: dict[str, Callable[[Any, NDArray[np.uint8], Any], Arrays]] = {
    "detections": detect_step,
    "embeddings": embed_step,
}
