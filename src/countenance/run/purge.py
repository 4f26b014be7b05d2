"""Withdrawn consent: remove people from a run and make everything again that rests on them.

Every image in which a withdrawn person appears goes, with its predictions, its scores and its pictures, because a
prediction about an image is a prediction about everybody in it. The work is written into a journal first, so that a
purge that was killed goes on when it is called again. What was sent elsewhere cannot be recalled.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.around import forget_beside
from countenance.run.auditing import audit_again, store_audit
from countenance.run.marker import Marker
from countenance.run.plan import hashed_id
from countenance.run.run import Run
from countenance.run.stages import reduce, write_scores
from countenance.run.store import (
    ANSWERS,
    AUDIT,
    FAILURES,
    FILES,
    FINDINGS,
    JOURNAL,
    LOCAL,
    MANIFEST,
    PAGES,
    RESULTS,
    SHARDS,
    STATE,
    THUMBNAILS,
    VIEWED,
    VIEWS,
    WORK,
    RunStore,
    digest,
    marker_name,
    thumbnails_of,
)
from countenance.run.suite import suite_of
from countenance.run.whole import stored
from countenance.storage import Missing
from countenance.tasks import load_task

KEPT = (MANIFEST, LOCAL, FILES, FAILURES, JOURNAL, VIEWED, VIEWS)
"""Files that are rewritten in place; tables and predictions are too, and everything else is made again."""

Again = Callable[[Run, dict[str, Any]], list[str]]
"""Makes the files again that were in the run beside its own (reports, tables of a suite) and names them."""


@dataclass(frozen=True)
class Purged:
    """What was removed."""

    people: int = 0
    images: int = 0
    rows: int = 0
    unknown: tuple[str, ...] = ()
    """Ids on the list that no run holds."""
    made_again: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Other files in the runs, which may show somebody and could not be made again."""
    runs: tuple[str, ...] = ()
    """The runs that were changed."""


@dataclass(frozen=True)
class Journal:
    """What a purge is going to do, written before it begins."""

    samples: list[str]
    audit: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    """The files that are to be made again."""
    pages: dict[str, Any] = field(default_factory=dict)
    people: int = 0
    rows: int = 0


def purge(place: Path | str, subjects: Iterable[str], again: Again = lambda run, journal: []) -> Purged:
    """Remove people from a run, from runs kept beside it under another name, and from runs below a folder.

    `subjects` are identities or subject ids as the score table has them, or images of people without an identity.
    `again` makes reports and a suite's files again. InputError when nobody on the list is in any of the runs.
    """
    wanted = list(dict.fromkeys(subjects))
    stores = _stores(place)
    matched: set[str] = set()
    done: list[tuple[RunStore, Purged]] = []
    for store in stores:
        with store.storage.hold():
            list(store.storage.leftovers())
            if (earlier := _resume(store, again)) is not None:
                done.append((store, earlier))
            found = _held(store, set(wanted))
            matched |= found.people
            forget_beside(store, found.people | found.samples)
            if found.samples:
                done.append((store, _purge(store, found, again)))
    unknown = tuple(name for name in wanted if name not in matched)
    if wanted and not matched and not done:
        shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        raise InputError(f"{place}: nobody on the list is in this run ({shown}); ids are those of the column identity")
    return Purged(
        people=max(len(matched), max((one.people for _, one in done), default=0)),
        images=sum(one.images for _, one in done),
        rows=sum(one.rows for _, one in done),
        unknown=unknown,
        made_again=tuple(name for _, one in done for name in one.made_again),
        removed=tuple(name for _, one in done for name in one.removed),
        runs=tuple(store.place for store, _ in done),
    )


def _stores(place: Path | str) -> list[RunStore]:
    """The run at a place, those that rest on the same predictions, and older versions beside it; or those below it."""
    store = RunStore(place)
    if store.exists():
        run = Run(place)
        suite = suite_of(run)
        others = [RunStore(other) for other in store.storage.siblings(f"{Path(store.place).name}-")]
        others += [RunStore(other) for other in (suite.related(run) if suite else ())]
        for other in others:
            if other.broken():
                raise InputError(
                    f"{other.place}: files of a run whose {MANIFEST} is damaged or missing, from which nobody can be "
                    "removed; delete them, then purge again"
                )
        found = {str(Path(one.place).absolute()): one for one in (*others, store) if one.exists()}
        return sorted(found.values(), key=lambda one: one.manifest().finished or "")  # the latest run's files stay
    below = [entry.name for entry in store.storage.entries() if entry.name.endswith(f"/{MANIFEST}")]
    if not below:
        store.manifest()  # says that no run is here
    return [RunStore(f"{store.place}/{name.removesuffix(f'/{MANIFEST}')}") for name in below]


