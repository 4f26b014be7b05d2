"""Person parsing and face parsing: run lengths of masks and label maps, one picture at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import LabelMap
from countenance.data.run_lengths import read_masks
from countenance.errors import InputError
from countenance.metrics.masks import Ints, best_overlap, compress, fill
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.outputs import Images
from countenance.suites.fhibe.reading.bodies import add_recall
from countenance.suites.fhibe.scored import Scored, ScoringJob, Stored
from countenance.tasks.face_parsing import FACE_LABELS, label_scores


def score_masks(job: ScoringJob) -> Scored:
    """AR_MASK of each row."""
    table = job.table
    scored, images = Scored(table), Images(table.keys())
    truth, rows_of, best = true.person_masks(table), images.rows(), np.zeros(len(table))
    for i, runs, _ in _masks(job, scored, images):
        best[rows_of[i]] = best_overlap([truth[row] for row in rows_of[i]], runs)
        job.step(len(rows_of[i]))
    add_recall(job, scored, "AR_MASK", best, "gt_mask_iou_scores.json", "iou")
    if not job.strict:
        scored.rows["best_iou"] = best
    sizes = table.sizes()
    scored.answers = lambda: (
        (rows_of[i][0], Stored({"size": sizes[rows_of[i][0]], "counts": [*map(compress, runs)], "scores": scores}))
        for i, runs, scores in _masks(job, Scored(table), images)
    )
    return scored


def _masks(job: ScoringJob, scored: Scored, images: Images) -> Iterator[tuple[int, list[Ints], list[float]]]:
    sizes, rows_of = job.table.sizes(), images.rows()
    for i, place, entry, masks in job.answers(scored, images, expected="a list of masks"):
        places = [f"{place}: mask {k}" for k in range(len(masks))]
        scores = entry.get("scores")
        known = isinstance(scores, list) and len(scores) == len(masks)
        yield i, read_masks(masks, places, sizes[rows_of[i][0]]), scores if known else [1.0] * len(masks)


def score_parsing(job: ScoringJob) -> Scored:
    """F1 of each row: the plain mean over the labels that the truth has, background included."""
    table = job.table
    scored, images = Scored(table), Images(table.keys())
    rows_of = images.rows()
    by_label: list[dict[str, float]] = [{} for _ in range(len(table))]
    sizes = None if job.strict else table.sizes()
    for i, place, _, labels in _label_maps(job, scored, images):
        for row in rows_of[i]:
            truth = true.face_labels(table, row)
            if sizes is not None and truth.shape != sizes[row]:
                raise InputError(
                    f"{table.place(row, 'CelebA')}: a mask of {truth.shape[1]}×{truth.shape[0]}, "
                    f"the picture is {sizes[row][1]}×{sizes[row][0]}"
                )
            runs = read_label_runs(labels, (truth.shape[0], truth.shape[1]), place)
            by_label[row] = label_scores(truth, runs, job.settings.scoring)
            job.step(1)
    for row, scores in enumerate(by_label):
        if not scores:  # no answer
            by_label[row] = {FACE_LABELS[label]: 0.0 for label in np.unique(true.face_labels(table, row)).tolist()}
    scored.rows["F1"] = np.array([float(np.mean(list(scores.values()))) for scores in by_label])
    if not job.strict:
        for label in FACE_LABELS:
            if any(label in scores for scores in by_label):
                scored.rows[f"F1 {label}"] = np.array([scores.get(label, np.nan) for scores in by_label])
    if job.files:
        scored.files["F1_scores.json"] = dict(zip(table.keys(), by_label, strict=True))
    scored.answers = lambda: (
        (rows_of[i][0], LabelMap(drawn(read_label_runs(labels, None, place), next(iter(labels.values()))["size"])))
        for i, place, _, labels in _label_maps(job, Scored(table), images)
        if labels
    )
    return scored


def _label_maps(job: ScoringJob, scored: Scored, images: Images) -> Iterator[tuple[int, str, Any, Any]]:
    return job.answers(scored, images, name="detections_rle", kind=dict, expected="masks by label", null="wrong")


def read_label_runs(labels: Mapping[str, Any], size: tuple[int, int] | None, place: str) -> dict[int, Ints]:
    """Run lengths by label from `detections_rle`."""
    for key in labels:
        if not str(key).isdecimal() or int(key) >= 256:
            raise InputError(f"{place}: label {key!r}, expected 0 to {len(FACE_LABELS) - 1}")
    runs = read_masks(list(labels.values()), [f"{place}: label {key}" for key in labels], size)
    return {int(key): lengths for key, lengths in zip(labels, runs, strict=True)}


def drawn(runs: Mapping[int, Ints], size: Sequence[int]) -> NDArray[np.uint8]:
    """The label map of run lengths by label.

    >>> drawn({2: np.array([1, 1])}, (1, 2))
    array([[0, 2]], dtype=uint8)
    """
    classes = np.zeros(tuple(size), dtype=np.uint8)
    for label, lengths in runs.items():
        classes[fill(lengths, *classes.shape)] = label
    return classes
