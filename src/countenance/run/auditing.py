"""Audits a run: the statistics of `countenance.auditing` on its score table, with the run's own facts."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from countenance.auditing import Audit
from countenance.auditing.attributes import NothingToCompare
from countenance.auditing.audit import audited, work_of
from countenance.auditing.computation import Computation
from countenance.auditing.computed_groups import ComputedGroups
from countenance.auditing.parquet import ParquetFiles
from countenance.auditing.settings import AuditSettings, named, parse_better, parse_delta, parse_where
from countenance.auditing.source import NOTE, Source
from countenance.auditing.table import flat
from countenance.auditing.units import Units, nouns
from countenance.data.conditions import PREFIX
from countenance.data.tables import near
from countenance.decoding import first_line
from countenance.errors import InputError, RunError
from countenance.files import to_json
from countenance.person_columns import attribute_of
from countenance.run.file_names import AUDIT, FINDINGS
from countenance.run.licences import in_words, of_manifest
from countenance.run.missing import ANSWERED, unanswered
from countenance.run.named_tasks import registered_task, stored_metrics
from countenance.run.pair_equity import pair_equity
from countenance.run.run import Run
from countenance.run.stored_audit import checked_excluded, checked_settings
from countenance.scratch import temporary_folder
from countenance.storage import Missing
from countenance.tasks import Metric, metric_of
from countenance.tasks.results import AuditedRatio, Number

TOO_MANY_FAILED = "insufficient evidence"
WHOLE, EVERYONE = "data", "everyone"
"""The attribute and group of everybody, for a run whose data has no attribute that makes groups."""


def metrics_of(run: Run) -> tuple[Metric, ...]:
    """The metrics as the run recorded them, or from its task; empty where neither is available."""
    if run.manifest.metrics is not None:
        return stored_metrics(run.manifest)
    task = registered_task(run.manifest)
    return () if task is None else task.metrics


def default_metrics(run: Run) -> list[str]:
    """The task's headline metrics; all of them where it names none."""
    known = metrics_of(run)
    return [metric.name for metric in known if metric.headline] or [metric.name for metric in known]


def own_names(run: Run, metrics: Sequence[str]) -> list[str]:
    """The metrics under the names that the run's columns have, where a protocol published others."""
    names = {metric.published: metric.name for metric in metrics_of(run) if metric.published}
    columns = {metric.name for metric in metrics_of(run)}
    return list(dict.fromkeys(name if name in columns else names.get(name, name) for name in metrics))


def audit_run(
    run: Run,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    where: Any = None,
    **settings: Any,
) -> Audit:
    """Audit a run's scores by the attributes given (default: every one of text with 2 to 30 values, at depth 1).

    `where` keeps the rows whose attributes take one of the values named. Twins, pictures that differ from their base in
    one thing, are compared in pairs where the dataset's card says how (`paired_by`). Which way a metric is better comes
    from the task, unless `better` says otherwise; people of failed images are missing scores.
    """
    by, metrics = named(by, "by"), named(metrics, "metrics")
    conditions = AuditSettings(given=settings.get("given")).given_names
    with run.store.score_paths() as paths:
        if paths is not None:
            with suppress(NothingToCompare):
                files = ParquetFiles(tuple(paths))
                measured = _measured(run, files.schema.names, by, metrics, where, conditions)
                return audit_source(run, Source(files, label=run.place), by, measured, where, **settings)
    scores = run.scores()
    measured = _measured(run, scores.column_names, by, metrics, where, conditions)
    try:
        return audit_source(run, Source(scores, label=run.place), by, measured, where, **settings)
    except NothingToCompare:
        # No comparison was requested: the page shows a single group with its numbers.
        source = Source(with_everyone(scores), label=run.place)
        return audit_source(run, source, [WHOLE], measured, where, **settings)


