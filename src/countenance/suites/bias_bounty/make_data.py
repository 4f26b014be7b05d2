"""The challenge's layout from rendered people: train, public test, private holdout, about a fifth not faces.

Portraits and (in train) twins are the faces, split by identity as the people are. The non-faces are the people's
objects and, to make a fifth, cuttings of their full figures and group scenes that no face touches. A non-face has
no labels; so have some faces, so that a missing label does not tell which is which. `holdout/nonfaces.txt` is for
the organiser alone; `identities.csv` tells which pictures show one person, for honest intervals.
"""

import csv
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data import load_dataset
from countenance.data.image import encode_png
from countenance.data.sample import Dataset, Sample
from countenance.errors import InputError
from countenance.suites.bias_bounty.files import COLUMNS
from countenance.suites.bias_bounty.writing import new_folder

SPLITS: Mapping[str, str] = {"train": "train", "validation": "test", "test": "holdout"}
"""From the people's splits to the challenge's: what is looked at while choosing is the public test."""
NONFACES = 0.2
SIDE = 256
FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]


@dataclass(frozen=True)
class Picture:
    """One file to write."""

    source: Sample
    cut: tuple[int, int] | None = None
    """Left and top of a square cutting; None is the whole picture."""
    labels: Mapping[str, str] | None = None
    identity: str = ""

    @property
    def face(self) -> bool:
        return bool(self.identity)


def _faces(people: Dataset, split: str) -> Iterator[Picture]:
    parts = ("portraits", "twins") if split == "train" else ("portraits",)
    for sample in people:
        if sample.attributes.get("part") in parts and sample.attributes.get("split") == split:
            (person,) = sample.subjects
            about = person.attributes
            labels = {"skin_tone": about["skin_tone"], "gender": about["gender"], "age": about["age_group"]}
            yield Picture(sample, None, {k: str(v) for k, v in labels.items()}, person.identity or sample.id)


def _nonfaces(people: Dataset, split: str, wanted: int, rng: np.random.Generator) -> list[Picture]:
    own = [sample for sample in people if sample.attributes.get("split") == split]
    whole = [Picture(sample) for sample in own if sample.attributes.get("part") == "objects"][:wanted]
    scenes = [s for s in own if s.attributes.get("part") in ("bodies", "groups") and min(s.width, s.height) >= SIDE]
    cuttings: list[Picture] = []
    for _ in range(50 * wanted):  # a crowded scene may have no room left; then the share is a little smaller
        if len(whole) + len(cuttings) >= wanted or not scenes:
            break
        scene = scenes[int(rng.integers(len(scenes)))]
        corner = _corner(scene, rng)
        apart = all(_apart(corner, other.cut) for other in cuttings if other.source is scene)
        if apart and not any(_touches(corner, person.face_box) for person in scene.subjects):
            cuttings.append(Picture(scene, corner))
    return whole + cuttings


def _corner(scene: Sample, rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(scene.width - SIDE + 1)), int(rng.integers(scene.height - SIDE + 1))


def _apart(a: tuple[int, int], b: tuple[int, int] | None) -> bool:
    """Two cuttings of one scene share less than half of their width or height."""
    return b is None or abs(a[0] - b[0]) > SIDE // 2 or abs(a[1] - b[1]) > SIDE // 2


def _touches(corner: tuple[int, int], box: NDArray[np.float64] | None) -> bool:
    if box is None:
        return False
    margin = 0.25 * float(box[3] - box[1])  # hair and chin are more of a head than the face's box
    left, top = corner
    across = left < box[2] + margin and left + SIDE > box[0] - margin
    return bool(across and top < box[3] + margin and top + SIDE > box[1] - margin)


def _content(picture: Picture) -> tuple[bytes, str]:
    """The file's bytes and ending: whole pictures as they are, cuttings in the format of their source.

    The format must not tell a cutting (a non-face) from a whole picture.
    """
    path = getattr(picture.source.image, "path", None)
    if picture.cut is None and path is not None:
        return picture.source.image.read_bytes(), path.suffix.lower()
    pixels = picture.source.load()
    if picture.cut is not None:
        left, top = picture.cut
        pixels = np.ascontiguousarray(pixels[top : top + SIDE, left : left + SIDE])
    suffix = path.suffix.lower() if path is not None else ".png"
    if suffix not in FORMATS:
        return encode_png(pixels), ".png"
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, FORMATS[suffix], quality=92)
    return buffer.getvalue(), suffix


