"""Slices in the words of a page: groups as people, bins of numbers as ranges, conditions by their meaning."""

from __future__ import annotations

import re

from countenance.discovering.candidates import Candidate, lifts
from countenance.discovering.rows import Literal, SearchRows
from countenance.report.groups import label
from countenance.report.names import attribute_label
from countenance.report.notes import MEASURED

_NUMBER = r"-?\d[\d.e+-]*?"
_BELOW, _FROM = re.compile(rf"<({_NUMBER})"), re.compile(rf"({_NUMBER})\+")
_BETWEEN = re.compile(rf"({_NUMBER})–({_NUMBER})")


def column_words(name: str) -> str:
    """A column in words.

    >>> column_words("img.brightness"), column_words("face_luminance")
    ('brightness of the surroundings', 'face luminance')
    """
    return MEASURED.get(name, attribute_label(name.removeprefix("img.")))


def literal_words(literal: Literal) -> str:
    """One value of a slice in words.

    >>> import numpy as np
    >>> everyone = np.ones(2, dtype=bool)
    >>> [literal_words(Literal(name, value, everyone)) for name, value in
    ...     (("masked", "yes"), ("face_luminance", "<0.09712"), ("img.turn", "0.0272795–0.0570396"), ("stops", "0.5+"))]
    ['masked', 'face luminance below 0.0971', 'turn of the head 0.0273 to 0.057', 'stops 0.5 or more']
    """
    name, value = column_words(literal.attribute), literal.value
    if below := _BELOW.fullmatch(value):
        return f"{name} below {_short(below[1])}"
    if least := _FROM.fullmatch(value):
        return f"{name} {_short(least[1])} or more"
    if ends := _BETWEEN.fullmatch(value):
        return f"{name} {_short(ends[1])} to {_short(ends[2])}"
    return label(literal.attribute, value) if literal.attribute not in MEASURED else f"{name} {value}"


def _short(number: str) -> str:
    return f"{float(number):.3g}"


def slice_words(rows: SearchRows, candidate: Candidate) -> tuple[str, str]:
    """A slice in few words, and the values that are more frequent in it than elsewhere."""
    if candidate.literals:
        return ", ".join(map(literal_words, candidate.literals)), ""
    named = lifts(rows, candidate.rows)
    if not named:
        return "pictures that look alike", "no recorded value is more frequent in them"
    title = f"alike pictures, often {literal_words(named[0][0])}"
    shares = [f"{literal_words(literal)}: {own:.0%}, others {rest:.0%}" for literal, own, rest in named]
    return title, "; ".join(shares)
