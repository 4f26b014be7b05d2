"""Person localization: boxes compared with the true person boxes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import field_validator

from countenance.answers import Boxes
from countenance.data import Sample
from countenance.metrics.boxes import average_recall
from countenance.tasks.box_notes import PEOPLE
from countenance.tasks.face_localization import to_boxes
from countenance.tasks.localization import PUBLISHED, Array, image_rows, overlap_curve, precision
from countenance.tasks.miss_rate import ALL, miss_rate_state, miss_rates
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With
from countenance.tasks.task import Metric, Row, Task
from countenance.tasks.thresholds import ThresholdOptions, levels_in_words


class PersonOptions(ThresholdOptions):
    """Which thresholds count, and the heights for which the miss rate is given."""

    heights: tuple[tuple[float, float | None], ...] = ()
    """Ranges of heights in pixels, such as [[50, 75], [75, null]] or `50-75,75-`; without an upper end: all taller."""

    @field_validator("heights", mode="before")
    @classmethod
    def _ranges(cls, ranges: Any) -> Any:
        return height_ranges(ranges) if isinstance(ranges, str) else ranges

    @field_validator("heights")
    @classmethod
    def _rising(cls, ranges: Any) -> Any:
        for low, high in ranges:
            if low < 0 or (high is not None and high <= low):
                raise ValueError(f"the range {low} to {high}, expected a lower and a higher height in pixels")
        return ranges

    def strata(self) -> list[tuple[float, float]]:
        """All heights, then the ranges requested."""
        return [ALL, *((low, np.inf if high is None else high) for low, high in self.heights)]


def height_ranges(text: str) -> list[tuple[float, float | None]]:
    """Ranges of heights from text; ValueError says what is wrong with it.

    >>> height_ranges("50-75, 75-")
    [(50.0, 75.0), (75.0, None)]
    """
    ranges: list[tuple[float, float | None]] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        try:
            ranges.append((float(low), float(high) if high.strip() else None))
        except ValueError:
            dash = ""
        if not dash:
            raise ValueError(f"{part.strip()!r}, expected ranges of heights such as 50-75,75-")
    return ranges


def partial(shard: Shard, options: PersonOptions) -> State:
    """The state of a shard for average precision and miss rates."""
    return {**PRECISION.partial(shard), **miss_rate_state(shard, options.strata())}


def finish(state: State, whole: Whole, options: PersonOptions) -> Reduced:
    """Average precision and log-average miss rates."""
    return Reduced([*PRECISION.finish(state, whole).results, *miss_rates(state, whole, options.strata()).results])


def score(sample: Sample, answer: Boxes, options: ThresholdOptions) -> list[Row]:
    """A row for each person, and one for the image with its false positives."""
    levels = options.levels(PUBLISHED)
    measures: dict[str, Callable[[Array], Array]] = {
        "average_recall": lambda overlaps: average_recall(overlaps, levels),
        "recall@0.5": lambda overlaps: np.asarray(overlaps >= 0.5, dtype=np.float64),
        "best_iou": lambda overlaps: overlaps,
    }
    return image_rows(sample, answer, PEOPLE.true_box, measures)


def make(options: PersonOptions) -> Task:
    """The task with its options."""
    levels = options.levels(PUBLISHED)
    return Task(
        name="person_localization",
        question="Where are the people?",
        answer=Boxes,
        metrics=(
            Metric(
                "average_recall",
                f"how tightly the box fits, 0 to 1 (passed overlap thresholds {levels_in_words(levels)})",
                better="higher",
                headline=True,
                published=PUBLISHED,
            ),
            Metric(
                "recall@0.5",
                "people found (a predicted box covers the person well: overlap ≥ 0.5)",
                "higher",
                headline=True,
            ),
            Metric("best_iou", "overlap of the person with the best box", "higher"),
            Metric(
                "false_positives",
                "boxes of an image that hit nobody or somebody already hit",
                better="lower",
                published="FPPI",
            ),
        ),
        coerce=With(to_boxes, "person"),
        score=With(score, options),
        asks=asks,
        needs=("person",),
        reduce=Reduce(With(partial, options), With(finish, options)),
        notes=PEOPLE.notes,
        options=options,
        make=make,
        curve=overlap_curve,
        curve_of="best_iou",
        curve_axes=("overlap threshold", "share of people found"),
    )


def asks(sample: Sample) -> bool:
    """Whether an image shows no person, or a person whose box is known."""
    return not sample.people or any(subject.person_box is not None for subject in sample.people)


PRECISION = precision(PEOPLE.true_box)
PERSON_LOCALIZATION = make(PersonOptions())
