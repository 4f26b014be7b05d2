"""Names of groups as people say them. The exact values stay in the CSV and in `findings.parquet`."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from markupsafe import Markup, escape

from countenance.auditing import Audit
from countenance.data.vocabulary import FITZPATRICK, UNKNOWN, in_order

CROSS = " × "
REST = "rest"
LONGEST = 2000
PHRASES = {
    ("masked", "yes"): "masked",
    ("masked", "no"): "unmasked",
    ("smile", "yes"): "smiling",
    ("smile", "no"): "not smiling",
}
_BREAKS = re.compile(r"[\t\r\n\u2028\u2029]+")
_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")


def clean(text: str) -> str:
    """Text from data without the characters that act instead of showing: controls, bidi overrides, surrogates.

    >>> clean("a\\x00b\\u202ec\\nd")
    'a�b�c d'
    """
    shown = _ACTING.sub("�", _BREAKS.sub(" ", text))
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"


def shown(text: str) -> Markup:
    """Text from data as markup that is only text.

    >>> shown("<b>\u202e")
    Markup('&lt;b&gt;�')
    """
    return escape(clean(text))


def attribute_label(name: str) -> str:
    """An attribute, or an intersection, in words.

    >>> attribute_label("skin_tone × age_group")
    'skin tone × age group'
    """
    return name.replace("_", " ")


def phrase(attribute: str, value: str) -> str | None:
    """Words for a value that says nothing without its attribute; None where the value speaks for itself.

    >>> phrase("masked", "no"), phrase("hat", "yes"), phrase("glasses", "none"), phrase("hair", "long")
    ('unmasked', 'hat: yes', 'no glasses', None)
    """
    if value == "none":
        return f"no {attribute_label(attribute)}"
    if value in ("yes", "no"):
        return PHRASES.get((attribute, value), f"{attribute_label(attribute)}: {value}")
    return None


def value_label(attribute: str, value: str) -> str:
    """One value in words.

    >>> value_label("skin_tone", "monk_10"), value_label("age_group", "0_17"), value_label("hair", "pony_tail")
    ('Monk 10', '0–17', 'pony tail')
    >>> value_label("pronoun", "0. She/her/hers"), value_label("apparent_skin_color", "0. [102, 78, 65]")
    ('She/her/hers', 'VI dark')
    """
    if said := phrase(attribute, value):
        return said
    if tone := re.fullmatch(r"monk_(\d+)", value):
        return f"Monk {tone[1]}"
    if numbered := re.fullmatch(r"\d+\. (.+)", value):  # FHIBE numbers its options
        return FITZPATRICK.get(tone_colour(value) or (), str(numbered[1]))
    if attribute.startswith("age") and (years := re.fullmatch(r"(\d+)_(\d+)", value)):
        return f"{years[1]}–{years[2]}"
    if re.fullmatch(r"[a-z]+(_[a-z]+)+", value):
        return value.replace("_", " ")
    return "unknown" if value == UNKNOWN else value


def tone_colour(value: str) -> tuple[int, ...] | None:
    """The colour that names a skin tone; None for any other value.

    >>> tone_colour("0. [102, 78, 65]"), tone_colour("0. Africa")
    ((102, 78, 65), None)
    """
    found = re.fullmatch(r"\d+\. \[(\d+), (\d+), (\d+)\]", value)
    return None if found is None else tuple(int(number) for number in found.groups())


def in_group_order(found: "Iterable[G]") -> "list[G]":
    """Findings, estimates or changes metric by metric and attribute by attribute, groups in their own order."""
    found = list(found)
    levels: dict[str, list[str]] = {}
    for one in found:
        if CROSS not in one.attribute:
            levels.setdefault(one.attribute, []).append(one.group)
    depth = max((one.attribute.count(CROSS) + 1 for one in found), default=1)
    return Names(list(levels), {name: in_order(name, values) for name, values in levels.items()}, depth).ordered(found)


class OfGroup(Protocol):
    """A finding, an estimate or a change: something about a group."""

    @property
    def attribute(self) -> str: ...
    @property
    def group(self) -> str: ...


G = TypeVar("G", bound=OfGroup)


class Names:
    """The groups of an audit: their values, in order, and what each is called."""

    def __init__(self, by: Sequence[str], levels: Mapping[str, Sequence[str]], depth: int) -> None:
        self.by = list(by)
        self.levels = {name: list(levels.get(name, ())) for name in by}
        self._attributes: dict[str, tuple[str, ...]] = {}
        for size in range(1, max(1, min(depth, len(by))) + 1):
            for chosen in itertools.combinations(by, size):
                self._attributes[CROSS.join(chosen)] = chosen

    @classmethod
    def of(cls, audit: Audit) -> "Names":
        """The names of an audit's groups."""
        settings = audit.settings
        told = {str(name): list(values) for name, values in (settings.get("levels") or {}).items()}
        seen = {name: list(values) for name, values in told.items()}
        for estimate in audit.groups:
            if estimate.depth == 1 and estimate.group not in seen.setdefault(estimate.attribute, []):
                seen[estimate.attribute].append(estimate.group)
        depth = max([1, *(estimate.depth for estimate in audit.groups)])
        cut = settings.get("bins") or {}  # bins have the order in which they were cut
        ordered = {name: values if name in cut else in_order(name, values) for name, values in seen.items()}
        made = cls(list(told) or [str(name) for name in settings.get("by", [])], ordered, depth)
        for cross in settings.get("crosses") or []:
            made._attributes[CROSS.join(cross)] = tuple(cross)
        return made

    def parts(self, attribute: str, group: str) -> list[tuple[str, str]]:
        """A group as pairs of attribute and value, whatever characters the values hold.

        >>> Names(["a", "b"], {"a": ["x", "x × y"], "b": ["z"]}, 2).parts("a × b", "x × y × z")
        [('a', 'x × y'), ('b', 'z')]
        """
        chosen = self._attributes.get(attribute, (attribute,))
        values = self._split(group, chosen)
        return list(zip(chosen, values, strict=True)) if values else [(attribute, group)]

    def _split(self, group: str, chosen: Sequence[str]) -> list[str] | None:
        if len(chosen) == 1:
            return [group]
        for value in self.levels.get(chosen[0], ()):
            if group.startswith(value + CROSS):
                rest = self._split(group[len(value) + len(CROSS) :], chosen[1:])
                if rest is not None and (len(chosen) > 2 or rest[0] in self.levels.get(chosen[1], ())):
                    return [value, *rest]
        return None

    def group(self, attribute: str, group: str) -> str:
        """A group's values alone.

        >>> Names(["skin_tone"], {}, 1).group("skin_tone", "monk_3")
        'Monk 3'
        """
        return CROSS.join(value_label(name, value) for name, value in self.parts(attribute, group))

    def place(self, attribute: str, group: str) -> tuple[int, ...]:
        """Where a group comes among those of its attribute: a key to sort by.

        >>> names = Names(["skin_tone"], {"skin_tone": ["monk_2", "monk_10"]}, 1)
        >>> sorted(["monk_10", "monk_2"], key=lambda group: names.place("skin_tone", group))
        ['monk_2', 'monk_10']
        """
        made = []
        for name, value in self.parts(attribute, group):
            levels = self.levels.get(name, [])
            made.append(levels.index(value) if value in levels else len(levels))
        return tuple(made)

    def ordered(self, found: Iterable[G]) -> list[G]:
        """Findings, estimates or changes metric by metric and attribute by attribute, groups in their own order."""
        found = list(found)
        metrics = list(dict.fromkeys(getattr(one, "metric", "") for one in found))
        attributes = list(dict.fromkeys(one.attribute for one in found))

        def key(one: G) -> tuple[int, int, tuple[int, ...]]:
            places = metrics.index(getattr(one, "metric", "")), attributes.index(one.attribute)
            return *places, self.place(one.attribute, one.group)

        return sorted(found, key=key)

    def who(self, attribute: str, group: str) -> str:
        """A group with its attribute, for a sentence.

        >>> Names(["skin_tone"], {}, 1).who("skin_tone", "monk_3")
        'skin tone Monk 3'
        """
        parts = self.parts(attribute, group)
        return " and ".join(
            phrase(name, value) or f"{attribute_label(name)} {value_label(name, value)}" for name, value in parts
        )

    def versus(self, attribute: str, versus: str) -> str:
        """The other side of a comparison.

        >>> Names([], {}, 1).versus("skin_tone", "rest")
        'everyone else'
        """
        return "everyone else" if versus == REST else self.who(attribute, versus)
