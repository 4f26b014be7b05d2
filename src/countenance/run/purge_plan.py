"""The plan of a purge: in which runs people are, which files are removed or rewritten, and which are not ours."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from countenance.decoding import json_of
from countenance.errors import InputError, RunError
from countenance.run.file_names import (
    ANSWERS,
    AUDIT,
    FAILURES,
    MANIFEST,
    PAGES,
    REPORT,
    SHARDS,
    THUMBNAILS,
    WORK,
    is_own,
    is_table,
    thumbnails_of,
)
from countenance.run.hashes import digest
from countenance.run.marker import Marker
from countenance.run.pictures import has_truth_of, without
from countenance.run.run import Run
from countenance.run.store import RunStore
from countenance.run.stored_audit import checked_settings
from countenance.run.suite import suite_of
from countenance.run.verification import unverified_tables
from countenance.run.withdrawals import Withdrawn
from countenance.storage import Missing

DERIVED = (REPORT, PAGES)
"""Files of a run that are computed again; the others are rewritten in place."""


@dataclass(frozen=True)
class Journal:
    """The plan of a purge, written before it begins."""

    samples: list[str]
    audit: dict[str, Any] | None = None
    files: list[str] = field(default_factory=list)
    """The files that are computed again."""
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    people: int = 0
    rows: int = 0
    shards: dict[str, str] = field(default_factory=dict)
    """The hash of the pictures that remain in each shard, by the name of its marker."""
    pictures: str = ""
    """The hash of the pictures that remain in the run."""
    remaining: list[str] = field(default_factory=list)
    """The fingerprints of the dataset without the images that were removed from the run, by earlier purges and this."""
    damaged: list[str] = field(default_factory=list)
    """Tables that were changed or damaged before the purge began; a purge does not make them trusted."""


def stores_of(place: Path | str) -> list[RunStore]:
    """The run at a place, runs on the same predictions, and older versions beside it; or the runs below it."""
    store = RunStore(place)
    if store.exists():
        run = Run(store.storage, verified=False)
        suite = suite_of(run)
        others = [RunStore(other) for other in store.storage.siblings(f"{Path(store.place).name}-")]
        others += [RunStore(other) for other in (suite.related(run) if suite else ())]
        for other in others:
            if other.broken():
                raise RunError(
                    f"{other.place}: files of a run whose {MANIFEST} is damaged or missing, from which nobody can be "
                    "removed; delete them, then purge again"
                )
        by_place = {
            str(Path(candidate.place).absolute()): candidate for candidate in (*others, store) if candidate.exists()
        }
        return sorted(
            by_place.values(), key=lambda candidate: candidate.manifest().finished or ""
        )  # the latest run's files stay
    below = [entry.name for entry in store.storage.entries() if entry.name.endswith(f"/{MANIFEST}")]
    if not below:
        store.manifest()  # raises if no run is here
    return [RunStore(f"{store.place}/{name.removesuffix(f'/{MANIFEST}')}") for name in below]


@dataclass(frozen=True)
class HeldPeople:
    """The images of a run that show the people to remove."""

    samples: set[str]
    people: set[str]
    rows: int


def held_in(store: RunStore, ids: set[str]) -> HeldPeople:
    samples: set[str] = set()
    people: set[str] = set()
    rows = 0
    tables = []
    finished = store.manifest().status == "complete"  # its score table is needed to find the people
    scores = [name for name in store.score_files() if finished or store.storage.has(name)]
    for name in [*scores, *work_files(store, ".parquet")]:
        table = store.score_table(name)
        columns = [n for n in ("sample", "subject", "identity") if n in table.column_names]
        tables.append(table.select(columns).to_pylist())
    for row in (row for table in tables for row in table):
        names = {row.get("identity"), row.get("subject")} & ids
        if row.get("identity") is None:  # without identities an image stands for its people
            names |= {row["sample"]} & ids
        if names:
            samples.add(row["sample"])
            people |= {str(name) for name in names}
    for row in _failures(store):
        names = set(row.get("people") or ()) & ids
        if names:
            samples.add(row["sample"])
            people |= names
    rows = sum(row["sample"] in samples for table in tables for row in table)
    return HeldPeople(samples, people, rows)


def work_files(store: RunStore, ending: str) -> list[str]:
    """The files that exist only in an unfinished run."""
    return [name for name in own_files(store, WORK) if name.endswith(ending)]


def own_files(store: RunStore, folder: str) -> list[str]:
    """The files in a folder of a run that have names as this package gives them."""
    return [entry.name for entry in store.storage.entries(folder) if is_own(entry.name)]


def _failures(store: RunStore) -> list[dict[str, Any]]:
    rows = []
    for name in own_files(store, SHARDS):
        marker = Marker.read(store.storage.read(name))
        rows += marker.failures if marker else []
    try:
        store.storage.read(FAILURES)
    except Missing:
        return rows
    return rows + list(store.failures().to_pylist())


def journal_of(store: RunStore, held: HeldPeople) -> Journal:
    """The planned purge of these images."""
    return Journal(
        sorted(held.samples),
        _audit_settings(store),
        made_again_of(store),
        _pages(store),
        len(held.people),
        held.rows,
        damaged=unverified_tables(store) or _unmarked_tables(store),
    )


def _unmarked_tables(store: RunStore) -> list[str]:
    """The tables of shards that differ from what the markers name."""
    return [
        name
        for marker in _shard_markers(store).values()
        for name, known in marker.files.items()
        if is_own(name) and is_table(name) and store.storage.has(name) and digest(store.storage.read(name)) != known
    ]


def with_pictures(store: RunStore, journal: Journal, run: Run) -> Journal:
    """The plan, with the hashes of the pictures and of the dataset that remain.

    Those that depend on a removed picture are computed from the dataset, and are empty if it is gone or has changed.
    """
    gone, record, manifest = set(journal.samples), run.manifest.dataset, run.manifest
    withdrawn = Withdrawn(store.salt(), frozenset(manifest.withdrawn))
    markers = _shard_markers(store)
    try:
        read = {name: gone & _samples_read(store, marker) for name, marker in markers.items()}
        untouched = {name: markers[name].pictures for name, some in read.items() if not some}
        journal = replace(journal, shards=untouched, remaining=record.remaining)
        dataset = run.dataset()
        if not dataset.hashed_when_read or not has_truth_of(record, dataset):
            return journal
        names = set().union(*read.values())
        hashes = {sample.id: sample.content_hash() for sample in dataset if sample.id in names}
        remaining = dataset.filter(lambda sample: sample.id not in gone and sample.id not in withdrawn)
        parts = {name: {sample: hashes[sample] for sample in some} for name, some in read.items()}
        return replace(
            journal,
            shards={name: without(markers[name].pictures, part) for name, part in parts.items()},
            pictures=without(record.pictures, hashes),
            remaining=[*record.remaining, remaining.truth_fingerprint()],
        )
    except (InputError, OSError, KeyError, ValueError):  # a damaged table, no dataset, or one without a removed image
        return journal


def _samples_read(store: RunStore, marker: Marker) -> set[str]:
    """The samples of a shard whose pictures were read."""
    table = marker.file(ANSWERS)
    answered = store.table(table, columns=["sample"])["sample"].to_pylist() if table else ()
    return {*answered, *(row["sample"] for row in marker.failures if row["kind"] != "image")}


def _shard_markers(store: RunStore) -> dict[str, Marker]:
    """The markers of the shards, by file name; without those that are damaged."""
    markers = {name: Marker.read(store.storage.read(name)) for name in own_files(store, SHARDS)}
    return {name: marker for name, marker in markers.items() if marker is not None}


def made_again_of(store: RunStore) -> list[str]:
    """Files to remove because they may show people: pages, and a suite's files on the list of hashes.

    A file of a suite whose content differs from the list was changed by somebody else, and stays.
    """
    known = store.sealed()
    names = [entry.name for entry in store.storage.entries()]
    listed = [name for name in names if name in known and not is_own(name)]
    return [
        *(name for name in names if name in DERIVED),
        *(name for name in listed if digest(store.storage.read(name)) == known[name]),
    ]


def foreign_in(store: RunStore) -> tuple[str, ...]:
    """Files in a run that this package did not write."""
    known = store.sealed()
    names = [entry.name for entry in store.storage.entries()]
    return tuple(f"{store.place}/{name}" for name in names if not is_own(name) and name not in known)


def touched(store: RunStore, journal: Journal) -> tuple[str, ...]:
    """The files that a purge would rewrite or delete."""
    gone = {thumbnails_of(sample) for sample in journal.samples}
    length = len(thumbnails_of(""))
    rewritten = [
        entry.name
        for entry in store.storage.entries()
        if is_own(entry.name) and (not entry.name.startswith(THUMBNAILS) or entry.name[:length] in gone)
    ]
    return tuple(f"{store.place}/{name}" for name in dict.fromkeys([*rewritten, *journal.files]))


def _audit_settings(store: RunStore) -> dict[str, Any] | None:
    try:
        return checked_settings(json_of(store.storage.read(AUDIT), AUDIT)["settings"])
    except (Missing, ValueError, KeyError, TypeError):
        return None


def _pages(store: RunStore) -> dict[str, dict[str, Any]]:
    try:
        pages = json_of(store.storage.read(PAGES), PAGES)
        return {name: about for name, about in pages.items() if isinstance(about, dict)}
    except (Missing, InputError, AttributeError):
        return {}