def _measured(
    run: Run,
    columns: Sequence[str],
    by: Sequence[str] | None,
    metrics: Sequence[str] | None,
    where: Any,
    conditions: Any,
) -> list[str]:
    """The metrics to audit; unknown names of metrics and attributes are refused."""
    known = comparable(columns)
    check_names(run.place, by, known, where)
    check_names(run.place, conditions, known)
    measured = own_names(run, metrics or default_metrics(run))
    known = [name.removeprefix("m.") for name in columns if name.startswith("m.")]
    known += list(dict.fromkeys(groups.metric for groups in computed_of(run)))
    if metrics is None:  # metrics of groups alone need people to compare
        measured = [name for name in measured if name in known]
    if not measured:
        raise InputError(f"{run.place}: the run does not say its metrics; name some with metrics= ({', '.join(known)})")
    for name in measured:
        if name not in known:
            raise InputError(f"{run.place}: no metric {name!r}{near(name, known)}; there are {', '.join(known)}")
    return measured


def audit_source(
    run: Run, source: Source, by: Sequence[str] | None, metrics: Sequence[str], where: Any = None, **settings: Any
) -> Audit:
    """Audit rows of a run that were read before, with facts from its task, its dataset's card and its failures."""
    with work_of_run(run, source, by, metrics, where, **settings) as work:
        return audited_run(run, work, equity=bool(settings.get("equity")))


def audited_run(run: Run, work: Computation, *, equity: bool = False) -> Audit:
    """Make the comparisons of a run's rows and conclude, with its measures of pairs and a check of its failures."""
    audit = audited(work, equity=equity)
    audit = audit.model_copy(update={"settings": audit.settings | {"nouns": list(work.nouns)}})
    return _with_failures(_with_pairs(audit, run), run)


@contextmanager
def work_of_run(
    run: Run,
    source: Source,
    by: Sequence[str] | None,
    metrics: Sequence[str],
    where: Any = None,
    *,
    equity: bool = False,
    twins: bool = True,
    **settings: Any,
) -> Iterator[Computation]:
    """The computation of an audit of a run's rows, up to the first sum; `twins`: compare versions in pairs."""
    computed = [groups for groups in computed_of(run) if groups.metric in metrics]
    names = {groups.metric for groups in computed}
    columns = [name for name in metrics if name not in names]
    if not columns:
        raise InputError(
            f"{run.place}: rows do not have {', '.join(sorted(names))}; it is compared beside a metric that they have, "
            "so name one too"
        )
    described = metrics_of(run)
    known = [metric for name in metrics if (metric := metric_of(name, described)) is not None]
    stated = parse_better(settings.get("better"))
    settings["better"] = ({} if "" in stated else {metric.name: metric.better for metric in known}) | stated
    common, named = parse_delta(settings.get("delta"))
    own = {metric.name: metric.delta for metric in known if metric.delta}
    if common is not None:  # the user's number replaces the task's default for shares, but not a default in years
        own = {"": common} | {name: delta for name, delta in own.items() if delta >= 1}
    settings["delta"] = own | named
    with complete_rows(run, source, columns) as (rows, answered):
        options = _of_card(run, rows.names) | {"answered": answered}
        options |= {name: value for name, value in settings.items() if value is not None or name not in options}
        chosen = AuditSettings(where=where, **options if twins else options | {"paired_by": None})
        work = work_of(rows, by, columns, chosen, equity=equity, computed=computed)
        work.nouns = _nouns(work.rows.units, source)
        yield work


def _nouns(units: Units, source: Source) -> tuple[str, str]:
    """What the rows of a run are where each is a unit of its own: people if each has another identity, else images."""
    if units.codes or not units.ways:
        return units.nouns
    if "identity" in source.names:
        people = source.read([], ["identity"])["identity"]
        if people.null_count == 0 and len(people.cast("string").unique()) == len(people):
            return nouns(["identity"])
    return nouns(units.ways)


