"""Runs in TensorBoard: a scalar for each number; what was evaluated, and the verdict, are described beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.report.loggers.content import LoggedRun


def log(content: LoggedRun, step: int, options: dict[str, Any]) -> str:
    """Write event files into `logdir` (default: runs/countenance); returns the folder."""
    from tensorboard.summary import Writer

    folder = Path(options.pop("logdir", "runs/countenance"))
    if options:
        raise InputError(f"logging to tensorboard has no option {next(iter(options))!r}; there is logdir")
    about = "\n".join(f"* {name}: {text}" for name, text in content.parameters.items())
    writer = Writer(str(folder))
    for name, value in content.metrics.items():
        writer.add_scalar(
            f"countenance/{name}", value, step, description=f"{content.name}. {content.sentence}\n\n{about}"
        )
    writer.close()
    return str(folder)
