"""Withdrawn consent: removes people from a run and recomputes everything that depends on them.

Every image in which a withdrawn person appears is removed, with its predictions, its scores and its pictures, because a
prediction about an image is a prediction about everybody in it. The work is written into a journal first, so that a
purge that was killed resumes when it is called again. Only files that this package wrote are changed or deleted; other
files in the run are named and stay. Copies elsewhere cannot be recalled.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.errors import InputError, RunError
from countenance.files import to_json
from countenance.run.auditing import audit_again, store_audit
from countenance.run.file_names import (
    ANSWERS,
    AUDIT,
    EVIDENCE,
    FAILURES,
    FINDINGS,
    JOURNAL,
    PAGES,
    RESULTS,
    SHARDS,
    STATE,
    THUMBNAILS,
    is_own,
    marker_name,
    thumbnails_of,
)
from countenance.run.hashes import FILES, digest
from countenance.run.invariants import RowChecks, notes_on_contradictions
from countenance.run.marker import Marker
from countenance.run.purge_plan import (
    Journal,
    foreign_in,
    held_in,
    journal_of,
    made_again_of,
    own_files,
    stores_of,
    touched,
    with_pictures,
    work_files,
)
from countenance.run.run import Run
from countenance.run.stages import reduce, write_scores
from countenance.run.store import RunStore
from countenance.run.suite import suite_of
from countenance.run.surroundings import forget_beside
from countenance.run.whole_run import stored
from countenance.run.withdrawals import hashed_id, new_salt
from countenance.scratch import sweep
from countenance.storage import Missing
from countenance.tasks import Reduced

Again = Callable[[Run, dict[str, Any]], list[str]]
"""Makes the files again that were in the run beside its own (reports, tables of a suite) and names them."""


@dataclass(frozen=True)
class Purged:
    """A record of what a purge removed."""

    people: int = 0
    images: int = 0
    rows: int = 0
    unknown: tuple[str, ...] = ()
    """Ids on the list that no run holds."""
    made_again: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Other files that were written into the runs, which may show somebody and could not be made again."""
    left: tuple[str, ...] = ()
    """Files in the runs that somebody else put there."""
    runs: tuple[str, ...] = ()
    """The runs that were changed."""
    files: tuple[str, ...] = ()
    """Of a dry run: the files that would be rewritten or deleted."""


@dataclass(frozen=True)
class PurgeSettings:
    """The settings of a removal."""

    again: Again = lambda run, journal: []
    """Makes reports and a suite's files again."""
    trust_code: bool = False
    """Whether the code that a run names may be imported to compute its results again."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Where datasets are, for runs that were made elsewhere."""

    def opened(self, store: RunStore) -> Run:
        """A run whose files are being changed, so that hashes need not match the list."""
        run = Run(store.storage, verified=False, trust_code=self.trust_code, data=self.data)
        run.cautions.clear()
        return run


def purge(
    place: Path | str,
    subjects: Iterable[str],
    again: Again = lambda run, journal: [],
    *,
    dry_run: bool = False,
    trust_code: bool = False,
    data: Mapping[str, str] | None = None,
) -> Purged:
    """Remove people from a run, from runs kept beside it under another name, and from runs below a folder.

    `subjects` are identities or subject ids as the score table has them, or images of people without an identity.
    `again` writes reports and a suite's files again. With `dry_run` nothing is changed, and the files that would change
    are named. InputError when nobody on the list is in any of the runs.
    """
    ids, settings = list(dict.fromkeys(subjects)), PurgeSettings(again, trust_code, data or {})
    if not dry_run:
        sweep()  # files that killed processes left may show people too
    matched: set[str] = set()
    done: list[tuple[RunStore, Purged]] = []
    for store in stores_of(place):
        with nullcontext() if dry_run else store.storage.hold():
            people, here = _purge_one(store, set(ids), settings, dry_run)
        matched |= people
        done += [(store, purged) for purged in here]
    unknown = tuple(name for name in ids if name not in matched)
    if ids and not matched and not done:
        shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        raise RunError(f"{place}: nobody on the list is in this run ({shown}); ids are those of the column identity")
    return _together(matched, unknown, done)