def computed_of(run: Run) -> list[ComputedGroups]:
    """The numbers of groups that the run's task computed for an audit, by metric and attribute."""
    numbers = [
        number for number in run.results() if isinstance(number, Number) and number.audited is not None and number.group
    ]
    blocks: dict[tuple[str, str], list[tuple[Number, AuditedRatio]]] = {}
    for number in numbers:
        if number.audited is not None and number.attribute:
            blocks.setdefault((number.audited.metric, number.attribute), []).append((number, number.audited))
    return [_computed(*key, block) for key, block in blocks.items()]


def _computed(metric: str, attribute: str, block: Sequence[tuple[Number, AuditedRatio]]) -> ComputedGroups:
    return ComputedGroups(
        metric,
        attribute,
        tuple(str(number.group) for number, _ in block),
        values=tuple(0.0 if number.bound else number.value for number, _ in block),
        errors=tuple(math.nan if number.bound else own.log_error for number, own in block),
        low=tuple(number.low for number, _ in block),
        high=tuple(number.high for number, _ in block),
        n=tuple(number.n for number, _ in block),
        people=tuple(own.people for _, own in block),
        weights=tuple(own.weight if math.isfinite(own.weight) else float(number.n) for number, own in block),
        better=block[0][0].better or None,
        largest=block[0][1].ratio,
    )


def _of_card(run: Run, columns: Sequence[str]) -> dict[str, Any]:
    """The attributes' properties in the dataset's card: which are ordered, which are people's, what is paired."""
    card = run.manifest.dataset.card
    paired = (
        card.paired_by if card.paired_by and all(_there(name, columns) for name in card.paired_by.values()) else None
    )
    return {
        "ordered": {name: attribute.ordered for name, attribute in card.attributes.items() if attribute.ordered},
        "roles": {name: attribute.role for name, attribute in card.attributes.items() if attribute.role},
        "paired_by": dict(paired) if paired else None,
    }


def _there(name: str, columns: Sequence[str]) -> bool:
    return f"attr.{name}" in columns or name in columns


@contextmanager
def complete_rows(run: Run, source: Source, metrics: Sequence[str]) -> Iterator[tuple[Source, dict[str, str]]]:
    """The rows that are about some of the metrics, with those of the people of failed images.

    Also returns, by metric, the column that says whether there was an answer.
    """
    described = metrics_of(run)
    chosen = [metric_of(name, described) or Metric(name, "", None) for name in metrics]
    types = {name: _plain(source.type_of(name)) for name in dict.fromkeys(source.names)}
    missing = unanswered(run, types, chosen, partial(_of_images, source), partial(_has_identities, source))
    flags = [column for column in missing.answered.values() if column in types]
    every = any(metric.answered == metric.name for metric in chosen)
    about = [] if every else list(dict.fromkeys([*(f"m.{name}" for name in metrics), *flags]))
    if type(source) is Source and source.parquet is not None:
        with _files(source.parquet, about, missing.rows) as files:
            yield Source(files, label=source.label), missing.answered
        return
    rows = rows_about(source, about)
    if missing.rows is not None:
        parts = [_whole_table(rows), _of_everyone(missing.rows)]
        rows = Source(pa.concat_tables(parts, promote_options="default"), label=source.label)
    yield rows, missing.answered


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _of_everyone(failed: pa.Table) -> pa.Table:
    """Rows of failed images, in the group of everyone where the table has one."""
    name = f"attr.{WHOLE}"
    if name not in failed.column_names or failed[name].null_count < failed.num_rows:
        return failed
    return failed.set_column(failed.column_names.index(name), name, pa.array([EVERYONE] * failed.num_rows, pa.string()))


@contextmanager
def _files(files: ParquetFiles, about: Sequence[str], failed: Any) -> Iterator[ParquetFiles]:
    """The files of a large score table, and a further file for the people of failed images."""
    if failed is None:
        yield replace(files, about=tuple(about))
        return
    with temporary_folder("failed") as folder:
        extra = folder / "failed.parquet"
        pq.write_table(failed, extra)
        further = [name for name in failed.column_names if name.startswith(ANSWERED)]
        yield ParquetFiles((*files.files, extra), tuple([*about, *further] if about else ()))


