"""Cells that hold Python literals, read without ever running them, and fast."""

import ast
import json
from typing import Any

from countenance.errors import InputError


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


_JSON = json.JSONDecoder(parse_constant=_refuse)


def literal(text: str, place: str) -> Any:
    """The value of a literal such as "[1, 2.5]" or "{'0. Nose': [3, 4, 1]}"; an expression is refused, not run.

    Nearly all cells are also JSON once their quotes are changed, which reads forty times faster; what is not
    (a quote or a backslash inside, tuples, True, None) goes through `ast.literal_eval`.

    >>> literal("{'0. Nose': [3, 4.5, 1]}", "x.csv row 2: keypoints")
    {'0. Nose': [3, 4.5, 1]}
    >>> literal("__import__('os').getcwd()", "x.csv row 2: keypoints")
    Traceback (most recent call last):
    countenance.errors.InputError: x.csv row 2: keypoints: "__import__('os').getcwd()" is not a plain value (a list, \
a dict, numbers, text); expressions are not run
    """
    if '"' not in text and "\\" not in text:
        try:
            return _JSON.decode(text.replace("'", '"'))
        except (ValueError, RecursionError):
            pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(
            f"{place}: {text[:60]!r} is not a plain value (a list, a dict, numbers, text); expressions are not run"
        ) from None
