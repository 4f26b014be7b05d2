"""Which rows of a table are kept: those that have one of the values named in every column named."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from countenance.auditing.source import Source
from countenance.auditing.table import Array, attribute
from countenance.errors import InputError


def kept_rows(source: Source, conditions: Mapping[str, Sequence[str]]) -> Array | None:
    """Which rows have one of the values named in every column named; None: all.

    >>> kept_rows(Source({"change": ["none", "mask", "hat"]}), {"change": ["none", "hat"]}).tolist()
    [True, False, True]
    """
    keep: Array | None = None
    for name, values in conditions.items():
        column = source.resolve(name, "attr.", "attribute")
        read = source.read([column], [])[column]
        coded = attribute(name, read, sys.maxsize, numeric=sys.maxsize)
        if absent := [value for value in values if value not in coded.levels]:
            some = ", ".join(coded.levels[:12]) + (" …" if len(coded.levels) > 12 else "")
            raise InputError(f"{source.label}: where: no row has {name} = {absent[0]}; there are {some}")
        rows = np.isin(coded.codes, [coded.levels.index(value) for value in values])
        if coded.rows is not None:
            rows = np.bincount(coded.rows[rows], minlength=len(read)) > 0
        keep = rows if keep is None else keep & rows
    if keep is not None and not keep.any():
        raise nothing_kept(source, conditions)
    return keep


def nothing_kept(source: Source, conditions: Mapping[str, Sequence[str]]) -> InputError:
    """The error that no row fulfils all conditions."""
    words = " and ".join(f"{name} = {' or '.join(values)}" for name, values in conditions.items())
    return InputError(f"{source.label}: where: no row has {words}")
