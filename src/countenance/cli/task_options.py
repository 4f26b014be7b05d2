"""Options of a task on the command line: those with their own name, and any other as `--option name=value`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from countenance.errors import InputError

Threshold = Annotated[
    float | None,
    typer.Option(help="face_verification, face_identification: the threshold at which a pair is accepted."),
]
Fmr = Annotated[
    float | None,
    typer.Option(help="face_verification: the false match rate that the threshold must keep (default 0.001)."),
]
ChallengeAge = Annotated[
    float | None, typer.Option(help="age_estimation: the estimated age from which a person passes (default 25).")
]
More = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Another option of the task; may be repeated."),
]


def options_of(task: str, more: Sequence[str] | None, **named: Any) -> dict[str, Any] | None:
    """The options for `evaluate`, checked against the task before any image is read.

    >>> options_of("face_verification", ["similarity=euclidean"], fmr=0.01, threshold=None)
    {'fmr': 0.01, 'similarity': 'euclidean'}
    """
    from countenance.tasks import load_task

    chosen = {name: value for name, value in named.items() if value is not None}
    for name, value in pairs(more).items():
        if name in chosen:
            raise InputError(f"--option {name}={value}: {name} is given twice")
        chosen[name] = value
    if chosen:
        load_task(task, chosen)
    return chosen or None


def pairs(more: Sequence[str] | None) -> dict[str, str]:
    """Options written NAME=VALUE, by name.

    >>> pairs(["similarity=euclidean", "min-score=.5"])
    {'similarity': 'euclidean', 'min_score': '.5'}
    """
    chosen: dict[str, str] = {}
    for text in more or []:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError(f"--option {text!r}: expected NAME=VALUE, such as similarity=euclidean")
        if name in chosen:
            raise InputError(f"--option {text!r}: {name} is given twice")
        chosen[name] = value.strip()
    return chosen
