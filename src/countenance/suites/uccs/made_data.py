"""The embedded group scenes in the challenge's own layouts, so that everything runs without the challenge's images.

Identities on the watch list are known; known unknowns are labelled -1 and occur in training, too; everybody else is
an unknown who does not occur in training. The number of an identity does not reveal the kind of unknown.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from countenance.data import Dataset, Sample
from countenance.data.adapters.uccs_protocol import CARD, COLUMNS, LANDMARKS
from countenance.data.layout import FolderWriter, ListedFace, listed_faces
from countenance.data.reading.lines import Floats
from countenance.errors import InputError
from countenance.files import staged

SPLITS = {"train": "training", "validation": "validation", "test": "test"}
ATTRIBUTES = ("skin_tone", "age_group", "masked", "pose")
"""Attributes of people that become columns; the size of the face becomes one, too."""
SIZES = ((32, "small"), (64, "medium"))
"""Height of a face in pixels below which it is small, medium; large above."""
GALLERY_SIDE, GALLERY_MOST = 112, 10
Scenes = dict[str, list[Sample]]


class RenderedFace(NamedTuple):
    """A line of a protocol."""

    face_id: int
    subject_id: int
    face: ListedFace

    def cells(self) -> list[str]:
        """The line's cells, attributes after the challenge's own seven."""
        about = ["" if value is None else str(value) for value in self.face.about(ATTRIBUTES).values()]
        box = [f"{value:.2f}" for value in self.face.sized]
        size = face_size(self.face.sized[3])
        return [str(self.face_id), self.face.file, str(self.subject_id), *box, *about, size]


def face_size(height: float) -> str:
    """The size of a face in words.

    >>> face_size(20), face_size(200)
    ('small', 'large')
    """
    return next((word for limit, word in SIZES if height < limit), "large")


HEADER = (*COLUMNS, *(name.upper() for name in ATTRIBUTES), "FACE_SIZE")


@dataclass
class WrittenData:
    """The dataset that was written: its folder, and its numbers of subjects, images, faces and gallery pictures."""

    folder: Path
    version: int
    known: int
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Images and faces of each set."""
    gallery: int = 0

    def lines(self) -> Iterator[str]:
        """The numbers as lines for a terminal."""
        yield f"{self.folder}: version {self.version}, {self.known} known subjects"
        for which, (images, faces) in self.counts.items():
            yield f"  {which:12} {images:5} images {faces:6} faces"
        if self.gallery:
            yield f"  {'gallery':12} {self.gallery:5} pictures"


def make_data(dataset: Dataset, out: Path, version: int, *, portraits: Sequence[Sample] = ()) -> WrittenData:
    """Write group scenes in the layout of version 2 or 3 into a new folder, all of it or nothing.

    `portraits` are further pictures of the watch list, for the gallery of version 3 and the training of version 2.
    """
    scenes = {
        which: [s for s in dataset if SPLITS.get(str(s.attributes.get("split"))) == which] for which in SPLITS.values()
    }
    empty = [which for which, samples in scenes.items() if not samples]
    if empty:
        raise InputError(f"dataset {dataset.name!r} has no scene for the {empty[0]} set (attribute split)")
    numbers = subject_numbers(dataset)
    if not numbers:
        raise InputError(f"dataset {dataset.name!r} has nobody on the watch list (attribute role is 'known')")
    summary = WrittenData(out, version, len(numbers))
    with staged(out) as folder:
        known = [s for s in portraits if s.subjects and s.subjects[0].identity in numbers]
        (_write_v2 if version == 2 else _write_v3)(FolderWriter(folder), scenes, known, numbers, summary)
        about = {"made_from": dataset.name, "real_people": dataset.card.real_people}
        (folder / CARD).write_text(json.dumps(about) + "\n")
    return summary


def subject_numbers(dataset: Dataset) -> dict[str, int]:
    """A number from 1 for each identity on the watch list."""
    people = [person for sample in dataset for person in sample.subjects if person.attributes.get("role") == "known"]
    return {
        name: k
        for k, name in enumerate(sorted({subject.identity for subject in people if subject.identity is not None}), 1)
    }


def _faces(samples: Sequence[Sample], numbers: dict[str, int], first: int = 1) -> list[RenderedFace]:
    return [
        RenderedFace(first + k, numbers.get(face.subject.identity or "", -1), face)
        for k, face in enumerate(listed_faces(samples, file_name))
    ]