def _csv(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([header, *rows])
    return stream.getvalue()


def _hide(labels: Mapping[str, str], rng: np.random.Generator, share: float) -> dict[str, str]:
    """With probability `share`, a face loses its labels: half the time all of them, else one."""
    if rng.random() >= share:
        return dict(labels)
    if rng.random() < 0.5:
        return dict.fromkeys(labels, "")
    return {**labels, str(rng.choice(sorted(labels))): ""}


def write_challenge(
    out: Path,
    people: str | Dataset = "people",
    *,
    unlabelled: float = 0.1,
    seed: int = 0,
    progress: ProgressMaker | None = None,
) -> dict[str, dict[str, int]]:
    """Write the three folders; returns how many images, non-faces and incompletely labelled faces each has."""
    dataset = load_dataset(people)
    plan: dict[str, list[Picture]] = {}
    for number, (theirs, ours) in enumerate(SPLITS.items()):
        rng = np.random.default_rng([seed, 61, number])
        faces = list(_faces(dataset, theirs))
        if not faces:
            raise InputError(f"{people}: no portraits of the split {theirs!r}; give rendered people (`people render`)")
        others = _nonfaces(dataset, theirs, round(len(faces) * NONFACES / (1 - NONFACES)), rng)
        pictures = faces + others
        plan[ours] = [pictures[i] for i in rng.permutation(len(pictures))]
    total = sum(map(len, plan.values()))
    counts: dict[str, dict[str, int]] = {}
    with new_folder(out) as folder, progress("writing", total) if progress else nullcontext(_nothing) as step:
        for number, (split, pictures) in enumerate(plan.items()):
            rng = np.random.default_rng([seed, 62, number])
            counts[split] = _write_split(folder / split, pictures, split, rng, unlabelled, step)
        (folder / "card.json").write_text(_card(dataset).model_dump_json(indent=2) + "\n", encoding="utf-8")
    return counts


def _nothing(n: int = 1) -> None:
    pass


def _write_split(
    folder: Path, pictures: list[Picture], split: str, rng: np.random.Generator, unlabelled: float, step: Any
) -> dict[str, int]:
    folder.mkdir()
    labels, identities, nonfaces, incomplete = [], [], [], 0
    for number, picture in enumerate(pictures):
        content, suffix = _content(picture)
        # The number says nothing: the order was shuffled.
        name = f"{split.upper()}{number:04d}{suffix}"
        (folder / name).write_bytes(content)
        words = dict.fromkeys(COLUMNS[1:], "")
        if picture.labels is not None:
            # Public test and holdout judge: there a face keeps its labels more often.
            words = _hide(picture.labels, rng, unlabelled if split == "train" else unlabelled / 4)
            incomplete += "" in words.values()
        else:
            nonfaces.append(name)
        # A non-face gets a made-up identity of its own: who is missing here would be told otherwise.
        who = picture.identity or f"nobody in {picture.source.id} {picture.cut}"
        identities.append((name, hashlib.sha256(who.encode()).hexdigest()[:12]))
        labels.append((name, *(words[column] for column in COLUMNS[1:])))
        step()
    (folder / "labels.csv").write_text(_csv(COLUMNS, labels), encoding="utf-8")
    (folder / "identities.csv").write_text(_csv(("name", "identity"), identities), encoding="utf-8")
    if split == "holdout":
        (folder / "nonfaces.txt").write_text("".join(f"{name}\n" for name in nonfaces), encoding="utf-8")
    return {"images": len(pictures), "nonfaces": len(nonfaces), "unlabelled_faces": incomplete}


def _card(dataset: Dataset) -> Any:
    return dataset.card.model_copy(
        update={
            "name": f"{dataset.card.name}-bias-bounty",
            "description": "Rendered people and non-people in the layout of the bias bounty: "
            "skin tone, age group, gender; about a fifth are not faces, some rows are unlabelled.",
        }
    )
