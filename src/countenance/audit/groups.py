"""Room: audit. Groups and their intersections, counted in one pass by duckdb grouping sets.

A row is a member of a group when its value equals the group's (never a substring); a list column makes it a
member of each of its groups. Rows unknown in an attribute are outside every cell that uses the attribute.
No text of the user's ever reaches the SQL: columns are numbered, values are coded.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.audit.table import Array, Attribute
from countenance.errors import InputError

CROSS = " × "
_local = threading.local()


@dataclass(frozen=True)
class Grouping:
    """One attribute, or an intersection of several, with the cells that occur, in the order of their values.

    `n[m, g]` rows of metric m in cell g, `k[m, g]` of them 1 (rates only).
    """

    attributes: tuple[int, ...]
    name: str
    cells: list[str]
    keys: Array
    rows: Array
    n: Array
    k: Array
    overlap: bool

    @property
    def depth(self) -> int:
        """How many attributes are crossed."""
        return len(self.attributes)


def subsets(count: int, depth: int) -> list[tuple[int, ...]]:
    """Attributes and their intersections up to a depth.

    >>> subsets(3, 2)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    return [s for size in range(1, min(depth, count) + 1) for s in itertools.combinations(range(count), size)]


def membership(attributes: Sequence[Attribute], chosen: Sequence[int], total: int) -> tuple[Array, Array]:
    """The pairs (row, key) of an intersection; the key numbers the cells in the order of their values.

    >>> a = Attribute("a", ["x", "y"], np.array([0, 1, -1]))
    >>> b = Attribute("b", ["u", "v"], np.array([1, 0, 0]))
    >>> [part.tolist() for part in membership([a, b], [0, 1], 3)]
    [[0, 1], [1, 2]]
    """
    rows: Array = np.arange(total)
    keys: Array = np.zeros(total, dtype=np.int64)
    for index in chosen:
        one = attributes[index]
        width = len(one.levels)
        if one.rows is None:
            codes = one.codes[rows]
            if (codes < 0).any():
                keep = codes >= 0
                rows, keys, codes = rows[keep], keys[keep], codes[keep]
            keys = keys * width + codes
        else:
            start = np.searchsorted(one.rows, rows, side="left")
            count = np.searchsorted(one.rows, rows, side="right") - start
            offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            codes = one.codes[np.repeat(start, count) + offset]
            rows, keys = np.repeat(rows, count), np.repeat(keys, count) * width + codes
    return rows, keys


def group(
    attributes: Sequence[Attribute],
    metrics: Sequence[Array],
    kinds: Sequence[str],
    depth: int,
    max_cells: int,
) -> list[Grouping]:
    """Count every attribute and every intersection up to `depth`.

    >>> a = Attribute("a", ["x", "y"], np.array([0, 1, 1]))
    >>> [one] = group([a], [np.array([1.0, 0.0, np.nan])], ["rate"], 1, 100)
    >>> one.cells, one.rows.tolist(), one.n.tolist(), one.k.tolist()
    (['x', 'y'], [1, 2], [[1, 1]], [[1, 0]])
    """
    wanted = subsets(len(attributes), depth)
    wanted = [s for s in wanted if len(s) == 1 or all(len(attributes[i].levels) > 1 for i in s)]
    counted = _count(attributes, metrics, kinds, wanted)
    made = []
    for chosen in wanted:
        keys, rows, n, k = counted[chosen]
        if len(keys) > max_cells:
            names = CROSS.join(attributes[i].name for i in chosen)
            raise InputError(
                f"{names}: {len(keys)} groups occur, more than {max_cells}; "
                "merge values, lower depth, or raise max_groups"
            )
        made.append(
            Grouping(
                attributes=chosen,
                name=CROSS.join(attributes[i].name for i in chosen),
                cells=[label(attributes, chosen, int(key)) for key in keys],
                keys=keys,
                rows=rows,
                n=n,
                k=k,
                overlap=any(attributes[i].rows is not None for i in chosen),
            )
        )
    return made


