"""How a run is worked off: workers, limits, progress, and which engine."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from countenance.errors import InputError

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]
Say = Callable[[str], None]


READERS = 6
"""Processes that read files for a GPU's decoder."""


@dataclass(frozen=True)
class EngineSettings:
    """How a run is worked off; nothing here changes its numbers."""

    workers: int = 1
    threads: int | None = None
    decoders: int | None = None
    """Decode processes of each worker; None: all cores but one for a model on a GPU, otherwise none."""
    time_limit: float = 120.0
    strict: bool = False
    max_failures: float = 0.05
    progress: ProgressMaker | None = None
    say: Say = lambda line: None
    engine: str = "local"
    """local: worker processes of this machine; ray: actors of a Ray cluster."""
    address: str | None = None
    """The cluster's address; None: one is started on this machine."""
    gpus_per_worker: float = 0.0

    def decode_processes(self, device: str, decode: str = "exact") -> int:
        """Decode processes of each worker for a model on a device; with a GPU's decoder they only read files.

        >>> EngineSettings(decoders=3).decode_processes("cpu"), EngineSettings().decode_processes("cpu")
        (3, 0)
        """
        if self.decoders is not None:
            return self.decoders
        cores = max(1, ((os.cpu_count() or 1) - 1) // self.workers) if device.startswith("cuda") else 0
        return min(cores, READERS) if decode == "gpu" else cores

    def __post_init__(self) -> None:
        if self.decoders is not None and self.decoders < 0:
            raise InputError(f"decoders is {self.decoders}, expected 0 or more")
        if self.workers < 1:
            raise InputError(f"workers is {self.workers}, expected at least 1")
        if self.engine not in ("local", "ray"):
            raise InputError(f"engine {self.engine!r}, expected local or ray")
        if self.engine == "local" and (self.address or self.gpus_per_worker):
            raise InputError("--address and --gpus-per-worker are for --engine ray")
