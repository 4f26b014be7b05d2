"""The columns of a run's score table that are in use, kept in memory between requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from countenance.auditing.attributes import choose, coded
from countenance.auditing.conditions import kept_rows
from countenance.auditing.groups import group, membership
from countenance.auditing.source import Source
from countenance.auditing.table import UNKNOWN, Array, flat, is_text
from countenance.decoding import open_parquet, read_parquet
from countenance.errors import InputError
from countenance.run.auditing import EVERYONE, WHOLE

MOST_NARROWED = 6
"""The most cached selections of rows; each has its own copy of the columns in use."""


class Columns(Source):
    """A score table whose columns are read once, on first use.

    `narrowed` gives the rows that meet a condition as another table of the same kind.
    """

    def __init__(self, files: Sequence[Path], label: str) -> None:
        super().__init__(files[0], label)
        self.files = list(files)
        self.names = [*self.names, f"attr.{WHOLE}"] if f"attr.{WHOLE}" not in self.names else self.names
        self._whole: Columns | None = None
        self._mask: Any = None
        self._read: dict[str, Any] = {}
        self._narrowed: dict[Any, Columns] = {}
        self._latest: dict[Any, Any] = {}
        self._lock = threading.RLock()  # each request runs in a thread

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, without the attribute with the single group everyone."""
        return [name.removeprefix("attr.") for name in self.names if name.startswith("attr.")][:-1]

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics."""
        return [name.removeprefix("m.") for name in self.names if name.startswith("m.")]

    @property
    def total(self) -> int:
        """How many rows there are."""
        if self._mask is not None:
            return int(np.count_nonzero(self._mask))
        return int(self.keep("total", lambda: sum(open_parquet(name, name).metadata.num_rows for name in self.files)))

    def read(self, texts: Sequence[str], others: Sequence[str]) -> dict[str, Any]:
        """The named columns as Arrow arrays; texts are dictionaries of the values that occur, a third of the size."""
        return {name: self._column(name) for name in dict.fromkeys([*texts, *others])}

    def _column(self, name: str) -> Any:
        if name not in self._read:
            if self._whole is not None:
                import pyarrow as pa

                self._read[name] = _encoded(name, flat(self._whole._column(name).filter(pa.array(self._mask))))
            else:
                self._read[name] = _encoded(name, self._from_files(name))
        return self._read[name]

    def _from_files(self, name: str) -> Any:
        import pyarrow as pa

        if name == f"attr.{WHOLE}" and name not in open_parquet(self.files[0], self.files[0]).schema_arrow.names:
            return pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(self.total, dtype=np.int8)), pa.array([EVERYONE])
            ).dictionary_decode()
        parts = [read_parquet(file, self.label, [name]).column(name) for file in self.files]
        return flat(parts[0] if len(parts) == 1 else pa.chunked_array([c for part in parts for c in part.chunks]))

    def _parts(self, name: str) -> Iterator[Any]:
        return iter([self._column(name)]) if name == f"attr.{WHOLE}" else super()._parts(name)

    def _type(self, name: str) -> Any:
        return self._column(name).type if name == f"attr.{WHOLE}" else super()._type(name)

    def numbers(self, metric: str) -> Array:
        """A metric as floats, NaN for rows without it."""
        column = self.resolve(metric, "m.", "metric")
        return np.asarray(self._column(column).to_numpy(zero_copy_only=False), dtype=np.float64)

    def keep_latest(self, key: Any, make: Callable[[], Any], most: int = 24) -> Any:
        """The value of `make`, computed once for each of the latest keys."""
        with self._lock:
            if key not in self._latest:
                value = make()
                while len(self._latest) >= most:
                    del self._latest[next(iter(self._latest))]
                self._latest[key] = value
            return self._latest[key]

    def places(self) -> Array:
        """The place of each row in the whole table."""
        return np.arange(self.total) if self._mask is None else np.flatnonzero(self._mask)

    def about(self, metrics: Sequence[str]) -> Columns:
        """The rows with a value of at least one of the metrics."""
        import pyarrow.compute as pc

        key = ("about", tuple(metrics))
        with self._lock:
            if key not in self._narrowed:
                keep = np.zeros(self.total, dtype=bool)
                for name in metrics:
                    keep |= np.asarray(pc.is_valid(self._column(self.resolve(name, "m.", "metric"))))
                self._remember(key, keep)
            return self._narrowed[key]

    def where(self, conditions: Mapping[str, Sequence[str]]) -> Columns:
        """The rows that have one of the values named in every column named."""
        if not conditions:
            return self
        key = ("where", tuple((name, tuple(values)) for name, values in sorted(conditions.items())))
        with self._lock:
            if key not in self._narrowed:
                mask = kept_rows(self, conditions)
                self._remember(key, np.ones(self.total, dtype=bool) if mask is None else mask)
            return self._narrowed[key]

    def _remember(self, key: Any, mask: Array) -> None:
        while len(self._narrowed) >= MOST_NARROWED:
            del self._narrowed[next(iter(self._narrowed))]
        self._narrowed[key] = self if mask.all() else self._with(mask)

    def _with(self, mask: Array) -> Columns:
        part = Columns.__new__(Columns)
        part.__dict__ |= {
            **self.__dict__,
            "_cache": {},
            "_read": {},
            "_narrowed": {},
            "_latest": {},
            "_mask": mask,
            "_whole": self,
        }
        if self._mask is not None:  # masks are over the whole table, so that a row keeps its place
            whole = np.zeros(len(self._mask), dtype=bool)
            whole[np.flatnonzero(self._mask)[mask]] = True
            part.__dict__ |= {"_mask": whole, "_whole": self._whole}
        return part

    def members(self, by: str, value: str) -> Array:
        """Which rows are in a group, as in the audit: `by` is an attribute, a binned one or an intersection."""
        chosen = choose([by], self, [])
        places = chosen.crosses[0] if chosen.crosses else (chosen.single[0],)
        attributes = [
            self.keep(("attribute", choice), partial(coded, choice, self._column(choice.column), 10**6))
            for choice in chosen.attributes
        ]
        rows, keys = membership(attributes, places, self.total)
        if value == UNKNOWN:
            known = np.zeros(self.total, dtype=bool)
            known[keys >= 0 if rows is None else rows] = True
            return ~known
        grouping = group(attributes, [places], {places}, self.total, 10**6)[0]
        if value not in grouping.cells:
            some = ", ".join(grouping.cells[:12]) + (" …" if len(grouping.cells) > 12 else "")
            raise InputError(f"{self.label}: {by} has no group {value!r}; there are {some}")
        here = keys == grouping.keys[grouping.cells.index(value)]
        if rows is None:
            return np.asarray(here)
        members = np.zeros(self.total, dtype=bool)
        members[rows[here]] = True
        return members


def _encoded(name: str, column: Any) -> Any:
    return column if name.startswith("m.") or not is_text(column.type) else column.dictionary_encode()
