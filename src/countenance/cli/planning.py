"""`countenance plan` and `calibration`: how many people a study needs, what gaps data can show, how verdicts held."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.audit_options import By, Metrics, attributes_of, audit_arguments, only_metric
from countenance.cli.lines import note, say, width
from countenance.cli.settings import only
from countenance.cli.shared_options import Json
from countenance.cli.tables import fitted
from countenance.errors import InputError
from countenance.settings import AuditFields


class StatisticKind(StrEnum):
    """The statistic of a study without data."""

    rate = "rate"
    mean = "mean"


def _statistic(kind: StatisticKind, metric: str | None) -> str:
    """The statistic of a study without data; the former option --metric is read with a note."""
    if metric is None:
        return kind.value
    if metric not in list(StatisticKind):
        raise InputError(f"--metric {metric}: name the run or table that has it with --source")
    note(f"without --source, --metric {metric} is now called --kind {metric}; both are read")
    return metric


def plan(
    fields: Annotated[AuditFields, only("alpha", "power", "where", "cluster", "delta", "adjust")],
    metric: Metrics = None,
    kind: Annotated[StatisticKind, typer.Option(help="What a plan without --source is about.")] = StatisticKind.rate,
    rate: Annotated[float, typer.Option(help="The expected rate of the other groups.")] = 0.95,
    effect: Annotated[
        str | None,
        typer.Option(
            help="The gap to see: diff=.05, Cohen's h=.2 or, for a mean, d=.3 (default: h=.2 or, with --source, delta)."
        ),
    ] = None,
    groups: Annotated[int, typer.Option(min=2, max=1_000_000, help="How many groups are compared.")] = 2,
    cluster_deff: Annotated[
        float | None, typer.Option(min=1, max=1e6, help="Design effect of rows that share a person.")
    ] = None,
    rows_per_person: Annotated[float, typer.Option(min=1, max=1e6, help="Rows that each person has.")] = 1.0,
    icc: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Correlation of the rows of one person (instead of --cluster-deff)."),
    ] = None,
    sd: Annotated[float, typer.Option(help="Standard deviation of the rows, in the units of the mean.")] = 1.0,
    source: Annotated[
        Path | None, typer.Option(help="A run directory or table; says how small a gap it can show.")
    ] = None,
    by: By = None,
) -> None:
    """Say how many people or rows each group of a study needs, or how small a gap the data at hand can show."""
    from countenance.auditing import plan as make_plan

    if source is None:
        statistic = _statistic(kind, metric)
        study = make_plan(
            metric=statistic,
            rate=rate,
            effect=effect or ("h=.2" if statistic == "rate" else "d=.2"),
            groups=groups,
            deff=cluster_deff,
            rows_per_unit=rows_per_person,
            icc=icc,
            alpha=fields.alpha,
            power=fields.power,
            sd=sd,
        )
        say(study.reason)
        return
    from countenance.auditing import plan_for
    from countenance.auditing.source import Source
    from countenance.table_files import is_plain, table_columns

    table = source / "scores.parquet" if source.is_dir() else source
    if not table.exists():
        raise InputError(f"{table}: no such file; give a run directory or a table (.parquet, .csv)")
    opened = Source(table if is_plain(table) else table_columns(table), label=str(table))
    rows = plan_for(opened, attributes_of(by), only_metric(metric), effect=effect, **audit_arguments(fields))
    if not rows:
        say("no group can be tested: the table has no units of this metric")
    for row in rows:
        say(line_of(row, fields.power))


def line_of(row: dict[str, object], power: float) -> str:
    """One group: how many there are, the smallest gap that they show, and how many more are needed."""
    unit, units, count = str(row["unit"]), str(row["units"]), int(str(row["clusters"]))
    people = f"{count:,} {unit if count == 1 else units}"
    rows = "" if units == "rows" else f" ({row['n']:,} row{'' if row['n'] == 1 else 's'})"
    versus = "everyone else" if row["versus"] == "rest" else row["versus"]
    seen = float(str(row["mde_difference"]))
    gap = f"a gap of {seen:.3g}" if seen == seen else "no gap, however large,"
    line = f"{row['attribute']} = {row['group']} against {versus}: {people}{rows} show {gap} with {power:.0%} power"
    target = (
        f"{float(str(row['target'])):g}" if row["target_name"] == "delta" else f"{row['target_name']}={row['target']:g}"
    )
    if row["sees"]:
        return f"{line}. That is enough for {target}."
    if row["more"] is None:
        return f"{line}. How many more {target} needs cannot be said."
    more = int(str(row["more"]))
    both = ", and the same share more on the other side" if row["both_sides"] else ""
    return f"{line}. {target} needs about {more:,} more {unit if more == 1 else units}{both}."


def calibration(
    near: Annotated[str | None, typer.Option(help="A run: only the lines nearest to its sizes.")] = None,
    json: Json = None,
) -> None:
    """Show how often verdicts, intervals and sample sizes were right on simulated data whose truth is known."""
    from countenance.calibration_table import calibration as lines_near
    from countenance.calibration_table import calibration_hash
    from countenance.files import write_json
    from countenance.run import Run
    from countenance.run.auditing import read_audit

    audit = None if near is None else read_audit(Run(near))
    lines = lines_near(audit)
    rows = [("kind", "promised", "came out", "people", "groups", "simulated")]
    rows += [
        (
            line.kind,
            f"{line.nominal:g}",
            f"{line.value:.3f} ± {line.se:.3f}",
            f"{line.n:,}" if line.n else "",
            f"{line.groups}" if line.groups else "",
            f"{line.surface}, {line.process}",
        )
        for line in lines
    ]
    for text in fitted(rows, width()):
        say(text)
    say(f"table    {calibration_hash()}")
    if json is not None:
        write_json(json, {"lines": [line.model_dump() for line in lines]})


def register(app: typer.Typer) -> None:
    """Put these commands at the top level."""
    app.command()(plan)
    app.command()(calibration)
