"""Files of a run in storage: shards with their markers, and tables.

A shard counts when its marker exists and the files that it names have the hashes that it names.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from countenance.answers.store import answers_from_table, answers_table
from countenance.decoding import read_parquet
from countenance.errors import RunError
from countenance.run.file_names import (
    ANSWERS,
    COMPLETED,
    MANIFEST,
    MANY_SCORES,
    SHARDS,
    STATE,
    WORK,
    answers_name,
    is_own,
    is_sealable,
    is_table,
    marker_name,
    remedy_of,
    work_rows,
    work_state,
)
from countenance.run.hashes import FileHashes, digest
from countenance.run.marker import Committed, Marker
from countenance.storage import Missing, Storage, open_storage
from countenance.storage.local import LocalStorage
from countenance.tasks.states import State, state_from_bytes

Parsed = TypeVar("Parsed")
AT_ONCE = 16
"""How many requests to the storage run at once."""


class ShardStore:
    """The files of a run in its storage."""

    def __init__(self, place: Any, *, patient: bool = False, verified: bool = False) -> None:
        self.storage: Storage = open_storage(place, patient=patient)
        self.hashes = FileHashes(self.storage)
        self.verified = verified
        """Whether files of a finished run are refused if their content has changed."""
        self._finished: bool | None = None
        """Whether the run is finished by its manifest; None until it was read."""
        self._parsed: dict[tuple[str, object], tuple[Any, Any]] = {}
        """The content last read of a file, with the file's stamp."""

    @property
    def place(self) -> str:
        return self.storage.place

    def read(self, name: str) -> bytes:
        """The content of a file of the run, checked where the store is verified; `Missing` when there is none.

        A file that is on the list of hashes and was removed is refused like one that was edited.
        """
        try:
            content = self.storage.read(name)
        except Missing:
            self.refuse_removed(name)
            raise
        if self._checks(name):
            self.hashes.check(name, content, remedy_of(name))
        return content

    def refuse_removed(self, name: str) -> None:
        """Refuse a missing file that the list of hashes names."""
        if self._checks(name):
            self.hashes.check_unlisted(name, remedy_of(name))

    def _checks(self, name: str) -> bool:
        """Whether a file is compared with its hash; a result of a run that has no hashes yet is refused."""
        if self.verified and self._finished is False and (name in COMPLETED or name.startswith(MANY_SCORES)):
            raise RunError(
                f"{self.place}: the run did not finish, so nothing says that {name} is what was written; the same "
                "`countenance run` command resumes it (verified=False reads it all the same)"
            )
        return bool(self.verified and self._finished and is_sealable(name))

    def _once(self, name: str, parse: Callable[[], Parsed], what: object = None) -> Parsed:
        """What `parse` makes of a file; read again only if the file has changed, or if that cannot be decided.

        `what` distinguishes several things that are made of one file.
        """
        stamp = self.storage.stamp(name) if isinstance(self.storage, LocalStorage) else None
        if stamp is None:
            return parse()
        if name != MANIFEST:  # which says itself whether the run is finished
            stamp = (*stamp, bool(self.verified and self._finished))
        key = (name, what)
        if self._parsed.get(key, (None, None))[0] != stamp:
            self._parsed[key] = (stamp, parse())
        parsed: Parsed = self._parsed[key][1]
        return parsed

    # tables

    def tables_in(self, folder: str) -> list[str]:
        """The tables in a folder of the run, including removed ones on the list of hashes, whose reading fails."""
        names = {entry.name for entry in self.storage.entries(folder) if is_table(entry.name)}
        if self.verified and self._finished:
            names |= {name for name in self.hashes.known() if name.startswith(folder) and is_table(name)}
        return sorted(names)

    def table(self, name: str, expected: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """A Parquet file, or the columns named that it has, as an Arrow table; its hash must be the one expected."""

        try:
            content = self.read(name)
        except Missing:
            raise RunError(f"{self.place}/{name}: missing; {remedy_of(name)}") from None
        if expected is not None and digest(content) != expected:
            raise RunError(f"{self.place}/{name}: its content is not what was written; {remedy_of(name)}")
        table = read_parquet(arrow_reader(content), f"{self.place}/{name}", columns, f"; {remedy_of(name)}")
        if len(set(table.column_names)) < table.num_columns:
            raise RunError(f"{self.place}/{name}: two columns of one name; {remedy_of(name)}")
        return table

    def write_table(self, name: str, table: Any) -> None:
        self.storage.write(name, parquet_bytes(table))

    # shards

    def commit(
        self,
        number: int,
        kind: type[Any],
        answers: Sequence[tuple[str, Any]],
        rows: Any,
        failures: list[dict[str, Any]],
        skipped: int = 0,
        pictures: str = "",
        state: bytes | None = None,
    ) -> Committed:
        """Store a shard; the marker comes last, and of several writers the first one counts.

        No writer touches a file of another: if a name is taken by other content, the file gets another name, and the
        marker lists the shard's files.
        """
        files, sizes, own = {}, {}, []
        contents = {
            answers_name(number): parquet_bytes(answers_table(kind, answers)),
            work_rows(number): parquet_bytes(rows),
        }
        if state is not None:
            contents[work_state(number)] = state
        for name, content in contents.items():
            stored_name = self._keep(name, content)
            files[stored_name], sizes[stored_name] = digest(content), len(content)
            own += [stored_name] if stored_name != name else []
        marker = Marker(number, len(answers), failures, files, skipped, sizes, pictures)
        if self.storage.create(marker_name(number), marker.to_bytes()):
            return Committed.FIRST
        first = self._marker(number)
        if first is None:  # cut off or damaged
            self.storage.write(marker_name(number), marker.to_bytes())
            return Committed.FIRST
        for name in own:
            if name not in first.files:
                self.storage.delete(name)
        return Committed.SAME if first.same(marker) else Committed.DIFFERENT

    def _keep(self, name: str, content: bytes) -> str:
        """Store a file unless it exists; returns its final name."""
        if self.storage.create(name, content):
            return name
        try:
            if self.storage.read(name) == content:
                return name
        except Missing:  # removed in between
            pass
        stem, _, ending = name.rpartition(".")
        other = f"{stem}-{digest(content)[:12]}.{ending}"
        self.storage.write(other, content)
        return other

    def _marker(self, number: int) -> Marker | None:
        try:
            return Marker.read(self.read(marker_name(number)))
        except Missing:
            return None

    def committed(self, *, rows: bool = True) -> dict[int, Marker]:
        """The shards that count: their marker exists, and their files are as the marker describes.

        With `rows=False` only the answers must be intact: rows can be scored again from them. Where the place itself
        guards content (an object store), sizes from a listing are enough; the hashes are compared when files are read.
        """
        there = {entry.name: entry.size for entry in self.storage.entries()}
        names = [name for name in there if name.startswith(SHARDS)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            markers = dict(zip(names, pool.map(self._read_marker, names), strict=True))
        return {
            marker.number: marker
            for name, marker in markers.items()
            if marker is not None and marker_name(marker.number) == name and self._intact(marker, there, rows)
        }

    def _read_marker(self, name: str) -> Marker | None:
        """A marker without its failures, which may be many."""
        try:
            marker = Marker.read(self.storage.read(name))
        except Missing:  # removed since the listing
            return None
        return None if marker is None else replace(marker, failures=[])

    def _intact(self, marker: Marker, there: Mapping[str, int], rows: bool) -> bool:
        for name, expected in marker.files.items():
            if not rows and name.startswith(WORK):
                continue
            if name not in there:
                return False
            if self.storage.guarded:
                if there[name] != marker.sizes.get(name):
                    return False
            elif self._once(name, partial(self._digest, name), digest) != expected:
                return False
        return True

    def _digest(self, name: str) -> str:
        return digest(self.storage.read(name))

    def sweep(self, markers: Mapping[int, Marker]) -> None:
        """Remove files of shards that no marker names: those of writers that were killed or came second."""
        named = {name for marker in markers.values() for name in marker.files}
        for folder in (ANSWERS, WORK):
            for entry in self.storage.entries(folder):
                if entry.name not in named and is_own(entry.name):
                    self.storage.delete(entry.name)

    def forget_shard(self, number: int) -> None:
        """Delete the marker of a damaged shard, so that the shard no longer counts."""
        self.storage.delete(marker_name(number))

    def shard_answers(self, number: int, ids: set[str] | None = None) -> dict[str, Any]:
        """The predictions of a shard by sample id, or those of the samples wanted."""
        name, table = self._shard_table(number, ANSWERS, answers_name(number))
        if ids is not None:
            table = table.filter(self.of_samples(table, ids, name))
        return answers_from_table(table, f"{self.place}/{name}")

    def shard_answer_table(self, number: int) -> Any:
        """The predictions of a shard as an Arrow table, of which single rows can be decoded."""
        return self._shard_table(number, ANSWERS, answers_name(number))[1]

    def shard_rows(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """The score rows of a shard, or the columns named."""
        return self._shard_table(number, WORK, work_rows(number), columns)[1]

    def shard_state(self, number: int) -> State | None:
        """The reducer's state for a shard; None where the worker stored nothing usable."""
        marker = self._marker(number)
        name = None if marker is None else marker.file(WORK, STATE)
        try:
            content = None if name is None else self.storage.read(name)
            if marker is None or name is None or content is None or digest(content) != marker.files[name]:
                return None
            return state_from_bytes(content)
        except (Missing, ValueError):
            return None

    def _shard_table(
        self, number: int, folder: str, usual: str, columns: Sequence[str] | None = None
    ) -> tuple[str, Any]:
        """The name and the table of a shard's file, whose content must match the marker."""
        marker = self._marker(number)
        name = (None if marker is None else marker.file(folder)) or usual
        return name, self.table(name, None if marker is None else marker.files.get(name), columns)

    def shard_failures(self, number: int) -> list[dict[str, Any]]:
        """The images of a shard that failed."""
        marker = self._marker(number)
        return [] if marker is None else marker.failures

    def answer_files(self) -> list[str]:
        return self.tables_in(ANSWERS)

    def answers(self, ids: set[str] | None = None) -> Iterator[tuple[str, Any]]:
        """Every stored prediction with its sample id, or those of the samples wanted."""
        for name in self.answer_files():
            table = self.table(name)
            if ids is not None:
                table = table.filter(self.of_samples(table, ids, name))
            yield from answers_from_table(table, f"{self.place}/{name}").items()

    def of_samples(self, table: Any, ids: set[str], name: str) -> Any:
        """Which rows of a table (its file is named in messages) belong to some samples."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.is_in(self._samples(table, name), pa.array(sorted(ids), pa.string()))

    def _samples(self, table: Any, name: str) -> Any:
        """The column with the sample of each row."""
        import pyarrow as pa

        if "sample" not in table.column_names or not pa.types.is_string(table["sample"].type):
            raise RunError(
                f"{self.place}/{name}: no column sample with names, so it cannot be told whose rows these are; "
                f"{remedy_of(name)}"
            )
        return table["sample"]

    def answered(self) -> set[str]:
        """The ids of the samples with a stored prediction."""
        tables = ((self.table(name, columns=["sample"]), name) for name in self.answer_files())
        return {sample for table, name in tables for sample in self._samples(table, name).to_pylist()}


def parquet_bytes(table: Any) -> bytes:
    """A table as the content of a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def arrow_reader(content: bytes) -> Any:
    """An Arrow file of some bytes, which are copied into Arrow's own memory.

    Arrow's threads may release their input some time after reading has ended. To release a Python object they need the
    interpreter, and if it is just shutting down, the program ends with a signal, after all work is done.

    >>> arrow_reader(b"PAR1").read()
    b'PAR1'
    """
    import pyarrow as pa

    memory = pa.BufferOutputStream()
    memory.write(content)
    return pa.BufferReader(memory.getvalue())
