"""Auditing a run: the statistics of `countenance.audit` on its score table, with what the run itself must say."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from countenance.audit import Audit, Finding, audit
from countenance.audit.attributes import NothingToCompare
from countenance.audit.parquet import ParquetFiles
from countenance.audit.settings import Settings, named, parse_better, parse_delta, parse_where
from countenance.audit.source import Source
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.licences import in_words, of_manifest
from countenance.run.run import Run
from countenance.run.store import AUDIT, FINDINGS
from countenance.storage import Missing
from countenance.tasks import Metric, load_task

TOO_MANY_FAILED = "insufficient evidence"
WHOLE, EVERYONE = "data", "everyone"
"""The one group of a run whose data has no attribute that makes groups."""


def metrics_of(run: Run) -> tuple[Metric, ...]:
    """The metrics as the run recorded them, or as its task says; none where neither is at hand."""
    if run.manifest.metrics is not None:
        names = Metric.__dataclass_fields__
        return tuple(
            Metric(**{n: v for n, v in told.model_dump().items() if n in names}) for told in run.manifest.metrics
        )
    try:
        return load_task(str(run.manifest["task"])).metrics
    except InputError:
        return ()


def default_metrics(run: Run) -> list[str]:
    """The task's headline metrics; all of them where it names none."""
    known = metrics_of(run)
    return [metric.name for metric in known if metric.headline] or [metric.name for metric in known]


def audit_run(
    run: Run,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    where: Any = None,
    **settings: Any,
) -> Audit:
    """Audit a run's scores by the attributes given (default: every one of text with 2 to 30 values, at depth 1).

    `where` keeps the rows whose attributes take one of the values named: twins that differ in their mask, paired
    with their base, are `where={"change": ["none", "mask"]}, comparison="paired", pair="base"`. Which way a metric is
    better comes from the task, unless `better` says otherwise.
    """
    by, metrics = named(by, "by"), named(metrics, "metrics")
    with run.store.score_paths() as paths:
        if paths is not None:
            with suppress(NothingToCompare):
                return _audit_files(run, ParquetFiles(tuple(paths)), by, metrics, where, **settings)
    scores = run.scores()
    measured = _measured(run, scores.column_names, by, metrics, where)
    rows = rows_about(scores, measured)
    try:
        return audit_source(run, Source(rows, label=run.place), by, measured, where, **settings)
    except NothingToCompare:
        # Nobody asked for a comparison, and the run is worth a page without one: a single group with its numbers.
        source = Source(with_everyone(rows), label=run.place)
        return audit_source(run, source, [WHOLE], measured, where, **settings)


def _audit_files(
    run: Run, files: ParquetFiles, by: Sequence[str] | None, metrics: Sequence[str] | None, where: Any, **settings: Any
) -> Audit:
    """Audit a run whose score table is too large to be read whole."""
    measured = _measured(run, files.schema.names, by, metrics, where)
    about = replace(files, about=tuple(f"m.{name}" for name in measured))
    return audit_source(run, Source(about, label=run.place), by, measured, where, **settings)


def _measured(
    run: Run, columns: Sequence[str], by: Sequence[str] | None, metrics: Sequence[str] | None, where: Any
) -> list[str]:
    """The metrics to audit; names of metrics and attributes that are not there are refused."""
    check_names(run.place, by, [name.removeprefix("attr.") for name in columns if name.startswith("attr.")], where)
    measured = list(metrics or default_metrics(run))
    known = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    if not measured:
        raise InputError(f"{run.place}: the run does not say its metrics; name some with --metric ({', '.join(known)})")
    for name in measured:
        if name not in known:
            raise InputError(f"{run.place}: no metric {name!r}{near(name, known)}; there are {', '.join(known)}")
    return measured


def audit_source(
    run: Run, source: Source, by: Sequence[str] | None, metrics: Sequence[str], where: Any = None, **settings: Any
) -> Audit:
    """Audit rows of a run that were read before, with what its task and its failures say."""
    told = {metric.name: metric.better for metric in metrics_of(run) if metric.name in metrics}
    settings["better"] = told | parse_better(settings.get("better"))
    common, named = parse_delta(settings.get("delta"))
    own = {metric.name: metric.delta for metric in metrics_of(run) if metric.name in metrics and metric.delta}
    if common is not None:  # the user's number for shares goes before what the task says of one, not of years
        own = {"": common} | {name: delta for name, delta in own.items() if delta >= 1}
    settings["delta"] = own | named
    return _with_failures(audit(source, by=by, metrics=metrics, where=where, **settings), run)


