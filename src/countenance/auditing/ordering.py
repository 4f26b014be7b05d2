"""Properties of an attribute: ordered (tone scales, age groups, bins), of a person or of a condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from countenance.auditing.directions import words_of
from countenance.errors import InputError

PERSON, CONDITION = "person", "condition"
PERSON_WORDS = (
    "tone",
    "skin",
    "skincolor",
    "monk",
    "fitzpatrick",
    "age",
    "ages",
    "gender",
    "sex",
    "pronoun",
    "pronouns",
    "ancestry",
    "race",
    "ethnicity",
    "ethnic",
    "nationality",
    "religion",
    "disability",
    "disabled",
    "impairment",
    "pregnancy",
    "pregnant",
    "accent",
    "dialect",
)
"""Words of an attribute's name that say something about a person; every other attribute is a condition."""
TONE_WORDS = ("tone", "skin", "skincolor", "monk", "fitzpatrick", "mst")
TONES = (
    "very light",
    "lightest",
    "light",
    "fair",
    "light medium",
    "medium light",
    "medium",
    "olive",
    "tan",
    "medium dark",
    "dark medium",
    "brown",
    "dark",
    "very dark",
    "darkest",
)
AGE_WORDS = ("age", "ages")
AGES = (
    "infant",
    "baby",
    "toddler",
    "kid",
    "child",
    "children",
    "teen",
    "teenager",
    "adolescent",
    "youth",
    "young",
    "young adult",
    "adult",
    "middle aged",
    "middle age",
    "senior",
    "old",
    "older adult",
    "elderly",
)
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
BELOW = ("under", "below", "younger", "less", "up")


def role_of(names: Sequence[str], roles: Mapping[str, str]) -> str:
    """Whether an attribute, or an intersection, is of a person or of a condition.

    >>> role_of(["skin_tone"], {}), role_of(["light"], {}), role_of(["light", "age_group"], {})
    ('person', 'condition', 'person')
    """
    return PERSON if any(_role(name, roles) == PERSON for name in names) else CONDITION


def _role(name: str, roles: Mapping[str, str]) -> str:
    bare = name.partition(":")[0]
    if bare in roles:
        return roles[bare]
    return PERSON if set(words_of(bare)) & set(PERSON_WORDS) else CONDITION


def order_of(name: str, levels: Sequence[str], named: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The values of an ordered attribute in their order; None where it is not one.

    Values that a named order leaves out are in none of its parts.

    >>> order_of("skin_tone", ["monk_10", "monk_2"], {}), order_of("age", ["18-30", "<18", "61+"], {})
    (['monk_2', 'monk_10'], ['<18', '18-30', '61+'])
    >>> order_of("light", ["dim", "bright"], {}), order_of("light", ["dim", "bright"], {"light": ["dim", "bright"]})
    (None, ['dim', 'bright'])
    """
    bare = name.partition(":")[0]
    if bare in named:
        return [value for value in named[bare] if value in levels]
    words = set(words_of(bare))
    if words & set(TONE_WORDS):
        return _sorted(levels, _tone)
    return _sorted(levels, _age) if words & set(AGE_WORDS) else None


def checked(ordered: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]]:
    """The orders that were named, each a list of different values.

    >>> checked({"size": ["s", "m", "l"]})
    {'size': ['s', 'm', 'l']}
    """
    orders = {}
    for name, values in (ordered or {}).items():
        if isinstance(values, str) or len(set(values)) != len(list(values)):
            raise InputError(f"ordered: {name} = {values!r:.60}, expected a list of different values in their order")
        orders[str(name)] = [str(value) for value in values]
    return orders


def _sorted(levels: Sequence[str], place: Callable[[str], float | None]) -> list[str] | None:
    places = {level: place(level) for level in levels}
    if any(where is None for where in places.values()) or len(set(places.values())) < len(levels):
        return None
    return sorted(levels, key=lambda level: places[level] or 0.0)


def _tone(level: str) -> float | None:
    """The place of a skin tone: its number, Roman or not, or its word."""
    words = _plain(level)
    if words in TONES:
        return float(TONES.index(words))
    if number := re.search(r"\d+", level):
        return float(number[0])
    last = words.split(" ")[-1]
    return float(ROMAN.index(last)) if last in ROMAN else None


def _age(level: str) -> float | None:
    """The place of an age group: its first number (a little less where it says that one is under it), or its word."""
    words = _plain(level)
    if words in AGES:
        return float(AGES.index(words))
    number = re.search(r"\d+(?:\.\d+)?", level)
    if not number:
        return None
    below = level.strip().startswith(("<", "≤")) or bool(set(words.split(" ")) & set(BELOW))
    return float(number[0]) - (0.5 if below else 0.0)


def _plain(level: str) -> str:
    return re.sub(r"[\s_-]+", " ", level.strip()).casefold()
