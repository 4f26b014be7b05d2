"""The layout of a run in its storage: the only reader and writer of runs.

A shard counts when its marker exists and the files that it names have the hashes that it names. The files of a finished
run are on a list with their hashes (`countenance.run.hashes`); a store that is `verified` compares what it reads.
"""

import hashlib
import io
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from countenance.answers.store import answers_from_table, answers_table
from countenance.arrow_memory import arrow_reader
from countenance.decoding import decoding, first_line, json_of, open_parquet, read_parquet
from countenance.errors import InputError
from countenance.files import to_json
from countenance.run.hashes import FILES, FileHashes, digest
from countenance.run.manifest import DamagedManifest, Manifest, Place, read_manifest
from countenance.run.marker import Committed, Marker
from countenance.run.rows import check_failures, check_scores
from countenance.run.trust import is_marked, mark_of
from countenance.scratch import temporary_folder
from countenance.storage import Missing, Storage, open_storage
from countenance.storage.local import LocalStorage
from countenance.tasks.results import Result, results_from_json, results_to_json
from countenance.tasks.states import State, state_from_bytes

Parsed = TypeVar("Parsed")
MANIFEST, LOCAL = "run.json", "local.json"
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
COPIED_AT_ONCE = 8 << 20
"""Bytes of a file that are copied at once."""
THUMBNAILS = "thumbnails/"
"""Small pictures that the viewer made. They can be made again at any time, so they have no hash."""
VIEWED = "viewed.jsonl"
"""When and by whom the faces of real people were shown in the viewer."""
VIEWS = "views.json"
"""Views that somebody saved in the viewer, with their names."""
FIT = "fit.json"
"""What a model that was fitted first said about it."""
QUESTIONS = "questions.json"
"""Which different questions the run's scores were asked."""
UNSEALED = (LOCAL, FILES, JOURNAL, VIEWED, VIEWS, QUESTIONS)
"""Files that have no hash: they differ from machine to machine, hold the hashes, or are there for a moment."""
COMPLETED = (SCORES, FAILURES, RESULTS, FINDINGS, AUDIT)
"""Files that only a finished run has; its list of hashes is written after them."""


OWN_FILES = (
    MANIFEST,
    LOCAL,
    FILES,
    SCORES,
    FAILURES,
    RESULTS,
    FINDINGS,
    AUDIT,
    REPORT,
    PAGES,
    JOURNAL,
    VIEWED,
    VIEWS,
    QUESTIONS,
    FIT,
)
OWN_NAMES = re.compile(r"(?:answers|shards|work|scores)/\d{5}[\w.-]*\.(?:parquet|json|state)|thumbnails/[\w.-]+\.jpg")
"""Names of files that this package writes into folders of a run."""