@dataclass(frozen=True)
class _Held:
    """The images of a run that show wanted people."""

    samples: set[str]
    people: set[str]
    rows: int


def _held(store: RunStore, wanted: set[str]) -> _Held:
    samples: set[str] = set()
    people: set[str] = set()
    rows = 0
    tables = []
    for name in [*store.score_files(), *_work(store, ".parquet")]:
        try:
            store.storage.read(name)
        except Missing:
            continue
        table = store.table(name)
        columns = [n for n in ("sample", "subject", "identity") if n in table.column_names]
        tables.append(table.select(columns).to_pylist())
    for row in (row for table in tables for row in table):
        names = {row.get("identity"), row.get("subject")} & wanted
        if row.get("identity") is None:  # nobody said who it is: an image stands for its people
            names |= {row["sample"]} & wanted
        if names:
            samples.add(row["sample"])
            people |= {str(name) for name in names}
    for row in _failures(store):
        names = set(row.get("people") or ()) & wanted
        if names:
            samples.add(row["sample"])
            people |= names
    rows = sum(row["sample"] in samples for table in tables for row in table)
    return _Held(samples, people, rows)


def _work(store: RunStore, ending: str) -> list[str]:
    """The files of an unfinished run that are there until it is complete."""
    return [entry.name for entry in store.storage.entries(WORK) if entry.name.endswith(ending)]


def _failures(store: RunStore) -> list[dict[str, Any]]:
    found = []
    for entry in store.storage.entries(SHARDS):
        marker = Marker.read(store.storage.read(entry.name))
        found += marker.failures if marker else []
    try:
        store.storage.read(FAILURES)
    except Missing:
        return found
    return found + list(store.table(FAILURES).to_pylist())


def _purge(store: RunStore, found: _Held, again: Again) -> Purged:
    names = [entry.name for entry in store.storage.entries()]
    audited = _audit_settings(store)
    tables = (*store.score_files(), RESULTS, AUDIT, FINDINGS)
    others = [n for n in names if n not in KEPT + tables and not n.startswith((ANSWERS, SHARDS, WORK, THUMBNAILS))]
    journal = Journal(sorted(found.samples), audited, others, _pages(store), len(found.people), found.rows)
    store.storage.write(JOURNAL, to_json(vars(journal)).encode())
    return _go_on(store, journal, again)


def _resume(store: RunStore, again: Again) -> Purged | None:
    """Finish a purge that was killed; None when there is none."""
    from pydantic import TypeAdapter

    try:
        journal = TypeAdapter(Journal).validate_json(store.storage.read(JOURNAL))
    except Missing:
        return None
    except ValueError:
        raise InputError(f"{store.place}/{JOURNAL}: damaged; delete it and purge again") from None
    return _go_on(store, journal, again)


def _go_on(store: RunStore, journal: Journal, again: Again) -> Purged:
    """Every step leads to the same end when it is done twice."""
    gone = set(journal.samples)
    for name in (*journal.files, AUDIT, FINDINGS, RESULTS):
        store.storage.delete(name)  # computed from everybody, or shows somebody
    _delete_thumbnails(store, gone)
    before = _filter_shards(store, gone)
    for name in (*store.score_files(), FAILURES):
        _filter_table(store, name, gone)
    manifest = store.manifest()
    hashed = {hashed_id(name) for name in gone}
    fresh = hashed - set(manifest.withdrawn)
    images = max(manifest.dataset.images - len(fresh), 0)
    failed = _rows(store, FAILURES)
    manifest = manifest.model_copy(
        update={
            "withdrawn": sorted(hashed | set(manifest.withdrawn)),
            "purged": manifest.purged + len(fresh),
            "failed": manifest.failed if failed is None else failed,
            "dataset": manifest.dataset.model_copy(update={"images": images}),
        }
    )
    store.write_manifest(manifest)
    made = [name for name in before if not name.startswith(SHARDS)]
    if manifest.status == "complete":
        made += _recompute(store, journal, again)
        store.seal()
    store.storage.delete(JOURNAL)
    there = {entry.name for entry in store.storage.entries()}
    lost = tuple(name for name in journal.files if name not in there and name != PAGES)
    return Purged(journal.people, len(gone), journal.rows, (), tuple(made), lost)