def with_everyone(rows: pa.Table) -> pa.Table:
    """The table with an attribute that has one group, everyone."""
    return rows.append_column(f"attr.{WHOLE}", pa.array([EVERYONE] * rows.num_rows, pa.string()))


def check_names(label: str, by: Sequence[str] | None, known: Sequence[str], where: Any = None) -> None:
    """Refuse attributes that are not there: those to compare by (with bins and intersections) and those of `where`."""
    for text in by or ():
        parts = [text] if text in known else [part.strip() for part in text.split("*")]
        for part in parts:
            name = part if part in known else part.rpartition(":")[0] or part
            if name not in known:
                raise InputError(f"{label}: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")
    for name in parse_where(where):
        if name not in known:
            raise InputError(f"{label}: where: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")


def rows_about(scores: Any, metrics: Sequence[str]) -> Any:
    """The rows that are about some of the metrics."""
    import pyarrow.compute as pc

    columns = [f"m.{name}" for name in metrics if f"m.{name}" in scores.column_names]
    keep = pc.is_valid(scores[columns[0]])
    for column in columns[1:]:
        keep = pc.or_(keep, pc.is_valid(scores[column]))
    return scores.filter(keep)


def _with_failures(found: Audit, run: Run) -> Audit:
    """A run with too many failures cannot say that nothing is wrong."""
    failed, asked = int(run.manifest["failed"]), int(run.manifest["dataset"]["images"])
    share = failed / asked
    if share <= float(run.manifest["max_failures"]):
        return found
    text = f"{failed} of {asked} images ({share:.1%}) have no answer, more than the limit of "
    text += f"{run.manifest['max_failures']:.1%}"
    (reason, times), *_ = Counter(run.failures()["reason"].to_pylist()).most_common(1)
    text += f"; {times} of them: {reason}"
    verdict = found.verdict if found.verdict == "disparity" else TOO_MANY_FAILED
    return found.model_copy(update={"verdict": verdict, "reason": f"{text}. {found.reason}"})


def store_audit(run: Run, found: Audit) -> None:
    """Write `findings.parquet` and `audit.json` into the run."""
    with run.store.replacing(FINDINGS, AUDIT):
        licences = of_manifest(run.manifest)
        table = found.to_arrow().replace_schema_metadata({"countenance.licences": in_words(licences)})
        run.store.write_table(FINDINGS, table)
        run.store.storage.write(AUDIT, to_json(found.model_dump(mode="json") | {"licences": licences}).encode())


def read_audit(run: Run) -> Audit:
    """The stored audit of a run."""
    try:
        content = json.loads(run.store.storage.read(AUDIT))
        for row in content["findings"]:
            row |= {name: math.nan for name in _NUMBERS if row.get(name) is None}
        for row in (*content.get("groups", []), *content.get("equity", [])):
            row |= {name: math.nan for name, value in row.items() if value is None}
        return Audit.model_validate(content)
    except Missing:
        raise InputError(f"{run.place}: has not been audited; `countenance audit {run.place}` does it") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{run.place}/{AUDIT}: damaged; `countenance audit {run.place}` writes it again") from None


_NUMBERS = [name for name, field in Finding.model_fields.items() if field.annotation is float]
"""JSON has no NaN: these fields of a finding are stored as null where there is no number."""


def audit_again(run: Run, settings: Mapping[str, Any]) -> Audit:
    """The audit of a run with all the settings of an earlier one."""
    known = {field.name for field in fields(Settings)} | {"equity"}
    kept = {name: value for name, value in settings.items() if name in known}
    if " else " in str(kept.get("cluster")):  # the text of an audit of an older edition
        kept["cluster"] = "auto"
    kept["adjust"] = settings.get("adjust_asked", kept.get("adjust", "minp"))
    for name in ("delta", "better"):  # a metric that nothing was known of has none
        if isinstance(kept.get(name), Mapping):
            kept[name] = {metric: value for metric, value in kept[name].items() if value is not None}
    by = None if settings["by"] == [WHOLE] else settings["by"]
    return audit_run(run, by, settings["metrics"], kept.pop("where", None) or None, **kept)
