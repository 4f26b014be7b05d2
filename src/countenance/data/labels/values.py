"""Attributes of a label table: words, yes and no, or numbers, decided for a column as a whole."""

from collections import Counter
from collections.abc import Sequence

from countenance.data.adapters.fairface import repaired_age
from countenance.data.categories import says_masked
from countenance.data.labels.aliases import SPLIT_WORDS
from countenance.data.labels.rows import LabelTable
from countenance.data.sample import Value
from countenance.data.vocabulary import NUMERIC, VOCABULARIES
from countenance.errors import InputError
from countenance.words import (
    in_doubt,
    is_missing,
    is_no_number_known,
    is_number,
    number_of,
    without_thousands,
    without_zero_decimals,
    yes_or_no,
)

MOST_CODES = 12
"""A column with more different whole numbers than this is a measure, not a code."""
MOSTLY = 0.5


def numbers_in(table: LabelTable, name: str) -> list[float | None]:
    """The cells of a column as numbers; what is not a number is a problem of the table."""
    cells = table.columns[name]
    others = (cell for column in table.columns.values() for cell in column)
    cells, doubtful = without_thousands(cells, others, comma=table.decimal_comma)
    if doubtful is not None:
        table.problems.add_whole(f"{name}: {in_doubt(doubtful)}")
    values: list[float | None] = []
    for line, cell in zip(table.lines, cells, strict=True):
        if is_no_number_known(cell):
            values.append(None)
            continue
        try:
            values.append(number_of(cell))
        except ValueError:
            values.append(None)
            table.problems.add("{} not a number", line, cell, f"cell of {name} is", f"cells of {name} are")
    return values


def attribute_values(table: LabelTable, attribute: str, name: str) -> tuple[str, list[Value]]:
    """An attribute's name, and its value in every row."""
    cells = table.columns[name]
    known = [cell for cell in cells if not is_missing(cell)]
    numeric = [cell for cell in known if not is_no_number_known(cell)]
    share = sum(is_number(cell) for cell in numeric) / max(len(numeric), 1)
    if attribute in NUMERIC and share >= MOSTLY:
        return attribute, list(numbers_in(table, name))
    if attribute == "age":  # age groups are not ages
        table.notes.append(
            f"{table.path.name}: {name} holds groups ({', '.join(sorted(set(known))[:3])}, …): age_group"
        )
        return "age_group", [_age_words(cell) for cell in cells]
    if attribute in ("mask", "masked") and known and all(says_masked(cell) for cell in known):
        colours = set(known) & set(VOCABULARIES["mask"]) - {"none"}
        if not colours:
            return "masked", [None if is_missing(cell) else says_masked(cell) for cell in cells]
    if share == 1 and numeric and _is_measure(numeric):
        return attribute, list(numbers_in(table, name))
    plain = without_zero_decimals(cells)
    words = yes_or_no([cell for cell in plain if not is_missing(cell)])
    spelled = words or _spellings(table, name, plain)
    return attribute, [None if is_missing(cell) else spelled.get(cell, cell) for cell in plain]


def _spellings(table: LabelTable, name: str, cells: Sequence[str]) -> dict[str, str]:
    """The rarer spellings of words in a column (capitals, spaces), each with the most frequent spelling."""
    counts = Counter(cell for cell in cells if not is_missing(cell))
    usual: dict[str, str] = {}
    changed: dict[str, str] = {}
    for word, _ in counts.most_common():
        first = usual.setdefault(" ".join(word.casefold().split()), word)
        if first != word:
            changed[word] = first
    if changed:
        shown = ", ".join(f"{word!r} is {other!r}" for word, other in list(changed.items())[:3])
        table.notes.append(f"{table.path.name}: {name}: {shown}{', …' if len(changed) > 3 else ''}")
    return changed


def _is_measure(cells: Sequence[str]) -> bool:
    """Whether numbers measure something: decimals, percent, or many different ones."""
    plain = without_zero_decimals(cells)
    decimals = any("%" in cell or not cell.lstrip("+-").isdecimal() for cell in plain)
    return decimals or len(set(plain)) > MOST_CODES


def _age_words(cell: str) -> Value:
    """A group of ages; a group that a spreadsheet turned into a date is repaired."""
    if is_missing(cell):
        return None
    try:
        return repaired_age(cell, "")
    except InputError:
        return cell


def split_values(cells: Sequence[str]) -> list[str | None]:
    """The part of the dataset that each row belongs to, in the words of this package; CelebA writes 0, 1 and 2.

    >>> split_values(["val", "TEST", ""]), split_values(["0", "2"])
    (['validation', 'test', None], ['train', 'test'])
    """
    codes = {"0": "train", "1": "validation", "2": "test"}
    return [SPLIT_WORDS.get(cell.casefold(), codes.get(cell, cell or None)) for cell in cells]
