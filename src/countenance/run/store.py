"""The layout of a run in its storage: the only reader and writer of runs.

A shard counts when its marker exists and the files that it names have the hashes that it names. `files.json` holds the
hash of every file of a finished run; a stage takes the files that it is going to replace off that list first and puts
them back last, so that a kill in between is seen by `verify` and never reported as intact.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from countenance.answers.store import answers_from_table, answers_table
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.manifest import DamagedManifest, Manifest, Place, read_manifest
from countenance.run.marker import Committed, Marker
from countenance.storage import Missing, Storage, open_storage
from countenance.tasks.results import Result, results_from_json, results_to_json
from countenance.tasks.states import State, state_from_bytes

MANIFEST, LOCAL, FILES = "run.json", "local.json", "files.json"
SCORES, FAILURES, RESULTS = "scores.parquet", "failures.parquet", "results.json"
FINDINGS, AUDIT = "findings.parquet", "audit.json"
REPORT, PAGES = "report.html", "pages.json"
JOURNAL = "purge.json"
"""What a purge is going to do; it is there only while the purge is under way."""
ANSWERS, SHARDS, WORK, MANY_SCORES = "answers/", "shards/", "work/", "scores/"
STATE = ".state"
"""How the name of a reducer's state ends."""
MOST_ROWS = 10_000_000
"""Above so many rows the score table is a folder of files with the same columns."""
AT_ONCE = 16
"""Requests to the storage that are under way together."""
THUMBNAILS = "thumbnails/"
"""Small pictures that the viewer made. They can be made again at any time, so they have no hash."""
VIEWED = "viewed.jsonl"
"""When and by whom the faces of real people were shown in the viewer."""
VIEWS = "views.json"
"""Views that somebody saved in the viewer, with their names."""
UNSEALED = (LOCAL, FILES, JOURNAL, VIEWED, VIEWS)
"""Files that have no hash: they differ from machine to machine, hold the hashes, or are there for a moment."""


