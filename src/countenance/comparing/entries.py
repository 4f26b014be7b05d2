"""The sides of a comparison: runs and tables of scores, each with its name, columns and properties of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from countenance.auditing.source import Source
from countenance.data.image import same_pixels
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.run import Run
from countenance.run.auditing import default_metrics, metrics_of, own_names
from countenance.run.licences import of_manifest
from countenance.run.manifest import DatasetRecord
from countenance.run.suite import suite_of
from countenance.table_files import is_plain, table_columns

RUN_KEYS = ("sample", "subject")
"""The columns that identify a row of a run, or of a table that has them."""


@dataclass(frozen=True)
class ComparedModel:
    """One side of a comparison."""

    name: str
    source: Source
    run: Run | None = None
    better: dict[str, str | None] = field(default_factory=dict)
    delta: dict[str, float] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """The metrics to compare unless some are named: a run's headline metrics, a table's columns `m.*`."""
        if self.run is not None:
            return [name for name in default_metrics(self.run) if f"m.{name}" in self.source.names]
        return [name.removeprefix("m.") for name in self.source.names if name.startswith("m.")]

    @property
    def date(self) -> str:
        """When a run finished or a table's file was last changed; empty for a table in memory."""
        if self.run is not None:
            return self.run.manifest.finished or ""
        if self.source.path is None:
            return ""
        return datetime.fromtimestamp(self.source.path.stat().st_mtime, UTC).isoformat(timespec="seconds")

    @property
    def licences(self) -> dict[str, str]:
        """The licences of what made a run; empty for a table."""
        return {} if self.run is None else of_manifest(self.run.manifest)

    @property
    def suite(self) -> str:
        """The suite that made a run; empty for a run without one and for a table."""
        return "" if self.run is None else self.run.manifest.suite or ""

    @property
    def remark(self) -> str:
        """What its suite says of a run in a few words; empty for a run without a remark and for a table."""
        suite = None if self.run is None else suite_of(self.run)
        return "" if self.run is None or suite is None else suite.remark(self.run)

    @property
    def task(self) -> str:
        """The task of a run; empty for a table."""
        return "" if self.run is None else self.run.manifest.task

    @property
    def nouns(self) -> dict[str, str]:
        """The names that a run's task gives its metrics, where it has its own."""
        known = metrics_of(self.run) if self.run is not None else ()
        return {metric.name: metric.noun for metric in known if metric.noun}

    @property
    def failed(self) -> set[str]:
        """The samples of a run that have no prediction."""
        if self.run is None or not self.run.manifest.failed:
            return set()
        return set(map(str, self.run.failures()["sample"].to_pylist()))


def entries_of(runs_or_tables: Sequence[Any], names: Sequence[str] | None = None) -> list[ComparedModel]:
    """Open runs (folders or `Run`) and tables (paths or in memory); no two entries may have the same name."""
    if len(runs_or_tables) < 2:
        raise InputError("compare: expected two or more runs or tables")
    opened = [_open(source) for source in runs_or_tables]
    kinds = {run is not None for _, run in opened}
    if len(kinds) > 1:
        raise InputError("compare: found runs and tables together, expected all runs or all tables (scores.parquet)")
    if names is not None and len(names) != len(runs_or_tables):
        raise InputError(f"names: found {len(names)} for {len(runs_or_tables)} runs or tables, expected one for each")
    called = list(names) if names is not None else _names(runs_or_tables, [run for _, run in opened])
    if twice := [name for name in called if called.count(name) > 1]:
        raise InputError(f"names: {twice[0]!r} names two of the runs or tables; give each its own name")
    entries = []
    for name, (source, run) in zip(called, opened, strict=True):
        directions = metrics_of(run) if run is not None else ()
        records = run.manifest.metrics or [] if run is not None else []
        delta = {record.name: record.delta for record in records if record.delta is not None}
        entries.append(ComparedModel(name, source, run, {metric.name: metric.better for metric in directions}, delta))
    check_alike(entries)
    return entries


def _open(entry: Any) -> tuple[Source, Run | None]:
    if isinstance(entry, str | Path):
        path = Path(entry)
        if "://" not in str(entry) and not path.exists():
            raise InputError(f"{entry}: no such file or folder; give run directories or tables (.parquet, .csv)")
        if "://" not in str(entry) and not path.is_dir():
            return Source(path if is_plain(path) else table_columns(path), label=str(path)), None
        entry = Run(entry)
    if isinstance(entry, Run):
        entry.require_complete()
        return Source(entry.scores(), label=entry.place), entry
    return Source(entry), None


def _names(runs_or_tables: Sequence[Any], runs: Sequence[Run | None]) -> list[str]:
    """The models' names where they differ, else those of folders and files, else letters."""
    models = [run.model_label for run in runs if run is not None]
    if len(models) == len(runs_or_tables) == len(set(models)):
        return models
    places = [
        Path(str(run.place if run is not None else source))
        if run is not None or isinstance(source, str | Path)
        else None
        for source, run in zip(runs_or_tables, runs, strict=True)
    ]
    for part in (lambda p: p.stem, lambda p: p.parent.name, lambda p: f"{p.parent.name}/{p.stem}", str):
        parts = [part(place) if place is not None else "" for place in places]
        if all(parts) and len(set(parts)) == len(parts):
            return parts
    return [chr(ord("A") + i) if i < 26 else f"model {i + 1}" for i in range(len(runs_or_tables))]


