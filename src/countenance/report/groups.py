"""The words for a group of which only attribute and value are known: in a gate, a comparison or an address."""

from countenance.auditing.twins import BASE, FIRST
from countenance.report.names import CROSS, REST, Names, attribute_label
from countenance.report.twin_words import version_words


def people(attribute: str, group: str) -> str:
    """The people of a group, for a sentence; everyone if there is no attribute.

    >>> people("skin_tone", "monk_3"), people("masked × age_group", "yes × 18_29"), people("", "")
    ('people with skin tone Monk 3', 'masked people aged 18–29', 'everyone')
    """
    if not attribute:
        return "everyone"
    names = _names(attribute, group)
    return names.people(CROSS.join(names.by), group) if names else f"people with {attribute_label(attribute)} {group}"


def label(attribute: str, group: str) -> str:
    """A group in few words, for a list or a table.

    >>> label("skin_tone", "monk_3"), label("masked", "no"), label("", "")
    ('Monk 3', 'unmasked', 'everyone')
    """
    if not attribute:
        return "everyone"
    names = _names(attribute, group)
    return names.who(CROSS.join(names.by), group) if names else f"{attribute_label(attribute)} {group}"


def colours(attribute: str, group: str) -> tuple[str, ...]:
    """The colours of a group's skin tones.

    >>> colours("skin_tone", "monk_10"), colours("gender", "male")
    (('#292420',), ())
    """
    names = _names(attribute, group) if attribute else None
    return names.colours(CROSS.join(names.by), group) if names else ()


def others(attribute: str, versus: str) -> str:
    """The other side of a comparison, for a sentence.

    >>> others("skin_tone", "rest"), others("masked", "no")
    ('everyone else', 'unmasked people')
    """
    return "everyone else" if versus == REST else people(attribute, versus)


def sides(attribute: str, group: str, versus: str = "") -> tuple[str, str]:
    """Both sides of a comparison in few words; the other side is empty without a comparison.

    >>> sides("skin_tone", "monk_3", "rest"), sides("gender", "male", "female")
    (('Monk 3', 'everyone else'), ('male', 'female'))
    >>> sides("mask", "changed", "base"), sides("masked", "no")
    (('with a mask', 'unchanged'), ('unmasked', ''))
    """
    versions = [version_words(attribute, side) if versus in (BASE, FIRST) else None for side in (group, versus)]
    who = versions[0].label if versions[0] else label(attribute, group)
    if versions[1] or not versus:
        return who, versions[1].label if versions[1] else ""
    return who, "everyone else" if versus == REST else label(attribute, versus)


def _names(attribute: str, group: str) -> Names | None:
    """The names of a group's parts; None where its values cannot be separated."""
    parts, values = _parts(attribute), group.split(CROSS)
    if len(parts) != len(values):
        return None
    return Names(parts, {name: [value] for name, value in zip(parts, values, strict=True)}, len(parts))


def _parts(attribute: str) -> list[str]:
    """The attributes of an intersection, as an audit or as an address writes it, without their bins."""
    separator = "*" if "*" in attribute else CROSS
    return [part.partition(":")[0].strip() for part in attribute.split(separator)]
