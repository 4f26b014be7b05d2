"""Groups: which values each person has of each attribute, and the rows of every combination of values."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.suites.fhibe.literals import literal
from countenance.suites.fhibe.places import continents, country, number, regions
from countenance.suites.fhibe.table import FhibeTable
from countenance.suites.fhibe.vocabulary import ATTRIBUTES, MULTIPLE, NOT_ON_FACES, UNKNOWN, UNNUMBERED, age_bin
from countenance.tasks.thresholds import Compat

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class AttributeLabels:
    """One attribute: its distinct values, and for each row where its values stand in `codes`."""

    attribute: str
    values: tuple[str | None, ...]
    codes: Ints
    counts: Ints

    def of_rows(self) -> list[tuple[str | None, ...]]:
        """Each row's values."""
        ends = np.cumsum(self.counts)
        return [
            tuple(self.values[code] for code in self.codes[end - n : end])
            for end, n in zip(ends.tolist(), self.counts.tolist(), strict=True)
        ]

    def cells(self) -> list[Any]:
        """Each row's values as a score table has them: a tuple where there may be several, else one value or None."""
        known = [tuple(value for value in row if value is not None) for row in self.of_rows()]
        if self.attribute in MULTIPLE:
            return known
        return [row[0] if row else None for row in known]

    def members(self) -> dict[str, NDArray[np.bool_]]:
        """For each value that is known, which rows have it."""
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        known = {value: i for i, value in enumerate(self.values) if value is not None and value != UNKNOWN}
        return {
            value: np.isin(np.arange(len(self.counts)), rows[self.codes == i]) for value, i in sorted(known.items())
        }


@dataclass(frozen=True)
class Group:
    """The rows that share values of some attributes, in the order of the table."""

    attributes: tuple[str, ...]
    values: tuple[str | None, ...]
    rows: NDArray[np.intp]

    @property
    def attributes_key(self) -> str:
        return str(list(self.attributes))

    @property
    def values_key(self) -> str:
        return str(list(self.values))


def check_attributes(attributes: Sequence[str], face: bool) -> tuple[str, ...]:
    """The attributes in the published order; one that FHIBE does not have is refused.

    >>> check_attributes(["ancestry", "pronoun"], face=True)
    ('pronoun', 'ancestry')
    """
    if isinstance(attributes, str):
        raise InputError(f"attributes is the text {attributes!r}, expected a list of names")
    known = tuple(name for name in ATTRIBUTES if not (face and name in NOT_ON_FACES))
    for name in attributes:
        if name not in known:
            raise InputError(f"attribute {name!r} is not one of {', '.join(known)}{near(str(name), known)}")
    if not attributes:
        raise InputError("no attributes given; name at least one, such as pronoun")
    return tuple(name for name in known if name in attributes)


def label(table: FhibeTable, attribute: str, compat: Compat = "default") -> AttributeLabels:
    """The values of one attribute for every row.

    Several values put a row into several groups. By default membership is exact, the region of an ancestry and
    the continent of a nationality are added, and a missing value is "(unknown)". In strict mode an option
    counts as chosen when its text occurs in the cell, as published, and only nationality gets continents.
    """
    cells = table.text(attribute)
    distinct: dict[str, tuple[str | None, ...]] = dict.fromkeys(cells, ())
    first = {cell: i for i, cell in reversed(list(enumerate(cells)))}
    if attribute in MULTIPLE:
        chosen = {cell: _selections(table, first[cell], attribute, cell) for cell in distinct}
        options = _options(chosen.values())
        for cell, selected in chosen.items():
            distinct[cell] = tuple(_memberships(attribute, cell, selected, options, compat))
    elif attribute == "age":
        for cell in distinct:
            distinct[cell] = (age_bin(float(cell)) if cell else UNKNOWN,)
    elif attribute == "location_country":
        for cell in distinct:
            place = country(cell) if cell else UNKNOWN
            distinct[cell] = (UNKNOWN if place is None and compat == "default" else place,)
    else:
        for cell in distinct:
            distinct[cell] = (cell or UNKNOWN,)
    values = tuple(dict.fromkeys(value for cell in cells for value in distinct[cell]))
    code = {value: i for i, value in enumerate(values)}
    per_cell = {cell: [code[value] for value in found] for cell, found in distinct.items()}
    codes = [c for cell in cells for c in per_cell[cell]]
    counts = [len(per_cell[cell]) for cell in cells]
    return AttributeLabels(attribute, values, np.array(codes, dtype=np.int64), np.array(counts, dtype=np.int64))


def _selections(table: FhibeTable, row: int, attribute: str, cell: str) -> list[str]:
    if not cell:
        return []
    place = table.place(row, attribute)
    value = literal(cell, place)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{place}: {cell[:60]!r} is not a list of texts such as ['0. She/her/hers']")
    return list(value)


def _options(selections: Iterable[list[str]]) -> list[str]:
    seen = dict.fromkeys(option for selected in selections for option in selected)
    return sorted(seen, key=lambda option: (number(option) is None, number(option) or 0))


def _memberships(attribute: str, cell: str, selected: list[str], options: list[str], compat: Compat) -> list[str]:
    found = continents(selected) if attribute == "nationality" else []
    if compat == "strict":
        return found + [option for option in options if option in cell]
    if attribute == "ancestry":
        found = regions(selected)
    found += [option for option in options if option in selected]
    return list(dict.fromkeys(found)) or [UNKNOWN]


def all_groups(labels: Sequence[AttributeLabels], depth: int | None = None) -> list[Group]:
    """Every group of every combination of up to `depth` attributes (None: all), each combination sorted."""
    out: list[Group] = []
    for size in range(1, min(depth or len(labels), len(labels)) + 1):
        for combination in itertools.combinations(labels, size):
            out.extend(_groups_of(combination))
    return out


def _groups_of(combination: Sequence[AttributeLabels]) -> Iterator[Group]:
    rows: NDArray[np.intp] = np.arange(len(combination[0].counts))
    key: Ints = np.zeros(len(rows), dtype=np.int64)
    for labels in combination:
        starts = np.cumsum(labels.counts) - labels.counts
        each = labels.counts[rows]
        again = np.repeat(np.arange(len(rows)), each)
        within = np.arange(len(again)) - np.repeat(np.cumsum(each) - each, each)
        key = key[again] * len(labels.values) + labels.codes[starts[rows][again] + within]
        rows = rows[again]
    if not len(rows):  # nobody has a value of one of them
        return
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    bounds = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    ends = np.append(bounds[1:], len(ranked))
    found: list[tuple[tuple[object, ...], int, Group]] = []
    attributes = tuple(labels.attribute for labels in combination)
    for start, end in zip(bounds.tolist(), ends.tolist(), strict=True):
        code, values = int(ranked[start]), []
        for labels in reversed(combination):
            code, i = divmod(code, len(labels.values))
            values.append(labels.values[i])
        names = tuple(reversed(values))
        sort_key = tuple(_sort_key(a, v) for a, v in zip(attributes, names, strict=True))
        found.append((sort_key, int(order[start]), Group(attributes, names, rows[order[start:end]])))
    found.sort(key=lambda item: item[:2])
    for _, _, group in found:
        yield group


def _sort_key(attribute: str, value: str | None) -> tuple[int, int, str]:
    """Numbered values by their number, others as words, the unknown last."""
    if value is None or value == UNKNOWN:
        return 2, 0, ""
    if attribute in UNNUMBERED:
        return 0, 0, value
    n = number(value)
    return (1, 0, value) if n is None else (0, n, "")
