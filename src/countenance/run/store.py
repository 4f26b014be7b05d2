"""The layout of a run in its storage: the only reader and writer of runs.

A shard counts when its marker exists and the files that it names have the hashes that it names. The files of a finished
run are on a list with their hashes (`countenance.run.hashes`); a store that is `verified` compares what it reads.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from countenance.decoding import decoding, first_line, json_of, open_parquet
from countenance.errors import InputError, RunError
from countenance.files import to_json
from countenance.run.file_names import (
    ANSWERS,
    AUDIT,
    EVIDENCE,
    FAILURES,
    FIT,
    LOCAL,
    MANIFEST,
    MANY_SCORES,
    RESULTS,
    SCORES,
    SHARDS,
    is_own,
    is_sealable,
    remedy_of,
)
from countenance.run.hashes import FILES, digest
from countenance.run.manifest import DamagedManifest, Manifest, Place, read_manifest
from countenance.run.rows import check_failures, check_scores
from countenance.run.shard_store import Parsed, ShardStore
from countenance.run.trust import is_marked, mark_of
from countenance.scratch import temporary_folder
from countenance.storage import Missing
from countenance.tasks.reduce import Reduced
from countenance.tasks.results import Result, results_from_json, results_to_json
from countenance.tasks.states import State, state_from_bytes, state_to_bytes

MOST_ROWS = 10_000_000
"""Above this many rows the score table is a folder of files with the same columns."""
COPIED_AT_ONCE = 8 << 20
"""Bytes of a file that are copied at once."""


class RunStore(ShardStore):
    """A run in its storage."""

    # manifest

    def exists(self) -> bool:
        """Whether a run, finished or not, is here."""
        return self.storage.has(MANIFEST)

    def manifest(self) -> Manifest:
        """What was evaluated, how, and on what."""
        return self._once(MANIFEST, self._checked_manifest).model_copy()

    def _checked_manifest(self) -> Manifest:
        try:
            content = self.storage.read(MANIFEST)
        except Missing:
            raise RunError(f"{self.place}: no run here ({MANIFEST} is missing); `countenance run` makes one") from None
        manifest = read_manifest(content, f"{self.place}/{MANIFEST}")
        self._finished = manifest.status == "complete"
        if self.verified and self._finished:
            self.hashes.check(MANIFEST, content, remedy_of(MANIFEST))
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        self.storage.write(MANIFEST, manifest.to_bytes())

    def local(self, manifest: Manifest) -> Place:
        """Where things are on this machine; empty if the run was made elsewhere or by somebody else."""
        place = self._local()
        return place if is_marked(place.claims(manifest), place.mark) else Place()

    def _local(self) -> Place:
        """The content of `local.json`, verified or not."""
        try:
            return Place.model_validate_json(self.storage.read(LOCAL))
        except (Missing, InputError, ValueError):
            return Place()

    def write_local(self, place: Place, manifest: Manifest) -> None:
        """Record where things are, and that this user made the run; the salt of withdrawn ids is kept."""
        salted = place.model_copy(update={"salt": place.salt or self._local().salt or secrets.token_hex(16)})
        marked = salted.model_copy(update={"mark": mark_of(salted.claims(manifest))})
        self.storage.write(LOCAL, to_json(marked.model_dump()).encode())

    def salt(self) -> str:
        """The secret with which ids of withdrawn images are hashed; empty if the run was copied without it."""
        return self._local().salt

    def write_salt(self, salt: str) -> None:
        """Store a salt for a run that came without one, and change nothing else."""
        self.storage.write(LOCAL, to_json(self._local().model_copy(update={"salt": salt}).model_dump()).encode())

    def tidy(self) -> list[str]:
        """Remove temporary files of killed writers, move aside folders with names of our files, and return their names.

        A `local.json` that was a folder is written again without any claims: repairing a run gives it no trust.
        """
        list(self.storage.leftovers())
        moved = self.storage.clear(is_own)
        if LOCAL in moved:
            self.storage.write(LOCAL, to_json(Place().model_dump()).encode())
        return moved

    def move_aside(self) -> str:
        """Keep the run under another name beside its place, named after its key; returns where it is now."""
        name, key = Path(self.place).name, self._key()
        key = key if re.fullmatch("[0-9a-f]{8,}", key) else "unknown"
        taken = {Path(storage.place).name for storage in self.storage.siblings(f"{name}-")}
        candidates = [f"{name}-{key[:8]}", *(f"{name}-{key[:8]}-{k}" for k in range(2, len(taken) + 3))]
        return self.storage.move_aside(next(candidate for candidate in candidates if candidate not in taken)).place

    def broken(self) -> bool:
        """Whether files of a run are here without an intact manifest."""
        if not self.exists():
            return self.storage.has(FILES) or bool(self.storage.entries(SHARDS))
        try:
            self.manifest()
        except DamagedManifest:
            return True
        return False

    def _key(self) -> str:
        try:
            return self.manifest().key if self.exists() else ""
        except DamagedManifest:
            return ""

    # tables

    def score_files(self) -> list[str]:
        """The files of the score table: one, or those of its folder."""
        return self.tables_in(MANY_SCORES) or [SCORES]

    def score_table(self, name: str) -> Any:
        """A file of the score table, with columns of the kinds that runs have."""
        table = self.table(name)
        check_scores(table, f"{self.place}/{name}")
        return table

    def scores(self) -> Any:
        """The score table."""
        import pyarrow as pa

        tables = [self._once(name, partial(self.score_table, name)) for name in self.score_files()]
        with decoding(self.place, "score table"):
            return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")

    def failures(self) -> Any:
        """The table of images without a prediction."""
        return self._once(FAILURES, self._failure_table)

    def _failure_table(self) -> Any:
        table = self.table(FAILURES)
        check_failures(table, f"{self.place}/{FAILURES}")
        return table

    @contextmanager
    def score_paths(self) -> Iterator[list[Path] | None]:
        """The files of a score table that is too large to be read whole, on this machine; None for a small one.

        Libraries open them by name, several times. Where hashes are compared they are copies in the private folder of
        this process, hashed while copying: in the run somebody could replace a file between the check and its use.
        """
        names = self.tables_in(MANY_SCORES)
        if not names:
            yield None
        elif not all(self._checks(name) for name in names):
            with ExitStack() as stack:
                paths = {name: Path(stack.enter_context(self.storage.local_file(name))) for name in names}
                yield self._score_tables(paths)
        else:
            with temporary_folder("scores") as folder:
                try:
                    yield self._score_tables({name: self.copied(name, folder / Path(name).name) for name in names})
                except InputError as error:
                    if str(folder) not in str(error):
                        raise
                    text = str(error).replace(str(folder), f"{self.place}/{MANY_SCORES.rstrip('/')}")
                    raise RunError(text) from None  # the copy is known to nobody

    def _score_tables(self, paths: Mapping[str, Path]) -> list[Path]:
        """The files of a score table, after a check that their columns have the types that runs have."""
        for name, path in paths.items():
            place = f"{self.place}/{name}"
            check_scores(open_parquet(path, place, f"; {remedy_of(name)}").schema_arrow.empty_table(), place)
        return list(paths.values())

    def copied(self, name: str, copy: Path) -> Path:
        """Copy a file for a library that opens it by its name; the copy is compared with its hash, as in `read`.

        `Missing` when there is none.
        """
        content = hashlib.sha256()
        try:
            opened = self.storage.open(name)
        except Missing:
            self.refuse_removed(name)
            raise
        with opened as source, copy.open("wb") as stream:
            while block := source.read(COPIED_AT_ONCE):
                content.update(block)
                stream.write(block)
        if self._checks(name):
            self.hashes.check_digest(name, content.hexdigest, remedy_of(name))
        return copy

    def audit(self) -> dict[str, Any]:
        """The content of the stored audit; `Missing` when there is none, InputError when it is no JSON object."""
        content: dict[str, Any] = self._once(AUDIT, lambda: dict(json_of(self.read(AUDIT), AUDIT)))
        return content

    def results(self) -> list[Result]:
        """The results; empty if the task has no reducer."""
        return list(self._once(RESULTS, self._result_list))

    def evidence(self, make: Callable[[State], Parsed]) -> Parsed:
        """The result of `make` for the arrays behind the results; computed again only if they have changed.

        A run without these arrays, of an earlier version, is as old as its results.
        """
        name = EVIDENCE if self.storage.has(EVIDENCE) else RESULTS
        return self._once(name, lambda: make(self._evidence_arrays()), getattr(make, "__code__", make))

    def _evidence_arrays(self) -> State:
        try:
            content = self.read(EVIDENCE)
        except Missing:
            return {}
        try:
            return state_from_bytes(content)
        except ValueError as error:
            raise RunError(f"{self.place}/{EVIDENCE}: damaged ({first_line(error)}); {remedy_of(EVIDENCE)}") from None

    def _result_list(self) -> list[Result]:
        try:
            content = self.read(RESULTS)
        except Missing:
            return []
        try:
            return results_from_json(content)
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self.place}/{RESULTS}: damaged ({first_line(error)}); {remedy_of(RESULTS)}") from None

    def write_results(self, reduced: Reduced) -> None:
        """Store the results and the arrays that they were made from; without arrays an earlier file of them is
        deleted."""
        self.storage.write(RESULTS, results_to_json(reduced.results).encode())
        if reduced.evidence:
            self.storage.write(EVIDENCE, state_to_bytes(reduced.evidence))
        else:
            self.storage.delete(EVIDENCE)

    def fit_notes(self) -> dict[str, Any]:
        """The notes of the model's fit; empty for a model that was not fitted."""
        try:
            notes = json_of(self.read(FIT), f"{self.place}/{FIT}")
        except Missing:
            return {}
        return notes if isinstance(notes, dict) else {}

    def write_fit_notes(self, notes: Mapping[str, Any]) -> None:
        """Store the notes of the model's first fit for this run."""
        if not self.storage.has(FIT):
            self.storage.write(FIT, to_json(notes).encode())

    # hashes

    def sealed(self) -> dict[str, str]:
        """The hash of every file of the run; empty where there is no list."""
        return self.hashes.current()

    def seal(self, names: Iterable[str] | None = None, *, leaving: Sequence[str] = ()) -> None:
        """Record the hashes of the files named (by default of every file of the run that has one).

        Entries of other files stay, even of missing ones, so that a removed file is noticed.
        """
        known, chosen = self.sealed(), None if names is None else set(names)
        entries = [entry.name for entry in self.storage.entries() if is_sealable(entry.name)]
        if chosen is None:  # what a user put beside them is not a part
            chosen = {name for name in entries if is_own(name) or name in known} - set(leaving)
            earlier = {name: value for name, value in known.items() if name in leaving}
        else:
            earlier = {name: value for name, value in known.items() if name not in chosen}
        sealed = [name for name in entries if name in chosen]
        written = self._hashes_of_writers(sealed) if self.storage.guarded else {}
        self.hashes.write(earlier | {name: written.get(name) or digest(self.storage.read(name)) for name in sealed})

    def _hashes_of_writers(self, names: Sequence[str]) -> dict[str, str]:
        """The hashes of predictions as their writers computed them."""
        if not any(name.startswith(ANSWERS) for name in names):
            return {}
        hashes: dict[str, str] = {}
        for marker in self.committed(rows=False).values():
            hashes |= {name: value for name, value in marker.files.items() if name.startswith(ANSWERS)}
        return hashes

    def replacing(self, *names: str) -> AbstractContextManager[None]:
        """Take files off the list of hashes while the context writes them; then record their new hashes."""
        return self.hashes.replacing(names, self.seal)
