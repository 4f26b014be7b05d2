"""Runs in MLflow: tags, metrics, the table of groups and the files of a run."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from countenance.report.loggers.content import COLUMNS, LoggedRun

LONGEST = 500
"""Characters of a tag that every store of MLflow takes."""


def log(content: LoggedRun, step: int, options: dict[str, Any]) -> str:
    """Log to the active run, or to one that this call starts (`tracking_uri`, `experiment_name`, …); returns its id."""
    import mlflow

    uri, experiment = options.pop("tracking_uri", None), options.pop("experiment_name", None)
    if uri is not None:
        mlflow.set_tracking_uri(uri)
    if experiment is not None:
        mlflow.set_experiment(experiment)
    active = mlflow.active_run()
    with nullcontext(active) if active else mlflow.start_run(**({"run_name": content.name} | options)) as run:
        # Tags, not parameters: these may not change when a run is logged again, after another epoch.
        facts = content.parameters | {"sentence": content.sentence}
        mlflow.set_tags({f"countenance.{name}": text[:LONGEST] for name, text in facts.items()})
        mlflow.log_metrics(content.metrics, step=step)
        columns = {name: [row[i] for row in content.rows] for i, name in enumerate(COLUMNS)}
        mlflow.log_dict(columns, "countenance/groups.json")
        for path in content.files:
            mlflow.log_artifact(str(path), "countenance")
        return str(run.info.run_id)
