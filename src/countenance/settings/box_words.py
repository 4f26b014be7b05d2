"""The words for boxes: what their four numbers are, and what they are measured in."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

Form = Literal["xyxy", "xywh", "cxcywh", "xxyy", "yxyx"]
Units = Literal["px", "rel"]

OLD_WORDS = {"corners": "xyxy", "topleft": "xywh", "centre": "cxcywh", "pixels": "px", "normalised": "rel"}
"""Words of earlier versions, which are still read."""


def form_named(word: str) -> Form:
    """The form that a word names, also a word of earlier versions.

    >>> form_named("cxcywh"), form_named("corners")
    ('cxcywh', 'xyxy')
    """
    form: Form = _named(word, get_args(Form), "boxes")
    return form


def units_named(word: str) -> Units:
    """The units that a word names, also a word of earlier versions.

    >>> units_named("rel"), units_named("pixels")
    ('rel', 'px')
    """
    units: Units = _named(word, get_args(Units), "units")
    return units


def _named(word: str, known: Sequence[str], what: str) -> Any:
    new = OLD_WORDS.get(word, word)
    if new not in known:
        raise ValueError(f"{what} {word!r:.40}, expected one of {', '.join(known)}")
    return new
