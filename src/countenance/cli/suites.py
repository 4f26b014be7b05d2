"""`countenance suite`: list the published protocols that are installed, and run one."""

from typing import Annotated, Any

import typer

from countenance.cli import task_options
from countenance.cli.audit_options import By, Metrics, Quiet, attributes_of, audit_arguments, names_of
from countenance.cli.auditing import run_lines
from countenance.cli.lines import note, say, width
from countenance.cli.places import OutPlace, write_page
from countenance.cli.settings import Commands, in_flags, only
from countenance.cli.shared_options import DatasetName, Gallery, ModelName
from countenance.settings import (
    AuditFields,
    DataSettings,
    EngineSettings,
    ModelSettings,
    RunSettings,
    SettingsModel,
    default_of,
)

app = Commands("Run a published protocol, or your own.")


@app.command("list")
def list_() -> None:
    """List the suites that are installed: questions, tasks, datasets, how to cite them, licence and consent."""
    from countenance.run.suite import load_suite, suite_names

    for name in suite_names():
        suite = load_suite(name)
        say(f"{suite.name:16} {suite.question}")
        say(f"{'':16} tasks: {', '.join(task.task_name for task in suite.tasks) or 'none'}")
        say(f"{'':16} datasets: {', '.join(suite.datasets) or 'any'}")
        for what, text in suite.rights().items():
            say(f"{'':16} {what.lower()}: {text}")
    say("any other: countenance suite run module:attr or path.py:attr")


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A suite (see `suite list`), module:attr or path.py:attr.")],
    model: ModelName,
    data: DatasetName,
    out: OutPlace,
    model_settings: ModelSettings,
    data_settings: DataSettings,
    run_settings: RunSettings,
    engine_settings: EngineSettings,
    fields: Annotated[AuditFields, only("depth", "delta", adjust=None)],
    gallery: Gallery,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks of the suite, with commas.")] = None,
    by: By = None,
    metric: Metrics = None,
    option: task_options.More = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a model on every task of a suite that fits it, audit it, and write the suite's files and the reports."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.run import read_audit
    from countenance.run.suite import load_suite

    chosen = {"tasks": names_of(tasks), "by": attributes_of(by), "metrics": names_of(metric)}
    options: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    options |= audit_arguments(fields)
    for settings in (model_settings, data_settings, run_settings, engine_settings):
        options |= _changed(settings)
    options |= {"options": task_options.pairs(option), "progress": partial(progress, quiet=quiet), "say": note}
    for finished in load_suite(name).run(data, model, out, **options):
        page = write_page(finished, gallery=gallery)
        for line in run_lines(finished, read_audit(finished), width()):
            say(line)
        for text in finished.notes:
            say(f"note     {in_flags(text)}")
        say(f"report   {page}")


def _changed(settings: SettingsModel) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    return {name: value for name, value in settings if value != default_of(type(settings), name)}
