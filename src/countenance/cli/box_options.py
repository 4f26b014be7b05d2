"""Options of mask fairness that say what boxes are, with the spellings of its documented command lines."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from countenance.cli.lines import note
from countenance.errors import InputError
from countenance.settings.box_words import OLD_WORDS, Form, Units, form_named, units_named

if TYPE_CHECKING:
    from countenance.metrics.readings import Reading

Word = TypeVar("Word", bound=str)
FORMS = "xyxy (x0,y0,x1,y1), xywh (x,y,w,h), cxcywh (cx,cy,w,h), xxyy or yxyx"
TruthBoxes = Annotated[
    str, typer.Option("--truth-boxes", "--box-format", help=f"Annotated BAFMD and YOLO files: what boxes are: {FORMS}.")
]
TruthUnits = Annotated[
    str,
    typer.Option("--truth-units", "--units", help="Annotated BAFMD and YOLO files: px or rel (shares of the picture)."),
]
PredictedBoxes = Annotated[
    str | None,
    typer.Option(
        "--boxes",
        "--prediction-format",
        help=f"Predictions, or a detector's boxes: {FORMS} (default: as the format has it).",
    ),
]
PredictedUnits = Annotated[
    str | None,
    typer.Option(help="Predictions, or a detector's boxes: px or rel (default: recognised; px)."),
]


def form_option(word: str | None, flag: str) -> Form | None:
    """The form that an option names; a word of earlier versions is read with a note."""
    return None if word is None else _read(form_named, word, flag)


def units_option(word: str | None, flag: str) -> Units | None:
    """The units that an option names; a word of earlier versions is read with a note."""
    return None if word is None else _read(units_named, word, flag)


def truth_reading(form: str, units: str) -> "Reading":
    """The reading of a dataset's boxes that two options name."""
    from countenance.metrics.readings import Reading

    return Reading(_read(form_named, form, "--truth-boxes"), _read(units_named, units, "--truth-units"))


def _read(named: Callable[[str], Word], word: str, flag: str) -> Word:
    if word in OLD_WORDS:
        note(f"{flag} {word} is now called {OLD_WORDS[word]}; both are read")
    try:
        return named(word)
    except ValueError as error:
        raise InputError(f"{flag}: {error}") from None
