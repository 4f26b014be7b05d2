"""The challenge's layout from rendered people: train, public test, private holdout, about a fifth not faces.

Faces are portraits and, in train, twins; non-faces are the people's objects and square crops of their full figures
and group scenes that touch no face. As in the challenge's datasheet, every non-face has labels drawn at random and
only faces can be unlabelled; in test and holdout every row is labelled.

Participants get `train/` and `test/`. Nothing there distinguishes identities or non-faces: every picture is written
with the same size, format and quality, under a number in shuffled order, and a non-face's labels are those of a face
drawn at random. `holdout/` and `organiser/` are for the organiser alone. `identities.csv` names the person of each
picture, for intervals over people; non-faces get invented identities with as many pictures as people have.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data import load_dataset
from countenance.data.adapters.bias_bounty_files import IDENTITIES, NONFACES_FILE, organiser_folder, predictions_text
from countenance.data.layout import FolderWriter
from countenance.data.sample import Dataset, Sample
from countenance.errors import InputError
from countenance.files import staged
from countenance.settings.engine import ProgressMaker

SPLITS: Mapping[str, str] = {"train": "train", "validation": "test", "test": "holdout"}
"""The challenge's split for each split of the people; the split used for choosing becomes the public test."""
NONFACES = 0.2
SIDE = 256
SUFFIX, FORMAT, QUALITY = ".webp", "WEBP", 92
DESCRIPTION = (
    "Rendered people and non-people in the layout of the bias bounty: skin tone, age group, gender; about a fifth are "
    "not faces and have random labels, some faces in train are unlabelled."
)
GRID = 16
"""Corners of crops lie on the compression's grid, as those of whole pictures do."""


@dataclass(frozen=True)
class ChallengePicture:
    """One file to write."""

    source: Sample
    cut: tuple[int, int] | None = None
    """Left and top of a square cutting; None is the whole picture."""
    labels: Mapping[str, str] | None = None
    """None for a non-face."""
    identity: str = ""


def _faces(people: Dataset, split: str) -> Iterator[ChallengePicture]:
    parts = ("portraits", "twins") if split == "train" else ("portraits",)
    for sample in people:
        if sample.attributes.get("part") in parts and sample.attributes.get("split") == split:
            (person,) = sample.subjects
            about = person.attributes
            labels = {"skin_tone": about["skin_tone"], "gender": about["gender"], "age": about["age_group"]}
            yield ChallengePicture(sample, None, {k: str(v) for k, v in labels.items()}, person.identity or sample.id)