def digest(content: bytes) -> str:
    """The sha256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


class RunStore:
    """A run in its storage."""

    def __init__(self, place: Any, *, patient: bool = False) -> None:
        self.storage: Storage = open_storage(place, patient=patient)

    @property
    def place(self) -> str:
        return self.storage.place

    # manifest

    def exists(self) -> bool:
        """Whether a run, finished or not, is here."""
        return self.storage.has(MANIFEST)

    def manifest(self) -> Manifest:
        try:
            content = self.storage.read(MANIFEST)
        except Missing:
            raise InputError(
                f"{self.place}: no run here ({MANIFEST} is missing); `countenance run` makes one"
            ) from None
        return read_manifest(content, f"{self.place}/{MANIFEST}")

    def write_manifest(self, manifest: Manifest) -> None:
        self.storage.write(MANIFEST, manifest.to_bytes())

    def local(self) -> Place:
        """Where things lie on this machine; nothing where the run came from another one."""
        try:
            return Place.model_validate_json(self.storage.read(LOCAL))
        except (Missing, ValueError):
            return Place()

    def write_local(self, place: Place) -> None:
        self.storage.write(LOCAL, to_json(place.model_dump()).encode())

    def move_aside(self) -> str:
        """Keep the run under another name beside its place, named after its key; returns where it is now."""
        name, key = Path(self.place).name, self._key() or "unknown"
        taken = {Path(storage.place).name for storage in self.storage.siblings(f"{name}-")}
        wanted = [f"{name}-{key[:8]}", *(f"{name}-{key[:8]}-{k}" for k in range(2, len(taken) + 3))]
        return self.storage.move_aside(next(one for one in wanted if one not in taken)).place

    def broken(self) -> bool:
        """Whether files of a run are here whose manifest is missing or damaged."""
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

        No writer touches a file of another: where a name is taken by other content, the file gets a name of its own,
        and the marker says which files are the shard's.
        """
        files, sizes, own = {}, {}, []
        contents = {
            answers_name(number): parquet_bytes(answers_table(kind, answers)), work_rows(number): parquet_bytes(rows),
        }  # fmt: skip
        if state is not None:
            contents[work_state(number)] = state
        for name, content in contents.items():
            kept = self._keep(name, content)
            files[kept], sizes[kept] = digest(content), len(content)
            own += [kept] if kept != name else []
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
        """Store a file unless there is one; the name that it has in the end."""
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
            return Marker.read(self.storage.read(marker_name(number)))
        except Missing:
            return None

    def committed(self, *, rows: bool = True) -> dict[int, Marker]:
        """The shards that count: their marker is there, and so are their files as the marker describes them.

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
            found = Marker.read(self.storage.read(name))
        except Missing:  # removed since the listing
            return None
        return None if found is None else replace(found, failures=[])

    def _intact(self, marker: Marker, there: Mapping[str, int], rows: bool) -> bool:
        for name, expected in marker.files.items():
            if not rows and name.startswith(WORK):
                continue
            if name not in there:
                return False
            if self.storage.guarded:
                if there[name] != marker.sizes.get(name):
                    return False
            elif digest(self.storage.read(name)) != expected:
                return False
        return True

    def sweep(self, markers: Mapping[int, Marker]) -> None:
        """Remove files of shards that no marker names: those of writers that were killed or came second."""
        named = {name for marker in markers.values() for name in marker.files}
        for folder in (ANSWERS, WORK):
            for entry in self.storage.entries(folder):
                if entry.name not in named:
                    self.storage.delete(entry.name)

    def forget_shard(self, number: int) -> None:
        """Take back a shard that is damaged."""
        self.storage.delete(marker_name(number))

    def shard_answers(self, number: int, wanted: set[str] | None = None) -> dict[str, Any]:
        """The predictions of a shard by sample id, or those of the samples wanted."""
        name, table = self._shard_table(number, ANSWERS, answers_name(number))
        if wanted is not None:
            table = table.filter(self.of_samples(table, wanted, name))
        return answers_from_table(table, f"{self.place}/{name}")

    def shard_answer_table(self, number: int) -> Any:
        """The predictions of a shard as an Arrow table, of which single rows can be decoded."""
        return self._shard_table(number, ANSWERS, answers_name(number))[1]

    def shard_rows(self, number: int, columns: Sequence[str] | None = None) -> Any:
        """The score rows of a shard, or the columns named."""
        return self._shard_table(number, WORK, work_rows(number), columns)[1]

    def shard_state(self, number: int) -> State | None:
        """What the task's reducer keeps of a shard; None where the worker stored nothing that can be used."""
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
        """A file of a shard, with its name; its content must be what the marker says."""
        marker = self._marker(number)
        name = (None if marker is None else marker.file(folder)) or usual
        return name, self.table(name, None if marker is None else marker.files.get(name), columns)

    def shard_failures(self, number: int) -> list[dict[str, Any]]:
        """The images of a shard that failed."""
        marker = self._marker(number)
        return [] if marker is None else marker.failures

    def answer_files(self) -> list[str]:
        return [entry.name for entry in self.storage.entries(ANSWERS) if entry.name.endswith(".parquet")]

    def answers(self, wanted: set[str] | None = None) -> Iterator[tuple[str, Any]]:
        """Every stored prediction with its sample id, or those of the samples wanted."""
        for name in self.answer_files():
            table = self.table(name)
            if wanted is not None:
                table = table.filter(self.of_samples(table, wanted, name))
            yield from answers_from_table(table, f"{self.place}/{name}").items()

    def of_samples(self, table: Any, wanted: set[str], name: str) -> Any:
        """Which rows of a table (its file is named in messages) belong to some samples."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if "sample" not in table.column_names or not pa.types.is_string(table["sample"].type):
            raise InputError(
                f"{self.place}/{name}: no column sample with names, so it cannot be told whose rows these are; "
                f"{_remedy(name)}"
            )
        return pc.is_in(table["sample"], pa.array(sorted(wanted), pa.string()))

    # tables

    def table(self, name: str, expected: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """A Parquet file, or the columns named that it has, as an Arrow table; its hash must be the one expected."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            content = self.storage.read(name)
            if expected is not None and digest(content) != expected:
                raise InputError(f"{self.place}/{name}: its content is not what was written; {_remedy(name)}")
            if columns is None:
                return pq.read_table(pa.BufferReader(content))
            file = pq.ParquetFile(pa.BufferReader(content))
            return file.read([name for name in columns if name in file.schema_arrow.names])
        except Missing:
            raise InputError(f"{self.place}/{name}: missing; {_remedy(name)}") from None
        except (pa.ArrowException, OSError) as error:
            first = str(error).splitlines()[0]
            raise InputError(f"{self.place}/{name}: not a readable Parquet file ({first}); {_remedy(name)}") from error

    def write_table(self, name: str, table: Any) -> None:
        self.storage.write(name, parquet_bytes(table))

    def score_files(self) -> list[str]:
        """The files of the score table: one, or those of its folder."""
        many = [entry.name for entry in self.storage.entries(MANY_SCORES) if entry.name.endswith(".parquet")]
        return many or [SCORES]

    def scores(self) -> Any:
        """The score table."""
        import pyarrow as pa

        tables = []
        for name in self.score_files():
            tables.append(self.table(name))
            for column in tables[-1].schema:
                kind = column.type
                number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
                if column.name.startswith("m.") and not number and not pa.types.is_null(kind):
                    place = f"{self.place}/{name}"
                    raise InputError(f"{place}: {column.name} holds {kind}, expected numbers; evaluate again to repair")
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")

    @contextmanager
    def score_paths(self) -> Iterator[list[Path] | None]:
        """The files of a score table that is too large to be read whole, on this machine; None: it is small."""
        entries = self.storage.entries(MANY_SCORES)
        names = [entry.name for entry in entries if entry.name.endswith(".parquet")]
        if not names:
            yield None
            return
        with ExitStack() as stack:
            yield [Path(stack.enter_context(self.storage.local_file(name))) for name in names]

    def results(self) -> list[Result]:
        """The results; none where the task has no reducer."""
        try:
            return results_from_json(self.storage.read(RESULTS))
        except Missing:
            return []
        except ValueError as error:
            first = str(error).splitlines()[0]
            raise InputError(f"{self.place}/{RESULTS}: damaged ({first}); {_remedy(RESULTS)}") from None

    def write_results(self, results: Iterable[Result]) -> None:
        self.storage.write(RESULTS, results_to_json(results).encode())

    # hashes

    def sealed(self) -> dict[str, str]:
        """The hash of every file of the run; empty where the run was made before hashes were kept."""
        try:
            found = json.loads(self.storage.read(FILES))
            return {str(name): str(value) for name, value in found["files"].items()}
        except Missing:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{self.place}/{FILES}: damaged; the same `countenance run` command repairs it") from None

    def seal(self, names: Iterable[str] | None = None) -> None:
        """Write down the hash of the files named (of every file, by default)."""
        entries = [entry.name for entry in self.storage.entries() if _sealable(entry.name)]
        known = {} if names is None else self.sealed()
        wanted = entries if names is None else [name for name in names if name in entries]
        told = self._told_hashes(wanted) if self.storage.guarded else {}
        fresh = {n: told.get(n) or digest(self.storage.read(n)) for n in wanted if not n.startswith(WORK)}
        files = {name: value for name, value in (known | fresh).items() if name in entries}
        self.storage.write(FILES, to_json({"files": dict(sorted(files.items()))}).encode())

    def _told_hashes(self, wanted: Sequence[str]) -> dict[str, str]:
        """The hashes of predictions as their writers computed them."""
        if not any(name.startswith(ANSWERS) for name in wanted):
            return {}
        found: dict[str, str] = {}
        for marker in self.committed(rows=False).values():
            found |= {name: value for name, value in marker.files.items() if name.startswith(ANSWERS)}
        return found

    @contextmanager
    def replacing(self, *names: str) -> Iterator[None]:
        """Files that are written in the context are off the list of hashes until it ends."""
        known = self.sealed()
        had_list = self.storage.has(FILES)
        if had_list and any(name in known for name in names):
            left = {name: value for name, value in known.items() if name not in names}
            self.storage.write(FILES, to_json({"files": left}).encode())
        yield
        if had_list:
            self.seal(names)


def _sealable(name: str) -> bool:
    """Whether a file is a part of the run, whose hash is kept."""
    return name not in UNSEALED and not name.startswith(THUMBNAILS)


def thumbnails_of(sample: str) -> str:
    """How the names of a sample's thumbnails begin; they do not say which sample it is.

    >>> thumbnails_of("a.png")
    'thumbnails/7f071235805fbf58a252'
    """
    return THUMBNAILS + digest(sample.encode("utf-8", "surrogatepass"))[:20]


def marker_name(number: int) -> str:
    return f"{SHARDS}{number:05d}.json"


def answers_name(number: int) -> str:
    return f"{ANSWERS}{number:05d}.parquet"


def work_rows(number: int) -> str:
    return f"{WORK}{number:05d}.scores.parquet"


def work_state(number: int) -> str:
    return f"{WORK}{number:05d}{STATE}"


def parquet_bytes(table: Any) -> bytes:
    """A table as the content of a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _remedy(name: str) -> str:
    if name in (FINDINGS, AUDIT):
        return "`countenance audit RUN` writes it"
    return "the same `countenance run` command makes it again"
