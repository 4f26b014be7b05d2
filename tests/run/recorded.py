"""`record`: scores that a program computed by itself, stored as a run like any other.

For protocols whose truth or predictions do not come one image at a time. Where they do, `evaluate` with
`predictions:FILE` is the better way: it also says which images failed and why.
"""

import datetime
import hashlib
import itertools
import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.answers import Answer
from countenance.errors import InputError
from countenance.run.file_names import AUDIT, FAILURES, FINDINGS, JOURNAL, LOCAL, PAGES, REPORT, SCORES, SHARDS, WORK
from countenance.run.manifest import DamagedManifest, Manifest, Place, located, published_command
from countenance.run.plan import bare, versions
from countenance.run.rows import failure_table
from countenance.run.run import Run
from countenance.run.store import RunStore
from countenance.tasks.reduce import Reduced
from countenance.tasks.results import Result

SHARD = 256
"""Images whose predictions are stored in one file."""


def record(
    place: Path | str,
    manifest: Manifest,
    scores: Any,
    *,
    results: Iterable[Result] = (),
    answers: Iterable[tuple[str, Answer]] = (),
    kind: type[Any] | None = None,
    failures: Sequence[Mapping[str, Any]] = (),
    notes: Iterable[str] = (),
    replace: bool = False,
) -> Run:
    """Store a finished evaluation as a run and return it.

    `manifest` says what was evaluated: task, metrics, model, dataset (`source` with its path), options, suite, about.
    What every run has (key, versions, command, time, counts) is filled in. `scores` is the score table (Arrow) or a
    list of rows with `sample`, `subject`, `identity`, `attr.*` and `m.*`; `answers` are the predictions by sample, all
    of the type `kind` (that of the first), stored as they come; `failures` come from `failure_row`. Another run at the
    place is kept beside it under another name unless `replace` is set, the same one is written again. Purge can
    compute `results` again when the task can be loaded and reduces.

    >>> import tempfile
    >>> from countenance.data.card import DatasetCard
    >>> from countenance.models import ModelCard
    >>> from countenance.run.manifest import DatasetRecord, MetricRecord
    >>> manifest = Manifest(
    ...     task="mine", metrics=[MetricRecord(name="right")], model=ModelCard(name="m"),
    ...     dataset=DatasetRecord(card=DatasetCard(name="d")),
    ... )
    >>> rows = [{"sample": "a.jpg", "subject": "a", "identity": "ann", "attr.age": "young", "m.right": 1.0}]
    >>> record(tempfile.mkdtemp(), manifest, rows).scores().num_rows
    1
    """
    table = scores_table(scores)
    store = RunStore(place)
    manifest = _completed(manifest, table, failures, notes)
    prepare_place(store, manifest, replace=replace)
    attributes = {name.removeprefix("attr."): "string" for name in table.column_names if name.startswith("attr.")}
    source = manifest.dataset.source
    manifest.dataset = manifest.dataset.model_copy(update={"source": bare(source)})
    with store.storage.hold():
        for name in (FINDINGS, AUDIT, REPORT, PAGES):  # they rest on the scores
            store.storage.delete(name)
        store.write_manifest(manifest.model_copy(update={"status": "running"}))
        store.write_local(Place(source=located(source), command=shlex.join(sys.argv)), manifest)
        _store_answers(store, kind, answers, table, failures)
        store.write_table(SCORES, table)
        store.write_table(FAILURES, failure_table(failures, attributes))
        store.write_results(Reduced(list(results)))
        store.write_manifest(manifest)
        store.seal()
        for entry in store.storage.entries(WORK):
            store.storage.delete(entry.name)
    return Run(place)


def _store_answers(
    store: RunStore, kind: type[Any] | None, answers: Iterable[tuple[str, Answer]], table: Any, failures: Sequence[Any]
) -> None:
    """Store predictions shard by shard, so that a run's predictions need not fit into memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stream = iter(answers)
    block = list(itertools.islice(stream, SHARD))
    if not block and kind is None:
        return
    for entry in store.storage.entries(SHARDS):
        store.storage.delete(entry.name)
    store.sweep({})  # predictions of an earlier record
    number = 0
    while block:
        kind = kind or type(block[0][1])
        rows = table.filter(pc.is_in(table["sample"], pa.array([sample for sample, _ in block], pa.string())))
        store.commit(number, kind, block, rows, [] if number else [dict(row) for row in failures])
        number, block = number + 1, list(itertools.islice(stream, SHARD))


def scores_table(scores: Any) -> Any:
    """Rows as an Arrow table whose first columns are sample, subject and identity; a table is checked for them."""
    import pyarrow as pa

    if not hasattr(scores, "column_names"):
        if not scores:
            raise InputError("no row was scored, so there is no run to record")
        names = dict.fromkeys(["sample", "subject", "identity", *(name for row in scores for name in row)])
        scores = pa.table({name: pa.array([row.get(name) for row in scores]) for name in names})
    if "sample" not in scores.column_names:
        raise InputError(f"a score table needs a column sample; it has {', '.join(scores.column_names)}")
    for name in ("sample", "subject", "identity"):
        if name not in scores.column_names:
            scores = scores.append_column(name, pa.nulls(scores.num_rows, pa.string()))
    first = ["sample", "subject", "identity"]
    scores = scores.select([*first, *(name for name in scores.column_names if name not in first)])
    kinds = [pa.string() if field.name in first else _kind(field) for field in scores.schema]
    return scores.cast(pa.schema(list(zip(scores.column_names, kinds, strict=True))))


def _kind(field: Any) -> Any:
    """Metrics are numbers; an attribute without any value is a word that nobody has."""
    import pyarrow as pa

    if field.name.startswith("m."):
        return pa.float64()
    return pa.string() if pa.types.is_null(field.type) else field.type


def _completed(manifest: Manifest, table: Any, failures: Sequence[Mapping[str, Any]], notes: Iterable[str]) -> Manifest:
    seen = {*table["sample"].unique().to_pylist(), *(row["sample"] for row in failures)}
    asked = [
        manifest.countenance,
        manifest.suite,
        manifest.task,
        manifest.options,
        manifest.model.name,
        manifest.model.content,
        manifest.dataset.fingerprint,
        manifest.seed,
        manifest.limit,
        manifest.about,
    ]
    return manifest.model_copy(
        update={
            "key": manifest.key or hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest(),
            "status": "complete",
            "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "failed": len(failures),
            "versions": manifest.versions or versions(),
            "command": manifest.command or published_command(),
            "cores": os.cpu_count(),
            "notes": [*manifest.notes, *notes],
            "dataset": manifest.dataset.model_copy(update={"images": manifest.dataset.images or len(seen)}),
        }
    )


def prepare_place(store: RunStore, manifest: Manifest, *, replace: bool = False) -> None:
    """Make sure that the place is new or holds this very run; another run is moved aside.

    `replace`: an earlier run of the same suite, task and model is replaced.
    """
    names = [entry.name for entry in store.storage.entries() if entry.name != LOCAL]
    if not names:
        return
    if not store.exists():
        raise InputError(f"{store.place}: exists and holds no run; name a folder that is new or empty")
    if JOURNAL in names:
        raise InputError(f"{store.place}: a purge was interrupted; `countenance purge` goes on with it")
    try:
        held = store.manifest()
    except DamagedManifest:
        store.move_aside()
        return
    same = (held.suite, held.task, held.model.name) == (manifest.suite, manifest.task, manifest.model.name)
    if not (replace and same) and (held.key != manifest.key or held.withdrawn):
        store.move_aside()
