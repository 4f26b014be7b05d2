"""Version 3's scoring: probe embeddings against gallery templates, one similarity for every pair."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.metrics.topk import unit_rows
from countenance.suites.uccs.baseline.detect import default_result_file
from countenance.suites.uccs.pth import read_gallery, read_probes
from countenance.suites.uccs.write import write_scoring

GALLERY = ("subject", "embedding")
PROBES = ("image", "box", "score", "embedding")


def gallery_file(folder: Path, suffix: str = "") -> Path:
    """Where `recognize` leaves the gallery's templates."""
    return folder / f"gallery{suffix}.npz"


def probe_file(folder: Path, which: str, suffix: str = "") -> Path:
    """Where `recognize` leaves the embeddings of a set's detections."""
    return folder / f"probes-{which}{suffix}.npz"


def score(gallery: Path, probes: Path, *, which: str = "validation", result_file: Path | None = None) -> Path:
    """Write a scoring file from embeddings on disk.

    The gallery is an .npz file with `subject` (n) and `embedding` (n × d; several rows of a subject are averaged),
    the probes one with `image` (m names), `box` (m × 4), `score` (m) and `embedding` (m × d). Each may be a folder of
    .pth files as the original's scripts write them, or of one such .npz file.
    """
    out = result_file or default_result_file(which, 3, "scoring")
    write_scores(_loaded(gallery, GALLERY, read_gallery), _loaded(probes, PROBES, read_probes), out)
    return out


def _loaded(
    place: Path, names: tuple[str, ...], read_folder: Callable[[Path], dict[str, NDArray[Any]]]
) -> dict[str, NDArray[Any]]:
    if not place.is_dir():
        return _arrays(place, names)
    files = list(place.glob("*.npz"))
    return _arrays(files[0], names) if len(files) == 1 else _checked(read_folder(place), place)


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    import zipfile

    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
            missing = [name for name in names if name not in kept.files]
            if missing:
                raise InputError(f"{path}: no array {missing[0]!r}; expected {', '.join(names)}")
            arrays = {name: kept[name] for name in names}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `countenance uccs recognize` makes it, or save your own") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a readable .npz file ({error}); save plain arrays with numpy.savez") from None
    return _checked(arrays, path)


def _checked(arrays: dict[str, NDArray[Any]], path: Path) -> dict[str, NDArray[Any]]:
    sizes = {len(array) for array in arrays.values()}
    if len(sizes) != 1 or arrays["embedding"].ndim != 2:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{path}: arrays of different length or shape ({shapes}); expected one row for each face")
    if not np.isfinite(arrays["embedding"]).all():
        raise InputError(f"{path}: an embedding holds a number that is not finite")
    return arrays


def write_scores(gallery: Mapping[str, NDArray[Any]], probes: Mapping[str, NDArray[Any]], out: Path) -> None:
    """Cosines between every probe and every gallery subject, an image at a time, into a scoring file."""
    if not len(probes["image"]):
        raise InputError("no detection to score: the detector found nothing in the images")
    if gallery["embedding"].shape[1] != probes["embedding"].shape[1]:
        a, b = gallery["embedding"].shape[1], probes["embedding"].shape[1]
        raise InputError(f"gallery embeddings have {a} numbers, probe embeddings {b}; make both with one model")
    subjects = np.unique(gallery["subject"])
    subjects = subjects[subjects > 0]
    rows = unit_rows(gallery["embedding"])
    means = np.array([rows[gallery["subject"] == subject].mean(axis=0) for subject in subjects])
    templates = unit_rows(means)

    def images() -> Iterator[tuple[str, list[tuple[list[float], NDArray[np.float64]]]]]:
        files = probes["image"]
        order = np.argsort(files, kind="stable")
        starts = np.flatnonzero(np.append(True, files[order][1:] != files[order][:-1]))
        for part in np.split(order, starts[1:]):
            cosine = unit_rows(probes["embedding"][part]) @ templates.T
            boxes = np.column_stack([probes["score"][part], probes["box"][part]]).tolist()
            yield str(files[part[0]]), list(zip(boxes, cosine.astype(np.float64), strict=True))

    write_scoring(out, subjects.tolist(), images())
