"""`countenance fhibe`: evaluate, report, attributes, make-data, purge."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import Depth, Quiet, names_of
from countenance.cli.lines import note, say
from countenance.cli.runs import purge
from countenance.cli.settings import Commands
from countenance.cli.shared_options import Gallery, Seed
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.run.run import Run

app = Commands("FHIBE: evaluate a model on its nine tasks and write the bias report.")

Attributes = Annotated[
    str | None, typer.Option("--attributes", help="With commas: pronoun,age (see `countenance fhibe attributes`).")
]

Pdf = Annotated[bool, typer.Option(help="A PDF beside the page.")]
TASK = typer.Option("--task", help="One of the nine tasks; to evaluate made data, also `all`.")
Version = Annotated[str | None, typer.Option("--dataset-version", help="The dataset's version, as reports name it.")]


class Compat(StrEnum):
    """Which numbers."""

    default = "default"
    strict = "strict"


@app.command()
def evaluate(
    *,
    data: Annotated[Path, typer.Option(help="The data root, which holds data/processed/….")],
    task: Annotated[str, TASK],
    model_name: Annotated[str | None, typer.Option(help="The model's folder in the results.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="module:attr (FHIBE's wrapper or a callable), or a zoo name; without it outputs are reused."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="fhibe, fhibe_face_crop_align or fhibe_face_crop.")] = None,
    results: Annotated[Path | None, typer.Option(help="The results root (default: DATA/results).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run (default: run, or run-strict, beside the model's outputs).")
    ] = None,
    metrics: Annotated[str | None, typer.Option(help="With commas (default: all of the task).")] = None,
    attributes: Attributes = None,
    mini: Annotated[int | None, typer.Option(min=1, help="Only this many rows, drawn as FHIBE does.")] = None,
    full_size: Annotated[bool, typer.Option(help="FHIBE at full size, not downsampled.")] = False,
    keypoints: Annotated[str | None, typer.Option(help="A subset of the 17 keypoints, with commas, in order.")] = None,
    lpips_weights: Annotated[Path | None, typer.Option(help="Weights of LPIPS.")] = None,
    face_embedding: Annotated[
        str | None, typer.Option(help="CURRICULAR_FACE: a zoo name (dlib), net.onnx, or IR-101 weights (.pth).")
    ] = None,
    compat: Annotated[Compat, typer.Option(help="strict: the original's numbers, quirks included.")] = Compat.default,
    fhibe_layout: Annotated[bool, typer.Option(help="Also write the original's result files.")] = False,
    depth: Depth,
    report: Annotated[bool, typer.Option(help="Also audit and write the bias report.")] = True,
    gallery: Gallery,
    pdf: Pdf = False,
    dataset_version: Version = None,
    quiet: Quiet = False,
) -> None:
    """Score a model on one of FHIBE's tasks, from stored outputs or by running it."""
    from countenance.data.adapters.fhibe.words import TASKS
    from countenance.suites.fhibe.report import write_bias_report

    chosen = list(TASKS) if task == "all" else [task]
    if task == "all" and model is not None:
        raise InputError("--task all scores stored outputs; name one task to run a model")
    if task == "all" and out is not None:
        raise InputError("--out names one run; name one task, or leave it out")
    if pdf:
        from countenance.report.draw.mpl.style import check_installed

        check_installed("a report as PDF", pdf=True)
    arguments: dict[str, Any] = {
        "metrics": names_of(metrics),
        "attributes": names_of(attributes) or None,
        "use_mini_dataset": mini is not None,
        "mini_dataset_size": mini or 50,
        "downsampled": not full_size,
        "results_rootdir": results,
        "custom_keypoints": names_of(keypoints),
        "lpips_weights": lpips_weights,
        "face_embedding": face_embedding,
        "compat": compat.value,
        "fhibe_layout": fhibe_layout,
        "depth": depth,
        "dataset_version": dataset_version,
        "out": out,
    }
    for name in chosen:
        finished = _evaluate(data, name, model_name, model, dataset, quiet=quiet, **arguments)
        _print_run(finished)
        if report:
            page = write_bias_report(finished, gallery=gallery, pdf=pdf, depth=depth or 2)
            say(f"report   {page.resolve()}")


def _evaluate(
    data: Path,
    task: str,
    model_name: str | None = None,
    model: str | None = None,
    dataset: str | None = None,
    *,
    quiet: bool = True,
    **arguments: Any,
) -> "Run":
    """Evaluate one task; `arguments` are keywords of `evaluate_task`, None where the user gave no option."""
    from countenance.cli.progress import progress
    from countenance.data.adapters.fhibe.table import dataset_folder
    from countenance.data.adapters.fhibe.words import CARD, DEFAULT_ATTRIBUTES, FACE_TASKS
    from countenance.suites.fhibe import evaluate_task
    from countenance.suites.fhibe.demo import baseline
    from countenance.suites.fhibe.made_data import ATTRIBUTES
    from countenance.suites.fhibe.settings import OPTIONS

    dataset = dataset or ("fhibe_face_crop_align" if task in FACE_TASKS else "fhibe")
    folder = dataset_folder(dataset, task, arguments.get("downsampled", True))
    is_rendered = (data / "data" / "processed" / folder / CARD).is_file()
    if model_name is None:
        if not is_rendered and model is None:
            raise InputError("name the model whose outputs to score: --model-name NAME")
        model_name = baseline(task) if model is None else model.replace(":", ".").replace("/", "_")
    unused = [name for name in ("lpips_weights", "face_embedding") if task not in OPTIONS[name].split(", ")]
    stated = {name: value for name, value in arguments.items() if value is not None and name not in unused}
    usual: dict[str, Any] = {
        "attributes": ATTRIBUTES if is_rendered else DEFAULT_ATTRIBUTES,
        "results_rootdir": data / "results",
        "reuse_model_outputs": model is None,
        "progress": partial(progress, quiet=quiet),
        "say": partial(say, err=True),
    }
    return evaluate_task(data, dataset, model, model_name, task, **(usual | stated))


