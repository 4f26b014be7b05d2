"""The groups of a run's rows, for reducers that give results by group."""

from collections.abc import Iterator
from typing import Any

from countenance.data.vocabulary import in_order
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.reduce import Whole


def groups_of(rows: Any, attribute: str) -> Groups:
    """The groups of an attribute in a score table; a row of unknown value is in none.

    >>> import pyarrow as pa
    >>> found = groups_of(pa.table({"attr.tone": ["b", None, "a"]}), "tone")
    >>> found.names, found.pictures.astype(int).tolist()
    (('a', 'b'), [[0, 1], [0, 0], [1, 0]])
    """
    values = [_each(value) for value in rows[f"attr.{attribute}"].to_pylist()]
    return Groups.of(values, in_order(attribute, {name for value in values for name in value}))


def all_groups(whole: Whole) -> Iterator[tuple[str, Groups]]:
    """Each attribute that results are given for, with its groups; attributes without two groups are left out."""
    rows = whole.rows()
    for attribute in whole.attributes:
        groups = groups_of(rows, attribute)
        if len(groups.names) > 1:
            yield attribute, groups


def _each(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
