"""Face parsing: F1 of each label that the truth has, from run lengths, one picture at a time."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.errors import InputError, opencv
from countenance.metrics.parsing import f1_by_label, joint_counts_from_runs, map_labels
from countenance.suites.fhibe.literals import literal
from countenance.suites.fhibe.outputs import FILE, field
from countenance.suites.fhibe.scoring.base import Job, Scored
from countenance.suites.fhibe.scoring.masks import read_rles
from countenance.suites.fhibe.table import Table
from countenance.suites.fhibe.vocabulary import EARS_TO_SKIN
from countenance.tasks.face_parsing import FACE_LABELS


def mask_path(table: Table, i: int) -> Path:
    """Where a row's label map lies: the file named "combined" among its CelebA masks."""
    place = table.place(i, "CelebA")
    names = literal(table.text("CelebA")[i], place)
    combined = [n for n in names if isinstance(n, str) and "combined" in n] if isinstance(names, (list, tuple)) else []
    if not combined:
        raise InputError(f"{place}: no mask named 'combined' among {names!r:.60}")
    return inside(table.root, combined[0], place)


def true_labels(table: Table, i: int) -> NDArray[np.uint8]:
    """The label map of a row."""
    cv2 = opencv("reading FHIBE's label maps")

    place, path = table.place(i, "CelebA"), mask_path(table, i)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such mask ({place})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    picture = cv2.imdecode(np.frombuffer(content, dtype=np.uint8), cv2.IMREAD_GRAYSCALE) if content else None
    if picture is None:
        raise InputError(f"{path}: not a readable mask ({place})")
    if int(picture.max()) >= len(FACE_LABELS):
        raise InputError(f"{path}: label {int(picture.max())}, expected 0 to {len(FACE_LABELS) - 1}")
    return np.asarray(picture, dtype=np.uint8)


def read_label_runs(entry: Any, size: tuple[int, int], place: str) -> dict[int, Any]:
    """Run lengths by label from `detections_rle`."""
    labels = field(entry, "detections_rle", place)
    if not isinstance(labels, dict):
        raise InputError(f"{place}: detections_rle is {type(labels).__name__}, expected masks by label")
    for key in labels:
        if not str(key).isdecimal() or int(key) >= 256:
            raise InputError(f"{place}: label {key!r}, expected 0 to {len(FACE_LABELS) - 1}")
    runs = read_rles(list(labels.values()), size, [f"{place}: label {key}" for key in labels])
    return {int(key): lengths for key, lengths in zip(labels, runs, strict=True)}


def score_parsing(job: Job, files: bool = False) -> Scored:
    """F1 of each row: the plain mean over the labels that the truth has, background included."""
    table = job.table
    scored = Scored(table)
    matcher, image = job.images()
    rows_of: list[list[int]] = [[] for _ in matcher.names]
    for row, i in enumerate(image.tolist()):
        rows_of[i].append(row)
    ears = bool(job.options.get("map_ears_to_skin", False))
    by_label: list[dict[str, float]] = [{} for _ in range(len(table))]
    answered = np.zeros(len(matcher.names), dtype=bool)
    sizes = None if job.strict else table.sizes()
    for i, place, entry in job.entries(matcher):
        answered[i] = True
        for row in rows_of[i]:
            truth = true_labels(table, row)
            if sizes is not None and truth.shape != sizes[row]:
                raise InputError(
                    f"{table.place(row, 'CelebA')}: a mask of {truth.shape[1]}×{truth.shape[0]}, "
                    f"the picture is {sizes[row][1]}×{sizes[row][0]}"
                )
            runs = read_label_runs(entry, (truth.shape[0], truth.shape[1]), place)
            if ears:
                runs = map_labels(runs, EARS_TO_SKIN, truth.size)
            scores = f1_by_label(joint_counts_from_runs(truth, runs, labels=32))
            by_label[row] = {FACE_LABELS[label]: value for label, value in scores.items()}
            job.step(1)
    scored.report_missing(matcher, answered, job.folder / FILE)
    for row, i in enumerate(image.tolist()):
        if not answered[i]:
            by_label[row] = {FACE_LABELS[label]: 0.0 for label in np.unique(true_labels(table, row)).tolist()}
    scored.rows["F1"] = np.array([float(np.mean(list(scores.values()))) for scores in by_label])
    if not job.strict:
        for label in FACE_LABELS:
            if any(label in scores for scores in by_label):
                scored.rows[f"F1 {label}"] = np.array([scores.get(label, np.nan) for scores in by_label])
    if files:
        scored.files["F1_scores.json"] = dict(zip(table.keys(), by_label, strict=True))
    return scored
