"""The dataset card: what a dataset is, its licence and consent, and who is in it."""

from __future__ import annotations

from collections.abc import Sequence

from countenance.data import Dataset
from countenance.data.balance import balance
from countenance.report.cards.front_matter import front_matter, licence_fields
from countenance.report.cards.tables import cell
from countenance.report.names import attribute_label, value_label

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZE_NAMES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")


def dataset_card(dataset: Dataset) -> str:
    """A dataset card in Markdown with front matter: rights, counts, and the balance of every attribute."""
    card = dataset.card
    subjects = [subject for sample in dataset for subject in sample.people]
    people = len({s.identity for s in subjects if s.identity is not None})
    fields = licence_fields(card.licence) | {
        "pretty_name": card.name,
        "size_categories": [SIZE_NAMES[sum(len(dataset) >= size for size in SIZES)]],
        "tags": ["countenance", "images-of-people", *(["synthetic"] if not card.real_people else [])],
    }
    lines = [front_matter(fields, "dataset"), f"# {cell(card.name)}", "", cell(card.description), ""]
    lines += [f"> {cell(card.warning)}", ""] if card.warning else []
    facts = (
        ("Version", card.version),
        ("Images", f"{len(dataset):,}"),
        ("People shown", f"{len(subjects):,}"),
        ("Different people", f"{people:,}" if people else "not known"),
        ("Licence", card.licence),
        ("Consent", card.consent),
        ("Real people", "yes" if card.real_people else "no"),
        ("Citation", card.citation),
    )
    lines += ["| | |", "|---|---|", *(f"| {name} | {cell(value)} |" for name, value in facts if value), ""]
    lines += ["## Attributes", "", "| attribute | assigned by | meaning |", "|---|---|---|"]
    counted = balance(dataset)
    for name in dict.fromkeys([*card.attributes, *counted]):
        about = card.attributes.get(name)
        who, meaning = (about.assigned_by, about.meaning) if about else ("unknown", "")
        lines.append(f"| {cell(name)} | {who} | {cell(meaning)} |")
    lines += ["", "## Who is in it", "", "A value that nobody has is listed with 0.", ""]
    for name, values in counted.items():
        lines += _counts(name, values)
    return "\n".join(lines).rstrip() + "\n"


def _counts(name: str, values: Sequence[tuple[str, int]]) -> list[str]:
    total = sum(n for _, n in values) or 1
    lines = [f"### {cell(attribute_label(name))}", "", "| value | number | share |", "|---|---:|---:|"]
    lines += [f"| {cell(value_label(name, value))} | {n:,} | {100 * n / total:.1f} % |" for value, n in values]
    return [*lines, ""]
