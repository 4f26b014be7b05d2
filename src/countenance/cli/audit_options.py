"""Options of the commands that audit: what is compared and how it is judged."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from countenance.errors import InputError

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Attributes to compare by, with commas: skin_tone,age:18,40,65,skin_tone*masked (bins by cut points or "
        "age:quantiles4; * for an intersection). Default: every column of text or true/false with 2 to 30 values.",
    ),
]
Metrics = Annotated[
    str | None, typer.Option("--metric", help="Metrics to audit, with commas (default: the headline ones).")
]
Where = Annotated[
    list[str] | None, typer.Option("--where", help="Only rows with these values: change=none,mask (may be repeated).")
]
Given = Annotated[
    str | None,
    typer.Option(
        "--given",
        help="Conditions to hold equal, with commas, at most six: light,img.size_px:quantiles4,masked. Is the gap "
        "still there between rows in which they are the same?",
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(min=1, help="Intersections of up to so many attributes (default: 2 where --by names attributes)."),
]
Delta = Annotated[
    str | None,
    typer.Option(
        help="Smallest difference that matters: .05 for rates and metrics between 0 and 1; by metric: "
        "correct=.01,latency_ms=5."
    ),
]
Better = Annotated[
    str | None,
    typer.Option(
        help="Which way metrics are better: latency_ms=lower,size=none (default: as a word of the name says: error, "
        "wer, missed … lower; correct, found, recall … higher; else not known)."
    ),
]
Ordered = Annotated[
    list[str] | None,
    typer.Option(help="An ordered attribute with its values: size=small,medium,large (may be repeated)."),
]
Denominator = Annotated[
    list[str] | None,
    typer.Option(help="The 0/1 column that says which rows a metric is about: true_positive=masked (may be repeated)."),
]
Adjust = Annotated[str, typer.Option(help="Adjustment for many comparisons: minp, holm or bh.")]
Families = Annotated[
    str | None,
    typer.Option(help="Smaller families: metric, attribute, depth, or safety=recall,missed;speed=latency_ms."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Column(s) of rows that are not independent, such as identity or identity,scene (default: a column of "
        "people and one of pictures where they are, else one whose rows are alike); 'none'."
    ),
]


@dataclass(frozen=True)
class Choices:
    """What is compared and how it is judged, as a command line says it."""

    by: list[str] | None
    where: list[str] | None
    depth: int | None
    delta: str | None
    better: str | None
    adjust: str
    families: Any
    conditions: list[str] | None = None

    @classmethod
    def of(
        cls,
        by: str | None,
        where: list[str] | None,
        depth: int | None,
        delta: str | None,
        better: str | None,
        adjust: str,
        families: str | None,
        conditions: str | None = None,
    ) -> "Choices":
        """Read the texts."""
        from countenance.auditing.attributes import split_names
        from countenance.auditing.settings import parse_families

        return cls(
            None if by is None else split_names(by),
            where,
            depth,
            delta,
            better,
            adjust,
            parse_families(families),
            None if conditions is None else split_names(conditions),
        )


def by_name(texts: list[str] | None, what: str) -> dict[str, list[str]]:
    """Options of the form NAME=VALUE[,VALUE…], by name.

    >>> by_name(["size=s,m,l"], "--ordered")
    {'size': ['s', 'm', 'l']}
    """
    parsed = {}
    for text in texts or []:
        name, equals, values = text.partition("=")
        listed = names_of(values) or []
        if not equals or not name.strip() or not listed:
            raise InputError(f"{what} {text!r}: expected NAME=VALUE[,VALUE…]")
        parsed[name.strip()] = listed
    return parsed


def names_of(text: str | None) -> list[str] | None:
    """A list written with commas.

    >>> names_of("a, b"), names_of(None)
    (['a', 'b'], None)
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def cluster_of(text: str | None) -> str | list[str] | None:
    """The cluster columns that a command line names.

    >>> cluster_of(None), cluster_of("none"), cluster_of("identity,scene")
    ('auto', None, ['identity', 'scene'])
    """
    if text is None:
        return "auto"
    listed = names_of(text) or []
    return None if text == "none" else listed[0] if len(listed) == 1 else listed
