"""Person parsing: masks compared with the true masks."""

from typing import Any

from countenance.answers import Masks
from countenance.data import Sample
from countenance.metrics.boxes import average_recall
from countenance.metrics.masks import best_overlap, mask_runs, run_lengths
from countenance.tasks.localization import overlap_curve
from countenance.tasks.reduce import With
from countenance.tasks.task import Metric, Row, Task, subject_row
from countenance.tasks.thresholds import ThresholdOptions, levels_in_words

METRIC = "AR_MASK"


def to_masks(raw: Any) -> Masks:
    """Masks from `Masks`, {"masks", "scores"} or an array N × height × width.

    >>> to_masks([[[True, False, False], [True, False, False]]]).masks.shape
    (1, 2, 3)
    """
    if isinstance(raw, Masks):
        return raw
    if raw is None:
        raise ValueError("None, expected masks; an image without people has an empty array")
    if isinstance(raw, dict):
        if "masks" not in raw:
            raise ValueError(f"a dict without 'masks' (it has {', '.join(map(str, raw))})")
        return Masks(raw["masks"], raw.get("scores"))
    return Masks(raw)


def score(sample: Sample, answer: Masks, options: ThresholdOptions) -> list[Row]:
    """A row for each person whose mask is known."""
    people = [subject for subject in sample.people if subject.mask is not None]
    truth = [run_lengths(subject.mask.counts) for subject in people if subject.mask is not None]
    overlaps = best_overlap(truth, [mask_runs(mask) for mask in answer.masks])
    rows = []
    for subject, overlap, recall in zip(
        people, overlaps, average_recall(overlaps, options.levels(METRIC)), strict=True
    ):
        row = subject_row(sample, subject)
        row[f"m.{METRIC}"] = float(recall)
        row["m.best_iou"] = float(overlap)
        rows.append(row)
    return rows


def asks(sample: Sample) -> bool:
    """Whether the mask of any person in the image is known."""
    return any(subject.mask is not None for subject in sample.people)


def make(options: ThresholdOptions) -> Task:
    """The task with its options."""
    levels = options.levels(METRIC)
    return Task(
        name="person_parsing",
        question="Which pixels belong to each person?",
        answer=Masks,
        metrics=(
            Metric(
                METRIC,
                f"how tightly the mask fits, 0 to 1 (passed overlap thresholds {levels_in_words(levels)})",
                better="higher",
                headline=True,
            ),
            Metric("best_iou", "overlap of the person with the best mask", "higher"),
        ),
        coerce=to_masks,
        score=With(score, options),
        asks=asks,
        needs=("person_mask",),
        options=options,
        make=make,
        curve=overlap_curve,
        curve_of="best_iou",
        curve_axes=("overlap threshold", "share of people found"),
    )


PERSON_PARSING = make(ThresholdOptions())
