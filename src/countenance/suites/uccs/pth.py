"""Embeddings as version 3's scripts store them: `.pth` files with tensors, one for each subject or image."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError

Arrays = dict[str, NDArray[Any]]
REMEDY = "save a dict of tensors: torch.save({'embeddings': torch.as_tensor(...), ...}, FILE)"


def read_gallery(folder: Path) -> Arrays:
    """Gallery templates: of each subject's file (`0001.pth`, key `embeddings`) the mean, as the original enrols."""
    subjects, means = [], []
    for path in _files(folder):
        digits = path.stem.removeprefix("S_")
        if not digits.isdigit():
            raise InputError(f"{path}: the name is no subject's number; expected such as 0001.pth")
        (rows,) = _arrays(path, ("embeddings",))
        subjects.append(int(digits))
        means.append(np.atleast_2d(rows).mean(axis=0))
    return {"subject": np.array(subjects, dtype=np.int64), "embedding": _stacked(means, folder)}


def read_probes(folder: Path) -> Arrays:
    """Probes: each image's file has `detection_scores`, `bboxes` (left, top, width, height) and `embeddings`."""
    images, boxes, scores, vectors = [], [], [], []
    for path in _files(folder):
        score, box, rows = _arrays(path, ("detection_scores", "bboxes", "embeddings"))
        score, box, rows = score.reshape(-1), box.reshape(-1, 4), np.atleast_2d(rows)
        if not len(score) == len(box) == len(rows):
            raise InputError(f"{path}: {len(score)} scores, {len(box)} boxes, {len(rows)} embeddings; expected as many")
        images += [path.stem] * len(score)
        boxes.append(box)
        scores.append(score)
        vectors.append(rows)
    return {
        "image": np.array(images, dtype=np.str_),
        "box": np.concatenate(boxes),
        "score": np.concatenate(scores),
        "embedding": _stacked([row for rows in vectors for row in rows], folder),
    }


def _files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.pth"))
    if not found:
        raise InputError(f"{folder}: holds no .pth file; expected one for each subject (gallery) or image (probes)")
    return found


def _stacked(rows: list[NDArray[Any]], folder: Path) -> NDArray[Any]:
    sizes = {len(row) for row in rows}
    if len(sizes) != 1:
        raise InputError(
            f"{folder}: embeddings of {', '.join(map(str, sorted(sizes)))} numbers; make all with one model"
        )
    return np.array(rows, dtype=np.float64)


def _arrays(path: Path, names: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """The tensors (or plain arrays) of a file by name. Nothing in it is executed: torch reads weights only."""
    try:
        import torch
    except ImportError:
        raise InputError(f"{path}: .pth files need torch; pip install 'countenance[torch]', or save .npz") from None
    reconstruct: Any = np.zeros(0).__reduce__()[0]  # numpy arrays inside a .pth, as the original writes them
    plain = [reconstruct, np.ndarray, np.dtype, *(type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8"))]
    try:
        with torch.serialization.safe_globals(plain):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what it likes on foreign bytes
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path}: not a .pth file of tensors ({first[:120]}); {REMEDY}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: holds a {type(found).__name__}, expected a dict with {', '.join(names)}; {REMEDY}")
    made = []
    for name in names:
        value = found.get(name)
        if not isinstance(value, torch.Tensor | np.ndarray | list):
            raise InputError(f"{path}: {name!r} is {type(value).__name__}, expected a tensor; {REMEDY}")
        try:
            made.append(np.asarray(value, dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError(f"{path}: {name!r} holds something else than numbers; {REMEDY}") from None
    return made
