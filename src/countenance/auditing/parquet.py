"""Parquet files as one table: a file, a folder of files, or files of an object store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from countenance.decoding import decoding, limited_memory, most_memory, open_parquet, read_parquet
from countenance.errors import InputError
from countenance.scratch import temporary_folder
from countenance.storage import Missing, is_url, open_storage

SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class ParquetFiles:
    """Files of one table, in order. `about` keeps the rows that have a value in at least one of these columns."""

    files: tuple[Path, ...]
    about: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path) -> ParquetFiles:
        """The file, or all Parquet files in a folder and below it."""
        if not path.is_dir():
            return cls((path,))
        files = sorted(file for suffix in SUFFIXES for file in path.rglob(f"*{suffix}") if file.is_file())
        if not files:
            raise InputError(f"{path}: no .parquet file in this folder; expected a run or a table of rows")
        return cls(tuple(files))

    @cached_property
    def schema(self) -> Any:
        """The columns of all files together."""
        import pyarrow as pa

        schemas = [open_parquet(file, file).schema_arrow.remove_metadata() for file in self.files]
        try:
            return schemas[0] if len(schemas) == 1 else pa.unify_schemas(schemas, promote_options="default")
        except pa.ArrowException as error:
            first = str(error).splitlines()[0]
            raise InputError(f"{self.files[0].parent}: the files' columns do not fit together ({first})") from None

    @cached_property
    def rows(self) -> int:
        """How many rows the files have, as their footers say."""
        return sum(open_parquet(file, file).metadata.num_rows for file in self.files)

    def dataset(self) -> Any:
        """Everything that can be streamed from the files."""
        import pyarrow.dataset as ds

        return ds.dataset([str(file) for file in self.files], schema=self.schema, format="parquet")

    def batches(self, name: str) -> Iterator[Any]:
        """A column, batch by batch."""
        import pyarrow.compute as pc

        keep = None
        for column in self.about:
            valid = pc.field(column).is_valid()
            keep = valid if keep is None else keep | valid
        with decoding(self.files[0], "Parquet file"), limited_memory(max(map(most_memory, self.files))):
            yield from self.dataset().to_batches(columns=[name], filter=keep)

    def read(self, names: Sequence[str]) -> Any:
        """Some columns, in memory."""
        import pyarrow.compute as pc

        columns = list(dict.fromkeys([*names, *self.about]))
        if len(self.files) == 1:
            table = read_parquet(self.files[0], self.files[0], columns)
        else:
            with decoding(self.files[0].parent, "folder of Parquet files"):
                table = self.dataset().to_table(columns=columns)
        if not self.about:
            return table
        keep = pc.is_valid(table[self.about[0]])
        for name in self.about[1:]:
            keep = pc.or_(keep, pc.is_valid(table[name]))
        return table.filter(keep)


@contextmanager
def fetched(place: Path | str) -> Iterator[Path]:
    """A table on this machine: one at a URL (a file, or all Parquet files below it) is copied to a temporary folder.

    >>> with fetched(Path("scores.parquet")) as path:
    ...     path.name
    'scores.parquet'
    """
    if not is_url(place):
        yield Path(place)
        return
    text = str(place)
    single = text.lower().endswith(SUFFIXES)
    parent, _, name = text.rpartition("/") if single else (text, "", "")
    storage = open_storage(parent)
    names = [name] if single else [e.name for e in storage.entries() if e.name.lower().endswith(SUFFIXES)]
    if not names:
        raise InputError(f"{text}: no run and no .parquet file there")
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder("table"))
        links = [folder / (name if single else f"{number:06d}.parquet") for number in range(len(names))]
        for link, file in zip(links, names, strict=True):
            try:
                link.symlink_to(stack.enter_context(storage.local_file(file)))
            except Missing:
                raise InputError(f"{parent}/{file}: no such table there; name a .parquet file or a prefix") from None
        try:
            yield links[0] if single else folder
        except InputError as error:  # the message names the copy, which the user does not know
            message = str(error)
            for link, file in zip(links, names, strict=True):
                message = message.replace(str(link), f"{parent}/{file}")
            raise InputError(message.replace(str(folder), text)) from None
