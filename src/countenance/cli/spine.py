"""The commands of the spine: run, audit, report, list, demo, plan, models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.engines import AddressOption, EngineOption, GpusOption
from countenance.cli.options import BOX_FORMATS, BoxFormat, CategoriesOption, Units
from countenance.cli.places import OutPlace, RunPlace, is_run, write_page
from countenance.errors import InputError
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.audit import Audit
    from countenance.run import Run

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
By = Annotated[str | None, typer.Option("--by", help="Attributes to compare by, with commas: skin_tone,age_group.")]
Metrics = Annotated[
    str | None, typer.Option("--metric", help="Metrics to audit, with commas (default: the headline ones).")
]

MOST_LINES = 60


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _where(conditions: list[str] | None) -> dict[str, list[str]]:
    """From "change=none,mask" to {"change": ["none", "mask"]}."""
    chosen: dict[str, list[str]] = {}
    for condition in conditions or []:
        name, equals, values = condition.partition("=")
        if not equals or not _names(values):
            raise InputError(f"--where {condition!r}: expected ATTRIBUTE=VALUE[,VALUE…], such as change=none,mask")
        chosen[name.strip()] = _names(values) or []
    return chosen


def run(
    task: Annotated[
        str, typer.Argument(help="The question, such as face_localization (see `countenance list`), or module:attr.")
    ],
    model: Annotated[str, typer.Option(help="A zoo name, net.onnx, module:attr, or answers:RUN.")],
    data: Annotated[str, typer.Option(help="A dataset's name or path.")],
    out: OutPlace,
    weights: Annotated[Path | None, typer.Option(help="Weights of a zoo model that takes them by path.")] = None,
    by: By = None,
    metric: Metrics = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads per worker (default: cores / workers).")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    batch: Annotated[int, typer.Option(min=1, help="Images asked about at once.")] = 8,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many images, drawn with the seed.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    strict: Annotated[bool, typer.Option(help="Stop at the first failing image.")] = False,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds a batch may take.")] = 120.0,
    max_failures: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of failed images a verdict may rest on; 1 goes on when all fail."),
    ] = 0.05,
    categories: CategoriesOption = None,
    box_format: Annotated[
        BoxFormat | None, typer.Option(help=f"What the model's boxes are (default corners): {BOX_FORMATS}.")
    ] = None,
    units: Annotated[
        Units | None, typer.Option(help="What the model's boxes are measured in (default pixels).")
    ] = None,
    allow_mismatch: Annotated[
        bool, typer.Option("--allow-mismatch", help="Evaluate a model that finds something else than the task needs.")
    ] = False,
    engine: EngineOption = "local",
    address: AddressOption = None,
    gpus_per_worker: GpusOption = 0.0,
    gallery: Annotated[str, typer.Option(help="Failures shown in the report: auto, off, blurred, full.")] = "auto",
    quiet: Quiet = False,
) -> None:
    """Ask a model, score every answer, audit by group and write the report."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.run import evaluate

    _check_before_asking(task, data, _names(by), _names(metric), device, gallery, categories)
    finished = evaluate(
        model, task, data, out=out, weights=weights, device=device, workers=workers, threads=threads, batch=batch,
        limit=limit, seed=seed, strict=strict, time_limit=time_limit, max_failures=max_failures,
        categories=categories, allow_mismatch=allow_mismatch, units=units.value if units else None,
        box_format=box_format.value if box_format else None,
        engine=engine, address=address, gpus_per_worker=gpus_per_worker,
        progress=partial(progress, quiet=quiet), say=lambda line: typer.echo(line, err=True),
    )  # fmt: skip
    _audit_and_report(finished, _names(by), _names(metric), gallery)


def _check_before_asking(
    task: str,
    data: str,
    by: list[str] | None,
    metrics: list[str] | None,
    device: str,
    gallery: str,
    categories: str | None,
) -> None:
    """Refuse a typo now, not after every image was asked about."""
    from countenance.data import load_dataset
    from countenance.data.tables import near
    from countenance.tasks import load_task

    known = load_dataset(data, categories=categories).attribute_names()
    for name in by or []:
        if name not in known:
            raise InputError(f"{data}: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")
    if not known:
        raise InputError(f"{data}: the dataset has no attribute to compare by; add a column attr.NAME to its labels")
    measured = [metric.name for metric in load_task(task).metrics]
    for name in metrics or []:
        if name not in measured and not any(name.startswith(f"{metric}.") for metric in measured):
            raise InputError(f"{task}: no metric {name!r}{near(name, measured)}; there are {', '.join(measured)}")
    if gallery not in ("auto", "off", "blurred", "full"):
        raise InputError(f"gallery {gallery!r}, expected auto, off, blurred or full")
    if device not in ("cpu", "cuda"):
        raise InputError(f"device {device!r}, expected cpu or cuda")


