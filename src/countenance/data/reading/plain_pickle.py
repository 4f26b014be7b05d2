"""Whole numbers and texts of a pickled list, read without executing anything of the file.

A pickle is a program. Here its instructions are only parsed: those that make a plain list, tuple or set of numbers and
texts are read, and a file with any other is refused.
"""

import pickletools

from countenance.errors import DataError, InputError

VALUES = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
        *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    )
)
"""Instructions that add a number or a text to the list."""
CONTAINERS = frozenset(
    (
        *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"),
        *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_SET", "FROZENSET", "ADDITEMS"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    )
)
"""Instructions that hold values together."""
MOST_BYTES = 64 * 2**20


def plain_values(content: bytes, place: str) -> list[int | str]:
    """The values of a pickled list, tuple or set, in their order; InputError for a pickle of anything else.

    >>> import pickle
    >>> plain_values(pickle.dumps([3, 1, "b"]), "x.pkl")
    [3, 1, 'b']
    """
    remedy = "expected a pickled list of numbers; or write a text file with one number a line"
    if len(content) > MOST_BYTES:
        raise DataError(f"{place}: larger than {MOST_BYTES // 2**20} MiB; {remedy}")
    values: list[int | str] = []
    try:
        for instruction, value, _ in pickletools.genops(content):
            if instruction.name in VALUES and isinstance(value, int | str):
                values.append(value)
            elif instruction.name not in CONTAINERS:
                raise DataError(f"{place}: holds {instruction.name}, which is not read from a pickle; {remedy}")
    except InputError:
        raise
    except (ValueError, IndexError) as error:
        raise DataError(f"{place}: damaged ({str(error).splitlines()[0][:80]}); {remedy}") from None
    return values
