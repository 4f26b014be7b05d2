"""Columns become arrays: groups as codes, metrics as floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.words import is_missing, plain_float

Array = NDArray[Any]
UNKNOWN = "(unknown)"
MAX_NUMERIC = 20
LARGEST = 1e50
"""The largest number that a metric may have: sums of fourth powers stay finite."""


@dataclass(frozen=True)
class Attribute:
    """The groups of one attribute: `codes[i]` is row i's group, -1 when unknown.

    In a list column `rows` and `codes` run in parallel: row `rows[j]` is a member of group `codes[j]`.
    """

    name: str
    levels: list[str]
    codes: Array
    rows: Array | None = None
    cuts: tuple[float, ...] = ()
    """Where numbers were cut into bins, the cut points."""


def attribute(name: str, column: Any, max_groups: int, numeric: int = MAX_NUMERIC) -> Attribute:
    """Code a column into groups; exact equality of values, null and blank are unknown.

    >>> import pyarrow as pa
    >>> a = attribute("region", pa.array(["1. Asia", "11. Asia", None, "1. Asia"]), 100)
    >>> a.levels, a.codes.tolist()
    (['1. Asia', '11. Asia'], [0, 1, -1, 0])
    """
    import pyarrow as pa

    kind = column.type
    if is_list(kind):
        parents = np.asarray(
            column.value_parent_indices()
            if hasattr(column, "value_parent_indices")
            else pa.compute.list_parent_indices(column)
        )
        inner = attribute(name, flat(column.flatten()), max_groups, numeric)
        known = inner.codes >= 0
        width = len(inner.levels)
        both = np.unique(parents[known].astype(np.int64) * width + inner.codes[known])
        return Attribute(name, inner.levels, (both % width).astype(np.int32), both // width)
    if pa.types.is_nested(kind):
        raise InputError(
            f"attribute {name!r}: values of type {kind}, expected texts, numbers, booleans or lists of them"
        )
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    texts = [text_of(value) for value in values]
    numbers = [_number(value) for value in values]
    known_texts = sorted({text for text in texts if text != UNKNOWN})
    counted = bool(known_texts) and all(n is not None for n, t in zip(numbers, texts, strict=True) if t != UNKNOWN)
    if counted and len(known_texts) > numeric:
        raise InputError(
            f"attribute {name!r}: {len(known_texts)} different numbers, at most {numeric} are taken as "
            f"groups; cut them into bins ({name}:18,40,65 or {name}:quantiles4)"
        )
    if len(known_texts) > max_groups:
        raise InputError(
            f"attribute {name!r}: {len(known_texts)} different values, more than max_groups={max_groups}; "
            "merge values, choose another column, or raise max_groups"
        )
    levels = sorted(known_texts, key=float) if counted else known_texts
    position = {text: index for index, text in enumerate(levels)}
    table = np.array([position.get(text, -1) for text in texts] + [-1], dtype=np.int32)
    return Attribute(name, levels, table[codes])


def text_of(value: Any) -> str:
    """A value as the name of a group."""
    if value is None or value != value or (isinstance(value, str) and not value.strip()):  # null, NaN, blank
        return UNKNOWN
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def doubtful_groups(attribute: Attribute) -> list[str]:
    """Notes on groups that may be the same group in two spellings, or no group: names are compared exactly.

    >>> levels = ["1", "1.0", "Female", "female ", "nan"]
    >>> for note in doubtful_groups(Attribute("g", levels, np.arange(5))): print(note)
    g: '1' and '1.0' are compared as different groups; write them alike if they are one
    g: 'Female' and 'female ' are compared as different groups; write them alike if they are one
    g: 'nan' is compared as a group; leave the value empty where it is not known
    """
    alike: dict[object, list[str]] = {}
    for level in attribute.levels if not attribute.cuts else ():
        number = _number(level)
        key = " ".join(level.casefold().split()) if number is None or number != number else number
        alike.setdefault(key, []).append(repr(level))
    notes = [
        f"{attribute.name}: {', '.join(names[:-1])} and {names[-1]} are compared as different groups; write them alike "
        "if they are one"
        for names in alike.values()
        if len(names) > 1
    ]
    nobody = [level for level in attribute.levels if level != UNKNOWN and is_missing(level)]
    return notes + [
        f"{attribute.name}: {level!r} is compared as a group; leave the value empty where it is not known"
        for level in nobody
    ]


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return plain_float(value)
    except (TypeError, ValueError):
        return None


def numbers_of(column: Any) -> Array | None:
    """A column as floats, NaN where it is null or empty; None where it holds anything else."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).fill_null(float("nan")), dtype=float)
    if not is_text(kind):
        return None
    values = column.to_pylist()
    if any(value not in (None, "") and _number(value) is None for value in values):
        return None
    return np.array([np.nan if value in (None, "") else float(value) for value in values], dtype=float)


def metric(name: str, column: Any) -> tuple[Array, str]:
    """A column as floats (NaN: outside the denominator) and its kind: 'rate' for only 0 and 1, else 'mean'.

    >>> import pyarrow as pa
    >>> metric("found", pa.array([True, False, None]))
    (array([ 1.,  0., nan]), 'rate')
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    floats = numbers_of(column)
    if floats is None and is_text(kind):
        values = column.to_pylist()
        bad = next(value for value in values if value not in (None, "") and _number(value) is None)
        raise InputError(f"metric {name!r}: found the text {bad!r} in row {values.index(bad) + 1}, expected numbers")
    if floats is None:
        raise InputError(f"metric {name!r}: values of type {kind}, expected numbers or booleans")
    known = floats[~np.isnan(floats)]
    if known.size and max(known.max(), -known.min()) > LARGEST:
        row = int(np.flatnonzero(np.abs(floats) > LARGEST)[0])
        what = "infinite" if np.isinf(floats[row]) else f"{floats[row]:g}"
        raise InputError(
            f"metric {name!r}: {what} in row {row + 1}, expected numbers between -{LARGEST:g} and {LARGEST:g}; "
            "where there is no score, leave the value empty"
        )
    return floats, "rate" if bool(((known == 0) | (known == 1)).all()) else "mean"


def flat(column: Any) -> Any:
    """A column as one array, its dictionary decoded."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):  # very large columns cannot be combined into one chunk
        column = pa.concat_arrays(column.chunks)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def is_text(kind: Any) -> bool:
    """Whether values of a type are texts."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: Any) -> bool:
    """Whether values of a type are lists."""
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))
