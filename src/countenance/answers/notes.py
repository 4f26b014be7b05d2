"""Notes on boxes of a file that lack a label or a score."""

from collections.abc import Mapping
from typing import Any

from countenance.answers.boxes import Boxes


def unlabelled_note(result: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """A note on images with unlabelled boxes, in a file that has labels: all boxes of such an image lose theirs."""
    bare = [name for name, boxes in result.items() if isinstance(boxes, Boxes) and len(boxes) and boxes.labels is None]
    images = f"1 image ({bare[0]})" if len(bare) == 1 else f"{len(bare)} images ({', '.join(bare[:3])}, …)"
    return (f"{place}: {images} with boxes that have no label; all boxes there count as unlabelled",) if bare else ()


def unscored_note(without: int, boxes: int, place: str) -> tuple[str, ...]:
    """A note on boxes without a score, in a file that has scores.

    >>> unscored_note(1, 3, "boxes.csv")
    ('boxes.csv: 1 of 3 boxes has no score and counts as certain (score 1)',)
    >>> unscored_note(3, 3, "boxes.csv")
    ()
    """
    words = "has no score and counts" if without == 1 else "have no score and count"
    return (f"{place}: {without} of {boxes} boxes {words} as certain (score 1)",) if 0 < without < boxes else ()
