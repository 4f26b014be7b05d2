"""Sets with other pairs of features, made from the embedded rendered people; no photo of anybody is needed.

The layout and the tags are the benchmark's: F stands for the first feature of the pair, W for the second, H for yes and
S for no. `smile+tone` is the adversarial one: both features live in the same place, the face.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data import Dataset, Sample, load_dataset
from countenance.data.image import encode_png
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import staged
from countenance.suites.happyfaces.build import word_of
from countenance.suites.happyfaces.dataset import CARD, SETS
from countenance.suites.happyfaces.words import print_word

Answer = Callable[[Sample], bool | None]
"""Yes, no, or None for a picture that the pair does not use."""

SHARES = {"labelled": 0.36, "unlabelled": 0.42, "validation": 0.22}
"""Share of the people (not pictures: nobody is in two sets) that each set gets."""


def _attribute(name: str, yes: Sequence[str], no: Sequence[str]) -> Answer:
    def answer(sample: Sample) -> bool | None:
        about = {**sample.attributes, **(sample.subjects[0].attributes if sample.subjects else {})}
        value = about.get(name)
        return True if value in yes else False if value in no else None

    return answer


FEATURES: dict[str, Answer] = {
    "smile": _attribute("smile", ("yes",), ("no",)),
    "mask": _attribute("masked", ("yes",), ("no",)),
    "glasses": _attribute("glasses", ("round", "square"), ("none",)),
    "background": _attribute("background", ("outdoor", "room"), ("plain", "studio")),
    "tone": _attribute("skin_tone", [f"monk_{i}" for i in range(1, 5)], [f"monk_{i}" for i in range(7, 11)]),
}
TEXT = "text"
PAIRS = ("smile+text", "mask+text", "smile+glasses", "smile+background", "smile+tone")


@dataclass(frozen=True)
class PersonPicture:
    """One rendered person with both answers; the second is None when a word will be printed to order."""

    sample: Sample
    identity: str
    first: bool
    second: bool | None


def features_of(pair: str) -> tuple[str, str]:
    """The two features of a pair.

    >>> features_of("smile+text")
    ('smile', 'text')
    >>> features_of("smile+txt")
    Traceback (most recent call last):
    countenance.errors.InputError: --pair 'smile+txt': expected two of smile, mask, glasses, background, tone, text...
    """
    names = pair.split("+")
    known = (*FEATURES, TEXT)
    if len(names) != 2 or names[0] == names[1] or names[0] not in FEATURES or names[1] not in known:
        hint = near(pair, PAIRS)
        raise InputError(f"--pair {pair!r}: expected two of {', '.join(known)}, text last, such as smile+text{hint}")
    return names[0], names[1]


def usable(data: Dataset, pair: str) -> list[PersonPicture]:
    """The pictures that can serve; where the mouth matters, masked people cannot."""
    first, second = features_of(pair)
    found = []
    for sample in data:
        if len(sample.subjects) != 1:
            continue
        if "mask" not in (first, second) and FEATURES["mask"](sample):
            continue
        one = FEATURES[first](sample)
        two = None if second == TEXT else FEATURES[second](sample)
        if one is None or (two is None and second != TEXT):
            continue
        found.append(PersonPicture(sample, str(sample.subjects[0].identity or sample.id), one, two))
    return found


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
            fitting = [tag for tag in tags if _fits(picture, tag)]
            if fitting:
                scarcest = min(fitting, key=lambda tag: len(by_tag[tag]))
                by_tag[scarcest].append(picture)
        size = min(len(some) for some in by_tag.values())
        if size < 5:
            raise InputError(f"--people: only {size} pictures of a type for the {name} set; use a larger population")
        sets[name] = [(picture, tag) for tag in tags for picture in by_tag[tag][:size]]
    return sets


def _fits(picture: PersonPicture, tag: str) -> bool:
    return picture.first == (tag[1] == "H") and picture.second in (None, tag[3] == "H")


def picture_of(picture: PersonPicture, tag: str) -> NDArray[np.uint8]:
    """The pixels, with the word where the pair wants one."""
    pixels = picture.sample.load()
    return print_word(pixels, word_of(tag)) if picture.second is None else pixels


def build_people(out: Path, *, pair: str = "smile+text", seed: int = 0, people: str = "people:portraits") -> int:
    """Write the three sets of a pair; returns how many pictures."""
    features = features_of(pair)
    count = 0
    with staged(out) as made:
        sets = assign(usable(load_dataset(people), pair), seed)
        card = {"features": features, "pair": pair, "seed": seed, "people": people, "real_people": False}
        (made / CARD).write_text(json.dumps(card, indent=1) + "\n", "utf-8")
        for name, members in sets.items():
            for number, (picture, tag) in enumerate(members):
                folder = made / SETS[name][0][0] / tag
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{number:04d}_{tag}.png").write_bytes(encode_png(picture_of(picture, tag)))
                count += 1
    return count