def _purge_one(store: RunStore, ids: set[str], settings: PurgeSettings, dry_run: bool) -> tuple[set[str], list[Purged]]:
    """Remove people from one run; returns who was in it, and what was done."""
    done = []
    if not dry_run:
        store.tidy()
        if (earlier := _resume(store, settings)) is not None:
            done.append(earlier)
    held = held_in(store, ids)
    if not dry_run:
        forget_beside(store, held.people | held.samples)
    if held.samples:
        journal = journal_of(store, held)
        done.append(_planned(store, journal) if dry_run else _begin(store, journal, settings))
    return held.people, done


def _together(matched: set[str], unknown: tuple[str, ...], done: Sequence[tuple[RunStore, Purged]]) -> Purged:
    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for _, purged in done for value in getattr(purged, name)))

    return Purged(
        people=max(len(matched), max((purged.people for _, purged in done), default=0)),
        images=sum(purged.images for _, purged in done),
        rows=sum(purged.rows for _, purged in done),
        unknown=unknown,
        made_again=all_of("made_again"),
        removed=all_of("removed"),
        left=all_of("left"),
        runs=tuple(dict.fromkeys(store.place for store, _ in done)),
        files=all_of("files"),
    )


def _planned(store: RunStore, journal: Journal) -> Purged:
    """The changes that a purge would make."""
    left, files = foreign_in(store), touched(store, journal)
    return Purged(journal.people, len(journal.samples), journal.rows, left=left, files=files)


def _begin(store: RunStore, journal: Journal, settings: PurgeSettings) -> Purged:
    journal = with_pictures(store, journal, settings.opened(store))
    store.storage.write(JOURNAL, to_json(vars(journal)).encode())
    return _go_on(store, journal, settings)


def _resume(store: RunStore, settings: PurgeSettings) -> Purged | None:
    """Finish a purge that was killed; None when there is none."""
    from pydantic import TypeAdapter

    try:
        journal = TypeAdapter(Journal).validate_json(store.storage.read(JOURNAL))
    except Missing:
        return None
    except ValueError:
        raise RunError(f"{store.place}/{JOURNAL}: damaged; delete it and purge again") from None
    return _go_on(store, journal, settings)


def _go_on(store: RunStore, journal: Journal, settings: PurgeSettings) -> Purged:
    """Do every step; each leads to the same end when it is repeated."""
    gone = set(journal.samples)
    ours = set(made_again_of(store))  # a journal that somebody else wrote may name any file
    computed = [*(name for name in journal.files if name in ours), AUDIT, FINDINGS, RESULTS, EVIDENCE]
    deleted = [name for name in dict.fromkeys(computed) if store.storage.has(name)]
    for name in computed:
        store.storage.delete(name)  # computed from all people, or shows some
    _delete_thumbnails(store, gone)
    rewritten = _filter_shards(store, journal)
    for name in (*store.score_files(), FAILURES):
        _filter_table(store, name, gone)
    manifest, salt = store.manifest(), store.salt()
    if not salt:
        salt = new_salt()
        store.write_salt(salt)
    hashed = {hashed_id(name, salt) for name in gone}
    fresh = hashed - set(manifest.withdrawn)
    images = max(manifest.dataset.images - len(fresh), 0)
    failed = _rows(store, FAILURES)
    manifest = manifest.model_copy(
        update={
            "withdrawn": sorted(hashed | set(manifest.withdrawn)),
            "purged": manifest.purged + len(fresh),
            "failed": manifest.failed if failed is None else failed,
            "dataset": manifest.dataset.model_copy(
                update={"images": images, "pictures": journal.pictures, "remaining": journal.remaining}
            ),
        }
    )
    store.write_manifest(manifest)
    if manifest.status == "complete":
        rewritten += _recompute(store, journal, settings)
        if store.storage.has(FILES):
            store.seal(leaving=journal.damaged)
    store.storage.delete(JOURNAL)
    there = {entry.name for entry in store.storage.entries()}
    lost = tuple(name for name in deleted if name not in there and name != PAGES)
    return Purged(journal.people, len(gone), journal.rows, (), tuple(rewritten), lost, foreign_in(store))


def _delete_thumbnails(store: RunStore, gone: set[str]) -> None:
    """Remove the thumbnails of the removed images; those of other images show none of these people."""
    prefixes = {thumbnails_of(sample) for sample in gone}
    length = len(thumbnails_of(""))
    for entry in store.storage.entries(THUMBNAILS):
        if entry.name[:length] in prefixes:
            store.storage.delete(entry.name)


