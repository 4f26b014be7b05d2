"""What cells say: nothing, a number as people write it (12,5 or 85 %), yes or no."""

import re
from collections.abc import Iterable, Sequence

MISSING = frozenset(
    {
        "",
        "n/a",
        "na",
        "n.a.",
        "n. a.",
        "<na>",
        "nan",
        "null",
        "nil",
        "#n/a",
        "#nv",
        "#na",
        "#div/0!",
        "#value!",
        "#wert!",
        "-",
        "--",
        "–",
        "—",
        "?",
        "k.a.",
        "k. a.",
        "missing",
        "not available",
        "(unknown)",
    }
)
"""Cells that say that something is not known. `none` is not among them: glasses may be none."""
NOT_KNOWN = frozenset(
    {"unknown", "not known", "not stated", "unspecified", "undisclosed", "prefer not to say", "unbekannt", "inconnu"}
)
"""Words that say so as well; in a column of words they are a group, in a column of numbers they are no number."""
YES = frozenset({"yes", "y", "true", "t", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "verdadero"})
NO = frozenset({"no", "n", "false", "f", "nein", "falsch", "non", "faux", "falso"})
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?")
UNIT = re.compile(r"(?<=[\d.,])\s*(px|pixels?|years?|yrs?|y\.?o\.?|jahre?|ans)$", re.IGNORECASE)
MOST_DECIMALS_OF_THOUSANDS = 3


def is_missing(text: str) -> bool:
    """Whether a cell says nothing.

    >>> is_missing(" N/A "), is_missing("#NV"), is_missing("none"), is_missing("0")
    (True, True, False, False)
    """
    return text.strip().casefold() in MISSING


def is_no_number_known(text: str) -> bool:
    """Whether a cell of a column of numbers says that the number is not known.

    >>> is_no_number_known("Unknown"), is_no_number_known("N/A"), is_no_number_known("old")
    (True, True, False)
    """
    return is_missing(text) or text.strip().casefold() in NOT_KNOWN


def plain_float(value: object) -> float:
    """A number as `float` reads it; ValueError for anything else, also for 18_30, which Python takes for 1830.

    >>> plain_float("18.5"), plain_float(3)
    (18.5, 3.0)
    >>> plain_float("18_30")
    Traceback (most recent call last):
    ValueError: 18_30
    """
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    return float(value)  # type: ignore[arg-type]


def number_of(text: str, comma: bool = False) -> float:
    """A number as people write it; ValueError for anything else. With `comma` 1.234,5 is 1234.5.

    >>> number_of("12,5"), number_of("1.234,5"), number_of("1,234.5"), number_of("85 %"), number_of("31 years")
    (12.5, 1234.5, 1234.5, 0.85, 31.0)
    """
    plain = UNIT.sub("", text.strip().replace("\u00a0", "").replace("\u202f", "").replace("−", "-"))
    share = plain.endswith("%")
    plain = plain.removesuffix("%").strip().replace("'", "")
    if not NUMBER.fullmatch(plain):
        raise ValueError(text)
    if "," in plain:
        last_is_comma = plain.rfind(",") > plain.rfind(".")
        plain = plain.replace(".", "").replace(",", ".") if last_is_comma else plain.replace(",", "")
    elif comma and plain.count(".") > 1:
        plain = plain.replace(".", "")
    value = float(plain)
    return value / 100 if share else value


def is_number(text: str, comma: bool = False) -> bool:
    """Whether a cell is a number as people write it.

    >>> is_number("12,5"), is_number("20-29")
    (True, False)
    """
    try:
        number_of(text, comma)
    except ValueError:
        return False
    return True


def thousands_or_decimals(cells: Iterable[str], comma: bool) -> str | None:
    """The first cell whose comma may separate thousands or decimals, where nothing in its column decides.

    >>> thousands_or_decimals(["1,234", "2,000"], comma=False), thousands_or_decimals(["1,5", "2,000"], comma=False)
    ('1,234', None)
    """
    with_comma = [cell for cell in cells if "," in cell and "." not in cell]
    if comma or not with_comma:
        return None
    ends = {len(cell.rpartition(",")[2]) for cell in with_comma}
    return with_comma[0] if ends == {MOST_DECIMALS_OF_THOUSANDS} else None


def yes_or_no(cells: Sequence[str]) -> dict[str, str]:
    """The words of a column with what they mean where all of them say yes or no; nothing otherwise.

    CelebA writes 1 and -1.

    >>> yes_or_no(["TRUE", "False"]), yes_or_no(["-1", "1"]), yes_or_no(["1", "0"]), yes_or_no(["F", "M"])
    ({'TRUE': 'yes', 'False': 'no'}, {'-1': 'no', '1': 'yes'}, {}, {})
    """
    words = dict.fromkeys(cells)
    folded = {word: word.casefold() for word in words}
    if {"1", "-1"} == set(words):
        return {"-1": "no", "1": "yes"}
    if words and all(word in YES or word in NO for word in folded.values()) and set(folded.values()) != {"f"}:
        return {word: "yes" if plain in YES else "no" for word, plain in folded.items()}
    return {}


def without_zero_decimals(cells: Sequence[str]) -> list[str]:
    """Whole numbers that a DataFrame wrote as 1.0 and 2.0 without their decimals; other columns as they are.

    >>> without_zero_decimals(["1.0", "2.0", ""]), without_zero_decimals(["1.0", "2.5"])
    (['1', '2', ''], ['1.0', '2.5'])
    """
    known = [cell for cell in cells if not is_missing(cell)]
    if known and all(re.fullmatch(r"-?\d+\.0", cell) for cell in known):
        return [cell.removesuffix(".0") for cell in cells]
    return list(cells)
