"""The output of an evaluation: plots, curves, tables and pages."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countenance.cli.lines import note, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from countenance.run import Run
    from countenance.suites.uccs import UccsEvaluation
    from countenance.suites.uccs.comparison import SubmissionComparison
    from countenance.suites.uccs.evaluation import Submission
    from countenance.suites.uccs.operating import Point


def ready_to_plot(path: Path | None) -> None:
    """Refuse a plot's name before any work is done."""
    if path is not None:
        from countenance.report.draw.mpl import check_chart

        check_chart(path)


def default_plot(name: str) -> Path | None:
    """The plot that is drawn by default; none, with a warning, where its extra is not installed."""
    from countenance.errors import MissingExtra

    try:
        ready_to_plot(Path(name))
    except MissingExtra as error:
        say(f"warning: no {name}: {error}", err=True)
        return None
    return Path(name)


def baseline_file(data: Path, which: str, version: int | None, tasks: tuple[str, str]) -> list[Path]:
    """The file that the baseline writes by default; `tasks` names it in versions 2 and 3."""
    from countenance.data.adapters.uccs_protocol import detect_version
    from countenance.suites.uccs.baseline.detection import default_result_file

    version = version or detect_version(data, which)
    return [default_result_file(which, version, tasks[version - 2])]


@dataclass(frozen=True)
class Output:
    """The files that an evaluation writes, and how its results are shown."""

    plot: Path | None
    json: Path | None
    report: Path | None
    run: Path | None
    gallery: str
    by: list[str]
    verbose: int


def columns(by: str | None) -> list[str]:
    """The columns named in --by."""
    return [name.strip() for name in by.split(",") if name.strip()] if by else []


def written(submissions: "Sequence[Submission]", data: Path, out: Output) -> None:
    """Write the runs, if requested, then print the lines and write the plots, tables and pages from them.

    Without --out the runs of a report are temporary; without --out and --report no run is written.
    """
    from countenance.scratch import temporary_folder
    from countenance.suites.uccs.operating import columns_of
    from countenance.suites.uccs.rules import evaluated
    from countenance.suites.uccs.run import check_places, evaluation_in, places, write_runs

    labels = [submission.label for submission in submissions]
    if out.run is not None:
        check_places(out.run, labels)
    columns_of(submissions[0].protocol, out.by)
    for warning in dict.fromkeys(warning for submission in submissions for warning in submission.warnings):
        say(f"warning: {warning}", err=True)
    if out.run is None and out.report is None:
        return _shown([evaluated(submission) for submission in submissions], [], data, out)
    with temporary_folder("uccs") as temporary:
        folders = places(out.run, labels) if out.run else [temporary / str(k) for k in range(len(submissions))]
        runs = write_runs(submissions, data, folders, out.by, note)
        pairs = zip(runs, submissions, strict=True)
        _shown([evaluation_in(run, submission) for run, submission in pairs], runs, data, out)


def _shown(evaluations: "Sequence[UccsEvaluation]", runs: "Sequence[Run]", data: Path, out: Output) -> None:
    """Lines on the terminal; plots, curves and pages in their files."""
    settings = evaluations[0].settings
    for evaluation in evaluations:
        say(
            f"{evaluation.label}: {evaluation.hits:,} of {evaluation.total:,} {evaluation.unit} found "
            f"in {evaluation.images:,} images, {len(evaluation.negatives):,} false alarms"
        )
        if out.verbose > 1:
            for x, y, threshold in zip(
                evaluation.curve.x, evaluation.curve.y, evaluation.curve.thresholds, strict=True
            ):
                say(f"  {x:12.4f} {y:10.6f}   threshold {threshold:.6g}")
    files = []
    if out.plot is not None:
        from countenance.report.draw.mpl import save_chart
        from countenance.suites.uccs.plot import HEIGHT, chart_of

        save_chart(chart_of(evaluations, band=settings.bootstrap > 0), out.plot, HEIGHT)
        files.append(out.plot)
    points = []
    if out.by:
        from countenance.suites.uccs.operating import operating_points

        points = [operating_points(evaluation, out.by) for evaluation in evaluations]
        files += _by_group(evaluations, points, out)
    compared: list[SubmissionComparison] = []
    if len(evaluations) > 1 and (out.report is not None or settings.bootstrap):
        from countenance.suites.uccs.comparison import compare

        compared = compare(evaluations)
        for line in (line for comparison in compared for line in comparison.lines()):
            say(line)
    if out.json is not None:
        _write_json(evaluations, points, out, [comparison.to_dict() for comparison in compared])
        files.append(out.json)
    if out.report is not None:
        files += _pages(evaluations, compared, runs, data, out)
    if out.run is not None:
        files += [run.path for run in runs]
    if files:
        say(f"{evaluations[0].kind} written: " + ", ".join(map(str, files)))