def check_alike(entries: Sequence[ComparedModel]) -> None:
    """Refuse runs of different tasks, data or decoders, naming the difference."""
    first = entries[0]
    for other in entries[1:]:
        if first.run is None or other.run is None:
            continue
        manifest_a, manifest_b = first.run.manifest, other.run.manifest
        prints = (manifest_a.dataset.fingerprint, manifest_b.dataset.fingerprint)
        same_data = (
            prints[0] == prints[1] if all(prints) else manifest_a.dataset.card.name == manifest_b.dataset.card.name
        )
        same_data = same_data and _same_pictures(manifest_a.dataset, manifest_b.dataset)
        options_a, options_b = _options_of_rows(first.run), _options_of_rows(other.run)
        checks = [
            ("task", manifest_a.task, manifest_b.task, manifest_a.task == manifest_b.task, "compare runs of one task"),
            (
                "options of the task",
                _options(options_a, options_b),
                _options(options_b, options_a),
                options_a == options_b,
                "evaluate both with the same options",
            ),
            ("data", _data(manifest_a.dataset), _data(manifest_b.dataset), same_data, "evaluate both on the same data"),
            (
                "decoder",
                manifest_a.decoder or "not recorded",
                manifest_b.decoder or "not recorded",
                same_pixels(manifest_a.decoder, manifest_b.decoder) or not (manifest_a.decoder and manifest_b.decoder),
                "evaluate both in one environment, so that both models see the same pixels",
            ),
        ]
        for what, here, there, same, remedy in checks:
            if not same:
                raise InputError(
                    f"{other.run.place}: {what} {there} where {first.run.place} has {here}: not comparable; {remedy}"
                )


def _same_pictures(first: DatasetRecord, second: DatasetRecord) -> bool:
    """Whether two runs read the same pictures; True where that is not known, as saved predictions need no picture."""
    same_images = first.images == second.images and first.remaining[-1:] == second.remaining[-1:]
    known = first.pictures and second.pictures and same_images
    return first.pictures == second.pictures if known else True


def _options_of_rows(run: Run) -> dict[str, Any]:
    """The options of a run's task that its rows depend on."""
    task = run.task()
    options = run.manifest.options
    return options if task is None or task.options is None else type(task.options).of_rows(options)


def _options(options: dict[str, Any], others: dict[str, Any]) -> str:
    """The options of one run that another lacks or has with another value, as text."""
    differing = [name for name in sorted(options) if name not in others or options[name] != others[name]]
    return ", ".join(f"{name}={options[name]}" for name in differing) or "none"


def _data(record: Any) -> str:
    fingerprint = f" ({record.fingerprint[:12]})" if record.fingerprint else ""
    return f"{record.card.name}{fingerprint}"


def common_metrics(entries: Sequence[ComparedModel], metrics: Sequence[str] | None) -> list[str]:
    """The metrics to compare: those named, or those of the first entry that all entries have."""
    if metrics is not None:
        listed = list(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))
        if not listed:
            raise InputError("metrics: nothing named, expected at least one column")
        if entries[0].run is not None:
            listed = own_names(entries[0].run, listed)
        for entry in entries:
            for name in listed:
                entry.source.resolve(name, "m.", "metric")
        return listed
    shared = [
        name
        for name in entries[0].metrics
        if all(f"m.{name}" in entry.source.names or name in entry.source.names for entry in entries)
    ]
    if shared:
        return shared
    columns = [name for name in entries[0].source.names if entries[0].source.kind(name) in ("number", "boolean")]
    choices = f" (columns of numbers: {', '.join(columns[:12])})" if columns else ""
    raise InputError(f"{entries[0].source.label}: name the metrics to compare (metrics=){choices}")


def key_columns(entries: Sequence[ComparedModel], pair: str | Sequence[str] | None) -> list[str]:
    """The columns that identify rows: those named, else sample and subject where all entries have them."""
    if pair is not None:
        listed = list(dict.fromkeys([pair] if isinstance(pair, str) else pair))
        if not listed:
            raise InputError("pair: nothing named, expected at least one column")
        for entry in entries:
            for name in listed:
                entry.source.resolve(name, "attr.", "pair column")
        return listed
    keys = [name for name in RUN_KEYS if all(name in entry.source.names for entry in entries)]
    if keys and keys[0] == RUN_KEYS[0]:
        return keys
    shared = [name for name in entries[0].source.names if all(name in entry.source.names for entry in entries[1:])]
    texts = [name for name in shared if entries[0].source.kind(name) in ("text", "number")]
    likely = near("id", texts) if texts else ""
    raise InputError(
        f"{entries[0].source.label}: no column sample says which rows belong together; name the column(s) with pair= "
        f"(columns that all have: {', '.join(texts[:12]) or 'none'}){likely}"
    )
