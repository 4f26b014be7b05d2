"""`countenance audit`: compare groups of a run or of any table, and say what the evidence shows."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import (
    Adjust,
    Better,
    By,
    Choices,
    Cluster,
    Delta,
    Denominator,
    Depth,
    Families,
    Metrics,
    Ordered,
    Quiet,
    Where,
    by_name,
    cluster_of,
    names_of,
)
from countenance.cli.lines import Stopped, note, say
from countenance.cli.places import is_run
from countenance.cli.trust_options import Unverified, keep_audit
from countenance.errors import InputError
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.auditing import Audit, Finding
    from countenance.run import Run

MOST_LINES = 60
MOST_LEFT_OUT = 12


def audit(
    table: Annotated[
        Any,
        typer.Argument(
            help="A run (folder or s3://…), or any table of rows (.parquet, .csv, a folder or URL of .parquet files).",
            parser=place_of,
        ),
    ],
    by: By = None,
    metric: Metrics = None,
    truth: Annotated[str | None, typer.Option(help="Of a table with predictions: the column of the truth.")] = None,
    pred: Annotated[
        str | None, typer.Option(help="The column of predictions (classes, 0/1, yes/no, or numbers).")
    ] = None,
    score: Annotated[
        str | None, typer.Option(help="The column of scores: AUC and calibration; alone: the scoring rate (LL144).")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="The positive class, where its word does not say so.")] = None,
    cluster: Cluster = None,
    comparison: Annotated[str, typer.Option(help="rest, pairs, reference, spread or paired.")] = "rest",
    reference: Annotated[
        str | None, typer.Option(help="The group to compare with: its name, 'best' or 'largest'.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="Column(s) that match rows of a paired comparison.")] = None,
    where: Where = None,
    depth: Depth = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    delta: Delta = None,
    better: Better = None,
    denominator: Denominator = None,
    ordered: Ordered = None,
    poor: Annotated[float, typer.Option(help="Share of failures above which the summary begins with it.")] = 0.2,
    h0: Annotated[float, typer.Option(help="Effect (Cohen's h) above which a disparity is severe.")] = 0.2,
    power: Annotated[float, typer.Option(help="Power of the minimum detectable effect.")] = 0.8,
    min_n: Annotated[int, typer.Option(min=1, help="Fewest people (images, rows) a side must have.")] = 20,
    adjust: Adjust = "minp",
    families: Families = None,
    equity: Annotated[
        bool, typer.Option("--equity", help="Equity measures, with intervals and what a fair system would show.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of permutations.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write verdict, settings and findings here as JSON.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    pdf: Annotated[Path | None, typer.Option(help="Write the same report as PDF here.")] = None,
    unverified: Unverified = False,
    quiet: Quiet = False,
) -> None:
    """Compare groups: of a run, or of any table with a row per unit."""
    from countenance.auditing import audit as audit_table
    from countenance.auditing.parquet import SUFFIXES, fetched
    from countenance.auditing.source import Source
    from countenance.files import write_json
    from countenance.prediction_tables import prediction_table
    from countenance.report import write_pdf, write_report, write_table_pdf, write_table_report
    from countenance.run import Run, audit_run
    from countenance.run.ledger import noted
    from countenance.run.licences import of_manifest
    from countenance.scratch import temporary_folder

    check_writable([json, report, pdf])
    if pdf is not None and pdf.suffix.lower() != ".pdf":
        raise InputError(f"--pdf {pdf}: expected a name that ends in .pdf")
    choices = Choices.of(by, where, depth, delta, better, adjust, families)
    settings = {
        "cluster": cluster_of(cluster), "comparison": comparison, "reference": reference, "pair": names_of(pair),
        "depth": depth, "alpha": alpha, "delta": delta, "better": better, "h0": h0, "power": power, "min_n": min_n,
        "adjust": adjust, "families": choices.families, "seed": seed, "equity": equity, "poor": poor,
        "denominators": {name: column for name, (column, *_) in by_name(denominator, "--denominator").items()} or None,
    }  # fmt: skip
    if ordered:
        settings["ordered"] = by_name(ordered, "--ordered")
    if not is_run(table) and not table.exists():
        raise InputError(f"{table}: no such file or folder; give a run directory or a table (.parquet, .csv)")
    finished = Run(table, verified=not unverified) if is_run(table) and not _is_table(table) else None
    if finished is not None and (truth or pred or score):
        raise InputError(f"{table}: a run has its own metrics; --truth, --pred and --score are for tables")
    if finished is None and is_run(table) and (report or pdf) and not str(table).lower().endswith(SUFFIXES):
        raise InputError(f"{table}: several files; a page shows one: --report and --pdf need a single .parquet or .csv")
    with ExitStack() as stack:
        path = Path() if finished is not None else stack.enter_context(fetched(table))
        with shuffling(quiet) as progress:
            if finished is not None:
                found = noted(
                    finished, audit_run(finished, choices.by, names_of(metric), where, progress=progress, **settings)
                )
            elif truth or pred or score:
                prepared = prediction_table(
                    path, choices.by, names_of(metric), truth=truth, pred=pred, score=score, positive=positive,
                    settings=settings | {"where": where},
                )  # fmt: skip
                for text in prepared.notes:
                    note(text)
                folder = Path(stack.enter_context(temporary_folder("predictions")))
                path = prepared.write(folder / f"{Path(table).stem}.parquet")
                found = audit_table(
                    Source(path, label=str(table)), prepared.by, prepared.metrics, computed=prepared.computed,
                    progress=progress, **prepared.settings,
                )  # fmt: skip
            else:
                source = Source(path, label=str(table))
                found = audit_table(source, choices.by, names_of(metric), where=where, progress=progress, **settings)
        for line in lines_of(found):
            say(line)
        for caution in finished.cautions if finished is not None else ():
            say(f"note     {caution}")
        if json is not None:
            made = {} if finished is None else {"licences": of_manifest(finished.manifest)}
            write_json(json, found.to_dict() | made)
        if finished is not None:
            keep_audit(finished, found)
        if report is not None:
            page = write_report(finished, report) if finished is not None else write_table_report(path, found, report)
            say(f"report   {page.resolve()}")
        if pdf is not None:
            page = write_pdf(finished, pdf) if finished is not None else write_table_pdf(path, found, pdf)
            say(f"pdf      {page.resolve()}")


def _is_table(place: Path | str) -> bool:
    """Whether a folder or a URL holds Parquet files and no run."""
    from countenance.auditing.parquet import SUFFIXES
    from countenance.run.store import RunStore

    if str(place).lower().endswith(SUFFIXES):
        return True
    store = RunStore(place)
    return not store.exists() and any(one.name.lower().endswith(SUFFIXES) for one in store.storage.entries())


def check_writable(paths: Sequence[Path | None]) -> None:
    """Refuse a place that cannot be written before the work, not after it."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            what = "is a folder" if path.is_dir() else f"{path.parent} is no folder"
            raise InputError(f"{path}: cannot be written ({what})")


