"""The commands that every task has: run, report, list, demo, models; audit and plan are beside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from countenance.cli import task_options
from countenance.cli.audit_options import By, Metrics, Quiet, attributes_of, audit_arguments, names_of
from countenance.cli.auditing import audit, run_lines, shuffling
from countenance.cli.gating import fail_on as fail_on_names
from countenance.cli.gating import fail_on_verdict
from countenance.cli.gating import show as show_gate
from countenance.cli.lines import note, say, width
from countenance.cli.places import OutPlace, RunPlace, write_page
from countenance.cli.settings import Commands, in_flags, only, with_settings
from countenance.cli.shared_options import DatasetName, Gallery, ModelName, Pdf, Policy
from countenance.cli.trust_options import DataPlaces, TrustCode, Unverified, audited_run, data_of
from countenance.errors import InputError
from countenance.settings import AuditFields, DataSettings, EngineSettings, ModelSettings, RunSettings

if TYPE_CHECKING:
    from countenance.auditing import Audit
    from countenance.data import Dataset
    from countenance.run import Run

MOST_CHECKED = 100_000
"""Up to this many images, attribute values are checked before the run; names are always checked."""
AuditChoices = Annotated[AuditFields, only("where", "given", "depth", "delta", "better", "adjust", "families")]


class RunQuestion(NamedTuple):
    """The question for the audit of a run: attributes, metrics and settings."""

    by: list[str] | None
    metrics: list[str] | None
    settings: dict[str, Any]


def run(
    task: Annotated[
        str,
        typer.Argument(help="The question, such as face_localization (see `countenance list`), or module:attr."),
    ],
    model: ModelName,
    data: DatasetName,
    out: OutPlace,
    model_settings: ModelSettings,
    data_settings: DataSettings,
    run_settings: RunSettings,
    engine_settings: EngineSettings,
    fields: AuditChoices,
    gallery: Gallery,
    by: By = None,
    metric: Metrics = None,
    fail_on: Annotated[
        str | None, typer.Option(help="Exit 1 for such a verdict: disparity, or disparity,insufficient.")
    ] = None,
    policy: Policy = None,
    log: Annotated[
        list[str] | None, typer.Option(help="Log the run to a tracker: mlflow, wandb or tensorboard (may be repeated).")
    ] = None,
    threshold: task_options.Threshold = None,
    fmr: task_options.Fmr = None,
    challenge_age: task_options.ChallengeAge = None,
    option: task_options.More = None,
    quiet: Quiet = False,
) -> None:
    """Evaluate a model, score every prediction, audit by group and write the report."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.gating import gate, read_policy
    from countenance.report.loggers import log_run
    from countenance.run.evaluator import evaluate_loaded
    from countenance.run.licences import Allowed
    from countenance.tasks import load_task

    named = fail_on_names(fail_on)
    trackers = _trackers(log)
    rules = None if policy is None else read_policy(policy)
    licences = (Allowed.of(run_settings.allow_licence), rules and rules.licences and rules.licences.allowed)
    options = task_options.options_of(task, option, threshold=threshold, fmr=fmr, challenge_age=challenge_age)
    question = RunQuestion(attributes_of(by), names_of(metric), audit_arguments(fields))
    dataset = _checked_dataset(task, data, question, data_settings)
    finished = evaluate_loaded(
        model,
        load_task(task, options),
        dataset,
        out,
        model_settings,
        data_settings.changed(source=getattr(dataset, "source", data)),
        run_settings.changed(
            options=options, by=names_of(by), allow_licence=[allowed for allowed in licences if allowed]
        ),
        engine_settings.changed(progress=partial(progress, quiet=quiet), say=note),
    )
    audit = _audit_and_report(finished, question, gallery, quiet=quiet)
    for tracker in trackers:
        say(f"logged   {tracker}: {log_run(finished, tracker)}")
    if rules is not None:
        show_gate(gate(finished, rules))
    fail_on_verdict(audit, named)


def _trackers(names: list[str] | None) -> list[str]:
    """The named trackers; an unknown one, or one whose package is not installed, is refused before the run."""
    from importlib.util import find_spec

    from countenance.data.tables import near
    from countenance.report.loggers import LOGGERS

    trackers = [name.strip() for text in names or () for name in text.split(",")]
    for name in trackers:
        if name not in LOGGERS:
            raise InputError(f"--log {name!r}{near(name, LOGGERS)}, expected {', '.join(LOGGERS)}")
        if find_spec(name) is None:
            raise InputError(f"--log {name} needs its package: pip install {name}")
    return trackers


def _checked_dataset(task: str, data: str, question: RunQuestion, data_settings: DataSettings) -> "Dataset":
    """The dataset; a typo in an option is refused now, not after every image was evaluated."""
    from countenance.auditing.held_equal_covariates import covariate_choices
    from countenance.auditing.settings import AuditSettings, parse_better, parse_delta
    from countenance.auditing.source import Source
    from countenance.data import load_dataset
    from countenance.data.conditions import COLUMNS as CONDITIONS
    from countenance.data.tables import near
    from countenance.run.auditing import check_names
    from countenance.tasks import load_task

    dataset = load_dataset(data, task=task, **data_settings.reading())
    known = [*dataset.attribute_names(), *CONDITIONS]
    settings = question.settings
    check_names(data, question.by, known, settings.get("where"))
    check_names(data, settings.get("given"), known)
    covariate_choices(settings.get("given") or [], Source({name: [] for name in known}))
    _check_values(data, dataset, question)
    declared = load_task(task).metrics
    measured = [metric.name for metric in declared]
    for name in question.metrics or []:
        if name not in measured and not any(name.startswith(f"{metric}.") for metric in measured):
            raise InputError(f"{task}: no metric {name!r}{near(name, measured)}; there are {', '.join(measured)}")
    audited = question.metrics or [metric.name for metric in declared if metric.headline] or measured
    AuditSettings(**{name: settings[name] for name in ("given", "depth", "adjust", "families") if name in settings})
    delta, better = parse_delta(settings.get("delta"))[1], parse_better(settings.get("better"))
    for what, named in (("delta", delta), ("better", better)):
        for name in named:
            if name and name not in audited:
                raise InputError(f"--{what} {name!r} is not one of the metrics ({', '.join(audited)})")
    return dataset


