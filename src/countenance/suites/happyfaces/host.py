"""The process in which a method runs: it gets only arrays and returns probabilities.

Its memory holds no name, path or truth of a photo. Photos come as `.npy` files in a folder without other files.
"""

import json
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countenance.errors import CannotAnswer, InputError
from countenance.files import to_json
from countenance.run.engine.processes import Pool, WorkerDied
from countenance.scratch import scratch_folder
from countenance.suites.happyfaces.interface import Floats, Heads, Pictures
from countenance.suites.happyfaces.methods import make_method, method_name

FIT_TIME = 86400.0
"""Seconds that fitting may take: a network may learn for hours."""
TIME = 300.0
"""Seconds that predicting one batch may take, the photos of the batch one by one included."""
MOST_DEATHS = 3
"""How many processes may die on one run before its method is abandoned."""
FIT = ("labelled", "labels", "unlabelled")
"""The arrays that a method is fitted on, in the order of its arguments."""


@dataclass(frozen=True)
class MethodCall:
    """A method with its seed and options: a name, `module:attr`, `path.py:attr`, or an object with `fit`."""

    method: Any
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


class Host(Protocol):
    """The place where a method is fitted and predicts."""

    def fit(self, call: MethodCall, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Fit the method; returns its notes and CPU seconds."""

    def predict(self, photos: Pictures) -> tuple[Floats, Floats]:
        """Probabilities of both heads for the photos of a batch: together, and one by one."""

    def close(self) -> None:
        """Release the method."""


def both_ways(heads: Heads, photos: Pictures) -> tuple[Floats, Floats]:
    """Predictions together, and one by one; those one by one come first, so that they cannot use the batch."""
    alone = [heads.predict(photos[i : i + 1].copy()) for i in range(len(photos))]
    return heads.predict(photos.copy()), np.concatenate(alone)


class MethodInProgram:
    """Runs a method that is an object of the user's program."""

    heads: Heads

    def fit(self, call: MethodCall, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        started = time.process_time()
        method = make_method(call.method, call.seed, **call.options)
        self.heads = method.fit(*(arrays[name].copy() for name in FIT))
        return {"notes": self.heads.notes, "cpu_seconds": time.process_time() - started}

    def predict(self, photos: Pictures) -> tuple[Floats, Floats]:
        return both_ways(self.heads, photos)

    def close(self) -> None:
        return


class MethodProcess:
    """Runs a method by name in its own process, which is replaced and fitted again when it ends."""

    def __init__(self, threads: int | None = None) -> None:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = dict.fromkeys(names, str(threads)) if threads else {}
        self.pool = Pool(f"{__name__}:serve", {}, environment=environment, label="method")
        self.folder = scratch_folder("photos")
        self.order: dict[str, Any] = {}
        self.deaths = 0
        self.ready = False
        weakref.finalize(self, self.pool.close)

    def fit(self, call: MethodCall, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        for name in FIT:
            np.save(self.folder / f"{name}.npy", arrays[name])
        self.order = {"fit": str(self.folder), "method": call.method, "seed": call.seed, "options": dict(call.options)}
        self.deaths = 0
        return self._fit()

    def _fit(self) -> dict[str, Any]:
        reply = self._ask(self.order)
        self.ready = True
        return {"notes": reply["notes"], "cpu_seconds": reply["cpu_seconds"]}

    def predict(self, photos: Pictures) -> tuple[Floats, Floats]:
        if not self.ready:
            self._fit()
        path = self.folder / "photos.npy"
        np.save(path, photos)
        reply = self._ask({"predict": str(path)})
        return np.array(reply["together"]), np.array(reply["alone"])

    def _ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        name = method_name(self.order["method"])
        if self.deaths >= MOST_DEATHS:
            raise InputError(f"method {name!r}: its process ended {self.deaths} times; it was given up")
        try:
            reply: dict[str, Any] = self.pool.ask(dict(order))
        except WorkerDied as death:
            self.deaths, self.ready = self.deaths + 1, False
            raise InputError(f"method {name!r}: {death}") from None
        if "declined" in reply:
            raise CannotAnswer(reply["declined"])
        if "problem" in reply:
            raise InputError(reply["problem"])
        return reply

    def close(self) -> None:
        """End the process."""
        self.pool.close()
        self.ready = False
        for path in self.folder.glob("*.npy"):
            path.unlink()


def serve(job: Any) -> Callable[[Mapping[str, Any], Callable[..., None]], dict[str, Any]]:
    """The method's side: fits, then predicts, and answers in plain numbers."""
    fitted: list[Heads] = []

    def handle(order: Mapping[str, Any], tell: Callable[..., None]) -> dict[str, Any]:
        try:
            if "fit" in order:
                tell(limit=FIT_TIME)
                fitted.clear()
                started = time.process_time()
                arrays = [np.load(Path(order["fit"]) / f"{name}.npy", allow_pickle=False) for name in FIT]
                heads = make_method(order["method"], order["seed"], **order["options"]).fit(*arrays)
                fitted.append(heads)
                return {"notes": _plain(heads.notes), "cpu_seconds": time.process_time() - started}
            tell(limit=TIME)
            together, alone = both_ways(fitted[0], np.load(order["predict"], allow_pickle=False))
            return {"together": together.tolist(), "alone": alone.tolist()}
        except CannotAnswer as reason:
            return {"declined": str(reason)}
        except InputError as error:
            return {"problem": str(error)}

    return handle


def _plain(notes: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a method's notes that can be stored: plain JSON values."""
    plain: dict[str, Any] = {}
    for name, value in notes.items():
        with suppress(TypeError, ValueError):
            plain[str(name)] = json.loads(to_json(value))
    return plain