def _delete_thumbnails(store: RunStore, gone: set[str]) -> None:
    """Remove the small pictures of the images that go; those of other images show nobody of them."""
    wanted = {thumbnails_of(sample) for sample in gone}
    length = len(thumbnails_of(""))
    for entry in store.storage.entries(THUMBNAILS):
        if entry.name[:length] in wanted:
            store.storage.delete(entry.name)


def _filter_shards(store: RunStore, gone: set[str]) -> list[str]:
    """Remove images from predictions, rows and markers; the new marker is written before the old files go."""
    changed, states = [], _work(store, STATE)
    for name in states:  # computed again from the predictions that are left
        store.storage.delete(name)
    for entry in store.storage.entries(SHARDS):
        marker = Marker.read(store.storage.read(entry.name))
        if marker is None:
            store.storage.delete(entry.name)
            continue
        files = {}
        for name, known in marker.files.items():
            if name in states:
                continue
            kept = None if name.endswith(STATE) else _filter_table(store, name, gone)
            files[name] = known if kept is None else kept
            changed += [name] if kept is not None else []
        failures = [row for row in marker.failures if row["sample"] not in gone]
        if files != dict(marker.files) or failures != marker.failures:
            answered = _rows(store, marker.file(ANSWERS) or "")
            there = {entry.name: entry.size for entry in store.storage.entries()}
            sizes = {name: there[name] for name in files if name in there}
            fresh = Marker(marker.number, answered or 0, failures, files, marker.skipped, sizes, marker.pictures)
            store.storage.write(marker_name(marker.number), fresh.to_bytes())
    return changed


def _filter_table(store: RunStore, name: str, gone: set[str]) -> str | None:
    """Remove rows from a table; the new hash, or None when the table is not there or was not changed."""
    import pyarrow.compute as pc

    try:
        content = store.storage.read(name)
    except Missing:
        return None
    table = store.table(name)
    kept = table.filter(pc.invert(store.of_samples(table, gone, name)))
    if kept.num_rows == table.num_rows:
        return digest(content)
    store.write_table(name, kept)
    return digest(store.storage.read(name))


def _rows(store: RunStore, name: str) -> int | None:
    try:
        return int(store.table(name).num_rows)
    except InputError:
        return None


def _audit_settings(store: RunStore) -> dict[str, Any] | None:
    try:
        settings: dict[str, Any] = json.loads(store.storage.read(AUDIT))["settings"]
        return settings
    except (Missing, ValueError, KeyError, TypeError):
        return None


def _pages(store: RunStore) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(store.storage.read(PAGES))
        return found
    except (Missing, ValueError):
        return {}


def _recompute(store: RunStore, journal: Journal, again: Again) -> list[str]:
    """Results, audit and reports of those who are left."""
    run = Run(store.place)
    suite = suite_of(run)
    rescore = _reduce_again if suite is None or suite.rescore is None else suite.rescore
    made = rescore(run, journal.samples)
    run = Run(store.place)
    if journal.audit is not None and run.scores().num_rows:
        store_audit(run, audit_again(run, journal.audit))
        made += [FINDINGS, AUDIT]
    return made + again(run, vars(journal))


def _reduce_again(run: Run, gone: Sequence[str]) -> list[str]:
    """Results again where the dataset can be loaded; otherwise they are gone, and the manifest says why."""
    try:
        task = load_task(run.manifest.task_source or run.manifest.task, run.manifest.options)
        if task.reduce is None:
            run.store.write_results([])
            return []
        reduced = reduce(task, stored(run.store, run.dataset(), run.manifest))
    except (InputError, OSError) as error:
        return without_results(run, error)
    write_scores(run.store, run.scores(), reduced)
    run.store.write_results(reduced.results)
    return [RESULTS]


def without_results(run: Run, error: Exception) -> list[str]:
    """Say in the manifest that the results went with somebody who left, and why there are no new ones."""
    note = f"results were removed by a purge and could not be computed again ({error})"
    run.manifest.notes = [*run.manifest.notes, note]
    run.store.write_manifest(run.manifest)
    return []
