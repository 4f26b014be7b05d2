"""`countenance compare` and `countenance leaderboard`: models on the same samples, paired."""

import textwrap
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import By, Metrics, Quiet, audit_arguments, names_of
from countenance.cli.auditing import adjustment, check_writable, shuffling
from countenance.cli.lines import PaintedText, note, say, width, wrapped
from countenance.cli.settings import in_flags, only
from countenance.cli.shared_options import DATASET, Gallery, Json, Page, Pdf
from countenance.cli.tables import fitted, spark
from countenance.cli.trust_options import Unverified, opened_entries
from countenance.errors import InputError
from countenance.settings import AuditFields

if TYPE_CHECKING:
    from countenance.comparing import Change, Comparison, Gap, Leaderboard

COMPARED = ("pair", "cluster", "where", "depth", "alpha", "delta", "better", "min_n", "families")
"""Settings of an audit that a comparison has too."""
MOST_NAMED = 5
MOST_LINES = 60

Entries = Annotated[
    list[str], typer.Argument(help="Run directories, or tables of scores (.parquet, .csv): the old one first.")
]
Names = Annotated[str | None, typer.Option("--names", help="Names of the models, with commas: v1,v2.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="Write all changes and gaps here as CSV.")]


def compare(
    entries: Entries,
    fields: Annotated[AuditFields, only(*COMPARED, "adjust", "seed")],
    gallery: Gallery,
    by: By = None,
    metric: Metrics = None,
    names: Names = None,
    json: Json = None,
    csv: Csv = None,
    report: Page = None,
    pdf: Pdf = None,
    task: Annotated[
        str | None, typer.Option(help="A and B are files of predictions for this task and the dataset --data.")
    ] = None,
    data: Annotated[str | None, DATASET] = None,
    unverified: Unverified = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on the same samples: better overall, worse for whom, and which gaps moved (new - old)."""
    from countenance.comparing import Comparison
    from countenance.comparing import compare as compare_two
    from countenance.comparing import leaderboard as rank
    from countenance.files import write_json
    from countenance.report.comparison import csv_of, write_comparison
    from countenance.report.leaderboard import write_leaderboard

    _check(entries, [json, csv, report, pdf])
    _check_pdf(pdf)
    settings = audit_arguments(fields) | {"names": names_of(names)}
    comparison: Comparison | Leaderboard
    with ExitStack() as stack:
        if task or data:
            settings["names"] = settings["names"] or _names(entries)
            entries = _scored(entries, task, data, stack)
        progress = stack.enter_context(shuffling(quiet))
        sides = opened_entries(entries, unverified)
        if len(entries) == 2:
            comparison = compare_two(sides[0], sides[1], by=by, metrics=names_of(metric), progress=progress, **settings)
            lines = comparison_lines(comparison, width())
        else:
            comparison = rank(sides, by, names_of(metric), against_first=True, progress=progress, **settings)
            lines = leaderboard_lines(comparison, width())
        if json is not None:
            write_json(json, comparison.to_dict())
        if csv is not None:
            csv.write_text(csv_of(comparison), encoding="utf-8", newline="")
        if report is not None:
            if isinstance(comparison, Comparison):
                page = write_comparison(comparison, sides, report, gallery=gallery)
            else:
                page = write_leaderboard(comparison, report)
            lines.append(f"report   {page.resolve()}")
        lines += _pdf_lines(comparison, pdf)
    for line in lines:  # printed last, because a reader of the first lines may close the pipe
        say(line)


def _names(entries: Sequence[str]) -> list[str] | None:
    stems = [Path(entry).stem for entry in entries]
    return stems if len(set(stems)) == len(stems) else None


def _scored(entries: Sequence[str], task: str | None, data: str | None, stack: ExitStack) -> list[str]:
    """Files of predictions as runs, in a folder that is removed afterwards."""
    from countenance.run import evaluate
    from countenance.scratch import temporary_folder

    if task is None or data is None:
        raise InputError("predictions need both --task and --data; runs and tables need neither")
    for entry in entries:
        if not Path(entry).is_file():
            raise InputError(f"{entry}: no such file; expected a file of predictions (--task and --data are given)")
    folder = stack.enter_context(temporary_folder("compare"))
    runs = []
    for i, entry in enumerate(entries):
        runs.append(str(folder / f"{i} {Path(entry).stem}"))
        evaluate(f"predictions:{entry}", task, data, out=runs[-1], say=note)
    return runs


def leaderboard(
    entries: Entries,
    fields: Annotated[AuditFields, only(*COMPARED, "adjust")],
    metric: Metrics = None,
    by: By = None,
    names: Names = None,
    report: Page = None,
    pdf: Pdf = None,
    json: Json = None,
    csv: Csv = None,
    site: Annotated[
        Path | None, typer.Option(help="Write a folder of pages to publish: sorted by score, with JSON and a feed.")
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Rank models on the same samples; models that are not shown to differ share a rank; groups are columns."""
    from countenance.comparing import leaderboard as rank
    from countenance.files import write_json
    from countenance.report.board_site import check_site, write_site
    from countenance.report.comparison import csv_of
    from countenance.report.leaderboard import write_leaderboard

    _check(entries, [report, json, csv, pdf])
    if site is not None:
        check_site(site)
    _check_pdf(pdf)
    ranking = rank(
        opened_entries(entries, unverified),
        by,
        names_of(metric),
        names=names_of(names),
        against_first=by is not None,
        **audit_arguments(fields),
    )
    lines = leaderboard_lines(ranking, width())
    if json is not None:
        write_json(json, ranking.to_dict())
    if csv is not None:
        csv.write_text(csv_of(ranking), encoding="utf-8", newline="")
    if report is not None:
        lines.append(f"page     {write_leaderboard(ranking, report).resolve()}")
    if site is not None:
        lines.append(f"site     {write_site(ranking, site).resolve()}")
    lines += _pdf_lines(ranking, pdf)
    for line in lines:
        say(line)


def _check(entries: Sequence[str], outputs: Sequence[Path | None]) -> None:
    """Refuse fewer than two entries, and outputs that cannot be written, before anything is computed."""
    if len(entries) < 2:
        raise InputError("found one run or table, expected two or more")
    check_writable(outputs, [Path(entry) for entry in entries])


def _check_pdf(pdf: Path | None) -> None:
    if pdf is not None:
        from countenance.report.draw.mpl import check_installed
        from countenance.report.paper import pdf_path

        pdf_path(pdf)
        check_installed("a report as PDF", pdf=True)


def _pdf_lines(result: "Comparison | Leaderboard", pdf: Path | None) -> list[str]:
    """Write the PDF, if one is requested, and return the line that says where it is."""
    if pdf is None:
        return []
    from countenance.comparing import Comparison
    from countenance.report.comparison_pdf import write_comparison_pdf, write_leaderboard_pdf

    file = write_comparison_pdf(result, pdf) if isinstance(result, Comparison) else write_leaderboard_pdf(result, pdf)
    return [f"pdf      {file.resolve()}"]


def comparison_lines(result: "Comparison", columns: int | None = None) -> list[str]:
    """A comparison for a terminal: the decision, what it rests on, the changes, and the gaps."""
    from countenance.report.comparison_words import told_side
    from countenance.report.names import in_group_order

    settings = result.settings
    lines = _decision(result.decisions, columns)
    lines += [f"compared {result.a} → {result.b} on {settings['rows']:,} rows of both"]
    lines += [*_unpaired_lines(result.unpaired, columns), *wrapped("unit", in_flags(settings["unit"]), columns)]
    for text in result.notes:
        lines += wrapped("note", in_flags(text), columns)
    changes = [*result.overall, *in_group_order(result.groups)]
    rows = [_change_row(change, settings) for change in changes[:MOST_LINES]]
    lines += ["", *fitted([_head(CHANGES, result.a, result.b), *rows], columns, SPARE)]
    if result.gaps:
        lines += ["", *_gap_heading(settings, columns)]
        gaps = [told_side(gap) for gap in in_group_order(gap for gap in result.gaps if not gap.mirrors)]
        rows = [_gap_row(gap, settings) for gap in gaps[:MOST_LINES]]
        head = _head(GAPS, result.a, result.b)
        lines += fitted([head, *rows], columns, (*SPARE, *head[3:5]))
    hidden = max(len(result.overall) + len(result.groups) - MOST_LINES, 0) + max(len(result.gaps) - MOST_LINES, 0)
    return lines + ([f"{hidden:,} more lines: --json, --csv or --report has them"] if hidden else [])


def _gap_heading(settings: dict[str, Any], columns: int | None) -> list[str]:
    text = f"gaps (a group's change minus that of the others), adjusted {adjustment(settings)}"
    return [text] if columns is None else textwrap.wrap(text, columns)


def leaderboard_lines(board: "Leaderboard", columns: int | None = None) -> list[str]:
    """A leaderboard for a terminal: a line for each model, then its groups, the pairs, and gaps that moved."""
    from countenance.report.comparison_words import told_side

    lines = _decision(board.decisions, columns)
    lines += [f"compared {len(board.models)} models on {board.settings['rows']:,} rows"]
    lines += [*_unpaired_lines(board.unpaired, columns), *wrapped("unit", in_flags(board.settings["unit"]), columns)]
    for text in board.notes:
        lines += wrapped("note", in_flags(text), columns)
    for metric in board.settings["metrics"]:
        lines += ["", *_standings(board, metric, columns)]
    pairs = [_pair_row(pair, board.settings) for pair in board.overall[:MOST_LINES]]
    lines += ["", *fitted([("metric", "pair", "n", "old", "new", *CHANGES[5:]), *pairs], columns, SPARE)]
    if board.gaps:
        every = [gap for gap in board.gaps if not gap.mirrors]
        moved = [told_side(gap) for gap in every if gap.verdict == "disparity"]
        lines += ["", f"gaps against {board.models[0]}: {len(moved)} of {len(every)} changed"]
        rows = [(gap.b, *_gap_row(gap, board.settings)) for gap in moved[:MOST_LINES]]
        head = ("model", *_head(GAPS, board.models[0], "the model"))
        lines += fitted([head, *rows], columns, (*SPARE, *head[4:6])) if rows else []
    return lines


def _standings(board: "Leaderboard", metric: str, columns: int | None) -> list[str]:
    """The models by one metric, with groups as columns; as rows where the columns do not fit."""
    from countenance.report.names import in_group_order

    standings = board.standings(metric)
    models = [
        (f"{s.rank}{'=' if s.tied else ''}", s.model, _span(s), spark(s.estimate) if 0 <= s.estimate <= 1 else "")
        for s in standings
    ]
    groups = in_group_order(standings[0].groups)
    wide = [("rank", "model", metric, "", *(f"{g.attribute} = {g.group}" for g in groups))]
    for row, standing in zip(models, standings, strict=True):
        wide.append((*row, *(f"{score.estimate:.3f}" for score in in_group_order(standing.groups))))
    table = fitted(wide)
    if columns is None or max(map(len, table)) <= columns:
        return list(table)
    lines: list[str] = list(fitted([("rank", "model", metric, ""), *models], columns))
    if groups:
        tall = [("group", *(standing.model for standing in standings))]
        scores = [in_group_order(standing.groups) for standing in standings]
        for place, group in enumerate(groups):
            numbers = [f"{own[place].estimate:.3f}" for own in scores]
            tall.append((f"{group.attribute} = {group.group}", *numbers))
        lines += ["", *fitted(tall, columns)]
    return lines


def _decision(sentences: Sequence[str], columns: int | None) -> list[str]:
    """The sentences, each on lines of its own."""
    lines = []
    for place, sentence in enumerate(sentences):
        lines += wrapped("" if place else "decision", in_flags(sentence), columns)
    return lines


def _unpaired_lines(unpaired: list[dict[str, Any]], columns: int | None) -> list[str]:
    lines = []
    for entry in unpaired:
        if not entry["unpaired"]:
            continue
        count = "1 row" if entry["unpaired"] == 1 else f"{entry['unpaired']:,} rows"
        some = ", ".join(entry["keys"][:MOST_NAMED]) + (" …" if entry["unpaired"] > MOST_NAMED else "")
        elsewhere = entry["failed_elsewhere"]
        failed = f"; {elsewhere:,} of all its rows have no prediction of another model" if elsewhere else ""
        lines += wrapped("unpaired", f"{count} of {entry['name']} left out: {some}{failed}", columns)
    return lines


CHANGES = ("metric", "who", "n", "old", "new", "difference and interval", "p adj.", "verdict")
GAPS = ("metric", "who", "n", "gap old", "gap new", "difference and interval", "p adj.", "verdict")
SPARE = ("p adj.", "n", "", "metric")


def _head(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    """The names of columns, with the models' own names for old and new."""
    return tuple(name.replace("old", old).replace("new", new) for name in names)


def _change_row(change: "Change", settings: dict[str, Any]) -> tuple[str, ...]:
    from countenance.report.comparison_words import change_words

    mark, verdict = change_words(change, settings)
    return (
        change.metric,
        f"{change.attribute} = {change.group}" if change.attribute else "everyone",
        f"{change.n:,}",
        _number(change.estimate_a),
        _number(change.estimate_b),
        _difference(change),
        _p(change.p_adjusted),
        PaintedText(verdict, mark),
    )


def _pair_row(pair: "Change", settings: dict[str, Any]) -> tuple[str, ...]:
    return (pair.metric, f"{pair.a} → {pair.b}", *_change_row(pair, settings)[2:])


def _gap_row(gap: "Gap", settings: dict[str, Any]) -> tuple[str, ...]:
    from countenance.report.comparison_words import gap_words

    mark, verdict = gap_words(gap, settings["better"][gap.metric], settings)
    return (
        gap.metric,
        f"{gap.attribute} = {gap.group} against {gap.versus}",
        f"{gap.n:,}",
        _signed(gap.gap_a),
        _signed(gap.gap_b),
        _difference(gap),
        _p(gap.p_adjusted),
        PaintedText(verdict, mark),
    )


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def _signed(value: float) -> str:
    text = "" if value != value else f"{value:+.3f}"
    return "0.000" if text in ("-0.000", "+0.000") else text


def _difference(change: "Change | Gap") -> str:
    if change.difference != change.difference:
        return ""
    return f"{_signed(change.difference)} [{_signed(change.low)}, {_signed(change.high)}]"


def _span(standing: Any) -> str:
    return f"{standing.estimate:.3f} [{standing.low:.3f}, {standing.high:.3f}]"


def _p(p: float) -> str:
    return "" if p != p else f"{p:.2g}"


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(compare)
    app.command()(leaderboard)