def _filter_shards(store: RunStore, journal: Journal) -> list[str]:
    """Remove images from predictions and rows, then write markers with the new hashes; returns the changed tables.

    A table that was damaged before keeps its old hash, so that its shard does not count and is evaluated again.
    """
    changed, states, gone = [], work_files(store, STATE), set(journal.samples)
    for name in states:  # computed again from the predictions that are left
        store.storage.delete(name)
    for shard in own_files(store, SHARDS):
        marker = Marker.read(store.storage.read(shard))
        if marker is None:
            store.storage.delete(shard)
            continue
        files = {}
        for name, known in marker.files.items():
            if name in states or not is_own(name):
                continue
            changed += [name] if not name.endswith(STATE) and _filter_table(store, name, gone) else []
            damaged = name.endswith(STATE) or name in journal.damaged or not store.storage.has(name)
            files[name] = known if damaged else digest(store.storage.read(name))
        failures = [row for row in marker.failures if row["sample"] not in gone]
        if files != dict(marker.files) or failures != marker.failures:
            answered = _rows(store, marker.file(ANSWERS) or "")
            there = {entry.name: entry.size for entry in store.storage.entries()}
            sizes = {name: there[name] for name in files if name in there and name not in journal.damaged}
            pictures = journal.shards.get(shard, "")
            fresh = Marker(marker.number, answered or 0, failures, files, marker.skipped, sizes, pictures)
            store.storage.write(marker_name(marker.number), fresh.to_bytes())
    return changed


def _filter_table(store: RunStore, name: str, gone: set[str]) -> bool:
    """Remove rows from a table, if it is there; returns whether it had any of them."""
    import pyarrow.compute as pc

    if not store.storage.has(name):
        return False
    table = store.table(name)
    remaining = table.filter(pc.invert(store.of_samples(table, gone, name)))
    if remaining.num_rows == table.num_rows:
        return False
    store.write_table(name, remaining)
    return True


def _rows(store: RunStore, name: str) -> int | None:
    try:
        return int(store.table(name).num_rows)
    except InputError:
        return None


def _recompute(store: RunStore, journal: Journal, settings: PurgeSettings) -> list[str]:
    """Recompute results, audit and reports of the remaining people; returns the names of the files."""
    run = settings.opened(store)
    if journal.damaged:
        shown = ", ".join(journal.damaged)
        return without_results(run, InputError(f"not what was written: {shown}; the same `countenance run` repairs it"))
    suite = suite_of(run)
    rescore = reduce_again if suite is None or suite.rescore is None else suite.rescore
    rewritten = rescore(run, journal.samples)
    run = settings.opened(store)
    if journal.audit is not None and run.scores().num_rows:
        rewritten += _audit_again(run, journal.audit)
    return rewritten + settings.again(run, vars(journal))


def _audit_again(run: Run, settings: dict[str, Any]) -> list[str]:
    """Repeat the audit for the remaining people; returns its files, or nothing (and notes why) if it cannot."""
    try:
        store_audit(run, audit_again(run, settings))
    except InputError as error:
        _note(run, f"the audit was removed by a purge and could not be made again ({error})")
        return []
    return [FINDINGS, AUDIT]


def reduce_again(run: Run, gone: Sequence[str]) -> list[str]:
    """Recompute the results if the dataset loads; otherwise record in the manifest why there are no results."""
    try:
        task = run.code_task()
        if task.reduce is None:
            run.store.write_results(Reduced())
            return []
        reduced = reduce(task, stored(run.store, run.dataset(), run.manifest))
    except (InputError, OSError) as error:
        return without_results(run, error)
    table = write_scores(run.store, run.scores(), reduced)
    run.store.write_results(reduced)
    checks = RowChecks()
    checks.add(table)
    for note in notes_on_contradictions(reduced.results, checks):
        _note(run, note)
    return [RESULTS, *([EVIDENCE] if reduced.evidence else [])]


def without_results(run: Run, error: Exception) -> list[str]:
    """Record in the manifest that a purge removed the results, and why they could not be computed again."""
    _note(run, f"results were removed by a purge and could not be computed again ({error})")
    return []


def _note(run: Run, sentence: str) -> None:
    run.manifest.notes = [*run.manifest.notes, sentence]
    run.store.write_manifest(run.manifest)
