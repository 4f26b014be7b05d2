"""Options of the commands that audit: what is compared and how it is judged."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from countenance.cli.settings import single
from countenance.errors import InputError
from countenance.settings import AuditFields

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Attributes to compare by, with commas: skin_tone,age:18,40,65,skin_tone*masked (bins by cut points or "
        "age:quantiles4; * for an intersection). Default: every column of text or true/false with 2 to 30 values.",
    ),
]
Metrics = Annotated[str | None, typer.Option("--metric", help="Metrics, with commas (default: the headline ones).")]
Alpha = Annotated[float, single(AuditFields, "alpha")]
Better = Annotated[str | None, single(AuditFields, "better")]
Depth = Annotated[int | None, single(AuditFields, "depth")]


def audit_arguments(fields: AuditFields) -> dict[str, Any]:
    """The arguments of an audit for the options that were given, parsed.

    >>> audit_arguments(AuditFields(alpha=0.01, pair="sample,subject"))
    {'alpha': 0.01, 'pair': ['sample', 'subject']}
    """
    from countenance.auditing.settings import parse_families

    readers: dict[str, Callable[[Any], Any]] = {
        "cluster": cluster_of,
        "given": conditions_of,
        "pair": names_of,
        "families": parse_families,
        "ordered": lambda texts: by_name(texts, "--ordered"),
        "denominators": lambda texts: {name: column for name, (column, *_) in by_name(texts, "--denominator").items()},
    }
    values = {name: value for name, value in fields if name in fields.model_fields_set}
    return {name: readers[name](value) if name in readers else value for name, value in values.items()}


def conditions_of(text: str) -> list[str]:
    """The conditions that `--given` names.

    >>> conditions_of("light,age:18,40")
    ['light', 'age:18,40']
    """
    from countenance.auditing.attributes import split_names

    names = split_names(text)
    if not names:
        raise InputError(f"--given {text!r}: expected names of columns, such as light,masked")
    return names


def attributes_of(by: str | None) -> list[str] | None:
    """The attributes that `--by` names; None where it is not given."""
    from countenance.auditing.attributes import split_names

    return None if by is None else split_names(by)


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


def only_metric(text: str | None) -> str:
    """The metric of a command that uses only one.

    >>> only_metric("recall@0.5")
    'recall@0.5'
    """
    names = names_of(text) or []
    if len(names) != 1:
        raise InputError(f"--metric {text or 'is missing'}: expected one metric of the run, or one column of the table")
    return names[0]


def cluster_of(text: str) -> str | list[str] | None:
    """The cluster columns that a command line names.

    >>> cluster_of("auto"), cluster_of("none"), cluster_of("identity,scene")
    ('auto', None, ['identity', 'scene'])
    """
    listed = names_of(text) or []
    return None if text == "none" else listed[0] if len(listed) == 1 else listed