def _of_images(source: Source, metric: str) -> bool:
    """Whether the rows that have a metric are of images, not of people, as the first of these rows shows."""
    if "subject" not in source.names:
        return False
    column = f"m.{metric}"
    if type(source) is Source and source.parquet is not None:
        parts = source.parquet.dataset().to_batches(columns=[column, "subject"], filter=pc.field(column).is_valid())
        first = next((part for part in parts if part.num_rows), None)
        return first is not None and first.column("subject")[0].as_py() is None
    read = source.read([], [column, "subject"])
    place = pc.index(read[column].is_valid(), True).as_py()
    return bool(place >= 0) and read["subject"][place].as_py() is None


def _has_identities(source: Source) -> bool:
    """Whether any row has an identity."""
    if "identity" not in source.names:
        return False
    if type(source) is Source and source.parquet is not None:
        return bool(source.parquet.dataset().head(1, columns=[], filter=pc.field("identity").is_valid()).num_rows)
    identities = source.read([], ["identity"])["identity"]
    return bool(identities.null_count < len(identities))


def rows_about(source: Source, columns: Sequence[str]) -> Source:
    """The rows that have a value in some of the columns; all where none is named.

    >>> rows_about(Source({"m.a": [1, None], "m.b": [None, None]}), ["m.a", "m.b"]).read([], ["m.a"])["m.a"].to_pylist()
    [1]
    """
    there = [name for name in columns if name in source.names]
    if not there:
        return source
    keep = pc.is_valid(source.read([], [there[0]])[there[0]])
    for name in there[1:]:
        keep = pc.or_(keep, pc.is_valid(source.read([], [name])[name]))
    if pc.all(keep).as_py() is not False:
        return source
    return Source(_whole_table(source).filter(keep), label=source.label)


