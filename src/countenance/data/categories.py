"""The categories of a COCO file that are people, those that are faces, and those left out.

A category is chosen by its name (person, face, head, human face, …) or by the user (`face=1,person=18`). Everything
else is left out, counted and named: a file of cars is not a dataset of people.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from countenance.data.tables import near
from countenance.errors import InputError

Kind = Literal["person", "face"]
PERSON = frozenset(
    {
        "person",
        "persons",
        "people",
        "human",
        "humans",
        "human body",
        "full body",
        "body",
        "pedestrian",
        "pedestrians",
        "man",
        "men",
        "woman",
        "women",
        "boy",
        "girl",
        "child",
        "children",
        "kid",
        "baby",
        "adult",
    }
)
FACE = frozenset(
    {
        "face",
        "faces",
        "human face",
        "face box",
        "head",
        "heads",
        "human head",
        "frontal face",
        "masked face",
        "unmasked face",
    }
)
OPEN_IMAGES: Mapping[str, Kind] = {
    "/m/0dzct": "face",
    "/m/04hgtk": "face",
    "/m/01g317": "person",
    "/m/04yx4": "person",
    "/m/03bt1vf": "person",
    "/m/05r655": "person",
    "/m/01bl7v": "person",
}
"""The codes of Open Images: human face and human head; person, man, woman, girl and boy."""
MASK_WORDS = frozenset(
    {
        "mask",
        "masked",
        "withmask",
        "facemask",
        "facewithmask",
        "maskedface",
        "yes",
        "true",
        "1",
        "incorrect",
        "poormask",
        "badmask",
        "maskwearedincorrect",
        "incorrectmask",
        "badlyworn",
    }
)
"""A badly worn mask is a mask, as in the published prediction files."""
NO_MASK_WORDS = frozenset(
    {
        "nomask",
        "unmasked",
        "withoutmask",
        "nonemask",
        "facenomask",
        "facewithoutmask",
        "unmaskedface",
        "none",
        "face",
        "no",
        "false",
        "0",
    }
)
LABELS = {"yes": "mask", "no": "no_mask"}
"""The classes that judge a face, by the values of the attribute `masked`."""
MOST_NAMED = 6


def says_masked(word: str) -> str | None:
    """`yes` or `no` for a word about a mask, None for any other.

    >>> says_masked("with_mask"), says_masked("no-mask"), says_masked("0.0"), says_masked("hat")
    ('yes', 'no', 'no', None)
    """
    plain = "".join(letter for letter in word.strip().lower().removesuffix(".0") if letter.isalnum())
    return "yes" if plain in MASK_WORDS else "no" if plain in NO_MASK_WORDS else None


def masked_word(word: str, place: str) -> str | None:
    """`yes` or `no` for what a file says about the mask; empty means not known, any other word is refused.

    >>> masked_word("with_mask", "row 2"), masked_word("no-mask", "row 2"), masked_word(" ", "row 2")
    ('yes', 'no', None)
    """
    if not word.strip():
        return None
    masked = says_masked(word)
    if masked is None:
        raise InputError(f"{place}: {word!r} says neither mask nor no mask; expected 1 or 0, mask or no_mask")
    return masked


def kind_of(name: str) -> Kind | None:
    """What a category of this name shows, or None.

    >>> kind_of("Human face"), kind_of("Pedestrian"), kind_of("/m/0dzct"), kind_of("car")
    ('face', 'person', 'face', None)
    """
    if name in OPEN_IMAGES:
        return OPEN_IMAGES[name]
    plain = re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
    return "face" if plain in FACE else "person" if plain in PERSON else None


def parse_categories(text: str) -> list[tuple[Kind, str]]:
    """The categories that a user chose, each an id or a name.

    >>> parse_categories("face=1, person=18,person=rider")
    [('face', '1'), ('person', '18'), ('person', 'rider')]
    """
    chosen: list[tuple[Kind, str]] = []
    for part in (part.strip() for part in text.split(",")):
        kind, equals, category = (piece.strip() for piece in part.partition("="))
        if not equals or not category or kind not in get_args(Kind):
            raise InputError(f"categories={text!r}: expected person=ID or face=ID, such as face=1,person=18")
        chosen.append((kind, category))  # type: ignore[arg-type]
    return chosen


def parse_classes(text: str, place: str = "classes") -> dict[int, str]:
    """Class numbers that a user gave, each with mask or no_mask.

    >>> parse_classes("0=mask, 1=no_mask")
    {0: 'mask', 1: 'no_mask'}
    """
    pairs = [tuple(piece.strip() for piece in part.partition("=")[::2]) for part in text.split(",") if part.strip()]
    if not pairs or not all(number.isdecimal() and label in LABELS.values() for number, label in pairs):
        raise InputError(f"{place} {text!r}: expected numbers with mask or no_mask, such as 0=mask,1=no_mask")
    return {int(number): label for number, label in pairs}


def classes_in_words(classes: Mapping[Any, str]) -> str:
    """Class numbers with their meanings.

    >>> classes_in_words({0: "mask", 1: "no_mask"})
    '0 = mask, 1 = no_mask'
    """
    return ", ".join(f"{number} = {label}" for number, label in classes.items())


@dataclass
class Categories:
    """The categories of one file: what each shows, and how many annotations were left out."""

    kinds: Mapping[Any, Kind]
    names: Mapping[Any, str]
    masked: Mapping[Any, str] = field(default_factory=dict)
    """For files of masked and unmasked faces: whether a mask is worn, by category."""
    left_out: Counter[str] = field(default_factory=Counter)
    wording: tuple[str, str, str] = (
        "of no person and no face",
        "of a person or a face",
        "categories= says which categories are people or faces, such as face=1,person=18",
    )
    """Words for what is left out, what is kept, and the argument that chooses."""

    def kind(self, category: Any, place: str) -> Kind | None:
        """What an annotation of this category shows; None: it is left out (and counted)."""
        if isinstance(category, bool) or not isinstance(category, int | str):
            raise InputError(f"{place}: category_id is {category!r:.60}, expected a number")
        kind = self.kinds.get(category)
        if kind is None and category not in self.names:
            remedy = f'add it there, or say categories="person={category}" or categories="face={category}"'
            raise InputError(f"{place}: category_id {category!r} is not among the categories; {remedy}")
        if kind is None:
            self.left_out[self.names[category] or "without a name"] += 1
        return kind

    def shown(self) -> dict[Any, str]:
        """What each category shows: person, face, mask, no_mask, or its own name if it is something else."""
        kinds: dict[Any, str] = dict(self.names) | dict(self.kinds)
        return kinds | {key: LABELS[word] for key, word in self.masked.items()}

    def notes(self, file: str) -> list[str]:
        """Notes on what was left out, counted and named."""
        if not self.left_out:
            return []
        n = self.left_out.total()
        named = ", ".join(f"{count:,} {name}" for name, count in self.left_out.most_common(MOST_NAMED))
        others = len(self.left_out) - MOST_NAMED
        more = f" and {others} more categories" if others > 0 else ""
        what = "1 annotation is" if n == 1 else f"{n:,} annotations are"
        return [f"{file}: {what} {self.wording[0]} and left out ({named}{more}); {self.wording[2]}"]


OF_MASKS = (
    "in no category that says mask or no mask",
    "in a category that says mask or no mask",
    'classes="1=mask,2=no_mask" says which category is which',
)


def choose(
    rows: Sequence[Mapping[str, Any]], chosen: str | None, file: str, masks: Mapping[int, str] | None = None
) -> Categories:
    """The categories of a file by their names, or as the user chose them (then all others are left out).

    With `masks` exactly the categories that say mask or no mask, by name or by the user's choice, are faces.
    """
    names = {row.get("id"): str(row.get("name") or "") for row in rows if isinstance(row.get("id"), int | str)}
    listed = [row.get("id") for row in rows]
    twice = next((key for key in names if listed.count(key) > 1), None)
    if twice is not None:
        raise InputError(f"{file}: category id {twice!r} occurs twice; every category has its own")
    masked = {key: word for key, name in names.items() if (word := says_masked(name)) is not None}
    if masks is not None:
        words = {label: word for word, label in LABELS.items()}
        masked |= {key: words[label] for key, label in masks.items()}
        return Categories(dict.fromkeys(masked, "face"), names, masked, wording=OF_MASKS)
    if chosen is None:
        kinds: dict[Any, Kind] = {key: kind for key, name in names.items() if (kind := kind_of(name)) is not None}
        bare = [key for key, word in masked.items() if word == "no" and kind_of(names[key]) is None]
        named = any("mask" in names[key].lower() for key in masked)  # "0", "none" or "no" alone could be anything
        if bare and named:  # masked and unmasked faces: "mask" alone could be an object
            kinds |= dict.fromkeys(masked, "face")
            return Categories(kinds, names, masked)
        return Categories(kinds, names)
    kinds = {}
    for kind, word in parse_categories(chosen):
        result = [key for key, name in names.items() if word in (str(key), name)]
        if not result and not names and word.isdigit():  # a file without a list of categories
            result = [int(word)]
        if not result:
            known = ", ".join(f"{key} {name}" for key, name in list(names.items())[:20]) or "none"
            raise InputError(
                f"{file}: categories= names {word!r}{near(word, list(names.values()))}, which is not a category there; "
                f"there are {known}{', …' if len(names) > 20 else ''}"
            )
        for key in result:
            if kinds.get(key, kind) != kind:
                raise InputError(f"{file}: categories= says that {word!r} is both a person and a face")
            kinds[key] = kind
    return Categories(kinds, names)


def refuse_without_people(categories: Categories, annotations: int, file: str) -> None:
    """Raise when a file has annotations and none of them shows a person or a face."""
    if annotations and categories.left_out.total() == annotations:
        named = ", ".join(name for name, _ in categories.left_out.most_common(MOST_NAMED))
        _, remaining, remedy = categories.wording
        raise InputError(
            f"{file}: none of its {annotations:,} annotations is {remaining} (they are of {named}); {remedy}"
        )