def _print_run(finished: "Run") -> None:
    from countenance.tasks.results import Number

    facts, manifest, scores = finished.manifest.about, finished.manifest, finished.scores()
    say(f"{facts['task']}: {manifest.model.name} on {manifest.dataset.card.name}")
    own = {record.published: record.name for record in manifest.metrics or () if record.published}
    for metric in facts["metrics"]:
        name = f"m.{own.get(metric, metric)}"
        if name in scores.column_names:
            values = [v for v in scores.column(name).to_pylist() if v is not None]
            mean = sum(values) / len(values) if values else float("nan")
            say(f"  {metric:16} {mean:10.4f}   {len(values)} rows")
    for number in finished.results():
        if isinstance(number, Number) and number.group is None:
            span = f"[{number.low:.4f}, {number.high:.4f}]" if number.low == number.low else ""
            say(f"  {number.published or number.name:16} {number.value:10.4f}   {span}")
    for metric, reason in facts["skipped"].items():
        say(f"  {metric:16} skipped: {reason}")
    for line in (*facts["notes"], *finished.notes):
        note(f"note: {line}")
    say(f"run      {finished.path.resolve()}")


@app.command()
def report(
    *,
    run: Annotated[Path, typer.Argument(help="A run directory of `countenance fhibe evaluate`.")],
    out: Annotated[
        Path | None, typer.Option(help="A file that ends in .html or .pdf (default: report.html in the run).")
    ] = None,
    attributes: Attributes = None,
    depth: Depth,
    gallery: Gallery,
    pdf: Pdf = False,
    dataset_version: Version = None,
    largest_regions: Annotated[bool, typer.Option(help="Compare ancestry and nationality by continent.")] = False,
) -> None:
    """Audit a run and write its bias report; faces are shown only on request."""
    from countenance.run.run import Run
    from countenance.suites.fhibe.evaluation import amended
    from countenance.suites.fhibe.report import write_bias_report

    page = write_bias_report(
        amended(Run(run), version=dataset_version),
        out,
        by=names_of(attributes),
        depth=depth or 2,
        gallery=gallery,
        pdf=pdf,
        group_largest_regions=largest_regions,
    )
    say(f"report   {page.resolve()}")


@app.command()
def attributes(
    task: Annotated[str | None, TASK] = None,
    options: Annotated[bool, typer.Option("--options", help="Also what people could choose.")] = False,
) -> None:
    """List the 31 attributes: what they mean, and which may have several values."""
    from countenance.data.adapters.fhibe.places import offered
    from countenance.data.adapters.fhibe.words import ATTRIBUTES, FACE_TASKS, MEANINGS, MULTIPLE, NOT_ON_FACES, TASKS

    if task is not None and task not in TASKS:
        raise InputError(f"task {task!r} is not one of {', '.join(TASKS)}")
    for name in ATTRIBUTES:
        if task in FACE_TASKS and name in NOT_ON_FACES:
            continue
        several = "several" if name in MULTIPLE else ""
        say(f"{name:36} {several:8} {MEANINGS[name]}")
        if options and (choices := offered(name)):
            say(f"{'':36} {'':8} {'; '.join(choices)}")


@app.command("make-data")
def make_data(
    *,
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    bodies: Annotated[str, typer.Option(help="The dataset of full bodies.")] = "people:bodies",
    portraits: Annotated[str, typer.Option(help="The dataset of portraits.")] = "people:portraits",
    faces: Annotated[int, typer.Option(min=4, help="About this many portraits, all pictures of each person.")] = 320,
    side: Annotated[int, typer.Option(min=64, max=1024, help="Side of the face pictures in pixels.")] = 512,
    seed: Seed,
    reports: Annotated[bool, typer.Option(help="Evaluate all nine tasks and write their reports at once.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write the embedded people in FHIBE's layout, with a baseline's outputs for each of the nine tasks."""
    from countenance.cli.progress import progress
    from countenance.data import load_dataset
    from countenance.data.adapters.fhibe.words import TASKS
    from countenance.data.layout import whole_people
    from countenance.files import staged
    from countenance.suites.fhibe.demo import baseline, write_outputs
    from countenance.suites.fhibe.made_data import make_data as write
    from countenance.suites.fhibe.report import write_bias_report

    if out.exists():
        raise InputError(f"{out}: exists already; name a folder that does not")
    body_set, face_set = load_dataset(bodies), load_dataset(portraits)
    face_set = whole_people(face_set, faces)
    with staged(out) as folder, progress("writing", len(body_set) + len(face_set), quiet=quiet) as step:
        rows = write(folder, body_set, face_set, side=side, step=step)
    with progress("answering", len(TASKS), quiet=quiet) as step:
        write_outputs(out, out / "results", seed=seed, step=lambda task: step())
    for name, count in rows.items():
        say(f"{name:24} {count} rows")
    for task in TASKS:
        say(f"{task:24} outputs of {baseline(task)}")
    if reports:
        for task in TASKS:
            say(f"report   {write_bias_report(_evaluate(out, task)).resolve()}")


app.command()(purge)
