"""Evaluating, calibrating, checking."""

from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.lines import say
from countenance.cli.settings import Commands
from countenance.cli.shared_options import Gallery, Json, Page
from countenance.cli.uccs.options import (
    DATA,
    Bootstrap,
    By,
    Data,
    LabelList,
    LogX,
    OnlyPresent,
    Out,
    Overlap,
    ResultFiles,
    Set,
    SeveralValues,
    Verbose,
    Version,
    WhichSet,
)
from countenance.cli.uccs.output import Output, baseline_file, columns, default_plot, ready_to_plot, written
from countenance.errors import InputError

app = Commands()


@app.command("evaluate-detector", cls=SeveralValues)
def evaluate_detector(
    *,
    data_directory: Data,
    result_files: ResultFiles = None,
    labels: LabelList = None,
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
    overlap_threshold: Overlap = 0.5,
    froc_file: Annotated[
        Path | None,
        typer.Option("--froc-file", "-w", help="The plot: .pdf, .png, .svg or .html.  [default: UCCS-v2-FROC.pdf]"),
    ] = None,
    log_x: LogX = False,
    only_present: OnlyPresent = False,
    plot_detection_numbers: Annotated[
        bool, typer.Option("--plot-detection-numbers", "-p", help="Plot numbers of faces instead of rates.")
    ] = False,
    bootstrap: Bootstrap = 0,
    by: By = None,
    report: Page = None,
    out: Out = None,
    gallery: Gallery,
    json: Json = None,
    verbose: Verbose = 0,
) -> None:
    """Plot FROC curves: found faces over false alarms."""
    from countenance.suites.uccs import CurveSettings
    from countenance.suites.uccs.score_curves import read_submissions

    settings = CurveSettings(log_x, only_present, overlap_threshold, 1, plot_detection_numbers, bootstrap)
    ready_to_plot(froc_file)
    submissions = read_submissions(
        data_directory,
        result_files or baseline_file(data_directory, which_set.value, protocol_version, ("detection", "detection")),
        recognition=False,
        labels=labels,
        which=which_set.value,
        version=protocol_version,
        settings=settings,
        attributes=any((by, report, out)),
    )
    plot = froc_file or default_plot(f"UCCS-v{submissions[0].version}-FROC.pdf")
    written(submissions, data_directory, Output(plot, json, report, out, gallery, columns(by), verbose))


@app.command("evaluate-recognizer", cls=SeveralValues)
def evaluate_recognizer(
    *,
    data_directory: Data,
    result_files: ResultFiles = None,
    labels: LabelList = None,
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
    overlap_threshold: Overlap = 0.5,
    rank: Annotated[
        int, typer.Option("--rank", "-R", help="A face counts when its identity is among the first N.")
    ] = 1,
    dir_file: Annotated[
        Path | None,
        typer.Option("--dir-file", "-w", help="The plot: .pdf, .png, .svg or .html.  [default: UCCS-v2-DIR.pdf]"),
    ] = None,
    log_x: LogX = False,
    only_present: OnlyPresent = False,
    plot_recognition_numbers: Annotated[
        bool, typer.Option("--plot-recognition-numbers", "-p", help="Plot numbers of faces instead of rates.")
    ] = False,
    bootstrap: Bootstrap = 0,
    by: By = None,
    report: Page = None,
    out: Out = None,
    gallery: Gallery,
    json: Json = None,
    verbose: Verbose = 0,
) -> None:
    """Plot DIR (version 2) or O-ROC (version 3) curves: recognised faces over false identifications."""
    from countenance.suites.uccs import CurveSettings
    from countenance.suites.uccs.score_curves import read_submissions

    settings = CurveSettings(log_x, only_present, overlap_threshold, rank, plot_recognition_numbers, bootstrap)
    ready_to_plot(dir_file)
    submissions = read_submissions(
        data_directory,
        result_files or baseline_file(data_directory, which_set.value, protocol_version, ("recognition", "scoring")),
        recognition=True,
        labels=labels,
        which=which_set.value,
        version=protocol_version,
        settings=settings,
        attributes=any((by, report, out)),
    )
    plot = dir_file or default_plot("UCCS-v2-DIR.pdf" if submissions[0].version == 2 else "UCCS-v3-OROC.pdf")
    written(submissions, data_directory, Output(plot, json, report, out, gallery, columns(by), verbose))


@app.command()
def calibrate(
    data_directory: Data,
    scores: Annotated[Path, typer.Option("--scores", "-r", help="A recognition or scoring file.")],
    false_identifications: Annotated[
        float, typer.Option("--false-identifications", "-n", help="How many are allowed over all images.")
    ],
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
    rank: Annotated[
        int, typer.Option("--rank", "-R", help="A face counts when its identity is among the first N.")
    ] = 1,
    json: Json = None,
) -> None:
    """Choose the threshold that allows a number of false identifications, and say how stable it is."""
    from countenance.suites.uccs import CurveSettings
    from countenance.suites.uccs import evaluate_recognizer as evaluate
    from countenance.suites.uccs.calibration import calibrate as calibrate_

    evaluations = evaluate(
        data_directory,
        [scores],
        which=which_set.value,
        version=protocol_version,
        settings=CurveSettings(rank=rank),
    )[0]
    result = calibrate_(evaluations, false_identifications)
    for sentence in result.sentences():
        say(sentence)
    if json is not None:
        from countenance.files import write_json

        write_json(json, result.to_dict())


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The submission: a score file of version 2 or 3.", metavar="FILE")],
    data_directory: Annotated[Path | None, DATA] = None,
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
) -> None:
    """Check a submission: prints every wrong line with its number, and a summary of the file."""
    from countenance.suites.uccs import check_file

    report = check_file(file, data=data_directory, which=which_set.value, version=protocol_version)
    for name, text in report.summary.items():
        say(f"{name:20} {text}")
    for notice in report.notices:
        say(f"notice: {notice}", err=True)
    for problem in report.problems:
        say(f"problem: {problem}", err=True)
    if report.more_problems:
        say(f"problem: there are more; fix these {len(report.problems)} and check again", err=True)
    if not report.good:
        more = " or more" if report.more_problems else ""
        raise InputError(f"{file}: {len(report.problems)}{more} problems; not ready to submit")
    say(f"{file}: ready to submit" + (" (see the notices)" if report.notices else ""))