def _audit_and_report(finished: "Run", by: list[str] | None, metrics: list[str] | None, gallery: str) -> None:
    from countenance.run import audit_run, store_audit

    found = audit_run(finished, by, metrics, seed=int(finished.manifest["seed"]))
    store_audit(finished, found)
    page = write_page(finished, gallery=gallery)
    for line in verdict_lines(finished, found):
        typer.echo(line)
    for note in finished.notes:
        typer.echo(f"note     {note}")
    typer.echo(f"report   {page}")


def verdict_lines(finished: "Run", found: "Audit") -> list[str]:
    """The verdict in at most five lines."""
    from collections import Counter

    manifest = finished.manifest
    failed = f", {manifest['failed']} without an answer" if manifest["failed"] else ""
    counts = Counter(finding.verdict for finding in found.findings)
    tally = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    worst = [f for f in found.findings if f.verdict == "disparity"]
    worst.sort(key=lambda f: (f.depth, f.p_adjusted))
    lines = [
        f"verdict  {found.verdict}",
        f"reason   {found.reason}",
        f"asked    {manifest['model']['name']} about {manifest['dataset']['images']} images of "
        f"{manifest['dataset']['card']['name']}{failed}",
        f"findings {len(found.findings)}: {tally}",
    ]
    if worst:
        f = worst[0]
        lines.append(
            f"clearest {f.metric} of {f.attribute} = {f.group} is {f.estimate:.3f} [{f.low:.3f}, {f.high:.3f}] against "
            f"{f.estimate_versus:.3f} of {f.versus} (adjusted p {f.p_adjusted:.2g})"
        )
    return lines


def audit(
    table: Annotated[
        Any, typer.Argument(help="A run (folder or s3://…), or any table of rows (.parquet, .csv).", parser=place_of)
    ],
    by: By = None,
    metric: Metrics = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Column of units that are not independent (default: identity, else sample); 'none'."),
    ] = None,
    comparison: Annotated[str, typer.Option(help="rest, pairs, reference, spread or paired.")] = "rest",
    reference: Annotated[
        str | None, typer.Option(help="The group to compare with: its name, 'best' or 'largest'.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="Column that matches rows of a paired comparison.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with these values: change=none,mask (may be repeated; runs only)."),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Intersections of up to so many attributes.")] = 2,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    delta: Annotated[float, typer.Option(help="Smallest difference that matters.")] = 0.05,
    min_n: Annotated[int, typer.Option(min=1, help="Fewest clusters a side must have.")] = 20,
    adjust: Annotated[str, typer.Option(help="holm or bh.")] = "holm",
    seed: Annotated[int, typer.Option(help="Seed of resampling.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write verdict and findings here as JSON.")] = None,
) -> None:
    """Compare groups: of a run, or of any table with a row per unit."""
    from countenance.audit import audit as audit_table
    from countenance.files import write_json
    from countenance.run import Run, audit_run, store_audit

    settings = {
        "cluster": "auto" if cluster is None else None if cluster == "none" else cluster,
        "comparison": comparison, "reference": reference, "pair": pair, "depth": depth, "alpha": alpha,
        "delta": delta, "min_n": min_n, "adjust": adjust, "seed": seed,
    }  # fmt: skip
    if not is_run(table) and not table.exists():
        raise InputError(f"{table}: no such file or folder; give a run directory or a table (.parquet, .csv)")
    if is_run(table):
        finished = Run(table)
        found = audit_run(finished, _names(by), _names(metric), _where(where), **settings)
        store_audit(finished, found)
    else:
        if where:
            raise InputError("--where is for run directories; filter a table before it is audited")
        attributes, metrics = _names(by), _names(metric)
        if not attributes or not metrics:
            raise InputError(f"{table}: name the attributes with --by and the metrics with --metric")
        found = audit_table(table, by=attributes, metrics=metrics, **settings)  # type: ignore[arg-type]
    _print_findings(found)
    if json is not None:
        write_json(json, found.to_dict())


def _print_findings(found: "Audit") -> None:
    typer.echo(f"verdict  {found.verdict}")
    typer.echo(f"reason   {found.reason}\n")
    shown = [f for f in found.findings if f.depth == 1] or found.findings
    head = ("metric", "attribute = group", "n", "estimate and interval", "versus", "difference", "p adj.", "verdict")
    rows = [head]
    for f in shown[:MOST_LINES]:
        severity = f" ({f.severity})" if f.severity else ""
        rows.append(
            (
                f.metric, f"{f.attribute} = {f.group}", str(f.n), f"{f.estimate:.3f} [{f.low:.3f}, {f.high:.3f}]",
                f"{f.estimate_versus:.3f}", f"{f.difference:+.3f}", f"{f.p_adjusted:.2g}", f.verdict + severity,
            )
        )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    hidden = len(found.findings) - min(len(shown), MOST_LINES)
    if hidden:
        typer.echo(f"{hidden} further findings (intersections): --json, findings.parquet or the report has them")
    for left in found.excluded:
        typer.echo(f"left out {left['attribute']} = {left['group']} (n = {left['n']}): {left['why']}")


