"""Counts of a dataset: its card as lines, and how often each attribute takes each value."""

from collections import Counter

from countenance.data.sample import Dataset
from countenance.data.vocabulary import NUMERIC, UNKNOWN, VOCABULARIES, in_order

MOST_VALUES = 24
"""An attribute with more values than this is a name or a number, not a group; its balance says nothing."""


def card_lines(dataset: Dataset) -> list[str]:
    """The card as lines of text.

    >>> from countenance.data.card import DatasetCard
    >>> card_lines(Dataset(DatasetCard(name="mine", licence="CC0"), []))[0]
    'mine, version 1'
    """
    card = dataset.card
    subjects = [subject for sample in dataset for subject in sample.people]
    identities = {subject.identity for subject in subjects if subject.identity is not None}
    lines = [f"{card.name}, version {card.version}"]
    lines += [card.description] if card.description else []
    lines += [
        f"images      {len(dataset)}",
        f"people      {len(subjects)} shown, {len(identities)} identities",
        f"licence     {card.licence}",
        f"consent     {card.consent}",
    ]
    lines += [f"citation    {card.citation}"] if card.citation else []
    lines += [f"note        {card.warning}"] if card.warning else []
    for name, attribute in card.attributes.items():
        lines.append(f"  {name:12} {attribute.assigned_by:14} {attribute.meaning}")
    return lines


def shown_people(dataset: Dataset) -> tuple[int, bool]:
    """How many people a dataset shows (a subject without an identity counts as one), and whether any has an identity.

    >>> from countenance.testing import small_dataset
    >>> shown_people(small_dataset(4))
    (2, True)
    """
    identities = [subject.identity for sample in dataset for subject in sample.people]
    known = {identity for identity in identities if identity is not None}
    return len(known) + identities.count(None), bool(known)


def people_in_words(dataset: Dataset) -> str:
    """How many people a dataset shows; a subject without an identity counts as a person.

    >>> from countenance.testing import small_dataset
    >>> people_in_words(small_dataset(4))
    '2 people shown 4 times'
    """
    named = [subject.identity for sample in dataset for subject in sample.people]
    unnamed = named.count(None)
    people, known = shown_people(dataset)
    words = "1 person" if people == 1 else f"{people} people"
    words += f" shown {len(named)} times" if len(named) > people else ""
    return words + (f" ({unnamed} without an identity)" if known and unnamed else "")


def balance(dataset: Dataset) -> dict[str, list[tuple[str, int]]]:
    """For each attribute with a manageable number of values: the values in their order, with their counts.

    An attribute of people is counted over people, one of images over images. A value that the vocabulary has and nobody
    carries is listed with 0, so that missing groups can be seen.
    """
    people: dict[str, Counter[str]] = {}
    images: dict[str, Counter[str]] = {}
    for sample in dataset:
        _count(images, sample.attributes)
        for subject in sample.people:
            _count(people, subject.attributes)
    result: dict[str, list[tuple[str, int]]] = {}
    for name, counts in {**images, **people}.items():
        if name in NUMERIC or len(counts) > MOST_VALUES:
            continue
        declared = dataset.card.attributes.get(name)
        expected = (declared.values if declared else None) or VOCABULARIES.get(name, ())
        values = in_order(name, [*counts, *expected])
        result[name] = [(value, counts[value]) for value in values if value != UNKNOWN or counts[value]]
    return result


def _count(into: dict[str, Counter[str]], attributes: object) -> None:
    assert hasattr(attributes, "items")
    for name, value in attributes.items():
        words = value if isinstance(value, tuple) else (UNKNOWN if value is None else str(value),)
        into.setdefault(name, Counter()).update(words)
