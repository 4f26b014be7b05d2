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


def one_line(text: str, longest: int = 200) -> str:
    """The text as one short line that can be stored and shown: a name that somebody else chose.

    >>> one_line("mine" + chr(10) + "verdict  none"), one_line("n" * 300)[-3:], one_line(chr(0xD800))
    ('mine verdict none', 'nn…', '\\\\ud800')
    """
    plain = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return printable(plain if len(plain) <= longest else plain[: longest - 1] + "…")
