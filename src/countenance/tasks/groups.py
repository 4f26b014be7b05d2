"""The groups of a run's rows, for reducers that give results by group."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.vocabulary import in_order
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.reduce import Whole


def groups_of(rows: Any, attribute: str) -> Groups:
    """The groups of an attribute in a score table; a row with an unknown value is in no group.

    >>> import pyarrow as pa
    >>> groups = groups_of(pa.table({"attr.tone": ["b", None, "a"]}), "tone")
    >>> groups.names, groups.pictures.astype(int).tolist()
    (('a', 'b'), [[0, 1], [0, 0], [1, 0]])
    """
    import pyarrow as pa

    column = rows[f"attr.{attribute}"]
    if pa.types.is_string(column.type):  # each different word once
        coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        kinds, cell = [_each(value) for value in coded.dictionary.to_pylist()], coded.indices.to_numpy()
        return Groups.of_kinds(kinds, cell.astype(np.int64), in_order(attribute, {n for kind in kinds for n in kind}))
    values = [_each(value) for value in column.to_pylist()]
    return Groups.of(values, in_order(attribute, {name for value in values for name in value}))


def people_of(identities: Any) -> NDArray[np.int64]:
    """The person of each row as a number, in the order of their names; a row without a name counts as its own person.

    >>> import pyarrow as pa
    >>> people_of(pa.chunked_array([["b", None, "a", "b", ""]])).tolist()
    [3, 0, 2, 3, 1]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = identities.combine_chunks()
    rows = pa.array(np.arange(len(column))).cast(pa.string())
    alone = pc.binary_join_element_wise("\0", rows, "")
    coded = pc.if_else(pc.fill_null(pc.equal(column, ""), True), alone, column).dictionary_encode()
    rank = np.empty(len(coded.dictionary), np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
    return np.asarray(rank[coded.indices.to_numpy()])


def all_groups(whole: Whole) -> Iterator[tuple[str, Groups]]:
    """Each attribute with results by group, and its groups; attributes without two groups are left out."""
    for attribute in whole.attributes:
        groups = groups_of(whole.rows([f"attr.{attribute}"]), attribute)
        if len(groups.names) > 1:
            yield attribute, groups


def _each(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def rows_of(samples: NDArray[Any], column: Any) -> NDArray[np.int64]:
    """The row of each sample in a table's column of samples.

    >>> import pyarrow as pa
    >>> rows_of(np.array(["c", "a"]), pa.chunked_array([["a", "b", "c"]])).tolist()
    [2, 0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(pa.array(samples, pa.string()), value_set=column.combine_chunks())
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)


def numbers(column: Any) -> NDArray[np.float64]:
    """A column of numbers; NaN where a value is missing.

    >>> import pyarrow as pa
    >>> numbers(pa.chunked_array([[1.5, None]]))
    array([1.5, nan])
    """
    return np.asarray(column.to_numpy(), dtype=np.float64)