def report(
    run_directory: RunPlace,
    out: Annotated[Path | None, typer.Option(help="The page (default: report.html in the run directory).")] = None,
    gallery: Annotated[str, typer.Option(help="Worst failures with pictures: auto, off, blurred, full.")] = "auto",
) -> None:
    """Write the report of a run again, from the run directory alone."""
    from countenance.run import Run, audit_run, store_audit

    finished = Run(run_directory)
    if not finished.store.storage.has("audit.json"):
        store_audit(finished, audit_run(finished))
    typer.echo(write_page(finished, out, gallery=gallery))


def list_() -> None:
    """List the tasks, models and datasets that are known here."""
    from countenance.data import dataset_names
    from countenance.models import model_names
    from countenance.tasks import load_task, task_names

    typer.echo("tasks")
    for name in task_names():
        typer.echo(f"  {name:24} {load_task(name).question}")
    typer.echo("models (more in `countenance models list`)")
    typer.echo(f"  {', '.join(model_names())}")
    typer.echo("datasets (more in `countenance data list`)")
    typer.echo(f"  {', '.join(dataset_names())}")


def plan(
    metric: Annotated[str, typer.Option(help="rate, or a metric of the table given with --data.")] = "rate",
    baseline: Annotated[float, typer.Option(help="The rate expected of the others.")] = 0.95,
    effect: Annotated[str, typer.Option(help="What must be seen: h=.2 or diff=.05.")] = "h=.2",
    groups: Annotated[int, typer.Option(min=2, max=1_000_000, help="How many groups are compared.")] = 2,
    cluster_deff: Annotated[float, typer.Option(min=1, max=1e6, help="Design effect of clustered units.")] = 1.0,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    power: Annotated[float, typer.Option(help="Wanted power.")] = 0.8,
    data: Annotated[Path | None, typer.Option(help="A run directory or table: which effects can it see?")] = None,
    by: By = None,
) -> None:
    """Say how many units per group an assessment needs, or what a given table can and cannot see."""
    from countenance.audit import plan as make_plan
    from countenance.audit import plan_for

    if data is None:
        made = make_plan(
            metric=metric,
            baseline=baseline,
            effect=effect,
            groups=groups,
            deff=cluster_deff,
            alpha=alpha,
            power=power,
        )
        typer.echo(made.reason)
        return
    attributes = _names(by)
    if not attributes:
        raise InputError("name the attributes with --by")
    table = data / "scores.parquet" if data.is_dir() else data
    rows = plan_for(table, by=attributes, metric=metric, effect=effect, alpha=alpha, power=power)
    if not rows:
        typer.echo("no group can be tested: the table has no units of this metric")
    for row in rows:
        can = "can see" if row["sees"] else "cannot see"
        typer.echo(f"{row['attribute']} = {row['group']}: smallest visible effect {row['mde']:.3f}, {can} {effect}")


def demo(
    out: Annotated[Path, typer.Option(help="The run directory.")] = Path("out/demo"),
    model: Annotated[str, typer.Option(help="A face detector of the zoo.")] = "mtcnn",
    quiet: Quiet = False,
) -> None:
    """Audit a real face detector on the embedded people and write the report."""
    run(
        "face_localization", model, "people:portraits", out, by="skin_tone,age_group,gender,masked",
        workers=2, threads=1, quiet=quiet,
    )  # fmt: skip


models_app = typer.Typer(no_args_is_help=True, help="Look at the models that run here.", rich_markup_mode=None)


@models_app.command("list")
def models_list() -> None:
    """List the zoo: what runs here, what is missing, and the one command that installs it."""
    from countenance.models.zoo import ZOO

    for entry in ZOO.values():
        missing = entry.missing()
        state = missing or ("runs here with --weights PATH" if entry.weights_by_path else "runs here")
        typer.echo(f"{entry.name:14} {entry.task:20} {state}")
        typer.echo(f"{'':14} {entry.description}; {entry.licence}; {entry.source}")


def register(app: typer.Typer) -> None:
    """Put the spine's commands at the top level."""
    for function in (run, audit, report, plan, demo):
        app.command()(function)
    app.command("list")(list_)
    app.add_typer(models_app, name="models")
