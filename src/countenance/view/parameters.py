"""The parameters of an address: every value that a request carries is checked here, before anything is done with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from countenance.errors import InputError

LONGEST_QUERY = 8 * 1024
"""Bytes of a query; the longest that a page of the viewer makes has about 2,000."""
MOST = 200
"""Parameters of one address."""
LARGEST = 10**9
"""The largest number of a row or a page."""


class Parameters:
    """Names and values of an address, in order; a name may be repeated.

    >>> Parameters([("page", "2"), ("by", "a"), ("by", "b")]).number("page", 1)
    2
    >>> Parameters([("page", "²")]).number("page", 1)
    Traceback (most recent call last):
    countenance.errors.InputError: page '²', expected a whole number from 1 to 1000000000
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] | Mapping[str, str]) -> None:
        self.pairs = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
        if len(self.pairs) > MOST:
            raise InputError(f"{len(self.pairs)} parameters in an address, expected at most {MOST}")

    def text(self, name: str, usual: str = "") -> str:
        """The last value of a name, without the spaces around it."""
        return next((value.strip() for known, value in reversed(self.pairs) if known == name), "") or usual

    def exact(self, name: str) -> str:
        """The last value of a name, unchanged: the name of a group may have spaces around it."""
        return next((value for known, value in reversed(self.pairs) if known == name), "")

    def all(self, name: str) -> list[str]:
        """Every value of a name."""
        return [value for known, value in self.pairs if known == name]

    def has(self, name: str) -> bool:
        """Whether the name is present, even without a value."""
        return any(known == name for known, _ in self.pairs)

    def without(self, *names: str) -> Parameters:
        """The other parameters."""
        return Parameters([pair for pair in self.pairs if pair[0] not in names])

    def number(self, name: str, usual: int, most: int = LARGEST) -> int:
        """A whole number from 1 on."""
        text = self.text(name)
        return whole_number(name, text, most=most) if text else usual

    def share(self, name: str, usual: float) -> float:
        """A number above 0 and below 1."""
        text = self.text(name)
        if not text:
            return usual
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 < value < 1:
            raise InputError(f"{name} {text[:40]!r}, expected a number above 0 and below 1, such as 0.05")
        return value

    def choice(self, name: str, known: Collection[str], usual: str) -> str:
        """One of some words."""
        text = self.text(name, usual)
        if text not in known:
            raise InputError(f"{name} {text[:80]!r}, expected one of {', '.join(known)}")
        return text


def whole_number(name: str, text: str, least: int = 1, most: int = LARGEST) -> int:
    """A number in plain digits: int() also takes signs, spaces and other scripts, and has its own limit."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise InputError(f"{name} {text[:40]!r}, expected a whole number from {least} to {most}")
    return int(text)
