"""A group in words where only its attribute and its value are known: in a gate, a comparison or an address."""

from countenance.auditing.table import UNKNOWN
from countenance.report.names import CROSS, REST, Names, attribute_label


def people(attribute: str, group: str) -> str:
    """The people of a group, for a sentence; everyone where nobody in particular is meant.

    >>> people("skin_tone", "monk_3"), people("masked × age_group", "yes × 18_29"), people("", "")
    ('skin tone Monk 3', 'masked and age group 18–29', 'everyone')
    """
    if not attribute:
        return "everyone"
    if group == UNKNOWN:
        return f"people whose {attribute_label(attribute)} is not recorded"
    names, values = _parts(attribute), group.split(CROSS)
    if len(names) != len(values):
        return f"{attribute_label(attribute)} {group}"
    levels = {name: [value] for name, value in zip(names, values, strict=True)}
    return Names(names, levels, len(names)).who(CROSS.join(names), group)


def others(attribute: str, versus: str) -> str:
    """The other side of a comparison.

    >>> others("skin_tone", "rest"), others("masked", "no")
    ('everyone else', 'unmasked')
    """
    return "everyone else" if versus == REST else people(attribute, versus)


def _parts(attribute: str) -> list[str]:
    """The attributes of an intersection, as an audit or as an address writes it, without their bins."""
    separator = "*" if "*" in attribute else CROSS
    return [part.partition(":")[0].strip() for part in attribute.split(separator)]
