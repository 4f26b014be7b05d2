"""`countenance compare` and `countenance leaderboard`: models on the same samples, paired."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import (
    Adjust,
    Better,
    By,
    Cluster,
    Delta,
    Depth,
    Families,
    Metrics,
    Quiet,
    Where,
    cluster_of,
    names_of,
)
from countenance.cli.auditing import adjustment, check_writable, columns_of, shuffling
from countenance.cli.lines import note, say
from countenance.cli.trust_options import Unverified, opened_entries
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.comparing import Change, Comparison, Gap, Leaderboard

MOST_NAMED = 5
MOST_LINES = 60

Entries = Annotated[
    list[str], typer.Argument(help="Run directories, or tables of scores (.parquet, .csv): the old one first.")
]
PairBy = Annotated[
    str | None,
    typer.Option("--pair", help="Columns that tell which rows belong together (default: sample,subject)."),
]
Names = Annotated[str | None, typer.Option("--names", help="What the models are called, with commas: v1,v2.")]
Alpha = Annotated[float, typer.Option(help="Level of the tests.")]
MinN = Annotated[int, typer.Option("--min-n", min=1, help="Fewest people (images, rows) a group must have.")]
Seed = Annotated[int, typer.Option(help="Seed of permutations.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write everything here as JSON.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="Write all changes and gaps here as CSV.")]
Pdf = Annotated[Path | None, typer.Option("--pdf", help="Write the same page as PDF here (no pictures of anybody).")]
GalleryChoice = Annotated[
    str, typer.Option(help="Samples that changed, as pictures (runs): auto (no real people), off, blurred, full.")
]


def compare(
    entries: Entries,
    by: By = None,
    metric: Metrics = None,
    pair: PairBy = None,
    names: Names = None,
    cluster: Cluster = None,
    where: Where = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Intersections of up to so many attributes.")] = None,
    alpha: Alpha = 0.05,
    delta: Delta = None,
    better: Better = None,
    min_n: MinN = 20,
    adjust: Adjust = "minp",
    families: Families = None,
    seed: Seed = 0,
    json: Json = None,
    csv: Csv = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    pdf: Pdf = None,
    gallery: GalleryChoice = "auto",
    task: Annotated[
        str | None, typer.Option(help="With --data: A and B are files of predictions for this task.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="The dataset that predictions are about.")] = None,
    unverified: Unverified = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on the same samples: better overall, worse for whom, and which gaps moved (new - old)."""
    from countenance.auditing.settings import parse_families
    from countenance.comparing import Comparison
    from countenance.comparing import compare as compare_two
    from countenance.comparing import leaderboard as rank
    from countenance.files import write_json
    from countenance.report.comparison import csv_of, write_comparison
    from countenance.report.leaderboard import write_leaderboard

    _check(entries, [json, csv, report, pdf], gallery)
    _check_pdf(pdf)
    settings = {
        "pair": names_of(pair), "names": names_of(names), "cluster": cluster_of(cluster), "where": where,
        "depth": depth, "alpha": alpha, "delta": delta, "better": better, "min_n": min_n, "adjust": adjust,
        "families": parse_families(families), "seed": seed,
    }  # fmt: skip
    found: Comparison | Leaderboard
    with ExitStack() as stack:
        if task or data:
            settings["names"] = settings["names"] or _names(entries)
            entries = _scored(entries, task, data, stack)
        progress = stack.enter_context(shuffling(quiet))
        sides = opened_entries(entries, unverified)
        if len(entries) == 2:
            found = compare_two(sides[0], sides[1], by=by, metrics=names_of(metric), progress=progress, **settings)
            lines = comparison_lines(found)
        else:
            found = rank(sides, by, names_of(metric), against_first=True, progress=progress, **settings)
            lines = leaderboard_lines(found)
        if json is not None:
            write_json(json, found.to_dict())
        if csv is not None:
            csv.write_text(csv_of(found), encoding="utf-8", newline="")
        if report is not None:
            if isinstance(found, Comparison):
                page = write_comparison(found, sides, report, gallery=gallery)
            else:
                page = write_leaderboard(found, report)
            lines.append(f"report   {page.resolve()}")
        lines += _pdf_lines(found, pdf)
    for line in lines:  # last: a reader of the first lines may close the pipe
        say(line)


