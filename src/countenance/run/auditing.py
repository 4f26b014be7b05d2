"""Auditing a run: the statistics of `countenance.audit` on its score table, with what the run itself must say."""

import inspect
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.audit import Audit, Finding, audit
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.run import Run
from countenance.run.store import AUDIT, FINDINGS
from countenance.storage import Missing
from countenance.tasks import Metric, load_task

DEFAULT_ATTRIBUTES = ("skin_tone", "age_group", "gender")
TOO_MANY_FAILED = "insufficient evidence"


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
    by: list[str] | None = None,
    metrics: list[str] | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
    **settings: Any,
) -> Audit:
    """Audit a run's scores by the attributes given (default: skin tone, age group and gender where present).

    `where` keeps the rows whose attributes take one of the values named: twins that differ in their mask, paired
    with their base, are `where={"change": ["none", "mask"]}, comparison="paired", pair="base"`.
    """
    scores = run.scores()
    attributes = [name.removeprefix("attr.") for name in scores.column_names if name.startswith("attr.")]
    chosen = by if by is not None else [name for name in DEFAULT_ATTRIBUTES if name in attributes]
    if not attributes:
        raise InputError(
            f"{run.path}: the dataset has no attribute to compare by; add a column attr.NAME to its labels"
        )
    if not chosen:
        raise InputError(f"{run.path}: nothing to compare by; name attributes with --by ({', '.join(attributes)})")
    for name in chosen:
        if name not in attributes:
            raise InputError(
                f"{run.path}: no attribute {name!r}{near(name, attributes)}; there are {', '.join(attributes)}"
            )
    measured = metrics or default_metrics(run)
    known = [name.removeprefix("m.") for name in scores.column_names if name.startswith("m.")]
    if not measured:
        raise InputError(f"{run.path}: the run does not say its metrics; name some with --metric ({', '.join(known)})")
    for name in measured:
        if name not in known:
            raise InputError(f"{run.path}: no metric {name!r}{near(name, known)}; there are {', '.join(known)}")
    found = audit(_rows(scores, measured, where or {}, run), by=chosen, metrics=measured, **settings)
    return _with_failures(found, run)


def _rows(scores: Any, metrics: list[str], where: Mapping[str, Sequence[str]], run: Run) -> Any:
    """The rows that are about some of the metrics and that `where` keeps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [f"m.{name}" for name in metrics if f"m.{name}" in scores.column_names]
    if columns:
        keep = pc.is_valid(scores[columns[0]])
        for column in columns[1:]:
            keep = pc.or_(keep, pc.is_valid(scores[column]))
        scores = scores.filter(keep)
    for name, values in where.items():
        known = [column.removeprefix("attr.") for column in scores.column_names if column.startswith("attr.")]
        if name not in known:
            raise InputError(
                f"{run.path}: where: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}"
            )
        scores = scores.filter(pc.is_in(scores[f"attr.{name}"], pa.array(list(values))))
        if not scores.num_rows:
            raise InputError(f"{run.path}: where: no row has {name} = {' or '.join(values)}")
    return scores


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


def store_audit(run: Run, found: Audit) -> Path:
    """Write `findings.parquet` and `audit.json` into the run."""
    with run.store.replacing(FINDINGS, AUDIT):
        run.store.write_table(FINDINGS, found.to_arrow())
        run.store.storage.write(AUDIT, to_json(found.model_dump(mode="json")).encode())
    return run.path / FINDINGS


def read_audit(run: Run) -> Audit:
    """The stored audit of a run."""
    try:
        content = json.loads(run.store.storage.read(AUDIT))
        for row in content["findings"]:
            row |= {name: math.nan for name in _NUMBERS if row.get(name) is None}
        for row in content.get("groups", []):
            row |= {name: math.nan for name, value in row.items() if value is None}
        return Audit.model_validate(content)
    except Missing:
        raise InputError(f"{run.path}: has not been audited; `countenance audit {run.path}` does it") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{run.place}/{AUDIT}: damaged; `countenance audit {run.path}` writes it again") from None


_NUMBERS = [name for name, field in Finding.model_fields.items() if field.annotation is float]
"""JSON has no NaN: these fields of a finding are stored as null where there is no number."""


def audit_again(run: Run, settings: Mapping[str, Any]) -> Audit:
    """The audit of a run with all the settings of an earlier one."""
    known = inspect.signature(audit).parameters
    kept = {name: value for name, value in settings.items() if name in known and name not in ("table", "by", "metrics")}
    if " else " in str(kept.get("cluster")):
        kept["cluster"] = "auto"
    where = settings.get("where") or None
    return audit_run(run, settings["by"], settings["metrics"], where, **kept)