def _nonfaces(people: Dataset, split: str, count: int, rng: np.random.Generator) -> list[ChallengePicture]:
    own = [sample for sample in people if sample.attributes.get("split") == split]
    whole = [ChallengePicture(sample) for sample in own if sample.attributes.get("part") == "objects"][:count]
    scenes = [s for s in own if s.attributes.get("part") in ("bodies", "groups") and min(s.width, s.height) >= SIDE]
    cuttings: list[ChallengePicture] = []
    for _ in range(50 * count):  # a crowded scene may have no place left; then the share is a little smaller
        if len(whole) + len(cuttings) >= count or not scenes:
            break
        scene = scenes[int(rng.integers(len(scenes)))]
        left, top = (GRID * int(rng.integers((side - SIDE) // GRID + 1)) for side in (scene.width, scene.height))
        # Two crops of a scene share less than half of their width or height.
        near = [
            other
            for other in cuttings
            if other.source is scene
            and other.cut is not None
            and abs(left - other.cut[0]) <= SIDE // 2
            and abs(top - other.cut[1]) <= SIDE // 2
        ]
        if not near and not any(_touches(left, top, person.face_box) for person in scene.subjects):
            cuttings.append(ChallengePicture(scene, (left, top)))
    return whole + cuttings


def _touches(left: int, top: int, box: NDArray[np.float64] | None) -> bool:
    if box is None:
        return False
    margin = 0.25 * float(box[3] - box[1])  # with hair and chin a head is larger than the face's box
    across = left < box[2] + margin and left + SIDE > box[0] - margin
    return bool(across and top < box[3] + margin and top + SIDE > box[1] - margin)


def _labels(pictures: Sequence[ChallengePicture], rng: np.random.Generator, unlabelled: float) -> list[dict[str, str]]:
    """The row of each picture: a face's own labels, some of them hidden; a non-face gets those of a random face."""
    known = [picture.labels for picture in pictures if picture.labels is not None]
    rows = []
    for picture in pictures:
        if picture.labels is None:
            rows.append(dict(known[int(rng.integers(len(known)))]))
            continue
        row = dict(picture.labels)
        if rng.random() < unlabelled:  # half the time a face loses all its labels, else one
            row |= dict.fromkeys(row if rng.random() < 0.5 else [str(rng.choice(sorted(row)))], "")
        rows.append(row)
    return rows


def _identities(pictures: Sequence[ChallengePicture], rng: np.random.Generator) -> list[str]:
    """The identity of each picture; non-faces share invented identities with as many pictures as people have."""
    sizes = list(Counter(picture.identity for picture in pictures if picture.identity).values())
    identities = [picture.identity for picture in pictures]
    others = [i for i, picture in enumerate(pictures) if not picture.identity]
    order, number = [others[i] for i in rng.permutation(len(others))], 0
    while order:
        size = min(len(order), sizes[int(rng.integers(len(sizes)))])
        if len(order) - size < min(sizes):  # too few would remain for another identity
            size = len(order)
        for i in order[:size]:
            identities[i] = f"nobody {number}"
        order, number = order[size:], number + 1
    return [hashlib.sha256(who.encode()).hexdigest()[:12] for who in identities]


def write_challenge(
    out: Path,
    people: str | Dataset = "people",
    *,
    unlabelled: float = 0.1,
    seed: int = 0,
    progress: ProgressMaker | None = None,
) -> dict[str, dict[str, int]]:
    """Write the folders; returns the numbers of images, non-faces and incompletely labelled faces in each split."""
    dataset = load_dataset(people)
    plan: dict[str, list[ChallengePicture]] = {}
    for number, (theirs, ours) in enumerate(SPLITS.items()):
        rng = np.random.default_rng([seed, 61, number])
        faces = list(_faces(dataset, theirs))
        if not faces:
            raise InputError(
                f"{people}: no portraits of the split {theirs!r}; give rendered people (`countenance docs people`)"
            )
        others = _nonfaces(dataset, theirs, round(len(faces) * NONFACES / (1 - NONFACES)), rng)
        pictures = faces + others
        plan[ours] = [pictures[i] for i in rng.permutation(len(pictures))]
    total = sum(map(len, plan.values()))
    counts: dict[str, dict[str, int]] = {}
    with staged(out) as folder, progress("writing", total) if progress else nullcontext(lambda *_: None) as step:
        layout = FolderWriter(folder, step)
        for number, (split, pictures) in enumerate(plan.items()):
            rng = np.random.default_rng([seed, 62, number])
            rows = _labels(pictures, rng, unlabelled if split == "train" else 0.0)
            counts[split] = _write_split(layout, split, pictures, rows, _identities(pictures, rng))
        layout.card(dataset.card, name=f"{dataset.card.name}-bias-bounty", description=DESCRIPTION)
    return counts


def _write_split(
    layout: FolderWriter, split: str, pictures: list[ChallengePicture], rows: list[dict[str, str]], people: list[str]
) -> dict[str, int]:
    """Write one split; every picture is encoded again in the same way, whether whole or cut."""
    names = [f"{split.upper()}{number:04d}{SUFFIX}" for number in range(len(pictures))]
    for name, picture in zip(names, pictures, strict=True):
        crop = (*picture.cut, picture.cut[0] + SIDE, picture.cut[1] + SIDE) if picture.cut else None
        layout.picture(f"{split}/{name}", picture.source.load(), crop=crop, side=SIDE, form=FORMAT, quality=QUALITY)
    nonfaces = [name for name, picture in zip(names, pictures, strict=True) if picture.labels is None]
    private = organiser_folder(Path(), split)
    layout.text(f"{split}/labels.csv", predictions_text(names, rows).splitlines())
    layout.table(private / IDENTITIES, [{"name": n, "identity": who} for n, who in zip(names, people, strict=True)])
    layout.text(private / NONFACES_FILE, nonfaces)
    missing = sum("" in row.values() for row in rows)
    return {"images": len(pictures), "nonfaces": len(nonfaces), "unlabelled_faces": missing}
