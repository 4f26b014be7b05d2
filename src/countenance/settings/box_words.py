"""The words for boxes: the meaning of their four numbers, and their units."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

Form = Literal["xyxy", "xywh", "cxcywh", "xxyy", "yxyx"]
Units = Literal["px", "rel"]

OLD_WORDS = {"corners": "xyxy", "topleft": "xywh", "centre": "cxcywh", "pixels": "px", "normalised": "rel"}
"""Words of earlier versions, which are still read."""


def current_word(word: Any) -> Any:
    """The current word for a word of earlier versions; others unchanged.

    >>> current_word("centre"), current_word("xywh")
    ('cxcywh', 'xywh')
    """
    return OLD_WORDS.get(word, word) if isinstance(word, str) else word


FormSetting = Annotated[Form, BeforeValidator(current_word)]
UnitsSetting = Annotated[Units, BeforeValidator(current_word)]


def form_named(word: str) -> Form:
    """The form that a word names; words of earlier versions are accepted.

    >>> form_named("cxcywh"), form_named("corners")
    ('cxcywh', 'xyxy')
    """
    form: Form = _named(word, get_args(Form), "boxes")
    return form


def units_named(word: str) -> Units:
    """The units that a word names; words of earlier versions are accepted.

    >>> units_named("rel"), units_named("pixels")
    ('rel', 'px')
    """
    units: Units = _named(word, get_args(Units), "units")
    return units


def _named(word: str, known: Sequence[str], what: str) -> Any:
    new = current_word(word)
    if new not in known:
        raise ValueError(f"{what} {word!r:.40}, expected one of {', '.join(known)}")
    return new