def label(attributes: Sequence[Attribute], chosen: Sequence[int], key: int) -> str:
    """The name of a cell.

    >>> label([Attribute("a", ["x", "y"], np.array([])), Attribute("b", ["u", "v"], np.array([]))], [0, 1], 2)
    'y × u'
    """
    parts: list[str] = []
    for index in reversed(chosen):
        key, code = divmod(key, len(attributes[index].levels))
        parts.append(attributes[index].levels[code])
    return CROSS.join(reversed(parts))


Counts = tuple[Array, Array, Array, Array]


def _count(
    attributes: Sequence[Attribute],
    metrics: Sequence[Array],
    kinds: Sequence[str],
    wanted: list[tuple[int, ...]],
) -> dict[tuple[int, ...], Counts]:
    import pyarrow as pa

    total = len(metrics[0])
    columns: dict[str, Any] = {}
    for index, one in enumerate(attributes):
        columns[f"a{index}"] = one.codes if one.rows is None else _lists(one, total)
    for index, (values, kind) in enumerate(zip(metrics, kinds, strict=True)):
        columns[f"n{index}"] = (~np.isnan(values)).view(np.int8)
        columns[f"k{index}"] = (values == 1).view(np.int8) if kind == "rate" else np.zeros(total, np.int8)
    sums = "".join(f", sum(n{i})::BIGINT, sum(k{i})::BIGINT" for i in range(len(metrics)))
    exploded = {s: tuple(i for i in s if attributes[i].rows is not None) for s in wanted}
    result: dict[tuple[int, ...], Counts] = {}
    connection = _connection()
    connection.register("scores", pa.table(columns))
    try:
        for lists in dict.fromkeys(exploded.values()):
            sets = [s for s in wanted if exploded[s] == lists]
            used = sorted({i for s in sets for i in s})
            names = ", ".join(f"a{i}" for i in used)
            grouping = ", ".join("(" + ", ".join(f"a{i}" for i in s) + ")" for s in sets)
            # Every name here is one we made; nothing of the user's is in the statement.
            sql = (
                f"SELECT {names}, count(*){sums} FROM {_unnest(lists)} "  # noqa: S608
                f"GROUP BY GROUPING SETS ({grouping})"
            )
            found = [np.ma.filled(column, -2) for column in connection.execute(sql).fetchnumpy().values()]
            for chosen in sets:
                result[chosen] = _take(found, used, chosen, attributes, len(metrics))
    finally:
        connection.unregister("scores")
    return result


def _connection() -> Any:
    """This thread's database in memory; opening one takes longer than a small audit, so it is kept."""
    import duckdb

    if getattr(_local, "process", None) != os.getpid():  # a forked process must not use its parent's
        _local.process, _local.connection = os.getpid(), duckdb.connect(":memory:")
    return _local.connection


def _unnest(lists: tuple[int, ...]) -> str:
    # Several unnest() side by side advance together; one inside the other gives the product that is wanted.
    inner = "scores"
    for index in lists:
        rest, one = f"* EXCLUDE (a{index})", f"unnest(a{index}) AS a{index}"
        inner = f"(SELECT {rest}, {one} FROM {inner})"  # noqa: S608
    return inner


def _lists(one: Attribute, total: int) -> Any:
    import pyarrow as pa

    offsets = np.searchsorted(one.rows, np.arange(total + 1)) if one.rows is not None else np.arange(total + 1)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(one.codes))


def _take(
    found: list[Array],
    used: list[int],
    chosen: tuple[int, ...],
    attributes: Sequence[Attribute],
    metrics: int,
) -> Counts:
    # A row of another grouping set has null (-2 here) in a column of ours, or a value in one not ours.
    here = np.ones(len(found[0]), dtype=bool)
    keys = np.zeros(len(found[0]), dtype=np.int64)
    for place, index in enumerate(used):
        if index in chosen:
            here &= found[place] >= 0
            keys = keys * len(attributes[index].levels) + found[place]
        else:
            here &= found[place] == -2
    order = np.flatnonzero(here)[np.argsort(keys[here], kind="stable")]
    rest = found[len(used) :]
    n = np.array([rest[1 + 2 * m][order] for m in range(metrics)]).reshape(metrics, len(order))
    k = np.array([rest[2 + 2 * m][order] for m in range(metrics)]).reshape(metrics, len(order))
    return keys[order], rest[0][order].astype(np.int64), n.astype(np.int64), k.astype(np.int64)
