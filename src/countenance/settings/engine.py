"""The settings of the work: workers, limits, progress, and the engine."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, Self

from pydantic import model_validator

from countenance.settings.base import SettingsModel, setting

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]
Say = Callable[[str], None]


READERS = 6
"""Processes that read files for a GPU's decoder."""


def silent(line: str) -> None:
    """Print nothing."""


class EngineSettings(SettingsModel):
    """The work (nothing here changes a number)."""

    workers: int = setting(1, "Worker processes.", ge=1)
    threads: int | None = setting(None, "Threads of each worker, or of a training (default: cores / workers).", ge=1)
    decoders: int | None = setting(
        None, "Decode processes per worker (default: all cores but one for cuda, otherwise none).", ge=0
    )
    time_limit: float = setting(120.0, "Seconds a batch may take.", ge=0.1)
    strict: bool = setting(False, "Stop at the first failing image.", flag="--strict")
    max_failures: float = setting(
        0.05,
        "Share of images that may fail before the run gives no verdict; 1 continues even when all fail.",
        ge=0,
        le=1,
    )
    progress: ProgressMaker | None = setting(None, "Makes the progress bar.", python_only=True)
    say: Say = setting(silent, "Called with each line of information.", python_only=True)
    engine: Literal["local", "ray"] = setting("local", "Processes of this machine, or actors of a Ray cluster.")
    address: str | None = setting(None, "Ray: the cluster, as host:port or auto (default: one on this machine).")
    gpus_per_worker: float = setting(0.0, "Ray: GPUs of each worker; .5 puts two workers on one.", ge=0)

    @model_validator(mode="after")
    def _fits_engine(self) -> Self:
        if self.engine == "local" and (self.address or self.gpus_per_worker):
            raise ValueError("address and gpus_per_worker are for engine ray")
        return self

    def decode_processes(self, device: str, decode: str = "exact") -> int:
        """Decode processes of each worker for a model on a device; with a GPU's decoder they only read files.

        >>> EngineSettings(decoders=3).decode_processes("cpu"), EngineSettings().decode_processes("cpu")
        (3, 0)
        """
        if self.decoders is not None:
            return self.decoders
        cores = max(1, ((os.cpu_count() or 1) - 1) // self.workers) if device.startswith("cuda") else 0
        return min(cores, READERS) if decode == "gpu" else cores