def _names(entries: Sequence[str]) -> list[str] | None:
    stems = [Path(entry).stem for entry in entries]
    return stems if len(set(stems)) == len(stems) else None


def _scored(entries: Sequence[str], task: str | None, data: str | None, stack: ExitStack) -> list[str]:
    """Files of predictions as runs, in a folder that is removed at the end."""
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
    metric: Metrics = None,
    by: By = None,
    pair: PairBy = None,
    names: Names = None,
    cluster: Cluster = None,
    where: Where = None,
    depth: Depth = None,
    alpha: Alpha = 0.05,
    delta: Delta = None,
    better: Better = None,
    min_n: MinN = 20,
    adjust: Adjust = "holm",
    families: Families = None,
    out: Annotated[Path | None, typer.Option(help="Write the page here.")] = None,
    pdf: Pdf = None,
    json: Json = None,
    csv: Csv = None,
    unverified: Unverified = False,
) -> None:
    """Rank models on the same samples; models that the evidence cannot split share a rank. Groups are columns."""
    from countenance.auditing.settings import parse_families
    from countenance.comparing import leaderboard as rank
    from countenance.files import write_json
    from countenance.report.comparison import csv_of
    from countenance.report.leaderboard import write_leaderboard

    _check(entries, [out, json, csv, pdf], "auto")
    _check_pdf(pdf)
    found = rank(
        opened_entries(entries, unverified), by, names_of(metric), pair=names_of(pair), names=names_of(names),
        cluster=cluster_of(cluster),
        where=where, depth=depth, alpha=alpha, delta=delta, better=better, min_n=min_n, adjust=adjust,
        families=parse_families(families), against_first=by is not None,
    )  # fmt: skip
    lines = leaderboard_lines(found)
    if json is not None:
        write_json(json, found.to_dict())
    if csv is not None:
        csv.write_text(csv_of(found), encoding="utf-8", newline="")
    if out is not None:
        lines.append(f"page     {write_leaderboard(found, out).resolve()}")
    lines += _pdf_lines(found, pdf)
    for line in lines:
        say(line)


def _check(entries: Sequence[str], outputs: Sequence[Path | None], gallery: str) -> None:
    """Refuse what would only fail at the end."""
    if len(entries) < 2:
        raise InputError("found one run or table, expected two or more")
    if gallery not in ("auto", "off", "blurred", "full"):
        raise InputError(f"gallery {gallery!r}, expected auto, off, blurred or full")
    check_writable(outputs)


def _check_pdf(pdf: Path | None) -> None:
    if pdf is not None:
        from countenance.report.paper import pdf_path
        from countenance.report.plots import check_installed

        pdf_path(pdf)
        check_installed("a report as PDF", pdf=True)


def _pdf_lines(found: "Comparison | Leaderboard", pdf: Path | None) -> list[str]:
    """The line that says where the PDF is, which is written now."""
    if pdf is None:
        return []
    from countenance.comparing import Comparison
    from countenance.report.comparison_pdf import write_comparison_pdf, write_leaderboard_pdf

    made = write_comparison_pdf(found, pdf) if isinstance(found, Comparison) else write_leaderboard_pdf(found, pdf)
    return [f"pdf      {made.resolve()}"]


def comparison_lines(found: "Comparison") -> list[str]:
    """A comparison for a terminal: the decision, what it rests on, the changes, and the gaps."""
    from countenance.report.names import in_group_order

    settings = found.settings
    lines = [*_decision(found.decisions), f"compared {found.b} - {found.a} on {settings['rows']:,} rows of both"]
    lines += [*_unpaired_lines(found.unpaired), f"unit     {settings['unit']}"]
    lines += [f"note     {note}" for note in found.notes]
    changes = [*found.overall, *in_group_order(found.groups)]
    lines += ["", *_table(CHANGES, [_change_row(one) for one in changes[:MOST_LINES]])]
    if found.gaps:
        lines += ["", f"gaps (a group's change minus that of the others), adjusted {adjustment(settings)}"]
        gaps = in_group_order(gap for gap in found.gaps if not gap.mirrors)
        lines += _table(GAPS, [_gap_row(gap) for gap in gaps[:MOST_LINES]])
    hidden = max(len(found.overall) + len(found.groups) - MOST_LINES, 0) + max(len(found.gaps) - MOST_LINES, 0)
    return lines + ([f"{hidden:,} more lines: --json, --csv or --report has them"] if hidden else [])


