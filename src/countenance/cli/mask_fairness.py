"""`countenance mask-fairness`: assess, page, detectors, make-data, compare, twins, train."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from countenance.cli.audit_options import Quiet, audit_arguments
from countenance.cli.lines import note, say
from countenance.cli.settings import Commands, in_flags, only, single
from countenance.cli.shared_options import (
    Device,
    Gallery,
    Limit,
    MaxFailures,
    OnlyPresent,
    Seed,
    Threads,
    Weights,
    Workers,
)
from countenance.errors import InputError
from countenance.settings import AuditFields, DataSettings, EngineSettings, ModelSettings
from countenance.settings.box_words import Form, Units

app = Commands("Mask fairness: do mask detectors find and judge faces of every group equally well?")


class MaskLayout(StrEnum):
    """The layouts that `make-data` writes."""

    bafmd = "bafmd"
    yolo = "yolo"
    voc = "voc"
    coco = "coco"


TruthBoxes = Annotated[Form | None, single(DataSettings, "truth_boxes")]
TruthUnits = Annotated[Units | None, single(DataSettings, "truth_units")]
PredictedBoxes = Annotated[Form | None, single(ModelSettings, "box_format", "--boxes", "--prediction-format")]
PredictedUnits = Annotated[Units | None, single(ModelSettings, "units", "--prediction-units")]
Dataset = Annotated[
    str, typer.Option(help="fairface, bafmd, bafmd-yolo, bafmd-voc, folder, people:portraits; of twins people:twins.")
]
By = Annotated[str | None, typer.Option(help="Attributes, with commas (default of `assess`: the dataset's own).")]
DETECTOR = typer.Option(help="A detector (see `detectors`), net.onnx, module:attr or answers:RUN.")
Directory = Annotated[Path | None, typer.Option("--data-directory", help="The dataset's folder.")]
Split = Annotated[str | None, typer.Option(help="Only this split (train, validation, test).")]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="Class numbers of the predictions, else of YOLO files without a classes.txt or of COCO categories: "
        "0=mask,1=no_mask (default: classes.txt, else the format's own; YOLO 0=no_mask,1=mask)."
    ),
]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _classes(text: str | None) -> dict[int, str] | None:
    from countenance.data.categories import parse_classes

    return None if text is None else parse_classes(text)


@app.command()
def assess(
    *,
    dataset: Dataset,
    out: Annotated[Path, typer.Option(help="The run: scores, tables, findings and report.")],
    data_directory: Directory = None,
    detector: Annotated[str | None, DETECTOR] = None,
    weights: Weights,
    predictions: Annotated[Path | None, typer.Option(help="Predictions made elsewhere, instead of a detector.")] = None,
    by: By = None,
    boxes: PredictedBoxes,
    prediction_units: PredictedUnits,
    truth_boxes: TruthBoxes,
    truth_units: TruthUnits,
    classes: ClassesOption = None,
    attributes: Annotated[Path | None, typer.Option(help="A folder or raw BAFMD: its CSV of attributes.")] = None,
    split: Split = None,
    only_present: OnlyPresent,
    fields: Annotated[AuditFields, only("min_n", depth=None, adjust=None)],
    workers: Workers,
    threads: Threads,
    device: Device,
    limit: Limit,
    seed: Seed,
    max_failures: MaxFailures,
    gallery: Gallery,
    quiet: Quiet = False,
) -> None:
    """Assess a detector by the published rule and by ours; writes tables, a run and a report."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.data.adapters.mask_fairness import ReadingOptions, load_mask_data
    from countenance.data.reading.box_readings import YOLO
    from countenance.metrics.readings import Reading
    from countenance.report import write_report
    from countenance.suites.mask_fairness.assessment_run import assess as run_assessment
    from countenance.suites.mask_fairness.assessment_run import summary_lines
    from countenance.suites.mask_fairness.saved_predictions import predictions_of

    if (detector is None) == (predictions is None):
        raise InputError("name either --detector or --predictions")

    numbered = _classes(classes)
    own = numbered if predictions is None else None
    reading = Reading(truth_boxes or YOLO.form, truth_units or YOLO.units)
    truth_settings = ReadingOptions(reading, own, attributes, only_present, split)
    data = load_mask_data(dataset, data_directory, truth_settings)
    box_settings: dict[str, Any] = {"box_format": boxes, "units": prediction_units}
    try:
        model = detector or predictions_of(predictions or Path(), data, say=note, classes=numbered, **box_settings)
    except InputError as error:  # here the predictions' units have a flag of their own
        error.args = (str(error).replace(', units="', ', prediction_units="'),)
        raise
    finished, assessment = run_assessment(
        data,
        model,
        out,
        by=_names(by),
        weights=None if weights is None else Path(weights),
        say=note,
        workers=workers,
        threads=threads,
        device=device,
        limit=limit,
        seed=seed,
        max_failures=max_failures,
        progress=partial(progress, quiet=quiet),
        **(box_settings if detector else {}),
        audit=audit_arguments(fields),
    )
    page = write_report(finished, gallery=gallery)
    for line in summary_lines(finished, assessment):
        say(in_flags(line))
    say(f"tables   {out.resolve()}/assessment_*.csv")
    say(f"report   {page.resolve()}")


@app.command()
def detectors() -> None:
    """List the assessed algorithms and the shipped detectors: status, licence, how to obtain weights."""
    from countenance.suites.mask_fairness.detectors import ALGORITHMS, slug

    for title, assessed in (("assessed in the publication", True), ("further detectors", False)):
        say(title)
        for row in ALGORITHMS:
            if row.assessed == assessed:
                named = f" (--detector {row.zoo})" if row.zoo else ""
                say(f"  {row.name:24} {row.status}{named}")
                say(f"  {'':24} {row.what}")
                say(f"  {'':24} licence: {row.licence}")
                say(f"  {'':24} weights: {row.weights}")
                say(f"  {'':24} predictions: {row.predictions}")
                if row.assessed:
                    say(f"  {'':24} recipe: countenance mask-fairness recipe {slug(row.name)}")
    say("any other: --detector net.onnx or module:attr, or its output with --predictions")


