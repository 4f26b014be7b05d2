"""The interface of answer types: each has a stored form and a check for invalid answers.

Every type has `to_row()` (plain values for a table), `from_row()` and `problem(width, height)`, which says what
is wrong with an answer in one phrase, or None. The types check shapes, the task checks the meaning.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Answer:
    """The interface of every answer type."""

    def to_row(self) -> dict[str, Any]:
        """The answer as plain values, the columns of the table in which it is stored."""
        raise NotImplementedError

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The answer that `to_row` has stored."""
        raise NotImplementedError

    def problem(self, width: int, height: int) -> str | None:
        """The fault of the answer for a picture of this size, in one phrase; None for a valid answer."""
        raise NotImplementedError


def real(values: Any) -> Array:
    """Returns numbers as an array; complex numbers are a ValueError, since their imaginary part would be lost.

    >>> real([1, 2])
    array([1., 2.])
    """
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise ValueError("complex numbers, expected real ones")
    if hasattr(values, "detach"):  # a tensor, perhaps with gradients or on a GPU
        values = values.detach().cpu()
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("an array with masked numbers, expected all of them")
    return np.asarray(values, dtype=np.float64)


def no_text(words: Iterable[str]) -> str | None:
    """The message on the first word that cannot be stored as text (half of a surrogate pair); None without one."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            return f"the word {word!a}, which is not text"
    return None


def table_rows(values: ArrayLike, columns: int, what: str) -> Array:
    array = real(values)
    if array.size == 0:
        return np.zeros((0, columns))
    if array.ndim == 1 and array.size == columns:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{what} of shape {array.shape}, expected N × {columns}")
    return array