def _check_values(data: str, dataset: "Dataset", question: RunQuestion) -> None:
    """Refuse bins of what is not a number, cut points that do not rise, and conditions that no image meets."""
    from countenance.auditing.attributes import choose, coded
    from countenance.auditing.conditions import kept_rows
    from countenance.auditing.settings import parse_where
    from countenance.auditing.source import Source
    from countenance.data.conditions import PREFIX

    conditions = parse_where(question.settings.get("where"))
    if (question.by is None and not conditions) or len(dataset) > MOST_CHECKED:
        return
    table: dict[str, list[object]] = {f"attr.{name}": [] for name in dataset.attribute_names()}
    for sample in dataset:
        for subject in sample.subjects or (None,):
            values = dict(sample.attributes) | (dict(subject.attributes) if subject is not None else {})
            for name, column in table.items():
                value = values.get(name.removeprefix("attr."))
                column.append(list(value) if isinstance(value, tuple) else value)
    source = Source(table, label=data)
    kept_rows(source, conditions)
    recorded = [text for text in question.by or () if not text.startswith(PREFIX) and f"*{PREFIX}" not in text]
    if recorded:
        for choice in choose(recorded, source, []).attributes:
            coded(choice, source.read([choice.column], [])[choice.column], 1000)


def _audit_and_report(finished: "Run", question: RunQuestion, gallery: str, *, quiet: bool) -> "Audit":
    with shuffling(quiet) as progress:
        settings = question.settings | {"seed": int(finished.manifest["seed"])}
        audit = finished.audit(question.by, question.metrics, progress=progress, **settings)
    page = write_page(finished, gallery=gallery)
    for line in run_lines(finished, audit, width()):
        say(line)
    for text in finished.notes:
        say(f"note     {in_flags(text)}")
    say(f"report   {page}")
    return audit


def report(
    run_directory: RunPlace,
    gallery: Gallery,
    out: Annotated[Path | None, typer.Option(help="The page (default: report.html in the run directory).")] = None,
    pdf: Pdf = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Write the evidence page instead: who was measured, and every measure.")
    ] = False,
    data_at: DataPlaces = None,
    trust_code: TrustCode = False,
    unverified: Unverified = False,
) -> None:
    """Write the report of a run as a page or a PDF; the run directory is enough."""
    from countenance.report import write_pdf

    finished = audited_run(run_directory, verified=not unverified, trust_code=trust_code, data=data_of(data_at))
    if pdf is not None:
        say(write_pdf(finished, pdf).resolve())
    if pdf is None or out is not None or evidence:
        say(write_page(finished, out, gallery=gallery, evidence=evidence))


def list_() -> None:
    """List the tasks, models and datasets that are installed."""
    from countenance.data import dataset_names
    from countenance.models import model_names
    from countenance.tasks import load_task, task_names

    say("tasks")
    for name in task_names():
        say(f"  {name:24} {load_task(name).question}")
    say("models (more in `countenance models list`)")
    say(f"  {', '.join(model_names())}")
    say("datasets (more in `countenance data list`)")
    say(f"  {', '.join(dataset_names())}")


def demo(
    out: Annotated[Path, typer.Option(help="The run directory.")] = Path("out/demo"),
    model: ModelName = "mtcnn",
    quiet: Quiet = False,
) -> None:
    """Audit a face detector on the people that come with the package, try two detectors on twins, and write a page."""
    from functools import partial

    from countenance.models.zoo import ZOO
    from countenance.report.twin_page import write_twin_page
    from countenance.run import Run
    from countenance.run.file_names import REPORT

    evaluate = partial(with_settings(run), task="face_localization", workers=2, threads=1, quiet=quiet)
    evaluate(model=model, data="people:portraits", out=out, by="skin_tone,age_group,gender,masked")
    twins = out.with_name(f"{out.name}-twins")
    shown = []
    for other in ("haar", "mtcnn"):
        if missing := ZOO[other].missing():
            note(f"{other} is left out ({missing})")
            continue
        say(f"twins    {other}: the same people, one thing changed")
        evaluate(model=other, data="people:twins/skin_tone", out=twins / other, by="skin_tone,age_group,gender,smile")
        shown.append(Run(twins / other))
    further = [(f"{Run(out).model_label} on the portraits: its report", out / REPORT)]
    page = write_twin_page(shown, twins / "index.html", further, change="skin_tone")
    say(f"pictures countenance view {out}")
    say(f"open     {page.resolve()}")


models_app = Commands("The models that come with the package.")


@models_app.command("list")
def models_list() -> None:
    """List the zoo: what runs here, what is missing, and the one command that installs it."""
    from countenance.models.zoo import ZOO

    for entry in ZOO.values():
        missing = entry.missing()
        state = missing or ("runs here with --weights PATH" if entry.weights_by_path else "runs here")
        say(f"{entry.name:14} {entry.task:20} {state}")
        say(f"{'':14} {entry.description}; {entry.licence}; {entry.source}")


def register(app: typer.Typer) -> None:
    """Put these commands at the top level."""
    for function in (run, audit, report, demo):
        app.command()(function)
    app.command("list")(list_)
    app.add_typer(models_app, name="models")
