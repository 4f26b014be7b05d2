"""Text that came from foreign files, made fit for a terminal."""

import unicodedata


def printable(text: str) -> str:
    """The text with control characters as codes; line ends, tabs and spaces of every width stay.

    >>> printable("red" + chr(27) + "[31m") == "red" + chr(92) + "x1b[31m"
    True
    """
    return "".join(sign if _harmless(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _harmless(sign: str) -> bool:
    return sign.isprintable() or sign in "\n\t" or unicodedata.category(sign) == "Zs"
