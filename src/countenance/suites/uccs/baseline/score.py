"""Templates, and version 3's scoring: one similarity for every pair of probe embedding and gallery template."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.data.reading.arrays import Arrays
from countenance.errors import InputError
from countenance.metrics.topk import unit_rows
from countenance.suites.uccs.baseline.detection import default_result_file
from countenance.suites.uccs.baseline.embeddings import GALLERY, PROBES, read_embeddings
from countenance.suites.uccs.score_writer import write_scoring


class Templates(NamedTuple):
    """One vector of length 1 for each subject; -1 stands for all known unknowns together."""

    subject: NDArray[np.int64]
    embedding: NDArray[np.float32]


def enroll(subject: NDArray[np.int64], embedding: NDArray[np.float32]) -> Templates:
    """The mean of each subject's embeddings, brought back to length 1.

    >>> enroll(np.array([3, 3, -1]), np.array([[1.0, 0], [0, 1], [0, 1]], dtype=np.float32)).embedding.round(2)
    array([[0. , 1. ], [0.71, 0.71]], dtype=float32)
    """
    subjects = np.unique(subject)
    means = np.array([embedding[subject == name].mean(axis=0) for name in subjects], dtype=np.float32)
    return Templates(subjects, unit_rows(means))


def gallery_file(folder: Path, suffix: str = "") -> Path:
    """The file in which `recognize` stores the gallery's templates."""
    return folder / f"gallery{suffix}.npz"


def probe_file(folder: Path, which: str, suffix: str = "") -> Path:
    """The file in which `recognize` stores the embeddings of a set's detections."""
    return folder / f"probes-{which}{suffix}.npz"


def score(gallery: Path, probes: Path, *, which: str = "validation", result_file: Path | None = None) -> Path:
    """Write a scoring file from embeddings on disk.

    The gallery is an .npz file with `subject` (n) and `embedding` (n × d; several rows of a subject are averaged),
    the probes one with `image` (m names), `box` (m × 4), `score` (m) and `embedding` (m × d). Each may be a folder of
    .pth files as the original's scripts write them, or of one such .npz file.
    """
    out = result_file or default_result_file(which, 3, "scoring")
    write_scores(read_embeddings(gallery, GALLERY), read_embeddings(probes, PROBES), out)
    return out


def write_scores(gallery: Arrays, probes: Arrays, out: Path) -> None:
    """Cosines between every probe and every gallery subject, an image at a time, into a scoring file."""
    if not len(probes["image"]):
        raise InputError("no detection to score: the detector found nothing in the images")
    if gallery["embedding"].shape[1] != probes["embedding"].shape[1]:
        a, b = gallery["embedding"].shape[1], probes["embedding"].shape[1]
        raise InputError(f"gallery embeddings have {a} numbers, probe embeddings {b}; make both with one model")
    known = gallery["subject"] > 0
    if not known.any():
        raise InputError("the gallery has no known subject: every number is 0 or less, which stands for nobody known")
    subjects, templates = enroll(gallery["subject"][known], unit_rows(gallery["embedding"][known]))

    def images() -> Iterator[tuple[str, list[tuple[list[float], NDArray[np.float64]]]]]:
        names, image = np.unique(probes["image"], return_inverse=True)
        order = np.argsort(image, kind="stable")
        for name, part in zip(names, np.split(order, np.cumsum(np.bincount(image))[:-1]), strict=True):
            cosine = unit_rows(probes["embedding"][part]) @ templates.T
            boxes = np.column_stack([probes["score"][part], probes["box"][part]]).tolist()
            yield str(name), list(zip(boxes, cosine.astype(np.float64), strict=True))

    write_scoring(out, subjects.tolist(), images())
