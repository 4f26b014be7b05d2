"""Sets with other pairs of features, made from the embedded rendered people; no photo of a real person is needed.

The layout and the tags are the benchmark's: F stands for the first feature of the pair, W for the second, H for yes and
S for no. `smile+tone` is the adversarial pair: both features are at the same place, the face.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countenance.data import Sample, load_dataset
from countenance.data.adapters.happyfaces_layout import CARD, SETS
from countenance.data.layout import FolderWriter
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import staged
from countenance.suites.happyfaces.interface import Pictures
from countenance.suites.happyfaces.printed_sets import print_word

SHARES = {"labelled": 0.36, "unlabelled": 0.42, "validation": 0.22}
"""Share of the people (not pictures: nobody is in two sets) that each set gets."""
FEATURES: dict[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "smile": ("smile", ("yes",), ("no",)),
    "mask": ("masked", ("yes",), ("no",)),
    "glasses": ("glasses", ("clear", "tinted"), ("none",)),
    "background": ("background", ("outdoor", "room"), ("plain", "studio")),
    "tone": ("skin_tone", [f"monk_{i}" for i in range(1, 5)], [f"monk_{i}" for i in range(7, 11)]),
}
"""Of each feature the attribute, its values that mean yes, and those that mean no."""
TEXT = "text"
PAIRS = ("smile+text", "mask+text", "smile+glasses", "smile+background", "smile+tone")


@dataclass(frozen=True)
class PersonPicture:
    """One rendered person with both answers; the second is None if a word will be printed."""

    sample: Sample
    identity: str
    first: bool
    second: bool | None

    def fits(self, tag: str) -> bool:
        """Whether the picture can be one of this type."""
        return self.first == (tag[1] == "H") and self.second in (None, tag[3] == "H")

    def pixels(self, tag: str) -> Pictures:
        """The picture, with the word if the pair needs one."""
        return print_word(self.sample.load(), tag) if self.second is None else self.sample.load()


def features_of(pair: str) -> tuple[str, str]:
    """The two features of a pair.

    >>> features_of("smile+text")
    ('smile', 'text')
    >>> features_of("smile+txt")
    Traceback (most recent call last):
    countenance.errors.InputError: features='smile+txt': expected two of smile, mask, glasses, background, tone, text...
    """
    names = pair.split("+")
    known = (*FEATURES, TEXT)
    if len(names) != 2 or names[0] == names[1] or names[0] not in FEATURES or names[1] not in known:
        hint = near(pair, PAIRS)
        raise InputError(f"features={pair!r}: expected two of {', '.join(known)}, text last, such as smile+text{hint}")
    return names[0], names[1]


def _answer(sample: Sample, feature: str) -> bool | None:
    """Yes, no, or None for a picture that says neither."""
    attribute, yes, no = FEATURES[feature]
    value = {**sample.attributes, **sample.subjects[0].attributes}.get(attribute)
    return True if value in yes else False if value in no else None


def usable(data: Iterable[Sample], pair: str) -> list[PersonPicture]:
    """The pictures that can be used; where the mouth matters, masked people are excluded."""
    first, second = features_of(pair)
    suitable = []
    for sample in data:
        if len(sample.subjects) != 1 or ("mask" not in (first, second) and _answer(sample, "mask")):
            continue
        first_answer, second_answer = _answer(sample, first), None if second == TEXT else _answer(sample, second)
        if first_answer is not None and (second_answer is not None or second == TEXT):
            suitable.append(
                PersonPicture(sample, str(sample.subjects[0].identity or sample.id), first_answer, second_answer)
            )
    return suitable


def assign(pictures: Sequence[PersonPicture], seed: int) -> dict[str, list[tuple[PersonPicture, str]]]:
    """For each set its pictures and their tags, as many of every type as the scarcest type allows."""
    rng = np.random.default_rng(seed)
    identities = sorted({picture.identity for picture in pictures})
    rng.shuffle(identities)
    bounds = np.cumsum([round(share * len(identities)) for share in SHARES.values()])
    home = {name: int(np.searchsorted(bounds[:-1], i, side="right")) for i, name in enumerate(identities)}
    sets: dict[str, list[tuple[PersonPicture, str]]] = {}
    for number, name in enumerate(SHARES):
        tags = SETS[name][1]
        by_tag: dict[str, list[PersonPicture]] = {tag: [] for tag in tags}
        mine = [picture for picture in pictures if home[picture.identity] == number]
        rng.shuffle(mine)
        for picture in mine:
            fitting = [tag for tag in tags if picture.fits(tag)]
            if fitting:
                by_tag[min(fitting, key=lambda tag: len(by_tag[tag]))].append(picture)
        size = min(len(some) for some in by_tag.values())
        if size < 5:
            raise InputError(f"people= gives only {size} pictures of a type for the {name} set; choose a larger one")
        sets[name] = [(picture, tag) for tag in tags for picture in by_tag[tag][:size]]
    return sets


def build_people(out: Path, *, features: str = "smile+text", seed: int = 0, people: str = "people:portraits") -> int:
    """Write the three sets of two features; returns how many pictures."""
    names = features_of(features)
    with staged(out) as folder:
        layout = FolderWriter(folder)
        sets = assign(usable(load_dataset(people), features), seed)
        card = {"features": names, "pair": features, "seed": seed, "people": people, "real_people": False}
        layout.text(CARD, [json.dumps(card, indent=1)])
        for name, members in sets.items():
            for number, (picture, tag) in enumerate(members):
                layout.picture(f"{SETS[name][0][0]}/{tag}/{number:04d}_{tag}.png", picture.pixels(tag))
    return sum(len(members) for members in sets.values())