def file_name(sample: Sample) -> str:
    """The image's name in the protocol; the challenge's images are JPEG files.

    >>> from countenance.data import ArrayImage
    >>> file_name(Sample("groups/g01", ArrayImage(np.zeros((1, 1, 3), np.uint8)), 1, 1))
    'groups-g01.jpg'
    """
    return sample.id.replace("/", "-") + ".jpg"


def _write_v2(
    layout: FolderWriter, scenes: Scenes, portraits: list[Sample], numbers: dict[str, int], summary: WrittenData
) -> None:
    sets = {**scenes, "training": [*scenes["training"], *portraits]}
    sets["sample"] = sets["training"][:5]
    first = 1
    for which, samples in sets.items():
        faces = _faces(samples, numbers, first)
        _write_set(layout, "protocol/", which, which, samples, faces, summary)
        first += len(faces)


def _write_v3(
    layout: FolderWriter, scenes: Scenes, portraits: list[Sample], numbers: dict[str, int], summary: WrittenData
) -> None:
    validation = _faces(scenes["validation"], numbers)
    test = _faces(scenes["test"], numbers, len(validation) + 1)
    for which, faces in (("validation", validation), ("test", test)):
        _write_set(layout, "", f"{which}_images", which, scenes[which], faces, summary)
    sources = _faces([*portraits, *scenes["training"]], numbers)
    excluded, lines = [], []
    for subject in sorted(numbers.values()):
        mine = [face for face in sources if face.subject_id == subject and _clear(face.face)][:GALLERY_MOST]
        if not mine:  # as in the challenge, somebody's only picture may be one of the images searched
            mine = [face for face in validation if face.subject_id == subject and _clear(face.face)][:1]
            excluded += [face.face_id for face in mine]
        for k, face in enumerate(mine):
            file = f"{subject:04d}_{k}.png"
            points = _gallery_picture(layout, f"gallery_images/{subject:04d}/{file}", face.face)
            lines.append(",".join([file, str(subject), *(f"{value:.1f}" for value in points.ravel())]))
    summary.gallery = len(lines)
    layout.text("gallery.csv", [",".join(["FILE", "SUBJECT_ID", *LANDMARKS]), *lines])
    layout.text("exclude_gallery_validation.txt", map(str, excluded))


def _clear(face: ListedFace) -> bool:
    """Whether a face can be a gallery picture: landmarks known, no mask, not hidden."""
    about = face.subject.attributes
    visible = about.get("visible")
    seen = not isinstance(visible, float | int) or visible > 0.6
    return face.subject.landmarks is not None and about.get("masked", "no") == "no" and seen


def _write_set(
    layout: FolderWriter,
    protocols: str,
    pictures: str,
    which: str,
    samples: Sequence[Sample],
    faces: list[RenderedFace],
    summary: WrittenData,
) -> None:
    """The pictures and the protocol of one set."""
    for sample in samples:
        layout.picture(f"{pictures}/{file_name(sample)}", sample.load(), form="JPEG", quality=95, subsampling=0)
    lines = [",".join(HEADER), *(",".join(face.cells()) for face in faces)]
    if which == "test":  # participants get the names alone; the truth lies beside them for the organiser
        layout.text(f"{protocols}test_truth.csv", lines)
        lines = ["FILE", *dict.fromkeys(placed.face.file for placed in faces)]
    layout.text(f"{protocols}{which}.csv", lines)
    summary.counts[which] = len(samples), len(faces)


def _gallery_picture(layout: FolderWriter, name: str, face: ListedFace) -> Floats:
    """Cut the face out with a margin, scaled to one size; returns the landmarks in the cut-out."""
    assert face.subject.landmarks is not None
    x, y, w, h = face.sized
    side = 1.5 * max(w, h)
    left, top = x + w / 2 - side / 2, y + h / 2 - side / 2
    corners = (round(left), round(top), round(left + side), round(top + side))
    layout.picture(name, face.sample.load(), crop=corners, side=GALLERY_SIDE)
    scale = GALLERY_SIDE / np.array([corners[2] - corners[0], corners[3] - corners[1]])
    return np.asarray((np.asarray(face.subject.landmarks)[:, :2] - corners[:2]) * scale, dtype=np.float64)
