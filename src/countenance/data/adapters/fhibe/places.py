"""Where people come from: continents of nationalities, regions of ancestries, spellings of countries.

FHIBE's nationalities carry numbers ("146. Nigerian"); the continents are sets of these numbers. The lists are in
places.json. The grouping is the published one, with its gaps (106. Kittitian has no continent; 53. Cypriot has two).
"""

import json
from collections.abc import Sequence
from pathlib import Path

from countenance.data.adapters.fhibe.words import OPTIONS


def _numbers(text: str) -> frozenset[int]:
    out: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return frozenset(out)


_PUBLISHED = json.loads((Path(__file__).parent / "places.json").read_text(encoding="utf-8"))
CONTINENTS: dict[str, frozenset[int]] = {name: _numbers(text) for name, text in _PUBLISHED["continents"].items()}
REGIONS: dict[str, tuple[str, ...]] = {name: tuple(parts) for name, parts in _PUBLISHED["regions"].items()}
"""The five regions of ancestry with their members, which include the region itself."""
ANCESTRIES = frozenset(part for parts in REGIONS.values() for part in parts)

LARGEST: dict[str, tuple[str, ...]] = {"ancestry": tuple(REGIONS), "nationality": tuple(CONTINENTS)}
"""The values of these attributes that are continents."""


def is_largest(attributes: Sequence[str], values: Sequence[str]) -> bool:
    """Whether a group names its ancestry and nationality, where it has them, by continent.

    >>> is_largest(["ancestry", "age"], ["11. Asia", "[18, 30)"]), is_largest(["ancestry"], ["12. Central Asia"])
    (True, False)
    """
    return all(value in LARGEST[name] for name, value in zip(attributes, values, strict=True) if name in LARGEST)


def number(value: str) -> int | None:
    """The number that a value begins with.

    >>> number("146. Nigerian"), number("Kenya")
    (146, None)
    """
    head = value.split(".", 1)[0]
    return int(head) if head.isdecimal() else None


def continents(nationalities: list[str]) -> list[str]:
    """The continents of some nationalities, in the published order.

    >>> continents(["53. Cypriot"]), continents(["106. Kittitian"])
    (['229. Asian', '230. European'], [])
    """
    numbers = {number(value) for value in nationalities}
    return [name for name, members in CONTINENTS.items() if numbers & members]


def regions(ancestries: list[str]) -> list[str]:
    """The regions of some ancestries; words that are not FHIBE's belong to no region, whatever their number.

    >>> regions(["5. Western Africa", "12. Central Asia"]), regions(["5. Western Europe"])
    (['0. Africa', '11. Asia'], [])
    """
    return [name for name, parts in REGIONS.items() if any(value in parts for value in ancestries)]


_COUNTRY: dict[str, str] = {word: name for name, words in _PUBLISHED["spellings"].items() for word in words}


def country(written: str) -> str | None:
    """The country that a person typed, in a uniform spelling; None for words that name no country.

    >>> country("USA"), country(" kenya "), country("Cote d'ivoire"), country("I Go")
    ('United States of America', 'Kenya', "Cote D'Ivoire", None)
    """
    if written in _COUNTRY:
        return _COUNTRY[written]
    tidy = written.strip().title()
    if written in _PUBLISHED["no_country"] or tidy in _PUBLISHED["no_country"]:
        return None
    return _COUNTRY.get(tidy, tidy)


def offered(attribute: str) -> tuple[str, ...]:
    """The values that people could choose for an attribute, without numbers; empty for nationalities and free text.

    >>> offered("weather")[:2], len(offered("ancestry")), offered("location_country")
    (('Fog', 'Haze'), 27, ())
    """
    if attribute == "ancestry":
        return tuple(name.split(". ", 1)[1] for name in sorted(ANCESTRIES, key=lambda name: number(name) or 0))
    return OPTIONS.get(attribute, ())
