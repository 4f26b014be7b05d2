"""The rows in which slices are searched: how badly each does, its person, and its recorded values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing.attributes import MOST_VALUES, NEVER, Choice, bare
from countenance.auditing.directions import LOWER, inferred
from countenance.auditing.given_finding import ON_THE_FACE
from countenance.auditing.held_equal_covariates import Covariate, covariate
from countenance.auditing.source import Source
from countenance.auditing.table import Array, metric, text_of
from countenance.auditing.units import IMAGE, units
from countenance.errors import InputError
from countenance.person_columns import person_column

SAME = 0.9
"""A column of 0 and 1 with at least this correlation with the metric counts as the same metric."""
FEWEST_PEOPLE = 20
"""People that a slice must have in each half."""
NUMBERS = 4
"""How many bins a column of numbers is cut into."""


@dataclass(frozen=True)
class Literal:
    """One value of one attribute or condition, and which rows have it."""

    attribute: str
    value: str
    rows: Array

    @property
    def words(self) -> str:
        """The value in words."""
        return f"{self.attribute} = {self.value}"


@dataclass(frozen=True)
class SearchRows:
    """Rows with a score: values, which way is worse, people, the half that each is in, and what is recorded."""

    metric: str
    values: Array
    better: str | None
    people: Array
    search: Array
    """Whether a row is of the half that is searched."""
    literals: list[Literal]
    places: Array
    """Where each row is in the table."""
    of_table: int
    """The number of rows of the table, those without a score too."""
    samples: list[str | None]
    subjects: list[str | None]
    unit: str
    scores: tuple[str, ...] = ()
    """Columns of 0 and 1 that were taken for further scores, so that nothing was searched in them."""

    @property
    def badness(self) -> Array:
        """Values with a sign such that more is worse; unchanged where it is not known what is worse."""
        return self.values if self.better in (LOWER, None) else -self.values

    @property
    def confirm(self) -> Array:
        """Whether a row is of the half that confirms."""
        return ~self.search


def search_rows(
    table: Any, name: str, *, better: str | None = None, attributes: Sequence[str] | None = None, seed: int = 0
) -> SearchRows:
    """Read a table; people are split once, by a hash of their identity."""
    source = table if isinstance(table, Source) else Source(table)
    column = source.resolve(name, "m.", "metric")
    values, _ = metric(name, source.read([], [column])[column])
    known = ~np.isnan(values)
    if not known.any():
        raise InputError(f"{source.label}: no row has {name!r}, so no slice of it can be searched")
    who, owners, unit = _people(source)
    places = np.flatnonzero(known)
    people = np.unique(who[places], return_inverse=True)[1]
    first = np.unique(who[places], return_index=True)[1]
    half = np.array([_half(owners[place], seed) for place in places[first]])
    if min(half.sum(), (~half).sum()) < FEWEST_PEOPLE:
        raise InputError(
            f"{source.label}: {len(half)} independent units, fewer than {2 * FEWEST_PEOPLE} in two halves; slices "
            "cannot be searched on one half and confirmed on the other"
        )
    names = _columns(source, column, attributes)
    scores = () if attributes is not None else tuple(name for name in names if _is_score(source, name, values))
    names = [name for name in names if name not in scores]
    read = source.read([n for n in names if source.kind(n) == "text"], [n for n in names if source.kind(n) != "text"])
    literals = [
        literal for n in names for literal in _literals(covariate(_choice(n, source), read[n], who, 1000), places)
    ]
    way = better if better is not None else inferred(name)
    texts = {
        n: source.read([n], [])[n].to_pylist() if n in source.names else [None] * len(values)
        for n in (IMAGE, "subject")
    }
    return SearchRows(
        name,
        values[places],
        way,
        people,
        half[people],
        literals,
        places,
        len(values),
        [_text(texts[IMAGE][i]) for i in places],
        [_text(texts["subject"][i]) for i in places],
        unit,
        scores,
    )


def _is_score(source: Source, name: str, values: Array) -> bool:
    """Whether a column of 0 and 1, in a table without prefixes, is a score: its name says so, or it is the metric.

    A slice such as `correct = 0` of misses would be found and mean nothing.
    """
    prefixed = name.startswith("img.") or any(other.startswith("attr.") for other in source.names)
    if prefixed or source.kind(name) != "number" or source.distinct(name) > 2:
        return False
    if inferred(name) is not None:
        return True
    own, _ = metric(name, source.read([], [name])[name])
    both = ~np.isnan(own) & ~np.isnan(values)
    if not both.any() or np.ptp(own[both]) == 0 or np.ptp(values[both]) == 0:
        return False
    return bool(abs(np.corrcoef(own[both], values[both])[0, 1]) > SAME)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _half(owner: str, seed: int) -> bool:
    return hashlib.sha256(f"{seed}:{owner}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0


def _people(source: Source) -> tuple[Array, list[str], str]:
    """A code for each row's person (or picture, or row), each row's name of it, and the noun of these units."""
    names = [name for name in (person_column(source.names), IMAGE) if name is not None and name in source.names]
    columns = source.read(names, [])
    people_units = units([(name, columns[name]) for name in names], "auto")
    size = len(next(iter(source.read([], source.names[:1]).values())))
    if not people_units.codes:
        way = people_units.ways[0] if people_units.ways else ""
        owners = [text_of(v) for v in columns[way].to_pylist()] if way else [str(i) for i in range(size)]
        return np.arange(size), owners, people_units.nouns[1] if not way else people_units.sentence(size).split(" ")[0]
    codes = people_units.codes[0]
    texts = columns[people_units.ways[0]].to_pylist()
    owners = [f"{code}" if text is None else str(text) for code, text in zip(codes.tolist(), texts, strict=True)]
    return np.asarray(codes, dtype=np.int64), owners, people_units.nouns[1].partition(" or ")[0]


def _columns(source: Source, column: str, attributes: Sequence[str] | None) -> list[str]:
    """The attributes, and the conditions measured outside of people."""
    if attributes is not None:
        return [source.resolve(name, "attr.", "attribute") for name in attributes]
    marked = any(name.startswith("attr.") for name in source.names)
    person = person_column(source.names)
    chosen = []
    for name in source.names:
        if name in (column, person, IMAGE, "subject", "identity") or bare(name) in NEVER or name.startswith("m."):
            continue
        if marked and not name.startswith(("attr.", "img.")):
            continue
        kind = source.kind(name)
        if name.startswith(ON_THE_FACE) or kind in ("other", "list"):
            continue
        if kind != "number" and not 2 <= source.distinct(name) <= MOST_VALUES:
            continue
        chosen.append(name)
    return chosen


def _choice(name: str, source: Source) -> Choice:
    several = source.kind(name) == "number"
    return Choice(bare(name), name, quantiles=NUMBERS if several and source.distinct(name) > MOST_VALUES else 0)


def _literals(covariate: Covariate, places: Array) -> list[Literal]:
    codes = covariate.codes[places]
    if len(covariate.levels) < 2:  # one value, such as a number with a single bin, makes no slice
        return []
    return [Literal(covariate.name, level, codes == i) for i, level in enumerate(covariate.levels)]