def leaderboard_lines(found: "Leaderboard") -> list[str]:
    """A leaderboard for a terminal."""
    from countenance.report.names import in_group_order

    lines = [*_decision(found.decisions), f"compared {len(found.models)} models on {found.settings['rows']:,} rows"]
    lines += [*_unpaired_lines(found.unpaired), f"unit     {found.settings['unit']}"]
    lines += [f"note     {note}" for note in found.notes]
    for metric in found.settings["metrics"]:
        standings = found.standings(metric)
        groups = [(one.attribute, one.group) for one in in_group_order(standings[0].groups)]
        head = ("rank", "model", metric, *(f"{attribute} = {group}" for attribute, group in groups))
        rows = []
        for one in standings:
            cells = [f"{each.estimate:.3f}" for each in in_group_order(one.groups)]
            rows.append((f"{one.rank}{'=' if one.tied else ''}", one.model, _span(one), *cells))
        lines += ["", *_table(head, rows)]
    lines += ["", *_table(("metric", "pair", *CHANGES[2:]), [_pair_row(one) for one in found.overall[:MOST_LINES]])]
    if found.gaps:
        changed = [gap for gap in found.gaps if gap.verdict == "disparity" and not gap.mirrors]
        counted = len([gap for gap in found.gaps if not gap.mirrors])
        lines += ["", f"gaps against {found.models[0]}: {len(changed)} of {counted} changed"]
        rows = [(gap.b, *_gap_row(gap)) for gap in changed[:MOST_LINES]]
        lines += _table(("model", *GAPS), rows) if rows else []
    return lines


def _decision(sentences: Sequence[str]) -> list[str]:
    """A line for each sentence."""
    return [f"{'' if i else 'decision':8} {sentence}" for i, sentence in enumerate(sentences)]


def _unpaired_lines(unpaired: list[dict[str, Any]]) -> list[str]:
    lines = []
    for one in unpaired:
        if not one["unpaired"]:
            continue
        count = "1 row" if one["unpaired"] == 1 else f"{one['unpaired']:,} rows"
        some = ", ".join(one["keys"][:MOST_NAMED]) + (" …" if one["unpaired"] > MOST_NAMED else "")
        failed = f" ({one['failed_elsewhere']:,} without a prediction elsewhere)" if one["failed_elsewhere"] else ""
        lines.append(f"unpaired {count} of {one['name']} left out{failed}: {some}")
    return lines


CHANGES = ("metric", "who", "n", "old", "new", "difference and interval", "p adj.", "verdict")
GAPS = ("metric", "who", "n", "gap old", "gap new", "difference and interval", "p adj.", "verdict")


def _change_row(one: "Change") -> tuple[str, ...]:
    who = f"{one.attribute} = {one.group}" if one.attribute else "everyone"
    return (
        one.metric, who, f"{one.n:,}", _number(one.estimate_a), _number(one.estimate_b), _difference(one),
        _p(one.p_adjusted), one.verdict + (f" (by less than {one.delta:g})" if one.small and one.direction
                                           and one.verdict == one.direction else ""),
    )  # fmt: skip


def _pair_row(one: "Change") -> tuple[str, ...]:
    return (one.metric, f"{one.b} - {one.a}", *_change_row(one)[2:])


def _gap_row(gap: "Gap") -> tuple[str, ...]:
    who = f"{gap.attribute} = {gap.group}" + ("" if gap.versus == "rest" else f" - {gap.versus}")
    end = f"{gap.moved}, {gap.severity}" if gap.moved else ""
    return (
        gap.metric, who, f"{gap.n:,}", _signed(gap.gap_a), _signed(gap.gap_b), _difference(gap), _p(gap.p_adjusted),
        gap.verdict + (f" ({end})" if end else ""),
    )  # fmt: skip


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def _signed(value: float) -> str:
    return "" if value != value else f"{value:+.3f}"


def _difference(one: "Change | Gap") -> str:
    return "" if one.difference != one.difference else f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _span(one: Any) -> str:
    return f"{one.estimate:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _p(p: float) -> str:
    return "" if p != p else f"{p:.2g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return columns_of([tuple(head), *(tuple(row) for row in rows)])


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(compare)
    app.command()(leaderboard)
