"""The values of each attribute that each person has."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.fhibe.places import continents, country, number, regions
from countenance.data.adapters.fhibe.table import FhibeTable
from countenance.data.adapters.fhibe.words import ATTRIBUTES, MULTIPLE, NOT_ON_FACES, UNKNOWN, age_bin
from countenance.data.reading.columns import literal
from countenance.data.tables import near
from countenance.errors import DataError
from countenance.settings.data import Compat


@dataclass(frozen=True)
class AttributeLabels:
    """One attribute, and the values that each row has of it."""

    attribute: str
    rows: Sequence[tuple[str | None, ...]]

    def cells(self) -> list[Any]:
        """Each row's values as a score table has them: a tuple where there may be several, else one value or None."""
        known = [tuple(value for value in row if value is not None) for row in self.rows]
        return known if self.attribute in MULTIPLE else [row[0] if row else None for row in known]

    def known(self, row: int) -> tuple[str, ...]:
        """The values of a row that are known."""
        return tuple(value for value in self.rows[row] if value is not None and value != UNKNOWN)

    def members(self) -> dict[str, NDArray[np.bool_]]:
        """For each value that is known, which rows have it."""
        known = sorted({value for row in range(len(self.rows)) for value in self.known(row)})
        return {value: np.array([value in row for row in self.rows]) for value in known}


def check_attributes(attributes: Sequence[str], face: bool) -> tuple[str, ...]:
    """The attributes in the published order; one that FHIBE does not have is refused.

    >>> check_attributes(["ancestry", "pronoun"], face=True)
    ('pronoun', 'ancestry')
    """
    if isinstance(attributes, str):
        raise DataError(f"attributes is the text {attributes!r}, expected a list of names")
    known = tuple(name for name in ATTRIBUTES if not (face and name in NOT_ON_FACES))
    for name in attributes:
        if name not in known:
            raise DataError(f"attribute {name!r} is not one of {', '.join(known)}{near(str(name), known)}")
    if not attributes:
        raise DataError("no attributes given; name at least one, such as pronoun")
    return tuple(name for name in known if name in attributes)


def label(table: FhibeTable, attribute: str, compat: Compat = "default") -> AttributeLabels:
    """The values of one attribute for every row.

    Several values put a row into several groups. By default membership is exact, the region of an ancestry and
    the continent of a nationality are added, and a missing value is "(unknown)". In strict mode an option
    counts as chosen when its text occurs in the cell, as published, and only nationality gets continents.
    """
    cells = table.text(attribute)
    values: dict[str, Sequence[str | None]]
    if attribute in MULTIPLE:
        first = {cell: i for i, cell in reversed(list(enumerate(cells)))}
        chosen = {cell: _selections(cell, table.place(first[cell], attribute)) for cell in dict.fromkeys(cells)}
        options = _options(chosen.values())
        values = {cell: _memberships(attribute, cell, selected, options, compat) for cell, selected in chosen.items()}
    else:
        values = {cell: [_single(attribute, cell, compat) if cell else UNKNOWN] for cell in set(cells)}
    known = {cell: tuple(memberships) for cell, memberships in values.items()}
    return AttributeLabels(attribute, [known[cell] for cell in cells])


def _single(attribute: str, cell: str, compat: Compat) -> str | None:
    if attribute == "location_country":
        place = country(cell)
        return UNKNOWN if place is None and compat == "default" else place
    if attribute == "age":
        return UNKNOWN if math.isnan(float(cell)) else age_bin(float(cell))
    return cell


def _selections(cell: str, place: str) -> list[str]:
    value = literal(cell, place) if cell else []
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise DataError(f"{place}: {cell[:60]!r} is not a list of texts such as ['0. She/her/hers']")
    return list(value)


def _options(selections: Iterable[list[str]]) -> list[str]:
    seen = dict.fromkeys(option for selected in selections for option in selected)
    return sorted(seen, key=lambda option: math.inf if (n := number(option)) is None else n)


def _memberships(attribute: str, cell: str, selected: list[str], options: list[str], compat: Compat) -> list[str]:
    memberships = continents(selected) if attribute == "nationality" else []
    if compat == "strict":
        return memberships + [option for option in options if option in cell]
    if attribute == "ancestry":
        memberships = regions(selected)
    memberships += [option for option in options if option in selected]
    return list(dict.fromkeys(memberships)) or [UNKNOWN]
