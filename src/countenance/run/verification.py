"""`countenance verify`: checks that every file of a run has the content that was written."""

from dataclasses import dataclass

from countenance.run.file_names import AUDIT, FINDINGS, JOURNAL, MANIFEST, SHARDS, UNSEALED, WORK, is_own, is_table
from countenance.run.hashes import FILES, digest
from countenance.run.marker import Marker
from countenance.run.store import RunStore
from countenance.storage import Missing


@dataclass(frozen=True)
class RunCheck:
    """The result of a verification: the number of files checked, and a sentence for each that differs."""

    files: int
    problems: list[str]


def verify(store: RunStore) -> RunCheck:
    """Check the manifest, every hash, and that nothing is missing or left unfinished.

    Files that a user put beside those of the run are not part of it and are not checked.
    """
    manifest = store.manifest()
    if manifest.status != "complete":
        return RunCheck(0, [f"{store.place}: the run did not finish; the same `countenance run` command resumes it"])
    known = store.sealed()
    if not known:
        return RunCheck(0, [f"{FILES}: the list of hashes is missing, so no file can be checked"])
    problems = []
    for name, expected in known.items():
        try:
            content = store.storage.read(name)
        except Missing:
            problems.append(f"{name}: missing")
            continue
        except OSError as error:
            problems.append(f"{name}: cannot be read ({error.strerror})")
            continue
        if digest(content) != expected:
            problems.append(f"{name}: its content is not what was written")
    there = [entry.name for entry in store.storage.entries()]
    problems += [
        f"{name}: not on the list of hashes; whatever wrote it was interrupted"
        for name in there
        if name not in known and (name in (MANIFEST, AUDIT) or (is_table(name) and not name.startswith(WORK)))
    ]
    if JOURNAL in there:
        problems.append(f"{JOURNAL}: a purge was interrupted; `countenance purge` with the same list resumes it")
    problems += [
        f"{name}: left behind by an interrupted run" for name in there if name.startswith(WORK) and is_own(name)
    ]
    return RunCheck(len([name for name in known if name not in UNSEALED]), problems + _markers(store, known))


def unverified_tables(store: RunStore) -> list[str]:
    """The predictions and scores of a finished run that differ from what was written; empty without hashes."""
    if store.manifest().status != "complete" or not (known := store.sealed()):
        return []
    names = {*known, *(entry.name for entry in store.storage.entries())}
    tables = sorted(name for name in names if is_table(name) and name != FINDINGS and not name.startswith(WORK))
    return [name for name in tables if known.get(name) != _digest_of(store, name)]


def _digest_of(store: RunStore, name: str) -> str | None:
    """The present hash of a file; None if it does not exist."""
    try:
        return digest(store.storage.read(name))
    except Missing:
        return None


def _markers(store: RunStore, known: dict[str, str]) -> list[str]:
    """Answers that a marker names but the list of hashes does not."""
    problems = []
    for name in known:
        if name.startswith(SHARDS):
            try:
                marker = Marker.read(store.storage.read(name))
            except Missing:
                continue
            problems += [
                f"{file}: {name} names it, the list of hashes does not"
                for file in (marker.files if marker else ())
                if not file.startswith(WORK) and file not in known
            ]
    return problems