@contextmanager
def shuffling(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar for the permutations of an audit, shown from their first step; Ctrl-C stops without a trace."""
    from countenance.cli.progress import progress

    state: dict[str, object] = {"done": 0, "total": 0}
    with ExitStack() as stack:

        def step(done: int, total: int) -> None:
            if state["total"] != total:  # the stream of permutations has begun, or goes on
                stack.close()
                state["step"] = stack.enter_context(progress("permutations", total, quiet=quiet))
                state["total"], state["done"] = total, 0
            state["step"](done - int(str(state["done"])))  # type: ignore[operator]
            state["done"] = done

        try:
            yield step
        except KeyboardInterrupt:
            stack.close()
            say("stopped; nothing was written (--adjust holm needs no permutations)", err=True)
            raise Stopped from None


def lines_of(found: "Audit") -> list[str]:
    """An audit for a terminal: the verdict, what it rests on, the table of findings, and who was left out."""
    from countenance.auditing.headline import headline
    from countenance.report.names import in_group_order

    lines = [f"verdict  {found.verdict}", f"in short {headline(found)}", f"reason   {found.reason}"]
    lines += [*unit_lines(found), ""]
    shown = in_group_order([f for f in found.findings if f.depth == 1] or found.findings)
    permutations = found.settings["permutations"] if found.settings["adjust"] == "minp" else 0
    lines += _table(shown[:MOST_LINES], floor=1 / (permutations + 1) if permutations else 0.0)
    hidden = len(found.findings) - min(len(shown), MOST_LINES)
    if hidden:
        further = "1 further finding" if hidden == 1 else f"{hidden:,} further findings"
        lines.append(f"{further} (intersections): --json, findings.parquet or the report has them")
    return [*lines, *_left_out(found), *_equity_lines(found)]


def _equity_lines(found: "Audit") -> list[str]:
    """The equity measures as a table; what is undefined is said."""
    if not found.equity:
        return []
    head = ("attribute", "of", "measure", "value", "interval", "a fair system shows", "p")
    rows = [head]
    for one in found.equity:
        if one.undefined:
            rows.append((one.attribute, one.metric, one.measure, "undefined", "", "", ""))
        else:
            rows.append(
                (
                    one.attribute, one.metric, one.measure, f"{one.value:.3f}", f"[{one.low:.3f}, {one.high:.3f}]",
                    f"{one.fair:.3f}, 19 of 20 within {one.fair_limit:.3f}", f"{one.p:.2g}",
                )
            )  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    why = list(dict.fromkeys(one.undefined for one in found.equity if one.undefined))
    small = list(dict.fromkeys(f"{one.attribute} = {group}" for one in found.equity for group in one.left_out))
    left = [f"too small for equity measures: {', '.join(small[:MOST_LEFT_OUT])}"] if small else []
    return ["", "equity measures", *table, *(f"undefined {reason}" for reason in why), *left]


def unit_lines(found: "Audit") -> list[str]:
    """What was compared, by which unit, and how many comparisons were accounted for."""
    settings = found.settings
    lines = [f"unit     {settings['unit']}"]
    if settings["where"]:
        told = " and ".join(f"{name} = {' or '.join(values)}" for name, values in settings["where"].items())
        lines.append(f"where    {told}")
    lines.append(f"adjusted {adjustment(settings)}")
    lines += [f"note     {note}" for note in settings["notes"]]
    left = settings["not_compared"]
    unnamed = [str(entry["attribute"]) for entry in left if entry["why"] == "not named"]
    reasons = [f"{entry['attribute']} ({entry['why']})" for entry in left if entry["why"] != "not named"]
    if unnamed:
        more = f" and {len(unnamed) - MOST_LEFT_OUT} more" if len(unnamed) > MOST_LEFT_OUT else ""
        reasons.append(f"{', '.join(unnamed[:MOST_LEFT_OUT])}{more} (not named)")
    return lines + ([f"not compared: {'; '.join(reasons)}"] if reasons else [])


def adjustment(settings: dict[str, object]) -> str:
    """How many comparisons were accounted for, in words."""
    if settings["adjust"] == "minp":
        return f"by min-p over {settings['permutations']:,} joint permutations of the labels"
    names = {"holm": "Holm", "bh": "Benjamini and Hochberg (false discovery rate)"}
    why = f" ({settings['adjust_why']})" if settings["adjust_why"] else ""
    return f"by {names[str(settings['adjust'])]}{why}"


def _table(findings: list["Finding"], floor: float) -> list[str]:
    from countenance.auditing.verdict import p_words

    if not findings:
        return []
    head = ("metric", "attribute = group", "n", "estimate and interval", "versus", "difference", "p adj.", "verdict")
    rows = [head]
    for f in findings:
        said = f.direction if f.direction in ("worse", "better") else "differs" if f.severity else ""
        end = f"{f.severity}, {said}" if f.severity else ""
        rows.append(
            (
                f.measure, f"{f.attribute} = {f.group}", f.counted or f"{f.n:,}",
                f"{f.estimate:.3f} [{f.low:.3f}, {f.high:.3f}]" if f.n else "no units",
                f"{f.estimate_versus:.3f}" if f.n_versus else "no units",
                f"{f.difference:+.3f}" if f.difference == f.difference else "",
                p_words(f.p_adjusted, floor) if f.p_adjusted == f.p_adjusted else "",
                f.verdict + (f" ({end})" if end else ""),
            )
        )  # fmt: skip
    return columns_of(rows)


def columns_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose columns are as wide as their widest cell.

    >>> columns_of([("a", "bb"), ("ccc", "d")])
    ['a    bb', 'ccc  d']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _left_out(found: "Audit") -> list[str]:
    """Who was not compared; many intersections are counted."""
    from countenance.report.names import Names

    named, names = set(found.settings["named"]), Names.of(found)
    blocks = list(dict.fromkeys((left["metric"], left["attribute"]) for left in found.excluded))

    def place(left: dict[str, Any]) -> tuple[int, tuple[int, ...]]:
        return blocks.index((left["metric"], left["attribute"])), names.place(left["attribute"], left["group"])

    told, crossed = [], 0
    for left in sorted(found.excluded, key=place):
        if left["attribute"] in named:
            told.append(f"left out {left['attribute']} = {left['group']} (n = {left['n']:,}): {left['why']}")
        else:
            crossed += 1
    if crossed:
        word = "1 intersection is" if crossed == 1 else f"{crossed:,} intersections are"
        told.append(f"left out {word} too small to test: --json, findings.parquet or the report lists them")
    return told


def run_lines(finished: "Run", found: "Audit") -> list[str]:
    """The verdict on a run in five lines."""
    from countenance.auditing.headline import headline

    manifest = finished.manifest
    failed = f", {manifest['failed']} without an answer" if manifest["failed"] else ""
    counts = Counter(finding.verdict for finding in found.findings)
    tally = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    images = f"{manifest['dataset']['images']} images of {manifest['dataset']['card']['name']}{failed}"
    short = headline(found)
    if "have no answer, more than the limit" in found.reason:
        short = f"{found.reason.partition('. ')[0]}. {short}"
    return [
        f"verdict  {found.verdict}",
        f"in short {short}",
        f"model    {manifest['model']['name']} on {images}",
        f"unit     {found.settings['unit']}",
        f"findings {len(found.findings)}: {tally}; adjusted {adjustment(found.settings)}",
    ]