def _whole_table(source: Source) -> pa.Table:
    """Every column of a source, with the notes that were stored with them."""
    columns = {name: flat(column) for name, column in source.read([], list(dict.fromkeys(source.names))).items()}
    notes = {name: {NOTE: note} if (note := source.note_of(name)) else None for name in columns}
    fields = [pa.field(name, column.type, metadata=notes[name]) for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def _with_pairs(audit: Audit, run: Run) -> Audit:
    """An audit with equity measures that the task computed from pairs of people, if equity was requested."""
    pairs = (
        pair_equity(run, audit.settings["by"]) if audit.settings.get("equity") and not audit.settings["where"] else []
    )
    return audit.model_copy(update={"equity": [*pairs, *audit.equity]}) if pairs else audit


def with_everyone(rows: pa.Table) -> pa.Table:
    """The table with an attribute that has one group, everyone."""
    return rows.append_column(f"attr.{WHOLE}", pa.array([EVERYONE] * rows.num_rows, pa.string()))


def comparable(columns: Sequence[str]) -> list[str]:
    """The attributes of a score table, and the measured conditions of its pictures.

    >>> comparable(["sample", "attr.age", "img.brightness", "m.found"])
    ['age', 'img.brightness']
    """
    return [name.removeprefix("attr.") for name in columns if name.startswith(("attr.", PREFIX))]


UNLABELLED = (
    "; no attribute of its people is known; a column {name} of attributes.csv beside the pictures, or of the table of "
    "labels, adds it"
)


def check_names(label: str, by: Sequence[str] | None, known: Sequence[str], where: Any = None) -> None:
    """Refuse unknown attributes: those to compare by (with bins and intersections) and those of `where`."""
    for text in by or ():
        parts = [text] if text in known else [part.strip() for part in text.split("*")]
        for part in parts:
            name = part if part in known else part.rpartition(":")[0] or part
            if attribute_of(name, known) is None:
                raise InputError(
                    f"{label}: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}"
                    f"{'' if any(not it.startswith(PREFIX) for it in known) else UNLABELLED.format(name=name)}"
                )
    for name in parse_where(where):
        if attribute_of(name, known) is None:
            raise InputError(f"{label}: where: no attribute {name!r}{near(name, known)}; there are {', '.join(known)}")


def _with_failures(audit: Audit, run: Run) -> Audit:
    """The audit; if too many images failed, its reason says so and a verdict other than a disparity is replaced."""
    failed, images = int(run.manifest["failed"]), int(run.manifest["dataset"]["images"])
    share = failed / images
    if share <= float(run.manifest["max_failures"]):
        return audit
    text = f"{failed} of {images} images ({share:.1%}) have no answer, more than the limit of "
    text += f"{run.manifest['max_failures']:.1%}"
    (reason, times), *_ = Counter(run.failures()["reason"].to_pylist()).most_common(1)
    text += f"; {times} of them: {reason}"
    verdict = audit.verdict if audit.verdict == "disparity" else TOO_MANY_FAILED
    return audit.model_copy(update={"verdict": verdict, "reason": f"{text}. {audit.reason}"})


def store_audit(run: Run, audit: Audit, question: str = "") -> None:
    """Write `findings.parquet` and `audit.json` into the run, with the hash of what was asked (`question_of`)."""
    with run.store.replacing(FINDINGS, AUDIT):
        licences = of_manifest(run.manifest)
        table = audit.to_arrow().replace_schema_metadata({"countenance.licences": in_words(licences)})
        run.store.write_table(FINDINGS, table)
        content = audit.to_dict(groups=True) | {"licences": licences, "question": question}
        run.store.storage.write(AUDIT, to_json(content).encode())


def read_audit(run: Run) -> Audit:
    """The stored audit of a `run`, as its report shows it; RunError for a run that was not audited.

    >>> import countenance as ct
    >>> run = ct.evaluate("haar", "face_localization", "people:portraits", limit=20)
    >>> stored = run.audit(by=["gender"])
    >>> ct.read_audit(run).verdict == stored.verdict
    True
    """
    if run.unstored is not None:
        return run.unstored
    damaged = RunError(f"{run.place}/{AUDIT}: damaged; `countenance audit {run.place}` writes it again")
    try:
        content = run.store.audit()
    except Missing:
        raise RunError(f"{run.place}: has not been audited; `countenance audit {run.place}` does it") from None
    except RunError:
        raise
    except (InputError, ValueError, TypeError):
        raise damaged from None
    try:
        checked = {
            "settings": checked_settings(content["settings"]),
            "excluded": checked_excluded(content["excluded"]),
        }
        return Audit.from_dict(content | checked).of(run)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise damaged from None


def audit_again(run: Run, settings: Mapping[str, Any]) -> Audit:
    """The audit of a run with all the settings of an earlier one; InputError where those are damaged."""
    try:
        settings = checked_settings(settings)
        by, metrics = settings["by"], settings["metrics"]
    except (ValueError, KeyError) as error:
        raise RunError(f"{run.place}/{AUDIT}: damaged settings ({first_line(error)})") from None
    known = {*AuditSettings.names(), "equity"}
    known_settings = {name: value for name, value in settings.items() if name in known}
    if " else " in str(known_settings.get("cluster")):  # the text of an audit of an older edition
        known_settings["cluster"] = "auto"
    known_settings["adjust"] = settings.get("adjust_asked", known_settings.get("adjust", "minp"))
    if isinstance(known_settings.get("delta"), Mapping):  # an unknown metric has no declaration
        known_settings["delta"] = {
            metric: value for metric, value in known_settings["delta"].items() if value is not None
        }
    for name in ("answered", "ordered", "roles", "paired_by"):  # the run and its card supply these
        known_settings.pop(name, None)
    return audit_run(
        run, None if by == [WHOLE] else by, metrics, known_settings.pop("where", None) or None, **known_settings
    )
