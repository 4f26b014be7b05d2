"""Groups: the rows of every combination of values of attributes."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.fhibe.attributes import AttributeLabels
from countenance.data.adapters.fhibe.places import number
from countenance.data.adapters.fhibe.words import UNKNOWN, UNNUMBERED


@dataclass(frozen=True)
class Group:
    """The rows that share values of some attributes, in file order."""

    attributes: tuple[str, ...]
    values: tuple[str | None, ...]
    rows: NDArray[np.intp]

    @property
    def attributes_key(self) -> str:
        return str(list(self.attributes))

    @property
    def values_key(self) -> str:
        return str(list(self.values))


def all_groups(labels: Sequence[AttributeLabels], depth: int | None = None) -> list[Group]:
    """Every group of every combination of up to `depth` attributes (None: all), each combination sorted."""
    out: list[Group] = []
    for size in range(1, min(depth or len(labels), len(labels)) + 1):
        for combination in itertools.combinations(labels, size):
            attributes = tuple(labelled.attribute for labelled in combination)
            rows: dict[tuple[str | None, ...], list[int]] = {}
            for row, values in enumerate(zip(*(labelled.rows for labelled in combination), strict=True)):
                for group in itertools.product(*values):
                    rows.setdefault(group, []).append(row)
            order = sorted(rows, key=lambda group: [*map(_sort_key, attributes, group)])
            out += [Group(attributes, group, np.array(rows[group], dtype=np.intp)) for group in order]
    return out


def _sort_key(attribute: str, value: str | None) -> tuple[bool, float, str]:
    """Numbered values by their number, others as words, the unknown last."""
    if value is None or value == UNKNOWN:
        return True, math.inf, ""
    n = None if attribute in UNNUMBERED else number(value)
    return (False, math.inf, value) if n is None else (False, n, "")
