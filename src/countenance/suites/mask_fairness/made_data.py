"""Writes a dataset for detectors that run elsewhere: pictures, boxes in the format requested, attributes.

Their predictions come back through `assess --predictions`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from countenance.data import Dataset
from countenance.data.layout import FolderWriter, ListedFace, copy_image, listed_faces
from countenance.data.reading.box_files import BOX_FILES, write_boxes
from countenance.data.sample import Sample
from countenance.errors import InputError
from countenance.suites.mask_fairness.assessment import csv_text

CLASSES = ("no_mask", "mask")
"""In the order of BAFMD; classes.txt and the COCO file name it as well."""
FORMATS = ("bafmd", *BOX_FILES)


def make_data(dataset: Dataset, out: Path, form: str = "bafmd", step: Callable[[], None] = lambda: None) -> int:
    """Write a new folder with every picture that has a face with a box; returns the number of faces.

    bafmd: `annotations.csv` (centre, normalised); yolo, voc: a label file beside each picture, with `attributes.csv`;
    coco: `annotations.json` with `attributes.csv`.
    """
    if form not in FORMATS:
        raise InputError(f"format {form!r}, expected one of {', '.join(FORMATS)}")

    def copied(sample: Sample) -> str:
        step()
        return copy_image(sample, out)

    faces = list(listed_faces(dataset, copied))
    if not faces:
        raise InputError(f"dataset {dataset.name!r} has no face with a box")
    FolderWriter(out).card(dataset.card)
    known = dict.fromkeys(name for face in faces for name in (*face.sample.attributes, *face.subject.attributes))
    names = [name for name in known if name not in ("mask", "masked")]
    if form == "bafmd":
        rows = [{"index": i, **_bafmd(face), **face.about(names)} for i, face in enumerate(faces)]
    else:
        rows = [{"file": face.file, "face": face.index, **face.about(names)} for face in faces]
        write_boxes(form, faces, CLASSES, label, out)
    table = out / ("annotations.csv" if form == "bafmd" else "attributes.csv")
    table.write_text(csv_text(rows, list(rows[0])), encoding="utf-8", newline="")
    return len(faces)


def label(face: ListedFace) -> int:
    """The class of a face as a number in `CLASSES`."""
    word = face.subject.attributes.get("masked")
    if word not in ("yes", "no"):
        raise InputError(
            f"{face.sample.id}: whether a mask is worn is not known; label it, since these formats cannot omit it"
        )
    return int(word == "yes")


def _bafmd(face: ListedFace) -> dict[str, Any]:
    box = dict(zip(("x", "y", "dx", "dy"), map(repr, face.centre), strict=True))
    return {"filename": face.file, **box, "mask": {"yes": 1, "no": 0}.get(str(face.subject.attributes.get("masked")))}