@app.command()
def recipe(
    name: Annotated[str, typer.Argument(help="An assessed algorithm (see `detectors`).")],
    out: Annotated[Path | None, typer.Option(help="Write it here instead of printing it.")] = None,
) -> None:
    """Print the container file of an assessed algorithm: where its weights come from, its licence, how to run it."""
    from countenance.files import write_text
    from countenance.suites.mask_fairness.detectors import recipe_of

    text = recipe_of(name)
    if out is None:
        say(text.rstrip())
    else:
        write_text(out, text)
        say(out.resolve())


@app.command("make-data")
def make_data(
    *,
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    dataset: Dataset = "people:portraits",
    data_directory: Directory = None,
    layout: Annotated[MaskLayout, typer.Option(help="How boxes are written.")] = MaskLayout.bafmd,
    split: Split = None,
    truth_boxes: TruthBoxes,
    truth_units: TruthUnits,
    classes: ClassesOption = None,
    quiet: Quiet = False,
) -> None:
    """Write pictures, boxes and attributes for a detector that runs elsewhere."""
    from countenance.cli.progress import progress
    from countenance.data.adapters.mask_fairness import ReadingOptions, load_mask_data
    from countenance.data.reading.box_readings import YOLO
    from countenance.files import staged
    from countenance.metrics.readings import Reading
    from countenance.suites.mask_fairness.made_data import make_data as write

    if out.exists():
        raise InputError(f"{out}: exists already; name a folder that does not")
    reading = Reading(truth_boxes or YOLO.form, truth_units or YOLO.units)
    truth_settings = ReadingOptions(reading, _classes(classes), split=split)
    loaded = load_mask_data(dataset, data_directory, truth_settings).dataset
    for text in loaded.notes:
        note(text)
    with staged(out) as folder, progress("writing", len(loaded), quiet=quiet) as step:
        faces = write(loaded, folder, layout.value, step)
    say(f"{faces} faces in {out}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="The run of an assessment.", metavar="FIRST")],
    second: Annotated[Path, typer.Argument(help="The run of another detector on the same pictures.", metavar="SECOND")],
    by: By = None,
    out: Annotated[Path | None, typer.Option(help="Write the comparison here as CSV.")] = None,
) -> None:
    """Compare two detectors face by face, overall and within groups."""
    from countenance.files import write_text
    from countenance.suites.mask_fairness.assessment import csv_text
    from countenance.suites.mask_fairness.comparison import compare as compare_runs
    from countenance.suites.mask_fairness.comparison import table_rows

    comparison = compare_runs(first, second, _names(by))
    rows = table_rows(comparison)
    say(f"first   {comparison.names[0]}")
    say(f"second  {comparison.names[1]}")
    for row in rows:
        say(
            f"{row['metric']:14} {row['attribute'] + ' = ' + row['group'] if row['attribute'] != 'all' else 'all':32} "
            f"n {row['n']:6}  {row['first']:.3f}  {row['second']:.3f}  {row['difference']:+.3f}  "
            f"p adj. {row['p_adjusted']:.2g}  {row['verdict']}"
        )
    for metric, reason in comparison.skipped.items():
        say(f"{metric:14} left out: {reason}")
    if out is not None:
        write_text(out, csv_text(rows, list(rows[0]) if rows else ["metric"]))


@app.command()
def page(
    runs: Annotated[list[Path], typer.Argument(help="Runs of `assess`: any detectors on any datasets.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("mask-fairness.html"),
) -> None:
    """Write one page for several detectors and datasets: every row of the published table, both rules side by side."""
    from countenance.suites.mask_fairness.report import write_overview

    say(f"page     {write_overview(runs, out).resolve()}")


@app.command()
def twins(
    *,
    detector: Annotated[str, DETECTOR],
    out: Annotated[Path, typer.Option(help="The run, with the table in it.")],
    weights: Weights,
    dataset: Dataset = "people:twins",
    workers: Workers,
    threads: Threads,
    device: Device,
    max_failures: MaxFailures,
    quiet: Quiet = False,
) -> None:
    """Measure how skin tone alone, and the colour of a mask alone, change a detector's result on the same person."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.run import Run
    from countenance.suites.mask_fairness.twins import effect_lines, twins_audit

    effects = twins_audit(
        detector,
        out,
        dataset=dataset,
        weights=None if weights is None else Path(weights),
        workers=workers,
        threads=threads,
        device=device,
        max_failures=max_failures,
        progress=partial(progress, quiet=quiet),
        say=note,
    )
    for line in effect_lines(effects):
        say(line)
    for text in Run(out).notes:
        say(f"note     {in_flags(text)}")
    say(f"table    {(out / 'twins.csv').resolve()}")


@app.command()
def train(
    *,
    out: Annotated[Path, typer.Option(help="The ONNX file to write.")],
    minutes: Annotated[float, typer.Option(min=0.1, help="Stop after this many minutes.")] = 8.0,
    threads: Annotated[int, single(EngineSettings, "threads")] = 1,
    seed: Seed,
    device: Device,
) -> None:
    """Train the package's small mask detector on the embedded people (train split) and export it to ONNX."""
    from countenance.suites.mask_fairness.train import TrainSettings, train_and_export

    train_and_export(out, TrainSettings(minutes=minutes, threads=threads, seed=seed, device=device), say=note)
    say(f"{out.resolve()}: {out.stat().st_size / 1e6:.2f} MB")
