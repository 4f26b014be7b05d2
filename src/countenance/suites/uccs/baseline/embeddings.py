"""Embeddings on disk: .npz files, or folders of .pth files as version 3's scripts have them.

A folder has a file for each subject (`0001.pth` with `embeddings`), or for each image (`NAME.pth` with
`detection_scores`, `bboxes` as left, top, width, height, and `embeddings`). Nothing in a .pth file is executed.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.reading.arrays import Arrays, read_arrays, read_tensors, save_arrays
from countenance.errors import InputError
from countenance.files import staged

GALLERY = ("subject", "embedding")
PROBES = ("image", "box", "score", "embedding")
NUMBERS = "fiu"
SHAPES = {
    "subject": ("iu", 1, "whole numbers"),
    "embedding": (NUMBERS, 2, "rows of numbers"),
    "image": ("U", 1, "names"),
    "box": (NUMBERS, 2, "rows of four numbers"),
    "score": (NUMBERS, 1, "numbers"),
}
"""The kinds of numpy that an array may have, its dimensions, and both in words."""
OF_IMAGE = ("detection_scores", "bboxes", "embeddings")


def read_embeddings(place: Path, names: tuple[str, ...]) -> Arrays:
    """The gallery or the probes: arrays of these names, a row for each face."""
    if place.is_dir():
        files = list(place.glob("*.npz"))
        if len(files) != 1:
            return _checked(_of_subjects(place) if names == GALLERY else _of_images(place), place)
        place = files[0]
    remedy = "`countenance uccs recognize` makes it on data of version 3, or save your own"
    return _checked(read_arrays(place, names, remedy), place)


def _checked(arrays: Arrays, path: Path) -> Arrays:
    """The same arrays, each of the kind and shape that it must have."""
    for name, array in arrays.items():
        kinds, dimensions, expected = SHAPES[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions or array.shape[1:] == (0,):
            shown = f"{name} of {array.dtype} {array.shape}"
            raise InputError(f"{path}: holds {shown}; expected {expected}, a row for each face")
    sizes = {len(array) for array in arrays.values()}
    if len(sizes) != 1 or ("box" in arrays and arrays["box"].shape[1] != 4):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{path}: arrays of different length or shape ({shapes}); expected one row for each face")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{path}: {name} holds a number that is not finite")
    unfit = next((name for name in map(str, arrays.get("image", ())) if not name.isprintable()), None)
    if unfit is not None:
        raise InputError(f"{path}: the image {unfit!r:.100} has signs in its name that cannot be written into a line")
    return arrays


def _of_subjects(folder: Path) -> Arrays:
    """Gallery templates: the mean of each subject's file, as the original enrols."""
    subjects, means = [], []
    for path in _files(folder):
        digits = path.stem.removeprefix("S_")
        if not digits.isdigit():
            raise InputError(f"{path}: the name is not a subject's number; expected such as 0001.pth")
        (rows,) = read_tensors(path, ("embeddings",))
        if not rows.size or rows.ndim > 2:
            raise InputError(f"{path}: embeddings {rows.shape}; expected at least one row of numbers")
        subjects.append(int(digits))
        means.append(np.atleast_2d(rows).mean(axis=0))
    return {"subject": np.array(subjects, dtype=np.int64), "embedding": _stacked(means, folder)}


def _of_images(folder: Path) -> Arrays:
    images, boxes, scores, vectors = [], [], [], []
    for path in _files(folder):
        score, box, rows = read_tensors(path, OF_IMAGE)
        if box.size % 4 or rows.ndim > 2:
            raise InputError(f"{path}: bboxes {box.shape}, embeddings {rows.shape}; expected a row for each face")
        score, box, rows = score.ravel(), box.reshape(-1, 4), np.atleast_2d(rows)
        if not len(score) == len(box) == len(rows):
            raise InputError(
                f"{path}: {len(score)} scores, {len(box)} boxes, {len(rows)} embeddings; expected as many of each"
            )
        images += [path.relative_to(folder).with_suffix("").as_posix()] * len(score)
        boxes.append(box)
        scores.append(score)
        vectors += list(rows)
    columns = (np.array(images, dtype=np.str_), np.concatenate(boxes), np.concatenate(scores))
    return dict(zip(PROBES, (*columns, _stacked(vectors, folder)), strict=True))


def _files(folder: Path) -> list[Path]:
    files = sorted(folder.rglob("*.pth"))
    if not files:
        raise InputError(f"{folder}: holds no .pth file; expected one for each subject (gallery) or image (probes)")
    return files


def _stacked(rows: list[NDArray[Any]], folder: Path) -> NDArray[Any]:
    sizes = {len(row) for row in rows}
    if len(sizes) != 1:
        lengths = ", ".join(map(str, sorted(sizes)))
        raise InputError(f"{folder}: embeddings of {lengths} numbers; make all with one model")
    return np.array(rows, dtype=np.float64)


def write_embeddings(place: Path, arrays: Arrays) -> None:
    """Write a gallery or probes: an .npz file, or a folder of .pth files (of one .npz file where torch is missing)."""
    if place.suffix == ".npz":
        save_arrays(place, arrays)
        return
    try:
        import torch
    except ImportError:
        save_arrays(place / "embeddings.npz", arrays)
        return
    other = [path.name for path in place.rglob("*") if path.is_file() and path.suffix not in (".pth", ".npz")]
    if other:
        raise InputError(f"{place}: holds {other[0]}, and embeddings replace what is there; name a folder of their own")
    key, *columns = PROBES if "image" in arrays else GALLERY
    stored = dict(
        zip(
            columns, ("bboxes", "detection_scores", "embeddings") if "image" in arrays else ("embeddings",), strict=True
        )
    )
    with staged(place, replace=True) as folder:
        for value in np.unique(arrays[key]):
            mine = arrays[key] == value
            name = f"{value:04d}" if key == "subject" else str(value).rsplit(".", 1)[0]
            path = folder / f"{name}.pth"
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({stored[column]: torch.as_tensor(arrays[column][mine]) for column in columns}, path)