class RunStore:
    """A run in its storage."""

    def __init__(self, place: Any, *, patient: bool = False, verified: bool = False) -> None:
        self.storage: Storage = open_storage(place, patient=patient)
        self.hashes = FileHashes(self.storage)
        self.verified = verified
        """Whether files of a finished run are refused whose content is not what was written."""
        self._finished: bool | None = None
        """Whether the manifest says so; None until it was read."""
        self._parsed: dict[str, tuple[Any, Any]] = {}
        """What was read last of a file, with the stamp of the file."""

    @property
    def place(self) -> str:
        return self.storage.place

    def read(self, name: str) -> bytes:
        """The content of a file of the run, checked where the store is verified; `Missing` when there is none."""
        content = self.storage.read(name)
        if self._checks(name):
            self.hashes.check(name, content, _remedy(name))
        return content

    def _checks(self, name: str) -> bool:
        """Whether a file is compared with its hash; a result of a run that has no hashes yet is refused."""
        if self.verified and self._finished is False and (name in COMPLETED or name.startswith(MANY_SCORES)):
            raise InputError(
                f"{self.place}: the run did not finish, so nothing says that {name} is what was written; the same "
                "`countenance run` command goes on (--unverified reads it all the same)"
            )
        return bool(self.verified and self._finished and _sealable(name))

    def _once(self, name: str, parse: Callable[[], Parsed]) -> Parsed:
        """What `parse` makes of a file; read again only where the file is another one, or cannot be told from it."""
        stamp = self.storage.stamp(name) if isinstance(self.storage, LocalStorage) else None
        if stamp is None:
            return parse()
        stamp = (*stamp, bool(self.verified and self._finished))
        if self._parsed.get(name, (None, None))[0] != stamp:
            self._parsed[name] = (stamp, parse())
        parsed: Parsed = self._parsed[name][1]
        return parsed

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
        found = read_manifest(content, f"{self.place}/{MANIFEST}")
        self._finished = found.status == "complete"
        if self.verified and self._finished:
            self.hashes.check(MANIFEST, content, _remedy(MANIFEST))
        return found

    def write_manifest(self, manifest: Manifest) -> None:
        self.storage.write(MANIFEST, manifest.to_bytes())

    def local(self, manifest: Manifest) -> Place:
        """Where things lie on this machine; nothing where the run was made elsewhere or by somebody else."""
        found = self._local()
        return found if is_marked(found.claims(manifest), found.mark) else Place()

    def _local(self) -> Place:
        """`local.json` as it is, whoever wrote it."""
        try:
            return Place.model_validate_json(self.storage.read(LOCAL))
        except (Missing, InputError, ValueError):
            return Place()

    def write_local(self, place: Place, manifest: Manifest) -> None:
        """Say where things lie, and that this user made the run; the salt of withdrawn ids stays."""
        kept = place.model_copy(update={"salt": place.salt or self._local().salt or secrets.token_hex(16)})
        marked = kept.model_copy(update={"mark": mark_of(kept.claims(manifest))})
        self.storage.write(LOCAL, to_json(marked.model_dump()).encode())

    def salt(self) -> str:
        """The secret with which ids of withdrawn images are hashed; empty where the run came without it."""
        return self._local().salt

    def write_salt(self, salt: str) -> None:
        """Keep a salt for a run that came without one, and nothing else that it did not say."""
        self.storage.write(LOCAL, to_json(self._local().model_copy(update={"salt": salt}).model_dump()).encode())

    def move_aside(self) -> str:
        """Keep the run under another name beside its place, named after its key; returns where it is now."""
        name, key = Path(self.place).name, self._key()
        key = key if re.fullmatch("[0-9a-f]{8,}", key) else "unknown"
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
            answers_name(number): parquet_bytes(answers_table(kind, answers)),
            work_rows(number): parquet_bytes(rows),
        }
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
            return Marker.read(self.read(marker_name(number)))
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
                if entry.name not in named and is_own(entry.name):
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
        return [entry.name for entry in self.storage.entries(ANSWERS) if _is_table(entry.name)]

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

        return pc.is_in(self._samples(table, name), pa.array(sorted(wanted), pa.string()))

    def _samples(self, table: Any, name: str) -> Any:
        """The column that says whose rows these are."""
        import pyarrow as pa

        if "sample" not in table.column_names or not pa.types.is_string(table["sample"].type):
            raise InputError(
                f"{self.place}/{name}: no column sample with names, so it cannot be told whose rows these are; "
                f"{_remedy(name)}"
            )
        return table["sample"]

    def answered(self) -> set[str]:
        """The ids of the samples with a stored prediction."""
        tables = ((self.table(name, columns=["sample"]), name) for name in self.answer_files())
        return {sample for table, name in tables for sample in self._samples(table, name).to_pylist()}

    # tables

    def table(self, name: str, expected: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """A Parquet file, or the columns named that it has, as an Arrow table; its hash must be the one expected."""

        try:
            content = self.read(name)
        except Missing:
            raise InputError(f"{self.place}/{name}: missing; {_remedy(name)}") from None
        if expected is not None and digest(content) != expected:
            raise InputError(f"{self.place}/{name}: its content is not what was written; {_remedy(name)}")
        table = read_parquet(arrow_reader(content), f"{self.place}/{name}", columns, f"; {_remedy(name)}")
        if len(set(table.column_names)) < table.num_columns:
            raise InputError(f"{self.place}/{name}: two columns of one name; {_remedy(name)}")
        return table

    def write_table(self, name: str, table: Any) -> None:
        self.storage.write(name, parquet_bytes(table))

    def score_files(self) -> list[str]:
        """The files of the score table: one, or those of its folder."""
        many = [entry.name for entry in self.storage.entries(MANY_SCORES) if _is_table(entry.name)]
        return many or [SCORES]

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
        """The files of a score table that is too large to be read whole, on this machine; None: it is small.

        Libraries open them by name, several times. Where hashes are compared they are copies in the private folder of
        this process, hashed while they are made: in the run somebody could exchange a file that was compared before it
        is read.
        """
        names = [entry.name for entry in self.storage.entries(MANY_SCORES) if _is_table(entry.name)]
        if not names:
            yield None
        elif not all(self._checks(name) for name in names):
            with ExitStack() as stack:
                paths = {name: Path(stack.enter_context(self.storage.local_file(name))) for name in names}
                yield self._score_tables(paths)
        else:
            with temporary_folder("scores") as folder:
                try:
                    yield self._score_tables({name: self._copied(name, folder / Path(name).name) for name in names})
                except InputError as error:
                    if str(folder) not in str(error):
                        raise
                    text = str(error).replace(str(folder), f"{self.place}/{MANY_SCORES.rstrip('/')}")
                    raise InputError(text) from None  # the copy is known to nobody

    def _score_tables(self, paths: Mapping[str, Path]) -> list[Path]:
        """The same files, with columns of the kinds that runs have."""
        for name, path in paths.items():
            place = f"{self.place}/{name}"
            check_scores(open_parquet(path, place, f"; {_remedy(name)}").schema_arrow.empty_table(), place)
        return list(paths.values())

    def _copied(self, name: str, copy: Path) -> Path:
        """Copy a file and compare what was copied with its hash."""
        content = hashlib.sha256()
        with self.storage.open(name) as source, copy.open("wb") as stream:
            while block := source.read(COPIED_AT_ONCE):
                content.update(block)
                stream.write(block)
        self.hashes.check_digest(name, content.hexdigest, _remedy(name))
        return copy

    def check_file(self, name: str, path: Path) -> None:
        """The check of `read` for a file that the viewer opens by its name; it is opened again when it changes."""
        if self._checks(name):
            with path.open("rb") as stream:
                self.hashes.check_digest(name, hashlib.file_digest(stream, "sha256").hexdigest, _remedy(name))

    def results(self) -> list[Result]:
        """The results; none where the task has no reducer."""
        return list(self._once(RESULTS, self._result_list))

    def _result_list(self) -> list[Result]:
        try:
            content = self.read(RESULTS)
        except Missing:
            return []
        try:
            return results_from_json(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.place}/{RESULTS}: damaged ({first_line(error)}); {_remedy(RESULTS)}") from None

    def write_results(self, results: Iterable[Result]) -> None:
        self.storage.write(RESULTS, results_to_json(results).encode())

    def fit_notes(self) -> dict[str, Any]:
        """What the model said when it was fitted; nothing where it was not."""
        try:
            notes = json_of(self.read(FIT), f"{self.place}/{FIT}")
        except Missing:
            return {}
        return notes if isinstance(notes, dict) else {}

    def write_fit_notes(self, notes: Mapping[str, Any]) -> None:
        """Keep what the model said when it was first fitted for this run."""
        if not self.storage.has(FIT):
            self.storage.write(FIT, to_json(notes).encode())

    # hashes

    def sealed(self) -> dict[str, str]:
        """The hash of every file of the run; empty where there is no list."""
        self.hashes.forget()
        return self.hashes.known()

    def seal(self, names: Iterable[str] | None = None) -> None:
        """Write down the hash of the files named (of every file of the run, by default)."""
        known = self.sealed()
        entries = [entry.name for entry in self.storage.entries() if _sealable(entry.name)]
        own = [name for name in entries if is_own(name) or name in known]  # what a user put beside them is no part
        wanted = own if names is None else [name for name in names if name in entries]
        told = self._told_hashes(wanted) if self.storage.guarded else {}
        fresh = {n: told.get(n) or digest(self.storage.read(n)) for n in wanted if not n.startswith(WORK)}
        kept = {} if names is None else known
        self.hashes.write({name: value for name, value in (kept | fresh).items() if name in entries})

    def _told_hashes(self, wanted: Sequence[str]) -> dict[str, str]:
        """The hashes of predictions as their writers computed them."""
        if not any(name.startswith(ANSWERS) for name in wanted):
            return {}
        found: dict[str, str] = {}
        for marker in self.committed(rows=False).values():
            found |= {name: value for name, value in marker.files.items() if name.startswith(ANSWERS)}
        return found

    def replacing(self, *names: str) -> AbstractContextManager[None]:
        """Files that are written in the context are off the list of hashes until it ends."""
        return self.hashes.replacing(names, self.seal)


def is_own(name: str) -> bool:
    """Whether a file has a name that this package writes into runs; others may be on the list of hashes.

    >>> is_own("scores.parquet"), is_own("answers/00012.parquet"), is_own("notes.txt"), is_own("answers/mine.parquet")
    (True, True, False, False)
    """
    return name in OWN_FILES or OWN_NAMES.fullmatch(name) is not None


def _is_table(name: str) -> bool:
    return is_own(name) and name.endswith(".parquet")


def _sealable(name: str) -> bool:
    """Whether a file is a part of the run, whose hash is kept."""
    return name not in UNSEALED and not name.startswith((THUMBNAILS, WORK))


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
