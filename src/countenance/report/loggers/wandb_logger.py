"""Runs in Weights & Biases: configuration, metrics, a table of groups, and an artifact with the files of a run."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from countenance.report.loggers.content import COLUMNS, LoggedRun


def log(content: LoggedRun, step: int, options: dict[str, Any]) -> str:
    """Log to the active run, or to one that this call starts (`project`, `mode="offline"`, …); returns its folder."""
    import wandb

    active = wandb.run
    started = active or wandb.init(**({"project": "countenance", "name": content.name} | options))
    with nullcontext() if active else started:
        started.config.update({"countenance": content.parameters}, allow_val_change=True)
        metrics = {f"countenance/{name}": value for name, value in content.metrics.items()}
        started.log(metrics | {"countenance/step": step})
        started.log(
            {"countenance/groups": wandb.Table(columns=list(COLUMNS), data=[list(row) for row in content.rows])}
        )
        started.summary["countenance/sentence"] = content.sentence
        if content.files:
            artifact = wandb.Artifact(f"countenance-{started.id}", type="evaluation")
            for path in content.files:
                artifact.add_file(str(path))
            started.log_artifact(artifact)
        return str(started.dir)
