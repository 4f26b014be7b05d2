"""The words for values of attributes of people: "with a beard", "lit from the side", "Monk 10 (darkest)"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from countenance.data.vocabulary import FITZPATRICK, UNKNOWN

BEFORE, NOUN, AFTER = "before", "noun", "after"
"""Where a word stands: masked people, women, people with a beard."""
MONK = (
    "#f6ede4",
    "#f3e7db",
    "#f7ead0",
    "#eadaba",
    "#d7bd96",
    "#a07e56",
    "#825c43",
    "#604134",
    "#3a312a",
    "#292420",
)
"""The ten colours of the Monk skin tone scale."""
ENDS = {1: "lightest", 10: "darkest"}
RANGE, TO = "–", " to "
"""Between the ends of a range, as `derived_groupings` writes it."""
_WHOLE = {
    ("masked", "yes"): ("masked", BEFORE),
    ("masked", "no"): ("unmasked", BEFORE),
    ("smile", "yes"): ("smiling", BEFORE),
    ("smile", "no"): ("not smiling", AFTER),
    ("gender", "female"): ("female", NOUN),
    ("gender", "male"): ("male", NOUN),
    ("sex", "female"): ("female", NOUN),
    ("sex", "male"): ("male", NOUN),
    ("pose", "frontal"): ("facing the camera", AFTER),
    ("pose", "turned"): ("with the head turned", AFTER),
    ("light", "side"): ("lit from the side", AFTER),
    ("light", "back"): ("lit from behind", AFTER),
    ("light", "backlight"): ("lit from behind", AFTER),
    ("light", "window"): ("lit by a window", AFTER),
    ("light", "flash"): ("lit by a flash", AFTER),
    ("light", "sun"): ("in the sun", AFTER),
    ("light", "dusk"): ("at dusk", AFTER),
    ("glasses", "none"): ("without glasses", AFTER),
    ("glasses", "sunglasses"): ("with sunglasses", AFTER),
    ("headwear", "none"): ("bareheaded", BEFORE),
    ("beard", "none"): ("without a beard", AFTER),
    ("beard", "stubble"): ("with stubble", AFTER),
    ("beard", "moustache"): ("with a moustache", AFTER),
    ("beard", "goatee"): ("with a goatee", AFTER),
    ("beard", "beard"): ("with a beard", AFTER),
    ("mask", "none"): ("without a mask", AFTER),
    ("hair", "bald"): ("bald", BEFORE),
    ("hair", "afro"): ("with an afro", AFTER),
    ("hair", "bob"): ("with a bob", AFTER),
    ("hair", "bun"): ("with a bun", AFTER),
    ("hair", "braids"): ("with braids", AFTER),
    ("hair", "locs"): ("with locs", AFTER),
    ("hair", "ponytail"): ("with a ponytail", AFTER),
    ("hair", "pony_tail"): ("with a ponytail", AFTER),
    ("hair", "fringe"): ("with a fringe", AFTER),
    ("hair", "crop"): ("with cropped hair", AFTER),
    ("hair", "buzz"): ("with a buzz cut", AFTER),
    ("hair", "slick"): ("with slicked hair", AFTER),
    ("expression", "neutral"): ("with a neutral face", AFTER),
    ("expression", "smile"): ("smiling", BEFORE),
    ("expression", "slight_smile"): ("smiling slightly", AFTER),
    ("expression", "broad_smile"): ("smiling broadly", AFTER),
    ("expression", "laugh"): ("laughing", BEFORE),
    ("expression", "smirk"): ("smirking", BEFORE),
    ("expression", "speaking"): ("speaking", AFTER),
    ("expression", "shout"): ("shouting", AFTER),
    ("expression", "wink"): ("winking", BEFORE),
    ("expression", "squint"): ("squinting", BEFORE),
    ("expression", "frown"): ("frowning", BEFORE),
    ("expression", "pursed"): ("with pursed lips", AFTER),
    ("expression", "eyes_closed"): ("with closed eyes", AFTER),
    ("expression", "raised_brows"): ("with raised brows", AFTER),
    ("camera", "clear"): ("in clear pictures", AFTER),
    ("camera", "noisy"): ("in noisy pictures", AFTER),
    ("camera", "small"): ("in small pictures", AFTER),
    ("camera", "compressed"): ("in compressed pictures", AFTER),
    ("camera", "defocused"): ("out of focus", AFTER),
    ("camera", "moved"): ("blurred by motion", AFTER),
    ("background", "blur"): ("before a blurred background", AFTER),
    ("background", "room"): ("in a room", AFTER),
    ("background", "studio"): ("in a studio", AFTER),
    ("background", "outdoor"): ("outdoors", AFTER),
}
_SEX = {"f": "female", "m": "male", "female": "female", "male": "male", "woman": "female", "man": "male"}
_PEOPLES = ("race", "ethnicity", "ethnic_group")
_NOUNS = {"female": "women", "male": "men"}
_PATTERNS = {
    "beard": "with a {} beard",
    "mask": "with a {} mask",
    "glasses": "with {} glasses",
    "hair": "with {} hair",
    "hair_colour": "with {} hair",
    "headwear": "with a {}",
    "light": "in {} light",
    "background": "before a {} background",
    "expression": "showing {}",
}
_WORN = {"beard": "a beard", "mask": "a mask", "glasses": "glasses", "headwear": "headwear"}
_NUMBERED = re.compile(r"\d+\. (\D.*)")
_OPTION = re.compile(r"\d+\. ?\D")
_CODED_TONE = re.compile(r"(\d+)\.\s*\[\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\]")
_MONK = re.compile(r"monk[_ ]?(\d+)", re.IGNORECASE)
_YEARS = re.compile(r"(\d+)[_–-](\d+)")
_AGE_BIN = re.compile(r"\[(\d+), (?:(\d+)\)|\+\])")
"""Ages from the first number up to, but not including, the second; a trailing + means no upper end."""
_ITA = ((55, "very light"), (41, "light"), (28, "medium"), (10, "tan"), (-30, "brown"), (-math.inf, "dark"))


@dataclass(frozen=True)
class ValueWords:
    """One value in words, its place before or after the word people, and the colours of a skin tone."""

    label: str
    place: str = AFTER
    swatches: tuple[str, ...] = ()
    after: str = ""
    """The words after "people", if not the label itself."""
    alone: bool = True
    """Whether the label is clear without its attribute."""


def value_words(attribute: str, value: str) -> ValueWords:
    """The words for a value of an attribute.

    >>> value_words("beard", "short").label, value_words("skin_tone", "monk_10").label
    ('with a short beard', 'Monk 10 (darkest)')
    >>> value_words("skin_tone", "0. [102, 78, 65]").label, value_words("light", "side").label
    ('VI dark', 'lit from the side')
    >>> value_words("glasses", "yes").label, value_words("mask", "no").label
    ('with glasses', 'without a mask')
    >>> value_words("pronoun", "0. She/her/hers").label
    'She/her/hers'
    >>> value_words("skin_tone", "0. [102, 78, 65] to 1. [136, 105, 81]").label
    'VI dark to V brown'
    """
    if value == UNKNOWN:
        name = attribute.replace("_", " ")
        return ValueWords("unknown", AFTER, after=f"whose {name} is not recorded", alone=False)
    known = attribute, _SEX.get(value.casefold(), value) if attribute in ("gender", "sex") else value
    if known in _WHOLE:
        label, place = _WHOLE[known]
        return ValueWords(label, place, after=_NOUNS.get(label, ""))
    if tone := _tone(value) or _numbered_range(attribute, value):
        return tone
    if numbered := _NUMBERED.fullmatch(value):  # FHIBE numbers its options
        return value_words(attribute, numbered[1])
    if attribute.startswith("age") and (years := _age(value)):
        return ValueWords(years)
    name, plain = attribute.replace("_", " "), value.replace("_", " ") if _is_code(value) else _short(value)
    if value == "none":
        return ValueWords(f"without {name}")
    if attribute in _PEOPLES:
        return ValueWords(plain, BEFORE)
    if attribute in ("pronoun", "pronouns"):
        return ValueWords(plain, AFTER, after=f"who use {plain[:1].lower()}{plain[1:]}")
    if attribute in _WORN and value in ("yes", "no"):
        worn = _WORN[attribute]
        return ValueWords(f"with {worn}" if value == "yes" else f"without {worn}")
    if attribute in _PATTERNS and re.fullmatch(r"[a-z ]+", plain):
        return ValueWords(_PATTERNS[attribute].format(plain))
    if value in ("yes", "no"):
        return ValueWords(f"{name}: {value}", AFTER, after=f"with {name}: {value}")
    return ValueWords(plain, AFTER, after=f"with {name} {plain}", alone=False)


def _numbered_range(attribute: str, value: str) -> ValueWords | None:
    """Several consecutive numbered options, by their first and last; None for any other value."""
    ends = value.split(TO)
    if len(ends) != 2 or not all(_OPTION.match(end) for end in ends):
        return None
    first, last = (value_words(attribute, end) for end in ends)
    label = f"{first.label}{TO}{last.label}"
    tones = (*first.swatches, *last.swatches)
    after = f"with {label} skin" if tones else f"with {attribute.replace('_', ' ')} {label}"
    return ValueWords(label, AFTER, tones, after, alone=first.alone and last.alone)


def _short(value: str) -> str:
    """A number without the digits that a float adds to it.

    >>> _short("82.9000015258789"), _short("1.5"), _short("Black")
    ('82.9', '1.5', 'Black')
    """
    return f"{float(value):.4g}" if re.fullmatch(r"-?\d+\.\d{5,}", value) else value


def _is_code(value: str) -> bool:
    return re.fullmatch(r"[a-z]+(_[a-z]+)+", value) is not None


def _tone(value: str) -> ValueWords | None:
    """A skin tone: one of the Monk scale, a range of it, or a code that holds its colour."""
    ends = [_MONK.fullmatch(part) for part in value.split(RANGE)]
    steps = [int(end[1]) for end in ends if end is not None and 1 <= int(end[1]) <= len(MONK)]
    if len(steps) == len(ends) == 1:
        end = f" ({ENDS[steps[0]]})" if steps[0] in ENDS else ""
        label = f"Monk {steps[0]}{end}"
        return ValueWords(label, AFTER, (MONK[steps[0] - 1],), f"with skin tone {label}")
    if len(steps) == len(ends) == 2:
        label = f"Monk {steps[0]}–{steps[1]}"
        return ValueWords(label, AFTER, MONK[steps[0] - 1 : steps[1]], f"with skin tone {label}")
    if coded := _CODED_TONE.fullmatch(value):
        colour = [min(int(part), 255) for part in coded.groups()[1:]]
        label = FITZPATRICK.get(tuple(colour)) or f"{tone_name(*colour)} (tone {coded[1]})"
        return ValueWords(label, AFTER, ("#{:02x}{:02x}{:02x}".format(*colour),), f"with {label} skin")
    return None


def tone_name(red: int, green: int, blue: int) -> str:
    """The name of a skin colour, by its individual typology angle (Chardon and others, 1991).

    >>> tone_name(246, 237, 228), tone_name(160, 126, 86), tone_name(41, 36, 32)
    ('very light', 'tan', 'dark')
    """
    linear = [
        (part / 255 / 12.92) if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)
    ]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    z = (0.0193 * linear[0] + 0.1192 * linear[1] + 0.9505 * linear[2]) / 1.089
    cube = [part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (y, z)]
    lightness, yellow = 116 * cube[0] - 16, 200 * (cube[0] - cube[1])
    angle = math.degrees(math.atan2(lightness - 50, max(yellow, 1e-6)))
    return next(name for least, name in _ITA if angle > least)


def _age(value: str) -> str:
    """Years in words: of a group, or of a range of groups.

    >>> _age("60+"), _age("45_59–60+"), _age("0_17–18+")
    ('60 and over', '45 and over', '0 and over')
    >>> _age("0_17"), _age("18_30"), _age("61_100"), _age("18_30–31_60"), _age("senior")
    ('under 18', '18–30', 'over 60', '18–60', '')
    >>> _age("[18, 30)"), _age("[60, +]"), _age("[40, 50) to [60, +]")
    ('18–29', '60 and over', '40 and over')
    """
    if older := re.fullmatch(r"(\d+)(?:[_–-]\d+–\d+)?\+", value):
        return f"{older[1]} and over"
    bins = [_AGE_BIN.fullmatch(part) for part in value.split(TO)]
    if all(bins):
        first, end = bins[0][1], bins[-1][2]  # type: ignore[index]
        return f"{first}–{int(end) - 1}" if end else f"{first} and over"
    groups = [_YEARS.fullmatch(part) for part in re.split(rf"(?<=\d){RANGE}(?=\d+_)", value)]
    if not all(groups):
        return ""
    first, last = int(groups[0][1]), int(groups[-1][2])  # type: ignore[index]
    if first == 0:
        return f"under {last + 1}"
    return f"over {first - 1}" if last >= 99 else f"{first}–{last}"


def people_phrase(parts: list[ValueWords], whom: str = "people") -> str:
    """A group as people: some words before the noun, some after it.

    >>> people_phrase([value_words("age_group", "61_100"), value_words("masked", "yes")])
    'masked people over 60'
    >>> people_phrase([value_words("gender", "female"), value_words("age_group", "0_17")])
    'girls'
    """
    before = [part.label for part in parts if part.place == BEFORE]
    nouns = [part.after for part in parts if part.place == NOUN]
    rest = [part for part in parts if part.place == AFTER]
    noun = nouns[0] if nouns else whom
    if nouns and any(part.label == "under 18" for part in rest):
        noun = {"women": "girls", "men": "boys"}.get(noun, noun)
        rest = [part for part in rest if part.label != "under 18"]
    after = [
        f"aged {part.label}" if re.fullmatch(r"\d+–\d+", part.label) else part.after or part.label for part in rest
    ]
    return " ".join([*before, noun, " and ".join(after)]).strip()
