"""Options of the commands that audit: what is compared and how it is judged."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from countenance.cli.settings import described
from countenance.errors import InputError
from countenance.settings import AuditFields, RunSettings

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
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
Where = Annotated[list[str] | None, described(AuditFields, "where")]
Given = Annotated[str | None, described(AuditFields, "given")]
Depth = Annotated[int | None, described(AuditFields, "depth")]
Alpha = Annotated[float, described(AuditFields, "alpha")]
Delta = Annotated[str | None, described(AuditFields, "delta")]
Better = Annotated[str | None, described(AuditFields, "better")]
Ordered = Annotated[list[str] | None, described(AuditFields, "ordered")]
Denominator = Annotated[list[str] | None, described(AuditFields, "denominators")]
Adjust = Annotated[str, described(AuditFields, "adjust")]
Families = Annotated[str | None, described(AuditFields, "families")]
Cluster = Annotated[str | None, described(AuditFields, "cluster")]
ComparisonKind = Annotated[str, described(AuditFields, "comparison")]
Reference = Annotated[str | None, described(AuditFields, "reference")]
Pair = Annotated[str | None, described(AuditFields, "pair")]
MinN = Annotated[int, described(AuditFields, "min_n")]
Poor = Annotated[float, described(AuditFields, "poor")]
H0 = Annotated[float, described(AuditFields, "h0")]
Power = Annotated[float, described(AuditFields, "power")]
Seed = Annotated[int, described(RunSettings, "seed")]


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
