"""A set of the challenge as a dataset: `uccs:FOLDER?set=validation&version=3`."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import numpy as np

from countenance.data.adapters.uccs_protocol import (
    SETS,
    Protocol,
    detect_version,
    image_folder,
    read_protocol,
    real_people,
)
from countenance.data.card import RENDERED_CONSENT, RENDERED_LICENCE, DatasetCard
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.sample import Dataset, Floats, Sample, Subject, Value
from countenance.errors import DataError

CITATION = (
    "Günther, Hu, Herrmann, Boult, Unconstrained Face Detection and Open-Set Face Recognition Challenge, IJCB 2017 "
    "(arXiv:1708.02337); of version 3 also Kasım, Boult, Günther, Watchlist Challenge: 3rd Open-set Face Detection "
    "and Identification, 2024 (arXiv:2409.07220)"
)
TERMS = "https://vast.uccs.edu/Opensetface"
"""Where the authors state the licence and the consent (read 2026-11-18)."""
LICENCE = f"restricted licence agreement with the organisers; redistribution only under the same terms ({TERMS})"
CONSENT = f"none: students on a campus were photographed from far away without their knowledge, as stated ({TERMS})"
KNOWN, UNKNOWN, IGNORED = "known", "unknown", "ignored"


@dataclass(frozen=True)
class Face(Subject):
    """A face of the protocol, with the protocol's own numbers."""

    published: Floats = field(default_factory=lambda: np.zeros(4))
    """Left, top, width, height as published: their sums and differences are not exact."""
    number: int = 0
    """SUBJECT_ID: above 0 known, -1 unknown, 0 ignored."""
    excluded: bool = False
    """The gallery was made from this face, so it is neither to be found nor a false alarm."""
    version: int = 3
    """The version of the challenge that published it."""


def source_of(data: Path, which: str, version: int, exclude: Path | None = None) -> str:
    """The name under which `load_dataset` finds a set again, without opening its pictures.

    >>> source_of(Path("uccs"), "validation", 3)
    'uccs:uccs?set=validation&version=3&pictures=no'
    """
    options = {"set": which, "version": version, "pictures": "no"}
    if exclude is not None:
        options["exclude"] = os.path.relpath(exclude, data)
    return f"uccs:{data}?{urlencode(options)}"


def load(part: str | None) -> Dataset:
    """The dataset behind `uccs:FOLDER?set=validation&version=3`; every option has a default.

    >>> load(None)
    Traceback (most recent call last):
    countenance.errors.DataError: uccs: name the challenge's folder, as in uccs:FOLDER?set=validation
    """
    if not part:
        raise DataError("uccs: name the challenge's folder, as in uccs:FOLDER?set=validation")
    folder, _, query = part.partition("?")
    options = {name: values[-1] for name, values in parse_qs(query).items()}
    unknown = set(options) - {"set", "version", "pictures", "exclude"}
    which, version, pictures = options.get("set", "validation"), options.get("version"), options.get("pictures", "yes")
    if unknown or which not in SETS or version not in (None, "2", "3") or pictures not in ("yes", "no"):
        raise DataError(f"uccs:{part}: expected FOLDER?set=({'|'.join(SETS)})&version=(2|3)&pictures=(yes|no)")
    exclude = Path(folder) / options["exclude"] if "exclude" in options else None
    number = None if version is None else int(version)
    return read_dataset(Path(folder), which, number, pictures=pictures == "yes", exclude=exclude)


def read_dataset(
    data: Path,
    which: str = "validation",
    version: int | None = None,
    *,
    pictures: bool = True,
    exclude: Path | None = None,
    protocol: Protocol | None = None,
) -> Dataset:
    """A set's images with the faces in them. Further columns of the protocol are attributes, and so is `known`.

    Without `pictures` no file is opened: a score file is evaluated where the images are not, and nobody reads
    gigabytes for it. A `protocol` that was read with every column is not read again.
    """
    version = version or detect_version(data, which)
    if protocol is None or not protocol.every_column:
        protocol = read_protocol(data, which, version, attributes=True, exclude=exclude)
    folder = image_folder(data, which, version)
    faces = _faces(protocol)
    samples = []
    for name, subjects in zip(protocol.images, faces, strict=True):
        image = LazyImage(inside(folder, name, f"{protocol.path}: FILE"))
        side, truth = (None, None) if pictures else (0, _hash(name, subjects))
        samples.append(Sample(name, image, side, side, subjects, sha256=truth))
    return Dataset(_card(data, protocol), samples, notes=protocol.warnings)


def _faces(protocol: Protocol) -> list[tuple[Face, ...]]:
    attributes = {name.lower(): values for name, values in protocol.attributes.items()}
    by_image: list[list[Face]] = [[] for _ in protocol.images]
    for k, image in enumerate(protocol.image.tolist()):
        number, box = int(protocol.subject[k]), protocol.box[k]
        known: Value = KNOWN if number > 0 else UNKNOWN if number < 0 else IGNORED
        own: dict[str, Value] = {name: values[k] or None for name, values in attributes.items()}
        by_image[image].append(
            Face(
                id=f"{protocol.images[image]}#{len(by_image[image])}",
                identity=str(number) if number > 0 else None,
                face_box=np.concatenate([box[:2], box[:2] + box[2:]]),
                attributes={KNOWN: known} | own,
                published=box,
                number=number,
                excluded=bool(protocol.excluded[k]),
                version=protocol.version,
            )
        )
    return [tuple(faces) for faces in by_image]


def _hash(name: str, faces: tuple[Face, ...]) -> str:
    """A hash of the truth about an image, where its file is not read."""
    numbers = [[face.number, face.excluded, *face.published.tolist()] for face in faces]
    return hashlib.sha256(json.dumps([name, numbers]).encode()).hexdigest()


def _card(data: Path, protocol: Protocol) -> DatasetCard:
    rendered = not real_people(data)
    return DatasetCard(
        name=f"uccs {protocol.path.stem}",
        version=str(protocol.version),
        description="Open-set face detection and recognition"
        + (", rendered people in the challenge's layout" if rendered else ""),
        licence=RENDERED_LICENCE if rendered else LICENCE,
        consent=RENDERED_CONSENT if rendered else CONSENT,
        citation=CITATION,
        real_people=not rendered,
    )
