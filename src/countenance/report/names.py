"""Names of groups in plain words. The exact values stay in the CSV and in `findings.parquet`."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from markupsafe import Markup, escape

from countenance.auditing import Audit, Finding
from countenance.auditing.ordering import PERSON, role_of
from countenance.auditing.twins import TWINS
from countenance.data.vocabulary import in_order
from countenance.report.people_words import ValueWords, people_phrase, value_words
from countenance.report.twin_words import version_words
from countenance.text import redacted

CROSS = " × "
REST = "rest"
LONGEST = 2000
MEASURED = {
    "img.brightness": "brightness of the surroundings",
    "img.contrast": "contrast of the surroundings",
    "img.cast": "colour cast",
    "img.sharpness": "sharpness",
    "img.noise": "noise",
    "img.jpeg_quality": "JPEG quality",
    "img.people": "number of people in the picture",
    "img.size_px": "size of the face",
    "img.size_share": "size of the face",
    "img.x": "distance of the face from the middle",
    "img.y": "height of the face in the picture",
    "img.turn": "turn of the head",
    "img.face.brightness": "brightness of the face",
    "img.face.contrast": "contrast of the face",
    "img.face.sharpness": "sharpness of the face",
}
"""What a run measures of its pictures, in words."""
_BREAKS = re.compile(r"[\t\r\n\u2028\u2029]+")
_NAMED = re.compile(r"\S*\w[._/\\]\w")
"""The beginning of a sentence that starts with the name of a file or a column: `a.json …`, `a_b …`."""
_ACTING = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")


def clean(text: str) -> str:
    """Text from data without credentials and invisible characters (controls, bidi overrides, surrogates).

    >>> clean("a\\x00b\\u202ec\\nd")
    'a�b�c d'
    """
    shown = _ACTING.sub("�", _BREAKS.sub(" ", redacted(text)))
    return shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"


def sentence_case(text: str) -> str:
    """A sentence with a capital letter at its start; the name of a file or of a column keeps its case.

    >>> sentence_case("one image failed"), sentence_case("outputs.json: 3 rows"), sentence_case("img.noise differs")
    ('One image failed', 'outputs.json: 3 rows', 'img.noise differs')
    """
    return text if _NAMED.match(text) else text[:1].upper() + text[1:]


def shown(text: str) -> Markup:
    """Text from data, escaped for markup.

    >>> shown("<b>\u202e")
    Markup('&lt;b&gt;�')
    """
    return escape(clean(text))


def attribute_label(name: str) -> str:
    """An attribute, or an intersection, in words.

    >>> attribute_label("skin_tone × age_group"), attribute_label("masked × img.size_px")
    ('skin tone × age group', 'masked × size of the face')
    >>> attribute_label("attr.skin_tone"), attribute_label("img.face.luminance"), attribute_label("img.lens")
    ('skin tone', 'luminance of the face', 'lens')
    """
    return CROSS.join(_attribute_words(part) for part in name.split(CROSS))


def _attribute_words(name: str) -> str:
    bare = name.removeprefix("attr.")
    if known := MEASURED.get(bare):
        return known
    plain = bare.removeprefix("img.").replace("_", " ")
    return f"{plain.removeprefix('face.')} of the face" if bare.startswith("img.face.") else plain


def phrase(attribute: str, value: str) -> str | None:
    """A value in words that need no attribute; None where there are no such words.

    >>> phrase("masked", "no"), phrase("hat", "yes"), phrase("glasses", "none"), phrase("race", "Black")
    ('unmasked', 'hat: yes', 'without glasses', 'Black')
    """
    words = value_words(attribute, value)
    return words.label if words.alone else None


def value_label(attribute: str, value: str) -> str:
    """One value in words.

    >>> value_label("skin_tone", "monk_10"), value_label("age_group", "0_17"), value_label("hair", "pony_tail")
    ('Monk 10 (darkest)', 'under 18', 'with a ponytail')
    """
    return value_words(attribute, value).label


def swatch(attribute: str, value: str) -> Markup:
    """The colours of a skin tone as a small picture; empty for anything else.

    >>> swatch("skin_tone", "monk_3").count("<rect"), swatch("gender", "female")
    (1, Markup(''))
    """
    return swatches(value_words(attribute, value).swatches)


def swatches(colours: Sequence[str]) -> Markup:
    """Colours beside each other, as one small picture."""
    if not colours:
        return Markup("")
    width = 14 if len(colours) == 1 else 7 * len(colours)
    step = width / len(colours)
    cells = "".join(
        f'<rect x="{i * step:g}" width="{step:g}" height="14" fill="{colour}"/>' for i, colour in enumerate(colours)
    )
    return Markup(  # noqa: S704 - numbers and our own colours
        f'<svg class="tone" width="{width}" height="14" aria-hidden="true">{cells}</svg>'
    )


def tone_colour(value: str) -> tuple[int, ...] | None:
    """The colour that names a skin tone; None for any other value.

    >>> tone_colour("0. [102, 78, 65]"), tone_colour("0. Africa")
    ((102, 78, 65), None)
    """
    numbers = re.fullmatch(r"\d+\. \[(\d+), (\d+), (\d+)\]", value)
    return None if numbers is None else tuple(int(number) for number in numbers.groups())


def in_group_order(items: "Iterable[G]") -> "list[G]":
    """Findings, estimates or changes metric by metric and attribute by attribute, groups in their own order."""
    items = list(items)
    levels: dict[str, list[str]] = {}
    for item in items:
        if CROSS not in item.attribute:
            levels.setdefault(item.attribute, []).append(item.group)
    depth = max((item.attribute.count(CROSS) + 1 for item in items), default=1)
    return Names(list(levels), {name: in_order(name, values) for name, values in levels.items()}, depth).ordered(items)


def _with_attribute(attribute: str, value: str) -> str:
    """A value behind its attribute; once where both are the same word.

    >>> _with_attribute("site", "Bonn"), _with_attribute("known", "known")
    ('site Bonn', 'known')
    """
    return value if value == attribute else f"{attribute} {value}"


class OfGroup(Protocol):
    """Anything about a group: a finding, an estimate or a change."""

    @property
    def attribute(self) -> str: ...
    @property
    def group(self) -> str: ...


G = TypeVar("G", bound=OfGroup)


class Names:
    """The groups of an audit: their values, in order, with their names."""

    def __init__(self, by: Sequence[str], levels: Mapping[str, Sequence[str]], depth: int) -> None:
        self.by = list(by)
        self.levels = {name: list(levels.get(name, ())) for name in by}
        self.things: frozenset[str] = frozenset()
        """What is changed on twins: these have versions beside their values."""
        self._attributes: dict[str, tuple[str, ...]] = {}
        for size in range(1, max(1, min(depth, len(by))) + 1):
            for chosen in itertools.combinations(by, size):
                self._attributes[CROSS.join(chosen)] = chosen

    @classmethod
    def of(cls, audit: Audit) -> "Names":
        """The names of an audit's groups."""
        settings = audit.settings
        stated = {str(name): list(values) for name, values in (settings.get("levels") or {}).items()}
        seen = {name: list(values) for name, values in stated.items()}
        for estimate in audit.groups:
            if estimate.depth == 1 and estimate.group not in seen.setdefault(estimate.attribute, []):
                seen[estimate.attribute].append(estimate.group)
        depth = max([1, *(estimate.depth for estimate in audit.groups)])
        cut = settings.get("bins") or {}  # bins have the order in which they were cut
        ordered = {name: values if name in cut else in_order(name, values) for name, values in seen.items()}
        names = cls(list(stated) or [str(name) for name in settings.get("by", [])], ordered, depth)
        for cross in settings.get("crosses") or []:
            names._attributes[CROSS.join(cross)] = tuple(cross)
        names.things = frozenset(f.attribute for f in audit.findings if f.kind == TWINS)
        return names

    def version(self, attribute: str, group: str) -> ValueWords | None:
        """The words for a version of twins; None for a value of an attribute."""
        return version_words(attribute, group) if attribute in self.things else None

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
        if version := self.version(attribute, group):
            return version.label
        return CROSS.join(value_label(name, value) for name, value in self.parts(attribute, group))

    def reason(self, finding: Finding) -> str:
        """The reason of a verdict, its groups in words: the audit names them as the data does."""
        text = finding.reason
        for group in sorted({finding.group, finding.versus}, key=len, reverse=True):
            text = text.replace(f" in {group},", f" in {self.group(finding.attribute, group)},")
        return text

    def in_text(self, text: str) -> str:
        """A sentence with the data's group names replaced by words; values that are plain words stay.

        >>> names = Names(["tone", "hat"], {"tone": ["0. [102, 78, 65]"], "hat": ["no"]}, 1)
        >>> names.in_text("no result for tone = 0. [102, 78, 65]")
        'no result for tone = VI dark'
        """
        values = {
            value: value_label(name, value)
            for name, level in self.levels.items()
            for value in level
            if not value.replace(" ", "").isalpha()
        }
        longest_first = sorted((value for value in values if values[value] != value), key=len, reverse=True)
        if not longest_first:
            return text
        return re.sub(
            rf"(?<![\w.-])({'|'.join(map(re.escape, longest_first))})(?![\w-])", lambda match: values[match[1]], text
        )

    def place(self, attribute: str, group: str) -> tuple[int, ...]:
        """A sort key: the place of a group among those of its attribute.

        >>> names = Names(["skin_tone"], {"skin_tone": ["monk_2", "monk_10"]}, 1)
        >>> sorted(["monk_10", "monk_2"], key=lambda group: names.place("skin_tone", group))
        ['monk_2', 'monk_10']
        """
        places = []
        for name, value in self.parts(attribute, group):
            levels = self.levels.get(name, [])
            places.append(levels.index(value) if value in levels else len(levels))
        return tuple(places)

    def ordered(self, items: Iterable[G]) -> list[G]:
        """Findings, estimates or changes metric by metric and attribute by attribute, groups in their own order."""
        items = list(items)
        metrics = list(dict.fromkeys(getattr(item, "metric", "") for item in items))
        attributes = list(dict.fromkeys(item.attribute for item in items))

        def key(item: G) -> tuple[int, int, tuple[int, ...]]:
            places = metrics.index(getattr(item, "metric", "")), attributes.index(item.attribute)
            return *places, self.place(item.attribute, item.group)

        return sorted(items, key=key)

    def words(self, attribute: str, group: str) -> list[ValueWords]:
        """The words for the values of a group, those about the person first."""
        if version := self.version(attribute, group):
            return [version]
        parts = sorted(self.parts(attribute, group), key=lambda part: role_of([part[0]], {}) != PERSON)
        return [value_words(name, value) for name, value in parts]

    def colours(self, attribute: str, group: str) -> tuple[str, ...]:
        """The colours of a group's skin tones."""
        return tuple(colour for part in self.words(attribute, group) for colour in part.swatches)

    def swatch(self, attribute: str, group: str) -> Markup:
        """The colours of a group's skin tones as a small picture."""
        return swatches(self.colours(attribute, group))

    def who(self, attribute: str, group: str) -> str:
        """A group in few words, for a list.

        >>> Names(["skin_tone"], {}, 1).who("skin_tone", "monk_3"), Names(["race"], {}, 1).who("race", "Black")
        ('Monk 3', 'Black')
        """
        if version := self.version(attribute, group):
            return version.label
        parts = sorted(self.parts(attribute, group), key=lambda part: role_of([part[0]], {}) != PERSON)
        return ", ".join(
            phrase(name, value) or _with_attribute(attribute_label(name), value_label(name, value))
            for name, value in parts
        )

    def people(self, attribute: str, group: str, whom: str = "people") -> str:
        """A group as people, for a sentence; `whom` is the noun for others than people.

        >>> names = Names(["masked", "age_group"], {"masked": ["yes"], "age_group": ["61_100"]}, 2)
        >>> names.people("masked × age_group", "yes × 61_100")
        'masked people over 60'
        """
        return people_phrase(self.words(attribute, group), whom)

    def versus(self, attribute: str, versus: str) -> str:
        """The other side of a comparison.

        >>> Names([], {}, 1).versus("skin_tone", "rest")
        'everyone else'
        """
        return "everyone else" if versus == REST else self.who(attribute, versus)