def _pages(
    evaluations: "Sequence[UccsEvaluation]",
    compared: "Sequence[SubmissionComparison]",
    runs: "Sequence[Run]",
    data: Path,
    out: Output,
) -> list[Path]:
    """A page for each run; of several files one more that compares them."""
    assert out.report is not None
    if len(runs) == 1:
        pages = [out.report]
    else:
        pages = [out.report.with_stem(f"{out.report.stem}-{k + 1}") for k in range(len(runs))]
    for run, page in zip(runs, pages, strict=True):
        if out.by:
            run.audit(by=[name.lower() for name in out.by])
        run.report(page, gallery=out.gallery)
    if len(runs) == 1:
        return pages
    from countenance.suites.uccs.comparison import write_comparison

    write_comparison(evaluations, compared, pages, data, out.report)
    return [out.report, *pages]


def _by_group(evaluations: "Sequence[UccsEvaluation]", points: "Sequence[list[Point]]", out: Output) -> list[Path]:
    from countenance.suites.uccs.operating import table_lines, unlike_groups

    for notice in unlike_groups(evaluations[0], out.by):
        say(f"notice: {notice}", err=True)
    written: list[Path] = []
    for k, evaluation in enumerate(evaluations):
        say(f"\n{evaluation.label}")
        for line in table_lines(points[k]):
            say(line)
        if out.plot is None:
            continue
        from countenance.report.draw.mpl import save_chart
        from countenance.suites.uccs.plot import HEIGHT, group_charts

        for attribute, chart in group_charts(evaluation, out.by).items():
            number = f"-{k + 1}" if len(evaluations) > 1 else ""
            path = out.plot.with_stem(f"{out.plot.stem}-by-{attribute}{number}")
            save_chart(chart, path, HEIGHT)
            written.append(path)
    return written


def _write_json(
    evaluations: "Sequence[UccsEvaluation]", points: "Sequence[list[Point]]", out: Output, compared: list[Any]
) -> None:
    import json

    from countenance.files import finite, write_text

    assert out.json is not None
    settings = evaluations[0].settings
    content: dict[str, Any] = {
        "curves": [evaluation.to_dict() for evaluation in evaluations],
        "kind": evaluations[0].kind,
        "protocol_version": evaluations[0].version,
        "which_set": evaluations[0].protocol.path.stem,
        "log_x": settings.log,
        "only_present": settings.only_present,
        "overlap_threshold": settings.overlap,
        "rank": settings.rank,
        "summaries": [evaluation.summary() for evaluation in evaluations],
    }
    if compared:
        content["comparison"] = compared
    if out.by:
        from countenance.suites.uccs.operating import group_curves, json_fields

        content["groups"] = [
            {
                "of": evaluation.label,
                "attribute": g.attribute,
                "label": g.group,
                "n": g.n,
                "x": g.curve.x.tolist(),
                "y": g.curve.y.tolist(),
            }
            for evaluation in evaluations
            for g in group_curves(evaluation, out.by)
        ]
        content["operating_points"] = [
            {"of": evaluation.label, **json_fields(point)}
            for evaluation, some in zip(evaluations, points, strict=True)
            for point in some
        ]
    write_text(out.json, json.dumps(finite(content), allow_nan=False) + "\n")
