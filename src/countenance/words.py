"""The meaning of cells: empty, a number as people write it (12,5 or 85 %), yes or no."""

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
        ".",
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
    {
        "unknown",
        "not known",
        "not stated",
        "unspecified",
        "undisclosed",
        "prefer not to say",
        "unbekannt",
        "inconnu",
        "none",
    }
)
"""Further words for a missing value; in a column of words they are a group, in a column of numbers they are missing."""
YES = frozenset({"yes", "y", "true", "t", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "verdadero"})
NO = frozenset({"no", "n", "false", "f", "nein", "falsch", "non", "faux", "falso"})
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?")
UNIT = re.compile(r"(?<=[\d.,])\s*(px|pixels?|years?|yrs?|y\.?o\.?|jahre?|ans)$", re.IGNORECASE)
ONE_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3}){2,}|[+-]?\d{1,3}(?:\.\d{3}){2,}")
"""1,234,567: marks that can only stand between thousands."""


def is_missing(text: str) -> bool:
    """Whether a cell is empty or has a word for a missing value.

    >>> is_missing(" N/A "), is_missing("#NV"), is_missing("none"), is_missing("0")
    (True, True, False, False)
    """
    return text.strip().casefold() in MISSING


def is_no_number_known(text: str) -> bool:
    """Whether a cell of a column of numbers has a word for an unknown number.

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


def number_of(text: str) -> float:
    """A number as people write it; ValueError for anything else.

    >>> number_of("12,5"), number_of("1.234,5"), number_of("1,234,567"), number_of("85 %"), number_of("31 years")
    (12.5, 1234.5, 1234567.0, 0.85, 31.0)
    """
    plain = UNIT.sub("", text.strip().replace("\u00a0", "").replace("\u202f", "").replace("−", "-"))
    share = plain.endswith("%")
    plain = plain.removesuffix("%").strip().replace("'", "")
    if not NUMBER.fullmatch(plain):
        raise ValueError(text)
    if THOUSANDS.fullmatch(plain):
        plain = plain.replace(".", "").replace(",", "")
    elif "," in plain:
        last_is_comma = plain.rfind(",") > plain.rfind(".")
        plain = plain.replace(".", "").replace(",", ".") if last_is_comma else plain.replace(",", "")
    value = float(plain)
    return value / 100 if share else value


def is_number(text: str) -> bool:
    """Whether a cell is a number as people write it.

    >>> is_number("12,5"), is_number("20-29")
    (True, False)
    """
    try:
        number_of(text)
    except ValueError:
        return False
    return True


def without_thousands(
    cells: Sequence[str], others: Iterable[str] = (), *, comma: bool = False
) -> tuple[list[str], str | None]:
    """The cells of a column without commas between thousands, and the first cell whose comma stays ambiguous.

    1,234 is 1234 or 1.234: its column decides, then `others` (all cells of the table), then whether the format of
    the table has decimal commas (`comma`).

    >>> without_thousands(["1,234", "20"]), without_thousands(["1,234", "1,5"])
    ((['1,234', '20'], '1,234'), (['1,234', '1,5'], None))
    >>> without_thousands(["1,234", "20"], ["2,000.50"]), without_thousands(["1,234"], comma=True)
    ((['1234', '20'], None), (['1,234'], None))
    """
    with_comma = [cell for cell in cells if cell.count(",") == 1 and "." not in cell]
    doubtful = [cell for cell in with_comma if ONE_COMMA.fullmatch(cell.strip())]
    if not doubtful or len(doubtful) < len(with_comma):
        return list(cells), None
    thousands = separates_thousands((*cells, *others))
    if thousands:
        return [cell.replace(",", "") for cell in cells], None
    return list(cells), None if comma or thousands is False else doubtful[0]


def in_doubt(cell: str) -> str:
    """The sentence on a number whose comma is ambiguous.

    >>> in_doubt("1,234")
    "'1,234' may be 1.234 or 1,234; write numbers with a point and without marks between thousands"
    """
    return (
        f"{cell!r} may be {number_of(cell):g} or {int(cell.replace(',', '')):,}; write numbers with a point and "
        "without marks between thousands"
    )


def separates_thousands(cells: Iterable[str]) -> bool | None:
    """Whether commas in numbers separate thousands (True) or decimals (False); None if no cell shows it or they differ.

    >>> [separates_thousands(["1,234", other]) for other in ("1,000.50", "0,5", "2,345")]
    [True, False, None]
    """
    meanings = {
        match[0].find(",") < match[0].find(".") or match[0].count(",") > 1
        for cell in cells
        if "," in cell and (match := NUMBER.fullmatch(cell.strip())) and not ONE_COMMA.fullmatch(match[0])
    }
    return meanings.pop() if len(meanings) == 1 else None


def yes_or_no(cells: Sequence[str]) -> dict[str, str]:
    """The words of a column with their meaning if all of them mean yes or no; otherwise empty.

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
    """Whole numbers that a DataFrame wrote as 1.0 and 2.0, without their decimals; other columns unchanged.

    >>> without_zero_decimals(["1.0", "2.0", ""]), without_zero_decimals(["1.0", "2.5"])
    (['1', '2', ''], ['1.0', '2.5'])
    """
    known = [cell for cell in cells if not is_missing(cell)]
    if known and all(re.fullmatch(r"-?\d+\.0", cell) for cell in known):
        return [cell.removesuffix(".0") for cell in cells]
    return list(cells)
