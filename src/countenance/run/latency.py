"""The time of each image as a metric of its rows."""

from collections.abc import Sequence

from countenance.tasks import Metric, Row

LATENCY = Metric(
    "latency_ms",
    "milliseconds from the decoded picture to its answer, one picture at a time, the first of a process not counted",
    better="lower",
)


def with_latency(rows: Sequence[Row], milliseconds: float | None) -> list[Row]:
    """The rows of an image with its time: in the row about the image if there is one, else in each person's.

    >>> with_latency([{"subject": "ann"}, {"subject": None}], 2.5)
    [{'subject': 'ann'}, {'subject': None, 'm.latency_ms': 2.5}]
    """
    if milliseconds is None:
        return list(rows)
    about_image = any(row["subject"] is None for row in rows)
    return [
        row | {f"m.{LATENCY.name}": milliseconds} if row["subject"] is None or not about_image else row for row in rows
    ]
